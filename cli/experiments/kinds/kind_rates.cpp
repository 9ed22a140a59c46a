// SPDX-License-Identifier: Apache-2.0
// rates: how much of the negatives, of their cost and of strangers a filter accepts, and at how many bits.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "experiments/measurement.hpp"
#include "naysay/habf/habf_rates.hpp"
#include "naysay/workload/score.hpp"
#include "parts/describe.hpp"

namespace naysay::cli {

namespace {

double param_number(const AnyFilter& f, std::string_view name) {
  for (const Param& p : f.params())
    if (p.name == name) return std::strtod(p.value.c_str(), nullptr);
  return std::nan("");
}

// The fewest bits per key for what a filter was measured to do: n keys at the stranger rate, and m known negatives of
// which the share `known` is accepted: n log2(1/a) + m KL(known || a), a = min(fpr, n / (n + m)).
double limit_bits(double fpr, double known, double negatives_per_key) {
  if (!(fpr > 0)) return std::nan("");
  const double a = std::min(fpr, 1 / (1 + negatives_per_key));
  const double d = std::isnan(known) ? a : std::min(known, a);
  const auto part = [](double x, double y) { return x <= 0 ? 0.0 : x * std::log2(x / y); };
  return -std::log2(a) + negatives_per_key * (part(d, a) + part(1 - d, 1 - a));
}

// F_habf at most, from Eq. 2, 12 and 19. NaN for filters without a hash expressor.
double habf_bound(const Measurement& m, const AnyFilter& f) {
  const double ratio = param_number(f, "space_ratio"), cell_bits = param_number(f, "cell_bits");
  if (std::isnan(ratio) || std::isnan(cell_bits)) return std::nan("");
  const double bits = static_cast<double>(f.size_bits());
  habf::HabfShape s;
  s.keys = static_cast<double>(m.set.keys.size());
  s.negatives = static_cast<double>(m.set.negatives.size());
  s.bits = bits / (1 + ratio);
  s.cells = bits * ratio / (1 + ratio) / cell_bits;
  s.k = static_cast<unsigned>(param_number(f, "k"));
  s.family = static_cast<unsigned>(param_number(f, "family"));
  if (s.family == 0) s.family = (1u << static_cast<unsigned>(cell_bits - 1)) - 1;
  const double stored = habf::resolved(habf::collisions(s), habf::move_exists(s), s.cells, s.k);
  return habf::total(habf::bloom_bound(s), habf::chain_bound(stored, s.cells));
}

}  // namespace

Json measure_rates(const Measurement& m) {
  // Filters that read bytes learn from what negatives look like, not from what they cost.
  const bool aware = m.plan.type->claims.uses_negatives && !m.plan.type->claims.reads_bytes;
  const int shuffles = m.plan.skew == 0 || m.plan.skew == kRealCosts ? 1 : m.setup.shuffles;
  const bool inserted = m.job.series->inserted;
  Samples wfpr, known, build_ns;
  std::optional<AnyFilter> f;
  std::vector<std::uint8_t> accepted(m.set.negatives.size());
  std::uint64_t peak = 0;
  double fpr = std::nan("");
  Report report;
  for (int s = 0; s < shuffles; ++s) {
    const std::vector<float> costs = m.costs(s);
    if (!f || aware) {
      const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
      Report said;
      f.reset();
      Workload w = m.workload(given);
      if (inserted) w.keys = {}, w.key_bytes = {};
      Attempt built = attempt(m.plan.type->name, w, m.plan.params, m.options(inserted ? m.set.keys.size() : 0, &said));
      if (built.refused) return problem(*built.refused);
      f = std::move(built.filter);
      if (inserted)
        for (const Digest& d : m.set.keys)
          if (!f->insert(d)) return problem({Errc::out_of_budget, "it has no room for all keys"});
      Churn churn(m);
      for (int round = 0; round < m.setup.rounds; ++round) churn.round(*f);
      build_ns.add(built.ns / static_cast<double>(m.set.keys.size()));
      peak = built.peak_bytes;
      score_detail::for_each_answer(*f, m.set.negatives, m.bytes(m.set.negative_bytes),
                                    [&](std::size_t i, bool maybe) { accepted[i] = maybe; });
      if (s == 0) {
        m.need_all_keys(*f, m.setup.rounds > 0 ? churn.live() : m.set.keys);
        report = std::move(said);
        fpr = m.stranger_rate(*f);
      }
      known.add(static_cast<double>(std::accumulate(accepted.begin(), accepted.end(), std::uint64_t{0})) /
                static_cast<double>(std::max<std::size_t>(accepted.size(), 1)));
    }
    double cost = 0, all = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      cost += accepted[i] ? costs[i] : 0;
      all += costs[i];
    }
    wfpr.add(all > 0 ? cost / all : 0);
  }
  const double n = static_cast<double>(m.set.keys.size()), lambda = static_cast<double>(m.set.negatives.size()) / n;
  const double bits = bits_per_key(*f), limit = limit_bits(fpr, known.mean(), m.setup.given * lambda);
  Json v;
  v["wfpr"] = wfpr.json(true);
  v["wfpr_median"] = wfpr.median();
  v["worst_share"] = wfpr.worst_share();
  v["known_fpr"] = known.mean();
  v["fpr"] = fpr;
  v["bits_per_key"] = bits;
  v["bytes"] = size_bytes(*f);
  v["limit_bits"] = number_or_null(limit);
  v["limit_over"] = number_or_null(bits / limit);
  v["expected_fpr"] = f->expected_fpr();
  v["build_ns"] = build_ns.json();
  v["build_seconds"] = build_ns.median() * n / 1e9;
  v["peak_build_bytes"] = peak;
  v["held_bytes"] = m.held_bytes(peak);
  if (const double bound = habf_bound(m, *f); !std::isnan(bound)) v["bound"] = bound;
  for (const Report::Line& line : report.lines) v["report"][line.name] = line.value;
  return {{"values", std::move(v)}};
}

}  // namespace naysay::cli
