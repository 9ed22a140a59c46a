// SPDX-License-Identifier: Apache-2.0
// AdaptiveStacked<Base>: a three-layer stack that learns its negatives from the false positives reported to it.
//
//            cold                                  warm
//         +------+   adapt()  +------+          +------+   +------+   +------+
//         | keys | ~~~~~~~~~> | negs |  warm()  | keys |-->| negs |-->| keys |-->  maybe
//         +------+            +------+  =====>  +------+   +------+   +------+
//          answers            fills up             no        maybe       no
//
// It is built cold, from the keys alone. adapt() inserts reported false positives into layer 2, which queries do not
// read yet. When full() is true, layer 2 has the planned number, and the caller passes all keys again: warm() inserts
// those that layer 2 accepts into layer 3. From then on queries go through all three layers.
//
// A key inserted while cold goes into layer 3 immediately, whatever layer 2 holds, so the caller need not give it to
// warm().
//
// Layer 2 refuses nothing while cold. So the digests of the first reported negatives are also kept in a small exact
// table (recent_) that queries read after layer 1, cold or warm.
//
//   paper                   here
//   FPCapacity, FPCount     capacity_, told_
//   Alg. 5                  adapt() and full()
//   |N_sq|                  chosen by plan_cold(): how many negative queries the cold phase lasts
//   E(psi), E(N_k)          CostCurve::after(|N_sq|).share, .count
//   f(x)                    Workload::costs; without negatives, a Zipf law by Params
//
// Workload::negatives only describe the expected traffic: none is stored before it is reported.
//
// Promises   Never denies a key it was built from or that was inserted, before or after warm(), if warm() is given the
//            keys of the build. adapt() returns true only for negatives that are refused from then on.
// Does not   erase: the layers of a key depend on when it was inserted.
// Cost       Query: the base, one comparison of a cache line after a "maybe", and layers 2 and 3 when warm.
// Source     Deeds, 2020, section 2.4. The table of recent negatives and the weight of the cold phase in the plan are
//            our own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/array.hpp"
#include "naysay/core/cost_curve.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/stacked/detail/stacked_layers.hpp"
#include "naysay/stacked/layer_price.hpp"
#include "naysay/stacked/stacked_plan.hpp"
#include "naysay/stacked/stacked_rates.hpp"

namespace naysay {

template <TunableFilter Base>
requires DynamicFilter<Base>
class AdaptiveStacked {
 public:
  struct Params {
    double bits_per_key = 10;
    double queries_per_key = 100;   // about negatives, in the life of the filter
    double negatives_per_key = 10;  // different ones that will be queried; used if the workload has none
    double zipf = 0.75;             // the exponent of their frequencies; used if the workload has none

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("queries_per_key", self.queries_per_key);
      visit("negatives_per_key", self.negatives_per_key);
      visit("zipf", self.zipf);
    }
  };

  static constexpr Claims kClaims = {
      .about = "a stack that learns its negatives from the false positives that are reported",
      .uses_negatives = true,
      .fpr_model_error = Base::kClaims.fpr_model_error,
      .fixed_bits = 3 * Base::kClaims.fixed_bits + 1024,  // three layers, one bucket of recent negatives, four numbers
  };

