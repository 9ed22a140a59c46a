// SPDX-License-Identifier: Apache-2.0
#include "experiments/measurement.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "naysay/workload/score.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

std::vector<std::uint32_t> by_cost(std::span<const float> costs) {
  std::vector<std::uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return costs[a] > costs[b]; });
  return order;
}

}  // namespace

GivenNegatives given_negatives(const ExperimentKeys& set, std::span<const float> costs, double part) {
  GivenNegatives given;
  if (part >= 1) {
    given.digests.assign(set.negatives.begin(), set.negatives.end());
    given.costs.assign(costs.begin(), costs.end());
    given.bytes.assign(set.negative_bytes.begin(), set.negative_bytes.end());
    return given;
  }
  const auto order = by_cost(costs);
  const auto count = static_cast<std::size_t>(part * static_cast<double>(order.size()));
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    given.digests.push_back(set.negatives[order[i]]);
    given.costs.push_back(costs[order[i]]);
    if (!set.negative_bytes.empty()) given.bytes.push_back(set.negative_bytes[order[i]]);
    sum += costs[order[i]];
  }
  given.share = sum / std::accumulate(costs.begin(), costs.end(), 0.0);
  return given;
}

AttachedKeys::AttachedKeys(AnyFilter& f, std::span<const Digest> keys) {
  if (!f.type().write_key_file) return;
  const std::string pattern = (std::filesystem::temp_directory_path() / "naysay-keys-XXXXXX").string();
  std::string folder = pattern;
  if (!::mkdtemp(folder.data())) throw Failure{fmt::format("{}: cannot make a folder for the keys", pattern)};
  folder_ = folder;
  const std::string path = folder_ + "/keys";
  auto done = f.write_key_file(path, keys);
  if (done) done = f.attach_key_file(path);
  std::error_code ignored;
  if (!done) std::filesystem::remove_all(folder_, ignored);
  need(std::move(done));
}

AttachedKeys::~AttachedKeys() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Measurement::Measurement(const Job& j, const JobPlan& p, Sources& s, const Progress& progress)
    : job(j),
      plan(p),
      setup(j.panel->setup),
      sources(s),
      set(s.get(p.wish, progress)),
      hasher(s.hasher(p.wish.siphash)) {}

bool Measurement::wants(std::string_view metric) const {
  for (const Panel& p : job.experiment->panels)
    if (&measured_panel(*job.experiment, p) == job.panel)
      for (const Metric& y : p.ys)
        if (y.name == metric) return true;
  return false;
}

std::vector<float> Measurement::costs(int shuffle) const {
  return sources.costs(plan.skew, plan.seed + static_cast<std::uint64_t>(shuffle));
}

Workload Measurement::workload(const GivenNegatives& given) const {
  Workload w{.keys = set.keys, .negatives = given.digests, .costs = given.costs};
  w.key_bytes = bytes(set.key_bytes);
  w.negative_bytes = bytes(given.bytes);
  w.stranger_share = std::max(w.stranger_share, 1 - given.share);
  return w;
}

BuildOptions Measurement::options(std::uint64_t capacity, Report* report) const {
  return {.capacity = capacity, .seed = plan.seed, .threads = plan.threads, .hasher = hasher, .report = report};
}

Result<AnyFilter> Measurement::build(const Workload& w, std::uint64_t capacity) const {
  return AnyFilter::build(plan.type->name, w, std::span<const Param>(plan.params), options(capacity));
}

void Measurement::need_all_keys(const AnyFilter& f, std::span<const Digest> keys) const {
  const bool all = keys.data() == set.keys.data() && keys.size() == set.key_bytes.size();
  const auto texts = all ? bytes(set.key_bytes) : std::span<const std::string_view>();
  if (const std::uint64_t denied = keys.size() - count_maybe(f, keys, texts); denied > 0)
    throw Failure{fmt::format("{} denies {} of {} keys in {}; no filter may deny any", plan.type->name, denied,
                              keys.size(), job.experiment->name)};
}

double Measurement::stranger_rate(const AnyFilter& f) const {
  return static_cast<double>(count_maybe(f, set.strangers, bytes(set.stranger_bytes))) /
         static_cast<double>(set.strangers.size());
}

double Measurement::weighted_rate(const AnyFilter& f, std::span<const float> cost_of) const {
  double cost = 0, all = 0;
  score_detail::for_each_answer(f, set.negatives, bytes(set.negative_bytes), [&](std::size_t i, bool maybe) {
    cost += maybe ? cost_of[i] : 0;
    all += cost_of[i];
  });
  return all > 0 ? cost / all : 0;
}

double Measurement::held_bytes(std::uint64_t peak) const {
  std::uint64_t input = 16 * set.keys.size() + 20 * set.negatives.size();
  for (const auto& texts : {bytes(set.key_bytes), bytes(set.negative_bytes)})
    for (const std::string_view text : texts) input += sizeof text + text.size();
  return static_cast<double>(peak + input) / static_cast<double>(set.keys.size());
}

}  // namespace naysay::cli
