// SPDX-License-Identifier: Apache-2.0
// StackPlan: how many layers a stack has, how many known negatives it stores, and the rate of each layer.
//
//   PriceList    what a base costs:   rate  0.99  0.98  ...  0.01  ...  2^-24     (a smooth base)
//                                           0.38  0.19  ...  0.006 ...            (whole fingerprints)
//   KnownList    the weight of the x costliest negatives, for a few hundred x
//   plan_stack   both lists and a StackProblem in, a StackPlan out
//
// Every unknown is an index into one of the two lists, so a smooth base and one of whole fingerprints are searched by
// the same code. The first layer of keys is the "closing" layer. It is not searched: it gets the bits that the others
// leave (or, if a rate is wanted, just the bits that reach it). It is by far the largest, so this keeps the search away
// from the edge of the budget.
//
// For 1, 3, 5, .. layers: first a coarse grid with equal rates for the layers of keys and equal rates for those of
// negatives; then, from the best points of that grid and from the best smaller stack, moves of one or two unknowns by a
// halving step. Two more layers must lower the goal by kPays, or the smaller stack is kept.
//
// A problem may begin in the middle of a stack: after a layer is built, it is known what passed it, and the rest is
// planned again from there.
//
//   paper        here
//   T_L          StackPlan::rates.size()
//   |N_k|        StackPlan::known
//   EFPR, EFPB   StackPlan::wfpr, ::stranger_fpr
//
// Promises   Deterministic. By its own formulas never worse than one layer. `found` is false if nothing fits.
// Cost       Milliseconds, whatever the number of keys and negatives.
// Source     Deeds, 2020, sections 2.1.5 and 2.4.2; the search is our own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/cost_curve.hpp"
#include "naysay/core/price.hpp"

namespace naysay {

// The rates of a stack's layers: tuned by the planner, or the same for three layers, as in the Seesaw paper's baseline.
enum class StackedRates : std::uint8_t { tuned, equal };
inline constexpr std::string_view kStackedRates[] = {"tuned", "equal"};
constexpr std::span<const std::string_view> enum_names(StackedRates) noexcept { return kStackedRates; }

}  // namespace naysay

namespace naysay::stacked {

// Strangers have at least this weight, because the known negatives are never all. It ends the search for lower FPRs on
// the known ones below a millionth of the first layer's, where it would accept more strangers for no gain.
inline constexpr double kLeastStrangers = 1e-6;

inline constexpr std::size_t kMaxLayers = 7;  // as in the paper's Fig. 6, where 3 are nearly always enough

// The rates that a base offers and their bits per key: rates fall, bits rise, each rate is the lowest for its bits.
class PriceList {
 public:
  struct Point {
    double rate, bits;
  };

  template <class BitsPerKey>
  explicit PriceList(BitsPerKey&& bits_per_key) {
    double previous = 0;
    for (int i = 1; i <= kLastBit * kSteps; ++i) {
      const double rate = std::exp2(-static_cast<double>(i) / kSteps), bits = bits_per_key(rate);
      if (!std::isfinite(bits) || bits <= 0) continue;
      if (!points_.empty() && bits <= points_.back().bits) {
        points_.back() = {rate, std::min(bits, points_.back().bits)};
      } else {
        if (!points_.empty() && !neighbours({previous, 0}, points_.back())) {
          Point& last = points_.back();  // down to the lowest rate that still costs the same
          last.rate = rate_for_price(bits_per_key, last.bits, last.rate, rate);
        }
        previous = points_.empty() ? 1 : points_.back().rate;
        points_.push_back({rate, bits});
      }
    }
  }

  std::size_t size() const noexcept { return points_.size(); }
  const Point& operator[](std::size_t i) const noexcept { return points_[i]; }

  // The lowest rate for `bits` bits per key: between two points one step apart in proportion, else the lower point's; 1
  // if nothing is that cheap.
  double rate_for(double bits) const noexcept {
    const auto after =
        std::upper_bound(points_.begin(), points_.end(), bits, [](double b, const Point& p) { return b < p.bits; });
    if (after == points_.begin()) return 1;
    const Point& low = *(after - 1);
    if (after == points_.end() || !neighbours(low, *after)) return low.rate;
    return low.rate + (after->rate - low.rate) * (bits - low.bits) / (after->bits - low.bits);
  }
  // What a rate costs, by the same rule; infinity if nothing is that good.
  double bits_for(double rate) const noexcept {
    const auto first =
        std::lower_bound(points_.begin(), points_.end(), rate, [](const Point& p, double r) { return p.rate > r; });
    if (first == points_.end()) return std::numeric_limits<double>::infinity();
    if (first == points_.begin() || !neighbours(*(first - 1), *first)) return first->bits;
    const Point& high = *(first - 1);
    return high.bits + (first->bits - high.bits) * (high.rate - rate) / (high.rate - first->rate);
  }

