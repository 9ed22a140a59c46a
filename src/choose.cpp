// SPDX-License-Identifier: Apache-2.0
#include "naysay/choose.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "naysay/core/price.hpp"

namespace naysay {

namespace {

constexpr double kUsualFpr = 0.001;  // the rate at which prices are compared before the budget is known

std::optional<ExpectedRates> predict(const FilterType& t, const Outlook& outlook) {
  if (t.predict) return t.predict(outlook);
  if (!t.tunable || t.claims.uses_negatives) return std::nullopt;
  const double rate = rate_for_price(t.bits_per_key, outlook.bits_per_key);
  return ExpectedRates{.stranger_fpr = rate, .known_cost = std::numeric_limits<double>::quiet_NaN(), .cost = rate};
}

}  // namespace

std::vector<Candidate> candidates(const FilterWish& wish) {
  std::vector<Candidate> out;
  const auto fits = [&](const FilterType& t) {
    return (!wish.by_rate || t.tunable) && (!wish.grows || t.dynamic) && !t.claims.reads_bytes;
  };
  if (wish.negatives) {
    // A static filter spends no bits on changes that will not come, so those go first.
    for (const bool dynamic : {false, true})
      for (const FilterType& t : filter_types())
        if (t.claims.exact_on_negatives && t.dynamic == dynamic && fits(t)) out.push_back({&t});
  }
  std::vector<std::pair<double, const FilterType*>> others;  // a price may take a while to compute
  for (const FilterType& t : filter_types())
    if (t.tunable && !t.claims.uses_negatives && fits(t)) others.emplace_back(t.bits_per_key(kUsualFpr), &t);
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [price, type] : others) out.push_back({type});
  return out;
}

std::vector<Candidate> rank(std::vector<Candidate> candidates, const FilterWish& wish, const Outlook& outlook,
                            bool streamed) {
  if (streamed)
    std::erase_if(candidates, [](const Candidate& c) {
      return c.filter->claims.uses_negatives && !c.filter->claims.streams_negatives;
    });
  if (wish.grows || wish.by_rate || outlook.keys == 0) return candidates;
  for (Candidate& c : candidates) c.expected = predict(*c.filter, outlook);
  const auto rate = [](const Candidate& c) {
    return c.expected ? c.expected->cost : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return rate(a) < rate(b); });
  return candidates;
}

}  // namespace naysay
