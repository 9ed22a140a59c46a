// SPDX-License-Identifier: Apache-2.0
// Claims, judged from rows.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "experiments/claim.hpp"
#include "experiments/figures.hpp"
#include "experiments/panel_values.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kChance = 0.05;        // what two runs of anything differ by
constexpr double kDeviations = 2;       // standard errors that chance may explain
constexpr double kStrangers = 200'000;  // are queried for a rate of strangers, at least

// A number with its standard error, as a share of it.
struct Point {
  double y = 0, error = 0;
  double low = std::nan(""), high = std::nan("");  // of its shuffles
};
using Curve = std::map<double, Point>;

// Negatives of equal cost that would make a mean as uncertain as these: (sum of costs)^2 over the sum of squares.
double equal_negatives(double n, double skew) {
  const auto sum = [&](double power) {
    constexpr double kExact = 1000;
    double s = 0;
    for (double i = 1; i <= std::min(n, kExact); ++i) s += std::pow(i, -power);
    if (n <= kExact) return s;
    return s + (std::abs(power - 1) < 1e-9 ? std::log(n / kExact)
                                           : (std::pow(n, 1 - power) - std::pow(kExact, 1 - power)) / (1 - power));
  };
  return sum(skew) * sum(skew) / sum(2 * skew);
}

// The standard error of a rate: from its shuffles, or from how many were accepted.
double relative_error(const Json& line, const Value& v, std::string_view metric) {
  if (!(v.y > 0)) return 0;
  if (v.of >= 3 && !std::isnan(v.low)) {
    // How many standard deviations lie between the least and the largest of v.of normal values.
    const double wide = v.of <= 5 ? 2.33 : v.of <= 10 ? 3.08 : v.of <= 30 ? 4.09 : 5;
    return (v.high - v.low) / wide / std::sqrt(v.of) / v.y;
  }
  if (!metric.starts_with("wfpr") && metric != "known_fpr" && !metric.ends_with("fpr")) return 0;
  const Json& w = line["workload"];
  const bool strangers = metric != "known_fpr" && !metric.starts_with("wfpr");
  const double skew = !metric.starts_with("wfpr") ? 0 : w.contains("costs") ? 1 : w.value("zipf", 0.0);
  const double n = strangers ? kStrangers : equal_negatives(std::max(1.0, w.value("negatives", 1.0)), skew);
  return 1 / std::sqrt(std::max(1.0, v.y * n));
}

Curve curve_of(const PanelValues& v, const std::string& series, std::string_view metric) {
  Curve out;
  const auto values = v.measured(series, metric);
  const auto error = [&](double x, const Value& value, std::string_view of) {
    const auto& lines = v.lines.at(series);
    const auto at = lines.find(x);
    return relative_error(at == lines.end() ? *lines.begin()->second : *at->second, value, of);
  };
  // Traffic of which the share x is about known negatives, the rest about strangers: each part has an error of its own.
  const bool mixed = v.panel.kind == Kind::shift && values.contains(0) && values.contains(1);
  for (const auto& [x, value] : values) {
    double relative = error(x, value, metric);
    if (mixed && value.y > 0) {
      const Value &strangers = values.at(0), &known = values.at(1);
      relative = std::hypot((1 - x) * strangers.y * error(0, strangers, "fpr"), x * known.y * error(1, known, metric)) /
                 value.y;
    }
    out[x] = {value.y, relative, value.low, value.high};
  }
  return out;
}

// Of names with | between them the first that has rows; else the last.
std::string measured_series(const PanelValues& v, std::string_view names) {
  for (;;) {
    const std::size_t bar = names.find('|');
    const std::string name(names.substr(0, bar));
    if (bar == names.npos || v.lines.contains(name)) return name;
    names.remove_prefix(bar + 1);
  }
}

struct Number {
  double q = 0, error = 0;
};

