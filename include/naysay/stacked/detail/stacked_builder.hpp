// SPDX-License-Identifier: Apache-2.0
// StackedBuilder: builds a stack layer by layer, and plans the rest again after every layer.
//
//   plan_stack --> layer 1 of keys --> negatives that it accepts
//                                         |
//              +--------------------------+
//              v
//   plan_stack --> layer of negatives --> keys that it accepts --> plan_stack --> layer of keys --> negatives that it
//              ^                                                                                    accepts
//              +-----------------------------------------------------------------------------------------+
//
// After every layer the builder knows how many keys and negatives really passed it and how many bits are left, so the
// budget is used up and never exceeded. `here_` follows a query down the stack as it grows: what share of the queries
// reaches this layer, and what was accepted on the way.
//
// Promises   If a stack cannot be built, one layer is. The same bytes for any number of threads.
// Cost       One query per negative, two operations per key, and the planner's time.
// Source     Deeds, 2020, Algorithm 1; planning again is our own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/cost_curve.hpp"
#include "naysay/core/detail/digest_set.hpp"
#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/price.hpp"
#include "naysay/stacked/detail/stacked_layers.hpp"
#include "naysay/stacked/layer_price.hpp"
#include "naysay/stacked/stacked_plan.hpp"

namespace naysay::stacked::detail {

template <TunableFilter Base, class Params>
class StackedBuilder {
 public:
  using Layers = StackedLayers<Base>;

  StackedBuilder(const Workload& w, const Params& p, const BuildOptions& o)
      : w_(w), p_(p), o_(o), room_(DynamicFilter<Base> ? o.room(w) : w.keys.size()), grows_(room_ > w.keys.size()) {
    if (p.max_fpr > 0) bound_ = p.max_fpr;
    if (p.max_fpr_times > 0) bound_ = std::min(bound_, p.max_fpr_times * prices_.rate_for(p.bits_per_key));
  }

  Result<Layers> build() {
    const CostCurve curve = CostCurve::of(w_.costs, w_.negatives.size(), o_.threads);
    const double share =
        curve.weight() > 0 ? 1 - w_.stranger_share : 0;  // of the queries that are about these negatives
    cost_scale_ = share > 0 ? share / curve.weight() : 0;
    if (p_.rates == StackedRates::equal && share > 0) return equal_layers(curve);
    // The second attempt reserves for every layer the most that its base may use beyond its price.
    for (double more_bits : {0.0, static_cast<double>(Base::kClaims.fixed_bits)}) {
      extra_.bits += more_bits;
      // The bits that the base would get: its price, and what one layer costs beyond it.
      here_ = {.bits = static_cast<double>(budget_bits(p_.bits_per_key, room_)) +
                       std::min(extra_.at(p_.bits_per_key), static_cast<double>(Base::kClaims.fixed_bits)),
               .layers = grows_ ? std::min<std::size_t>(p_.layers, 3) : p_.layers,
               .others = std::max(1 - share, kLeastStrangers)};
      KnownList known(curve, share);
      if (p_.known > 0 && share > 0) {
        const double x = std::max(1.0, p_.known * curve.count());
        known = KnownList(x, cost_scale_ * curve.weight(x));
        here_.others += share - known.weight();
      }
      const StackPlan plan = plan_stack(prices_, known, problem(static_cast<double>(room_), false));
      if (!plan.found && (p_.wfpr > 0 || p_.max_fpr > 0))
        return Error{Errc::out_of_budget, "stacked: no stack of " + rounded_text(p_.bits_per_key) +
                                              " bits per key has wfpr " + rounded_text(p_.wfpr) + " and max_fpr " +
                                              rounded_text(p_.max_fpr) + " (0: any); allow more bits or higher rates"};
      if (plan.rates.size() <= 1) break;
      here_.layers = plan.rates.size();
      here_.others += known.weight() - cost_scale_ * curve.weight(plan.known);
      if (auto f = stack(plan.rates[0], curve.cut(plan.known)); f) return f;
    }
    // If a layer could not be built: one layer is always a filter.
    return one_layer();
  }

 private:
  struct Sifted {
    std::vector<Digest> digests;
    std::vector<float> costs;  // none: 1 each
  };

