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
// The paper's baseline keeps whole keys and their costs in its list and lists 1 negative in 20,000. With fingerprints
// the list holds far more negatives in the same bits.
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
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

class WeightedCountingBloom {
 public:
  struct Params {
    double bits_per_key = 28;
    std::uint32_t k = 0;       // of keys that are not listed; 0: the best for the bits left
    std::uint64_t listed = 0;  // how many of the costliest negatives to list; 0: as many as pay
    std::uint32_t counter_bits = 4;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("listed", self.listed);
      visit("counter_bits", self.counter_bits);
    }
  };

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
    const std::uint64_t list_bits = bloom::CostList::bits_for(cut.listed);
    if (cut.listed != 0 && list_bits + p.counter_bits > budget)
      return Error{Errc::out_of_budget, "weighted-counting-bloom: a list of " + std::to_string(cut.listed) +
                                            " negatives needs " + std::to_string(list_bits) + " bits of " +
                                            std::to_string(budget) + "; list fewer or give more bits"};
    WeightedCountingBloom f;
    f.list_ = bloom::CostList(cut.listed);
    std::uint64_t in = 0;
    for (std::uint64_t i = 0; i < cut.listed; ++i) {
      const std::uint32_t more = bloom::CostList::more_for(w.cost(order[i]), cut.mean);
      in += more != 0 && f.list_.add(w.negatives[order[i]], more);
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
    for (std::uint32_t i = 0, k = k_ + list_.more(d); i < k; ++i) counters_.increment(position(d, i));
    return true;
  }

  // Requires that d was inserted (see "Does not"). If d is certainly not in the set, returns false and changes nothing.
  bool erase(Digest d) noexcept {
    if (!may_contain(d)) return false;
    for (std::uint32_t i = 0, k = k_ + list_.more(d); i < k; ++i) counters_.decrement(position(d, i));
    return true;
  }

  bool may_contain(Digest d) const noexcept {
    for (std::uint32_t i = 0; i < k_; ++i)
      if (counters_.get(position(d, i)) == 0) return false;
    for (std::uint32_t i = k_, k = k_ + list_.more(d); i < k; ++i)
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
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK)
      return Error{Errc::corrupt, "weighted-counting-bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    NAYSAY_CHECK(counters_.validate());
    if (counters_.size() == 0) return Error{Errc::corrupt, "weighted-counting-bloom: it has no counters"};
    return list_.validate();
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;
  static constexpr std::uint32_t kMaxCounterBits = 16;  // wider counters are never full

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
    const std::uint64_t wanted = std::min<std::uint64_t>(p.listed, order.size());
    Cut best;
    double least = 2;
    for (std::uint64_t listed = wanted; listed <= order.size(); listed = listed == 0 ? 1 : 2 * listed) {
      const std::uint64_t list_bits = bloom::CostList::bits_for(listed);
      if (p.listed == 0 && list_bits + p.counter_bits > budget) break;
      Cut cut{listed, 0, 1};
      if (listed < order.size()) cut.mean = rest[listed] / static_cast<double>(order.size() - listed);
      const double counters = budget > list_bits ? static_cast<double>(budget - list_bits) / p.counter_bits / keys : 0;
      cut.k = p.k != 0 ? p.k : bloom::best_k(counters);
      const double known = rest[0] > 0 ? (rest[listed] + static_cast<double>(listed) * cut.mean) / rest[0] : 1;
      const double rate = bloom::fpr(counters, cut.k) * (w.stranger_share + (1 - w.stranger_share) * known);
      if (p.listed != 0) return cut;
      if (rate < least) least = rate, best = cut;
    }
    return best;
  }

  std::uint64_t position(Digest d, std::uint32_t i) const noexcept {
    return fast_range(triple_hash(d, i), counters_.size());
  }

  Cells counters_;
  bloom::CostList list_;
  std::uint32_t k_ = 0;
};

static_assert(ErasableFilter<WeightedCountingBloom>);

}  // namespace naysay
