// SPDX-License-Identifier: Apache-2.0
// Rates of variable hash filters: size, FPR and build cost of a given shape, and the best shape for a budget.
//
//   paper        here
//   n, m         keys, slots()
//   n / m        keys per slot
//   r, k         function_bits, functions / slots()
//   r_s, r_b     sector_bits, bucket_bits
//   b, s         2^bucket_log buckets per sector, 2^slot_log slots per bucket
//   -            2^sector_log sectors per region: one level more than in the thesis. There sectors are filled by
//   chance,
//                and with best-of-2^16 spreading below them, most of the remaining unevenness comes from the sectors
//   alpha, C_H   fpr(), tries()
//
// The thesis sets r to n / m + 3 and treats every slot as an average one (3.3.2). Here the number of keys in a slot is
// a normal variable whose variance follows from how well the best of 2^r functions spreads, and all 55 values of r are
// tried for the smallest rate.
//
// Promises   Numbers in, numbers out. The FPR is within 1 % of a build of 2^20 keys (VariableHash::kClaims).
//
// Source     Deeds, 2020, section 3.3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "naysay/core/bits.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"

namespace naysay::variable_hash {

inline constexpr unsigned kLevels = 3;       // region to sector, sector to bucket, bucket to slot
inline constexpr unsigned kSpreadBits = 16;  // of a spread function's number: it is read without a shift
inline constexpr unsigned kRegionBits = 9;   // 512 tries: regions add little unevenness compared with the lower levels

struct VariableHashShape {
  std::uint64_t regions = 1;
  unsigned log[kLevels] = {};  // log2 of the sectors in a region, buckets in a sector, slots in a bucket
  unsigned tries_log[kLevels] = {kRegionBits, 12, 12};  // log2 of the spread functions tried: -, r_s, r_b
  unsigned function_bits = 0;                           // of a slot function's number
  std::uint64_t functions = 0;                          // of all slots together

  // Nodes at the top of level 0, 1, 2; for level 3, the slots.
  std::uint64_t nodes(unsigned level) const noexcept {
    std::uint64_t n = regions;
    for (unsigned i = 0; i < level; ++i) n <<= log[i];
    return n;
  }
  std::uint64_t slots() const noexcept { return nodes(kLevels); }
  // The spread functions stored: one per node that has more than one child.
  std::uint64_t stored(unsigned level) const noexcept { return log[level] != 0 ? nodes(level) : 0; }
  std::uint64_t spread_size_bits() const noexcept { return kSpreadBits * (stored(0) + stored(1) + stored(2)); }
};

// P(X <= x) for X chi-square with a whole number of degrees of freedom. Gamma(s + 1) is s (s - 1) ... down to
// Gamma(1) = 1 or Gamma(1/2) = sqrt(pi); std::lgamma would write to the global signgam.
inline double chi_square(double freedom, double x) noexcept {
  const double s = freedom / 2, h = x / 2;
  double gamma = 1, factor = s;
  for (; factor > 0; factor -= 1) gamma *= factor;
  if (factor < 0) gamma *= std::sqrt(std::numbers::pi);
  double term = std::exp(s * std::log(h) - h - std::log(gamma)), sum = term;
  for (int i = 1; i < 400 && term > sum * 1e-12; ++i) sum += term *= h / (s + i);
  return std::min(sum, 1.0);
}

// The variance of a child's count with the best of 2^bits functions, as a share of the variance with a random one: the
// chi-square of the counts is then about its 2^-bits quantile.
inline double spread_gain(unsigned child_log, unsigned bits) noexcept {
  if (child_log == 0) return 0;
  const double freedom = (1 << child_log) - 1, share = std::ldexp(1.0, -static_cast<int>(bits));
  double low = 0, high = freedom;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (chi_square(freedom, middle) < share ? low : high) = middle;
  }
  return high / freedom;
}

// The variance of the number of keys in a slot: that of the regions, and what each level of spreading leaves.
inline double slot_variance(const VariableHashShape& s, double keys) noexcept {
  const double regions = static_cast<double>(s.regions), slots = static_cast<double>(s.slots());
  double below = slots / regions;  // slots in a node
  double variance = keys / regions * (1 - 1 / regions) / (below * below);
  for (unsigned level = 0; level < kLevels; ++level) {
    const double children = std::exp2(s.log[level]);
    below /= children;
    variance +=
        keys / slots * below * (1 - 1 / children) * spread_gain(s.log[level], s.tries_log[level]) / (below * below);
  }
  return variance;
}

// The probability that no function of `bits` bits accepts all of `keys` keys: hits are Poisson; with probability
// 2^-(rests) the equations leave a mask bit free, and then hits come in pairs, half as often.
inline double not_found(double keys, unsigned bits) noexcept {
  if (keys > detail::family::kMaxSlotKeys) return 1;
  if (keys < 0.5) return 0;
  const double hits = -(std::exp2(bits) - 1) * std::log1p(-std::exp2(-keys));
  const double in_pairs = std::min(1.0, std::exp2(detail::family::mask_bits(bits) - keys));
  return (1 - in_pairs) * std::exp(-hits) + in_pairs * std::exp(-hits / 2);
}

