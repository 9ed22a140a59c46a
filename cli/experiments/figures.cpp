// SPDX-License-Identifier: Apache-2.0
#include "experiments/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "experiments/claim.hpp"
#include "experiments/results.hpp"
#include "experiments/summary.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnitNames[] = {"rate", "nanoseconds", "bits", "bytes", "ratio", "seconds", "number"};

// Numbers of more than four digits after the point, shorter: rows hold messages of older versions.
std::string short_numbers(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.')) ++end;
    const std::string part = text.substr(i, end - i);
    const std::size_t point = part.find('.');
    if (point != std::string::npos && point > 0 && part.size() - point > 5 && part.find('.', point + 1) == part.npos)
      out += fmt::format("{:.4g}", std::stod(part));
    else
      out += part.empty() ? text.substr(i, 1) : part;
    i = std::max(end, i + 1);
  }
  return out;
}

class PanelMaker {
 public:
  explicit PanelMaker(const PanelValues& values) : v_(values), p_(v_.panel), source_(v_.source) {}

  Json make() {
    Json j;
    j["id"] = p_.id;
    j["title"] = p_.title;
    j["size"] = kSizeNames[static_cast<int>(v_.size)];
    j["workload"] = workload_text();
    j["chart"] = p_.bars ? "bars" : "lines";
    j["x"] = {{"label", source_.x.label}, {"log", source_.x.log}};
    j["y"] = {
        {"label", y_label()}, {"log", p_.y_log}, {"unit", kUnitNames[static_cast<int>(v_.compared_unit(p_.ys[0]))]}};
    j["curves"] = curves(p_.ys);
    j["published"] = published();
    show_some(j["curves"], j["published"]);
    std::vector<Metric> columns = p_.ys;
    columns.insert(columns.end(), p_.also.begin(), p_.also.end());
    if (has_strangers()) {
      // What known negatives gain strangers may pay for: both stand together.
      std::erase_if(columns, [](const Metric& m) { return std::string_view(m.name) == kStrangers.name; });
      j["strangers"] = {{"label", kStrangers.label},
                        {"curves", curves({kStrangers})},
                        {"table", table({kStrangers}, kStrangers.name)}};
    }
    j["table"] = table(columns, p_.ys[0].name);
    j["deviations"] = deviations(v_);
    j["problems"] = problems();
    j["unmeasured"] = unmeasured();
    j["finding"] = finding();
    j["advice"] = p_.advice;
    return j;
  }

 private:
  std::string y_label() const {
    std::string label = p_.ys.size() == 1 ? p_.ys[0].label : "";
    if (v_.compares_ratios(p_.ys[0]))
      return fmt::format("{}, over that of {}", label.substr(0, label.find(',')), source_.setup.compared_with);
    if (*p_.over) label += fmt::format(", over that of {}", p_.over);
    return label;
  }

  std::string workload_text() const {
    for (const auto& [series, by_x] : v_.lines)
      for (const auto& [x, line] : by_x) {
        const Json& w = (*line)["workload"];
        const std::string source = w.value("source", "");
        const bool varies = source_.x.sets == Sets::keys,
                   negatives_vary = varies || source_.x.sets == Sets::negatives_per_key;
        std::vector<std::string> parts;
        if (!varies) parts.push_back(fmt::format("{} keys", grouped(w.value("keys", 0.0))));
        if (!negatives_vary) parts.push_back(fmt::format("{} known negatives", grouped(w.value("negatives", 0.0))));
        if (w.contains("costs"))
          parts.push_back(source == "files" ? "costs as the file says" : "Zipf 1 costs");
        else if (source_.x.sets != Sets::skew)
          parts.push_back(w.value("zipf", 0.0) == 0 ? "costs equal"
                                                    : fmt::format("Zipf {} costs", w.value("zipf", 0.0)));
        const char* what = source == "files"          ? "real keys from files"
                           : source == "made-up URLs" ? "made-up URLs (no --data given)"
                           : source == "ycsb"         ? "YCSB keys"
                                                      : "integers";
        const bool scaled = source_.x.sets == Sets::mebibytes && v_.size != Size::paper;
        return fmt::format("{}; {}{}", what, fmt::join(parts, ", "),
                           scaled ? "; MiB as for the paper's keys, here for fewer, at the same bits per key" : "");
      }
    return "";
  }

