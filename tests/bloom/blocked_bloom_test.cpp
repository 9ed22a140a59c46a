// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/blocked_bloom.hpp"

#include <gtest/gtest.h>

#include "levels.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::numbers;

class BlockedBloomAtLevel : public levels::Test {};

TEST_P(BlockedBloomAtLevel, AnswersAndBuildsAsItsScalarCodeForEveryK) {
  const auto keys = numbers(0, 3000), questions = numbers(1500, 40'000);
  for (std::uint32_t k : {4u, 8u, 16u}) {
    const BlockedBloom::Params params{.bits_per_key = 8, .k = k};
    ScopedSimd plain(Simd::scalar);
    const auto scalar = must_build<BlockedBloom>({.keys = keys}, params);
    std::vector<std::uint8_t> expected(questions.size()), batch(questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) expected[i] = scalar.may_contain(questions[i]);
    ScopedSimd vector(GetParam());
    EXPECT_EQ(bytes_of(must_build<BlockedBloom>({.keys = keys}, params)), bytes_of(scalar)) << "k = " << k;
    scalar.may_contain(questions, batch.data());
    EXPECT_EQ(batch, expected) << "k = " << k;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      ASSERT_EQ(scalar.may_contain(questions[i]), expected[i] == 1) << "k = " << k;
      ASSERT_EQ(scalar.test(scalar.probe(questions[i])), expected[i] == 1) << "k = " << k;
    }
  }
}
NAYSAY_FOR_LEVELS(BlockedBloomAtLevel);

TEST(BlockedBloom, AcceptsStrangersAsOftenAsTheFormulaSaysForEveryK) {
  const auto keys = numbers(0, 100'000), strangers = numbers(9'000'000, 500'000);
  for (std::uint32_t k : {4u, 8u, 16u}) {
    const auto f = must_build<BlockedBloom>({.keys = keys}, {.bits_per_key = 10, .k = k});
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(sample::rate_matches(hits, strangers.size(), f.expected_fpr(), 0)) << "k = " << k;
    EXPECT_NEAR(f.expected_fpr() / bloom::split_block(10, k, 512), 1, 0.02) << "k = " << k;
  }
}

// 32-byte blocks have 0.944 % there.
TEST(BlockedBloom, TheRateDoesNotGrowWithTheNumberOfKeys) {
  const auto strangers = numbers(1'000'000'000, 400'000);
  for (std::uint64_t n : {10'000, 100'000, 2'000'000}) {
    const auto f = must_build<BlockedBloom>({.keys = numbers(0, n)}, {.bits_per_key = 32.0 / 3});
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(sample::rate_matches(hits, strangers.size(), 0.00765, 0.03)) << n << " keys";
  }
}

TEST(BlockedBloom, TakesTheBestKForItsBudget) {
  EXPECT_EQ(bloom::split_block_best_k(5, 512), 4u);
  EXPECT_EQ(bloom::split_block_best_k(10, 512), 8u);
  EXPECT_EQ(bloom::split_block_best_k(25, 512), 16u);
  EXPECT_TRUE(sample::refused(BlockedBloom::build({}, {.k = 7}), Errc::invalid_argument,
                              {"blocked-bloom", "k", "7", "4", "8", "16", "0"}));
}

}  // namespace
}  // namespace naysay
