// SPDX-License-Identifier: Apache-2.0
// A made-up trace of insertions and deletions, in the shape of one of phishing domains over nine years: of 2.27 million
// domains that were inserted, 2.24 million were erased again, and at most about 220,000 were live at a time.
//
//   live ^         __________________
//        |     ___/                  \__
//        |  __/                         \      each key lives for a time with an exponential distribution, 0.1 of the
//        | /                             |     whole on average, and less and less towards the end
//        +-------------------------------> time, 0 to 1
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "naysay/workload/random.hpp"

namespace naysay::cli {

struct MadeTrace {
  struct Step {
    double time;
    std::uint32_t key;  // the i-th key
    bool insert;
  };
  std::vector<Step> steps;                            // by time
  std::uint64_t inserts = 0, erasures = 0, most = 0;  // most: keys that are live at a time
};

inline MadeTrace made_trace(std::uint64_t keys, std::uint64_t seed) {
  MadeTrace trace;
  Random random(seed);
  for (std::uint64_t i = 0; i < keys; ++i) {
    const double born = static_cast<double>(i) / static_cast<double>(keys);
    const double mean = 0.1 * (1 - 0.87 * std::pow(born, 8));
    const double uniform = (static_cast<double>(random.below(std::uint64_t{1} << 52)) + 0.5) / 4503599627370496.0;
    double dead = born - mean * std::log(uniform);
    if (dead >= 1 && random.below(1000) >= 214) {  // most of those that would live on are erased in the last tenth
      const double from = std::max(born, 0.9);
      dead = from + (1 - from) * static_cast<double>(random.below(1000)) / 1000;
    }
    trace.steps.push_back({born, static_cast<std::uint32_t>(i), true});
    if (dead < 1) trace.steps.push_back({dead, static_cast<std::uint32_t>(i), false});
  }
  std::stable_sort(trace.steps.begin(), trace.steps.end(),
                   [](const MadeTrace::Step& a, const MadeTrace::Step& b) { return a.time < b.time; });
  std::uint64_t live = 0;
  for (const MadeTrace::Step& s : trace.steps) {
    s.insert ? ++live : --live;
    ++(s.insert ? trace.inserts : trace.erasures);
    trace.most = std::max(trace.most, live);
  }
  return trace;
}

}  // namespace naysay::cli
