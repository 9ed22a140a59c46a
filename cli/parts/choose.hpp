// Choose: which filter `--filter auto` takes, and why.
#pragma once

#include <string>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/negatives.hpp"

namespace naysay::cli {

// What is known before anything is built.
struct Wish {
  bool negatives = false;  // known negatives are named
  bool grows = false;      // more keys will come than are there now
  bool by_rate = false;    // the budget is a rate, so the filter must be able to price one
};

// What is known once everything is read.
struct Known {
  double keys = 0;
  double bits_per_key = 0;
  double stranger_share = 0;
  CostCounts costs;       // of the known negatives
  bool streamed = false;  // they are too many to hold
};

struct Choice {
  const FilterType* filter;
  std::string why;  // continues "auto takes NAME: "
};

// The best first; the next ones are for budgets into which the first does not fit. Never empty.
std::vector<Choice> choose(const Wish& wish);

// The same filters, less those that cannot be built; the filters that never change come by the rate that theory
// predicts for them, and say so.
std::vector<Choice> rank(std::vector<Choice> choices, const Wish& wish, const Known& known);

}  // namespace naysay::cli
