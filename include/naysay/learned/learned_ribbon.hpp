// SPDX-License-Identifier: Apache-2.0
// LearnedRibbon: a taught ribbon that also looks at the string. Strangers that look like the known negatives are
// accepted many times less often than by a ribbon of the same size, and no stranger more than max_times as often.
//
// One taught ribbon, the base, holds all keys, at max_times times the rate of a plain ribbon of the whole budget. That
// leaves log2(max_times) bits per key. They are spent where they save most: a model scores the string, the line of
// scores is cut into regions, and each region but the last has one more taught ribbon, of its own keys alone.
//
//   key --> base, all keys --no--> "no"                                     (nearly all strangers end here, unscored)
//              | yes
//              v
//            model --> score --> region --last--> "maybe"
//                                   |
//                                   +-----------> the region's ribbon --> "no" | "maybe"
//
// In the last region are most keys and few negatives; it needs no ribbon. In the others are few keys and most
// negatives; there a ribbon of many planes is cheap.
//
//   paper (partitioned learned Bloom filter)    here
//   region i, its rate f_i                      regions of learned/regions.hpp; base rate times the ribbon's rate
//   no bound: f_k = 1 in the last region        f_k = max_times * the plain rate
//
// Promises   never denies a key, also when it is queried by its digest alone: then the base answers.
//            Any kind of stranger, also one made to please the model, is accepted at the base's rate at most: that is
//            expected_fpr(). It is a mean over digests; someone who holds the filter can still search for accepted
//            strings. planned_fpr() is the rate on strangers like the known negatives.
//            Every known negative is refused wherever the taught ribbons can; the report says what is left over.
// Does not   help where keys and negatives look alike. If the planned gain is less than kWorthAModel, there is no
//            model, and the base is the taught ribbon of the whole budget, bit for bit. The weights tell something
//            about the keys to whoever reads the file.
// Cost       Query: strangers as in the base; what the base accepts is scored, three small reads per byte, and looked
//            up once more. Build: training (learned/detail/training.hpp) and the ribbons.
// Source     our own; the regions: Vaidya et al., 2021.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "naysay/core/cost_curve.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/scorer.hpp"
#include "naysay/learned/model.hpp"
#include "naysay/learned/regions.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"
#include "naysay/ribbon/taught_plan.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"

namespace naysay {

class LearnedRibbon {
 public:
  struct Params {
    double bits_per_key = 10;
    double max_times = 2;  // no kind of stranger is accepted more than this many times as often as by a plain ribbon
    std::uint32_t regions = 8;      // at most
    std::uint32_t log_weights = 0;  // the model has 2^log_weights weights of 4 bits; 0: the planner's choice

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("max_times", self.max_times);
      visit("regions", self.regions);
      visit("log_weights", self.log_weights);
    }
  };

  static constexpr Claims kClaims = {
      .about = "learns what keys look like: strangers like the known negatives pass 10 times less; bounded; static",
      .uses_negatives = true,
      .exact_on_negatives = true,
      .reads_bytes = true,
      .bounds_strangers = true,
      .fixed_bits = TaughtRibbon::kClaims.fixed_bits + 512,
  };

  static constexpr double kWorthAModel = 1.1;  // a lower planned rate by this factor is worth the model's time

  static Result<LearnedRibbon> build(const Workload& w, const Params& p, const BuildOptions& o = {});

