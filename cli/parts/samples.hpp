// SPDX-License-Identifier: Apache-2.0
// Samples: a few measurements of the same thing, their median, and how far they lie apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

namespace naysay::cli {

struct Samples {
  std::vector<double> values = {};

  void add(double value) { values.push_back(value); }
  double median() const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? std::nan("") : sorted[sorted.size() / 2];
  }
  double mean() const {
    return values.empty() ? std::nan("")
                          : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  // The share of the sum that the largest has: near 1, the mean is the luck of one sample.
  double worst_share() const {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return sum > 0 ? *std::max_element(values.begin(), values.end()) / sum : 0;
  }
  // {"median", "low", "high", "of"}; with a mean in front for what is averaged, such as rates over several shuffles of the costs.
  nlohmann::ordered_json json(bool with_mean = false) const {
    if (values.empty()) return nullptr;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    nlohmann::ordered_json j;
    if (with_mean) j["mean"] = mean();
    j["median"] = median();
    j["low"] = *low;
    j["high"] = *high;
    j["of"] = values.size();
    return j;
  }
};

// The median of mine[i] / base[i]: each round is compared with the round of the base that ran next to it.
inline double median_ratio(const Samples& mine, const Samples& base) {
  Samples ratios;
  for (std::size_t i = 0; i < std::min(mine.values.size(), base.values.size()); ++i)
    ratios.add(mine.values[i] / base.values[i]);
  return ratios.median();
}

}  // namespace naysay::cli
