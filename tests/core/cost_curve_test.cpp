// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/cost_curve.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sample.hpp"

namespace naysay {
namespace {

std::vector<float> shuffled_zipf_costs(double exponent, std::size_t count) {
  const auto sorted = sample::zipf_costs(exponent, count);
  std::vector<float> costs(count);
  for (std::size_t i = 0; i < count; ++i) costs[(i * 7919) % count] = sorted[i];
  return costs;
}

TEST(CostCurve, AddsUpTheCostliest) {
  for (double exponent : {0.0, 0.5, 1.0, 2.0}) {
    auto costs = shuffled_zipf_costs(exponent, 50'000);
    const CostCurve curve = CostCurve::of(costs, costs.size());
    std::sort(costs.rbegin(), costs.rend());
    const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
    EXPECT_EQ(curve.count(), 50'000);
    EXPECT_NEAR(curve.weight(), total, 1e-9 * total);
    for (std::size_t x : {1, 2, 10, 500, 20'000, 49'999, 50'000})
      EXPECT_NEAR(curve.weight(static_cast<double>(x)), std::accumulate(costs.begin(), costs.begin() + x, 0.0),
                  0.002 * total / 10)
          << x << " of exponent " << exponent;
    EXPECT_EQ(curve.weight(0), 0);
    EXPECT_EQ(curve.weight(1e9), curve.weight());
  }
}

TEST(CostCurve, IsTheSameForAnyNumberOfThreads) {
  const auto costs = shuffled_zipf_costs(0.9, 30'000);
  const CostCurve one = CostCurve::of(costs, costs.size(), 1), four = CostCurve::of(costs, costs.size(), 4);
  for (double x = 1; x < 30'000; x *= 1.3) EXPECT_EQ(one.weight(x), four.weight(x));
}

TEST(CostCountsThreads, AreTheSameAsOneByOne) {
  const auto costs = shuffled_zipf_costs(0.9, (1 << 20) + 30'000);  // more than a thread counts in one go
  CostCounts one_by_one;
  for (const float cost : costs) one_by_one.add(cost);
  for (unsigned threads : {1u, 4u}) {
    const CostCounts counts = CostCounts::of(costs, costs.size(), threads);
    for (std::uint32_t bin = 0, seen = 0; bin < CostCounts::kBins; ++bin) {
      const auto at = [&](const CostCounts& of) {
        const std::uint32_t i = bin - of.first_bin();  // wraps below the first
        return i < of.classes().size() ? of.classes()[i] : CostCounts::Class{};
      };
      ASSERT_EQ(at(counts).count, at(one_by_one).count);
      ASSERT_EQ(at(counts).cost, at(one_by_one).cost);
      seen += at(counts).count > 0;
      if (bin + 1 == CostCounts::kBins) EXPECT_GT(seen, 100u);
    }
  }
  const CostCurve alike(CostCounts::of({}, 7));
  EXPECT_EQ(alike.count(), 7);
  EXPECT_EQ(alike.weight(), 7);
}

TEST(CostCurve, CutsOffTheCostliestInAnyOrderAndSharesOutEqualCosts) {
  const auto digests = sample::numbers(0, 50'000);
  for (double exponent : {0.0, 0.5, 1.0}) {
    const auto costs = shuffled_zipf_costs(exponent, digests.size());
    const CostCurve curve = CostCurve::of(costs, costs.size());
    for (double x : {1.0, 100.0, 20'000.0, 50'000.0}) {
      const CostCurve::Cut cut = curve.cut(x);
      double count = 0, weight = 0;
      for (std::size_t i = 0; i < digests.size(); ++i)
        if (cut.takes(costs[i], digests[i])) ++count, weight += costs[i];
      EXPECT_NEAR(count, x, 5 * std::sqrt(x) + 1) << "exponent " << exponent;
      EXPECT_NEAR(weight, curve.weight(x), 0.01 * curve.weight() + 5 * std::sqrt(x) * curve.weight() / 50'000);
    }
    EXPECT_FALSE(curve.cut(0).takes(costs[0] * 0.5f, digests[0]));
  }
}

TEST(CostCurve, KnowsNoNegativesAndWorthlessOnes) {
  EXPECT_EQ(CostCurve::of({}, 0).count(), 0);
  EXPECT_EQ(CostCurve::of({}, 0).weight(5), 0);
  const std::vector<float> nothing(100, 0.0f);
  EXPECT_EQ(CostCurve::of(nothing, 100).count(), 100);
  EXPECT_EQ(CostCurve::of(nothing, 100).weight(), 0);
  EXPECT_EQ(CostCurve::of(nothing, 100).after(1000).count, 0);
  EXPECT_EQ(CostCurve::of({}, 100).weight(40), 40);
}

TEST(CostCurve, KnowsWhatTheCheaperOnesCost) {
  const auto counted = [](std::vector<float> costs) {
    CostCounts counts;
    for (float cost : costs) counts.add(cost);
    return CostCurve(counts);
  };
  const CostCurve c = counted({1, 4, 2, 1, 0});
  EXPECT_EQ(c.count(), 5);
  EXPECT_EQ(c.weight(), 8);
  EXPECT_EQ(c.tail(0), 1);
  EXPECT_EQ(c.tail(1), 0.5);
  EXPECT_EQ(c.tail(2), 0.25);
  EXPECT_EQ(c.tail(3), 0.125);
  EXPECT_EQ(c.tail(3.5), 0.0625);
  EXPECT_EQ(c.tail(4), 0);
  EXPECT_EQ(c.tail(99), 0);
  EXPECT_EQ(CostCurve().tail(0), 0);
  EXPECT_EQ(counted({0, 0}).tail(0), 0);
}

TEST(CostCounts, HoldsOnlyTheBinsItNeedsInWhateverOrderCostsCome) {
  CostCounts none, alike;
  EXPECT_TRUE(none.classes().empty());
  for (int i = 0; i < 1000; ++i) alike.add(1);
  EXPECT_EQ(alike.classes().size(), 1u);
  const float costs[] = {1, 1e30f, 1e-30f, 0, 3, 2.9f, 1e38f, 5e-45f, 7, 1e-3f};
  std::vector<float> order(std::begin(costs), std::end(costs));
  std::sort(order.begin(), order.end());
  do {
    CostCounts counts;
    for (const float cost : order) counts.add(cost);
    ASSERT_LE(counts.classes().size(), std::size_t{1} << 16);
    std::uint64_t count = 0;
    double last = -1;
    for (const auto& c : counts.classes()) {
      count += c.count;
      if (c.count == 0) continue;
      ASSERT_GT(c.cost / static_cast<double>(c.count), last);  // the cheapest first
      last = c.cost / static_cast<double>(c.count);
    }
    ASSERT_EQ(count, std::size(costs));
    std::rotate(order.begin(), order.begin() + 3, order.end());
  } while (!std::is_sorted(order.begin(), order.end()));
}

TEST(CostCurve, OfCountedCostsCutsOffTheCostliest) {
  const auto digests = sample::numbers(0, 50'000);
  const auto costs = shuffled_zipf_costs(0.7, digests.size());
  CostCounts counts;
  for (float cost : costs) counts.add(cost);
  const CostCurve curve(counts);
  EXPECT_NEAR(curve.weight(), CostCurve::of(costs, costs.size()).weight(), 1e-9 * curve.weight());
  for (double x : {1.0, 100.0, 20'000.0, 50'000.0}) {
    double count = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) count += curve.cut(x).takes(costs[i], digests[i]);
    EXPECT_NEAR(count, x, 5 * std::sqrt(x) + 1);
  }
}

TEST(CostCurve, GivesZipfWithoutItsCosts) {
  for (double exponent : {0.5, 0.75, 1.0, 1.3}) {
    const auto costs = shuffled_zipf_costs(exponent, 200'000);
    const CostCurve real = CostCurve::of(costs, costs.size()), formula = CostCurve::zipf(exponent, 200'000);
    EXPECT_EQ(formula.count(), 200'000);
    EXPECT_NEAR(formula.weight() / real.weight(), 1, 1e-5);
    for (double x = 1; x < 200'000; x *= 1.7)
      EXPECT_NEAR(formula.weight(x) / formula.weight(), real.weight(x) / real.weight(), 0.002) << x;
  }
}

// E(psi) and E(N_k) against drawn samples.
TEST(CostCurve, ForeseesWhatASampleOfQueriesMeets) {
  constexpr std::size_t kCount = 20'000;
  for (double exponent : {0.5, 0.75, 1.0}) {
    const CostCurve curve = CostCurve::zipf(exponent, kCount);
    const auto costs = sample::zipf_costs(exponent, kCount);
    std::vector<double> cumulative(kCount);
    double total = 0;
    for (std::size_t i = 0; i < kCount; ++i) cumulative[i] = total += costs[i];
    for (std::size_t samples : {100, 5000, 50'000}) {
      sample::Words random(samples);
      std::vector<bool> met(kCount);
      double count = 0, share = 0;
      for (std::size_t s = 0; s < samples; ++s) {
        const double at = static_cast<double>(random() >> 11) * 0x1p-53 * total;
        const auto i = static_cast<std::size_t>(std::upper_bound(cumulative.begin(), cumulative.end() - 1, at) -
                                                cumulative.begin());
        if (met[i]) continue;
        met[i] = true;
        ++count;
        share += costs[i] / total;
      }
      const CostCurve::Seen seen = curve.after(static_cast<double>(samples));
      EXPECT_NEAR(seen.count, count, 5 * std::sqrt(count)) << samples << " of exponent " << exponent;
      EXPECT_NEAR(seen.share, share, 0.05 * share + 0.4 / std::sqrt(samples)) << samples << " of exponent " << exponent;
    }
  }
}

}  // namespace
}  // namespace naysay