  Result<Layers> one_layer() const {
    typename Base::Params params{};
    params.bits_per_key = p_.bits_per_key;
    if (p_.wfpr > 0) {
      params = Base::params_for(std::min(p_.wfpr, bound_));
      if (params.bits_per_key > p_.bits_per_key)
        return Error{Errc::out_of_budget, "stacked: wfpr " + rounded_text(p_.wfpr) + " needs " +
                                              rounded_up_text(params.bits_per_key) + " bits per key in one layer; " +
                                              rounded_text(p_.bits_per_key) + " are allowed"};
    }
    Layers f;
    NAYSAY_TRY(f.first, Base::build({.keys = w_.keys}, params, layer_options(static_cast<double>(room_))));
    tell(f, 0, f.first.expected_fpr());
    return f;
  }

  // Three layers of one rate, and all chosen negatives in the second, whether layer 1 accepts them or not.
  Result<Layers> equal_layers(const CostCurve& curve) {
    const double chosen = std::max(1.0, (p_.known > 0 ? p_.known : 1) * curve.count());
    Sifted known = sift(nullptr, 0, w_.negatives, w_.costs, curve.cut(chosen));
    const std::size_t keys_among = drop_keys_and_repeats(known);
    const double room = static_cast<double>(std::max<std::uint64_t>(room_, 1));
    const double stored = static_cast<double>(known.digests.size());
    const auto reach_third = [&](double rate) { return room * rate + kSpare * std::sqrt(room * rate) + 1; };
    const auto price = [&](double rate) {
      const double bits = Base::bits_per_key(rate);
      return (room + stored + reach_third(rate)) * bits + 3 * extra_.at(bits);
    };
    const double rate = rate_for_price(price, static_cast<double>(budget_bits(p_.bits_per_key, room_)));
    if (rate >= 1 || known.digests.empty()) return one_layer();
    Layers f;
    NAYSAY_TRY(f.first, Base::build({.keys = w_.keys}, Base::params_for(rate), layer_options(room)));
    NAYSAY_CHECK(add_layer(f, known.digests, 0, Base::params_for(rate)));
    const Sifted keys = sift(&f.rest.back(), f.rest.size(), w_.keys, {}, {});
    NAYSAY_CHECK(add_layer(f, keys.digests, reach_third(rate), Base::params_for(rate)));
    const double weight = cost_scale_ * curve.weight(chosen);
    tell(f, known.digests.size(), weight * rate * rate + (1 - weight) * rate * (1 - rate + rate * rate));
    o_.say("negatives that are keys", static_cast<double>(keys_among));
    return f;
  }

