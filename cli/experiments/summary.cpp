// SPDX-License-Identifier: Apache-2.0
#include "experiments/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "experiments/experiment.hpp"
#include "experiments/figures.hpp"
#include "experiments/panel_values.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Shown {
  const char* series;
  const char* name;
};
constexpr Shown kFive[] = {{"bloom", "Bloom"},
                           {"habf", "HABF"},
                           {"stacked-bloom", "stacked"},
                           {"ribbon", "ribbon"},
                           {"taught-ribbon", "taught ribbon"}};

struct Rates {
  double known = 0, strangers = 0;
};

// The rates of all five at the x that is nearest to `wish`, if they were measured.
std::optional<std::pair<double, std::vector<Rates>>> rates_near(const PanelValues& v, double wish) {
  const auto all = v.measured("bloom", "known_fpr");
  double best = std::nan("");
  for (const auto& [x, value] : all)
    if (std::isnan(best) || std::abs(x - wish) < std::abs(best - wish)) best = x;
  if (std::isnan(best)) return std::nullopt;
  std::vector<Rates> out;
  for (const Shown& f : kFive) {
    const auto known = v.measured(f.series, "known_fpr"), strangers = v.measured(f.series, "fpr");
    if (!known.contains(best) || !strangers.contains(best)) return std::nullopt;
    out.push_back({known.at(best).y, strangers.at(best).y});
  }
  return std::pair{best, out};
}

Json bars(const std::vector<Rates>& rates, const std::string& title, const std::string& workload) {
  std::vector<std::size_t> order(rates.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rates[a].known, rates[a].strangers) < std::pair(rates[b].known, rates[b].strangers);
  });
  Json known = Json::array(), strangers = Json::array(), rows = Json::array();
  for (const std::size_t i : order) {
    const auto point = [&](double y) { return Json{{"x", kFive[i].name}, {"y", y}, {"text", percent(y)}}; };
    known.push_back(point(rates[i].known));
    strangers.push_back(point(rates[i].strangers));
    rows.push_back(Json::array({{{"v", kFive[i].name}, {"t", kFive[i].name}},
                                {{"v", rates[i].known}, {"t", percent(rates[i].known)}},
                                {{"v", rates[i].strangers}, {"t", percent(rates[i].strangers)}}}));
  }
  return {{"id", ""},
          {"title", title},
          {"workload", workload},
          {"chart", "bars"},
          {"x", {{"label", ""}, {"log", false}}},
          {"y", {{"label", "share accepted"}, {"log", true}, {"unit", "rate"}}},
          {"curves", Json::array({{{"name", "known negatives"}, {"points", std::move(known)}},
                                  {{"name", "strangers"}, {"points", std::move(strangers)}}})},
          {"published", Json::array()},
          {"table",
           {{"columns", Json::array({"filter", "known negatives", "strangers"})},
            {"brief", Json::array({true, true, true})},
            {"rows", std::move(rows)}}}};
}

std::string list(const std::vector<Rates>& rates, double Rates::*which, bool times) {
  std::string out;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double y = rates[i].*which, base = rates[0].*which;
    out += fmt::format("{}{} {}", i == 0 ? "" : i + 1 == rates.size() ? " and " : ", ", kFive[i].name, percent(y));
    if (times && i > 0 && base > 0 && y / base >= 1.5) out += fmt::format(" ({:.3g} times Bloom's)", y / base);
  }
  return out;
}

}  // namespace

Json summary(const std::vector<const Json*>& lines, const Json& judged) {
  Json sentences = Json::array(), panel;
  struct Source {
    const char *experiment, *panel;
    double wish;
  };
  for (const Source& from : {Source{"habf-fig10", "a", 2}, {"space-limit", "a", 10}}) {
    const Experiment& e = *find_experiment(from.experiment);
    const PanelValues v(e, e.panels[0], lines);
    const auto found = rates_near(v, from.wish);
    if (!found || v.size == Size::tiny) continue;
    const auto& [x, rates] = *found;
    const Json& w = (*v.lines.at("bloom").begin()->second)["workload"];
    std::string where = fmt::format("{} {}", x_text(x), v.source.x.label);
    const auto bits = v.measured("bloom", "bits_per_key");
    if (v.source.x.sets == Sets::mebibytes && bits.contains(x))  // they are for as many keys as the paper has
      where = fmt::format("{:.3g} bits per key ({}{})", bits.at(x).y, where,
                          v.size == Size::paper ? "" : " at the paper's size");
    panel = bars(rates, fmt::format("What five filters accept at {}", where),
                 fmt::format("{}, {} size: {} keys, {} known negatives, costs equal", e.name,
                             kSizeNames[static_cast<int>(v.size)], grouped(w.value("keys", 0.0)),
                             grouped(w.value("negatives", 0.0))));
    sentences.push_back(fmt::format("Of the negatives that they were given these filters accept, at {}: {}.", where,
                                    list(rates, &Rates::known, false)));
    sentences.push_back(fmt::format("Of strangers, negatives that no filter was given, they accept: {}.",
                                    list(rates, &Rates::strangers, true)));
    break;
  }
  if (!judged.empty()) {
    const auto count = [&](const char* verdict) {
      return std::count_if(judged.begin(), judged.end(), [&](const Json& c) { return c["verdict"] == verdict; });
    };
    sentences.push_back(fmt::format("Of {} claims of the papers {} are confirmed, {} contradicted and {} out of reach.",
                                    judged.size(), count("confirmed"), count("contradicted"), count("out of reach")));
  }
  if (sentences.empty()) return nullptr;
  Json out = {{"sentences", std::move(sentences)}};
  if (!panel.is_null()) out["panel"] = std::move(panel);
  return out;
}

}  // namespace naysay::cli
