// Choose: which filter `--filter auto` takes, and why.
#pragma once

#include <string>
#include <vector>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// What is known before anything is built.
struct Wish {
  bool negatives = false;  // known negatives are named
  bool grows = false;      // more keys will come than are there now
  bool by_rate = false;    // the budget is a rate, so the filter must be able to price one
};

struct Choice {
  const FilterType* filter;
  std::string why;  // continues "auto takes NAME: "
};

// The best first; the next ones are for budgets into which the first does not fit. Never empty.
std::vector<Choice> choose(const Wish& wish);

}  // namespace naysay::cli
