// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/bloom.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

// With lo + i * hi alone these rates are 9 and 18 % too high: near progressions meet in all their places.
TEST(Bloom, TheHashesOfASmallFilterAreAsGoodAsIndependentOnes) {
  struct Case {
    std::uint64_t n, strangers;
    Bloom::Params params;
  };
  for (const Case& c :
       {Case{100, 1'000'000, {.bits_per_key = 12}}, Case{300, 4'000'000, {.bits_per_key = 16, .k = 10}}}) {
    std::uint64_t hits = 0;
    double expected = 0;
    for (std::uint64_t set = 0; set < 4; ++set) {
      const auto f = Bloom::build({.keys = numbers(set << 32, c.n)}, c.params);
      ASSERT_TRUE(f);
      expected += f->expected_fpr() / 4;
      for (std::uint64_t i = 0; i < c.strangers / 4; ++i) hits += f->may_contain(digest((set << 32) + 1'000'000 + i));
    }
    EXPECT_TRUE(sample::rate_matches(hits, c.strangers, expected, 0.01)) << c.n << " keys";
  }
}

TEST(Bloom, HasTheRateOfTheFormula) {
  const auto keys = numbers(0, 50'000);
  for (std::uint32_t k : {1u, 2u, 3u, 4u, 7u, 12u}) {
    const auto f = Bloom::build({.keys = keys}, {.bits_per_key = 10, .k = k});
    ASSERT_TRUE(f);
    EXPECT_NEAR(f->expected_fpr() / bloom::fpr(10, k), 1, 0.03) << "k = " << k;
  }
}

TEST(Bloom, RefusesMoreHashesThanItHas) {
  const auto f = Bloom::build({}, {.k = 65});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().message, "bloom: k is 65; it must be at most 64, or 0 for the best");
}

}  // namespace
}  // namespace naysay
