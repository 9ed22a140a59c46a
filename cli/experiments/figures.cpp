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

constexpr double kDeviates = 0.2;
constexpr const char* kUnitNames[] = {"rate", "nanoseconds", "bits", "bytes", "ratio", "seconds"};

struct Value {
  double y = std::nan(""), low = std::nan(""), high = std::nan("");
  bool there() const { return !std::isnan(y); }
};

// A number, or {"mean" or "median", "low", "high"}; "report.NAME" is what a build said of itself.
Value value_of(const Json& values, std::string_view name) {
  const Json* at = &values;
  if (name.starts_with("report.")) {
    if (!values.contains("report")) return {};
    at = &values["report"];
    name.remove_prefix(7);
  }
  const auto found = at->find(std::string(name));
  if (found == at->end()) return {};
  if (found->is_number()) return {found->get<double>()};
  if (!found->is_object()) return {};
  const auto number = [&](const char* field) {
    const auto part = found->find(field);
    return part != found->end() && part->is_number() ? part->get<double>() : std::nan("");
  };
  const double mean = number("mean");
  return {std::isnan(mean) ? number("median") : mean, number("low"), number("high")};
}

// A metric is shown in the unit its name ends with, and else in the panel's.
Unit unit_of(std::string_view metric, Unit otherwise) {
  if (metric.ends_with("_ns")) return Unit::nanoseconds;
  if (metric.ends_with("_over")) return Unit::ratio;
  if (metric.ends_with("bytes")) return Unit::bytes;
  if (metric.ends_with("bits") || metric == "bits_per_key") return Unit::bits;
  if (metric.ends_with("fpr") || metric == "waste" || metric == "read_share") return Unit::rate;
  if (metric.ends_with("seconds")) return Unit::seconds;
  return otherwise;
}

std::string x_text(double x) {
  if (x >= 1e4)
    return x == std::floor(x) && std::fmod(x, 1e6) == 0 ? fmt::format("{:.0f} M", x / 1e6) : fmt::format("{:.0f}", x);
  return fmt::format("{:.4g}", x);
}

// The lines of one panel: series -> x -> line.
struct Measured {
  std::map<std::string, std::map<double, const Json*>> lines;
  std::vector<std::string> notes;
};

constexpr double kNoX = 0;

class PanelMaker {
 public:
  PanelMaker(const Experiment& e, const Panel& p, const std::vector<const Json*>& lines)
      : e_(e), p_(p), source_(measured_panel(e, p)) {
    const auto has = [&](const char* size) {
      return std::any_of(lines.begin(), lines.end(),
                         [&](const Json* line) { return of_this_panel(*line) && line->value("size", "") == size; });
    };
    size_ = has("paper") ? Size::paper : has("quick") ? Size::quick : Size::tiny;
    for (const Json* line : lines) {
      if (!of_this_panel(*line) || line->value("size", "") != kSizeNames[static_cast<int>(size_)]) continue;
      const Json& x = (*line)["x"];
      lines_[(*line)["series"].get<std::string>()][x.is_number() ? x.get<double>() : kNoX] = line;
    }
  }

  bool empty() const { return lines_.empty(); }

  Json make() {
    Json j;
    j["id"] = p_.id;
    j["title"] = p_.title;
    j["size"] = kSizeNames[static_cast<int>(size_)];
    j["workload"] = workload_text();
    j["chart"] = p_.bars ? "bars" : "lines";
    j["x"] = {{"label", source_.x.label}, {"log", source_.x.log}};
    j["y"] = {{"label", y_label()}, {"log", p_.y_log}, {"unit", kUnitNames[static_cast<int>(unit())]}};
    j["curves"] = curves();
    j["published"] = published();
    j["table"] = table();
    j["deviations"] = deviations();
    j["problems"] = problems();
    j["unmeasured"] = unmeasured();
    j["finding"] = finding();
    j["advice"] = p_.advice;
    return j;
  }

 private:
  bool of_this_panel(const Json& line) const { return line["experiment"] == e_.name && line["panel"] == source_.id; }

  Unit unit() const { return *p_.over ? Unit::ratio : p_.unit; }

  std::string y_label() const {
    std::string label = p_.ys.size() == 1 ? p_.ys[0].label : "";
    if (*p_.over) label += fmt::format(", over that of {}", p_.over);
    return label;
  }

