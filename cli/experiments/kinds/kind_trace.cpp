// SPDX-License-Identifier: Apache-2.0
// trace: a filter that begins empty and lives through a made-up trace of insertions and deletions (parts/made_trace.hpp).
#include <fmt/core.h>

#include "experiments/measurement.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/made_trace.hpp"
#include "parts/trace.hpp"

namespace naysay::cli {

// The filter has room for the most keys that live at a time. One that grows begins with a sixteenth of that. Known
// negatives are given to the build, and again to filters that adapt; whatever such a filter accepts at a measurement is
// reported to it afterwards, if the series says so.
Json measure_trace(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
  const MadeTrace trace = made_trace(m.set.keys.size(), m.plan.seed);
  bool grows = false;
  for (const Param& p : m.plan.type->defaults()) grows |= p.name == "growth";
  Workload w{.negatives = given.digests, .costs = given.costs};
  w.stranger_share = std::max(w.stranger_share, 1 - given.share);
  auto f = m.build(w, grows ? trace.most / 16 + 1 : trace.most);
  if (!f) return problem(f.error());
  if (m.plan.type->adaptive && m.plan.type->claims.adapts_with_churn)
    for (std::size_t i = 0; i < given.digests.size(); ++i) f->adapt(given.digests[i], given.costs[i]);
  const LiveNegatives negatives(m.set.negatives, costs);
  const std::vector<double> times = x_values(m.job.panel->x, m.plan.size);
  Json curve = Json::array();
  double sum = 0, strangers = 0;
  std::size_t next = 0, most_bytes = 0;
  const auto measured_until = [&](double time) {
    for (; next < times.size() && times[next] <= time; ++next) {
      const double wfpr = negatives.measure(*f, m.job.series->reported_again).share();
      const double fpr = m.stranger_rate(*f);
      curve.push_back({{"x", times[next]}, {"wfpr", wfpr}, {"fpr", fpr}, {"keys", f->keys()}});
      sum += wfpr, strangers += fpr;
      most_bytes = std::max<std::size_t>(most_bytes, size_bytes(*f));
    }
  };
  std::vector<std::uint8_t> live(m.set.keys.size(), 0);
  for (const MadeTrace::Step& s : trace.steps) {
    measured_until(s.time);
    const Digest d = m.set.keys[s.key];
    if (s.insert ? !f->insert(d) : !f->erase(d))
      throw Failure{fmt::format("{} {} a key in {}", m.plan.type->name, s.insert ? "has no room for" : "does not erase",
                                m.job.experiment->name)};
    live[s.key] = s.insert;
  }
  measured_until(1);
  std::vector<Digest> left;
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i] != 0) left.push_back(m.set.keys[i]);
  m.need_all_keys(*f, left);
  const auto n = static_cast<double>(std::max<std::size_t>(curve.size(), 1));
  return {{"curve", std::move(curve)},
          {"values",
           {{"mean_wfpr", sum / n},
            {"mean_fpr", strangers / n},
            {"inserts", trace.inserts},
            {"erasures", trace.erasures},
            {"most_keys", trace.most},
            {"bytes", most_bytes},
            {"bits_per_key", 8.0 * static_cast<double>(most_bytes) / static_cast<double>(trace.most)}}}};
}

}  // namespace naysay::cli
