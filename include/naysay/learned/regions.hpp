// SPDX-License-Identifier: Apache-2.0
// Regions: cuts the line of scores into regions, and gives each its own rate. Numbers in, numbers out.
//
//   negatives  ######                                 f_i   rate of region i: what part of its negatives is accepted
//              ########  ##
//      keys            ####   ####                    K_i   its keys, N_i its negatives
//                      #############                        (counted among negatives that the model has not seen)
//   score  ----+-----+----+---------->
//    region  0    1    2       last                   the last region has the highest rate, `most`
//
// A rate f_i costs K_i * bits_per_halving * log2(most / f_i) bits. For given cuts the best rates follow from setting
// all derivatives equal: f_i = mu * K_i / N_i, with mu from the budget. The sum of N_i * f_i is then mu times the keys,
// and mu falls with the sum of K_i * log2(K_i / N_i). That sum has one term per region, so dynamic programming finds
// the best cuts exactly. The last region is the exception: its rate is given. So every place where it can begin is
// tried; one table holds the best cuts in front of all of them.
//
//   paper       here
//   g, h        keys and negatives of a bin
//   N, k        bins (at most kBins), regions
//   DP_KL       best[r][b]: bins 0 .. b - 1 in r regions
//
// Promises   exact for the bins it is given, but for rates that would be above the least saving (`least_halvings`):
//            these are raised to it after the cuts are chosen. A region counts one negative more than it has seen, so
//            that no region is taken to be free of them.
// Cost       O(N^2 k) additions, under 5 ms.
// Source     Vaidya, Knorr, Kraska, Mitzenmacher: Partitioned learned Bloom filters, ICLR 2021; one table for all
//            beginnings of the last region: Sato and Matsui: Fast partitioned learned Bloom filter, NeurIPS 2023.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "naysay/learned/model.hpp"

namespace naysay::learned {

// How often each score comes, among keys and among negatives that were not trained with.
class Scores {
 public:
  struct Count {
    double keys = 0, negatives = 0;
  };

  // Requires a score that a Model gives.
  void add_key(std::int32_t score) noexcept { ++at(score).keys; }
  void add_negative(std::int32_t score) noexcept { ++at(score).negatives; }

  // Calls body(score, count) for every score that came, the lowest first.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::int32_t score = -kMost; score <= kMost; ++score)
      if (const Count& c = counts_[static_cast<std::size_t>(score + kMost)]; c.keys + c.negatives > 0) body(score, c);
  }
  Count total() const {
    Count sum;
    for_each([&](std::int32_t, const Count& c) { sum.keys += c.keys, sum.negatives += c.negatives; });
    return sum;
  }
  // The chance that a key has a higher score than a negative; equal scores count one half.
  double auc() const {
    const Count all = total();
    double below = 0, sum = 0;
    for_each([&](std::int32_t, const Count& c) {
      sum += c.keys * (below + c.negatives / 2);
      below += c.negatives;
    });
    return all.keys * all.negatives > 0 ? sum / (all.keys * all.negatives) : 0.5;
  }

 private:
  static constexpr std::int32_t kMost = Model::kMostWeight * static_cast<std::int32_t>(kMaxFeatures);
  Count& at(std::int32_t score) noexcept { return counts_[static_cast<std::size_t>(score + kMost)]; }
  std::vector<Count> counts_ = std::vector<Count>(2 * kMost + 1);
};

struct Bin {
  std::int32_t first;  // its lowest score
  double keys, negatives;
};
inline constexpr std::size_t kBins = 256;

// Neighbouring scores together, so that every bin has about the same share of keys and negatives.
inline std::vector<Bin> bins_of(const Scores& scores) {
  const auto all = scores.total();
  std::vector<Bin> bins;
  double share = 2;
  scores.for_each([&](std::int32_t score, const Scores::Count& count) {
    if (share >= 2.0 / (kBins - 1)) {
      bins.push_back({score, 0, 0});
      share = 0;
    }
    bins.back().keys += count.keys;
    bins.back().negatives += count.negatives;
    share += count.keys / std::max(all.keys, 1.0) + count.negatives / std::max(all.negatives, 1.0);
  });
  return bins;
}

struct Region {
  std::int32_t first = 0;  // its lowest score; of region 0 it is the lowest there is
  double keys = 0;
  double negatives = 0;  // one more than were seen; 0 in a last region that no score reaches
  double halvings = 0;   // log2(most / f_i); 0 in the last region
};