  Result<Layers> stack(double first_rate, CostCurve::Cut cut) {
    Layers f;
    NAYSAY_TRY(f.first,
               Base::build({.keys = w_.keys}, Base::params_for(first_rate), layer_options(static_cast<double>(room_))));
    passed_keys_layer(f.first, first_rate);

    Sifted known = sift(grows_ ? nullptr : &f.first, 0, w_.negatives, w_.costs, cut);
    const std::size_t keys_among = drop_keys_and_repeats(known);
    Sifted keys;
    std::span<const Digest> keys_here = w_.keys;
    std::size_t stored = 0;
    double known_weight = 0;  // of the stored negatives that reach this layer
    while (!known.digests.empty()) {
      const Passage before = here_;
      const double weight_before = known_weight;
      // The costliest negatives that are left.
      const CostCurve curve = CostCurve::of(known.costs, known.digests.size());
      const double room_here = f.rest.empty() ? static_cast<double>(room_) : static_cast<double>(keys_here.size());
      StackPlan plan = plan_stack(prices_, KnownList(curve, cost_scale_ * curve.weight()), problem(room_here, true));
      if (!plan.found && !f.rest.empty()) break;  // the stack may end after any layer of keys
      if (!plan.found) return no_bits_left(f);
      if (plan.known < curve.count()) known = sift(nullptr, 0, known.digests, known.costs, curve.cut(plan.known));
      known_weight = cost_scale_ * CostCurve::of(known.costs, known.digests.size()).weight();
      here_.others += cost_scale_ * curve.weight() - known_weight;
      stored = std::max(stored, known.digests.size());
      NAYSAY_CHECK(add_layer(f, known.digests, 0, Base::params_for(plan.rates[0])));
      const double rate = f.rest.back().expected_fpr();
      passed_negatives_layer(f.rest.back(), rate);

      // The keys that this layer accepts as negatives, and room for later ones.
      keys = sift(&f.rest.back(), f.rest.size(), keys_here, {}, {});
      keys_here = keys.digests;
      const double later = static_cast<double>(room_ - w_.keys.size()) * rate;
      const double room = static_cast<double>(keys_here.size()) + later + 5 * std::sqrt(later);
      plan =
          plan_stack(prices_, KnownList(static_cast<double>(known.digests.size()), known_weight), problem(room, false));
      if (!plan.found && f.rest.size() > 2) {  // then the stack ends before these negatives
        f.rest.pop_back();
        here_ = before;
        known_weight = weight_before;
        break;
      }
      if (!plan.found) return no_bits_left(f);
      const bool last = plan.rates.size() == 1;
      typename Base::Params params = Base::params_for(plan.rates[0]);
      if (last && p_.wfpr == 0) {  // all bits that are left
        const double all = (here_.bits - extra_.bits) / (std::max(room, 1.0) + extra_.keys);
        params = {};
        params.bits_per_key = std::min(all, prices_[prices_.size() - 1].bits);
      }
      NAYSAY_CHECK(add_layer(f, keys_here, room, params));
      passed_keys_layer(f.rest.back(), plan.rates[0]);
      if (last) {
        known_weight *= grows_ ? first_rate * plan.rates[0] : f.rest.back().expected_fpr();
        break;
      }
      known = sift(&f.rest.back(), f.rest.size(), known.digests, known.costs, {});
      known_weight = cost_scale_ * CostCurve::of(known.costs, known.digests.size()).weight();
    }
    tell(f, stored, here_.accepted_weight + here_.others + known_weight);
    o_.say("negatives that are keys", static_cast<double>(keys_among));
    return f;
  }

  // The rest of the stack as a problem for the planner.
  StackProblem problem(double keys, bool negatives_next) const noexcept {
    return {.keys = std::max(keys, 1.0),
            .bits = here_.bits,
            .layer_bits = extra_.bits,
            .layer_keys = extra_.keys,
            .strangers = here_.others,
            .spare = kSpare,
            .wfpr = p_.wfpr > 0 ? std::max(p_.wfpr - here_.accepted_weight, 1e-300) : 0,
            .max_stranger = bound_ < 1 ? std::max(bound_ - here_.accepted, 0.0) / here_.reaches : 1,
            .layers = here_.layers,
            .negatives_next = negatives_next,
            .all_known_reach = grows_};
  }
  void passed_keys_layer(const Base& layer, double planned_rate) noexcept {
    const double rate = grows_ ? planned_rate : layer.expected_fpr();
    here_.bits -= static_cast<double>(layer.size_bits());
    here_.layers -= 1;
    here_.others *= rate;
    here_.reaches *= rate;
  }
  void passed_negatives_layer(const Base& layer, double rate) noexcept {
    here_.bits -= static_cast<double>(layer.size_bits());
    here_.layers -= 1;
    here_.accepted_weight += here_.others * (1 - rate);
    here_.others *= rate;
    here_.accepted += here_.reaches * (1 - rate);
    here_.reaches *= rate;
  }

  BuildOptions layer_options(double room) const {
    return {.capacity = grows_ ? static_cast<std::uint64_t>(std::ceil(room)) : 0,
            .seed = o_.seed,
            .threads = o_.threads,
            .progress = o_.progress};
  }

  Result<Ok> add_layer(Layers& f, std::span<const Digest> members, double room,
                       const typename Base::Params& params) const {
    std::vector<Digest> digests(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) digests[i] = layer_digest(members[i], f.size());
    NAYSAY_TRY(Base layer, Base::build({.keys = digests}, params, layer_options(room)));
    f.rest.push_back(std::move(layer));
    return Ok{};
  }

  static Error no_bits_left(const Layers& f) {
    return {Errc::out_of_budget, "stacked: no bits are left for layer " + std::to_string(f.size() + 1)};
  }