 private:
  static bool neighbours(const Point& a, const Point& b) noexcept { return a.rate / b.rate < 1 + 1.5 / kSteps; }

  static constexpr int kSteps = 64;    // points per halving of the rate
  static constexpr int kLastBit = 24;  // down to 2^-24; the paper stops at 20 bits

  std::vector<Point> points_;
};

// The weight of the x costliest negatives, for x in geometric steps from both ends of the curve.
class KnownList {
 public:
  struct Point {
    double count, weight;
  };

  // Weights are scaled so that all negatives together weigh `share`.
  KnownList(const CostCurve& curve, double share) {
    const double all = curve.count(), scale = curve.weight() > 0 ? share / curve.weight() : 0;
    if (all < 1) return;
    std::vector<double> counts;
    for (int i = 0; i <= kSteps; ++i) {
      const double x = std::floor(std::pow(all, static_cast<double>(i) / kSteps));
      counts.push_back(x);
      if (x < all / 2) counts.push_back(all - x);
    }
    counts.push_back(all);
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    for (double x : counts) points_.push_back({x, scale * curve.weight(x)});
  }
  // Only `count` negatives, of that weight.
  KnownList(double count, double weight) : points_{{count, weight}} {}

  std::size_t size() const noexcept { return points_.size(); }
  const Point& operator[](std::size_t i) const noexcept { return points_[i]; }
  double weight() const noexcept { return points_.empty() ? 0 : points_.back().weight; }

 private:
  static constexpr int kSteps = 256;  // 7 % apart at 1e8 negatives

  std::vector<Point> points_;
};

struct StackProblem {
  double keys = 1;                  // keys that the next layer of keys would hold
  double bits = 0;                  // bits that may be used
  double layer_bits = 0;            // bits that a layer costs more than its price (LayerExtra),
  double layer_keys = 0;            // and keys that it pays for in addition
  double strangers = 1;             // weight of the queries about strangers that reach this layer
  double spare = 0;                 // standard deviations of keys for which layers after layer 2 have room
  double cold = 0;                  // share of the queries that only the first layer will answer
  double wfpr = 0;                  // 0: the lowest for the bits; else the fewest bits that reach it
  double max_stranger = 1;          // the highest FPR on strangers that reach this layer
  std::size_t layers = kMaxLayers;  // at most
  bool negatives_next = false;      // the next layer is one of negatives
  bool all_known_reach = false;     // known negatives are stored whether or not the layers of keys accept them
};

struct StackPlan {
  std::vector<double> rates;  // of the layers to come; empty if nothing fits, or if no layer is needed
  double known = 0;           // negatives to store
  double bits = 0;
  double wfpr = 1;
  double stranger_fpr = 1;
  bool found = false;
};

namespace detail {

// Two more layers cost every key two more queries: they must lower the FPR by 1 %, or the bits by what 1 % costs.
inline constexpr double kPays = 0.99, kPaysBits = 0.999;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

// [0]: into the KnownList; [i]: into the PriceList, for layer i. The first layer of keys follows from the others.
using StackChoice = std::array<std::uint32_t, kMaxLayers + 1>;

class StackSearch {
 public:
  StackSearch(const PriceList& prices, const KnownList& known, const StackProblem& problem)
      : prices_(prices), known_(known), problem_(problem), closing_(problem.negatives_next ? 2 : 1) {}