  std::string workload_text() const {
    for (const auto& [series, by_x] : lines_)
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

  // The value of a metric in a line; a curve's line has one for each of its x.
  std::map<double, Value> values(const std::string& series, std::string_view metric) const {
    std::map<double, Value> out;
    const auto found = lines_.find(series);
    if (found == lines_.end()) return out;
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

  // As drawn: divided by the series that is the unit, if there is one.
  std::map<double, Value> drawn(const std::string& series, std::string_view metric) const {
    auto out = values(series, metric);
    if (!*p_.over) return out;
    const auto base = values(p_.over, metric);
    for (auto it = out.begin(); it != out.end();) {
      const auto b = base.find(it->first);
      if (b == base.end() || !(b->second.y > 0)) {
        it = out.erase(it);
        continue;
      }
      it->second = {it->second.y / b->second.y, it->second.low / b->second.y, it->second.high / b->second.y};
      ++it;
    }
    return out;
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
          for (const auto& [x, v] : drawn(s.name, m.name)) points.push_back(point(s.name, v, m));
        out.push_back({{"name", m.label}, {"points", std::move(points)}});
      }
      return out;
    }
    for (const Series& s : source_.series)
      for (const Metric& m : p_.ys) {
        Json points = Json::array();
        for (const auto& [x, v] : drawn(s.name, m.name)) points.push_back(point(x, v, m));
        if (points.empty()) continue;
        out.push_back({{"name", curve_name(s, m)}, {"filter", s.filter}, {"points", std::move(points)}});
      }
    return out;
  }

  Json point(const Json& x, const Value& v, const Metric& m) const {
    const Unit u = metric_unit(m.name);
    Json p = {{"x", x}, {"y", v.y}, {"text", y_text(v.y, u)}};
    if (!std::isnan(v.low) && !std::isnan(v.high))
      p["spread"] = {{"low", y_text(v.low, u)}, {"high", y_text(v.high, u)}};
    return p;
  }

  Unit metric_unit(std::string_view metric) const { return *p_.over ? Unit::ratio : unit_of(metric, p_.unit); }

  Json published() const {
    Json out = Json::array();
    for (const Published& p : p_.published) {
      const char* metric = *p.metric ? p.metric : p_.ys[0].name;
      const Series* ours = find_series(p.series);
      Json x;
      if (p_.bars)
        x = ours ? Json(ours->name) : Json(p.curve);
      else if (p.x != kEverywhere)
        x = p.x;
      Json j = {{"curve", p.curve}, {"x", x}, {"y", p.y}, {"text", y_text(p.y, metric_unit(metric))}};
      if (p.relation == Relation::at_most) j["text"] = "at most " + j["text"].get<std::string>();
      if (p.relation == Relation::at_least) j["text"] = "at least " + j["text"].get<std::string>();
      if (p_.bars)
        for (const Metric& m : p_.ys)
          if (std::string_view(m.name) == metric) j["metric"] = m.label;
      if (ours) j["series"] = ours->name;
      out.push_back(std::move(j));
    }
    return out;
  }

  const Series* find_series(std::string_view name) const {
    for (const Series& s : source_.series)
      if (s.name == name) return &s;
    return nullptr;
  }

