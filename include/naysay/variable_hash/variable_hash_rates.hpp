// Variable hash: what a variable hash filter of a given shape costs and gives, and the best shape for a budget.
//
//   paper        here
//   n, m         keys, slots()
//   n / m        keys per slot
//   r, k         function_bits, functions / slots()
//   r_s, r_b     sector_bits, bucket_bits
//   b, s         2^bucket_log buckets a sector, 2^slot_log slots a bucket
//   -            2^sector_log sectors a region: one level more than in the thesis, because at its level of best-of-2^16
//                spreading most of the unevenness left is that of the sectors, which it fills by chance
//   alpha, C_H   fpr(), tries()
//
// The thesis sets r to 3 more than n / m and takes every slot for an average one (3.3.2). Here the number of keys in
// a slot is a normal variable whose variance follows from how well the best of 2^r functions spreads, and the r with
// the smallest rate is looked for: 55 sums of some ten terms.
//
// Source     Deeds, 2020, section 3.3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "naysay/core/bits.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"

namespace naysay::variable_hash {

inline constexpr unsigned kLevels = 3;       // region to sector, sector to bucket, bucket to slot
inline constexpr unsigned kSpreadBits = 16;  // that a spread function's number takes: read without a shift
inline constexpr unsigned kRegionBits = 9;   // 512 tries: what a region leaves uneven is small beside the rest

struct Shape {
  std::uint64_t regions = 1;
  unsigned log[kLevels] = {};  // log2 of the sectors in a region, buckets in a sector, slots in a bucket
  unsigned tries_log[kLevels] = {kRegionBits, 12, 12};  // log2 of the spread functions tried: -, r_s, r_b
  unsigned function_bits = 0;                           // of a slot function's number
  std::uint64_t functions = 0;                          // of all slots together

