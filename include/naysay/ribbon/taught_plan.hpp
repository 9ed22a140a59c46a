// SPDX-License-Identifier: Apache-2.0
// TaughtPlan: how a taught ribbon divides its budget. From bits per key, costs and the share of strangers to planes,
// slots and rates.
//
// Known negatives are ranked by cost, the costliest first; ranks are counted per key. A ribbon with x free slots per
// key and p planes refuses the x * (2^p - 1) costliest for certain and accepts the others with probability 2^-p
// (detail/taught_shard.hpp says why). Two shapes are possible:
//
//   plain    p planes (p + 1 in some of the shards), x free slots per key in all of them
//                                                                            bits = p * (1 + x)
//   exact    the same with the fewest free slots, and after it an exact plane: a plane with slots of its own for every
//            key and for e survivors per key. It refuses e * 2^p ranks more  bits = p * (1 + x) + (1 + e) * (1 + x)
//
//   cost ^
//        |##                   # refused for certain: first with the free slots, then by the exact plane
//        |#####
//        |########....         . accepted with probability 2^-planes
//        +---------------> rank
//
// One more free slot costs p bits and refuses 2^p ranks; one more slot of the exact plane costs one bit. So the exact
// shape is always smaller, but then a query of a key (not of a negative) reads a second place. It is chosen if its rate
// is lower by a factor of at least kWorthExactPlane.
//
// plan() spends a budget. complete_plans() asks the other way round: which plans refuse every known negative, and what
// do they cost? There the exact plane is sized by the negatives that reach it, so every plan in its shape is complete.
//
//   symbol    here
//   n, m      keys, negatives; lambda = m / n
//   x         free slots per key: slots_per_key - 1
//   a, eps    stranger_fpr
//
// Promises   The rates are within 5 % of what a build measures for 10^5 keys or more.
// Cost       A few thousand evaluations of the cost curve; no key is read.
// Source     our own (docs/taught_ribbon.md). The limit: any structure that refuses m known negatives and accepts
//            others with probability a needs n log2(1/a) + m log2(1/(1 - a)) bits, a <= n / (n + m).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "naysay/core/cost_curve.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"

namespace naysay::ribbon {

struct TaughtTask {
  double keys = 0;
  double bits_per_key = 0;
  double stranger_share = 0;
  unsigned width = 0;       // 0: the planner's choice
  double stranger_fpr = 1;  // complete_plans(): strangers may be accepted at this rate
};

struct TaughtPlan {
  unsigned width = 128;
  bool exact = false;      // has an exact plane after the others
  double planes = 0;       // on average over the shards, the exact one not counted
  double slack = 0;        // slots per key more than a plain ribbon has
  double exact_slots = 0;  // survivors per key that the exact plane has slots for
  bool complete = false;   // every known negative is refused
  bool sized = false;      // by its planes and negatives (complete_plans), not by a budget
  double bits = 0;         // of a sized plan: what it is expected to use, headers and tables included

  double stranger_fpr = 1;
  double known = 1;  // the share of the known negatives' cost that is still accepted
  double wfpr = 1;

  double build_ns = 0;     // on one core
  double build_bytes = 0;  // without the keys, the negatives and the filter