  Json table() const {
    Json columns = Json::array(), rows = Json::array(), brief = Json::array({true});  // brief: also in a terminal
    const auto cell = [&](const Value& v, std::string_view metric) -> Json {
      if (!v.there()) return {{"v", nullptr}, {"t", ""}};
      const Unit u = metric_unit(metric);
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
        if (!lines_.contains(s.name)) continue;
        Json row = Json::array({{{"v", s.name}, {"t", s.name}}});
        bool any = false;
        for (const Metric& m : metrics) {
          const auto v = drawn(s.name, m.name);
          any |= !v.empty();
          row.push_back(cell(v.empty() ? Value{} : v.begin()->second, m.name));
        }
        if (any) rows.push_back(std::move(row));
      }
      return {{"columns", std::move(columns)}, {"brief", std::move(brief)}, {"rows", std::move(rows)}};
    }
    columns.push_back(source_.x.label);
    std::set<double> xs;
    std::vector<std::pair<std::map<double, Value>, const char*>> bodies;
    for (const Series& s : source_.series)
      for (const Metric& m : metrics) {
        auto v = drawn(s.name, m.name);
        if (v.empty()) continue;
        for (const auto& [x, value] : v) xs.insert(x);
        const bool first = std::string_view(m.name) == p_.ys[0].name;
        columns.push_back(first && p_.ys.size() == 1 ? std::string(s.name) : fmt::format("{}: {}", s.name, m.label));
        brief.push_back(std::any_of(p_.ys.begin(), p_.ys.end(), [&](const Metric& y) { return y.name == m.name; }));
        bodies.emplace_back(std::move(v), m.name);
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

  // [{"why": ..., "points": ["habf at 1.5 MiB: ours ...", ...]}], one for each reason.
  Json deviations() const {
    Json out = Json::array();
    if (size_ == Size::tiny) return out;  // it measures nothing
    const auto add = [&](std::string_view why, std::string point) {
      for (Json& d : out)
        if (d["why"] == why) return d["points"].push_back(std::move(point));
      out.push_back({{"why", why}, {"points", Json::array({std::move(point)})}});
    };
    for (const Published& p : p_.published) {
      const Series* s = find_series(p.series);
      if (!s) continue;
      const char* metric = *p.metric ? p.metric : p_.ys[0].name;
      const auto ours = drawn(s->name, metric);
      if (ours.empty()) continue;
      const auto judge = [&](double x, double y) {
        const double off = y / p.y - 1;
        const bool deviates = p.relation == Relation::is        ? std::abs(off) > kDeviates
                              : p.relation == Relation::at_most ? off > kDeviates
                                                                : off < -kDeviates;
        if (!deviates) return false;
        const Unit u = metric_unit(metric);
        const std::string where =
            p_.bars || p.x == kEverywhere ? "" : fmt::format(" at {} {}", x_text(x), source_.x.label);
        const std::string factor = y <= 0    ? "below what so many negatives can show"
                                   : y > p.y ? fmt::format("{:.3g} times as much", y / p.y)
                                             : fmt::format("{:.3g} times less", p.y / y);
        add(p.why, fmt::format("{}{}: ours {}, published {}{} ({})", s->name, where, y_text(y, u),
                               p.relation == Relation::at_most    ? "at most "
                               : p.relation == Relation::at_least ? "at least "
                                                                  : "",
                               y_text(p.y, u), factor));
        return true;
      };
      if (p.x == kEverywhere) {
        for (const auto& [x, v] : ours)
          if (judge(x, v.y)) break;
      } else if (const auto at = ours.find(p.x); at != ours.end()) {
        judge(p.x, at->second.y);
      }
    }
    return out;
  }

  Json problems() const {
    Json out = Json::array();
    for (const Series& s : source_.series) {
      const auto found = lines_.find(s.name);
      if (found == lines_.end()) continue;
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

  // Filters that this version knows and nobody has measured yet.
  Json unmeasured() const {
    Json out = Json::array();
    for (const Series& s : source_.series)
      if (!lines_.contains(s.name)) out.push_back(s.name);
    return out;
  }

  // Who is lowest, in words.
  std::string finding() const {
    struct Entry {
      std::string name;
      double y;
    };
    std::vector<Entry> at;
    std::string where;
    if (p_.bars) {
      for (const Series& s : source_.series)
        for (const auto& [x, v] : drawn(s.name, p_.ys[0].name)) at.push_back({s.name, v.y});
      where = p_.ys[0].label;
    } else {
      // The middle of the x that most curves have.
      std::map<double, std::size_t> count;
      for (const Series& s : source_.series)
        for (const auto& [x, v] : drawn(s.name, p_.ys[0].name)) ++count[x];
      if (count.empty()) return "";
      std::size_t most = 0;
      for (const auto& [x, n] : count) most = std::max(most, n);
      std::vector<double> xs;
      for (const auto& [x, n] : count)
        if (n == most) xs.push_back(x);
      const double x = xs[xs.size() / 2];
      for (const Series& s : source_.series) {
        const auto v = drawn(s.name, p_.ys[0].name);
        if (const auto found = v.find(x); found != v.end()) at.push_back({s.name, found->second.y});
      }
      where = fmt::format("{} {}", x_text(x), source_.x.label);
    }
    if (at.size() < 2) return "";
    std::stable_sort(at.begin(), at.end(), [](const Entry& a, const Entry& b) { return a.y < b.y; });
    const Unit u = metric_unit(p_.ys[0].name);
    std::string text = p_.bars ? fmt::format("Lowest {}: ", where) : fmt::format("Lowest at {}: ", where);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, at.size()); ++i)
      text += fmt::format("{}{} ({})", i == 0 ? "" : ", then ", at[i].name, y_text(at[i].y, u));
    return text + ".";
  }

  const Experiment& e_;
  const Panel& p_;
  const Panel& source_;
  Size size_ = Size::tiny;
  std::map<std::string, std::map<double, const Json*>> lines_;
};

}  // namespace

std::string y_text(double y, Unit unit) {
  switch (unit) {
    case Unit::rate:
      return percent(y);
    case Unit::nanoseconds:
      return y >= 1e6 ? number(y / 1e6) + " ms" : y >= 1e4 ? number(y / 1e3) + " us" : number(y) + " ns";
    case Unit::bits:
      return number(y);
    case Unit::bytes:
      return bytes_text(static_cast<std::uint64_t>(std::max(y, 0.0)));
    case Unit::ratio:
      return number(y) + "x";
    case Unit::seconds:
      return number(y) + " s";
  }
  return number(y);
}

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
      PanelMaker maker(e, p, current);
      if (!maker.empty()) panels.push_back(maker.make());
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

