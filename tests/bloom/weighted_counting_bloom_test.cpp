// SPDX-License-Identifier: Apache-2.0
// WeightedCountingBloom and its CostList.
#include "naysay/bloom/weighted_counting_bloom.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

TEST(CostList, GivesAListedNegativeItsNumber) {
  const auto listed = numbers(0, 1000), strangers = numbers(1'000'000, 100'000);
  bloom::CostList list(listed.size());
  std::vector<Digest> in;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (list.add(listed[i], static_cast<std::uint32_t>(1 + i % 15))) in.push_back(listed[i]);
  EXPECT_GE(in.size(), 880u) << "three a bucket of four";
  std::uint64_t wrong = 0, met = 0;
  for (std::size_t i = 0; i < listed.size(); ++i) wrong += list.more(listed[i]) != 1 + i % 15;
  EXPECT_LE(wrong, 130u);
  for (const Digest& d : in) ASSERT_NE(list.more(d), 0u);
  for (const Digest& d : strangers) met += list.more(d) != 0;
  EXPECT_LE(met, 150u) << "1 in 1400 is taken for a listed one";
  EXPECT_EQ(bloom::CostList().more(digest(1)), 0u);
  EXPECT_FALSE(bloom::CostList().add(digest(1), 3));
}

TEST(CostList, AsksMoreOfWhatCostsMore) {
  EXPECT_EQ(bloom::CostList::more_for(1, 1), 0u);
  EXPECT_EQ(bloom::CostList::more_for(8, 1), 3u);
  EXPECT_EQ(bloom::CostList::more_for(1e9, 1), 15u);
  EXPECT_EQ(bloom::CostList::more_for(1, 0), 15u);
  EXPECT_EQ(bloom::CostList::more_for(0, 0), 0u);
}

TEST(WeightedCountingBloom, ErrsLessOnWhatCostsMore) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1'000'000, 20'000);
  const auto costs = sample::zipf_costs(1, negatives.size());
  const auto f =
      WeightedCountingBloom::build({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 24});
  const auto plain = WeightedCountingBloom::build({.keys = keys}, {.bits_per_key = 24});
  ASSERT_TRUE(f && plain);
  double mine = 0, its = 0;
  std::uint64_t top = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    mine += f->may_contain(negatives[i]) * costs[i];
    its += plain->may_contain(negatives[i]) * costs[i];
    if (i < 200) top += f->may_contain(negatives[i]);
  }
  EXPECT_LT(mine, its * 0.7);
  EXPECT_LE(top, 3u);
  EXPECT_LE(f->size_bits(), 24u * 20'000 + 1024);
}

TEST(WeightedCountingBloom, SaysWhenTheListDoesNotFit) {
  const auto keys = numbers(0, 100), negatives = numbers(1000, 1000);
  const auto f =
      WeightedCountingBloom::build({.keys = keys, .negatives = negatives}, {.bits_per_key = 10, .listed = 1000});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::out_of_budget);
}

TEST(WeightedCountingBloom, KeepsKeysThatAreListedNegatives) {
  const auto keys = numbers(0, 2000);
  std::vector<float> costs(keys.size());
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = static_cast<float>(1 + i * i);
  auto f = WeightedCountingBloom::build({.keys = keys, .negatives = keys, .costs = costs},
                                        {.bits_per_key = 40, .listed = 500});
  ASSERT_TRUE(f);
  for (const Digest& d : keys) ASSERT_TRUE(f->may_contain(d));
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(f->erase(keys[i]));
  for (std::size_t i = 1000; i < 2000; ++i) ASSERT_TRUE(f->may_contain(keys[i]));
}

}  // namespace
}  // namespace naysay
