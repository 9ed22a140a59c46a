// SPDX-License-Identifier: Apache-2.0
// PanelValues: what was measured for one panel of an experiment, series by series and x by x.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/experiment.hpp"

namespace naysay::cli {

struct Value {
  double y = std::nan(""), low = std::nan(""), high = std::nan("");
  double of = 1;  // how many shuffles or rounds it was made of
  bool there() const { return !std::isnan(y); }
};

struct PanelValues {
  // Of these lines the ones that belong to the panel: those of the paper's size if there are any, else the quick ones,
  // else the tiny ones.
  PanelValues(const Experiment& e, const Panel& p, const std::vector<const nlohmann::ordered_json*>& all);

  // By x. As measured, and as drawn: divided by the series that is the unit, if there is one. Ratios of times are
  // measured over a filter that is given digests; those of filters that hash texts within the clock are drawn over one
  // that does so too, and not at all if that was not measured.
  std::map<double, Value> measured(const std::string& series, std::string_view metric) const;
  std::map<double, Value> drawn(const std::string& series, std::string_view metric) const;

  const Series* find_series(std::string_view name) const;  // null if there is none
  bool hashes_texts(const Series& s) const;
  const Metric& metric_of(const Published& p) const;
  // Whether it is the filter whose times are the unit of the others.
  bool is_unit(const Series* s) const { return s && std::string_view(s->filter) == source.setup.compared_with; }
  Unit unit(const Metric& m) const { return *panel.over ? Unit::ratio : m.unit; }

  // A published time says more of its machine than of its filter. Where a panel has some, its times are compared as
  // ratios to one filter's of the same run: ours by the metric NAME_over, the paper's divided by the paper's own.
  bool compares_ratios(const Metric& m) const;
  std::string compared_name(const Metric& m) const;  // the metric that is compared: itself, or NAME_over
  Unit compared_unit(const Metric& m) const { return compares_ratios(m) ? Unit::ratio : unit(m); }
  double compared_y(const Published& p) const;  // NaN if the paper gives no time of that filter

  const Experiment& experiment;
  const Panel& panel;
  const Panel& source;  // the panel that was measured: this one, or the one that it shows
  Size size = Size::tiny;
  std::map<std::string, std::map<double, const nlohmann::ordered_json*>> lines;  // series -> x -> line
};

}  // namespace naysay::cli