// What a region's filter costs and gives.
struct Price {
  double bits_per_halving = 1;  // for each key
  double fixed_bits = 0;        // for each region but the last
  double least_halvings = 0;    // below that there is no such filter
  double most_halvings = 30;
  double least_keys = 1;                      // fewer keys are not worth a filter
  double (*rate)(double halvings) = nullptr;  // null: 2^-halvings
};

struct Division {
  std::vector<Region> regions;                            // empty: nothing fits into the budget
  double rate = std::numeric_limits<double>::infinity();  // of all negatives, in units of the last region's rate
};

// Spends the budget on the regions but the last; false if it does not pay for the least of all of them.
inline bool spend(std::span<Region> regions, const Price& price, double bits) {
  const auto filters = regions.first(regions.size() - 1);
  const auto wish = [](const Region& r) { return std::log2(r.negatives / std::max(r.keys, 1.0)); };
  double left = (bits - price.fixed_bits * static_cast<double>(filters.size())) / price.bits_per_halving, keys = 0,
         wishes = 0;
  for (Region& r : filters) {
    r.halvings = 0;
    keys += r.keys;
    wishes += r.keys * wish(r);
  }
  if (left < price.least_halvings * keys) return false;
  // Those that want less than the least get the least, those that want more than the most the most; the others share
  // what is left, and may then be below the least themselves.
  std::vector<bool> fixed(filters.size());
  for (bool again = true; again && keys > 0;) {
    again = false;
    const double level = (left - wishes) / keys;
    for (std::size_t i = 0; i < filters.size(); ++i) {
      if (fixed[i]) continue;
      Region& r = filters[i];
      r.halvings = std::clamp(wish(r) + level, price.least_halvings, price.most_halvings);
      if (r.halvings == wish(r) + level) continue;
      fixed[i] = again = true;
      left -= r.keys * r.halvings;
      keys -= r.keys;
      wishes -= r.keys * wish(r);
    }
    if (keys < 0.5) break;
  }
  return true;
}

inline double rate_of(std::span<const Region> regions, const Price& price) {
  double accepted = 0, all = 0;
  for (const Region& r : regions) {
    accepted += r.negatives * (r.halvings == 0 ? 1 : price.rate ? price.rate(r.halvings) : std::exp2(-r.halvings));
    all += r.negatives;
  }
  return all > 0 ? accepted / all : 1;
}

// The division of at most `most_regions` that accepts the fewest negatives for this many bits.
inline Division divide(std::span<const Bin> bins, const Price& price, std::size_t most_regions, double bits) {
  const std::size_t n = bins.size();
  std::vector<double> keys(n + 1), negatives(n + 1);
  for (std::size_t b = 0; b < n; ++b) {
    keys[b + 1] = keys[b] + bins[b].keys;
    negatives[b + 1] = negatives[b] + bins[b].negatives;
  }
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const auto term = [&](std::size_t from, std::size_t to) {
    const double k = keys[to] - keys[from];
    return k < price.least_keys ? kNever : k * std::log2(k / (negatives[to] - negatives[from] + 1));
  };
  const std::size_t filters = std::max<std::size_t>(most_regions, 1) - 1;
  std::vector<std::vector<double>> best(filters + 1, std::vector<double>(n + 1, kNever));
  std::vector<std::vector<std::size_t>> cut(filters + 1, std::vector<std::size_t>(n + 1, 0));
  best[0][0] = 0;
  std::vector<double> terms(n + 1);
  for (std::size_t to = 1; to <= n; ++to) {
    for (std::size_t from = 0; from < to; ++from) terms[from] = term(from, to);
    for (std::size_t r = 1; r <= filters; ++r)
      for (std::size_t from = r - 1; from < to; ++from)
        if (const double sum = best[r - 1][from] + terms[from]; sum > best[r][to]) best[r][to] = sum, cut[r][to] = from;
  }

  Division found;
  std::vector<Region> regions;
  for (std::size_t r = 0; r <= filters; ++r)
    for (std::size_t last = 0; last <= n; ++last) {
      if (best[r][last] == kNever) continue;
      regions.assign(r + 1, {});
      for (std::size_t i = r + 1, to = n; i-- > 0;) {
        const std::size_t from = i == r ? last : cut[i + 1][to];
        regions[i] = {.first = i == 0      ? std::numeric_limits<std::int32_t>::min()
                               : from == n ? std::numeric_limits<std::int32_t>::max()
                                           : bins[from].first,
                      .keys = keys[to] - keys[from],
                      .negatives = from == to ? 0 : negatives[to] - negatives[from] + 1};
        to = from;
      }
      if (!spend(regions, price, bits)) continue;
      const double rate = rate_of(regions, price);
      if (rate < found.rate) found = {regions, rate};
    }
  return found;
}

}  // namespace naysay::learned
