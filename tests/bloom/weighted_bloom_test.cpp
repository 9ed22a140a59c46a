#include "naysay/bloom/weighted_bloom.hpp"

#include <gtest/gtest.h>

#include "naysay/bloom/bloom.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

// Costs 1 / rank: the first is the costliest.
std::vector<float> zipf(std::size_t n) {
  std::vector<float> costs(n);
  for (std::size_t i = 0; i < n; ++i) costs[i] = 1 / static_cast<float>(i + 1);
  return costs;
}

WeightedBloom must_build(const Workload& w, const WeightedBloom::Params& p = {}) {
  auto f = WeightedBloom::build(w, p);
  EXPECT_TRUE(f) << f.error().message;
  if (!f) std::abort();
  return std::move(*f);
}

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
  const auto costs = zipf(negatives.size());
  const WeightedBloom f = must_build({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 8});
  const Bloom bloom = *Bloom::build({.keys = keys}, {.bits_per_key = 8});
  EXPECT_LE(f.size_bits(), 8u * 50'000 + WeightedBloom::kClaims.fixed_bits) << "the list is part of the size";
  EXPECT_LT(weighted_rate(f, negatives, costs), 0.5 * bloom.expected_fpr());
  EXPECT_LT(f.expected_fpr(), 1.5 * bloom.expected_fpr());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(WeightedBloom, ListsAsManyAsItIsToldAndSaysSo) {
  const auto keys = numbers(0, 10'000), negatives = numbers(1 << 30, 10'000);
  const auto costs = zipf(negatives.size());
  Report report;
  must_build({.keys = keys, .negatives = negatives, .costs = costs, .report = &report},
             {.bits_per_key = 10, .listed = 300});
  ASSERT_EQ(report.lines.size(), 3u);
  EXPECT_EQ(report.lines[0].value + report.lines[1].value, 300);
  EXPECT_GT(report.lines[0].value, 240);
  EXPECT_EQ(report.lines[2].value, 100 * 64);
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
  EXPECT_NEAR(must_build({.keys = keys, .negatives = negatives, .costs = equal}).expected_fpr(), bloom, near);
  EXPECT_NEAR(must_build({.keys = keys, .negatives = negatives, .costs = none}).expected_fpr(), bloom, near);
  EXPECT_NEAR(must_build({.keys = keys, .negatives = negatives}).expected_fpr(), bloom, near);
  EXPECT_NEAR(must_build({.keys = keys}).expected_fpr(), bloom, near);
}

TEST(WeightedBloom, NeverDeniesAKeyThatIsListedOrLooksLikeOne) {
  // All keys are listed negatives as well, and some later ones share a fingerprint with one.
  const auto keys = numbers(0, 20'000);
  const auto costs = zipf(keys.size());
  WeightedBloom f = must_build({.keys = keys, .negatives = keys, .costs = costs, .capacity = 120'000});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  const auto later = numbers(1 << 20, 100'000);
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  for (const Digest& d : later) ASSERT_TRUE(f.may_contain(d));
}

TEST(WeightedBloom, WorksForOneKeyAndCopiesOfNegatives) {
  const auto keys = numbers(0, 1);
  std::vector<Digest> negatives(500, digest(77));
  const auto costs = zipf(negatives.size());
  const WeightedBloom f = must_build({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 200});
  EXPECT_TRUE(f.may_contain(keys[0]));
  EXPECT_FALSE(f.may_contain(negatives[0]));
}

}  // namespace
}  // namespace naysay
