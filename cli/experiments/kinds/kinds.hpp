// SPDX-License-Identifier: Apache-2.0
// Kinds: how a measurement is made. A handful of ways, shared by all experiments.
//
//   rates   build at x; how much of the negatives, of their cost and of strangers is accepted, and at how many bits
//   times   build, query, insert and erase, compared with another filter in the same rounds; a random read is the floor
//   churn   keys are erased and inserted, round after round; the weighted rate after each
//   shift   the traffic moves away from the negatives that a filter was given; each share of it is queried
//   disk    negatives are queried as often as they cost, and every "maybe" reads a block from a file
//   life    as disk, from the build on, and errors are reported to filters that adapt
//   trace   an empty filter lives through a made-up trace of insertions and deletions; the rates over its time
//   absorb  negatives that are accepted are reported until the filter is full; how many of them it then refuses
//   pages   queries of one filter in huge pages and in ordinary ones, in turn
//   slots   the functions that a variable hash filter finds for slots of x keys
//   strangers   a fifth of the negatives is held back; how much of these, and of strangers of other kinds, is accepted
//
// A false negative anywhere fails the run.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiments/experiment.hpp"
#include "experiments/sources.hpp"
#include "naysay/any_filter.hpp"

namespace naysay::cli {

// One measurement to be made.
struct Job {
  const Experiment* experiment = nullptr;
  const Panel* panel = nullptr;
  const Series* series = nullptr;
  std::optional<double> x = {};  // none: a whole curve, or a panel without x
};

// A job with every number worked out.
struct JobPlan {
  const FilterType* type = nullptr;
  std::vector<Param> params = {};
  SourceWish wish = {};
  double skew = 0;
  double present_share = 0;
  double swapped_share = 0;
  unsigned threads = 1;
  std::uint64_t seed = 1;
  Size size = Size::quick;
};

// All jobs of an experiment whose filters are in this build; the names of those that are not go to `missing`.
std::vector<Job> jobs_of(const Experiment& e, Size size, std::vector<std::string>& missing);
JobPlan plan(const Job& job, Size size, std::uint64_t seed);

// About how much work it is, in keys built: only to estimate how long the rest will run.
double weight(const Job& job, Size size);

// {"values": {...}}, {"curve": [{"x": ..., ...}, ...]}, or {"problem": "..."} if the filter refuses the budget.
nlohmann::ordered_json measure(const Job& job, const JobPlan& plan, Sources& sources, const Progress& progress);

}  // namespace naysay::cli