  std::string curve_name(const Series& s, const Metric& m) const {
    return p_.ys.size() == 1 || p_.bars ? s.name : fmt::format("{}: {}", s.name, m.label);
  }

  // Curves of weighted or known negatives, of rows that also hold a rate of strangers.
  bool has_strangers() const {
    const auto known = [](const Metric& m) {
      const std::string_view name = m.name;
      return name == "wfpr" || name == "wfpr_median" || name == "known_fpr";
    };
    if (p_.bars || std::none_of(p_.ys.begin(), p_.ys.end(), known)) return false;
    return std::any_of(source_.series.begin(), source_.series.end(),
                       [&](const Series& s) { return !v_.drawn(s.name, kStrangers.name).empty(); });
  }

  Json curves(const std::vector<Metric>& metrics) const {
    Json out = Json::array();
    if (p_.bars) {
      // One curve for each metric, over the series.
      for (const Metric& m : metrics) {
        Json points = Json::array();
        for (const Series& s : source_.series)
          for (const auto& [x, v] : v_.drawn(s.name, v_.compared_name(m))) points.push_back(point(s.name, v, m));
        out.push_back({{"name", m.label}, {"points", std::move(points)}});
      }
      return out;
    }
    for (const Series& s : source_.series)
      for (const Metric& m : metrics) {
        Json points = Json::array();
        for (const auto& [x, v] : v_.drawn(s.name, m.name)) points.push_back(point(x, v, m));
        if (points.empty()) continue;
        out.push_back({{"name", metrics.size() == 1 ? s.name : curve_name(s, m)},
                       {"filter", s.filter},
                       {"points", std::move(points)}});
      }
    return out;
  }

  Json point(const Json& x, const Value& v, const Metric& m) const {
    const Unit u = v_.compared_unit(m);
    Json p = {{"x", x}, {"y", v.y}, {"text", y_text(v.y, u)}};
    if (!std::isnan(v.low) && !std::isnan(v.high))
      p["spread"] = {{"low", y_text(v.low, u)}, {"high", y_text(v.high, u)}};
    return p;
  }

  Json published() const {
    Json out = Json::array();
    for (const Published& p : p_.published) {
      const Metric& metric = v_.metric_of(p);
      const Series* ours = v_.find_series(p.series);
      Json x;
      if (p_.bars)
        x = ours ? Json(ours->name) : Json(p.curve);
      else if (p.x != kEverywhere)
        x = p.x;
      const double y = v_.compared_y(p);
      if (std::isnan(y)) continue;
      Json j = {{"curve", p.curve}, {"x", x}, {"y", y}, {"text", y_text(y, v_.compared_unit(metric))}};
      if (v_.compares_ratios(metric))
        j["text"] = fmt::format("{} ({})", j["text"].get<std::string>(), y_text(p.y, metric.unit));
      if (p.relation == Relation::at_most) j["text"] = "at most " + j["text"].get<std::string>();
      if (p.relation == Relation::at_least) j["text"] = "at least " + j["text"].get<std::string>();
      if (p_.bars) j["metric"] = metric.label;
      if (ours) j["series"] = ours->name;
      out.push_back(std::move(j));
    }
    return out;
  }