  static Result<AdaptiveStacked> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    for (auto [name, value] :
         {std::pair{"queries_per_key", p.queries_per_key}, {"negatives_per_key", p.negatives_per_key}})
      if (!(value > 0 && value <= 1e9))
        return Error{Errc::invalid_argument, std::string("adaptive_stacked: ") + name + " is " + rounded_text(value) +
                                                 "; it must be more than 0 and at most 1e9"};
    if (!(p.zipf >= 0 && p.zipf <= 4))
      return Error{Errc::invalid_argument,
                   "adaptive_stacked: zipf is " + rounded_text(p.zipf) + "; it must be in [0, 4]"};
    const auto room = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    const auto budget = static_cast<double>(budget_bits(p.bits_per_key, o.room(w)));
    const auto buckets =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(budget * kRecentShare / (128 * kBucket)));
    const double recent_bits = budget >= kRecentFrom ? static_cast<double>(buckets) * 128 * kBucket : 0;
    const stacked::StackPlan plan = plan_cold(w, p, o, room, budget - recent_bits);

    AdaptiveStacked f;
    f.recent_ = Array<Digest>(buckets * kBucket);
    typename Base::Params params{};
    params.bits_per_key = (budget - recent_bits) / room;
    const bool stacks = plan.rates.size() == 3;
    if (stacks) params = Base::params_for(plan.rates[0]);
    NAYSAY_TRY(f.first_,
               Base::build({.keys = w.keys}, params,
                           {.capacity = o.capacity, .seed = o.seed, .threads = o.threads, .progress = o.progress}));
    o.say("layers", stacks ? 3 : 1);
    if (!stacks) return f;

    f.capacity_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(plan.known * plan.rates[0]));
    NAYSAY_TRY(Base negatives,
               Base::build({}, Base::params_for(plan.rates[1]), {.capacity = f.capacity_, .seed = o.seed}));
    const double mistaken = room * plan.rates[1], late = room - static_cast<double>(w.keys.size());
    const double third_room = mistaken + 5 * std::sqrt(mistaken) + std::max(late, 0.0) + 1;
    const double left = budget - recent_bits - static_cast<double>(f.first_.size_bits() + negatives.size_bits());
    params = {};
    params.bits_per_key = std::min(std::max(left, 64.0) / third_room, prices()[prices().size() - 1].bits);
    NAYSAY_TRY(Base third,
               Base::build({}, params, {.capacity = static_cast<std::uint64_t>(third_room), .seed = o.seed}));
    f.deeper_.push_back(std::move(negatives));
    f.deeper_.push_back(std::move(third));
    o.say("negatives to learn", static_cast<double>(f.capacity_));
    o.say("expected wfpr over its life", plan.wfpr);
    return f;
  }

  bool may_contain(Digest d) const noexcept {
    if (!first_.may_contain(d)) return false;
    if (is_recent(d)) return false;
    return !warm_ || !deeper_[0].may_contain(stacked::detail::layer_digest(d, 1)) ||
           deeper_[1].may_contain(stacked::detail::layer_digest(d, 2));
  }

  bool insert(Digest d) noexcept {
    if (!first_.insert(d)) return false;
    if (!deeper_.empty() && (!warm_ || deeper_[0].may_contain(stacked::detail::layer_digest(d, 1))) &&
        !deeper_[1].insert(stacked::detail::layer_digest(d, 2))) {
      if constexpr (ErasableFilter<Base>) first_.erase(d);
      return false;
    }
    Digest* bucket = recent_.mutable_data() + bucket_of(d);
    for (std::size_t i = 0; i < kBucket; ++i)
      if (bucket[i] == d) bucket[i] = {};
    return true;
  }

  // Algorithm 5, and an entry in recent_ if there is room. False: d is still accepted; it is refused after warm() if
  // layer 2 has it.
  bool adapt(Digest d, float) noexcept {
    if (!frozen_ && told_ < capacity_ && !deeper_[0].may_contain(stacked::detail::layer_digest(d, 1)))
      told_ += deeper_[0].insert(stacked::detail::layer_digest(d, 1));
    if (!may_contain(d)) return true;
    Digest* bucket = recent_.mutable_data() + bucket_of(d);
    for (std::size_t i = 0; i < kBucket; ++i) {
      if (bucket[i] != Digest{}) continue;
      bucket[i] = d;
      break;
    }
    return !may_contain(d);
  }

  // True: layer 2 has the planned number, and warm() should be called. Until then queries read layer 1 and recent_.
  bool full() const noexcept { return !warm_ && capacity_ != 0 && told_ >= capacity_; }
  bool warm() const noexcept { return warm_; }
  Warmth warmth() const noexcept { return {told_, capacity_, warm_}; }

  // Requires all keys of the build; keys inserted since may be among them. They may come in parts, all but the last
  // with `more`: the first part ends the learning, the last one makes queries read all layers. Without a second layer,
  // or if the filter is warm already, nothing happens. After an error the filter is cold and denies no key.
  Result<Ok> warm(std::span<const Digest> keys, bool more = false) {
    if (deeper_.empty() || warm_) return Ok{};
    frozen_ = true;
    for (const Digest& d : keys)
      if (deeper_[0].may_contain(stacked::detail::layer_digest(d, 1)) &&
          !deeper_[1].insert(stacked::detail::layer_digest(d, 2)))
        return Error{Errc::out_of_budget, "adaptive_stacked: layer 3 is full; build again with more bits_per_key"};
    if (more) return Ok{};
    warm_ = true;
    for (std::uint64_t i = 0; i < recent_.size(); ++i) {  // entries that the stack now refuses are removed
      const Digest d = std::exchange(recent_.at_mut(i), Digest{});
      if (may_contain(d)) recent_.at_mut(i) = d;
    }
    return Ok{};
  }

  double expected_fpr() const noexcept {
    if (!warm_) return first_.expected_fpr();
    return stacked::stranger(std::array{first_.expected_fpr(), deeper_[0].expected_fpr(), deeper_[1].expected_fpr()});
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("capacity", self.capacity_);
    visit("told", self.told_);
    visit("frozen", self.frozen_);
    visit("warm", self.warm_);
    visit("first", self.first_);
    visit("deeper", self.deeper_);
    visit("recent", self.recent_);
  }
  Result<Ok> validate() const {
    if (deeper_.size() != 0 && deeper_.size() != 2)
      return Error{Errc::corrupt,
                   "adaptive_stacked: " + std::to_string(1 + deeper_.size()) + " layers; there must be 1 or 3"};
    if (deeper_.empty() && (capacity_ != 0 || warm_))
      return Error{Errc::corrupt, "adaptive_stacked: it has a second phase but no second layer"};
    if (recent_.empty() || recent_.size() % kBucket != 0)
      return Error{Errc::corrupt, "adaptive_stacked: " + std::to_string(recent_.size()) +
                                      " recent negatives; the number must be a multiple of " + std::to_string(kBucket)};
    NAYSAY_CHECK(first_.validate());
    for (const Base& layer : deeper_) NAYSAY_CHECK(layer.validate());
    return Ok{};
  }

 private:
  static constexpr std::size_t kBucket = 4;         // digests: one cache line
  static constexpr double kRecentShare = 1.0 / 64;  // of the bits: 0.16 of 10 bits per key, one entry per 800 keys
  static constexpr double kRecentFrom = 64 * 512;   // bits; smaller filters have one bucket, which is not counted

  static const stacked::PriceList& prices() { return stacked::price_list<Base>(); }

  // The plan for the sample size with the fewest expected false positives over the whole life, cold and warm.
  static stacked::StackPlan plan_cold(const Workload& w, const Params& p, const BuildOptions& o, double room,
                                      double bits) {
    const CostCurve curve = w.negatives.empty() ? CostCurve::zipf(p.zipf, std::ceil(p.negatives_per_key * room))
                                                : CostCurve::of(w.costs, w.negatives.size(), o.threads);
    const double life = std::max(1.0, p.queries_per_key * room), share = 1 - w.stranger_share;
    stacked::StackPlan best;
    // As in the paper, a few sizes are tried; each is half of the one before, because rates depend on the logarithm.
    for (double samples = life / 2; samples >= 1 && samples >= life * 0x1p-20; samples /= 2) {
      const CostCurve::Seen seen = curve.after(samples);
      const double known_weight = share * seen.share;
      const stacked::StackPlan plan =
          stacked::plan_stack(prices(), stacked::KnownList(seen.count, known_weight),
                              {.keys = room,
                               .bits = bits,
                               .layer_bits = stacked::layer_extra<Base>().bits,
                               .layer_keys = stacked::layer_extra<Base>().keys,
                               .strangers = std::max(1 - known_weight, stacked::kLeastStrangers),
                               .cold = samples / life,
                               .layers = 3});
      if (plan.found && (!best.found || plan.wfpr < best.wfpr)) best = plan;
    }
    return best;
  }

  std::uint64_t bucket_of(Digest d) const noexcept {
    return fast_range(remix64(d.hi ^ d.lo), recent_.size() / kBucket) * kBucket;
  }
  bool is_recent(Digest d) const noexcept {
    const Digest* bucket = recent_.data() + bucket_of(d);
    bool found = false;
    for (std::size_t i = 0; i < kBucket; ++i) found |= bucket[i] == d;
    return found && d != Digest{};  // empty places hold the zero digest
  }

  Base first_;
  std::vector<Base> deeper_;  // none, or layers 2 and 3
  Array<Digest> recent_;
  std::uint64_t capacity_ = 0;
  std::uint64_t told_ = 0;
  bool frozen_ = false;  // layer 2 is complete
  bool warm_ = false;
};

}  // namespace naysay
