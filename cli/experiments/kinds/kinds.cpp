// SPDX-License-Identifier: Apache-2.0
#include "experiments/kinds/kinds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "experiments/measurement.hpp"

namespace naysay::cli {

namespace {

// Strangers: enough to see one false positive in a million where there are as many keys.
constexpr std::uint64_t kLeastStrangers = 200'000, kMostStrangers = 2'000'000;

bool makes_curves(Kind kind) {
  return kind == Kind::churn || kind == Kind::shift || kind == Kind::life || kind == Kind::trace;
}

}  // namespace

std::vector<Job> jobs_of(const Experiment& e, Size size, std::vector<std::string>& missing) {
  std::vector<Job> jobs;
  for (const Panel& p : e.panels) {
    if (*p.from) continue;
    const auto xs = x_values(p.x, size);
    const bool whole = makes_curves(p.kind) || xs.empty();
    for (std::size_t i = 0; i < (whole ? 1 : xs.size()); ++i)
      for (const Series& s : p.series) {
        if (!find_filter(s.filter)) {
          if (std::find(missing.begin(), missing.end(), s.filter) == missing.end()) missing.push_back(s.filter);
          continue;
        }
        jobs.push_back({&e, &p, &s, whole ? std::nullopt : std::optional(xs[i])});
      }
  }
  return jobs;
}

JobPlan plan(const Job& job, Size size, std::uint64_t seed) {
  const Setup& s = job.panel->setup;
  const bool tiny = size == Size::tiny;
  const double scale = size == Size::paper ? 1 : s.quick_scale;
  const double x = job.x.value_or(0);
  const auto set = [&](Sets what) { return job.x && job.panel->x.sets == what; };
  JobPlan p;
  p.type = find_filter(job.series->filter);
  p.seed = seed;
  p.size = size;
  p.skew = set(Sets::skew) ? x : s.skew;
  p.present_share = set(Sets::present_share) ? x : 0;
  p.swapped_share = set(Sets::swapped_share) ? x : 0;
  p.threads = set(Sets::threads) ? static_cast<unsigned>(x) : 1;
  p.wish.data = s.data;
  p.wish.siphash = job.series->siphash;
  for (const Series& other : job.panel->series)  // a panel shares one set
    if (const FilterType* type = find_filter(other.filter)) p.wish.texts |= type->claims.reads_bytes || other.texts;
  const double all = set(Sets::keys) ? x : s.keys * scale, keys = tiny ? std::min(all, kTinyKeys) : all;
  const double negatives = (set(Sets::negatives_per_key) ? x : s.negatives / s.keys) * keys;
  p.wish.keys = static_cast<std::uint64_t>(keys);
  p.wish.negatives = static_cast<std::uint64_t>(tiny ? std::min(negatives, kTinyNegatives) : negatives);
  p.wish.strangers = tiny ? 2 * p.wish.keys : std::clamp(p.wish.keys, kLeastStrangers, kMostStrangers);
  if (job.panel->kind == Kind::churn || s.rounds > 0) p.wish.newcomers = p.wish.keys;
  const auto put = [&](const Param& param) {
    for (Param& old : p.params)
      if (old.name == param.name) return void(old = param);
    p.params.push_back(param);
  };
  for (const Param& param : job.series->params) {
    if (param.name == "for_fpr") {
      const double rate = std::strtod(param.value.c_str(), nullptr);
      if (p.type && p.type->tunable)
        for (const Param& own : p.type->params_for(rate)) put(own);
    } else if (param.value.ends_with(" %")) {
      const double part = std::strtod(param.value.c_str(), nullptr) / 100;
      put({param.name, std::to_string(static_cast<std::uint64_t>(part * static_cast<double>(p.wish.negatives)))});
    } else {
      put(param);
    }
  }
  if (set(Sets::mebibytes)) put({"bits_per_key", to_text(8.0 * 1048576 * x / s.keys)});
  if (set(Sets::bits_per_key)) put({"bits_per_key", to_text(x)});
  if (set(Sets::param))
    for (std::string_view names = job.panel->x.param; !names.empty();) {  // "a+b" sets both
      const auto end = std::min(names.find('+'), names.size());
      put({std::string(names.substr(0, end)), to_text(x)});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  for (Param& k : p.params)
    if (k.name == "k" && k.value == "ceil")
      for (const Param& bits : p.params)
        if (bits.name == "bits_per_key")
          k.value = to_text(std::ceil(std::numbers::ln2 * std::strtod(bits.value.c_str(), nullptr) / 4));
  return p;
}

double weight(const Job& job, Size size) {
  const JobPlan p = plan(job, size, 1);
  const bool aware = p.type->claims.uses_negatives;
  const double builds = job.panel->kind == Kind::rates && aware && p.skew > 0 ? job.panel->setup.shuffles
                        : job.panel->kind == Kind::times                      ? 2 * kRounds
                                                                              : 1;
  return static_cast<double>(p.wish.keys) * builds + 1e5;
}

nlohmann::ordered_json measure(const Job& job, const JobPlan& plan, Sources& sources, const Progress& progress) {
  const Measurement m(job, plan, sources, progress);
  switch (job.panel->kind) {
    case Kind::rates:
      return measure_rates(m);
    case Kind::times:
      return measure_times(m);
    case Kind::churn:
      return measure_churn(m);
    case Kind::shift:
      return measure_shift(m);
    case Kind::disk:
      return measure_disk(m);
    case Kind::life:
      return measure_life(m);
    case Kind::strangers:
      return measure_strangers(m);
    case Kind::trace:
      return measure_trace(m);
    case Kind::absorb:
      return measure_absorb(m);
    case Kind::pages:
      return measure_pages(m);
    case Kind::slots:
      return measure_slots(m);
  }
  return {};
}

}  // namespace naysay::cli