  // `first`: the metric that needs no name in a column where it is the only one of its kind.
  Json table(const std::vector<Metric>& metrics, std::string_view first_name) const {
    Json columns = Json::array(), rows = Json::array(), brief = Json::array({true});  // brief: also in a terminal
    const auto cell = [&](const Value& v, const Metric& metric) -> Json {
      if (!v.there()) return {{"v", nullptr}, {"t", ""}};
      const Unit u = v_.unit(metric);
      Json c = {{"v", v.y}, {"t", y_text(v.y, u)}};
      if (!std::isnan(v.low) && v.low != v.high)
        c["hint"] = fmt::format("{} to {}", y_text(v.low, u), y_text(v.high, u));
      return c;
    };
    if (p_.bars) {
      columns.push_back("filter");
      for (const Metric& m : metrics) {
        columns.push_back(m.label);
        brief.push_back(true);
      }
      for (const Series& s : source_.series) {
        if (!v_.lines.contains(s.name)) continue;
        Json row = Json::array({{{"v", s.name}, {"t", s.name}}});
        bool any = false;
        for (const Metric& m : metrics) {
          const auto v = v_.drawn(s.name, m.name);
          any |= !v.empty();
          row.push_back(cell(v.empty() ? Value{} : v.begin()->second, m));
        }
        if (any) rows.push_back(std::move(row));
      }
      return {{"columns", std::move(columns)}, {"brief", std::move(brief)}, {"rows", std::move(rows)}};
    }
    columns.push_back(source_.x.label);
    std::set<double> xs;
    std::vector<std::pair<std::map<double, Value>, Metric>> bodies;
    for (const Series& s : source_.series)
      for (const Metric& m : metrics) {
        auto v = v_.drawn(s.name, m.name);
        if (v.empty()) continue;
        for (const auto& [x, value] : v) xs.insert(x);
        const bool first = std::string_view(m.name) == first_name;
        columns.push_back(first && (p_.ys.size() == 1 || metrics.size() == 1) ? std::string(s.name)
                                                                              : fmt::format("{}: {}", s.name, m.label));
        brief.push_back(first || std::any_of(p_.ys.begin(), p_.ys.end(),
                                             [&](const Metric& y) { return std::string_view(y.name) == m.name; }));
        bodies.emplace_back(std::move(v), m);
      }
    for (const double x : xs) {
      Json row = Json::array({{{"v", x}, {"t", x_text(x)}}});
      for (const auto& [body, metric] : bodies) {
        const auto found = body.find(x);
        row.push_back(cell(found == body.end() ? Value{} : found->second, metric));
      }
      rows.push_back(std::move(row));
    }
    return {{"columns", std::move(columns)}, {"brief", std::move(brief)}, {"rows", std::move(rows)}};
  }

  // A message that several series have at the same places stands once.
  Json problems() const {
    Json out = Json::array();
    if (*p_.from) return out;                                            // they stand with the panel that was measured
    std::vector<std::tuple<std::string, std::string, std::string>> all;  // message, where, who
    for (const Series& s : source_.series) {
      const auto found = v_.lines.find(s.name);
      if (found == v_.lines.end()) continue;
      std::map<std::string, std::string> at;  // message -> where
      for (const auto& [x, line] : found->second)
        if (line->contains("problem")) {
          std::string& where = at[short_numbers((*line)["problem"].get<std::string>())];
          where += (where.empty() ? "" : ", ") + ((*line)["x"].is_number() ? x_text(x) : std::string("-"));
        }
      for (const auto& [message, where] : at) {
        const auto same = std::find_if(all.begin(), all.end(), [&, m = &message, w = &where](const auto& other) {
          return std::get<0>(other) == *m && std::get<1>(other) == *w;
        });
        if (same != all.end())
          std::get<2>(*same) += fmt::format(", {}", s.name);
        else
          all.emplace_back(message, where, s.name);
      }
    }
    for (const auto& [message, where, who] : all)
      out.push_back(fmt::format("{}{}: {}", who, where == "-" ? "" : " at " + where, message));
    return out;
  }

  // Filters that this version knows and that were not measured yet.
  Json unmeasured() const {
    Json out = Json::array();
    for (const Series& s : source_.series)
      if (!v_.lines.contains(s.name)) out.push_back(s.name);
    return out;
  }

