// SPDX-License-Identifier: Apache-2.0
// Held rate: a filter that accepts at most the share of strangers that the user asked for, by its own account.
//
// A price, bits_per_key(fpr), is a plan for many keys and an ideal hash. A filter of few keys, or of whole fingerprint
// bits, may end above the rate that was planned. So what was built is looked at, and built again for a lower rate until
// its own expected_fpr() is low enough:
//
//   planned rate    0.001 --> 0.0002 --> ...
//   expected_fpr    0.0039    0.00098 <= 0.001: done
//
// Promises   the filter's expected_fpr() is at most fpr. If that cannot be had, the error (out_of_budget) has the lowest
//            rate that was reached, rounded up, and asking for that one works.
// Cost       one build if the plan holds, as it does for most filters of many keys; at most a few dozen.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// One attempt: a filter planned for another rate, with more_bits times the bits of that.
struct RateAttempt {
  double planned = 1, more_bits = 1;
  // Its parameters. `given` overrides what the price plans.
  std::vector<Param> params(const FilterType& type, std::span<const Param> given) const;
};
// Makes attempts until the rate of one is at most fpr. attempt() builds a filter, keeps it if its rate is low enough, and
// returns the rate. The error is that of the search; one that does not come from a budget or a parameter ends it.
Result<Ok> hold_rate(const FilterType& type, double fpr, const std::function<Result<double>(RateAttempt)>& attempt);

// Requires type.tunable. `given` overrides what the price plans. options.report is of the last build.
Result<AnyFilter> build_for_rate(const FilterType& type, const Workload& workload, double fpr,
                                 std::span<const Param> given, const BuildOptions& options);

}  // namespace naysay::cli
