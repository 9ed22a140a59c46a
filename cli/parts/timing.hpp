// SPDX-License-Identifier: Apache-2.0
// Timing: the one way in which the tool measures time and memory. compare, demo and bench all use it.
//
//   everything that is timed runs kRounds times, and the median counts (samples.hpp)
//   a build        attempt(): nanoseconds, and the most memory it held
//   queries        query_one_by_one(), query_in_batches(): nanoseconds per query, through AnyFilter as a user calls it
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "naysay/any_filter.hpp"
#include "parts/samples.hpp"

namespace naysay::cli {

inline constexpr int kRounds = 5;

// A timed loop writes its result here, so that the compiler cannot remove the loop.
inline volatile std::uint64_t sink;

// Nanoseconds that body() needs for each of `count` things.
template <class Body>
double ns_each(std::size_t count, Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(std::max<std::size_t>(count, 1));
}

// The times of kRounds calls of once(), which returns a time.
template <class Once>
Samples rounds(Once&& once) {
  Samples times;
  for (int round = 0; round < kRounds; ++round) times.add(once());
  return times;
}

// A build that is timed: a filter, or the reason why there is none.
struct Attempt {
  std::optional<AnyFilter> filter = {};
  std::optional<Error> refused = {};
  double ns = 0;                 // of the whole build
  std::uint64_t peak_bytes = 0;  // the most memory it held; see heap.hpp
};
Attempt attempt(std::string_view filter, const Workload& w, std::span<const Param> params, const BuildOptions& options);

// Nanoseconds per query. With strings the filter is given them too, and there are no batches: for filters that read them.
double query_one_by_one(const AnyFilter& f, std::span<const Digest> queries,
                        std::span<const std::string_view> bytes = {});
double query_in_batches(const AnyFilter& f, std::span<const Digest> queries,
                        std::span<const std::string_view> bytes = {});

}  // namespace naysay::cli