std::string text_of(const Json& figure) {
  std::string out = fmt::format("{}: {}\n", figure["name"].get<std::string>(), figure["title"].get<std::string>());
  for (const Json& panel : figure["panels"]) {
    out += fmt::format("\n{}) {} [{}]\n", panel["id"].get<std::string>(), panel["title"].get<std::string>(),
                       panel["workload"].get<std::string>());
    const Json& whole = panel["table"];
    std::vector<Table::Column> columns;
    for (std::size_t i = 0; i < whole["columns"].size(); ++i)
      if (whole["brief"][i].get<bool>())
        columns.push_back({whole["columns"][i].get<std::string>(), i == 0 ? Table::Align::left : Table::Align::right});
    Table table(std::move(columns));
    for (const Json& row : whole["rows"]) {
      std::vector<std::string> cells;
      for (std::size_t i = 0; i < row.size(); ++i)
        if (whole["brief"][i].get<bool>()) cells.push_back(row[i]["t"].get<std::string>());
      table.add(std::move(cells));
    }
    out += table.text();
    for (const Json& d : panel["deviations"]) {
      const std::string why = d["why"].get<std::string>();
      for (const Json& point : d["points"]) out += fmt::format("deviation: {}\n", point.get<std::string>());
      out += fmt::format("  {}\n", why.empty() ? "UNEXPLAINED" : why);
    }
    for (const Json& p : panel["problems"]) out += fmt::format("note: {}\n", p.get<std::string>());
  }
  return out;
}

std::string markdown_of(const Json& data) {
  // Nothing in a cell may end it or begin something else.
  const auto plain = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '|' || c == '<' || c == '*' || c == '`') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    return out;
  };
  const auto text = [&](const Json& j) { return plain(j.get<std::string>()); };
  std::string out;
  for (const Json& m : data["machines"])
    out += fmt::format("Measured on {} ({} cores, {}), compiler {}, naysay {}, commit `{}`.\n", text(m["cpu"]),
                       m["cores"].dump(), text(m["simd"]), text(m["compiler"]), text(m["naysay"]),
                       m["commit"].get<std::string>());
  for (const Json& figure : data["figures"]) {
    out += fmt::format("\n## {}: {}\n\nSource: {}. {}\n", text(figure["name"]), text(figure["title"]),
                       text(figure["source"]), text(figure["about"]));
    for (const Json& panel : figure["panels"]) {
      out += fmt::format("\n### {}) {}\n\n{} size; {}. Values: {}.\n\n", text(panel["id"]), text(panel["title"]),
                         text(panel["size"]), text(panel["workload"]),
                         panel["y"]["label"] == "" ? "see the columns" : text(panel["y"]["label"]));
      const Json& table = panel["table"];
      std::string head = "|", rule = "|";
      for (std::size_t i = 0; i < table["columns"].size(); ++i) {
        if (!table["brief"][i].get<bool>()) continue;
        head += fmt::format(" {} |", text(table["columns"][i]));
        rule += i == 0 ? " --- |" : " ---: |";
      }
      out += head + "\n" + rule + "\n";
      for (const Json& row : table["rows"]) {
        std::string line = "|";
        for (std::size_t i = 0; i < row.size(); ++i)
          if (table["brief"][i].get<bool>()) line += fmt::format(" {} |", text(row[i]["t"]));
        out += line + "\n";
      }
      if (!panel["published"].empty()) {
        out += "\nPublished: ";
        std::string list;
        for (const Json& p : panel["published"]) {
          const std::string where =
              panel["chart"] == "bars"
                  ? (p.contains("metric") && panel["curves"].size() > 1 ? " " + text(p["metric"]) : "")
              : p["x"].is_number() ? " at " + x_text(p["x"].get<double>())
                                   : "";
          list += fmt::format("{}{}{} {}", list.empty() ? "" : "; ", text(p["curve"]), where, text(p["text"]));
        }
        out += list + ".\n";
      }
      if (!panel["finding"].get<std::string>().empty()) out += "\n" + text(panel["finding"]) + "\n";
      out += "\n" + text(panel["advice"]) + "\n";
      if (!panel["deviations"].empty()) out += "\nMore than 20 % from what was published:\n\n";
      for (const Json& d : panel["deviations"]) {
        out += fmt::format("- {}\n", d["why"] == "" ? "**Unexplained.**" : text(d["why"]));
        for (const Json& point : d["points"]) out += fmt::format("  - {}\n", text(point));
      }
      if (!panel["problems"].empty()) out += "\n";
      for (const Json& p : panel["problems"]) out += fmt::format("- {}\n", text(p));
    }
  }
  return out;
}

}  // namespace naysay::cli