  // Without the bytes: the base, which holds all keys.
  bool may_contain(Digest d) const noexcept { return base_.may_contain(d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept { base_.may_contain(keys, out); }
  bool may_contain(Digest d, std::string_view bytes) const noexcept {
    if (!base_.may_contain(d)) return false;
    if (extras_.empty()) return true;
    const std::size_t region = region_of(model().score(bytes));
    return region == extras_.size() || extras_[region].may_contain(d);
  }

  // On any kind of stranger, at most.
  double expected_fpr() const noexcept { return base_.expected_fpr(); }
  // On strangers like the known negatives, as the planner saw it.
  double planned_fpr() const noexcept { return is_learned() ? double{scorer_.planned_fpr} : expected_fpr(); }

  bool is_learned() const noexcept { return !scorer_.is_absent(); }
  const learned::Model& model() const noexcept { return scorer_.model; }
  const TaughtRibbon& base() const noexcept { return base_; }
  std::size_t regions() const noexcept { return extras_.size() + 1; }
  std::size_t region_of(std::int32_t score) const noexcept { return learned::region_of(cuts_, score); }
  // Of strangers whose score lies in the region.
  double region_fpr(std::size_t region) const noexcept {
    return base_.expected_fpr() * (region < extras_.size() ? extras_[region].expected_fpr() : 1);
  }

  void describe(Report& to) const {
    scorer_.describe(to);
    if (!is_learned()) return;
    to.add("fpr on any kind of stranger, at most", expected_fpr());
    for (std::size_t i = 0; i < regions(); ++i)
      to.add("fpr of region " + std::to_string(i) +
                 (i == 0 ? ", all lower scores" : ", scores from " + std::to_string(cuts_[i - 1]) + " on"),
             region_fpr(i));
  }

  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("scorer", self.scorer_);
    visit("cuts", self.cuts_);
    visit("base", self.base_);
    visit("extras", self.extras_);
  }
  Result<Ok> validate() const {
    if (auto ok = scorer_.validate("learned-ribbon"); !ok) return ok;
    if (auto ok = learned::validate_cuts("learned-ribbon", cuts_, extras_.size() + 1); !ok) return ok;
    if (!is_learned() && !extras_.empty())
      return Error{Errc::corrupt, "learned-ribbon: it has regions and no model; it must have both or neither"};
    if (auto ok = base_.validate(); !ok) return ok;
    for (const TaughtRibbon& extra : extras_)
      if (auto ok = extra.validate(); !ok) return ok;
    return Ok{};
  }

 private:
  static Result<Ok> check(const Params& p) {
    const auto wrong = [](const std::string& what) { return Error{Errc::invalid_argument, "learned-ribbon: " + what}; };
    if (!(p.max_times >= 1 && p.max_times <= 1e6))
      return wrong("max_times is " + to_text(p.max_times) + "; it must be 1 or more, and at most 1000000");
    if (p.regions < 2 || p.regions > learned::kMostRegions)
      return wrong("regions is " + std::to_string(p.regions) + "; it must be 2 to 16");
    return learned::check_log_weights("learned-ribbon", p.log_weights);
  }

  class Builder;

  learned::Scorer scorer_;
  Array<std::int32_t> cuts_;  // region i + 1 begins at score cuts_[i]
  TaughtRibbon base_;
  std::vector<TaughtRibbon> extras_;  // of the regions but the last
};

class LearnedRibbon::Builder {
 public:
  Builder(const Workload& w, const Params& p, const BuildOptions& o)
      : w_(w), o_(o), params_(p), keys_(static_cast<double>(w.keys.size())) {}

  Result<LearnedRibbon> build() {
    if (!learned::Teacher::can_teach(w_)) return plain(0);
    const double taught = taught_fpr();
    {
      const learned::Teacher teacher(w_, o_, "learned-ribbon");
      std::tie(lesson_, plan_) = teacher.best(params_.log_weights, [&](const auto& lesson) { return plan(lesson); });
      NAYSAY_CHECK(o_.go_on("learned-ribbon"));
      if (!(taught / plan_.rate >= kWorthAModel)) return plain(taught / plan_.rate);
      examples_ = teacher.examples();
    }
    auto made = with_model(false);
    if (made && left_over_ > 0) made = with_model(true);  // a ribbon of few planes cannot refuse all: the base can
    if (!made && made.error().code != Errc::out_of_budget) return made;
    const double gain = made ? taught / made->planned_fpr() : 0;
    if (gain < kWorthAModel || static_cast<double>(made->size_bits()) > budget() + double{kClaims.fixed_bits})
      return plain(gain);
    o_.say("planned gain", gain);
    report(*made);
    return made;
  }

 private:
  static constexpr unsigned kWidth = 128;
  // A taught ribbon of fewer planes leaves a few of its negatives over; the base is given those of such regions.
  static constexpr double kThin = 3.2;
  static constexpr ribbon::RibbonSizes kSizes{kWidth, ribbon::RibbonFit::quick};

  struct Plan {
    double rate = HUGE_VAL;  // on strangers like the known negatives
    double base_bits = 0;    // per key
    double extra_bits = 0;
    learned::Division division;
  };

