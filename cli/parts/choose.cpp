// SPDX-License-Identifier: Apache-2.0
#include "parts/choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "parts/table.hpp"

namespace naysay::cli {

namespace {

// "accepts ..."
std::string text_of(const ExpectedRates& r) {
  if (std::isnan(r.known_cost)) return percent(r.stranger_fpr);
  return fmt::format("{} of the known negatives by cost and {} of strangers", percent(r.known_cost),
                     percent(r.stranger_fpr));
}

}  // namespace

std::vector<Choice> choose(const FilterWish& wish) {
  std::vector<Choice> choices;
  bool cheapest = true;  // of those that use no negatives
  for (const Candidate& c : candidates(wish)) {
    if (c.filter->claims.uses_negatives) {
      choices.push_back({c.filter, "it is built to refuse every known negative"});
      continue;
    }
    choices.push_back({c.filter, fmt::format("it needs {} bits per key for its rate{}", cheapest ? "the fewest" : "few",
                                             wish.grows ? " of the filters that accept more keys later" : "")});
    cheapest = false;
  }
  return choices;
}

std::vector<Choice> rank(std::vector<Choice> choices, const FilterWish& wish, const Outlook& outlook, bool streamed) {
  std::vector<Candidate> unranked;
  for (const Choice& c : choices) unranked.push_back({c.filter});
  const std::vector<Candidate> ranked = naysay::rank(std::move(unranked), wish, outlook, streamed);
  std::vector<Choice> out;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Candidate& c = ranked[i];
    if (!c.expected) {
      out.push_back(
          *std::find_if(choices.begin(), choices.end(), [&](const Choice& o) { return o.filter == c.filter; }));
      continue;
    }
    std::string why = fmt::format("at this size it should accept {}", text_of(*c.expected));
    if (i + 1 < ranked.size() && ranked[i + 1].expected)
      why += fmt::format(", {} the next best, {}", ranked[i + 1].filter->name, text_of(*ranked[i + 1].expected));
    out.push_back({c.filter, std::move(why)});
  }
  return out;
}

}  // namespace naysay::cli