  // Which series is best, in words; over a parameter, where each is.
  std::string finding() const {
    if (source_.x.sets == Sets::param && !p_.bars) return optima();
    struct Entry {
      std::string name;
      double y;
    };
    std::vector<Entry> at;
    std::string where;
    if (p_.bars) {
      for (const Series& s : source_.series)
        for (const auto& [x, v] : v_.drawn(s.name, p_.ys[0].name)) at.push_back({s.name, v.y});
      where = p_.ys[0].label;
    } else {
      // The middle of the x that most curves have.
      std::map<double, std::size_t> count;
      for (const Series& s : source_.series)
        for (const auto& [x, v] : v_.drawn(s.name, p_.ys[0].name)) ++count[x];
      if (count.empty()) return "";
      std::size_t most = 0;
      for (const auto& [x, n] : count) most = std::max(most, n);
      std::vector<double> xs;
      for (const auto& [x, n] : count)
        if (n == most) xs.push_back(x);
      const double x = xs[xs.size() / 2];
      for (const Series& s : source_.series) {
        const auto v = v_.drawn(s.name, p_.ys[0].name);
        if (const auto found = v.find(x); found != v.end()) at.push_back({s.name, found->second.y});
      }
      where = fmt::format("{} {}", x_text(x), source_.x.label);
    }
    if (at.size() < 2) return "";
    const bool high = p_.ys[0].more_is_better;
    std::stable_sort(at.begin(), at.end(),
                     [=](const Entry& a, const Entry& b) { return high ? b.y < a.y : a.y < b.y; });
    const Unit u = v_.unit(p_.ys[0]);
    std::string text = p_.bars ? fmt::format("{} {}: ", high ? "Highest" : "Lowest", where)
                               : fmt::format("At {} the {} is ", where, high ? "highest" : "lowest");
    for (std::size_t i = 0; i < std::min<std::size_t>(3, at.size()); ++i)
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", then ", at[i].name, y_text(at[i].y, u));
    return text + ".";
  }

  std::string optima() const {
    std::string text;
    for (const Series& s : source_.series) {
      const auto curve = v_.drawn(s.name, p_.ys[0].name);
      if (curve.size() < 2) continue;
      const bool high = p_.ys[0].more_is_better;
      const auto best = std::min_element(curve.begin(), curve.end(), [=](const auto& a, const auto& b) {
        return high ? b.second.y < a.second.y : a.second.y < b.second.y;
      });
      text += fmt::format("{}{} is {} at {} {} ({})", text.empty() ? "" : ", ", s.name, high ? "highest" : "lowest",
                          x_text(best->first), source_.x.label, y_text(best->second.y, v_.unit(p_.ys[0])));
    }
    return text.empty() ? text : text + ".";
  }

  static constexpr Metric kStrangers = {"fpr", "strangers"};

  const PanelValues& v_;
  const Panel& p_;
  const Panel& source_;
};

// The same reason in several panels is given once, with the points of all of them.
Json merged_deviations(const Json& panels) {
  Json out = Json::array();
  for (const Json& panel : panels)
    for (const Json& d : panel["deviations"]) {
      auto found = std::find_if(out.begin(), out.end(), [&](const Json& o) { return o["why"] == d["why"]; });
      if (found == out.end()) {
        out.push_back({{"why", d["why"]}, {"points", Json::array()}});
        found = std::prev(out.end());
      }
      for (const Json& point : d["points"])
        (*found)["points"].push_back(
            panels.size() == 1 ? point.get<std::string>()
                               : fmt::format("{}) {}", panel["id"].get<std::string>(), point.get<std::string>()));
    }
  return out;
}

}  // namespace

Json figures(const std::vector<Json>& lines) {
  // The last line of a point counts, whichever version made it.
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < lines.size(); ++i) last[identity(lines[i])] = i;
  std::vector<std::size_t> kept;
  for (const auto& [key, i] : last) kept.push_back(i);
  std::sort(kept.begin(), kept.end());
  std::vector<const Json*> current;
  std::set<std::string> machines;
  for (const std::size_t i : kept) {
    current.push_back(&lines[i]);
    if (lines[i].contains("machine")) machines.insert(lines[i]["machine"].dump());
  }
  Json out;
  out["machines"] = Json::array();
  for (const std::string& m : machines) out["machines"].push_back(Json::parse(m));
  out["lines"] = current.size();
  out["claims"] = judged_claims(current);
  out["unjudged"] = claims().size() - out["claims"].size();
  if (Json made = summary(current, out["claims"]); !made.is_null()) out["summary"] = std::move(made);
  out["figures"] = Json::array();
  for (const Experiment& e : experiments()) {
    std::vector<const Json*> own;
    for (const Json* line : current)
      if ((*line)["experiment"] == e.name) own.push_back(line);
    Json panels = Json::array();
    for (const Panel& p : e.panels) {
      const PanelValues values(e, p, own);
      if (!values.lines.empty()) panels.push_back(PanelMaker(values).make());
    }
    if (panels.empty()) continue;
    Json merged = merged_deviations(panels);
    out["figures"].push_back({{"name", e.name},
                              {"title", e.title},
                              {"source", e.source},
                              {"about", e.about},
                              {"deviations", std::move(merged)},
                              {"panels", std::move(panels)}});
  }
  return out;
}

}  // namespace naysay::cli
