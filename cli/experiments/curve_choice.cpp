// SPDX-License-Identifier: Apache-2.0
// Which curves a chart begins with.
#include <algorithm>
#include <string>
#include <vector>

#include "experiments/figures.hpp"

namespace naysay::cli {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kShown = 8;
constexpr const char* kFirst[] = {"bloom", "habf", "stacked-bloom", "ribbon", "taught-ribbon"};

}  // namespace

void show_some(Json& curves, const Json& published) {
  if (curves.size() <= kShown) return;
  const auto rank = [&](const Json& curve) {
    const std::string name = curve["name"].get<std::string>();
    for (const Json& p : published)
      if (p.contains("series") && (name == p["series"] || name.starts_with(p["series"].get<std::string>() + ": ")))
        return 0;
    const auto first = std::find(std::begin(kFirst), std::end(kFirst), curve.value("filter", ""));
    return first != std::end(kFirst) ? 1 : 2;
  };
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < curves.size(); ++i) order.emplace_back(rank(curves[i]), i);
  std::stable_sort(order.begin(), order.end());
  for (std::size_t i = kShown; i < order.size(); ++i) curves[order[i].second]["shown"] = false;
}

}  // namespace naysay::cli
