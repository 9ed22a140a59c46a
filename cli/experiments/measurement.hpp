// SPDX-License-Identifier: Apache-2.0
// Measurement: what all kinds of measurement share: the keys, the negatives that a filter is given, and how it is built and checked.
// A kind is a function of a Measurement; kinds.hpp says what each does, kind_*.cpp holds them.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
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

// Negatives as traffic: each is queried as often as it costs.
class Traffic {
 public:
  Traffic(const ExperimentKeys& set, std::span<const float> costs, std::uint64_t seed) : set_(set), random_(seed) {
    double sum = 0;
    for (const float c : costs) sums_.push_back(sum += c);
  }
  std::size_t next() {
    const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * sums_.back();
    return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end() - 1, at) - sums_.begin());
  }
  Digest digest(std::size_t i) const { return set_.negatives[i]; }

 private:
  const ExperimentKeys& set_;
  Random random_;
  std::vector<double> sums_;
};

// Gives a filter that adapts with a file of its keys that file, for as long as this lives; does nothing for others.
class AttachedKeys {
 public:
  AttachedKeys(AnyFilter& f, std::span<const Digest> keys);
  AttachedKeys(const AttachedKeys&) = delete;
  AttachedKeys& operator=(const AttachedKeys&) = delete;
  ~AttachedKeys();

 private:
  std::string folder_;  // empty: there is none
};

// Keys that are replaced by others, round after round: the same keys for every filter of a seed.
class Churn {
 public:
  explicit Churn(const Measurement& m) : m_(m), random_(m.plan.seed), live_(m.set.keys.begin(), m.set.keys.end()) {}
  // Erases Setup::churn of the keys and inserts Setup::insertions as many others. Throws a Failure if the filter erases or inserts less than that.
  void round(AnyFilter& f);
  std::span<const Digest> live() const noexcept { return live_; }

 private:
  const Measurement& m_;
  Random random_;
  std::vector<Digest> live_;
  std::size_t next_ = 0;
  double owed_ = 0;  // insertions, when there are fewer than erasures
};

Json measure_rates(const Measurement& m);
Json measure_times(const Measurement& m);
Json measure_churn(const Measurement& m);
Json measure_shift(const Measurement& m);
Json measure_disk(const Measurement& m);
Json measure_life(const Measurement& m);
Json measure_strangers(const Measurement& m);
Json measure_trace(const Measurement& m);
Json measure_absorb(const Measurement& m);
Json measure_pages(const Measurement& m);
Json measure_slots(const Measurement& m);

}  // namespace naysay::cli
