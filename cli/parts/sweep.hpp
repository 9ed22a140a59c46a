// SPDX-License-Identifier: Apache-2.0
// Sweep: the same filters at several budgets, and what changes on the way.
//
//   bits per key   bloom    ribbon   taught-ribbon
//   4              14.6 %   6.6 %    6.4 %
//   8              2.1 %    0.4 %    0 %
//
// The lowest of a line is the best at that budget. The advice says from which budget another filter is the best, or the
// same filter makes half of the errors.
#pragma once

#include <string>
#include <vector>

#include "parts/measure.hpp"

namespace naysay::cli {

struct BudgetRows {
  double bits_per_key = 0;
  std::vector<FilterRow> rows = {};
};

// Budgets over a table of rows: the share of the traffic's cost that is accepted, by filter.
std::string sweep_text(const std::vector<BudgetRows>& sweep, double stranger_share);

// "Another filter is better with more space: from 12.5 bits per key upwards X ..." for the first budget above `now` at
// which another filter is surely better, or at which half of the errors surely go away. `measured_on` ends the sentence:
// on what it was measured.
std::string next_better(const FilterRow& now, const std::vector<BudgetRows>& above, double stranger_share,
                        const std::string& measured_on);

// A smaller trial of the same shape, to see at which budgets things change without measuring everything again.
struct Sample {
  std::vector<Digest> keys;
  std::vector<std::string_view> key_bytes;
  Trial trial;
};
Sample sample_of(const Trial& trial, std::uint64_t most_keys, std::uint64_t seed);

}  // namespace naysay::cli
