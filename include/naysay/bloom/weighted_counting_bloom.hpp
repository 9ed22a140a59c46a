// SPDX-License-Identifier: Apache-2.0
// WeightedCountingBloom: a counting Bloom filter that tests costly negatives with more hash functions than others.
//
// The filter has two parts: counters, and a list of the costliest negatives (CostList) that says how many functions
// more each of them is tested with. The bits of the list are part of the budget.
//
//   x --> h1 .. hk --> all above 0? -- no --> no
//                          |
//                         yes
//                          v
//   x --> CostList: more -- 0 --> maybe
//                          |
//                          v
//         hk+1 .. hk+more --> all above 0? -- no --> no, yes --> maybe
//
//   paper       here
//   k_e         k_ + list_.more(x)
//   cost list   list_: the costliest negatives, as many as lower the expected weighted rate
//
// The paper's baseline keeps whole keys and costs, and does not say how many; our experiments list 1 in 20,000 for it.
// With fingerprints the list holds far more in the same bits. list = outside is a list as in the paper: digests next to the
// filter, not part of the budget, walked by every insert, erase and query. size_bits() counts it. It is for comparisons.
//
// Promises   never denies a key of the set. Erasing a key that the filter denies returns false and changes nothing.
// Does not   refuse a listed negative for certain; detect the erasure of a key that was never inserted (a false
//            positive), which may remove other keys. A counter at its maximum stays there permanently.
// Cost       as a counting Bloom filter; also one word of the list for insert, erase and queries that pass k counters.
// Source     M. Li et al., Seesaw Counting Filter, WWW 2022, 4.1 (WCBF), after Bruck, Gao and Jiang, ISIT 2006.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/bloom/detail/cost_list.hpp"
#include "naysay/bloom/detail/outside_list.hpp"
#include "naysay/bloom/list_place.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/since.hpp"

namespace naysay {

class WeightedCountingBloom {
 public:
  struct Params {
    double bits_per_key = 28;
    std::uint32_t k = 0;       // of keys that are not listed; 0: the best for the bits left
    std::uint64_t listed = 0;  // how many of the costliest negatives to list; 0: as many as pay
    std::uint32_t counter_bits = 4;
    ListPlace list = ListPlace::inside;  // outside: as in the paper; 0 listed then means one in 1000

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("listed", self.listed);
      visit("counter_bits", self.counter_bits);
      if (since(visit, 2)) visit("list", self.list);
    }
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 did not have the parameter list and a list outside

  static constexpr Claims kClaims = {
      .about = "counting Bloom with more hash functions for a list of costly negatives; pays if costs differ widely",
      .uses_negatives = true,
  };

