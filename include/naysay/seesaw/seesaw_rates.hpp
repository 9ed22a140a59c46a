// SPDX-License-Identifier: Apache-2.0
// Rates of seesaw filters: how often they err, for each query mode.
//
//   negatives --mu--> which counters lean --> how many keys conflict --L--> how full the modulator is
//                                                     |
//                                       psi, lambda: counters in use  -->  FPR on known negatives and strangers
//
//   appendix  here
//   N_p       keys
//   m, B      SeesawShape::counters (B counters per key)
//   n         SeesawShape::cells of the modulator
//   N_n       SeesawShape::negatives, the encoded ones
//   k, k^     SeesawShape::k, SeesawShape::backups
//   -         SeesawShape::extra: more functions for a key whose counters all lean (0 in the paper)
//   mu        leaning_share: counters with the negative bit
//   phi       conflicting_keys: keys that meet a leaning counter
//   L         load: modulator cells in use
//   P_ms      modulated_share: conflicting keys whose first conflict is moved to a backup
//   psi       used_leaning: leaning counters in use
//   lambda    used_upright: other ("upright") counters in use
//   FP_V      known_fpr: the FPR on encoded negatives
//   FP_N      stranger_fpr: the FPR on all others
//
// Differences from the appendix: P_ms uses the average load while the filter fills, not the final one (a key meets the
// cells that earlier keys use). psi and lambda keep the exact exponents; the appendix's last step replaces
// 1 - (1 - mu)^k by k * mu, which holds only if few keys conflict. The modulator has the share alpha of the space (Eq.
// 3 says 1 - alpha).
//
// Source     theory appendix of the Seesaw Counting Filter, Lemmas V.1-V.6, Theorems V.1-V.3, Eq. 2-4. The exact-path
//            rates are our own: follow the path and multiply.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace naysay {

// exact_path follows the one path a key can have; two_round is the query that the paper prints; leaning_round is that of
// the authors' code, which also refuses if the one counter at 0 does not lean: no key steps aside from such a counter.
enum class SeesawQuery : std::uint8_t { exact_path, two_round, leaning_round };
inline constexpr std::string_view kSeesawQueries[] = {"exact_path", "two_round", "leaning_round"};
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
// Counters of a key beyond its k.
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

// The probability that the first leaning counter says "maybe": its cell must be in use and lead to a used counter,
// upright or the leaning one itself. Without cells the counter itself must be in use.
inline double stand_in(const SeesawState& s) noexcept {
  return s.modulated ? s.load * ((1 - s.mu) * s.lambda + s.mu * s.psi) : s.psi;
}

// Theorem V.1 (two_round, and leaning_round, because all counters of an encoded negative lean). Exact path: all k lean for certain, the first has its stand-in, the others and the extra
// ones must be in use.
inline double known_fpr(SeesawQuery query, const SeesawState& s, unsigned k, unsigned extra) noexcept {
  const double upright = (1 - s.mu) * s.lambda;
  if (query != SeesawQuery::exact_path && s.modulated)
    return power(s.psi, k - 1) * (s.psi + (1 - s.psi) * static_cast<double>(k) * s.load * upright);
  return stand_in(s) * power(s.psi, k - 1) * power(upright + s.mu * s.psi, extra);
}

// Theorem V.2 (two_round); with leaning_round the counter at 0 must also lean. Exact path: no conflict at all, or the first at place i, after i used upright counters; a
// stranger all of whose counters lean must find the extra ones in use too.
inline double stranger_fpr(SeesawQuery query, const SeesawState& s, unsigned k, unsigned extra) noexcept {
  const double upright = (1 - s.mu) * s.lambda, any = upright + s.mu * s.psi;
  if (query != SeesawQuery::exact_path && s.modulated) {
    const double vacant = query == SeesawQuery::two_round ? 1 - any : s.mu * (1 - s.psi);
    return power(any, k - 1) * (any + vacant * static_cast<double>(k) * s.load * upright);
  }
  double before = 1, conflicts = 0;
  for (unsigned i = 0; i < k; ++i) {
    conflicts += before * power(any, k - 1 - i);
    before *= upright;
  }
  const double all_lean = power(s.mu * s.psi, k - 1);
  return before + s.mu * stand_in(s) * (conflicts - all_lean * (1 - power(any, extra)));
}

// Theorem V.3, with stranger_share: the share of the negative queries that is about strangers.
inline double weighted_fpr(double known, double stranger, double encoded_cost_share, double stranger_share) noexcept {
  const double guarded = encoded_cost_share * (1 - stranger_share);
  return guarded * known + (1 - guarded) * stranger;
}

}  // namespace seesaw
}  // namespace naysay
