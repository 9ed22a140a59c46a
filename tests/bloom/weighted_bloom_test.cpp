// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/weighted_bloom.hpp"

#include <gtest/gtest.h>

#include "naysay/bloom/bloom.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using sample::numbers;
using sample::zipf_costs;

template <class F>
double weighted_rate(const F& f, std::span<const Digest> negatives, std::span<const float> costs) {
  double all = 0, passed = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    all += costs[i];
    if (f.may_contain(negatives[i])) passed += costs[i];
  }
  return passed / all;
}

TEST(WeightedBloom, ErrsLessOnCostlyNegativesWithinTheSameBits) {
  const auto keys = numbers(0, 50'000), negatives = numbers(1 << 30, 50'000);
  const auto costs = zipf_costs(1, negatives.size());
  const WeightedBloom f =
      must_build<WeightedBloom>({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 8});
  const Bloom bloom = *Bloom::build({.keys = keys}, {.bits_per_key = 8});
  EXPECT_LE(f.size_bits(), 8u * 50'000 + WeightedBloom::kClaims.fixed_bits) << "the list is part of the size";
  EXPECT_LT(weighted_rate(f, negatives, costs), 0.5 * bloom.expected_fpr());
  EXPECT_LT(f.expected_fpr(), 1.5 * bloom.expected_fpr());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(WeightedBloom, ListsAsManyAsItIsToldAndSaysSo) {
  const auto keys = numbers(0, 10'000), negatives = numbers(1 << 30, 10'000);
  const auto costs = zipf_costs(1, negatives.size());
  Report report;
  must_build<WeightedBloom>({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 10, .listed = 300},
                            {.report = &report});
  const double listed = sample::must_say(report, "negatives listed");
  EXPECT_EQ(listed + sample::must_say(report, "negatives without room in their bucket"), 300);
  EXPECT_GT(listed, 240);
  EXPECT_EQ(sample::must_say(report, "bits of the list"), 100 * 64);
  const auto f =
      WeightedBloom::build({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 1, .listed = 5000});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::out_of_budget);
}

TEST(WeightedBloom, IsABloomFilterWhenCostsAreEqualZeroOrMissing) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  const std::vector<float> equal(negatives.size(), 3), none(negatives.size(), 0);
  const double bloom = Bloom::build({.keys = keys}, {})->expected_fpr();
  const double near = 0.05 * bloom;  // other positions than Bloom's, as many of them
  EXPECT_NEAR(must_build<WeightedBloom>({.keys = keys, .negatives = negatives, .costs = equal}).expected_fpr(), bloom,
              near);
  EXPECT_NEAR(must_build<WeightedBloom>({.keys = keys, .negatives = negatives, .costs = none}).expected_fpr(), bloom,
              near);
  EXPECT_NEAR(must_build<WeightedBloom>({.keys = keys, .negatives = negatives}).expected_fpr(), bloom, near);
  EXPECT_NEAR(must_build<WeightedBloom>({.keys = keys}).expected_fpr(), bloom, near);
}

TEST(WeightedBloom, NeverDeniesAKeyThatIsListedOrLooksLikeOne) {
  // All keys are listed negatives as well, and some later ones share a fingerprint with one.
  const auto keys = numbers(0, 20'000);
  const auto costs = zipf_costs(1, keys.size());
  WeightedBloom f =
      must_build<WeightedBloom>({.keys = keys, .negatives = keys, .costs = costs}, {}, {.capacity = 120'000});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  const auto later = numbers(1 << 20, 100'000);
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  for (const Digest& d : later) ASSERT_TRUE(f.may_contain(d));
}

TEST(WeightedBloom, WorksForOneKeyAndCopiesOfNegatives) {
  const auto keys = numbers(0, 1);
  std::vector<Digest> negatives(500, digest(77));
  const auto costs = zipf_costs(1, negatives.size());
  const WeightedBloom f =
      must_build<WeightedBloom>({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 200});
  EXPECT_TRUE(f.may_contain(keys[0]));
  EXPECT_FALSE(f.may_contain(negatives[0]));
}

}  // namespace
}  // namespace naysay
