// SPDX-License-Identifier: Apache-2.0
// churn and shift: how long what a filter has learned stays true, during insertions and deletions and while traffic moves away.
#include <fmt/core.h>

#include <cmath>

#include "experiments/measurement.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

// The rates after a round: the weighted one of each shuffle, and that of strangers with the first.
struct AfterRound {
  Samples wfpr = {};
  double fpr = std::nan("");
  std::size_t keys = 0;
};

// Adds the rates after every round to `after`. Empty, or why it cannot be.
Json churn_once(const Measurement& m, const std::vector<float>& costs, std::vector<AfterRound>& after, Json& values) {
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
  const auto measured = [&](AfterRound& round, std::size_t keys) {
    round.wfpr.add(m.weighted_rate(*f, costs));
    if (round.wfpr.values.size() == 1) round.fpr = m.stranger_rate(*f);
    round.keys = keys;
  };
  if (later && !m.job.series->reported_again)
    for (std::size_t i = 0; i < given.digests.size(); ++i) f->adapt(given.digests[i], given.costs[i]);
  Churn churn(m);
  measured(after[0], churn.live().size());
  for (std::size_t round = 1; round <= rounds; ++round) {
    if (m.job.series->reported_again)
      for (std::size_t i = 0; i < given.digests.size(); ++i)
        if (f->may_contain(given.digests[i])) f->adapt(given.digests[i], given.costs[i]);
    churn.round(*f);
    measured(after[round], churn.live().size());
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
    owed_ += m_.setup.insertions;
    if (owed_ < 1) {
      d = live_.back();
      live_.pop_back();
      continue;
    }
    owed_ -= 1;
    d = newcomers[next_++ % newcomers.size()];
    if (next_ > newcomers.size()) d = digest(next_, ~m_.plan.seed);  // keys never come twice
    if (!f.insert(d))
      throw Failure{fmt::format("{} has no room for a key in {}", m_.plan.type->name, m_.job.experiment->name)};
  }
}

Json measure_churn(const Measurement& m) {
  std::vector<AfterRound> after;
  Json values;
  for (int s = 0; s < m.setup.shuffles; ++s)
    if (Json refused = churn_once(m, m.costs(s), after, values); !refused.empty()) return refused;
  Json curve = Json::array();
  for (std::size_t round = 0; round < after.size(); ++round)
    curve.push_back(
        {{"x", round}, {"wfpr", after[round].wfpr.json(true)}, {"fpr", after[round].fpr}, {"keys", after[round].keys}});
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
  // Each share is queried: a known negative as often as it costs, and strangers in turn.
  const std::size_t count = m.plan.size == Size::tiny ? 10'000 : 1'000'000;
  Traffic traffic(m.set, costs, m.plan.seed);
  Random random(m.plan.seed);
  Json curve = Json::array();
  for (const double part : x_values(m.job.panel->x, m.plan.size)) {
    std::uint64_t accepted = 0, to_known = 0, stranger = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_known = static_cast<double>(random() >> 11) * 0x1p-53 < part;
      to_known += is_known;
      accepted += f->may_contain(is_known ? traffic.digest(traffic.next())
                                          : m.set.strangers[stranger++ % m.set.strangers.size()]);
    }
    curve.push_back({{"x", part},
                     {"wfpr", static_cast<double>(accepted) / static_cast<double>(count)},
                     {"to_known", static_cast<double>(to_known) / static_cast<double>(count)}});
  }
  return {{"curve", std::move(curve)},
          {"values", {{"wfpr", known}, {"fpr", fpr}, {"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}}}};
}

}  // namespace naysay::cli
