// SPDX-License-Identifier: Apache-2.0
// Workload and BuildOptions: what a filter is built from, and how.
//
//   Workload       the keys, the known negatives and what each of them costs
//   BuildOptions   room for later keys, seed, threads, how keys are digested, progress and report
//
// A Workload is a view: a build reads it and keeps nothing of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/hash.hpp"
#include "naysay/core/progress.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

// What a build reports about itself, in its own words and order: "shards retried", "known negatives refused", ...
// The tool prints it, the library never does.
struct Report {
  struct Line {
    std::string name;
    double value;
  };
  std::vector<Line> lines;
  void add(std::string_view name, double value) { lines.push_back({std::string(name), value}); }
};

struct NegativeSource;  // core/negatives.hpp

struct Workload {
  std::span<const Digest> keys = {};       // in any order; a key may come more than once
  std::span<const Digest> negatives = {};  // known negatives; one that is also a key is treated as a key
  std::span<const float> costs = {};       // of the negatives, finite and >= 0; empty: each costs 1

  // Known negatives that are too many to hold, for filters that claim streams_negatives; then negatives is empty.
  const NegativeSource* source = nullptr;

  // The bytes of the keys and of the negatives, parallel to them; filled only for filters that claim reads_bytes.
  std::span<const std::string_view> key_bytes = {};
  std::span<const std::string_view> negative_bytes = {};

  double stranger_share = 0.01;  // the share of the negative queries that will be about strangers

  float cost(std::uint64_t i) const noexcept { return costs.empty() ? 1.0f : costs[i]; }
};

struct BuildOptions {
  std::uint64_t capacity = 0;  // a dynamic filter has room for max(capacity, number of keys)
  std::uint64_t seed = 0;      // same workload, parameters and seed: same bytes
  unsigned threads = 1;        // any number gives the same bytes
  Hasher hasher = {};          // how keys are digested; the digests of a Workload must have been made by it
  Progress progress = {};      // may be empty; may cancel the build
  Report* report = nullptr;    // may be null

  // The number of keys to have room for.
  std::uint64_t room(const Workload& w) const noexcept { return std::max<std::uint64_t>(capacity, w.keys.size()); }
  // False: the build is cancelled, and should end soon; go_on() then is the error that it returns.
  bool tell(std::string_view stage, std::uint64_t done, std::uint64_t total) const {
    return progress(stage, done, total);
  }
  bool cancelled() const noexcept { return progress.cancelled(); }
  Result<Ok> go_on(std::string_view who) const {
    if (cancelled()) return cancelled_error(who);
    return Ok{};
  }
  void say(std::string_view name, double value) const {
    if (report) report->add(name, value);
  }
};

}  // namespace naysay