  // The mean over shards of which a part has one plane more.
  static double ribbon_rate(double planes) noexcept {
    const double whole = std::floor(planes);
    return std::exp2(-whole) * (1 - (planes - whole) / 2);
  }
  static learned::Price price() noexcept {
    return {.bits_per_halving = kSizes.slots_per_key(),
            .fixed_bits = 1400,  // two headers, the cut, and rounding up to blocks
            .least_halvings = 1,
            .least_keys = 500,
            .rate = &ribbon_rate};
  }
  double budget() const noexcept { return params_.bits_per_key * keys_; }
  double plain_fpr() const noexcept { return ribbon_rate(std::min(kSizes.planes_within(params_.bits_per_key), 32.0)); }
  double base_fpr() const noexcept { return std::min(params_.max_times * plain_fpr(), 0.5); }
  double taught_fpr() const {
    return taught(params_.bits_per_key, static_cast<double>(w_.negatives.size()), 0).stranger_fpr;
  }
  ribbon::TaughtPlan taught(double bits, double negatives, unsigned width) const {
    return ribbon::plan({.keys = keys_, .bits_per_key = bits, .stranger_share = w_.stranger_share, .width = width},
                        CostCurve::of({}, static_cast<std::uint64_t>(negatives)));
  }
  // Bits per key of a base with this many negatives.
  double base_bits(double negatives) const {
    double bits = kSizes.bits_per_key(ribbon::RibbonSizes::planes_for(base_fpr()));
    for (int i = 0; i < 3; ++i)
      bits += kSizes.slots_per_key() * std::log2(taught(bits, negatives, kWidth).stranger_fpr / base_fpr());
    return std::ceil(bits * 64) / 64;  // in 64ths, so that no machine's logarithm is in the bytes
  }
  static bool base_refuses(const learned::Division& d, std::size_t region) noexcept {
    return region + 1 == d.regions.size() || d.regions[region].halvings < kThin;
  }

  Plan plan(const learned::Lesson& lesson) const {
    const auto bins = learned::bins_of(lesson.scores);
    Plan found;
    double negatives = 0;
    for (int i = 0; i < 3; ++i) {  // the base pays for the negatives of regions that depend on what it costs
      found.base_bits = base_bits(negatives);
      found.extra_bits = budget() - lesson.model_bits() - 1024 - found.base_bits * keys_;
      found.division = learned::divide(bins, price(), lesson.most_regions(params_.regions), found.extra_bits);
      if (found.division.regions.empty()) return {};
      double share = 0, all = 0;
      for (std::size_t r = 0; r < found.division.regions.size(); ++r) {
        all += found.division.regions[r].negatives;
        if (base_refuses(found.division, r)) share += found.division.regions[r].negatives;
      }
      negatives = share / all * static_cast<double>(w_.negatives.size());
    }
    found.rate = base_fpr() * found.division.rate;
    return found;
  }

  // The taught ribbon of the whole budget.
  Result<LearnedRibbon> plain(double gain) const {
    LearnedRibbon f;
    auto base = TaughtRibbon::build(w_, {.bits_per_key = params_.bits_per_key}, o_);
    if (!base) return std::move(base).error();
    f.base_ = std::move(*base);
    o_.say("weights", 0);
    o_.say("planned gain of a model; under " + to_text(kWorthAModel) + " there is none, and this is a taught-ribbon",
           gain);
    return f;
  }

  Result<LearnedRibbon> with_model(bool base_refuses_all) {
    learned::Division& division = plan_.division;
    const std::size_t last = division.regions.size() - 1;
    LearnedRibbon f;
    f.scorer_ = {lesson_.model, static_cast<float>(lesson_.scores.auc())};
    f.cuts_ = Array<std::int32_t>(last);
    for (std::size_t r = 0; r < last; ++r) f.cuts_.at_mut(r) = division.regions[r + 1].first;

    std::vector<std::uint8_t> where(w_.negatives.size());  // the region of each negative
    for (std::size_t i = 0; i < where.size(); ++i)
      where[i] = static_cast<std::uint8_t>(f.region_of(lesson_.model.score(w_.negative_bytes[i])));
    const auto some = [&](auto&& wanted) {
      Some out;
      for (std::size_t i = 0; i < where.size(); ++i)
        if (wanted(i)) {
          out.negatives.push_back(w_.negatives[i]);
          if (!w_.costs.empty()) out.costs.push_back(w_.costs[i]);
        }
      return out;
    };

    std::vector<bool> by_base(last + 1);  // the negatives of these regions are the base's
    for (std::size_t r = 0; r <= last; ++r) by_base[r] = base_refuses_all || base_refuses(division, r);
    if (base_refuses_all) plan_.base_bits = base_bits(static_cast<double>(w_.negatives.size()));
    {
      const Some known = some([&](std::size_t i) { return by_base[where[i]]; });
      auto base = TaughtRibbon::build(known.workload(w_, w_.keys), {.bits_per_key = plan_.base_bits, .width = kWidth},
                                      part_options());
      if (!base) return std::move(base).error();
      f.base_ = std::move(*base);
    }
    f.extras_.resize(last);
    // A small ribbon needs more than its share; the rest of it is what fixed_bits is for.
    const double over = static_cast<double>(f.base_.size_bits()) - plan_.base_bits * keys_;
    double left = budget() - static_cast<double>(f.size_bits()) + std::clamp(over, 0.0, kClaims.fixed_bits / 2.0);
    if (!learned::spend(division.regions, price(), left))
      return Error{Errc::out_of_budget, "learned-ribbon: nothing is left for its regions"};
    // From the least to the most keys, so that what one leaves over goes to a larger one.
    std::vector<std::size_t> order(last);
    for (std::size_t r = 0; r < last; ++r) order[r] = r;
    const auto cost = [&](std::size_t r) { return division.regions[r].keys * division.regions[r].halvings; };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
    double later = 0;
    for (const std::size_t r : order) later += cost(r);
    for (const std::size_t r : order) {
      std::vector<Digest> keys;
      for (std::size_t i = 0; i < w_.keys.size(); ++i)
        if (f.region_of(lesson_.key_scores[i]) == r) keys.push_back(w_.keys[i]);
      const Some known =
          some([&](std::size_t i) { return where[i] == r && !by_base[r] && f.base_.may_contain(w_.negatives[i]); });
      // The share of what is left, in 64ths of a bit.
      const double share = left * cost(r) / later / static_cast<double>(std::max<std::size_t>(keys.size(), 1));
      auto extra = TaughtRibbon::build(known.workload(w_, keys),
                                       {.bits_per_key = std::floor(share * 64) / 64, .width = kWidth}, part_options());
      if (!extra) return std::move(extra).error();
      left -= static_cast<double>(extra->size_bits()) - static_cast<double>(f.extras_[r].size_bits());
      later -= cost(r);
      f.extras_[r] = std::move(*extra);
    }

    // What the plan comes to with the ribbons as they are.
    double accepted = 0, seen = 0;
    for (std::size_t r = 0; r <= last; ++r) {
      accepted += division.regions[r].negatives * f.region_fpr(r);
      seen += division.regions[r].negatives;
    }
    f.scorer_.planned_fpr = static_cast<float>(accepted / seen);
    count_left_over(f);
    return f;
  }

