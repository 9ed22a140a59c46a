// SPDX-License-Identifier: Apache-2.0
#include "naysay/stacked/stacked_plan.hpp"

#include <gtest/gtest.h>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/stacked/stacked_rates.hpp"

namespace naysay::stacked {
namespace {

const PriceList& bloom() {
  static const PriceList list(bloom::bits_per_key);
  return list;
}

// Whole fingerprint bits, as a cuckoo filter has them: f bits at a load of 0.95 err on 8 slots.
double whole_bits(double fpr) { return std::ceil(std::log2(8 / fpr)) / 0.95; }
const PriceList& whole() {
  static const PriceList list(whole_bits);
  return list;
}

StackPlan plan(const PriceList& prices, const CostCurve& curve, double bits, double share = 0,
               StackProblem problem = {}) {
  problem.keys = 1e6;
  problem.bits = bits * 1e6;
  problem.strangers = std::max(share, kLeastStrangers);
  return plan_stack(prices, KnownList(curve, 1 - share), problem);
}

TEST(PriceList, FindsTheCornersOfWholeFingerprints) {
  ASSERT_EQ(whole().size(), 24u);  // 2^-1 .. 2^-24
  for (std::size_t i = 0; i < whole().size(); ++i) {
    EXPECT_NEAR(whole()[i].rate, std::exp2(-static_cast<double>(i) - 1), 1e-6 * whole()[i].rate);
    EXPECT_EQ(whole_bits(whole()[i].rate), whole()[i].bits);
  }
  EXPECT_EQ(whole().rate_for(4 / 0.95), 0.5);
  EXPECT_EQ(whole().rate_for(4.9 / 0.95), 0.5);
  EXPECT_EQ(whole().rate_for(3.9 / 0.95), 1);
  EXPECT_EQ(whole().bits_for(0.4), 5 / 0.95);
}

TEST(PriceList, FollowsASmoothBase) {
  for (double rate : {0.9, 0.5, 0.03, 0.001, 1e-6}) {
    EXPECT_NEAR(bloom().bits_for(rate), bloom::bits_per_key(rate), 1e-3);
    EXPECT_NEAR(bloom().rate_for(bloom::bits_per_key(rate)), rate, 1e-3 * rate);
  }
  EXPECT_EQ(bloom().rate_for(0), 1);
  EXPECT_TRUE(std::isinf(bloom().bits_for(1e-12)));
}

TEST(PlanStack, AgreesWithTheFormulas) {
  const CostCurve curve = CostCurve::zipf(0.75, 1e7);
  for (const PriceList* prices : {&bloom(), &whole()})
    for (double bits : {8.0, 11.0, 14.0})
      for (double share : {0.0, 0.1}) {
        const StackPlan p = plan(*prices, curve, bits, share);
        ASSERT_TRUE(p.found);
        const double psi = (1 - share) * curve.weight(p.known) / curve.weight();
        EXPECT_NEAR(p.wfpr / (stacked::fpr(p.rates, psi) + (share == 0 ? kLeastStrangers * p.stranger_fpr : 0)), 1,
                    1e-6);
        EXPECT_NEAR(p.stranger_fpr / stacked::stranger(p.rates), 1, 1e-9);
        const auto price = [&](double rate) { return prices->bits_for(rate * (1 + 1e-12)); };
        EXPECT_NEAR(p.bits / 1e6, stacked::bits_per_key(p.rates, p.known / 1e6, price), 1e-4);
        EXPECT_LE(p.bits / 1e6, bits * (1 + 1e-5));
      }
}

TEST(PlanStack, IsNeverWorseThanASingleLayer) {
  for (const PriceList* prices : {&bloom(), &whole()})
    for (double negatives : {1e3, 1e7})
      for (double exponent : {0.0, 1.0})
        for (double bits : {5.0, 9.7, 13.0})
          for (double share : {0.0, 0.5}) {
            const StackPlan p = plan(*prices, CostCurve::zipf(exponent, negatives), bits, share);
            ASSERT_TRUE(p.found);
            EXPECT_LE(p.wfpr, prices->rate_for(bits) * (1 + 1e-5));
          }
}

TEST(PlanStack, ReturnsOneLayerWhenStackingDoesNotPay) {
  EXPECT_EQ(plan(bloom(), CostCurve::zipf(0.75, 1e7), 10, 1.0).rates.size(), 1u) << "strangers only";
  EXPECT_EQ(plan(bloom(), CostCurve(), 10).rates.size(), 1u) << "no negatives";
  EXPECT_EQ(plan(bloom(), CostCurve::zipf(0, 1e9), 6).rates.size(), 1u) << "a thousand equal negatives per key";
}

// The layer rates optimised freely, by an independent computation: 1 M keys, 100 M negatives.
TEST(PlanStack, ReachesTheFreelyOptimisedLine) {
  const double bits[] = {6, 8, 10, 12, 14};
  const double line_075[] = {4.85e-2, 1.75e-2, 5.65e-3, 1.65e-3, 1.5e-5},
               line_100[] = {1.95e-2, 5.85e-3, 1.75e-3, 4.25e-4, 1.5e-5};
  for (int i = 0; i < 5; ++i) {
    EXPECT_LE(plan(bloom(), CostCurve::zipf(0.75, 1e8), bits[i]).wfpr, line_075[i]);
    EXPECT_LE(plan(bloom(), CostCurve::zipf(1.0, 1e8), bits[i]).wfpr, line_100[i]);
  }
}

TEST(PlanStack, FindsWhatTryingAllWholeFingerprintsFinds) {
  for (double exponent : {0.5, 0.75, 1.0})
    for (double bits : {8.0, 10.5, 13.0}) {
      const CostCurve curve = CostCurve::zipf(exponent, 1e7);
      const KnownList known(curve, 1);
      double least = whole().rate_for(bits);
      for (std::size_t x = 0; x < known.size(); ++x)
        for (std::size_t a = 0; a < whole().size(); ++a)
          for (std::size_t b = 0; b < whole().size(); ++b) {
            const double spent = whole()[a].bits + known[x].count / 1e6 * whole()[a].rate * whole()[b].bits;
            const double rest = whole().rate_for((bits - spent) / whole()[b].rate);
            if (rest == 1) continue;
            const double rates[] = {whole()[a].rate, whole()[b].rate, rest};
            least = std::min(least, stacked::fpr(rates, known[x].weight));
          }
      EXPECT_LE(plan(whole(), curve, bits, 0, {.layers = 3}).wfpr, 1.01 * least + 1e-7) << exponent << " at " << bits;
    }
}

TEST(PlanStack, TakesTheFewestBitsForAWantedRate) {
  for (double exponent : {0.5, 1.0})
    for (double bits : {7.0, 10.0, 13.0}) {
      const CostCurve curve = CostCurve::zipf(exponent, 1e7);
      const double reached = plan(bloom(), curve, bits, 0.01).wfpr;
      const StackPlan p = plan(bloom(), curve, 100, 0.01, {.wfpr = reached});
      ASSERT_TRUE(p.found);
      EXPECT_LE(p.wfpr, reached * (1 + 1e-5));
      EXPECT_NEAR(p.bits / 1e6, bits, 0.01 * bits);
    }
}

TEST(PlanStack, KeepsTheBoundOnStrangers) {
  const CostCurve curve = CostCurve::zipf(1.0, 1e7);
  for (double bits : {8.0, 10.0, 12.0})
    for (double times : {1.0, 1.1, 1.5}) {
      const double bound = times * bloom().rate_for(bits) * (1 + 1e-9);
      const StackPlan p = plan(bloom(), curve, bits, 0, {.max_stranger = bound});
      ASSERT_TRUE(p.found);
      EXPECT_LE(p.stranger_fpr, bound * (1 + 1e-5));
      EXPECT_GE(p.wfpr * (1 + 1e-5), plan(bloom(), curve, bits).wfpr);
      const StackPlan fewest = plan(bloom(), curve, 100, 0, {.wfpr = p.wfpr, .max_stranger = bound});
      ASSERT_TRUE(fewest.found);
      EXPECT_LE(fewest.stranger_fpr, bound * (1 + 1e-5));
      EXPECT_NEAR(fewest.bits / 1e6, bits, 0.01 * bits);
    }
  EXPECT_FALSE(plan(bloom(), curve, 8, 0, {.max_stranger = 1e-4}).found);
}

TEST(PlanStack, SaysWhenNothingFits) {
  EXPECT_FALSE(plan(whole(), CostCurve::zipf(1, 1e6), 3).found);
  EXPECT_FALSE(plan(bloom(), CostCurve::zipf(1, 1e6), 4, 0.5, {.wfpr = 1e-6}).found);
}

TEST(PlanStack, GivesThePlanAgainForTheRestOfTheStack) {
  const CostCurve curve = CostCurve::zipf(1.0, 1e6);
  const StackPlan whole_plan = plan(bloom(), curve, 9, 0.01);
  ASSERT_GE(whole_plan.rates.size(), 3u);
  const double a1 = whole_plan.rates[0];
  // After layer 1 a part a1 of everything is left, and its bits are spent.
  const KnownList left(whole_plan.known * a1, 0.99 * curve.weight(whole_plan.known) / curve.weight() * a1);
  const double unknown = 0.99 * (1 - curve.weight(whole_plan.known) / curve.weight());
  const StackPlan rest = plan_stack(bloom(), left,
                                    {.keys = 1e6,
                                     .bits = 9e6 - 1e6 * bloom().bits_for(a1),
                                     .strangers = a1 * (0.01 + unknown),
                                     .layers = kMaxLayers - 1,
                                     .negatives_next = true});
  ASSERT_TRUE(rest.found);
  EXPECT_NEAR(rest.wfpr / whole_plan.wfpr, 1, 0.02);
}

}  // namespace
}  // namespace naysay::stacked
