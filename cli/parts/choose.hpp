// SPDX-License-Identifier: Apache-2.0
// Choose: which filter `--filter auto` uses (naysay/choose.hpp), and why, in words.
#pragma once

#include <string>
#include <vector>

#include "naysay/choose.hpp"

namespace naysay::cli {

struct Choice {
  const FilterType* filter;
  std::string why;  // continues "auto uses NAME: "
};

// The best first; the next ones are for budgets into which the first does not fit. Never empty.
std::vector<Choice> choose(const FilterWish& wish);

// The same filters, once everything is read: see naysay::rank.
std::vector<Choice> rank(std::vector<Choice> choices, const FilterWish& wish, const Outlook& outlook, bool streamed);

}  // namespace naysay::cli
