// SPDX-License-Identifier: Apache-2.0
#include "naysay/ribbon/taught_plan.hpp"

#include <gtest/gtest.h>

#include "naysay/core/negatives.hpp"

namespace naysay::ribbon {
namespace {

CostCurve curve(const std::vector<float>& costs) {
  CostCounts counter;
  for (float cost : costs) counter.add(cost);
  return CostCurve(counter);
}
CostCurve uniform(std::uint64_t count) { return curve(std::vector<float>(count, 1)); }

TEST(TaughtPlan, KnowsTheLimit) {
  // strangers unconstrained: 2.00 / 2.75 / 3.61 / 4.53 / 5.49 / 6.47 / 7.45 bits at 1 / 2 / 4 / ... / 64 per key
  const double expected[] = {2.00, 2.75, 3.61, 4.53, 5.49, 6.47, 7.45};
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(limit_bits_per_key(1e6, 1e6 * std::exp2(i), 1), expected[i], 0.005);
  EXPECT_NEAR(limit_bits_per_key(1e6, 1e6, std::exp2(-8)), 8 + std::log2(256.0 / 255), 1e-9);
}

TEST(TaughtPlan, PlansAPlainRibbonWithoutNegatives) {
  const TaughtPlan p = plan({.keys = 1e6, .bits_per_key = 8.1, .width = 128}, CostCurve());
  EXPECT_FALSE(p.exact);
  EXPECT_EQ(p.slack, 0);
  EXPECT_NEAR(p.wfpr, std::exp2(-8), std::exp2(-8) * 0.05);
}

TEST(TaughtPlan, TakesTheExactPlaneOnlyWhereItIsWorthASecondLook) {
  EXPECT_FALSE(plan({.keys = 1e6, .bits_per_key = 8, .stranger_share = 0.01}, uniform(1'000'000)).exact);
  const TaughtPlan p =
      plan({.keys = 1e5, .bits_per_key = 6.1, .stranger_share = 0.01, .width = 128}, uniform(1'600'000));
  EXPECT_TRUE(p.exact);
  EXPECT_TRUE(p.complete);
  EXPECT_EQ(p.known, 0);
}

TEST(TaughtPlan, TakesTheQuickWidthOnlyWhereAllKnownNegativesFit) {
  const auto costs = uniform(1'600'000);
  const TaughtPlan roomy = plan({.keys = 1e5, .bits_per_key = 8, .stranger_share = 0.01}, uniform(100'000));
  EXPECT_TRUE(roomy.complete);
  EXPECT_EQ(roomy.width, 64u);
  for (const double bits : {2.0, 3.0, 4.0, 5.0}) {
    const TaughtTask task{.keys = 1e5, .bits_per_key = bits, .stranger_share = 0.01};
    const TaughtPlan small = plan(task, costs);
    ASSERT_FALSE(small.complete) << bits;
    for (const unsigned width : {64u, 128u}) {
      TaughtTask fixed = task;
      fixed.width = width;
      EXPECT_LE(small.wfpr, plan(fixed, costs).wfpr) << bits << " bits, width " << width;
    }
  }
}

TEST(TaughtPlan, NeverPlansWorseWithMoreBits) {
  const auto costs = uniform(400'000);
  double before = 1;
  for (double bits = 0.5; bits < 14; bits += 0.25) {
    const double now = plan({.keys = 1e5, .bits_per_key = bits, .stranger_share = 0.1, .width = 64}, costs).wfpr;
    EXPECT_LE(now, before * kWorthExactPlane) << bits;
    before = now;
  }
}

TEST(TaughtPlan, SparesStrangersWhenTheyMakeUpTheTraffic) {
  const auto costs = uniform(400'000);
  const TaughtTask task{.keys = 1e5, .bits_per_key = 3.8, .stranger_share = 0.001, .width = 128};
  TaughtTask strange = task;
  strange.stranger_share = 0.999;
  EXPECT_LT(plan(task, costs).known, plan(strange, costs).known);
  EXPECT_LT(plan(strange, costs).stranger_fpr, plan(task, costs).stranger_fpr);
}

}  // namespace
}  // namespace naysay::ribbon
