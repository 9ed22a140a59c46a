// SPDX-License-Identifier: Apache-2.0
// GuardPlan: how a guarded filter divides its bits between the base and the guard. Numbers in, numbers out.
//
//   m known negatives --FPR r of the base--> m r false positives at any moment --> entries that the guard needs
//
//   bits   |<------------- base ------------->|<-- guard -->|      a larger guard leaves fewer bits to the base, which
//                                                                  raises r: the best split is searched for
//
//   m r + 6 sqrt(m r) + 6   entries hold all of them, but once in 1e9 (six standard deviations of a Poisson number, and
//                           a few for small numbers, which are not normal)
//
// With fewer entries the costliest of the false positives are held: of the known negatives, sorted by cost, about the
// first entries / r are covered.
//
// The plan is for all keys that the filter will have room for, not for those of the build: r is the base's rate when it
// is full. So a negative that the plan covers stays covered while the filter fills up.
//
// If the base grows, its rate grows in proportion to the keys, and so does the guard. The plan is for the end: then the
// guard has growth times the entries of the start.
//
// Promises   Without known negatives the guard uses at most 1/16 of the bits.
// Cost       One sort of the costs, and a few hundred evaluations of the base's price.
// Source     our own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/price.hpp"

namespace naysay {

// Which of the negatives given to a build are pinned: refused whatever is inserted later.
enum class Pinning : std::uint8_t {
  none,
  all,        // the build fails if the budget cannot hold them all when the filter is full
  costliest,  // if the build is given a capacity: as many as the budget holds then, the costliest first
};
inline std::span<const std::string_view> enum_names(Pinning) {
  static constexpr std::string_view kNames[] = {"false", "true", "auto"};
  return kNames;
}

}  // namespace naysay

namespace naysay::guarded {

struct GuardProblem {
  double bits = 0;  // of base and guard together
  double keys = 1;
  double negatives = 0;
  std::span<const float> descending = {};  // their costs, the largest first; empty: all the same
  double stranger_share = 0;
  bool all = false;   // every known negative must be covered
  double growth = 1;  // how many times as many keys, false positives and entries there will be in the end
};

struct GuardPlan {
  std::uint64_t entries = 0;  // at the start
  double base_bits_per_key = 0;
  double fpr = 1;      // of the base when it is full, as its price says
  double wfpr = 1;     // expected: strangers and known negatives that the guard has no room for
  double held = 0;     // false positives that the guard surely holds, in the end
  double covered = 0;  // known negatives, of any number, whose false positives the guard surely holds
};

// Room for reports: the guard reserves entries for the false positives among kUnnamedPerKey unknown negatives per key,
// but at most 1/16 of the bits, or 1/64 if known negatives are given.
inline constexpr double kUnnamedPerKey = 2;
inline constexpr double kUntoldGuardShare = 1.0 / 16, kToldGuardShare = 1.0 / 64;

// The false positives that a guard surely holds: the mean of a Poisson number that stays below `entries`.
inline double sure_entries(double entries) noexcept {
  const double root = std::sqrt(entries + 3) - 3;
  return root > 0 ? root * root : 0;
}

// The inverse: entries for `mean` false positives on average.
inline double entries_for(double mean) noexcept { return mean + 6 * std::sqrt(mean) + 6; }

// The share of all costs beyond the costliest negatives: computed once, at counts that grow by a twentieth.
class CostsBeyond {
 public:
  CostsBeyond(double negatives, std::span<const float> descending)
      : negatives_(negatives), named_(!descending.empty()) {
    double sum = 0, next = 0;
    for (std::size_t i = 0; i < descending.size(); sum += descending[i++])
      if (static_cast<double>(i) >= next) {
        points_.push_back({static_cast<double>(i), sum});
        next = std::max(next + 1, next * 1.05);
      }
    for (Point& p : points_) p.costs = sum > 0 ? 1 - p.costs / sum : 0;
  }
  double operator()(double covered) const noexcept {
    if (covered >= negatives_) return 0;
    if (!named_) return 1 - covered / negatives_;
    const auto after =
        std::upper_bound(points_.begin(), points_.end(), covered, [](double c, const Point& p) { return c < p.count; });
    return (after - 1)->costs;  // the first point is at 0
  }

 private:
  struct Point {
    double count, costs;
  };
  std::vector<Point> points_;
  double negatives_;
  bool named_;
};

// price(fpr): bits per key of the base. space(entries): bits of a guard. A guard of one group is not charged, because
// the smallest filters could not pay for it.
template <class Price, class Space>
GuardPlan plan_with(const GuardProblem& q, std::uint64_t entries, Price&& price, Space&& space) {
  const double taken = entries == 0 ? 0 : static_cast<double>(space(entries) - space(1));
  GuardPlan plan{entries, (q.bits - taken) / q.keys, 1, 1, 0, 0};
  plan.fpr = plan.wfpr = rate_for_price(price, plan.base_bits_per_key);
  plan.held = sure_entries(static_cast<double>(entries) * q.growth);
  plan.covered = plan.held / plan.fpr;
  return plan;
}

template <class Price, class Space>
GuardPlan plan_guard(const GuardProblem& q, Price&& price, Space&& space) {
  constexpr double kStep = 1.1, kLargest = 0.75;  // of the space
  const auto taken = [&](std::uint64_t entries) { return static_cast<double>(space(entries) - space(1)); };
  const auto with = [&](std::uint64_t entries) { return plan_with(q, entries, price, space); };
  const auto at_share = [&](double share) {
    const double each = static_cast<double>(space(1 << 20)) / (1 << 20);
    auto entries = static_cast<std::uint64_t>(q.bits * share / each) + 1;
    while (entries > 1 && taken(entries) > q.bits * share) --entries;
    return entries;
  };
  const auto for_reports = [&](double share) {
    const GuardPlan most = with(at_share(share));
    return std::min(most.entries,
                    static_cast<std::uint64_t>(entries_for(kUnnamedPerKey * q.keys * q.growth * most.fpr) / q.growth) +
                        (q.growth > 1));
  };
  if (q.negatives <= 0) return with(for_reports(kUntoldGuardShare));
  const CostsBeyond beyond(q.negatives, q.descending);
  GuardPlan best;
  for (std::uint64_t entries = for_reports(kToldGuardShare); best.entries == 0 || taken(entries) <= q.bits * kLargest;
       entries = static_cast<std::uint64_t>(std::ceil(static_cast<double>(entries) * kStep))) {
    GuardPlan plan = with(entries);
    const double missed = beyond(plan.covered);
    plan.wfpr = plan.fpr * (q.stranger_share + (1 - q.stranger_share) * missed) + (q.all && missed > 0 ? 1 : 0);
    if (best.entries == 0 || plan.wfpr < best.wfpr) best = plan;
  }
  return best;
}

// The fewest bits, of base and guard together, for a plan that covers all of the negatives; infinity if there are none.
template <class Price, class Space>
double bits_for_all(GuardProblem q, Price&& price, Space&& space) {
  constexpr double kMostPerKey = 4096;
  q.descending = {};  // what they cost no longer matters
  q.all = true;
  const auto enough = [&](double bits) {
    q.bits = bits;
    return plan_guard(q, price, space).covered >= q.negatives;
  };
  double least = 0, most = std::max(q.bits, q.keys);
  for (; !enough(most); most *= 2) {
    if (most > kMostPerKey * q.keys) return std::numeric_limits<double>::infinity();
    least = most;
  }
  for (int i = 0; i < 16; ++i) {
    const double middle = (least + most) / 2;
    (enough(middle) ? most : least) = middle;
  }
  return most;
}

}  // namespace naysay::guarded
