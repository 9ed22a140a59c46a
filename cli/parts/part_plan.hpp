// SPDX-License-Identifier: Apache-2.0
// PartPlan: what all parts of one filter share, as a file of JSON. naysay plan writes it, from keys and negatives or
// from the plans of pieces of them; naysay build --part and naysay join read it.
//
//   keys.0 negatives.0 --> plan 0 --+
//   keys.1 negatives.1 --> plan 1 --+--> plan of all --> part 1/N, 2/N, ... --> filter
//
// It holds the options of naysay build, how many keys and negatives there are and a sum over each of the two sets, costs
// included, and the costs of the negatives, counted in classes. The key of a keyed hash is not in it, only a check of it.
//
// Promises   The plan of all is the same, byte by byte, whatever pieces it was made from and in whatever order, up to
//            2^29 negatives of almost equal costs.
#pragma once

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

struct PartPlan {
  std::string filter = "auto";
  std::string bits_per_key, bytes;  // one of the two, as text
  std::vector<Param> params;
  double stranger_share = Workload{}.stranger_share;
  std::uint64_t seed = 0;
  std::string hash;  // its name and a check: the digest of a fixed text
  SetSum keys, negatives;
  CostCounts costs;
  CostLimit limit;

  static PartPlan read(const std::string& path);                            // Throws a Failure.
  static PartPlan parse(std::string_view text, const std::string& source);  // likewise
  std::string text() const;

  // The facts of more keys and negatives. Throws a Failure if the other plan was made with other options.
  void add(const PartPlan& other, const std::string& own_name, const std::string& other_name);
  // What differs, in words that continue "it was made with": "seed 3, not 2". Empty: nothing.
  std::string difference(const PartPlan& other, bool with_facts) const;

  Whole whole() const;
  std::vector<Param> all_params() const;
  // The filter; `auto` is chosen as naysay build chooses it. Throws a Failure if it cannot be built in parts.
  const FilterType& type() const;
};

// "xxh3 1a2b...": two hashers with the same text digest alike.
std::string hash_text(const Hasher& hasher);

}  // namespace naysay::cli