  RibbonSizes sizes() const noexcept { return {width, exact ? RibbonFit::tight : RibbonFit::quick}; }
};

// Of the x * (2^p - 1) negatives that the free slots could refuse, the part that a plan counts on. With more, shards
// need more seeds until they refuse all of theirs.
inline constexpr double kSlackUsed = 0.75;
inline constexpr double kWorthExactPlane = 1.1;  // a lower rate by this factor is worth a second look-up for keys
inline constexpr double kWorthWidth = 1.15;      // ... is worth reading three blocks per query instead of two
inline constexpr double kWorthPromise = 2;       // ... is worth giving up the promise to refuse every known negative

inline constexpr double kLayoutBits = 352;  // of a RibbonLayout without its arrays

// A build processes shards in groups: a third of all keys and negatives, but at least kLeastGroup and at most
// kLargestGroup of them.
inline constexpr double kLeastGroup = 1 << 22, kLargestGroup = 1 << 26, kNegativeBytes = 24;
inline double group_size(double keys, double negatives) noexcept {
  return std::clamp((keys + negatives) / 3, kLeastGroup, kLargestGroup);
}

// The least bits per key of any structure with these rates.
inline double limit_bits_per_key(double keys, double negatives, double stranger_fpr) noexcept {
  if (keys <= 0) return 0;
  const double a = std::min(stranger_fpr, keys / (keys + negatives));
  return a >= 1 ? 0 : std::log2(1 / a) + negatives / keys * std::log2(1 / (1 - a));
}

namespace detail {

struct Mixed {  // an average of planes: some shards have `whole`, the share `rich` of them has one more
  double whole, rich;
  explicit Mixed(double planes) : whole(std::floor(planes)), rich(planes - whole) {}
  // The average of f(planes) over the shards.
  template <class F>
  double mean(F f) const {
    return (1 - rich) * f(whole) + (rich > 0 ? rich * f(whole + 1) : 0.0);
  }
};

inline void rate(TaughtPlan& plan, const TaughtTask& task, const CostCurve& costs, double stranger_fpr, double known) {
  plan.stranger_fpr = stranger_fpr;
  plan.known = plan.complete ? 0 : known;
  const double strangers = costs.count() == 0 ? 1 : task.stranger_share;
  plan.wfpr = strangers * plan.stranger_fpr + (1 - strangers) * plan.known;
}

inline TaughtPlan plain(const TaughtTask& task, const CostCurve& costs, unsigned width, double slack) {
  const RibbonSizes sizes(width, RibbonFit::quick);
  const double slots = sizes.slots_per_key() + slack, x = slots - 1;
  const double lambda = task.keys > 0 ? costs.count() / task.keys : 0;
  TaughtPlan plan{.width = width, .slack = slack};
  plan.planes = std::clamp((task.bits_per_key - sizes.table_bits_per_key()) / slots, 0.0, 32.0);
  const Mixed mixed(plan.planes);
  plan.complete = kSlackUsed * x * std::expm1(mixed.whole * std::log(2.0)) >= lambda;
  rate(plan, task, costs, mixed.mean([](double p) { return std::exp2(-p); }),
       mixed.mean([&](double p) { return std::exp2(-p) * costs.tail(task.keys * x * std::expm1(p * std::log(2.0))); }));
  return plan;
}

// Ranks per key that the exact plane reaches if it has slots for e survivors per key.
inline double reach(const Mixed& mixed, double x, double e, double lambda) {
  const auto needed = [&](double ranks) {
    return mixed.mean(
        [&](double p) { return std::max(0.0, ranks - kSlackUsed * x * (std::exp2(p) - 1)) * std::exp2(-p); });
  };
  if (needed(lambda) <= e) return lambda;
  double low = 0, high = lambda;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (needed(middle) <= e ? low : high) = middle;
  }
  return low;
}

inline TaughtPlan exact(const TaughtTask& task, const CostCurve& costs, unsigned width, double planes) {
  const RibbonSizes sizes(width, RibbonFit::tight);
  const double slots = sizes.slots_per_key(), table = sizes.table_bits_per_key();
  const double lambda = costs.count() / task.keys;
  TaughtPlan plan{.width = width, .exact = true, .planes = planes};
  // What matters in small filters: two headers and tables, one shard more than on average, blocks of 64 slots and cache
  // lines that are rounded up.
  const double fixed = 2 * 448 + 8 * (planes + 1) + 64 * (planes + 2) + 512;
  const double left = task.bits_per_key - fixed / task.keys - (planes > 0 ? sizes.bits_per_key(planes) : 0);
  const double equations = left / (slots + table);
  plan.exact_slots = equations - 1;
  const Mixed mixed(planes);
  const double ranks = plan.exact_slots <= 0 ? 0 : reach(mixed, slots - 1, plan.exact_slots, lambda);
  // The number of survivors is random: three standard deviations are kept in reserve.
  const double sure = plan.exact_slots - 3 * std::sqrt(std::max(0.0, plan.exact_slots) / task.keys);
  plan.complete = sure > 0 && reach(mixed, slots - 1, sure, lambda) >= lambda;
  const double accepted = plan.exact_slots < 0 ? 1 : mixed.mean([](double p) { return std::exp2(-p - 1); });
  rate(plan, task, costs, accepted, accepted * costs.tail(task.keys * ranks));
  return plan;
}

// Whether plan a is better than b by the factor `worth`; refusing every known negative counts as kWorthPromise.
inline bool beats(const TaughtPlan& a, const TaughtPlan& b, double worth) {
  if (a.complete != b.complete) worth = a.complete ? 1 / kWorthPromise : worth * kWorthPromise;
  return a.wfpr * worth < b.wfpr;
}

inline TaughtPlan best_of_width(const TaughtTask& task, const CostCurve& costs, unsigned width) {
  TaughtPlan best = plain(task, costs, width, 0);
  if (costs.count() == 0 || task.keys == 0) return best;
  const double lambda = costs.count() / task.keys, least = RibbonSizes(width, RibbonFit::quick).slots_per_key() - 1;
  for (int p = 1; p <= 32; ++p) {  // just enough slack to refuse every negative with p planes
    const double slack = lambda / (kSlackUsed * (std::exp2(p) - 1)) * (1 + 1e-9) - least;
    const TaughtPlan plan = plain(task, costs, width, std::max(0.0, slack));
    if (beats(plan, best, 1)) best = plan;
  }
  // In steps of one plane in one shard, but at most 64 steps per plane.
  const auto steps =
      std::min<std::uint64_t>(64, RibbonSizes(width, RibbonFit::tight).shards(static_cast<std::uint64_t>(task.keys)));
  double worth = kWorthExactPlane;
  for (std::uint64_t i = 0; i <= 31 * steps; ++i) {
    const TaughtPlan plan = exact(task, costs, width, static_cast<double>(i) / static_cast<double>(steps));
    if (plan.exact_slots < 0) break;
    if (beats(plan, best, worth)) best = plan, worth = 1;
  }
  return best;
}

inline void estimate_build(TaughtPlan& plan, const TaughtTask& task, const CostCurve& costs) {
  // Rough nanoseconds of one core: elimination of a key; sorting a negative and adding up its equation.
  plan.build_ns = task.keys * (plan.width == 64 ? 60 : 100) + costs.count() * 110;
  // The keys and negatives of one group of shards, in vectors that grow by doubling, and the survivors of all shards.
  const double all = task.keys + costs.count(),
               part = all > 0 ? std::min(1.0, group_size(task.keys, costs.count()) / all) : 0;
  const double survivors = plan.exact ? Mixed(plan.planes).mean([](double p) { return std::exp2(-p); }) : 0;
  plan.build_bytes =
      part * (16 * task.keys + 1.1 * kNegativeBytes * costs.count()) + 1.5 * kNegativeBytes * survivors * costs.count();
}

// What RibbonLayout uses for `shards` shards of `slots` slots each.
inline double layout_bits(double shards, double slots, const Mixed& mixed) {
  const double rich = std::ceil(mixed.rich * shards - 1e-6);
  const double rich_blocks = std::ceil(rich * slots / 64), poor_blocks = std::ceil(((shards - rich) * slots + 1) / 64);
  const double words =
      8 * std::ceil(rich_blocks / 8) + (rich_blocks + poor_blocks) * mixed.whole + (rich > 0 ? 1.0 : 0.0);
  return kLayoutBits + 32 * (shards + 1) + 64 * words;
}

// The plan of `planes` main planes that refuses every negative, with an exact plane after them or with slack.
inline TaughtPlan sized(const TaughtTask& task, const CostCurve& costs, unsigned width, double planes, bool exact) {
  TaughtPlan plan{.width = width, .exact = exact, .planes = planes, .complete = true, .sized = true};
  const RibbonSizes sizes = plan.sizes();
  const Mixed mixed(planes);
  const auto shards = static_cast<double>(sizes.shards(static_cast<std::uint64_t>(task.keys)));
  const double shard_keys = task.keys / shards, negatives = costs.count();
  double slots = static_cast<double>(sizes.slots(static_cast<std::uint64_t>(std::ceil(shard_keys))));
  const auto taught = [](double p) { return kSlackUsed * (std::exp2(p) - 1); };  // negatives per free slot
  plan.stranger_fpr = mixed.mean([&](double p) { return std::exp2(exact ? -p - 1 : -p); });
  if (!exact) {
    const double free = negatives / (taught(mixed.whole) * shards) * (1 + 1e-9);  // of a shard
    plan.slack = task.keys > 0 ? std::max(0.0, free - (slots - shard_keys)) / shard_keys : 0;
    slots += std::ceil(plan.slack * shard_keys);
    plan.bits = layout_bits(shards, slots, mixed) + kLayoutBits;  // the exact plane is absent, its header is not
    return plan;
  }
  const double refused = planes > 0 ? shards * (slots - shard_keys) : 0;
  const double survivors =
      mixed.mean([&](double p) { return std::max(0.0, negatives - refused * taught(p)) * std::exp2(-p); });
  const double equations = task.keys + survivors;
  plan.exact_slots = task.keys > 0 ? survivors / task.keys : 0;
  const double parts = planes > 0 ? shards * static_cast<double>(sizes.parts(equations / shards))
                                  : static_cast<double>(sizes.shards(static_cast<std::uint64_t>(equations)));
  plan.bits =
      (planes > 0 ? layout_bits(shards, slots, mixed) : kLayoutBits) +
      layout_bits(parts, static_cast<double>(sizes.slots(static_cast<std::uint64_t>(equations / parts))), Mixed(1));
  return plan;
}

}  // namespace detail

