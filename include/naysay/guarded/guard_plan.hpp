// Guard plan: how much of a filter's space goes to the base and how much to the guard. Numbers in, numbers out.
//
//   known negatives m --rate r of the base--> m r false positives now --> entries that the guard needs
//          the more the guard takes, the higher the base's r: the best split is searched for
//
//   m r + 6 sqrt(m r) + 6   entries hold all of them, but once in 1e9 (six standard deviations of a Poisson number, and
//                           a few for small ones, which are not normal)
//
// With fewer entries the costliest of the false positives are held: of the known negatives, sorted by cost, about the
// first entries / r are covered.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace naysay::guarded {

struct GuardProblem {
  double bits = 0;  // of base and guard together
  double keys = 1;
  double negatives = 0;
  std::span<const float> descending = {};  // their costs, the largest first; empty: all the same
  double stranger_share = 0;
  bool all = false;  // every known negative must be covered
};

struct GuardPlan {
  std::uint64_t entries = 0;
  double base_bits_per_key = 0;
  double fpr = 1;   // of the base, as its price says
  double wfpr = 1;  // expected: strangers and known negatives that the guard has no room for
};

// For reports of negatives that nobody has named, the guard has room for the false positives of so many a key, as long
// as that is at most 1/16 of the space, or 1/64 if negatives have been named.
inline constexpr double kUnnamedPerKey = 2;
inline constexpr double kUntoldGuardShare = 1.0 / 16, kToldGuardShare = 1.0 / 64;

// The lowest rate whose price is at most `bits`. Requires that price falls as the rate grows.
template <class Price>
double rate_for_price(Price&& price, double bits) noexcept {
  double low = 0.01, high = 60;  // log2(1 / rate)
  if (price(std::exp2(-low)) > bits) return 1;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (price(std::exp2(-middle)) <= bits ? low : high) = middle;
  }
  return std::exp2(-low);
}

// How many false positives a guard surely holds: the mean of a Poisson number that stays below `entries`.
inline double sure_entries(double entries) noexcept {
  const double root = std::sqrt(entries + 3) - 3;
  return root > 0 ? root * root : 0;
}

// And the other way round: entries for so many false positives on average.
inline double entries_for(double mean) noexcept { return mean + 6 * std::sqrt(mean) + 6; }

// The part of all costs that lies beyond the costliest negatives: computed once, at counts that grow by a twentieth.
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
    const auto behind =
        std::upper_bound(points_.begin(), points_.end(), covered, [](double c, const Point& p) { return c < p.count; });
    return (behind - 1)->costs;  // the first point is at 0
  }

 private:
  struct Point {
    double count, costs;
  };
  std::vector<Point> points_;
  double negatives_;
  bool named_;
};

// price(fpr): bits a key of the base. space(entries): bits of a guard. A guard of the fewest entries is free of charge:
// the smallest filters could not pay it.
template <class Price, class Space>
GuardPlan plan_guard(const GuardProblem& q, Price&& price, Space&& space) {
  constexpr double kStep = 1.1, kLargest = 0.75;  // of the space
  const auto taken = [&](std::uint64_t entries) { return static_cast<double>(space(entries) - space(1)); };
  const auto with = [&](std::uint64_t entries) {
    GuardPlan plan{entries, (q.bits - taken(entries)) / q.keys, 1, 1};
    plan.fpr = plan.wfpr = rate_for_price(price, plan.base_bits_per_key);
    return plan;
  };
  const auto at_share = [&](double share) {
    const double each = static_cast<double>(space(1 << 20)) / (1 << 20);
    auto entries = static_cast<std::uint64_t>(q.bits * share / each) + 1;
    while (entries > 1 && taken(entries) > q.bits * share) --entries;
    return entries;
  };
  const auto for_reports = [&](double share) {
    const GuardPlan most = with(at_share(share));
    return std::min(most.entries, static_cast<std::uint64_t>(entries_for(kUnnamedPerKey * q.keys * most.fpr)));
  };
  if (q.negatives <= 0) return with(for_reports(kUntoldGuardShare));
  const CostsBeyond beyond(q.negatives, q.descending);
  GuardPlan best;
  for (std::uint64_t entries = for_reports(kToldGuardShare); best.entries == 0 || taken(entries) <= q.bits * kLargest;
       entries = static_cast<std::uint64_t>(std::ceil(static_cast<double>(entries) * kStep))) {
    GuardPlan plan = with(entries);
    const double missed = beyond(sure_entries(static_cast<double>(entries)) / plan.fpr);
    plan.wfpr = plan.fpr * (q.stranger_share + (1 - q.stranger_share) * missed) + (q.all && missed > 0 ? 1 : 0);
    if (best.entries == 0 || plan.wfpr < best.wfpr) best = plan;
  }
  return best;
}

}  // namespace naysay::guarded
