// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/detail/sampled.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "naysay/bloom/bloom.hpp"
#include "naysay/core/hash.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(Sampled, TakesAllItemsOfASmallArray) {
  for (std::uint64_t n : {0, 1, 63, 64}) {
    std::vector<int> seen(n);
    EXPECT_EQ(for_each_sampled(n, 64, 8, [&](std::uint64_t i) { ++seen.at(i); }), n);
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

TEST(Sampled, TakesNoMoreOfALargeArrayAndSpreadsThemEvenly) {
  for (std::uint64_t n : {std::uint64_t{65}, std::uint64_t{1000}, std::uint64_t{1} << 40}) {
    std::vector<std::uint64_t> at;
    EXPECT_EQ(for_each_sampled(n, 64, 8, [&](std::uint64_t i) { at.push_back(i); }), 64u);
    ASSERT_EQ(at.size(), 64u);
    EXPECT_LT(at.back(), n);
    EXPECT_GE(at.back(), n / 9 * 7) << "the end is seen, too";
    for (std::size_t i = 1; i < at.size(); ++i) {
      ASSERT_LT(at[i - 1], at[i]);
      if (i % 8 != 0) ASSERT_EQ(at[i - 1] + 1, at[i]) << "a run";
    }
  }
}

TEST(Sampled, GivesTheRateOfALargeBloomFilter) {
  const auto keys = sample::numbers(0, 1'000'000);
  const auto f =
      sample::must_build<Bloom>({.keys = keys}, {.bits_per_key = 8});  // 125,000 words: twice what is sampled
  std::uint64_t hits = 0, asked = 1'000'000;
  for (std::uint64_t i = 0; i < asked; ++i) hits += f.may_contain(digest((std::uint64_t{1} << 40) + i));
  EXPECT_TRUE(sample::rate_matches(hits, asked, f.expected_fpr(), 0.01));
}

}  // namespace
}  // namespace naysay