  // A part of the known negatives, as a workload.
  struct Some {
    std::vector<Digest> negatives;
    std::vector<float> costs;
    Workload workload(const Workload& w, std::span<const Digest> keys) const {
      Workload part = w;
      part.keys = keys;
      part.negatives = negatives;
      part.costs = costs;
      part.key_bytes = part.negative_bytes = {};
      return part;
    }
  };

  BuildOptions part_options() const {
    BuildOptions part = o_;
    part.report = nullptr;
    return part;
  }

  void count_left_over(const LearnedRibbon& f) {
    std::vector<Digest> accepted;
    for (std::size_t i = 0; i < w_.negatives.size(); ++i)
      if (f.may_contain(w_.negatives[i], w_.negative_bytes[i])) accepted.push_back(w_.negatives[i]);
    std::sort(accepted.begin(), accepted.end());
    const auto keys = learned::are_keys(accepted, w_.keys);
    contradictions_ = std::count(keys.begin(), keys.end(), true);
    left_over_ = static_cast<std::ptrdiff_t>(accepted.size()) - contradictions_;
  }

  void report(const LearnedRibbon& f) const {
    o_.say("weights", static_cast<double>(std::uint64_t{1} << f.model().log_weights()));
    o_.say("model bits per key", lesson_.model_bits() / keys_);
    o_.say("training examples", examples_);
    o_.say("planning negatives", lesson_.planning);
    o_.say("auc on planning negatives", f.scorer_.auc);
    o_.say("planned stranger fpr", f.planned_fpr());
    o_.say("bound of the stranger fpr", f.expected_fpr());
    o_.say("base bits per key", static_cast<double>(f.base_.size_bits()) / keys_);
    o_.say("regions", static_cast<double>(f.regions()));
    for (std::size_t r = 0; r < f.regions(); ++r) {
      const std::string region = "region " + std::to_string(r);
      o_.say(region + " keys", plan_.division.regions[r].keys);
      o_.say(region + " planning negatives", plan_.division.regions[r].negatives - 1);
      o_.say(region + " fpr", f.region_fpr(r));
    }
    o_.say("left over", static_cast<double>(left_over_));
    o_.say("contradictions", static_cast<double>(contradictions_));
  }

  const Workload& w_;
  const BuildOptions& o_;
  const Params params_;
  const double keys_;
  learned::Lesson lesson_;
  Plan plan_;
  double examples_ = 0;
  std::ptrdiff_t left_over_ = 0, contradictions_ = 0;
};

inline Result<LearnedRibbon> LearnedRibbon::build(const Workload& w, const Params& p, const BuildOptions& o) {
  if (auto ok = check(p); !ok) return std::move(ok).error();
  return Builder(w, p, o).build();
}

static_assert(ByteFilter<LearnedRibbon> && BatchFilter<LearnedRibbon>);

}  // namespace naysay
