// SPDX-License-Identifier: Apache-2.0
// SeesawPlan: the shape of a seesaw filter with the smallest expected weighted FPR.
//
//   bits, keys, costs, stranger share --> for each k, extra, alpha, number of encoded negatives:
//                                           rates (seesaw_rates.hpp) at ten fills --> the best that is allowed
//
//   wfpr ^
//        |\        /           a scan on a coarse grid, then finer around its best point: the objective need not have
//        | \  /\  /            one valley
//        |  \/  \/
//        +------------> encoded negatives
//
//   paper     here
//   epsilon   CostPoint::share: the share of all costs that the encoded negatives have
//   alpha     SeesawProblem::alpha
//
// plan_of_paper() is the paper's own objective: k = floor(B ln 2) for each number B of counters per key, and the share of
// the modulator that makes CFPR(B, s) of Eq. 4 smallest. It knows neither fills nor lookalikes nor extra functions.
//
// Promises   At no fill from a tenth on is the expected weighted FPR above that of a counting Bloom filter of the same
//            bits, if SeesawProblem::may_encode_nothing.
// Cost       Some ten thousand evaluations of the rates; no key is read.
// Source     theory appendix of the Seesaw Counting Filter, Eq. 2-4; a scan replaces its binary search. The bound at
//            low fills and kLookalikes are our own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/seesaw/seesaw_rates.hpp"

namespace naysay {

// Who chooses the shape: our planner, or the paper's formulas.
enum class SeesawPlanner : std::uint8_t { best, paper };
inline constexpr std::string_view kSeesawPlanners[] = {"best", "paper"};
constexpr std::span<const std::string_view> enum_names(SeesawPlanner) noexcept { return kSeesawPlanners; }

}  // namespace naysay

namespace naysay::seesaw {

// The `count` costliest negatives have the share `share` of all costs.
struct CostPoint {
  std::uint64_t count = 0;
  double share = 0;
};

// The share of all costs that the `count` costliest of `all` negatives have. `descending` holds the costs, largest
// first; empty means that all cost the same.
inline double cost_share(std::span<const float> descending, std::uint64_t count, std::uint64_t all) noexcept {
  if (descending.empty()) return all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all);
  double part = 0, total = 0;
  for (std::uint64_t i = 0; i < all; ++i) {
    total += static_cast<double>(descending[i]);
    if (i + 1 == count) part = total;
  }
  return total > 0 ? part / total : 0;
}

// Numbers of negatives to choose from: kPerOctave per doubling, from one negative to all of them.
inline constexpr unsigned kPerOctave = 8;  // neighbours differ by at most an eighth; the optimum is flatter than that

// `descending` holds the costs, largest first; empty means that all `count` negatives cost the same.
inline std::vector<CostPoint> cost_points(std::span<const float> descending, std::uint64_t count) {
  std::vector<CostPoint> points;
  for (unsigned octave = 0; count >> octave > 0; ++octave)
    for (unsigned i = 2 * kPerOctave; i > kPerOctave; --i) {
      const auto at = static_cast<std::uint64_t>(static_cast<double>(count >> octave) * i / (2 * kPerOctave));
      if (at > 0 && (points.empty() || at < points.back().count)) points.push_back({at, 0});
    }
  std::reverse(points.begin(), points.end());
  double total = 0;
  std::uint64_t i = 0;
  for (CostPoint& p : points) {
    for (; i < p.count; ++i) total += descending.empty() ? 1.0 : static_cast<double>(descending[i]);
    p.share = total;
  }
  for (CostPoint& p : points) p.share = total > 0 ? p.share / total : 0;
  return points;
}

struct SeesawProblem {
  double bits = 0;  // of the whole filter
  double keys = 0;  // live keys to plan for
  std::span<const CostPoint> curve = {};
  double stranger_share = 0;
  SeesawQuery query = SeesawQuery::exact_path;
  unsigned counter_bits = 4;  // of a counter without its marks; what a counting Bloom filter would use
  unsigned mark_bits = 1;     // negative bit, and pending bit if there is one
  unsigned cell_bits = 4;     // of a modulator cell
  unsigned backups = 2;
  unsigned max_k = 32;
  unsigned k = 0;                  // 0: choose
  double alpha = -1;               // 0: no modulator; -1: choose
  int extra = -1;                  // -1: choose
  bool may_encode_nothing = true;  // then it is a counting Bloom filter, without marks
};

struct SeesawPlan {
  SeesawShape shape;  // no negatives and no cells: a counting Bloom filter
  double wfpr = 1;    // predicted, with all keys inserted
};