double quotient(double a, double b) {
  if (b > 0) return a / b;
  return a > 0 ? std::numeric_limits<double>::infinity() : 1;  // none against none: alike
}
Number quotient(const Point& a, const Point& b) {
  // Three accepted against none are chance, four are hardly. None against none says that they are alike, and no more.
  constexpr double kOfFour = 0.5;
  const bool few = a.y > 0 && b.y > 0 ? false : std::max(a.error, b.error) > kOfFour || a.y == b.y;
  return {quotient(a.y, b.y), few ? std::numeric_limits<double>::infinity() : std::hypot(a.error, b.error)};
}

// `chance` as a share: how far outside of the range it still counts as inside.
bool fits(const Number& n, const Range& range, double chance) {
  if (std::isinf(chance)) return true;
  return n.q >= range.low / (1 + chance) && n.q <= range.high * (1 + chance);
}
// What chance alone can have made confirms nothing, but that two are alike.
bool inside(const Number& n, const Range& range) {
  return (!std::isinf(n.error) || n.q == 1) && fits(n, range, kChance);
}
bool may_be_inside(const Number& n, const Range& range) {
  return fits(n, range, std::max(kChance, kDeviations * n.error));
}

class Judge {
 public:
  Judge(const Claim& claim, const std::vector<const Json*>& lines)
      : c_(claim), experiment_(*find_experiment(claim.experiment)) {
    for (const char* id : c_.panels) {
      const auto p = std::find_if(experiment_.panels.begin(), experiment_.panels.end(),
                                  [&](const Panel& panel) { return std::string_view(panel.id) == id; });
      if (p != experiment_.panels.end()) panels_.emplace_back(experiment_, *p, lines);
    }
  }

  Ruling make() {
    if (c_.panels.empty()) return {Verdict::out_of_reach, "", "", c_.missing};
    std::vector<Curve> curves;
    for (const PanelValues& v : panels_) {
      Curve curve = read(v);
      if (curve.empty()) return without_rows();
      if (v.size == Size::tiny) return {Verdict::out_of_reach, "", "", "rows of --size tiny measure nothing"};
      curves.push_back(std::move(curve));
    }
    if (c_.reading == Reading::lowest) return lowest(curves);
    const std::vector<Number> numbers = read(curves);
    if (numbers.empty()) return without_rows();
    const auto count = [&](auto test) {
      return static_cast<std::size_t>(
          std::count_if(numbers.begin(), numbers.end(), [&](const Number& n) { return test(n, c_.range); }));
    };
    const std::size_t in = count(inside), maybe = count(may_be_inside);
    const bool one = c_.reading == Reading::somewhere;
    const Verdict verdict = (one ? in > 0 : in == numbers.size())         ? Verdict::confirmed
                            : (one ? maybe > 0 : maybe == numbers.size()) ? Verdict::out_of_reach
                                                                          : Verdict::contradicted;
    double low = numbers[0].q, high = low;
    for (const Number& n : numbers) low = std::min(low, n.q), high = std::max(high, n.q);
    std::string ours = text(low) == text(high) ? text(low) : fmt::format("{} to {}", text(low), text(high));
    switch (c_.reading) {
      case Reading::steps:
        ours += " per step";
        break;
      case Reading::change:
        ours += " from first to last";
        break;
      case Reading::evenness:
        ours += " from least to most";
        break;
      case Reading::spread:
        ours += " between shuffles";
        break;
      case Reading::mean:
        ours += " on average";
        break;
      default:
        break;
    }
    if (numbers.size() > 1 && in > 0 && in < numbers.size())
      ours += fmt::format("; so at {} of {} points", in, numbers.size());
    return with(verdict, std::move(ours));
  }

 private:
  Ruling with(Verdict verdict, std::string ours) const {
    std::string remark;
    if (verdict == Verdict::out_of_reach)
      remark = "so few errors, or so few costly negatives, decide this that chance can explain the difference";
    else if (verdict == Verdict::contradicted && *c_.why)
      remark = *c_.tested ? fmt::format("{} Tested: {}.", c_.why, c_.tested) : fmt::format("A guess: {}", c_.why);
    return {verdict, std::move(ours), series(), std::move(remark)};
  }

