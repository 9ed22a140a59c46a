// SPDX-License-Identifier: Apache-2.0
// Zipf: uneven costs. The r-th costliest negative costs 1 / r^skew, up to a common factor.
//
//   cost |*
//        |*
//        | *                  skew 0: all the same; 1: the first is n times the last;
//        |  **                more: a few negatives are nearly all of the cost
//        |    ******
//        +----------- rank    Then the costs are shuffled over the negatives.
//
//   paper     here
//   skewness  skew, any number of 0 or more
//
// Promises   the mean cost is 1, so that skew 0 is "each costs 1"; same count, skew and seed, same order of ranks.
// Cost       one power per negative, 4 bytes per negative.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, section V-C: skewness 0 to 3, shuffled.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "naysay/workload/random.hpp"

namespace naysay {

// In order of rank, the costliest first. Requires skew >= 0 and finite.
inline std::vector<float> zipf_by_rank(std::uint64_t count, double skew) {
  assert(skew >= 0 && std::isfinite(skew));
  const auto weight = [&](std::uint64_t i) { return std::pow(static_cast<double>(i + 1), -skew); };
  double sum = 0;
  for (std::uint64_t i = count; i-- > 0;) sum += weight(i);  // the smallest first, or rounding loses them
  const double scale = static_cast<double>(count) / sum;
  std::vector<float> costs(count);
  for (std::uint64_t i = 0; i < count; ++i) costs[i] = static_cast<float>(weight(i) * scale);
  return costs;
}

// Shuffled. Requires skew >= 0 and finite.
inline std::vector<float> zipf_costs(std::uint64_t count, double skew, std::uint64_t seed) {
  std::vector<float> costs = zipf_by_rank(count, skew);
  Random(seed).shuffle(std::span<float>(costs));
  return costs;
}

}  // namespace naysay
