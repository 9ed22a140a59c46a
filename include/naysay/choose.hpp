// SPDX-License-Identifier: Apache-2.0
// Choose: which filters suit a wish, the best first. The tool's `--filter auto`, the C API's "auto" and Python's
// filter="auto" all use this list.
//
//   FilterWish --candidates--> filters that can do it --rank--> the same, by the rate that each predicts
//
// The next ones are for budgets into which the first does not fit.
#pragma once

#include <optional>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/export.hpp"
#include "naysay/core/negatives.hpp"

namespace naysay {

// What is known before anything is built.
struct FilterWish {
  bool negatives = false;  // known negatives are given
  bool grows = false;      // keys will be inserted later
  bool by_rate = false;    // the budget is a rate, so the filter must be able to price one
};

struct Candidate {
  const FilterType* filter;
  std::optional<ExpectedRates> expected = {};  // if the filter can say; known_cost is NaN if it uses no negatives
};

// The best first. Never empty.
NAYSAY_EXPORT std::vector<Candidate> candidates(const FilterWish& wish);

// The same filters, once everything is read. If the known negatives are too many to hold (streamed), filters that must
// hold them are left out. Unless the set grows, the filters are in the order of the rates that are predicted for them.
NAYSAY_EXPORT std::vector<Candidate> rank(std::vector<Candidate> candidates, const FilterWish& wish,
                                          const Outlook& outlook, bool streamed);

}  // namespace naysay
