// SPDX-License-Identifier: Apache-2.0
// Choose: which filter `--filter auto` uses, and why.
#pragma once

#include <string>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/negatives.hpp"

namespace naysay::cli {

// What is known before anything is built.
struct FilterWish {
  bool negatives = false;  // known negatives are given
  bool grows = false;      // keys will be inserted later
  bool by_rate = false;    // the budget is a rate, so the filter must be able to price one
};

struct Choice {
  const FilterType* filter;
  std::string why;  // continues "auto uses NAME: "
};

// The best first; the next ones are for budgets into which the first does not fit. Never empty.
std::vector<Choice> choose(const FilterWish& wish);

// The same filters, once everything is read. If the known negatives are too many to hold (streamed), filters that must
// hold them are left out. Unless the set grows, the filters are in the order of the rates that are predicted for them.
std::vector<Choice> rank(std::vector<Choice> choices, const FilterWish& wish, const Outlook& outlook, bool streamed);

}  // namespace naysay::cli