// Calls body(c, p) for the sizes c that a slot has with probability p.
template <class Body>
void for_slot_sizes(const VariableHashShape& s, double keys, Body&& body) {
  const double mean = keys / static_cast<double>(s.slots()),
               deviation = std::sqrt(std::max(slot_variance(s, keys), 1e-9));
  const auto below = [&](double c) { return 0.5 * std::erfc((mean - c) / (deviation * std::sqrt(2.0))); };
  if (s.slots() == 1) return body(keys, 1.0);
  const double first = std::max(0.0, std::floor(mean - 6 * deviation)), last = std::ceil(mean + 6 * deviation);
  for (double c = first; c <= last; ++c)
    body(c, (c == last ? 1.0 : below(c + 0.5)) - (c == first ? 0.0 : below(c - 0.5)));
}

// The share of functions that are not found.
inline double share_not_found(const VariableHashShape& s, double keys) noexcept {
  double share = 0;
  for_slot_sizes(s, keys, [&](double c, double p) { share += p * not_found(c, s.function_bits); });
  return share;
}

// The stranger FPR: a function that was found refuses half of the strangers, one that was not found refuses none.
inline double fpr(const VariableHashShape& s, double keys) noexcept {
  const double per_slot = static_cast<double>(s.functions) / static_cast<double>(s.slots());
  const double k = std::floor(per_slot), more = per_slot - k;
  double rate = 0;
  for_slot_sizes(s, keys, [&](double c, double p) {
    const double pass = (1 + not_found(c, s.function_bits)) / 2;
    rate += p * std::pow(pass, k) * (1 - more + more * pass);
  });
  return rate;
}

// Spread functions counted and words computed per key: the cost of a build.
inline double tries(const VariableHashShape& s, double keys) noexcept {
  double counted = (keys + static_cast<double>(s.functions)) / static_cast<double>(s.slots());
  for (unsigned level = 0; level < kLevels; ++level)
    if (s.log[level] != 0) counted += std::exp2(s.tries_log[level]);
  return counted;
}

// Regions, sectors, buckets and slots for about keys_per_slot keys in each slot. Requires keys_per_slot > 0.
inline VariableHashShape place(std::uint64_t keys, double keys_per_slot) noexcept {
  const double slots = static_cast<double>(keys) / keys_per_slot;
  unsigned log = kLevels * detail::family::kChildLog;
  VariableHashShape s;
  if (slots >= std::exp2(log)) {
    s.regions = static_cast<std::uint64_t>(std::llround(slots / std::exp2(log)));
  } else {  // one region, the nearest power of two
    log = static_cast<unsigned>(std::min<double>(log, std::round(std::log2(std::max(slots, 1.0)))));
  }
  for (unsigned level = kLevels; level-- > 0; log -= s.log[level])
    s.log[level] = std::min(log, detail::family::kChildLog);
  return s;
}

// The number of functions of r bits that the budget pays for.
inline std::uint64_t functions_for(const VariableHashShape& s, std::uint64_t budget_bits, unsigned r) noexcept {
  const std::uint64_t spread = s.spread_size_bits();
  return budget_bits <= spread ? 0 : std::min((budget_bits - spread) / r, s.slots() * detail::family::kMaxFunctions);
}

// Sets function_bits and functions of s to those with the smallest rate, or to the best narrow ones (which are tested
// many at a time) if their rate is at most kNarrowWorth times as high. If r or k is 0, it is chosen; a given k is used
// whatever the budget.
inline void choose_functions(VariableHashShape& s, std::uint64_t keys, std::uint64_t budget_bits, unsigned r,
                             unsigned k) noexcept {
  constexpr double kNarrowWorth = 1.05;  // a factor of the rate: 0.07 bits
  double best = 2;
  for (unsigned bits = r != 0 ? r : 1; bits <= (r != 0 ? r : detail::family::kMaxFunctionBits); ++bits) {
    VariableHashShape t = s;
    t.function_bits = bits;
    t.functions = k != 0 ? k * t.slots() : functions_for(s, budget_bits, bits);
    if (k != 0 && r == 0 && bits > 1 && t.spread_size_bits() + t.functions * bits > budget_bits) break;
    const double rate = fpr(t, static_cast<double>(keys));
    const bool widens =
        s.function_bits != 0 && s.function_bits <= detail::family::kNarrowBits && bits > detail::family::kNarrowBits;
    if (rate * (widens ? kNarrowWorth : 1) < best) best = rate, s.function_bits = bits, s.functions = t.functions;
  }
}

}  // namespace naysay::variable_hash