  std::string series() const {
    const auto names = [&](const std::vector<const char*>& list) {
      std::string out;
      for (const char* name : list) (out += out.empty() ? "" : ", ") += measured_series(panels_[0], name);
      return out;
    };
    if (c_.apart) return "all series";
    const bool itself = c_.over.empty() || names(c_.over) == names(c_.of);
    return itself ? names(c_.of) : fmt::format("{} over {}", names(c_.of), names(c_.over));
  }

  Ruling without_rows() const {
    return {Verdict::out_of_reach, "", "",
            *c_.missing ? c_.missing : fmt::format("not in these results; naysay bench {} measures it", c_.experiment)};
  }

  // The curve of one panel; empty if something of it was not measured.
  Curve read(const PanelValues& v) const {
    const std::string_view metric = *c_.metric ? c_.metric : v.panel.ys[0].name;
    const std::string_view over_metric = *c_.over_metric ? c_.over_metric : metric;
    Curve out;
    if (c_.apart) {
      std::vector<Curve> all;
      for (const Series& s : v.source.series) all.push_back(curve_of(v, s.name, metric));
      std::erase_if(all, [](const Curve& c) { return c.empty(); });
      if (all.size() < 2) return out;
      for (const auto& [x, p] : all[0]) {
        Point low = p, high = p;
        for (const Curve& c : all)
          if (const auto at = c.find(x); at != c.end()) {
            if (at->second.y < low.y) low = at->second;
            if (at->second.y > high.y) high = at->second;
          }
        const Number n = quotient(high, low);
        out[x] = {n.q, n.error};
      }
    } else {
      out = least(v, c_.of, metric);
      if (!c_.over.empty()) {
        const Curve base = least(v, c_.over, over_metric);
        for (auto it = out.begin(); it != out.end();) {
          const auto b = base.find(it->first);
          if (b == base.end()) {
            it = out.erase(it);
            continue;
          }
          const Number n = quotient(it->second, b->second);
          it->second = {n.q, n.error};
          ++it;
        }
      }
    }
    for (const double end : {c_.from, c_.until})
      if (std::isfinite(end) && c_.reading == Reading::change && !out.contains(end)) return {};
    std::erase_if(out, [&](const auto& at) { return at.first < c_.from || at.first > c_.until; });
    return out;
  }

