// SPDX-License-Identifier: Apache-2.0
#include "naysay/learned/regions.hpp"

#include <gtest/gtest.h>

#include "hosts.hpp"
#include "sample.hpp"

namespace naysay::learned {
namespace {

// The higher the score, the more keys there are for each negative, as with any useful model.
std::vector<Bin> random_bins(std::uint64_t seed, std::size_t count) {
  sample::Words random(seed);
  std::vector<Bin> bins;
  for (std::size_t b = 0; b < count; ++b)
    bins.push_back({0, static_cast<double>(20 + random.below(1000)), static_cast<double>(random.below(1000))});
  const auto ratio = [](const Bin& bin) { return bin.keys / (bin.negatives + 1); };
  std::sort(bins.begin(), bins.end(), [&](const Bin& a, const Bin& b) { return ratio(a) < ratio(b); });
  for (std::size_t b = 0; b < count; ++b) bins[b].first = static_cast<std::int32_t>(10 * b);
  return bins;
}

// Every way to cut the bins.
Division by_trying_all(std::span<const Bin> bins, const Price& price, std::size_t most_regions, double bits) {
  Division best;
  const std::size_t n = bins.size();
  for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << n; ++cuts) {  // bit b: a region begins at bin b + 1
    if (static_cast<std::size_t>(std::popcount(cuts)) >= most_regions) continue;
    std::vector<Region> regions(1);
    regions[0].negatives = 1;
    for (std::size_t b = 0; b <= n; ++b) {
      if (b > 0 && (cuts >> (b - 1)) & 1)
        regions.push_back({.first = b < n ? bins[b].first : 0, .keys = 0, .negatives = b < n ? 1.0 : 0.0});
      if (b == n) break;
      regions.back().keys += bins[b].keys;
      regions.back().negatives += bins[b].negatives;
    }
    if (!spend(regions, price, bits)) continue;
    if (const double rate = rate_of(regions, price); rate < best.rate) best = {regions, rate};
  }
  return best;
}

TEST(Regions, AreTheBestThatThereAre) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto bins = random_bins(seed, 10);
    double keys = 0;
    for (const Bin& bin : bins) keys += bin.keys;
    for (double bits_per_key : {0.5, 1.0, 3.0}) {
      const Price price{.bits_per_halving = 1.44};
      const Division found = divide(bins, price, 4, bits_per_key * keys);
      const Division best = by_trying_all(bins, price, 4, bits_per_key * keys);
      ASSERT_FALSE(found.regions.empty());
      EXPECT_GE(found.rate, best.rate * (1 - 1e-9));
      EXPECT_LE(found.rate, best.rate * 1.01) << "seed " << seed << " at " << bits_per_key;
    }
  }
}

TEST(Regions, SpendTheWholeBudgetAndNotMore) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto bins = random_bins(seed, 40);
    const Price price{.bits_per_halving = 1.01, .fixed_bits = 100, .least_halvings = 1};
    double keys = 0;
    for (const Bin& bin : bins) keys += bin.keys;
    const Division found = divide(bins, price, 8, keys);
    ASSERT_FALSE(found.regions.empty());
    double bits = 0;
    for (std::size_t r = 0; r + 1 < found.regions.size(); ++r) {
      EXPECT_GE(found.regions[r].halvings, 1);
      bits += found.regions[r].keys * found.regions[r].halvings * price.bits_per_halving + price.fixed_bits;
    }
    EXPECT_EQ(found.regions.back().halvings, 0);
    EXPECT_LE(bits, keys * (1 + 1e-9));
    if (found.regions.size() > 1) EXPECT_GE(bits, keys * 0.999);
  }
}

TEST(Regions, GiveNothingAwayWhereNoNegativeWasSeen) {
  // The upper half has no negatives: one is assumed in each region, so it is not free.
  std::vector<Bin> bins;
  for (int b = 0; b < 20; ++b) bins.push_back({b, 100, b < 10 ? 50.0 : 0.0});
  const Division found = divide(bins, {.bits_per_halving = 1.44}, 5, 4000);
  for (const Region& r : found.regions) EXPECT_GE(r.negatives, 1);
}

TEST(Regions, CannotTellApartWhatIsAlike) {
  std::vector<Bin> bins;
  for (int b = 0; b < 100; ++b) bins.push_back({b, 1000, 1000});
  const Division found = divide(bins, {.bits_per_halving = 1}, 8, 100'000);
  EXPECT_NEAR(found.rate, 0.5, 0.01);  // what one bit per key gives without regions
}

TEST(Scores, CountPairsInTheRightOrder) {
  Scores scores;
  EXPECT_EQ(scores.auc(), 0.5);
  scores.add_key(5);
  scores.add_key(-3);
  scores.add_negative(-3);
  scores.add_negative(-100);
  EXPECT_DOUBLE_EQ(scores.auc(), (2 + 1.5) / 4);
  const auto bins = bins_of(scores);
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(bins[0].first, -100);
  EXPECT_EQ(bins[1].keys, 1);
  EXPECT_EQ(bins[1].negatives, 1);
}

TEST(Scores, FitIntoFewBins) {
  Scores scores;
  sample::Words random(3);
  for (int i = 0; i < 50'000; ++i) {
    scores.add_key(static_cast<std::int32_t>(random.below(2000)));
    scores.add_negative(-static_cast<std::int32_t>(random.below(2000)));
  }
  const auto bins = bins_of(scores);
  EXPECT_LE(bins.size(), kBins);
  EXPECT_GT(bins.size(), kBins / 2);
  double keys = 0;
  for (std::size_t b = 0; b < bins.size(); ++b) {
    keys += bins[b].keys;
    if (b > 0) EXPECT_LT(bins[b - 1].first, bins[b].first);
  }
  EXPECT_EQ(keys, 50'000);
}

}  // namespace
}  // namespace naysay::learned
