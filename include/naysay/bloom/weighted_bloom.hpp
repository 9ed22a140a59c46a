// SPDX-License-Identifier: Apache-2.0
// WeightedBloom: a Bloom filter that tests costly negatives with more hash functions than others.
//
// The filter has two parts: a bit array, and a list of the costliest negatives (CostList) that says how many functions
// more each of them is tested with. The bits of the list are part of the budget.
//
//   x --> h1 .. hk --> all set? -- no --> no
//                         |
//                        yes
//                         v
//   x --> CostList: bucket of four cells [fingerprint | more]  -- not found --> maybe
//                         |
//                       found
//                         v
//         hk+1 .. hk+more --> all set? -- no --> no, yes --> maybe
//
// The list holds fingerprints, so sometimes a key or a stranger has the number of a listed negative. Insert and query
// read the same list, so such a key sets as many bits as will be tested.
//
//   paper       here
//   k_e         k_ + list_.more(x)
//   cost list   list_: the costliest negatives, as many as lower the expected weighted rate, or as `listed` says
//
// With list = outside the list is that of the papers: whole digests next to the filter, not part of the budget, and walked
// by every insert and query. size_bits() counts it nevertheless. It is for comparisons.
//
// Edge cases   A negative that is also a key may be listed; it is inserted and queried with the same functions, and
//              never denied. With equal costs, or none above the mean, none is listed, and this is a Bloom filter.
//
// Promises   never denies a key it was built from or given by insert.
// Does not   refuse a listed negative for certain. The rate of strangers is that of a Bloom filter of the bits left.
// Cost       Query: as Bloom, plus one word of the list for queries that pass all k bits. Build: as Bloom, plus sorting
//            the negatives.
// Source     J. Bruck, J. Gao, A. Jiang, "Weighted Bloom Filter", ISIT 2006; with a cost list as in R. Xie et al.,
//            "Hash Adaptive Bloom Filter", ICDE 2021, V-A.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/bloom/detail/cost_list.hpp"
#include "naysay/bloom/detail/outside_list.hpp"
#include "naysay/bloom/list_place.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/since.hpp"

namespace naysay {

class WeightedBloom {
  using CostList = bloom::CostList;

 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t k = 0;       // of keys that are not listed; 0: the best for the bits left
    std::uint64_t listed = 0;  // how many negatives to list; 0: as many as pay, or one in 1000 outside
    ListPlace list = ListPlace::inside;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("listed", self.listed);
      if (since(visit, 2)) visit("list", self.list);
    }
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 did not have the parameter list and a list outside

  static constexpr Claims kClaims = {
      .about = "Bloom with more hash functions for a list of costly negatives; pays only if costs differ widely",
      .uses_negatives = true,
  };

