// Seesaw rates: how often a seesaw counting filter errs, for both of its query modes, and the shape that errs least.
//
//   negatives --mu--> which counters lean --> how many keys conflict --L--> how full the modulator is
//                                                     |
//                                       psi, lambda: counters in use  -->  rates on known negatives and strangers
//
//   appendix  here
//   N_p       keys
//   m, B      SeesawShape::counters (B counters a key)
//   n         SeesawShape::cells of the modulator
//   N_n       SeesawShape::negatives, the encoded ones
//   k, k^     SeesawShape::k, SeesawShape::backups
//   -         SeesawShape::extra: functions more for a key all of whose counters lean (0 in the paper)
//   mu        leaning_share: counters with the negative bit
//   phi       conflicting_keys: keys that meet a leaning counter
//   L         load: modulator cells in use
//   P_ms      modulated_share: conflicting keys whose first conflict is moved to a backup
//   psi       used_leaning: leaning counters in use
//   lambda    used_upright: other counters in use
//   FP_V      known_fpr: the rate on encoded negatives
//   FP_N      stranger_fpr: the rate on all others
//   epsilon   CostPoint::share: the part of all costs that the encoded negatives hold
//
// Where it leaves the appendix: P_ms uses the average load while the filter fills, not the last one (a key meets the
// cells that earlier keys took). psi and lambda keep the exact exponents: the appendix's last step takes 1 - (1-mu)^k
// for k*mu, which holds only where hardly any key conflicts. The modulator owns alpha of the space (Eq. 3 says 1 -
// alpha). The scan over shapes replaces the binary search: the objective need not have one valley.
//
// Source     theory appendix of the Seesaw Counting Filter, Lemmas V.1-V.6, Theorems V.1-V.3, Eq. 2-4; the exact-path
//            rates are ours: walk the path and multiply.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"

