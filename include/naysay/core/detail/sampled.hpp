// SPDX-License-Identifier: Apache-2.0
// for_each_sampled: a bounded part of a large array, spread evenly, for rates that are asked while a filter is in use.
//
//   |######..........######..........######..........|    runs of `run` items at equal distances, `most` items in all
//
// Promises   all items if there are at most `most`; else `most` of them. The same for the same numbers.
#pragma once

#include <cstdint>

#include "naysay/core/bits.hpp"

namespace naysay {

// Calls body(i) for items i of [0, n). Returns how many. Requires that `run` divides `most`.
template <class Body>
std::uint64_t for_each_sampled(std::uint64_t n, std::uint64_t most, std::uint64_t run, Body&& body) {
  if (n <= most) {
    for (std::uint64_t i = 0; i < n; ++i) body(i);
    return n;
  }
  const std::uint64_t runs = most / run, all = n / run;  // a last run that is not whole is left out
  for (std::uint64_t r = 0; r < runs; ++r) {
    // runs * all may exceed 64 bits only for arrays that no machine holds
    const std::uint64_t first = r * all / runs * run;
    for (std::uint64_t i = first; i < first + run; ++i) body(i);
  }
  return most;
}

}  // namespace naysay