  static Result<WeightedBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument,
                   "weighted-bloom: k is " + std::to_string(p.k) + "; it must be at most 64, or 0 for the best"};
    const std::uint64_t budget = budget_bits(p.bits_per_key, o.room(w));
    std::vector<std::uint64_t> order(w.negatives.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return w.cost(a) > w.cost(b); });

    const bool outside = p.list == ListPlace::outside;
    const std::uint64_t wanted = p.listed != 0 || !outside ? p.listed : bloom::OutsideList::usual(order.size());
    const Cut cut = wanted == 0 && !outside ? best_cut(w, o, order, budget, p.k)
                                            : cut_at(w, order, std::min<std::uint64_t>(wanted, order.size()));
    const std::uint64_t list_bits = outside ? 0 : CostList::bits_for(cut.listed);
    if (cut.listed != 0 && list_bits >= budget)
      return Error{Errc::out_of_budget, "weighted-bloom: a list of " + std::to_string(cut.listed) +
                                            " negatives needs " + std::to_string(list_bits) + " bits of " +
                                            std::to_string(budget) + "; list fewer or give more bits"};
    WeightedBloom f;
    std::uint64_t dropped = 0;
    if (cut.listed != 0 && !outside) f.list_ = CostList(cut.listed);
    if (outside) f.outside_ = bloom::OutsideList(cut.listed);
    for (std::uint64_t i = 0; i < cut.listed; ++i) {
      const std::uint32_t more = CostList::more_for(w.cost(order[i]), cut.mean);
      if (outside)
        f.outside_.set(i, w.negatives[order[i]], more);
      else if (!f.list_.add(w.negatives[order[i]], more))
        ++dropped;
    }
    f.bits_ = budget - list_bits;
    const double left = static_cast<double>(f.bits_) / static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    f.k_ = p.k != 0 ? p.k : bloom::best_k(left);
    f.words_ = Array<std::uint64_t>(words_for_bits(f.bits_));
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("weighted-bloom: setting bits", i, w.keys.size()))
        return cancelled_error("weighted-bloom");
      f.insert(w.keys[i]);
    }
    o.say("negatives listed", static_cast<double>(cut.listed - dropped));
    o.say("negatives without room in their bucket", static_cast<double>(dropped));
    o.say("bits of the list", static_cast<double>(list_bits));
    return f;
  }

  bool insert(Digest d) noexcept {
    const std::uint32_t k = k_ + more(d);
    for (std::uint32_t i = 0; i < k; ++i) set_bit(words_.mutable_data(), position(d, i));
    return true;
  }

  // The list in the filter is read late, because few queries need it. That outside is walked first, as in the papers.
  bool may_contain(Digest d) const noexcept {
    const std::uint32_t first = k_ + outside_.more(d);
    for (std::uint32_t i = 0; i < first; ++i)
      if (!test_bit(words_.data(), position(d, i))) return false;
    for (std::uint32_t i = first, k = first + list_.more(d); i < k; ++i)
      if (!test_bit(words_.data(), position(d, i))) return false;
    return true;
  }

  // Computed from the bits that are set. A stranger with the fingerprint of a listed negative is tested as that is.
  double expected_fpr() const noexcept {
    if (bits_ == 0) return 0;
    std::uint64_t set = 0;
    const std::uint64_t seen = for_each_sampled(words_.size(), std::uint64_t{1} << 16, 8, [&](std::uint64_t i) {
      set += static_cast<std::uint64_t>(std::popcount(words_[i]));
    });
    const std::uint64_t bits = seen == words_.size() ? bits_ : 64 * seen;  // the last word may have a rest
    const double ones = static_cast<double>(set) / static_cast<double>(bits);
    return std::pow(ones, k_) * list_.stranger_passes(ones);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits", self.bits_);
    visit("k", self.k_);
    visit("words", self.words_);
    visit("list", self.list_);
    if (since(visit, 2)) visit("outside", self.outside_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK)
      return Error{Errc::corrupt, "weighted-bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    NAYSAY_CHECK(list_.validate());
    NAYSAY_CHECK(outside_.validate(CostList::kMaxMore));
    if (bits_ == 0 || words_.size() != words_for_bits(bits_))
      return Error{Errc::corrupt, "weighted-bloom: " + std::to_string(words_.size()) + " words do not hold " +
                                      std::to_string(bits_) + " bits"};
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;

  std::uint64_t position(Digest d, std::uint32_t i) const noexcept { return fast_range(double_hash(d, i), bits_); }

  std::uint32_t more(Digest d) const noexcept { return list_.more(d) + outside_.more(d); }

  struct Cut {
    std::uint64_t listed = 0;  // this many, the costliest
    double mean = 0;           // of the costs of the others
  };

  // The first `listed` of the order, without those that are too cheap to get more functions.
  static Cut cut_at(const Workload& w, const std::vector<std::uint64_t>& order, std::uint64_t listed) {
    double rest = 0;
    for (std::size_t i = listed; i < order.size(); ++i) rest += w.cost(order[i]);
    Cut cut{listed, listed < order.size() ? rest / static_cast<double>(order.size() - listed) : 0.0};
    while (cut.listed > 0 && CostList::more_for(w.cost(order[cut.listed - 1]), cut.mean) == 0) --cut.listed;
    return cut;
  }

  // Tries no list and lists that double in size, and returns the one with the least expected weighted rate.
  static Cut best_cut(const Workload& w, const BuildOptions& o, const std::vector<std::uint64_t>& order,
                      std::uint64_t budget, std::uint32_t k) {
    const auto keys = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    Cut best{};
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t listed = 0; listed <= order.size() && CostList::bits_for(listed) < budget;
         listed = listed == 0 ? 1 : 2 * listed) {
      const Cut cut = cut_at(w, order, listed);
      const double left = static_cast<double>(budget - CostList::bits_for(cut.listed)) / keys;
      double cost = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const double c = w.cost(order[i]);
        cost += i < cut.listed ? std::ldexp(c, -static_cast<int>(CostList::more_for(c, cut.mean))) : c;
      }
      const double expected = cost * bloom::fpr(left, k != 0 ? k : bloom::best_k(left));
      if (expected < least) {
        least = expected;
        best = cut;
      }
    }
    return best;
  }

  Array<std::uint64_t> words_;
  CostList list_;
  bloom::OutsideList outside_;
  std::uint64_t bits_ = 0;
  std::uint32_t k_ = 0;
};

static_assert(DynamicFilter<WeightedBloom>);

}  // namespace naysay
