// SPDX-License-Identifier: Apache-2.0
// PartPlan: what all parts of one filter share, as a file of JSON. naysay plan writes it, from keys and negatives or
// from the plans of pieces of them; naysay build --part and naysay join read it.
//
//   keys.0 negatives.0 --> plan 0 --+
//   keys.1 negatives.1 --> plan 1 --+--> plan of all --> part 1/N, 2/N, ... --> filter
//
//   parts that need another round ---> plan of all, again
//
// It holds the options of naysay build, how many keys and negatives there are and a sum over each of the two sets, costs
// included, and the costs of the negatives, counted in classes, and the highest of them. The key of a keyed hash is not in
// it, only a check of it.
//
// With --fpr it also holds the rates of earlier rounds. Whether a filter has its rate is seen when its parts are joined;
// if it does not, the next round plans for less, exactly as naysay build does (held_rate.hpp). Few filters of many keys
// need a second round.
//
// Promises   The plan of all is the same, byte by byte, whatever pieces it was made from and in whatever order, up to
//            2^29 negatives of almost equal costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/parts.hpp"
#include "parts/budget.hpp"

namespace naysay::cli {

// The size of a set of digests, each with its cost if it has one, and a sum that is almost surely another one for another
// set; copies count.
struct SetSum {
  std::uint64_t count = 0, sum = 0;

  void add(Digest d, float cost = 0) noexcept {
    ++count;
    sum += mix64(d.lo ^ mix64(d.hi ^ mix64(std::bit_cast<std::uint32_t>(cost + 0.0f))));  // -0 is 0
  }
  void add(const SetSum& other) noexcept {
    count += other.count;
    sum += other.sum;
  }
  friend bool operator==(const SetSum&, const SetSum&) = default;
};

// A Budget in a plan, as numbers that do not depend on how they were written. One of the three is not empty.
struct PlannedBudget {
  std::string bits_per_key, bytes, fpr;

  static PlannedBudget of(const Budget& given);  // Throws a Failure if it makes no sense.
  std::string text() const;                      // "--bytes 4096"
  double rate() const;                           // Requires an fpr.
  double bits_for(std::uint64_t keys) const;     // Requires none.
  friend bool operator==(const PlannedBudget&, const PlannedBudget&) = default;
};

struct PartPlan {
  std::string filter = "auto";
  PlannedBudget budget;
  std::vector<double> rates;  // of earlier rounds, which were too high
  std::vector<Param> params;
  double stranger_share = Workload{}.stranger_share;
  std::uint64_t seed = 0;
  std::string hash;  // its name and a check: the digest of a fixed text
  SetSum keys, negatives;
  CostCounts costs;
  float most_cost = 0;
  CostLimit limit;

  void add_key(Digest d) noexcept { keys.add(d); }
  void add_negative(Digest d, float cost) {
    negatives.add(d, cost);
    costs.add(cost);
    most_cost = std::max(most_cost, cost);
  }

  static PartPlan read(const std::string& path);                            // Throws a Failure.
  static PartPlan parse(std::string_view text, const std::string& source);  // likewise
  std::string text() const;

  // The facts of more keys and negatives. Throws a Failure if the other plan was made with other options.
  void add(const PartPlan& other, const std::string& own_name, const std::string& other_name);
  // What differs, in words that continue "it was made with": "seed 3, not 2". Empty: nothing.
  std::string difference(const PartPlan& other, bool with_facts) const;

  Whole whole() const;
  // The parameters of this round. Throws a Failure if no filter has the rate.
  std::vector<Param> all_params() const;
  // Whether a filter that accepts this share of strangers is what was asked for.
  bool holds(double expected_fpr) const { return budget.fpr.empty() || expected_fpr <= budget.rate(); }
  // The filter; `auto` is what naysay build tries first. Throws a Failure if it cannot be built in parts.
  const FilterType& type() const;
};

// "xxh3 1a2b...": two hashers with the same text digest alike.
std::string hash_text(const Hasher& hasher);

}  // namespace naysay::cli