  // The goal of the stack: its weighted rate, or its bits if a rate is wanted; kNever if it is not allowed.
  double score(const StackChoice& choice, std::size_t layers, StackPlan* plan = nullptr) const {
    const KnownList::Point none{0, 0};
    const KnownList::Point& x = known_.size() == 0 || layers == 1 ? none : known_[choice[0]];
    const double other = problem_.strangers + known_.weight() - x.weight;
    // Layers before the closing one: at most one, of negatives.
    double keys = problem_.keys, accepted = 0, above = 1,
           fixed_bits = problem_.layer_bits * static_cast<double>(layers);
    if (closing_ == 2) {
      const auto [rate, price] = prices_[choice[1]];
      fixed_bits += (x.count + problem_.layer_keys) * price;
      keys *= rate;
      accepted = 1 - rate;
      above = rate;
    }
    // Layers after it, for a query that passes the closing layer.
    const double closing_keys = (closing_ == 2 ? at_most(keys) : keys) + problem_.layer_keys;
    double known = x.count, known_bits = 0, reaches = 1, passed = 0, known_reaches = 1;
    for (std::size_t i = closing_ + 1; i <= layers; ++i) {
      const auto [rate, price] = prices_[choice[i]];
      if ((i - closing_) % 2 == 1) {
        known_bits += known * price;
        fixed_bits += problem_.layer_keys * price;
        keys *= rate;
        passed += reaches * (1 - rate);
      } else {
        fixed_bits += (at_most(keys) + problem_.layer_keys) * price;
        known_reaches *= rate;
        if (!problem_.all_known_reach) known *= rate;
      }
      reaches *= rate;
    }
    passed += reaches;
    const double at_rate_1 = (1 - problem_.cold) * (other * above * passed + x.weight * known_reaches) + problem_.cold;
    if (problem_.all_known_reach) fixed_bits += known_bits, known_bits = 0;
    double rate;
    if (problem_.wfpr > 0) {
      rate = std::min((problem_.wfpr - other * accepted) / at_rate_1,
                      (problem_.max_stranger - accepted) / (above * passed));
      rate = std::min(rate, prices_[0].rate);
    } else {
      rate = close(closing_keys, known_bits, problem_.bits - fixed_bits);
    }
    if (!(rate > 0 && rate < 1)) return kNever;
    rate = rounded_up(rate);
    const double bits = fixed_bits + closing_keys * prices_.bits_for(rate) + known_bits * rate;
    const double stranger = accepted + above * rate * passed, wfpr = other * accepted + rate * at_rate_1;
    if (!(bits <= problem_.bits * (1 + 1e-5)) || stranger > problem_.max_stranger * (1 + 1e-5)) return kNever;
    if (plan) {
      plan->rates.clear();
      for (std::size_t i = 1; i <= layers; ++i) plan->rates.push_back(i == closing_ ? rate : prices_[choice[i]].rate);
      plan->known = x.count;
      plan->bits = bits;
      plan->wfpr = wfpr;
      plan->stranger_fpr = stranger;
      plan->found = true;
    }
    return problem_.wfpr > 0 ? bits : wfpr;
  }

  // The best stack of exactly `layers` layers found from the grid and from `smaller`.
  double best(std::size_t layers, const StackChoice& smaller, std::size_t smaller_layers, StackChoice& out) const {
    if (layers == closing_ && closing_ == 1) return out = {}, score(out, 1);
    constexpr std::size_t kRates = 24, kKnown = 32, kStarts = 8;
    struct Start {
      double score;
      StackChoice choice;
    };
    std::vector<Start> starts;
    const auto by_score = [](const Start& a, const Start& b) { return a.score < b.score; };
    const auto offer = [&](const StackChoice& choice) {
      if (const double s = score(choice, layers); s != kNever) starts.push_back({s, choice});
    };
    const auto spread = [](std::size_t i, std::size_t of, std::size_t size) {
      return static_cast<std::uint32_t>(of <= 1 ? 0 : i * (size - 1) / (of - 1));
    };
    const std::size_t rates = std::min(kRates, prices_.size()), knowns = std::min(kKnown, known_.size());
    for (std::size_t b = 0; b < rates; ++b) {
      StackChoice choice{};
      for (std::size_t c = 0; c < rates; ++c)
        for (std::size_t x = 0; x < knowns; ++x) {
          for (std::size_t i = 1; i <= layers; ++i) choice[i] = spread(i % 2 == 0 ? b : c, rates, prices_.size());
          choice[0] = spread(x, knowns, known_.size());
          offer(choice);
        }
      if (smaller_layers == 0) continue;
      choice = smaller;
      for (std::size_t i = smaller_layers + 1; i <= layers; ++i) choice[i] = spread(b, rates, prices_.size());
      offer(choice);
    }
    std::sort(starts.begin(), starts.end(), by_score);
    double least = kNever;
    std::vector<StackChoice> tried;
    for (Start& start : starts) {
      // Neighbours on the grid lead to the same place.
      const auto near = [&](const StackChoice& c) {
        const auto apart = [&](std::size_t i) {
          return std::abs(static_cast<int>(c[i]) - static_cast<int>(start.choice[i]));
        };
        if (apart(0) >= 32) return false;
        for (std::size_t i = 1; i <= layers; ++i)
          if (i != closing_ && apart(i) > static_cast<int>(prices_.size() / 12)) return false;
        return true;
      };
      if (std::any_of(tried.begin(), tried.end(), near)) continue;
      tried.push_back(start.choice);
      descend(start.choice, start.score, layers);
      if (start.score < least) least = start.score, out = start.choice;
      if (tried.size() == kStarts) break;
    }
    return least;
  }