  // Nodes above level 0, 1, 2, and the slots.
  std::uint64_t nodes(unsigned level) const noexcept {
    std::uint64_t n = regions;
    for (unsigned i = 0; i < level; ++i) n <<= log[i];
    return n;
  }
  std::uint64_t slots() const noexcept { return nodes(kLevels); }
  // Functions are stored for the nodes that have a choice.
  std::uint64_t stored(unsigned level) const noexcept { return log[level] != 0 ? nodes(level) : 0; }
  std::uint64_t spread_size_bits() const noexcept { return kSpreadBits * (stored(0) + stored(1) + stored(2)); }
};

// P(X <= x) for X chi-square with `freedom` degrees.
inline double chi_square(double freedom, double x) noexcept {
  const double s = freedom / 2, h = x / 2;
  double term = std::exp(s * std::log(h) - h - std::lgamma(s + 1)), sum = term;
  for (int i = 1; i < 400 && term > sum * 1e-12; ++i) sum += term *= h / (s + i);
  return std::min(sum, 1.0);
}

// How much smaller the variance of a child's count is with the best of 2^bits functions than with any one:
// the chi-square of the counts is then about its 2^-bits quantile.
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

// The variance of the number of keys in a slot: what chance does to the regions and what each level leaves.
inline double slot_variance(const Shape& s, double keys) noexcept {
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

// The chance that no function of `bits` bits accepts all of `keys` keys: hits are Poisson; with probability
// 2^-(rests) the equations leave a mask bit free, and then hits come in pairs, half as often.
inline double not_found(double keys, unsigned bits) noexcept {
  if (keys > family::kMaxSlotKeys) return 1;
  if (keys < 0.5) return 0;
  const double hits = -(std::exp2(bits) - 1) * std::log1p(-std::exp2(-keys));
  const double in_pairs = std::min(1.0, std::exp2(family::mask_bits(bits) - keys));
  return (1 - in_pairs) * std::exp(-hits) + in_pairs * std::exp(-hits / 2);
}

// Calls body(c, p) for the sizes c that a slot has with probability p.
template <class Body>
void for_slot_sizes(const Shape& s, double keys, Body&& body) {
  const double mean = keys / static_cast<double>(s.slots()),
               deviation = std::sqrt(std::max(slot_variance(s, keys), 1e-9));
  const auto below = [&](double c) { return 0.5 * std::erfc((mean - c) / (deviation * std::sqrt(2.0))); };
  if (s.slots() == 1) return body(keys, 1.0);
  const double first = std::max(0.0, std::floor(mean - 6 * deviation)), last = std::ceil(mean + 6 * deviation);
  for (double c = first; c <= last; ++c)
    body(c, (c == last ? 1.0 : below(c + 0.5)) - (c == first ? 0.0 : below(c - 0.5)));
}

// The share of functions that are not found.
inline double share_not_found(const Shape& s, double keys) noexcept {
  double share = 0;
  for_slot_sizes(s, keys, [&](double c, double p) { share += p * not_found(c, s.function_bits); });
  return share;
}

// The rate on strangers: a function that was found refuses half of them, one that was not refuses none.
inline double fpr(const Shape& s, double keys) noexcept {
  const double a_slot = static_cast<double>(s.functions) / static_cast<double>(s.slots());
  const double k = std::floor(a_slot), more = a_slot - k;
  double rate = 0;
  for_slot_sizes(s, keys, [&](double c, double p) {
    const double pass = (1 + not_found(c, s.function_bits)) / 2;
    rate += p * std::pow(pass, k) * (1 - more + more * pass);
  });
  return rate;
}

// Spread functions counted and words drawn for one key: what a build costs.
inline double tries(const Shape& s, double keys) noexcept {
  double counted = (keys + static_cast<double>(s.functions)) / static_cast<double>(s.slots());
  for (unsigned level = 0; level < kLevels; ++level)
    if (s.log[level] != 0) counted += std::exp2(s.tries_log[level]);
  return counted;
}

// Regions, sectors, buckets and slots for about keys_per_slot keys in each slot. Requires keys_per_slot > 0.
inline Shape place(std::uint64_t keys, double keys_per_slot) noexcept {
  const double slots = static_cast<double>(keys) / keys_per_slot;
  unsigned log = kLevels * family::kChildLog;
  Shape s;
  if (slots >= std::exp2(log)) {
    s.regions = static_cast<std::uint64_t>(std::llround(slots / std::exp2(log)));
  } else {  // one region, the nearest power of two
    log = static_cast<unsigned>(std::min<double>(log, std::round(std::log2(std::max(slots, 1.0)))));
  }
  for (unsigned level = kLevels; level-- > 0; log -= s.log[level]) s.log[level] = std::min(log, family::kChildLog);
  return s;
}

// As many functions of r bits as the budget pays for.
inline std::uint64_t functions_for(const Shape& s, std::uint64_t budget_bits, unsigned r) noexcept {
  const std::uint64_t spread = s.spread_size_bits();
  return budget_bits <= spread ? 0 : std::min((budget_bits - spread) / r, s.slots() * family::kMaxFunctions);
}

// Sets function_bits and functions of s to those with the smallest rate, or, where that costs next to nothing, to the
// best narrow ones, which are tested many at a time. `r` and `k` are 0 where they may be chosen; a given k is taken as
// it is, whatever the budget.
inline void choose_functions(Shape& s, std::uint64_t keys, std::uint64_t budget_bits, unsigned r, unsigned k) noexcept {
  constexpr double kNextToNothing = 1.05;  // of the rate: 0.07 bits
  double best = 2;
  for (unsigned bits = r != 0 ? r : 1; bits <= (r != 0 ? r : family::kMaxFunctionBits); ++bits) {
    Shape t = s;
    t.function_bits = bits;
    t.functions = k != 0 ? k * t.slots() : functions_for(s, budget_bits, bits);
    if (k != 0 && r == 0 && bits > 1 && t.spread_size_bits() + t.functions * bits > budget_bits) break;
    const double rate = fpr(t, static_cast<double>(keys));
    const bool widens = s.function_bits != 0 && s.function_bits <= family::kNarrowBits && bits > family::kNarrowBits;
    if (rate * (widens ? kNextToNothing : 1) < best) best = rate, s.function_bits = bits, s.functions = t.functions;
  }
}

}  // namespace naysay::variable_hash
