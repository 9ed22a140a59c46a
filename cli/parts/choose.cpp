// SPDX-License-Identifier: Apache-2.0
#include "parts/choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "naysay/core/price.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

struct Prediction {
  double rate;       // of the cost of all negative queries
  std::string text;  // "accepts ..."
};

std::optional<Prediction> predict(const FilterType& t, const Outlook& outlook) {
  if (t.predict) {
    const ExpectedRates r = t.predict(outlook);
    if (std::isnan(r.known_cost)) return Prediction{r.cost, percent(r.stranger_fpr)};
    return Prediction{r.cost, fmt::format("{} of the known negatives by cost and {} of strangers",
                                          percent(r.known_cost), percent(r.stranger_fpr))};
  }
  if (!t.tunable || t.claims.uses_negatives) return std::nullopt;
  const double rate = rate_for_price(t.bits_per_key, outlook.bits_per_key);
  return Prediction{rate, percent(rate)};
}

constexpr double kUsualFpr = 0.001;  // the rate at which prices are compared before the budget is known

}  // namespace

std::vector<Choice> choose(const FilterWish& wish) {
  std::vector<Choice> choices;
  const auto fits = [&](const FilterType& t) {
    return (!wish.by_rate || t.tunable) && (!wish.grows || t.dynamic) && !t.claims.reads_bytes;
  };
  if (wish.negatives) {
    // A static filter spends no bits on changes that will not come, so those go first.
    for (const bool dynamic : {false, true})
      for (const FilterType& t : filter_types())
        if (t.claims.exact_on_negatives && t.dynamic == dynamic && fits(t))
          choices.push_back({&t, "it is built to refuse every known negative"});
  }
  std::vector<const FilterType*> others;
  for (const FilterType& t : filter_types())
    if (t.tunable && !t.claims.uses_negatives && fits(t)) others.push_back(&t);
  std::stable_sort(others.begin(), others.end(), [](const FilterType* a, const FilterType* b) {
    return a->bits_per_key(kUsualFpr) < b->bits_per_key(kUsualFpr);
  });
  for (const FilterType* t : others)
    choices.push_back({t, fmt::format("it needs {} bits per key for its rate{}", t == others[0] ? "the fewest" : "few",
                                      wish.grows ? " of the filters that accept more keys later" : "")});
  return choices;
}

std::vector<Choice> rank(std::vector<Choice> choices, const FilterWish& wish, const Outlook& outlook, bool streamed) {
  if (streamed)
    std::erase_if(choices, [](const Choice& c) {
      return c.filter->claims.uses_negatives && !c.filter->claims.streams_negatives;
    });
  if (wish.grows || wish.by_rate || outlook.keys == 0) return choices;
  struct Ranked {
    Choice choice;
    std::optional<Prediction> prediction;
    double rate() const { return prediction ? prediction->rate : std::numeric_limits<double>::infinity(); }
  };
  std::vector<Ranked> ranked;
  for (Choice& c : choices) ranked.push_back({c, predict(*c.filter, outlook)});
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.rate() < b.rate(); });
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Ranked& r = ranked[i];
    if (!r.prediction) continue;
    std::string why = fmt::format("at this size it should accept {}", r.prediction->text);
    if (i + 1 < ranked.size() && ranked[i + 1].prediction)
      why += fmt::format(", {} the next best, {}", ranked[i + 1].choice.filter->name, ranked[i + 1].prediction->text);
    choices[i] = {r.choice.filter, std::move(why)};
  }
  return choices;
}

}  // namespace naysay::cli