  // At each x that all of them have, the lowest.
  static Curve least(const PanelValues& v, const std::vector<const char*>& names, std::string_view metric) {
    Curve out;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Curve c = curve_of(v, measured_series(v, names[i]), metric);
      if (i == 0) out = c;
      std::erase_if(out, [&](const auto& at) { return !c.contains(at.first); });
      for (auto& [x, p] : out)
        if (const Point& other = c.at(x); other.y < p.y) p = other;
    }
    return out;
  }

  std::vector<Number> read(const std::vector<Curve>& curves) const {
    std::vector<Number> out;
    if (c_.reading == Reading::across) {
      for (const auto& [x, p] : curves.back())
        if (const auto first = curves[0].find(x); first != curves[0].end()) out.push_back(quotient(p, first->second));
      return out;
    }
    if (c_.reading == Reading::mean) {
      double sum = 0, squares = 0, n = 0;
      for (const Curve& c : curves)
        for (const auto& [x, p] : c)
          if (p.y > 0 && std::isfinite(p.y) && std::isfinite(p.error))
            sum += std::log(p.y), squares += p.error * p.error, ++n;
      if (n > 0) out.push_back({std::exp(sum / n), std::sqrt(squares) / n});
      return out;
    }
    for (const Curve& c : curves) {
      const Point &first = c.begin()->second, &last = c.rbegin()->second;
      switch (c_.reading) {
        case Reading::at_first:
          out.push_back({first.y, first.error});
          break;
        case Reading::at_last:
          out.push_back({last.y, last.error});
          break;
        case Reading::change:
          if (c.size() > 1) out.push_back(quotient(last, first));
          break;
        case Reading::steps:
          for (auto a = c.begin(), b = std::next(a); b != c.end(); ++a, ++b)
            out.push_back(quotient(b->second, a->second));
          break;
        case Reading::evenness: {
          Point low = first, high = first;
          for (const auto& [x, p] : c) {
            if (p.y < low.y) low = p;
            if (p.y > high.y) high = p;
          }
          out.push_back(quotient(high, low));
          break;
        }
        case Reading::spread:
          for (const auto& [x, p] : c)
            if (!std::isnan(p.low)) out.push_back({quotient(p.high, p.low), 0});
          break;
        default:
          for (const auto& [x, p] : c) out.push_back({p.y, p.error});
      }
    }
    return out;
  }

  // Confirmed if the curve is lowest in the range, or nearly as low there.
  Ruling lowest(const std::vector<Curve>& curves) const {
    Verdict verdict = Verdict::confirmed;
    std::string ours;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      const auto by_y = [](const auto& a, const auto& b) { return a.second.y < b.second.y; };
      const auto best = std::min_element(curves[i].begin(), curves[i].end(), by_y);
      Curve within = curves[i];
      std::erase_if(within, [&](const auto& at) { return at.first < c_.range.low || at.first > c_.range.high; });
      if (within.empty()) return without_rows();
      const auto there = std::min_element(within.begin(), within.end(), by_y);
      const Number more = quotient(there->second, best->second);
      if (!may_be_inside(more, at_most(1)))
        verdict = Verdict::contradicted;
      else if (!inside(more, at_most(1)) && verdict == Verdict::confirmed)
        verdict = Verdict::out_of_reach;
      const Unit u = panels_[i].unit(panels_[i].panel.ys[0]);
      ours +=
          fmt::format("{}lowest at {} ({})", ours.empty() ? "" : "; ", x_text(best->first), y_text(best->second.y, u));
      if (there->first != best->first)
        ours += fmt::format(", {} at {}", y_text(there->second.y, u), x_text(there->first));
    }
    return with(verdict, std::move(ours));
  }

  std::string text(double q) const {
    const bool raw = c_.over.empty() && !c_.apart &&
                     (c_.reading == Reading::everywhere || c_.reading == Reading::somewhere ||
                      c_.reading == Reading::at_first || c_.reading == Reading::at_last || c_.reading == Reading::mean);
    Unit unit = Unit::ratio;
    if (raw) {
      const Panel& p = panels_[0].panel;
      unit = p.ys[0].unit;
      for (const auto* metrics : {&p.ys, &p.also})
        for (const Metric& m : *metrics)
          if (*c_.metric && std::string_view(m.name) == c_.metric) unit = m.unit;
    }
    if (std::isinf(q)) return "infinitely many times";
    return unit == Unit::ratio && q >= 1e4 ? fmt::format("{:.1e}x", q) : y_text(q, unit);
  }

  const Claim& c_;
  const Experiment& experiment_;
  std::vector<PanelValues> panels_;
};

}  // namespace

std::span<const Claim> claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> list;
    add_habf_claims(list);
    add_seesaw_claims(list);
    add_stacked_claims(list);
    add_variable_hash_claims(list);
    add_learned_claims(list);
    return list;
  }();
  return all;
}

Ruling judge(const Claim& claim, const std::vector<const Json*>& lines) {
  Ruling out = Judge(claim, lines).make();
  if (std::string& remark = out.remark; !remark.empty()) {
    remark[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(remark[0])));
    if (!remark.ends_with('.')) remark += '.';
  }
  return out;
}

Json judged_claims(const std::vector<const Json*>& lines) {
  std::map<std::string, std::vector<const Json*>> by_figure;
  for (const Json* line : lines) by_figure[(*line)["experiment"].get<std::string>()].push_back(line);
  Json out = Json::array();
  for (const Claim& c : claims()) {
    const auto own = by_figure.find(c.experiment);
    if (own == by_figure.end()) continue;
    const Ruling ruling = judge(c, own->second);
    out.push_back({{"source", c.source},
                   {"text", c.text},
                   {"published", c.published},
                   {"figure", c.experiment},
                   {"series", ruling.series},
                   {"ours", ruling.ours},
                   {"verdict", kVerdictNames[static_cast<int>(ruling.verdict)]},
                   {"remark", ruling.remark}});
  }
  return out;
}

}  // namespace naysay::cli
