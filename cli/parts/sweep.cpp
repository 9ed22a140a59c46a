// SPDX-License-Identifier: Apache-2.0
#include "parts/sweep.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "naysay/workload/random.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

std::string sweep_text(const std::vector<BudgetRows>& sweep, double stranger_share) {
  if (sweep.empty()) return "";
  std::vector<Table::Column> columns = {{"bits per key"}};
  for (const FilterRow& row : sweep[0].rows) columns.push_back({std::string(row.filter->name)});
  Table table(std::move(columns));
  for (const BudgetRows& at : sweep) {
    std::vector<std::string> cells = {number(at.bits_per_key)};
    for (const FilterRow& row : at.rows)
      cells.push_back(row.problem.empty() ? percent(expected_cost(row, stranger_share)) : "-");
    table.add(std::move(cells));
  }
  return table.text();
}

std::string next_better(const FilterRow& now, const std::vector<BudgetRows>& above, double stranger_share,
                        const std::string& measured_on) {
  const Estimate cost = now.judged.cost(stranger_share);
  double most = 0;
  for (const BudgetRows& at : above) {
    most = std::max(most, at.bits_per_key);
    const FilterRow* best = best_row(at.rows, stranger_share);
    const auto same = std::find_if(at.rows.begin(), at.rows.end(), [&](const FilterRow& row) {
      return row.filter == now.filter && row.problem.empty();
    });
    const auto cost_of = [&](const FilterRow& row) { return row.judged.cost(stranger_share); };
    const auto sentence = [&](const char* start, const FilterRow& row) {
      return fmt::format("{} {} bits per key upwards {} ({} of the cost accepted, {} now{}).", start,
                         number(at.bits_per_key), row.filter->name, percent(cost_of(row).value), percent(cost.value),
                         measured_on);
    };
    if (best && best->filter != now.filter && cost_of(*best).surely_below(cost) &&
        (same == at.rows.end() || cost_of(*best).surely_below(cost_of(*same))))
      return sentence("Another filter is better with more space: from", *best);
    // What is uncertain about the known negatives is the same for both.
    const auto surely = [&](const Judged& more) {
      return cost_of(*same).surely_below(cost) || (more.strangers.surely_below(now.judged.strangers) &&
                                                   !(more.known_cost.value > now.judged.known_cost.value));
    };
    if (same != at.rows.end() && surely(same->judged) && cost_of(*same).value <= cost.value / 2)
      return sentence("The same filter makes at most half of the errors from", *same);
  }
  return above.empty() ? "" : fmt::format("Up to {} bits per key no filter does better{}.", number(most), measured_on);
}

Sample sample_of(const Trial& trial, std::uint64_t most_keys, std::uint64_t seed) {
  Sample s;
  Random random(seed);
  const double part =
      std::min(1.0, static_cast<double>(most_keys) / static_cast<double>(std::max<std::size_t>(trial.keys.size(), 1)));
  // A random part, in order.
  const auto pick = [&](std::size_t size, auto&& take) {
    for (std::size_t i = 0; i < size; ++i)
      if (static_cast<double>(random() >> 11) * 0x1p-53 < part) take(i);
  };
  pick(trial.keys.size(), [&](std::size_t i) {
    s.keys.push_back(trial.keys[i]);
    if (!trial.key_bytes.empty()) s.key_bytes.push_back(trial.key_bytes[i]);
  });
  pick(trial.negatives.size(), [&](std::size_t i) {
    s.trial.negatives.push_back(trial.negatives[i]);
    s.trial.costs.push_back(trial.costs[i]);
    if (!trial.negative_bytes.empty()) s.trial.negative_bytes.push_back(trial.negative_bytes[i]);
  });
  s.trial.keys = s.keys;
  s.trial.key_bytes = s.key_bytes;
  s.trial.strangers = trial.strangers;
  s.trial.made_up = trial.made_up;
  s.trial.stranger_bytes = trial.stranger_bytes;
  return s;
}

}  // namespace naysay::cli
