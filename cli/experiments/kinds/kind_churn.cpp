// SPDX-License-Identifier: Apache-2.0
// churn and shift: how long what a filter has learned stays true, during insertions and deletions and while traffic moves away.
#include <fmt/core.h>

#include "experiments/measurement.hpp"
#include "naysay/workload/random.hpp"
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
  std::vector<Digest> live(m.set.keys.begin(), m.set.keys.end());
  std::size_t next = 0;
  Random random(m.plan.seed);
  const auto moved = static_cast<std::size_t>(m.setup.churn * static_cast<double>(live.size()));
  for (std::size_t round = 1; round <= rounds; ++round) {
    if (m.job.series->reported_again)
      for (std::size_t i = 0; i < given.digests.size(); ++i)
        if (f->may_contain(given.digests[i])) f->adapt(given.digests[i], given.costs[i]);
    for (std::size_t i = 0; i < moved; ++i) {
      Digest& d = live[random.below(live.size())];
      if (!f->erase(d))
        throw Failure{fmt::format("{} does not erase a key in {}", m.plan.type->name, m.job.experiment->name)};
      d = m.set.newcomers[next++ % m.set.newcomers.size()];
      if (next > m.set.newcomers.size()) d = digest(next, ~m.plan.seed);  // keys never come twice
      if (!f->insert(d))
        throw Failure{fmt::format("{} has no room for a key in {}", m.plan.type->name, m.job.experiment->name)};
    }
    after[round].add(m.weighted_rate(*f, costs));
  }
  m.need_all_keys(*f, live);
  values = {{"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}};
  return {};
}

}  // namespace

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