namespace naysay {

// exact_path follows the one path a key can have; two_round is the paper's query.
enum class SeesawQuery : std::uint8_t { exact_path, two_round };
inline constexpr std::string_view kSeesawQueries[] = {"exact_path", "two_round"};
constexpr std::span<const std::string_view> enum_names(SeesawQuery) noexcept { return kSeesawQueries; }

namespace seesaw {

// x^n by squaring: the same digits on every machine, and much faster than std::pow.
constexpr double power(double x, unsigned n) noexcept {
  double out = 1;
  for (; n > 0; n /= 2, x *= x)
    if (n % 2 != 0) out *= x;
  return out;
}

struct SeesawShape {
  double counters = 0;
  double cells = 0;
  double negatives = 0;
  unsigned k = 1;
  unsigned backups = 2;
  unsigned extra = 0;
};

// Lemma V.1.
inline double leaning_share(const SeesawShape& s) noexcept {
  return s.counters <= 0 ? 0 : -std::expm1(-static_cast<double>(s.k) * s.negatives / s.counters);
}
// Lemma V.2.
inline double conflict_share(double mu, unsigned k) noexcept { return 1 - power(1 - mu, k); }
inline double conflicting_keys(double keys, double mu, unsigned k) noexcept { return keys * conflict_share(mu, k); }
// Lemma V.3, with conflicting keys per cell, 1/s in the appendix. No cells: always full.
inline double load(double per_cell) noexcept { return -std::expm1(-per_cell); }
// The average of load() from 0 to per_cell.
inline double average_load(double per_cell) noexcept {
  return per_cell < 1e-6 ? per_cell / 2 : 1 - load(per_cell) / per_cell;  // below, the quotient loses its digits
}
// Lemma V.4: an occupied cell offers its own function, an empty one all backups.
inline double modulated_share(double load_met, double mu, unsigned backups) noexcept {
  return load_met * (1 - mu) + (1 - load_met) * (1 - power(mu, backups));
}
// Steps of a key beyond its k.
inline double extra_steps(const SeesawShape& s, double mu) noexcept { return s.extra * power(mu, s.k); }
// Lemma V.5: a key makes k * mu steps on leaning counters, less the one that is moved.
inline double used_leaning(const SeesawShape& s, double keys, double mu, double moved) noexcept {
  const double steps = (s.k + extra_steps(s, mu)) * mu - moved * conflict_share(mu, s.k);
  return mu <= 0 ? 0 : -std::expm1(-keys * steps / (s.counters * mu));
}
// Lemma V.6.
inline double used_upright(const SeesawShape& s, double keys, double mu, double moved) noexcept {
  const double steps = (s.k + extra_steps(s, mu)) * (1 - mu) + moved * conflict_share(mu, s.k);
  return mu >= 1 ? 0 : -std::expm1(-keys * steps / (s.counters * (1 - mu)));
}

// What the arrays look like. A filter can count these in itself; of_shape() predicts them.
struct SeesawState {
  double mu = 0;           // leaning counters
  double load = 0;         // modulator cells in use
  double psi = 0;          // leaning counters in use, of all leaning ones
  double lambda = 0;       // other counters in use, of all others
  bool modulated = false;  // there are modulator cells
};

inline SeesawState of_shape(const SeesawShape& s, double keys) noexcept {
  SeesawState out;
  if (s.counters <= 0) return {0, 1, 1, 1, false};
  out.mu = leaning_share(s);
  const double conflicts = conflicting_keys(keys, out.mu, s.k);
  out.modulated = s.cells > 0;
  const double per_cell = out.modulated ? conflicts / s.cells : 0;
  out.load = load(per_cell);
  const double moved = out.modulated ? modulated_share(average_load(per_cell), out.mu, s.backups) : 0;
  out.psi = used_leaning(s, keys, out.mu, moved);
  out.lambda = used_upright(s, keys, out.mu, moved);
  return out;
}

// Of the first leaning counter: the cell must be in use and lead to a used counter, upright or the leaning one itself.
// Without cells it is asked itself.
inline double stand_in(const SeesawState& s) noexcept {
  return s.modulated ? s.load * ((1 - s.mu) * s.lambda + s.mu * s.psi) : s.psi;
}

// Theorem V.1 (two_round). Exact path: all k lean for certain, the first has its stand-in, the others and the extra
// ones must be in use.
inline double known_fpr(SeesawQuery query, const SeesawState& s, unsigned k, unsigned extra) noexcept {
  const double upright = (1 - s.mu) * s.lambda;
  if (query == SeesawQuery::two_round && s.modulated)
    return power(s.psi, k - 1) * (s.psi + (1 - s.psi) * static_cast<double>(k) * s.load * upright);
  return stand_in(s) * power(s.psi, k - 1) * power(upright + s.mu * s.psi, extra);
}

// Theorem V.2 (two_round). Exact path: no conflict at all, or the first at place i, after i used upright counters; a
// stranger all of whose counters lean must find the extra ones in use too.
inline double stranger_fpr(SeesawQuery query, const SeesawState& s, unsigned k, unsigned extra) noexcept {
  const double upright = (1 - s.mu) * s.lambda, any = upright + s.mu * s.psi;
  if (query == SeesawQuery::two_round && s.modulated)
    return power(any, k - 1) * (any + (1 - any) * static_cast<double>(k) * s.load * upright);
  double before = 1, conflicts = 0;
  for (unsigned i = 0; i < k; ++i) {
    conflicts += before * power(any, k - 1 - i);
    before *= upright;
  }
  const double all_lean = power(s.mu * s.psi, k - 1);
  return before + s.mu * stand_in(s) * (conflicts - all_lean * (1 - power(any, extra)));
}

// Theorem V.3, with the part of the negative queries that is about strangers beside the known costs.
inline double weighted_fpr(double known, double stranger, double encoded_cost_share, double stranger_share) noexcept {
  const double guarded = encoded_cost_share * (1 - stranger_share);
  return guarded * known + (1 - guarded) * stranger;
}

// ---- the optimiser

// The `count` costliest negatives hold `share` of all costs.
struct CostPoint {
  std::uint64_t count = 0;
  double share = 0;
};

// The part of all costs that the `count` costliest of `all` negatives hold. `descending` holds the costs, largest
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

// Points of the cost curve to choose from: kPerOctave a doubling, from one negative to all of them.
inline constexpr unsigned kPerOctave = 8;  // neighbours differ by at most an eighth, well inside a flat optimum

// `descending` holds the costs, largest first; empty means that all `count` negatives cost the same.
inline std::vector<CostPoint> cost_curve(std::span<const float> descending, std::uint64_t count) {
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
  double bits = 0;  // all of the filter
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
  SeesawShape shape;      // no negatives and no cells: a counting Bloom filter
  double wfpr = 1;  // predicted, with all keys in
};

// The fills at which a plan is held to the counting Bloom filter of the same bits and its best k. Without this bound
// the scan takes k too small: best when full, tens of times worse than the counting Bloom filter a tenth full.
inline constexpr double kFills[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};

inline constexpr unsigned kExtras[] = {0, 4, 8, 16};  // to choose from, each about twice the one before

// Keys that look like a negative, because all of their counters lean, take `extra` steps more: time, and counters that
// strangers then find in use. A plan has at most this part of such keys, unless the weighted rate were more than kWorth
// times as high for it. With 1/32 a query takes no longer than in a counting Bloom filter (bench sscf-fig13), and the
// rate on the costliest negatives is below a fifth of the paper's at 3.5 MiB (tests).
inline constexpr double kLookalikes = 1.0 / 32;
// Costs of Zipf 1.0 lose less than this at every size; equal costs lose more, and keep all encoded.
inline constexpr double kWorth = 4;
// Of plans whose weighted rates are within kTie of each other the one that errs less on the encoded negatives, the
// costliest: it is looked for with their rate counted so many times more.
inline constexpr double kStress = 4, kTie = 1.05;

inline SeesawShape shape_of(const SeesawProblem& q, unsigned k, unsigned extra, double alpha, double negatives) noexcept {
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

// The weighted rate, and `stress` times that of the encoded negatives.
inline double stressed_fpr(const SeesawProblem& q, const SeesawShape& s, const CostPoint& point,
                           double stress = kStress) noexcept {
  return weighted_fpr(q, s, point, q.keys) + stress * known_fpr(q.query, of_shape(s, q.keys), s.k, s.extra);
}
inline double lookalikes(const SeesawShape& s) noexcept { return power(leaning_share(s), s.k); }

// The shape with the smallest weighted rate when full and few lookalikes, among those that no fill makes worse than a
// counting Bloom filter of the same bits; that filter itself if there is none and may_encode_nothing; else the smallest
// rate when full.
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

  // A plan with a rate of 2 if none is allowed.
  const auto search = [&](double most_lookalikes, double stress, bool bounded) {
    // alpha in 256ths: 1/16 apart at first, then halved down; counts half an octave apart at first.
    constexpr unsigned kUnit = 256, kStep = 16, kMost = 128;
    const auto size = static_cast<std::ptrdiff_t>(q.curve.size());
    const auto asked = static_cast<unsigned>(std::max(q.extra, 0));
    const std::span<const unsigned> extras = q.extra >= 0                         ? std::span(&asked, 1)
                                             : q.query == SeesawQuery::exact_path ? std::span(kExtras)
                                                                                  : std::span(kExtras).first(1);
    const unsigned low_k = q.k != 0 ? q.k : 1, high_k = q.k != 0 ? q.k : std::min(q.max_k, plain_k + 2);
    SeesawPlan best{{}, 2};
    double least = 2 + stress;  // more than any
    for (unsigned k = low_k; k <= high_k; ++k)
      for (const unsigned extra : extras) {
        // Of this k and extra: the coarse points of a better shape may lie above the best so far.
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
  const SeesawPlan few = search(kLookalikes, 0, true), any = search(1, 0, true), sparing = search(kLookalikes, kStress, true);
  SeesawPlan best = few.wfpr <= kWorth * any.wfpr ? few : any;
  if (sparing.wfpr <= kTie * best.wfpr) best = sparing;
  if (q.may_encode_nothing) return best.wfpr < unmarked.wfpr ? best : unmarked;
  return best.wfpr <= 1 ? best : search(1, 0, false);
}

}  // namespace seesaw
}  // namespace naysay
