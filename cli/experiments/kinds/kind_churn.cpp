// SPDX-License-Identifier: Apache-2.0
// churn and shift: how long what a filter has learned stays true, during insertions and deletions and while traffic moves away.
#include <fmt/core.h>

#include "experiments/measurement.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

// Adds the weighted rate after every round to `after`. Empty, or why it cannot be.
Json churn_once(const Measurement& m, const std::vector<float>& costs, std::vector<Samples>& after, Json& values) {
  const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
  Workload w{.keys = m.set.keys};
  // Adaptive filters are given the negatives after the build; the others need them in the build.
  const bool later = m.plan.type->adaptive;
  if (!later) {
    w.negatives = given.digests;
    w.costs = given.costs;
  }
  auto f = m.build(w, m.set.keys.size());
  if (!f) return problem(f.error());
  const auto rounds = static_cast<std::size_t>(x_values(m.job.panel->x, m.plan.size).back());
  after.resize(rounds + 1);
  if (later && !m.job.series->reported_again)
    for (std::size_t i = 0; i < given.digests.size(); ++i) f->adapt(given.digests[i], given.costs[i]);
  after[0].add(m.weighted_rate(*f, costs));
  Churn churn(m);
  for (std::size_t round = 1; round <= rounds; ++round) {
    if (m.job.series->reported_again)
      for (std::size_t i = 0; i < given.digests.size(); ++i)
        if (f->may_contain(given.digests[i])) f->adapt(given.digests[i], given.costs[i]);
    churn.round(*f);
    after[round].add(m.weighted_rate(*f, costs));
  }
  m.need_all_keys(*f, churn.live());
  values = {{"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}};
  return {};
}

}  // namespace

void Churn::round(AnyFilter& f) {
  const auto moved = static_cast<std::size_t>(m_.setup.churn * static_cast<double>(live_.size()));
  const std::span<const Digest> newcomers = m_.set.newcomers;
  for (std::size_t i = 0; i < moved; ++i) {
    Digest& d = live_[random_.below(live_.size())];
    if (!f.erase(d))
      throw Failure{fmt::format("{} does not erase a key in {}", m_.plan.type->name, m_.job.experiment->name)};
    d = newcomers[next_++ % newcomers.size()];
    if (next_ > newcomers.size()) d = digest(next_, ~m_.plan.seed);  // keys never come twice
    if (!f.insert(d))
      throw Failure{fmt::format("{} has no room for a key in {}", m_.plan.type->name, m_.job.experiment->name)};
  }
}

Json measure_churn(const Measurement& m) {
  std::vector<Samples> after;
  Json values;
  for (int s = 0; s < m.setup.shuffles; ++s)
    if (Json refused = churn_once(m, m.costs(s), after, values); !refused.empty()) return refused;
  Json curve = Json::array();
  for (std::size_t round = 0; round < after.size(); ++round)
    curve.push_back({{"x", round}, {"wfpr", after[round].json(true)}});
  return {{"curve", std::move(curve)}, {"values", std::move(values)}};
}

Json measure_shift(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
  auto f = m.build(m.workload(given));
  if (!f) return problem(f.error());
  m.need_all_keys(*f, m.set.keys);
  const double known = m.weighted_rate(*f, costs);
  const double fpr = m.stranger_rate(*f);
  Json curve = Json::array();
  for (const double part : x_values(m.job.panel->x, m.plan.size))
    curve.push_back({{"x", part}, {"wfpr", part * known + (1 - part) * fpr}});
  return {{"curve", std::move(curve)},
          {"values", {{"wfpr", known}, {"fpr", fpr}, {"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}}}};
}

}  // namespace naysay::cli
