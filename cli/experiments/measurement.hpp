// SPDX-License-Identifier: Apache-2.0
// Measurement: what all kinds of measurement share: the keys, the negatives that a filter is given, and how it is built and checked.
// A kind is a function of a Measurement; kinds.hpp says what each does, kind_*.cpp holds them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "experiments/kinds/kinds.hpp"
#include "naysay/workload/random.hpp"
#include "parts/timing.hpp"

namespace naysay::cli {

using Json = nlohmann::ordered_json;

// The negatives that the filter is given, the costliest first if it is not all of them.
struct GivenNegatives {
  std::vector<Digest> digests;
  std::vector<float> costs;
  std::vector<std::string_view> bytes = {};  // if the set has them
  double share = 1;                          // of the cost
};

GivenNegatives given_negatives(const ExperimentKeys& set, std::span<const float> costs, double part);

// What a kind returns when a filter refuses its budget.
inline Json problem(const Error& e) { return {{"problem", e.message}}; }

struct Measurement {
  Measurement(const Job& job, const JobPlan& plan, Sources& sources, const Progress& progress);

  // Whether a panel shows this.
  bool wants(std::string_view metric) const;
  std::vector<float> costs(int shuffle = 0) const;
  Workload workload(const GivenNegatives& given) const;
  BuildOptions options(std::uint64_t capacity = 0, Report* report = nullptr) const;
  Result<AnyFilter> build(const Workload& w, std::uint64_t capacity = 0) const;
  // The strings of a part of the set, if the filter reads them; else none.
  std::span<const std::string_view> bytes(std::span<const std::string_view> of) const {
    return plan.type->claims.reads_bytes || job.series->texts ? of : std::span<const std::string_view>();
  }
  // Throws a Failure unless all of these are accepted.
  void need_all_keys(const AnyFilter& f, std::span<const Digest> keys) const;
  double stranger_rate(const AnyFilter& f) const;
  // The part of the cost of all negatives that is accepted.
  double weighted_rate(const AnyFilter& f, std::span<const float> costs) const;
  // For each key while building, with the digests (16 bytes) and costs (4) that the tool itself holds.
  double held_bytes(std::uint64_t peak) const;

  const Job& job;
  const JobPlan& plan;
  const Setup& setup;
  Sources& sources;
  const ExperimentKeys& set;
  Hasher hasher;
};

// Keys that are replaced by others, round after round: the same keys for every filter of a seed.
class Churn {
 public:
  explicit Churn(const Measurement& m) : m_(m), random_(m.plan.seed), live_(m.set.keys.begin(), m.set.keys.end()) {}
  // Replaces Setup::churn of the keys. Throws a Failure if the filter erases or inserts less than that.
  void round(AnyFilter& f);
  std::span<const Digest> live() const noexcept { return live_; }

 private:
  const Measurement& m_;
  Random random_;
  std::vector<Digest> live_;
  std::size_t next_ = 0;
};

Json measure_rates(const Measurement& m);
Json measure_times(const Measurement& m);
Json measure_churn(const Measurement& m);
Json measure_shift(const Measurement& m);
Json measure_disk(const Measurement& m);
Json measure_life(const Measurement& m);
Json measure_strangers(const Measurement& m);
Json measure_trace(const Measurement& m);

}  // namespace naysay::cli
