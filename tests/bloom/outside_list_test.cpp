// SPDX-License-Identifier: Apache-2.0
// list = outside: the cost list of the papers' weighted filters.
#include "naysay/bloom/detail/outside_list.hpp"

#include <gtest/gtest.h>

#include "naysay/any_filter.hpp"
#include "naysay/bloom/weighted_bloom.hpp"
#include "naysay/bloom/weighted_counting_bloom.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;

TEST(OutsideList, KnowsItsNegativesAndNoOthers) {
  const auto listed = sample::numbers(0, 50);
  bloom::OutsideList list(listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) list.set(i, listed[i], static_cast<std::uint32_t>(i % 15 + 1));
  for (std::size_t i = 0; i < listed.size(); ++i) EXPECT_EQ(list.more(listed[i]), i % 15 + 1);
  for (const Digest& d : sample::numbers(1000, 10'000)) ASSERT_EQ(list.more(d), 0u);
  EXPECT_TRUE(list.validate(15));
  EXPECT_FALSE(list.validate(14));
}

template <class F>
void check_outside() {
  const auto keys = sample::numbers(0, 20'000), negatives = sample::numbers(1 << 30, 20'000);
  const auto costs = sample::zipf_costs(1, negatives.size());
  const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
  typename F::Params p;
  p.listed = 200;
  const F inside = must_build<F>(w, p);
  p.list = ListPlace::outside;
  const F outside = must_build<F>(w, p);
  for (const Digest& d : keys) ASSERT_TRUE(outside.may_contain(d));
  // The list is not part of the budget, but it is part of the size.
  const double budget = p.bits_per_key * 20'000;
  EXPECT_NEAR(static_cast<double>(outside.size_bits()), budget + 200 * 136, 2048);
  EXPECT_LE(static_cast<double>(inside.size_bits()), budget + 1024);
  double listed = 0, others = 0;
  for (std::size_t i = 0; i < 20'000; ++i) (i < 200 ? listed : others) += outside.may_contain(negatives[i]);
  EXPECT_EQ(listed, 0) << "at six functions more each, one of 200 is accepted in 100 runs";
  EXPECT_GT(others, 0);
  p.listed = 0;  // one in a thousand
  EXPECT_NEAR(static_cast<double>(must_build<F>(w, p).size_bits()), budget + 20 * 136, 2048);
}
TEST(OutsideList, IsNotPartOfTheBudgetOfAWeightedBloom) { check_outside<WeightedBloom>(); }
TEST(OutsideList, IsNotPartOfTheBudgetOfAWeightedCountingBloom) { check_outside<WeightedCountingBloom>(); }

TEST(OutsideList, ComesBackFromAFile) {
  const auto keys = sample::numbers(0, 3000), negatives = sample::numbers(1 << 30, 3000);
  const auto costs = sample::zipf_costs(1, negatives.size());
  for (const char* name : {"weighted-bloom", "weighted-counting-bloom"}) {
    const auto built = AnyFilter::build(name, {.keys = keys, .negatives = negatives, .costs = costs},
                                        {{"list", "outside"}, {"listed", "100"}});
    ASSERT_TRUE(built) << built.error().message;
    const auto again = AnyFilter::load(built->to_bytes());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->to_bytes(), built->to_bytes());
    for (const Digest& d : keys) ASSERT_TRUE(again->may_contain(d));
    for (const Digest& d : negatives) ASSERT_EQ(again->may_contain(d), built->may_contain(d));
  }
}

}  // namespace
}  // namespace naysay
