// SPDX-License-Identifier: Apache-2.0
// The one list of experiments.
#include <string_view>

#include "experiments/experiment.hpp"

namespace naysay::cli {

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> list;
    add_our_own(list);
    add_learned_figures(list);
    add_habf_figures(list);
    add_seesaw_figures(list);
    add_stacked_figures(list);
    add_variable_hash_figures(list);
    return list;
  }();
  return all;
}

const Experiment* find_experiment(std::string_view name) {
  for (const Experiment& e : experiments())
    if (e.name == name) return &e;
  return nullptr;
}

const Panel& measured_panel(const Experiment& e, const Panel& p) {
  for (const Panel& other : e.panels)
    if (*p.from && std::string_view(other.id) == p.from) return other;
  return p;
}

std::vector<double> x_values(const Axis& axis, Size size) {
  if (size == Size::paper && !axis.paper.empty()) return axis.paper;
  if (size == Size::tiny && axis.quick.size() > 2) return {axis.quick.front(), axis.quick.back()};
  return axis.quick;
}

}  // namespace naysay::cli
