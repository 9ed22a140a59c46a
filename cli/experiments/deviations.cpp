// SPDX-License-Identifier: Apache-2.0
// Where ours is more than 20 % away from what a paper published, with the reason that stands with the experiment.
// Times are compared as ratios to one filter's of the same run.
#include <fmt/format.h>

#include <cmath>

#include "experiments/figures.hpp"

namespace naysay::cli {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kDeviates = 0.2;

}  // namespace

Json deviations(const PanelValues& v) {
  Json out = Json::array();
  if (v.size == Size::tiny) return out;  // it measures nothing
  const auto add = [&](std::string_view why, std::string point) {
    for (Json& d : out)
      if (d["why"] == why) return d["points"].push_back(std::move(point));
    out.push_back({{"why", why}, {"points", Json::array({std::move(point)})}});
  };
  for (const Published& p : v.panel.published) {
    const Series* s = v.find_series(p.series);
    if (!s) continue;
    const Metric& metric = v.metric_of(p);
    const auto ours = v.drawn(s->name, v.compared_name(metric));
    const double published = v.compared_y(p);
    if (ours.empty() || std::isnan(published)) continue;
    if (v.compares_ratios(metric) && v.is_unit(s)) continue;
    const auto judge = [&](double x, double y) {
      const double off = y / published - 1;
      const bool deviates = p.relation == Relation::is        ? std::abs(off) > kDeviates
                            : p.relation == Relation::at_most ? off > kDeviates
                                                              : off < -kDeviates;
      if (!deviates) return false;
      const Unit u = v.compared_unit(metric);
      const std::string what =
          v.compares_ratios(metric) && v.panel.ys.size() > 1 ? fmt::format(", {}", metric.label) : "";
      const std::string where =
          v.panel.bars || p.x == kEverywhere ? "" : fmt::format(" at {} {}", x_text(x), v.source.x.label);
      const std::string factor = y <= 0          ? "below what this many negatives can show"
                                 : y > published ? fmt::format("{:.3g} times as much", y / published)
                                                 : fmt::format("{:.3g} times less", published / y);
      add(p.why, fmt::format("{}{}{}: ours {}, published {}{} ({})", s->name, what, where, y_text(y, u),
                             p.relation == Relation::at_most    ? "at most "
                             : p.relation == Relation::at_least ? "at least "
                                                                : "",
                             y_text(published, u), factor));
      return true;
    };
    if (p.x == kEverywhere) {
      for (const auto& [x, value] : ours)
        if (judge(x, value.y)) break;
    } else if (const auto at = ours.find(p.x); at != ours.end()) {
      judge(p.x, at->second.y);
    }
  }
  return out;
}

}  // namespace naysay::cli
