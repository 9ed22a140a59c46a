// SPDX-License-Identifier: Apache-2.0
// The seesaw rates: against filters that were built, against the paper's own approximations, and the optimiser.
#include <gtest/gtest.h>

#include <cmath>

#include "naysay/seesaw/seesaw.hpp"
#include "naysay/seesaw/seesaw_plan.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

struct Point {
  double bits_per_key;
  std::uint32_t k;
  double alpha;
  std::uint64_t encode;
  std::int32_t extra;
};
constexpr std::uint64_t kKeys = 40'000;
constexpr Point kPoints[] = {
    {12, 1, 0.10, 2'000, 0},  {12, 2, 0.10, 8'000, 0},  {16, 2, 0.20, 20'000, 0}, {20, 2, 0.05, 4'000, 0},
    {20, 3, 0.10, 8'000, 0},  {20, 3, 0.10, 40'000, 0}, {20, 5, 0.10, 8'000, 0},  {24, 3, 0.15, 20'000, 0},
    {28, 4, 0.10, 2'000, 0},  {28, 4, 0.30, 10'000, 0}, {20, 2, 0.01, 40'000, 4}, {20, 3, 0.10, 40'000, 4},
    {24, 4, 0.02, 40'000, 8}, {12, 1, 0.10, 8'000, 2},  {20, 2, 0.00, 40'000, 8}, {20, 3, 0.00, 20'000, 4},
    {28, 4, 0.00, 40'000, 4}, {16, 2, 0.00, 20'000, 0},
};

// Within 5 % or, where the hits are few, 5 standard deviations.
::testing::AssertionResult close(std::uint64_t hits, std::uint64_t asked, double expected) {
  return sample::rate_matches(hits, asked, expected, 0.05);
}

class SeesawRates : public ::testing::TestWithParam<std::tuple<Point, SeesawQuery>> {};

