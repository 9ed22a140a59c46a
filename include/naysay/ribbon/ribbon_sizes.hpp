// SPDX-License-Identifier: Apache-2.0
// RibbonSizes: how many keys a shard of a ribbon has, how many slots they need, and what a rate then costs.
//
//   fit     width   keys per shard   slots for s keys       slots per key
//   quick   64      2000             s + 8 + 2.0 % of s     1.024
//   quick   128     3000             s + 8 + 0.5 % of s     1.008
//   tight   64      2000             s + 8 + 1.5 % of s     1.019
//   tight   128     4000             s + 8 + 0.2 % of s     1.004
//
// Smaller shards succeed with fewer slots per key (the random walk of the load is shorter) but the table costs more.
// `tight` is smallest, slots and table together, at one or two planes. `quick` tries fewer seeds and adds fewer rows,
// for 0.4 % more slots. The report of a build says how many seeds were tried ("shards", "shards retried").
//
// BumpedSizes, at the end, is the same for a ribbon that bumps keys.
//
// For a rate between two powers of 1/2 some shards have one plane more than the others. That costs up to 0.086 bits per
// key more than log2(1/fpr), half-way between the powers (Jensen's gap), and nothing at the powers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace naysay::ribbon {

enum class RibbonFit : std::uint8_t { quick, tight };

class RibbonSizes {
 public:
  // Requires width 64 or 128.
  constexpr RibbonSizes(unsigned width, RibbonFit fit) noexcept
      : width_(width),
        shard_keys_(width == 64               ? 2000
                    : fit == RibbonFit::quick ? 3000
                                              : 4000),
        slack_(width == 64 ? (fit == RibbonFit::quick ? 20 : 15) : (fit == RibbonFit::quick ? 5 : 2)) {}

  // Odd: then the low word of hi * shards, which the shard gets, keeps every bit of hi.
  std::uint64_t shards(std::uint64_t keys) const noexcept { return (keys + shard_keys_ / 2) / shard_keys_ | 1; }
  std::uint64_t slots(std::uint64_t keys) const noexcept {
    return std::max<std::uint64_t>(width_, keys + 8 + keys * slack_ / 1000);
  }

  // Shards of an exact plane for one shard of the main planes that has this many equations.
  std::uint64_t parts(double equations) const noexcept {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(equations / static_cast<double>(shard_keys_))));
  }

  // For a filter of many shards of the usual size.
  double slots_per_key() const noexcept {
    return static_cast<double>(slots(shard_keys_)) / static_cast<double>(shard_keys_);
  }
  double table_bits_per_key() const noexcept { return kTableBits / static_cast<double>(shard_keys_); }
  double bits_per_key(double planes) const noexcept { return planes * slots_per_key() + table_bits_per_key(); }
  double planes_within(double bits_per_key) const noexcept {
    return std::max(0.0, (bits_per_key - table_bits_per_key()) / slots_per_key());
  }

  // Planes, on average over the shards, that give the rate fpr in (0, 1].
  static double planes_for(double fpr) noexcept {
    const double whole = std::floor(std::log2(1 / fpr));
    return whole + 2 * (1 - fpr * std::exp2(whole));
  }

 private:
  static constexpr double kTableBits = 32;  // per shard, in detail::RibbonLayout

  unsigned width_;
  std::uint64_t shard_keys_;
  std::uint64_t slack_;  // in thousandths
};

// BumpedSizes: the same for a ribbon with bumping (detail/bumped_layout.hpp). There are 1.04 keys per slot, and 4 % of the
// keys are bumped into a second ribbon of width 128.
//
//   slots per key    1 / 1.04 + kShare * 1.0077 = 1.0018
//   thresholds       2 bits per 128 slots = 0.0150 bits per key; the table of the second ribbon: 0.0004
//
// So 8 planes cost 8.030 bits per key, 1.0038 of the limit. Small sets cost more: a bucket at the end, the rounding of
// the second ribbon. From kFewest keys on it is the smaller one of the two.
class BumpedSizes {
 public:
  static constexpr std::uint64_t kFewest = 50'000;
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 32;  // then there are fewer slots than 2^32
  static constexpr double kShare = 0.04;                          // of the keys that are bumped, on average or more
  static constexpr std::uint64_t kBucket = 128;

  static std::uint64_t slots(std::uint64_t keys) noexcept { return (keys * 25 / 26 + kBucket - 1) / kBucket * kBucket; }
  static constexpr RibbonSizes second() noexcept { return {128, RibbonFit::quick}; }

  // For many keys.
  static double slots_per_key() noexcept { return 25.0 / 26 + kShare * second().slots_per_key(); }
  static double table_bits_per_key() noexcept {
    return 2.0 / kBucket * 25 / 26 + kShare * second().table_bits_per_key();
  }
  static double bits_per_key(double planes) noexcept { return planes * slots_per_key() + table_bits_per_key(); }
  static double planes_within(double bits_per_key) noexcept {
    return std::max(0.0, (bits_per_key - table_bits_per_key()) / slots_per_key());
  }
};

}  // namespace naysay::ribbon
