// SPDX-License-Identifier: Apache-2.0
// Measure: one filter on one trial gives one row. compare and demo print the same rows.
//
//   column             meaning
//   filter             its name
//   bits_per_key       of the whole queryable structure
//   expected_fpr       what the filter says of itself: the share of strangers that it should accept
//   fpr                share of the strangers that it accepts, measured
//   other_fpr          share of strangers of another kind, random strings: filters that read bytes may accept more of
//                      these than of strangers like the negatives
//   known_fpr          share of the known negatives that it accepts
//   wfpr               share of their cost
//   *_low, *_high      95 % confidence intervals, in JSON and CSV
//   false_negatives    keys that it denies; must be 0
//   build_ns           nanoseconds per key, median of five builds
//   query_ns, batch_ns nanoseconds per query, one by one and in batches, median of five passes over a shuffled mix of
//                      equally many keys, known negatives and strangers; through AnyFilter, as a user calls it
//   bytes              of what a query needs
//   peak_build_bytes   the most memory the build held, its result included, the digests of keys and negatives
//                      not: see heap.hpp
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/workload/score.hpp"
#include "naysay/workload/trial.hpp"
#include "parts/estimate.hpp"

namespace naysay::cli {

// What a filter accepts, and how sure that is.
struct Judged {
  double expected_fpr = std::numeric_limits<double>::quiet_NaN();  // by its own account
  Estimate fpr = {}, known_fpr = {};                               // as measured
  // What advice rests on. The rate of strangers that the filter expects, unless it surely accepts more, or reads their
  // bytes and surely accepts less. For known negatives that it does not use, the same. For those that it uses, what was
  // measured.
  Estimate strangers = {}, known_cost = {};

  // The share of the cost of all negative queries that is accepted, on the mix of known negatives and strangers that
  // the user expects.
  Estimate cost(double stranger_share) const;
};
Judged judge(const FilterType& filter, const Score& score, double expected_fpr, const Trial& trial);

// A filter after its set has changed.
struct Changed {
  std::string problem = {};  // it has no room for all keys; then the rest is meaningless
  Score score = {};
  Judged judged = {};
};

struct FilterRow {
  const FilterType* filter = nullptr;
  std::string problem = {};  // why there are no numbers; then the rest is meaningless
  double bits_per_key = 0;
  Score score = {};
  Judged judged = {};
  std::optional<Changed> grown = {};     // a tenth of the keys came by insert, in a filter with room for all
  std::optional<Changed> replaced = {};  // built from nine tenths; a tenth of the keys was erased, and another inserted
  double build_ns = 0, query_ns = 0, batch_ns = 0;
  std::uint64_t bytes = 0, peak_build_bytes = 0;
  int builds = 0;  // that build_ns is the median of
};

class Bench {
 public:
  // `build_seconds`: a filter whose builds need longer than that is built fewer than five times, but at least once.
  // Builds use `threads`. What is not timed, the scoring, may use others.
  Bench(const Trial& trial, double stranger_share, std::uint64_t seed, unsigned threads, double build_seconds,
        unsigned scoring_threads = 1);

  // With what becomes of it when keys are inserted and erased, if they can be.
  FilterRow measure(const FilterType& filter, const std::vector<Param>& params) const;
  // One build, and no times.
  FilterRow rates(const FilterType& filter, const std::vector<Param>& params) const;

 private:
  FilterRow row_of(const FilterType& filter, const AnyFilter& built) const;
  enum class Change { insert, replace };
  Changed changed(const FilterType& filter, const std::vector<Param>& params, Change how) const;

  const Trial& trial_;
  Workload workload_;
  BuildOptions options_;
  double build_seconds_;
  unsigned scoring_threads_;
  std::vector<Digest> mix_;
  std::vector<std::string_view> mix_bytes_;    // if the trial has strings
  mutable std::vector<Digest> shuffled_keys_;  // each once; filled when a set first changes
};

// Of Judged::cost, the value.
double expected_cost(const FilterRow& row, double stranger_share);

// The row with the least cost. Where a sample cannot tell rows apart, the one of them that accepts the fewest strangers.
// None if nothing could be built.
const FilterRow* best_row(const std::vector<FilterRow>& rows, double stranger_share);

// What the rows say, as two sentences: which filter to use and why, and what else to consider. Empty if no filter
// could be built.
std::string advise(const std::vector<FilterRow>& rows, double stranger_share);

std::string table_text(const std::vector<FilterRow>& rows);
std::string csv_text(const std::vector<FilterRow>& rows);
nlohmann::ordered_json to_json(const FilterRow& row);

// Throws a Failure that names the first filter that denied a key.
void refuse_false_negatives(const std::vector<FilterRow>& rows);

}  // namespace naysay::cli