TEST_P(SeesawRates, PredictWhatAFilterDoes) {
  const auto [point, query] = GetParam();
  const auto keys = numbers(0, kKeys), negatives = numbers(10'000'000, point.encode),
             strangers = numbers(20'000'000, 200'000);
  const auto f = Seesaw::build({.keys = keys, .negatives = negatives}, {.bits_per_key = point.bits_per_key,
                                                                        .k = point.k,
                                                                        .alpha = point.alpha,
                                                                        .encode = point.encode,
                                                                        .extra = point.extra,
                                                                        .query = query});
  ASSERT_TRUE(f) << f.error().message;
  const seesaw::SeesawProblem q{.bits = point.bits_per_key * kKeys, .keys = kKeys};
  const auto extra = static_cast<unsigned>(point.extra);
  const seesaw::SeesawState s =
      seesaw::of_shape(seesaw::shape_of(q, point.k, extra, point.alpha, static_cast<double>(point.encode)), kKeys);
  std::uint64_t known = 0, other = 0;
  for (const Digest& d : negatives) known += f->may_contain(d);
  for (const Digest& d : strangers) other += f->may_contain(d);
  EXPECT_TRUE(close(known, negatives.size(), seesaw::known_fpr(query, s, point.k, extra))) << "known negatives";
  EXPECT_TRUE(close(other, strangers.size(), seesaw::stranger_fpr(query, s, point.k, extra))) << "strangers";
}

INSTANTIATE_TEST_SUITE_P(Points, SeesawRates,
                         ::testing::Combine(::testing::ValuesIn(kPoints),
                                            ::testing::Values(SeesawQuery::exact_path, SeesawQuery::two_round)));

TEST(SeesawTheory, AgreesWithTheLemmasWhereTheirApproximationsHold) {
  // few negatives and k = 1: then 1 - (1 - mu)^k is k * mu, as Lemmas V.5 and V.6 assume
  const seesaw::SeesawShape s{.counters = 50'000, .cells = 1000, .negatives = 500, .k = 1};
  const double keys = 10'000, mu = seesaw::leaning_share(s);
  EXPECT_NEAR(mu, 1 - std::exp(-500.0 / 50'000), 1e-12);                                          // V.1
  EXPECT_NEAR(seesaw::conflicting_keys(keys, mu, 1), keys * mu, 1e-9);                            // V.2
  EXPECT_NEAR(seesaw::load(0.5), 1 - std::exp(-0.5), 1e-12);                                      // V.3, s = 2
  EXPECT_NEAR(seesaw::modulated_share(0.4, mu, 2), 0.4 * (1 - mu) + 0.6 * (1 - mu * mu), 1e-12);  // V.4
  const double moved = 0.9;
  EXPECT_NEAR(seesaw::used_leaning(s, keys, mu, moved), 1 - std::exp(-keys / s.counters * (1 - moved)), 1e-9);  // V.5
  EXPECT_NEAR(seesaw::used_upright(s, keys, mu, moved), 1 - std::exp(-keys / s.counters * (1 + mu / (1 - mu) * moved)),
              1e-9);  // V.6
}

TEST(SeesawTheory, AveragesTheLoadWhileFilling) {
  for (double per_cell : {1e-9, 1e-3, 0.5, 1.0, 7.0}) {
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += seesaw::load(per_cell * (i + 0.5) / 100'000);
    EXPECT_NEAR(seesaw::average_load(per_cell) / (sum / 100'000), 1, 1e-6) << per_cell;
  }
}

TEST(SeesawTheory, GivesTheSimulatedRatesOfTheExactPath) {
  // with no leaning counter it is a counting Bloom filter
  const seesaw::SeesawState plain{0, 0, 0, 0.5, true};
  for (unsigned k : {1u, 3u, 8u})
    for (SeesawQuery query : {SeesawQuery::exact_path, SeesawQuery::two_round})
      EXPECT_NEAR(seesaw::stranger_fpr(query, plain, k, 0), std::pow(0.5, k), 1e-12);
  // all lean and all cells are full: nothing is moved, so the path is the k counters
  const seesaw::SeesawState all{1, 1, 0.5, 0, true};
  EXPECT_NEAR(seesaw::stranger_fpr(SeesawQuery::exact_path, all, 4, 0), std::pow(0.5, 4), 1e-12);
  EXPECT_NEAR(seesaw::stranger_fpr(SeesawQuery::exact_path, all, 4, 3), std::pow(0.5, 7), 1e-12);
  EXPECT_NEAR(seesaw::known_fpr(SeesawQuery::exact_path, all, 4, 3), std::pow(0.5, 7), 1e-12);
}

TEST(SeesawTheory, DrawsTheCostCurve) {
  const auto costs = sample::zipf_costs(1, 1000);
  const auto curve = seesaw::cost_points(costs, costs.size());
  ASSERT_FALSE(curve.empty());
  EXPECT_EQ(curve.front().count, 1u);
  EXPECT_EQ(curve.back().count, 1000u);
  EXPECT_NEAR(curve.back().share, 1, 1e-12);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i].count, curve[i - 1].count);
    EXPECT_NEAR(curve[i].share, seesaw::cost_share(costs, curve[i].count, costs.size()), 1e-9);
  }
  for (const auto& p : seesaw::cost_points({}, 64)) EXPECT_NEAR(p.share, static_cast<double>(p.count) / 64, 1e-12);
  EXPECT_TRUE(seesaw::cost_points({}, 0).empty());
}

// The optimiser against a much finer scan without its short cuts.
TEST(SeesawTheory, PlansWithinOnePercentOfAFullScan) {
  constexpr double kN = 100'000;
  for (double skew : {0.5, 1.0, 1.5})
    for (double bits : {14.0, 22.0, 30.0}) {
      const auto costs = sample::zipf_costs(skew, 100'000);
      const auto curve = seesaw::cost_points(costs, costs.size());
      const seesaw::SeesawProblem q{.bits = bits * kN, .keys = kN, .curve = curve, .stranger_share = 0.01};
      const seesaw::SeesawPlan plan = seesaw::plan(q);
      const seesaw::CostPoint planned{
          0, seesaw::cost_share(costs, static_cast<std::uint64_t>(plan.shape.negatives), 100'000)};
      const double most_lookalikes = seesaw::lookalikes(plan.shape) <= seesaw::kLookalikes ? seesaw::kLookalikes : 1;
      const double counters = bits / q.counter_bits;
      const unsigned plain_k = bloom::best_k(counters);
      double best = 5;
      for (unsigned k = 1; k <= plain_k + 2; ++k)
        for (unsigned extra : seesaw::kExtras)
          for (std::size_t i = 0; i < curve.size(); i += 2)
            for (unsigned a = 0; a <= 128; a += 3) {
              const auto s = seesaw::shape_of(q, k, extra, a / 256.0, static_cast<double>(curve[i].count));
              if (seesaw::lookalikes(s) > most_lookalikes || seesaw::stressed_fpr(q, s, curve[i]) >= best) continue;
              bool holds = true;
              for (double fill : seesaw::kFills)
                holds =
                    holds && seesaw::weighted_fpr(q, s, curve[i], fill * kN) <= bloom::fpr(counters / fill, plain_k);
              if (holds) best = seesaw::stressed_fpr(q, s, curve[i]);
            }
      EXPECT_LE(seesaw::stressed_fpr(q, plan.shape, planned), best * 1.01) << skew << " " << bits;
    }
}

TEST(SeesawTheory, PlansForFewLookalikesUnlessTheyAreWorthIt) {
  constexpr std::uint64_t kN = 100'000;
  const auto planned = [&](double skew, double bits) {
    const auto costs = sample::zipf_costs(skew, kN);
    const auto curve = seesaw::cost_points(costs, costs.size());
    return seesaw::plan({.bits = bits * kN, .keys = kN, .curve = curve, .stranger_share = 0.01}).shape;
  };
  for (double bits : {14.0, 20.0, 24.0, 28.0, 36.0, 48.0})
    EXPECT_LE(seesaw::lookalikes(planned(1, bits)), seesaw::kLookalikes) << bits;
  // With equal costs every negative that is left out costs as much as any other.
  EXPECT_GT(seesaw::lookalikes(planned(0, 20)), seesaw::kLookalikes);
  EXPECT_EQ(planned(0, 20).negatives, kN);
}

// Sparing the encoded ones decides between plans that are about as good, and never for one that encodes hardly any.
TEST(SeesawTheory, EncodesAllNegativesThatCostTheSameWhereBitsAreFew) {
  constexpr std::uint64_t kN = 100'000;
  const auto costs = sample::zipf_costs(0, kN);
  const auto curve = seesaw::cost_points(costs, costs.size());
  for (const auto& [bits, marks] : {std::pair(8.0, 1u), std::pair(10.0, 1u), std::pair(10.0, 2u), std::pair(16.0, 2u)})
    EXPECT_EQ(seesaw::plan({.bits = bits * kN,
                            .keys = kN,
                            .curve = curve,
                            .stranger_share = 0.01,
                            .mark_bits = marks,
                            .may_encode_nothing = marks == 1})
                  .shape.negatives,
              kN)
        << bits << " bits, " << marks << " marks";
}

TEST(SeesawTheory, NeverPlansWorseThanACountingBloomFilterAtAnyFillFromATenth) {
  for (double skew : {0.0, 0.5, 1.0, 1.5, 2.5})
    for (double bits : {6.0, 12.0, 20.0, 28.0, 36.0, 60.0})
      for (double strangers : {0.0, 0.01, 0.2, 1.0}) {
        const auto costs = sample::zipf_costs(skew, 20'000);
        const auto curve = seesaw::cost_points(costs, costs.size());
        const seesaw::SeesawProblem q{
            .bits = bits * 20'000, .keys = 20'000, .curve = curve, .stranger_share = strangers};
        const seesaw::SeesawPlan plan = seesaw::plan(q);
        const unsigned k = bloom::best_k(bits / 4);
        if (plan.shape.negatives == 0) {
          EXPECT_EQ(plan.shape.k, k);
          EXPECT_EQ(plan.shape.cells, 0);
          continue;
        }
        const seesaw::CostPoint point{
            0, seesaw::cost_share(costs, static_cast<std::uint64_t>(plan.shape.negatives), 20'000)};
        for (double fill = 0.1; fill < 1.001; fill += 0.05)
          EXPECT_LE(seesaw::weighted_fpr(q, plan.shape, point, fill * 20'000), 1.1 * bloom::fpr(bits / 4 / fill, k))
              << skew << " " << bits << " " << strangers << " at " << fill;
      }
}

TEST(SeesawTheory, EncodesNothingWhenAllQueriesAreAboutStrangers) {
  const auto costs = sample::zipf_costs(1, 1000);
  const auto curve = seesaw::cost_points(costs, costs.size());
  EXPECT_EQ(seesaw::plan({.bits = 28'000, .keys = 1000, .curve = curve, .stranger_share = 1}).shape.negatives, 0);
}

}  // namespace
}  // namespace naysay
