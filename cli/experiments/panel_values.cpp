// SPDX-License-Identifier: Apache-2.0
#include "experiments/panel_values.hpp"

#include <algorithm>
#include <optional>

#include "experiments/kinds/kinds.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kNoX = 0;  // the key of lines without x

// A number, or {"mean" or "median", "low", "high"}; "report.NAME" is what a build said of itself, "NAME.median" the
// median where there is a mean.
Value value_of(const Json& values, std::string_view name) {
  const Json* at = &values;
  if (name.starts_with("report.")) {
    if (!values.contains("report")) return {};
    at = &values["report"];
    name.remove_prefix(7);
  }
  constexpr std::string_view kMedian = ".median";
  const bool median = name.ends_with(kMedian);
  if (median) name.remove_suffix(kMedian.size());
  const auto found = at->find(std::string(name));
  if (found == at->end()) return {};
  if (found->is_number()) return {found->get<double>()};
  if (!found->is_object()) return {};
  const auto number = [&](const char* field) {
    const auto part = found->find(field);
    return part != found->end() && part->is_number() ? part->get<double>() : std::nan("");
  };
  const double mean = median ? std::nan("") : number("mean");
  const double of = number("of");
  return {std::isnan(mean) ? number("median") : mean, number("low"), number("high"), std::isnan(of) ? 1 : of};
}

// Whether a line measured what the series of its name is now: the same filter with the same parameters. Otherwise the
// name has come to mean something else since.
bool still_is(const Json& line, const Experiment& e, const Panel& source, Size size) {
  if (!line.contains("params") || line["params"].empty()) return true;
  for (const Series& s : source.series) {
    if (line["series"] != s.name || !find_filter(s.filter)) continue;
    if (line.value("filter", "") != s.filter) return false;
    const Job job{&e, &source, &s, line["x"].is_number() ? std::optional(line["x"].get<double>()) : std::nullopt};
    const JobPlan now = plan(job, size, 1);
    if (now.params.size() != line["params"].size()) return false;
    return std::all_of(now.params.begin(), now.params.end(), [&](const Param& p) {
      const auto found = line["params"].find(p.name);
      return found != line["params"].end() && *found == p.value;
    });
  }
  return true;
}

}  // namespace

PanelValues::PanelValues(const Experiment& e, const Panel& p, const std::vector<const Json*>& all)
    : experiment(e), panel(p), source(measured_panel(e, p)) {
  const auto belongs = [&](const Json& line) { return line["experiment"] == e.name && line["panel"] == source.id; };
  const auto has = [&](const char* name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Json* line) { return belongs(*line) && line->value("size", "") == name; });
  };
  size = has("paper") ? Size::paper : has("quick") ? Size::quick : Size::tiny;
  for (const Json* line : all) {
    if (!belongs(*line) || line->value("size", "") != kSizeNames[static_cast<int>(size)]) continue;
    if (!still_is(*line, e, source, size)) continue;
    const Json& x = (*line)["x"];
    lines[(*line)["series"].get<std::string>()][x.is_number() ? x.get<double>() : kNoX] = line;
  }
}

// A curve's line has a value for each of its x.
std::map<double, Value> PanelValues::measured(const std::string& series, std::string_view metric) const {
  std::map<double, Value> out;
  const auto found = lines.find(series);
  if (found == lines.end()) return out;
  for (const auto& [x, line] : found->second) {
    if (line->contains("curve")) {
      for (const Json& point : (*line)["curve"])
        if (const Value v = value_of(point, metric); v.there()) out[point["x"].get<double>()] = v;
    } else if (line->contains("values")) {
      if (const Value v = value_of((*line)["values"], metric); v.there()) out[x] = v;
    }
  }
  return out;
}

std::map<double, Value> PanelValues::drawn(const std::string& series, std::string_view metric) const {
  auto out = measured(series, metric);
  const Series* own = find_series(series);
  const bool over_texts = metric.ends_with("_over") && own && *source.setup.texts_compared_with && hashes_texts(*own);
  if (!*panel.over && !over_texts) return out;
  const auto base = measured(over_texts ? source.setup.texts_compared_with : panel.over, metric);
  for (auto it = out.begin(); it != out.end();) {
    const auto b = base.find(it->first);
    if (b == base.end() || !(b->second.y > 0)) {
      it = out.erase(it);
      continue;
    }
    it->second = {it->second.y / b->second.y, it->second.low / b->second.y, it->second.high / b->second.y,
                  it->second.of};
    ++it;
  }
  return out;
}

const Series* PanelValues::find_series(std::string_view name) const {
  for (const Series& s : source.series)
    if (s.name == name) return &s;
  return nullptr;
}

bool PanelValues::hashes_texts(const Series& s) const {
  const FilterType* type = find_filter(s.filter);
  return s.texts || (type && type->claims.reads_bytes);
}

bool PanelValues::compares_ratios(const Metric& m) const {
  return source.kind == Kind::times && m.unit == Unit::nanoseconds && !panel.published.empty() &&
         std::string_view(m.name).ends_with("_ns");
}

std::string PanelValues::compared_name(const Metric& m) const {
  const std::string name = m.name;
  return compares_ratios(m) ? name.substr(0, name.size() - 2) + "over" : name;
}

double PanelValues::compared_y(const Published& p) const {
  const Metric& m = metric_of(p);
  if (!compares_ratios(m)) return p.y;
  for (const Published& base : panel.published)
    if (is_unit(find_series(base.series)) && metric_of(base).name == m.name) return p.y / base.y;
  return std::nan("");
}

const Metric& PanelValues::metric_of(const Published& p) const {
  for (const auto* metrics : {&panel.ys, &panel.also})
    for (const Metric& m : *metrics)
      if (std::string_view(m.name) == p.metric) return m;
  return panel.ys[0];
}

}  // namespace naysay::cli