 private:
  // How many keys pass a layer of negatives is random. The layer after it has room for some more than expected, because
  // with whole fingerprints there may be no smaller layer. The next plan uses what was not needed.
  double at_most(double keys) const noexcept { return keys + problem_.spare * std::sqrt(keys); }

  // The next float above: the last bits of a double differ between compilers, and plans must not. Not the float below,
  // which could cost another whole bit of fingerprint.
  static double rounded_up(double rate) noexcept {
    const auto near = static_cast<float>(rate);
    return near < rate ? std::nextafter(near, 2.0f) : near;
  }

  // The rate of the closing layer: the lowest at which keys * price + known_bits * rate fits. It is approached from
  // below: each round uses the bits that the last rate leaves after the layer of negatives.
  double close(double keys, double known_bits, double bits) const noexcept {
    double rate = 0;
    for (int round = 0; round < 64; ++round) {
      const double next = prices_.rate_for((bits - known_bits * rate) / keys);
      if (next >= 1) return 1;
      if (next - rate <= rate * 1e-6) return next;
      rate = next;
    }
    return rate;
  }

  // Moves one unknown, or two together, by a step that halves until it is 1.
  void descend(StackChoice& choice, double& least, std::size_t layers) const {
    const auto moved = [&](StackChoice& c, std::size_t i, std::int64_t by) {
      const auto last = static_cast<std::int64_t>(i == 0 ? known_.size() : prices_.size()) - 1;
      const std::int64_t to = std::clamp<std::int64_t>(static_cast<std::int64_t>(c[i]) + by, 0, last);
      const bool changed = to != c[i];
      c[i] = static_cast<std::uint32_t>(to);
      return changed && i != closing_;
    };
    const auto take = [&](const StackChoice& trial) {
      const double s = score(trial, layers);
      if (!(s < least * (1 - 1e-9))) return false;
      least = s;
      choice = trial;
      return true;
    };
    const auto move_one = [&](std::int64_t step) {
      bool gained = false;
      for (std::size_t i = 0; i <= layers; ++i)
        for (std::int64_t by : {-step, step})
          for (StackChoice one = choice; moved(one, i, by) && take(one); one = choice) gained = true;
      return gained;
    };
    const auto move_two = [&](std::int64_t step) {
      bool gained = false;
      for (std::size_t i = 1; i <= layers; ++i)
        for (std::size_t j = 0; j < i; ++j)
          for (std::int64_t by : {-step, step})
            for (std::int64_t and_by : {-step, step})
              for (StackChoice two = choice; moved(two, i, by) && moved(two, j, and_by) && take(two); two = choice)
                gained = true;
      return gained;
    };
    for (std::int64_t step = 64; step >= 1; step /= 2)
      while (move_one(step) || move_two(step)) continue;
  }

  const PriceList& prices_;
  const KnownList& known_;
  const StackProblem& problem_;
  std::size_t closing_;
};

}  // namespace detail

// Requires a problem of at least one layer (two, if negatives are next).
inline StackPlan plan_stack(const PriceList& prices, const KnownList& known, const StackProblem& problem) {
  using namespace detail;
  StackPlan plan;
  if (prices.size() == 0) return plan;
  const StackSearch search(prices, known, problem);
  StackChoice best{};
  double least = kNever;
  std::size_t best_layers = 0;
  for (std::size_t layers = problem.negatives_next ? 2 : 1; layers <= problem.layers; layers += 2) {
    StackChoice choice{};
    const double score = search.best(layers, best, best_layers, choice);
    if (best_layers != 0 && !(score < least * (problem.wfpr > 0 ? kPaysBits : kPays))) break;
    if (score == kNever) continue;
    least = score;
    best = choice;
    best_layers = layers;
    search.score(best, layers, &plan);
    if (known.size() == 0 || known.weight() <= 0) break;
  }
  return plan;
}

}  // namespace naysay::stacked
