// SPDX-License-Identifier: Apache-2.0
// NegativeSource: known negatives that are too many to hold in memory.
//
//   file --> 20 bytes each, split by the top bits of hi --> read(first, last)     one range of hi at a time
//                 |
//                 +--> CostCounts                                                 the costs of all, in a megabyte
//
// A filter that claims streams_negatives plans from the costs of all negatives. Then it reads one range of digest.hi
// after the other, each about once and in ascending order. It builds the same bytes from a source as from a Workload
// that holds the same negatives, in whatever order the source gives them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "naysay/core/cost_curve.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

// What is known of a workload before a filter is built from it.
struct Outlook {
  double keys = 0;
  double bits_per_key = 0;
  double stranger_share = 0;  // of the negative queries
  const CostCounts& costs;    // of the known negatives
};

struct NegativeSource {
  using Take = std::function<void(std::span<const Digest> negatives, std::span<const float> costs)>;

  CostCounts costs;  // of all negatives
  // Calls take with pieces that together hold every negative with first <= hi <= last; others may be among them. costs
  // may be empty: then each costs 1. The same calls give the same pieces in the same order.
  std::function<Result<Ok>(std::uint64_t first, std::uint64_t last, const Take& take)> read;

  // The negatives of a workload, which must outlive the source.
  static NegativeSource of(const Workload& w, unsigned threads = 1) {
    NegativeSource source;
    source.costs = CostCounts::of(w.costs, w.negatives.size(), threads);
    source.read = [&w](std::uint64_t, std::uint64_t, const Take& take) -> Result<Ok> {
      take(w.negatives, w.costs);
      return Ok{};
    };
    return source;
  }
};

}  // namespace naysay