  void tell(const Layers& f, std::size_t stored, double wfpr) const {
    o_.say("layers", static_cast<double>(f.size()));
    o_.say("negatives stored", static_cast<double>(stored));
    o_.say("expected wfpr", wfpr);
  }

  // The digests that the cut selects and the layer, if there is one, accepts; in their order.
  Sifted sift(const Base* layer, std::size_t index, std::span<const Digest> digests, std::span<const float> costs,
              CostCurve::Cut cut) const {
    constexpr std::size_t kPart = std::size_t{1} << 16;  // enough to keep a thread busy, few enough to share out
    std::vector<Sifted> parts(divide_up(digests.size(), kPart));
    parallel_for(parts.size(), o_.threads, [&](std::uint64_t part) {
      const std::size_t end = std::min<std::size_t>(digests.size(), (part + 1) * kPart);
      std::array<std::size_t, kBatch> taken;
      std::array<Digest, kBatch> queried;
      std::array<std::uint8_t, kBatch> answers;
      answers.fill(1);
      for (std::size_t i = part * kPart; i < end;) {
        std::size_t n = 0;
        for (; i < end && n < kBatch; ++i) {
          taken[n] = i;
          n += costs.empty() ? cut.takes(1, digests[i]) : cut.takes(costs[i], digests[i]);
        }
        if (layer) {
          for (std::size_t j = 0; j < n; ++j) queried[j] = layer_digest(digests[taken[j]], index);
          naysay::may_contain(*layer, {queried.data(), n}, answers.data());
        }
        for (std::size_t j = 0; j < n; ++j) {
          if (!answers[j]) continue;
          parts[part].digests.push_back(digests[taken[j]]);
          if (!costs.empty()) parts[part].costs.push_back(costs[taken[j]]);
        }
      }
    });
    Sifted all;
    std::size_t total = 0;
    for (const Sifted& part : parts) total += part.digests.size();
    all.digests.reserve(total);
    all.costs.reserve(costs.empty() ? 0 : total);
    for (Sifted& part : parts) {
      all.digests.insert(all.digests.end(), part.digests.begin(), part.digests.end());
      all.costs.insert(all.costs.end(), part.costs.begin(), part.costs.end());
      part = {};
    }
    return all;
  }

  // Drops negatives that are keys (they would pass all layers) and merges repeated ones (they would be stored twice).
  // Returns how many were keys.
  std::size_t drop_keys_and_repeats(Sifted& known) const {
    const std::size_t n = known.digests.size();
    if (n == 0) return 0;
    DigestSet set(known.digests);
    std::vector<std::uint8_t> drop(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t first = set.add(i);
      if (first == i) continue;
      drop[i] = 1;
      if (!known.costs.empty()) known.costs[first] += known.costs[i];
    }
    std::size_t keys = 0;
    for (const Digest& d : w_.keys)
      if (const std::uint32_t i = set.find(d); i != DigestSet::kNone && !drop[i]) drop[i] = 1, ++keys;
    std::size_t left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (drop[i]) continue;
      known.digests[left] = known.digests[i];
      if (!known.costs.empty()) known.costs[left] = known.costs[i];
      ++left;
    }
    known.digests.resize(left);
    if (!known.costs.empty()) known.costs.resize(left);
    return keys;
  }

  static constexpr double kSpare = 3;         // standard deviations of keys for which a layer has room
  static constexpr std::size_t kBatch = 256;  // digests and answers of a batch stay in the first-level cache

  const Workload& w_;
  const Params& p_;
  const BuildOptions& o_;
  const PriceList& prices_ = price_list<Base>();
  LayerExtra extra_ = layer_extra<Base>();
  std::uint64_t room_;  // keys to have room for
  bool grows_;          // more than there are now
  double bound_ = 1;    // on the rate of strangers

  double cost_scale_ = 0;  // cost to share of the queries
  struct Passage {
    double bits = 0;             // not yet used
    std::size_t layers = 0;      // that may still be added
    double others = 1;           // weight of the queries that reach this layer, without those about stored negatives
    double accepted_weight = 0;  // weight of such queries that were accepted on the way
    double reaches = 1;          // share of the strangers that reach this layer
    double accepted = 0;         // share of the strangers that were accepted on the way
  } here_;
};

}  // namespace naysay::stacked::detail
