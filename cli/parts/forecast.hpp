// SPDX-License-Identifier: Apache-2.0
// Forecast: what a build will need, before it starts.
//
//   keys       |. . . . . . . . . . . .|      every i-th of them, 131,072 and 524,288 in all, and as many of the known
//   sample      .     .     .     .           negatives in proportion, are built; time and memory are measured
//
//   memory   ^                 x              a straight line through both, as far as the keys go, and not below 0.8
//            |         .  '                   times what the larger sample needs per key; the digests, 16 bytes per key
//            |   . x                          and 20 per known negative, come on top
//            +--------------------> keys
//
// Promises   For fewer keys than the larger sample it is the memory of the build itself.
// Checked    for every filter of digests, with 1.5 million keys and as many known negatives, 10 bits per key and one thread
//            (tests/cli/forecast_test.cpp): the build needs 0.5 to 1.5 times the memory that is forecast, and the filter's
//            size is right to 25 %; filters whose tables grow in steps are the worst. For other sizes, budgets and threads
//            these are estimates.
// Does not   forecast the time well: one filter of millions of keys misses the caches more often than a sample does, and
//            a sample keeps fewer threads busy. Take it as an order of magnitude.
// Cost       two builds of the samples.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "naysay/any_filter.hpp"
#include "naysay/core/negatives.hpp"

namespace naysay::cli {

struct Forecast {
  std::uint64_t input_bytes = 0;   // of digests and costs that are held
  std::uint64_t build_bytes = 0;   // the most that the build holds next to them, its result included
  std::uint64_t filter_bytes = 0;  // of the filter, once it is built
  double build_seconds = 0;
  double stranger_fpr = 0;
  double known_cost =
      std::numeric_limits<double>::quiet_NaN();  // the share of the cost that is accepted, if it can say

  std::uint64_t peak_bytes() const noexcept { return input_bytes + build_bytes; }
};

// `costs` are of all known negatives. Fails if a sample cannot be built.
Result<Forecast> forecast(const FilterType& filter, const Workload& workload, const CostCounts& costs,
                          std::span<const Param> params, const BuildOptions& options);

}  // namespace naysay::cli