  static Result<WeightedCountingBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument, "weighted-counting-bloom: k is " + std::to_string(p.k) +
                                               "; it must be at most 64, or 0 for the best"};
    if (p.counter_bits < 1 || p.counter_bits > kMaxCounterBits)
      return Error{Errc::invalid_argument, "weighted-counting-bloom: counter_bits is " +
                                               std::to_string(p.counter_bits) + "; it must be 1 to 16"};
    const std::uint64_t budget = budget_bits(p.bits_per_key, o.room(w));
    std::vector<std::uint64_t> order(w.negatives.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return w.cost(a) > w.cost(b); });
    const Cut cut = choose(w, p, o, order, budget);
    const bool outside = p.list == ListPlace::outside;
    const std::uint64_t list_bits = outside ? 0 : bloom::CostList::bits_for(cut.listed);
    if (cut.listed != 0 && list_bits + p.counter_bits > budget)
      return Error{Errc::out_of_budget, "weighted-counting-bloom: a list of " + std::to_string(cut.listed) +
                                            " negatives needs " + std::to_string(list_bits) + " bits of " +
                                            std::to_string(budget) + "; list fewer or give more bits"};
    WeightedCountingBloom f;
    if (outside)
      f.outside_ = bloom::OutsideList(cut.listed);
    else
      f.list_ = bloom::CostList(cut.listed);
    std::uint64_t in = 0;
    for (std::uint64_t i = 0; i < cut.listed; ++i) {
      const std::uint32_t more = bloom::CostList::more_for(w.cost(order[i]), cut.mean);
      if (outside) f.outside_.set(i, w.negatives[order[i]], more);
      in += more != 0 && (outside || f.list_.add(w.negatives[order[i]], more));
    }
    order = {};
    f.counters_ = Cells((budget - list_bits) / p.counter_bits, p.counter_bits);
    f.k_ = cut.k;
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("weighted-counting-bloom: inserting keys", i, w.keys.size()))
        return cancelled_error("weighted-counting-bloom");
      f.insert(w.keys[i]);
    }
    o.say("functions per key", f.k_);
    o.say("negatives listed", static_cast<double>(in));
    o.say("bits of the list", static_cast<double>(list_bits));
    return f;
  }

  bool insert(Digest d) noexcept {
    for (std::uint32_t i = 0, k = k_ + more(d); i < k; ++i) counters_.increment(position(d, i));
    return true;
  }

  // Requires that d was inserted (see "Does not"). If d is certainly not in the set, returns false and changes nothing.
  bool erase(Digest d) noexcept {
    if (!may_contain(d)) return false;
    for (std::uint32_t i = 0, k = k_ + more(d); i < k; ++i) counters_.decrement(position(d, i));
    return true;
  }

  // The list in the filter is read late, because few queries need it. That outside is walked first, as in the papers.
  bool may_contain(Digest d) const noexcept {
    const std::uint32_t first = k_ + outside_.more(d);
    for (std::uint32_t i = 0; i < first; ++i)
      if (counters_.get(position(d, i)) == 0) return false;
    for (std::uint32_t i = first, k = first + list_.more(d); i < k; ++i)
      if (counters_.get(position(d, i)) == 0) return false;
    return true;
  }

  // Computed from the counters as they are now.
  double expected_fpr() const noexcept {
    std::uint64_t used = 0;
    const std::uint64_t seen = for_each_sampled(counters_.size(), std::uint64_t{1} << 18, 64,
                                                [&](std::uint64_t i) { used += counters_.get(i) != 0; });
    const double one = seen == 0 ? 0 : static_cast<double>(used) / static_cast<double>(seen);
    return std::pow(one, k_) * list_.stranger_passes(one);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("k", self.k_);
    visit("counters", self.counters_);
    visit("list", self.list_);
    if (since(visit, 2)) visit("outside", self.outside_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK)
      return Error{Errc::corrupt, "weighted-counting-bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    NAYSAY_CHECK(counters_.validate());
    if (counters_.size() == 0) return Error{Errc::corrupt, "weighted-counting-bloom: it has no counters"};
    NAYSAY_CHECK(outside_.validate(bloom::CostList::kMaxMore));
    return list_.validate();
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;
  static constexpr std::uint32_t kMaxCounterBits = 16;  // wider counters are never full

  std::uint32_t more(Digest d) const noexcept { return list_.more(d) + outside_.more(d); }

  struct Cut {
    std::uint64_t listed = 0;  // this many, the costliest
    double mean = 0;           // of the costs of the others
    std::uint32_t k = 1;
  };

  // Tries no list and lists that double in size, and returns the one with the least expected weighted rate. After its
  // additional functions a listed negative weighs as much as the mean of the others.
  static Cut choose(const Workload& w, const Params& p, const BuildOptions& o, const std::vector<std::uint64_t>& order,
                    std::uint64_t budget) {
    const double keys = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    std::vector<double> rest(order.size() + 1, 0);  // rest[i]: cost of all from the i-th on
    for (std::size_t i = order.size(); i-- > 0;) rest[i] = rest[i + 1] + static_cast<double>(w.cost(order[i]));
    const bool outside = p.list == ListPlace::outside, given = p.listed != 0 || outside;
    const std::uint64_t wanted = std::min<std::uint64_t>(
        p.listed != 0 || !outside ? p.listed : bloom::OutsideList::usual(order.size()), order.size());
    Cut best;
    double least = 2;
    for (std::uint64_t listed = wanted; listed <= order.size(); listed = listed == 0 ? 1 : 2 * listed) {
      const std::uint64_t list_bits = outside ? 0 : bloom::CostList::bits_for(listed);
      if (!given && list_bits + p.counter_bits > budget) break;
      Cut cut{listed, 0, 1};
      if (listed < order.size()) cut.mean = rest[listed] / static_cast<double>(order.size() - listed);
      const double counters = budget > list_bits ? static_cast<double>(budget - list_bits) / p.counter_bits / keys : 0;
      cut.k = p.k != 0 ? p.k : bloom::best_k(counters);
      const double known = rest[0] > 0 ? (rest[listed] + static_cast<double>(listed) * cut.mean) / rest[0] : 1;
      const double rate = bloom::fpr(counters, cut.k) * (w.stranger_share + (1 - w.stranger_share) * known);
      if (given) return cut;
      if (rate < least) least = rate, best = cut;
    }
    return best;
  }

  std::uint64_t position(Digest d, std::uint32_t i) const noexcept {
    return fast_range(triple_hash(d, i), counters_.size());
  }

  Cells counters_;
  bloom::CostList list_;
  bloom::OutsideList outside_;
  std::uint32_t k_ = 0;
};

static_assert(ErasableFilter<WeightedCountingBloom>);

}  // namespace naysay
