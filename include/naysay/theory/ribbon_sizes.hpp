// RibbonSizes: how many keys a shard of a ribbon takes, how many slots they need, and what a rate then costs.
//
//   width   keys a shard   slots for s keys        tried seeds   slots/key
//   64      2000           s + 8 + 1.5 % of s      1.3           1.019
//   128     4000           s + 8 + 0.2 % of s      1.2           1.004
//
// Smaller shards succeed with fewer slots (the random walk of the load is shorter) but pay more for the table; these
// are the sizes at which both together were smallest at 8 planes with at most 1.5 seeds a shard.
//
// A rate between two powers of 1/2 is mixed: a part of the shards has one plane more. That costs up to 0.086 bits
// more than log2(1/fpr), half-way between the powers (Jensen's gap); nothing at the powers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace naysay::ribbon_sizes {

inline constexpr double kTableBits = 512.0 / 14;  // of a shard, in RibbonPlanes

inline std::uint64_t shard_keys(unsigned width) noexcept { return width == 64 ? 2000 : 4000; }
inline std::uint64_t shards(unsigned width, std::uint64_t keys) noexcept {
  return std::max<std::uint64_t>(1, (keys + shard_keys(width) / 2) / shard_keys(width));
}
inline std::uint64_t slots(unsigned width, std::uint64_t keys) noexcept {
  const std::uint64_t slack = width == 64 ? keys * 3 / 200 : keys / 500;
  return std::max<std::uint64_t>(width, keys + 8 + slack);
}

// Slots per key and table bits per key of a filter of many full shards.
inline double slots_per_key(unsigned width) noexcept {
  const auto s = shard_keys(width);
  return static_cast<double>(slots(width, s)) / static_cast<double>(s);
}
inline double table_bits_per_key(unsigned width) noexcept { return kTableBits / static_cast<double>(shard_keys(width)); }

// Planes, on average over the shards, that give a rate, and that a budget buys.
inline double planes_for(double fpr) noexcept {
  const double whole = std::floor(std::log2(1 / fpr));
  return whole + 2 * (1 - fpr * std::exp2(whole));
}
inline double planes_within(unsigned width, double bits_per_key) noexcept {
  return std::max(0.0, (bits_per_key - table_bits_per_key(width)) / slots_per_key(width));
}
inline double bits_per_key(unsigned width, double planes) noexcept {
  return planes * slots_per_key(width) + table_bits_per_key(width);
}

}  // namespace naysay::ribbon_sizes
