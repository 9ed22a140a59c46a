// SPDX-License-Identifier: Apache-2.0
#include "experiments/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "experiments/results.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnitNames[] = {"rate", "nanoseconds", "bits", "bytes", "ratio", "seconds"};

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
    j["y"] = {{"label", y_label()}, {"log", p_.y_log}, {"unit", kUnitNames[static_cast<int>(v_.unit(p_.ys[0]))]}};
    j["curves"] = curves();
    j["published"] = published();
    j["table"] = table();
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
        if (!varies) parts.push_back(fmt::format("{} keys", w.value("keys", 0)));
        if (!negatives_vary) parts.push_back(fmt::format("{} known negatives", w.value("negatives", 0)));
        if (w.contains("costs"))
          parts.push_back(source == "files" ? "costs as the file says" : "Zipf 1 costs");
        else if (source_.x.sets != Sets::skew)
          parts.push_back(w.value("zipf", 0.0) == 0 ? "costs equal"
                                                    : fmt::format("Zipf {} costs", w.value("zipf", 0.0)));
        const char* what = source == "files"          ? "real keys from files"
                           : source == "made-up URLs" ? "made-up URLs (no --data given)"
                           : source == "ycsb"         ? "YCSB keys"
                                                      : "integers";
        return fmt::format("{}; {}", what, fmt::join(parts, ", "));
      }
    return "";
  }

  std::string curve_name(const Series& s, const Metric& m) const {
    return p_.ys.size() == 1 || p_.bars ? s.name : fmt::format("{}: {}", s.name, m.label);
  }

  Json curves() const {
    Json out = Json::array();
    if (p_.bars) {
      // One curve for each metric, over the series.
      for (const Metric& m : p_.ys) {
        Json points = Json::array();
        for (const Series& s : source_.series)
          for (const auto& [x, v] : v_.drawn(s.name, m.name)) points.push_back(point(s.name, v, m));
        out.push_back({{"name", m.label}, {"points", std::move(points)}});
      }
      return out;
    }
    for (const Series& s : source_.series)
      for (const Metric& m : p_.ys) {
        Json points = Json::array();
        for (const auto& [x, v] : v_.drawn(s.name, m.name)) points.push_back(point(x, v, m));
        if (points.empty()) continue;
        out.push_back({{"name", curve_name(s, m)}, {"filter", s.filter}, {"points", std::move(points)}});
      }
    return out;
  }

  Json point(const Json& x, const Value& v, const Metric& m) const {
    const Unit u = v_.unit(m);
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
      Json j = {{"curve", p.curve}, {"x", x}, {"y", p.y}, {"text", y_text(p.y, v_.unit(metric))}};
      if (p.relation == Relation::at_most) j["text"] = "at most " + j["text"].get<std::string>();
      if (p.relation == Relation::at_least) j["text"] = "at least " + j["text"].get<std::string>();
      if (p_.bars) j["metric"] = metric.label;
      if (ours) j["series"] = ours->name;
      out.push_back(std::move(j));
    }
    return out;
  }

  Json table() const {
    Json columns = Json::array(), rows = Json::array(), brief = Json::array({true});  // brief: also in a terminal
    const auto cell = [&](const Value& v, const Metric& metric) -> Json {
      if (!v.there()) return {{"v", nullptr}, {"t", ""}};
      const Unit u = v_.unit(metric);
      Json c = {{"v", v.y}, {"t", y_text(v.y, u)}};
      if (!std::isnan(v.low) && v.low != v.high)
        c["hint"] = fmt::format("{} to {}", y_text(v.low, u), y_text(v.high, u));
      return c;
    };
    std::vector<Metric> metrics = p_.ys;
    metrics.insert(metrics.end(), p_.also.begin(), p_.also.end());
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
        const bool first = std::string_view(m.name) == p_.ys[0].name;
        columns.push_back(first && p_.ys.size() == 1 ? std::string(s.name) : fmt::format("{}: {}", s.name, m.label));
        brief.push_back(std::any_of(p_.ys.begin(), p_.ys.end(), [&](const Metric& y) { return y.name == m.name; }));
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

  Json problems() const {
    Json out = Json::array();
    for (const Series& s : source_.series) {
      const auto found = v_.lines.find(s.name);
      if (found == v_.lines.end()) continue;
      std::map<std::string, std::string> at;  // message -> where
      for (const auto& [x, line] : found->second)
        if (line->contains("problem")) {
          std::string& where = at[(*line)["problem"].get<std::string>()];
          where += (where.empty() ? "" : ", ") + ((*line)["x"].is_number() ? x_text(x) : std::string("-"));
        }
      for (const auto& [message, where] : at)
        out.push_back(fmt::format("{}{}: {}", s.name, where == "-" ? "" : " at " + where, message));
    }
    return out;
  }

  // Filters that this version knows and that were not measured yet.
  Json unmeasured() const {
    Json out = Json::array();
    for (const Series& s : source_.series)
      if (!v_.lines.contains(s.name)) out.push_back(s.name);
    return out;
  }

  // Which series is lowest, in words.
  std::string finding() const {
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
    std::stable_sort(at.begin(), at.end(), [](const Entry& a, const Entry& b) { return a.y < b.y; });
    const Unit u = v_.unit(p_.ys[0]);
    std::string text = p_.bars ? fmt::format("Lowest {}: ", where) : fmt::format("Lowest at {}: ", where);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, at.size()); ++i)
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", then ", at[i].name, y_text(at[i].y, u));
    return text + ".";
  }

  const PanelValues& v_;
  const Panel& p_;
  const Panel& source_;
};

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
  out["figures"] = Json::array();
  for (const Experiment& e : experiments()) {
    Json panels = Json::array();
    for (const Panel& p : e.panels) {
      const PanelValues values(e, p, current);
      if (!values.lines.empty()) panels.push_back(PanelMaker(values).make());
    }
    if (panels.empty()) continue;
    out["figures"].push_back({{"name", e.name},
                              {"title", e.title},
                              {"source", e.source},
                              {"about", e.about},
                              {"panels", std::move(panels)}});
  }
  return out;
}

}  // namespace naysay::cli
