#include "parts/choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "naysay/ribbon/taught_plan.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

// The rate at which a filter that can price rates takes so many bits.
double rate_for(const FilterType& t, double bits_per_key) {
  double low = 0, high = 1;  // the price falls as the rate rises
  for (int i = 0; i < 200; ++i) {
    const double middle = i < 100 ? std::max(high * 0.5, low) : (low + high) / 2;
    (t.bits_per_key(middle) <= bits_per_key ? high : low) = middle;
  }
  return high;
}

struct Prediction {
  double rate;       // of cost, strangers and known negatives together
  std::string text;  // "accepts ..."
};

std::optional<Prediction> predict(const FilterType& t, const Known& known) {
  const CostCurve costs(known.costs);
  if (t.name == "taught-ribbon") {
    const auto plan = ribbon::plan(
        {.keys = known.keys, .bits_per_key = known.bits_per_key, .stranger_share = known.stranger_share}, costs);
    if (costs.count() == 0) return Prediction{plan.wfpr, percent(plan.stranger_fpr)};
    return Prediction{plan.wfpr, fmt::format("{} of the known negatives by cost and {} of strangers",
                                             percent(plan.known), percent(plan.stranger_fpr))};
  }
  if (!t.tunable || t.claims.uses_negatives) return std::nullopt;
  const double rate = rate_for(t, known.bits_per_key);
  return Prediction{rate, percent(rate)};
}

}  // namespace

std::vector<Choice> choose(const Wish& wish) {
  std::vector<Choice> choices;
  const auto fits = [&](const FilterType& t) {
    return (!wish.by_rate || t.tunable) && (!wish.grows || t.dynamic) && !t.claims.reads_bytes;
  };
  const auto add = [&](const FilterType* t, const char* why) {
    if (t && fits(*t)) choices.push_back({t, why});
  };
  if (wish.negatives) {
    // A static filter spends no bits on changes that will not come, so those go first.
    for (const bool dynamic : {false, true})
      for (const FilterType& t : filter_types())
        if (t.claims.exact_on_negatives && t.dynamic == dynamic)
          add(&t, "it is built to refuse every known negative you name");
  }
  if (wish.grows) {
    add(find_filter("cuckoo"), "keys will be added later, and it has the fewest bits a key of those that can");
  } else {
    add(find_filter("ribbon"), "of the filters that never change it has the lowest rate for its bits");
    add(find_filter("binary-fuse"), "it needs few bits for its rate and is quick to ask");
  }
  add(find_filter("bloom"), "it works at every budget");
  return choices;
}

std::vector<Choice> rank(std::vector<Choice> choices, const Wish& wish, const Known& known) {
  if (known.streamed)
    std::erase_if(choices, [](const Choice& c) {
      return c.filter->claims.uses_negatives && !c.filter->claims.streams_negatives;
    });
  if (wish.grows || wish.by_rate || known.keys == 0) return choices;
  struct Ranked {
    Choice choice;
    std::optional<Prediction> prediction;
    double rate() const { return prediction ? prediction->rate : std::numeric_limits<double>::infinity(); }
  };
  std::vector<Ranked> ranked;
  for (Choice& c : choices) ranked.push_back({c, predict(*c.filter, known)});
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
