// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "naysay/any_filter.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
constexpr double kAny = 4096;  // bits per key: no limit

std::uint64_t accepted(const TaughtRibbon& f, std::span<const Digest> some) {
  std::vector<std::uint8_t> answers(some.size() + 1);
  f.may_contain(some, answers.data());
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < some.size(); ++i) hits += answers[i];
  return hits;
}

struct Exact {
  std::uint64_t keys, negatives;
  double most_bits;  // per key
};

TEST(TaughtExact, RefusesEveryNegativeInFewerBitsThanAnyBudgetThatTheUsualPlanIsCompleteAt) {
  for (const auto& [n, m, most_bits] : {Exact{1'662, 95'372, 8.8}, Exact{900, 300'000, 12.6}, Exact{5'000, 5'000, 2.4},
                                        Exact{20'000, 100'000, 4.5}, Exact{1, 1'000, 1'400}, Exact{64, 64, 40}}) {
    const auto keys = numbers(0, n), negatives = numbers(kFar, m);
    const auto f = sample::must_build<TaughtRibbon>({.keys = keys, .negatives = negatives},
                                                    {.bits_per_key = kAny, .exact = true}, {});
    EXPECT_EQ(accepted(f, keys), n);
    EXPECT_EQ(accepted(f, negatives), 0u) << n << " keys";
    EXPECT_LE(static_cast<double>(f.size_bits()) / static_cast<double>(n), most_bits) << n << " keys, " << m;
  }
}

// What the usual plan leaves over at 8.75 bits per key, exact=true does not.
TEST(TaughtExact, LeavesNothingOverWhereTheUsualPlanDoes) {
  const auto keys = numbers(0, 1'662), negatives = numbers(kFar, 95'372);
  const Workload w{.keys = keys, .negatives = negatives};
  EXPECT_GT(accepted(sample::must_build<TaughtRibbon>(w, {.bits_per_key = 8.75}, {}), negatives), 0u);
  EXPECT_EQ(accepted(sample::must_build<TaughtRibbon>(w, {.bits_per_key = 8.75, .exact = true}, {}), negatives), 0u);
}

TEST(TaughtExact, HoldsTheRateOfStrangers) {
  const auto strangers = numbers(2 * kFar, 200'000);
  for (std::uint64_t n : {700u, 20'000u})
    for (double rate : {0.3, 0.0012}) {
      const auto keys = numbers(0, n), negatives = numbers(kFar, 50'000);
      const auto f = sample::must_build<TaughtRibbon>({.keys = keys, .negatives = negatives},
                                                      {.bits_per_key = kAny, .exact = true, .stranger_fpr = rate}, {});
      EXPECT_LE(f.expected_fpr(), rate * (1 + 1e-9));
      EXPECT_EQ(accepted(f, negatives), 0u);
      const double expected = f.expected_fpr() * 200'000;
      EXPECT_LE(static_cast<double>(accepted(f, strangers)), expected + 5 * std::sqrt(expected));
    }
}

TEST(TaughtExact, AcceptsNothingOfNoKeysAndNeedsNoNegatives) {
  const auto some = numbers(kFar, 1'000);
  const auto none = sample::must_build<TaughtRibbon>({.negatives = some}, {.bits_per_key = kAny, .exact = true}, {});
  EXPECT_EQ(accepted(none, some), 0u);
  const auto all = sample::must_build<TaughtRibbon>({.keys = some}, {.bits_per_key = kAny, .exact = true}, {});
  EXPECT_EQ(accepted(all, some), 1'000u);
}

TEST(TaughtExact, FailsWithTheBitsThatItNeedsWhereTheBudgetIsTooSmall) {
  const auto keys = numbers(0, 20'000), negatives = numbers(kFar, 200'000);
  EXPECT_TRUE(
      sample::refused(TaughtRibbon::build({.keys = keys, .negatives = negatives}, {.bits_per_key = 3, .exact = true}),
                      Errc::out_of_budget, {"exact", "bits per key"}));
  EXPECT_TRUE(
      sample::refused(TaughtRibbon::build({.keys = keys, .negatives = negatives}, {.exact = true, .stranger_fpr = 0}),
                      Errc::invalid_argument, {"stranger_fpr", "more than 0"}));
}

TEST(TaughtExact, IsRememberedByTheFileAndSaidInTextOnly) {
  const auto keys = numbers(0, 1'000), negatives = numbers(kFar, 1'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto f = sample::must(AnyFilter::build(
      "taught-ribbon", w, {{"stranger_fpr", "0.25"}, {"exact", "true"}, {"bits_per_key", 20}, {"width", 64}}));
  const auto again = sample::must(AnyFilter::load(f.to_bytes()));
  const auto expected =
      std::vector<Param>{{"bits_per_key", "20"}, {"width", "64"}, {"exact", "true"}, {"stranger_fpr", "0.25"}};
  EXPECT_EQ(again.params().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(again.params()[i].name, expected[i].name);
    EXPECT_EQ(again.params()[i].value, expected[i].value);
  }
  // A file without it is as long as it was before there was such a parameter (tests/golden).
  const auto usual = sample::must(AnyFilter::build("taught-ribbon", w, {{"bits_per_key", 20}}));
  EXPECT_EQ(sample::must(AnyFilter::load(usual.to_bytes())).params()[2].value, "false");
}

}  // namespace
}  // namespace naysay