// The fills at which a plan must not be worse than the counting Bloom filter of the same bits and its best k. Without
// this bound the scan chooses k too small: best when full, but far worse than the counting Bloom filter a tenth full.
inline constexpr double kFills[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

inline constexpr unsigned kExtras[] = {0, 4, 8, 16};  // to choose from, each about twice the one before

// Keys that look like a negative, because all of their counters lean, use `extra` more counters: that costs time and
// raises the stranger FPR. A plan has at most this share of such keys, unless that would make the weighted FPR more
// than kWorth times as high. `naysay bench sscf-fig13` shows the query times.
inline constexpr double kLookalikes = 1.0 / 32;
// With costs of Zipf 1.0 the bound costs less than this factor; with equal costs more, and then it is dropped.
inline constexpr double kWorth = 4;
// Of plans whose weighted FPRs are within the factor kTie, the one that errs less on the encoded (costliest) negatives
// is chosen. It is found by a scan in which their FPR counts kStress times more.
inline constexpr double kStress = 4, kTie = 1.05;

inline SeesawShape shape_of(const SeesawProblem& q, unsigned k, unsigned extra, double alpha,
                            double negatives) noexcept {
  return {(1 - alpha) * q.bits / (q.counter_bits + q.mark_bits),
          alpha * q.bits / q.cell_bits,
          negatives,
          k,
          q.backups,
          extra};
}

inline double weighted_fpr(const SeesawProblem& q, const SeesawShape& s, const CostPoint& point, double keys) noexcept {
  const SeesawState state = of_shape(s, keys);
  return weighted_fpr(known_fpr(q.query, state, s.k, s.extra), stranger_fpr(q.query, state, s.k, s.extra), point.share,
                      q.stranger_share);
}

// The weighted FPR, and `stress` times that of the encoded negatives.
inline double stressed_fpr(const SeesawProblem& q, const SeesawShape& s, const CostPoint& point,
                           double stress = kStress) noexcept {
  return weighted_fpr(q, s, point, q.keys) + stress * known_fpr(q.query, of_shape(s, q.keys), s.k, s.extra);
}
inline double lookalikes(const SeesawShape& s) noexcept { return power(leaning_share(s), s.k); }

// The shape with the smallest weighted FPR when full and few lookalikes, among those that are at no fill worse than a
// counting Bloom filter of the same bits. If there is none: that filter itself if may_encode_nothing, else the shape
// with the smallest FPR when full.
inline SeesawPlan plan(const SeesawProblem& q) {
  const double plain_counters = q.bits / q.counter_bits;
  const unsigned plain_k = std::min(q.max_k, q.k != 0 ? q.k : bloom::best_k(plain_counters / std::max(q.keys, 1.0)));
  const auto plain = [&](double keys) { return bloom::fpr(plain_counters / std::max(keys, 1.0), plain_k); };
  const auto holds = [&](const SeesawShape& s, const CostPoint& point) {
    return std::all_of(std::begin(kFills), std::end(kFills),
                       [&](double fill) { return weighted_fpr(q, s, point, fill * q.keys) <= plain(fill * q.keys); });
  };
  const SeesawPlan unmarked{{plain_counters, 0, 0, plain_k, q.backups, 0}, plain(q.keys)};
  if (q.curve.empty()) return unmarked;

  // Returns a plan with a rate of 2 if none is allowed.
  const auto search = [&](double most_lookalikes, double stress, bool bounded) {
    // alpha in 256ths: 1/16 apart at first, then halved down; counts half an octave apart at first.
    constexpr unsigned kUnit = 256, kStep = 16, kMost = 128;
    const auto size = static_cast<std::ptrdiff_t>(q.curve.size());
    const auto given = static_cast<unsigned>(std::max(q.extra, 0));
    const std::span<const unsigned> extras = q.extra >= 0                         ? std::span(&given, 1)
                                             : q.query == SeesawQuery::exact_path ? std::span(kExtras)
                                                                                  : std::span(kExtras).first(1);
    const unsigned low_k = q.k != 0 ? q.k : 1, high_k = q.k != 0 ? q.k : std::min(q.max_k, plain_k + 2);
    SeesawPlan best{{}, 2};
    double least = 2 + stress;  // more than any plan has
    for (unsigned k = low_k; k <= high_k; ++k)
      for (const unsigned extra : extras) {
        // For this k and extra: the coarse points near a better shape may be worse than the best so far.
        double here = least + 1;
        std::ptrdiff_t at = -1;
        unsigned part = 0;
        const auto look = [&](std::ptrdiff_t i, unsigned a) {
          const double alpha = q.alpha >= 0 ? q.alpha : static_cast<double>(a) / kUnit;
          const CostPoint& point = q.curve[static_cast<std::size_t>(i)];
          const SeesawShape s = shape_of(q, k, extra, alpha, static_cast<double>(point.count));
          if (lookalikes(s) > most_lookalikes) return;
          const double rate = stressed_fpr(q, s, point, stress);
          if (rate >= here || (bounded && !holds(s, point))) return;
          here = rate, at = i, part = a;
          if (rate < least) least = rate, best = {s, weighted_fpr(q, s, point, q.keys)};
        };
        for (std::ptrdiff_t i = size - 1; i >= 0; i -= kPerOctave / 2)
          for (unsigned a = 0; a <= kMost; a = a == 1 ? kStep : a < kStep ? a + 1 : a + kStep) look(i, a);
        if (at < 0) continue;
        for (unsigned a = kStep / 2, i = kPerOctave / 2; a > 0; a /= 2, i = std::max(1u, i / 2)) {
          const std::ptrdiff_t middle = at, from = std::max<std::ptrdiff_t>(at - i, 0),
                               to = std::min<std::ptrdiff_t>(at + i, size - 1);
          const unsigned centre = part;
          for (const std::ptrdiff_t j : {from, middle, to})
            for (const unsigned b : {std::max(centre, a) - a, centre, centre + a}) look(j, b);
        }
      }
    return best;
  };
  const SeesawPlan few = search(kLookalikes, 0, true), any = search(1, 0, true),
                   sparing = search(kLookalikes, kStress, true);
  SeesawPlan best = few.wfpr <= kWorth * any.wfpr ? few : any;
  if (sparing.wfpr <= kTie * best.wfpr) best = sparing;
  if (q.may_encode_nothing) return best.wfpr < unmarked.wfpr ? best : unmarked;
  return best.wfpr <= 1 ? best : search(1, 0, false);
}

// k = floor(B ln 2), for B counters per key (section 2).
inline unsigned paper_k(double counters_per_key, unsigned most) noexcept {
  const double k = std::floor(counters_per_key * std::numbers::ln2);
  return static_cast<unsigned>(std::clamp(k, 1.0, static_cast<double>(most)));
}

// Eq. 4: the smallest weighted FPR when full, over alpha unless it is given. Encodes the last point of the curve, that is
// all negatives that are worth a point; the paper takes their number as given.
inline SeesawPlan plan_of_paper(const SeesawProblem& q) {
  constexpr unsigned kParts = 256;  // alpha in 256ths, up to a half
  const CostPoint point = q.curve.empty() ? CostPoint{} : q.curve.back();
  SeesawPlan best{{}, 2};
  const auto look = [&](double alpha) {
    SeesawShape s =
        shape_of(q, 1, static_cast<unsigned>(std::max(q.extra, 0)), alpha, static_cast<double>(point.count));
    s.k = q.k != 0 ? q.k : paper_k(s.counters / std::max(q.keys, 1.0), q.max_k);
    const double rate = weighted_fpr(q, s, point, q.keys);
    if (rate < best.wfpr) best = {s, rate};
  };
  if (q.alpha >= 0)
    look(q.alpha);
  else
    for (unsigned a = 1; a <= kParts / 2; ++a) look(static_cast<double>(a) / kParts);
  return best;
}

// The plan of an adaptive filter that is given no negatives: the paper's shape.
inline constexpr double kUntoldAlpha = 0.10;  // section 4.2: the paper's optimum at its defaults
inline constexpr unsigned kUntoldExtra = 8;   // the middle of kExtras
inline SeesawPlan plan_without_negatives(const SeesawProblem& q) {
  SeesawPlan plan;
  const double alpha = q.alpha >= 0 ? q.alpha : kUntoldAlpha;
  plan.shape = shape_of(q, 1, q.extra >= 0 ? static_cast<unsigned>(q.extra) : kUntoldExtra, alpha, 0);
  plan.shape.k = q.k != 0 ? q.k : std::min(q.max_k, bloom::best_k(plan.shape.counters / std::max(q.keys, 1.0)));
  plan.wfpr = stranger_fpr(q.query, of_shape(plan.shape, q.keys), plan.shape.k, plan.shape.extra);
  return plan;
}

}  // namespace naysay::seesaw