inline TaughtPlan plan(const TaughtTask& task, const CostCurve& costs) {
  TaughtPlan plan = detail::best_of_width(task, costs, task.width != 0 ? task.width : 64);
  if (task.width == 0) {
    const TaughtPlan small = detail::best_of_width(task, costs, 128);
    // If the budget is too small to refuse all negatives, space is worth more than speed.
    if (detail::beats(small, plan, plan.complete ? kWorthWidth : 1)) plan = small;
  }
  detail::estimate_build(plan, task, costs);
  return plan;
}

// Plans that refuse every known negative and accept strangers at most at the rate task.stranger_fpr; the smallest
// first. task.bits_per_key is not read.
inline std::vector<TaughtPlan> complete_plans(const TaughtTask& task, const CostCurve& costs) {
  std::vector<TaughtPlan> plans;
  for (unsigned width : {64u, 128u}) {
    if (task.width != 0 && task.width != width) continue;
    for (bool exact : {false, true}) {
      // In steps of one plane in one shard, but at most 64 steps per plane. Without an exact plane there is at least
      // one main plane; with it there may be none.
      const TaughtPlan shape{.width = width, .exact = exact};
      const auto steps = std::min<std::uint64_t>(64, shape.sizes().shards(static_cast<std::uint64_t>(task.keys)));
      for (std::uint64_t i = exact ? 0 : steps; i <= 31 * steps; ++i) {
        const double planes = static_cast<double>(i) / static_cast<double>(steps);
        // With no keys there is nothing to solve: every plane refuses half of the negatives that are left.
        if (task.keys == 0 && (exact || std::exp2(planes) < 4 * costs.count())) continue;
        TaughtPlan plan = detail::sized(task, costs, width, planes, exact);
        if (plan.stranger_fpr > task.stranger_fpr * (1 + 1e-9)) continue;
        detail::rate(plan, task, costs, plan.stranger_fpr, 0);
        detail::estimate_build(plan, task, costs);
        plans.push_back(plan);
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.bits < b.bits; });
  return plans;
}

}  // namespace naysay::ribbon
