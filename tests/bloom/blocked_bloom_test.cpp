#include "naysay/bloom/blocked_bloom.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::numbers;

BlockedBloom must_build(std::span<const Digest> keys, BlockedBloom::Params params) {
  auto f = BlockedBloom::build({.keys = keys}, params);
  EXPECT_TRUE(f) << f.error().message;
  return std::move(*f);
}

TEST(BlockedBloom, AllTwinsAgreeForEveryK) {
  const auto keys = numbers(0, 3000), questions = numbers(1500, 40'000);
  for (std::uint32_t k : {4u, 8u, 16u}) {
    const BlockedBloom::Params params{.bits_per_key = 8, .k = k};
    ScopedSimd plain(Simd::scalar);
    const BlockedBloom scalar = must_build(keys, params);
    std::vector<std::uint8_t> expected(questions.size()), batch(questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) expected[i] = scalar.may_contain(questions[i]);
    for (Simd level : {Simd::avx2, Simd::avx512}) {
      if (level > simd_supported()) continue;
      ScopedSimd vector(level);
      EXPECT_EQ(bytes_of(must_build(keys, params)), bytes_of(scalar)) << "k = " << k;
      scalar.may_contain(questions, batch.data());
      EXPECT_EQ(batch, expected) << "k = " << k;
      for (std::size_t i = 0; i < questions.size(); ++i) {
        ASSERT_EQ(scalar.may_contain(questions[i]), expected[i] == 1) << "k = " << k;
        ASSERT_EQ(scalar.test(scalar.probe(questions[i])), expected[i] == 1) << "k = " << k;
      }
    }
  }
}

TEST(BlockedBloom, AcceptsStrangersAsOftenAsTheFormulaSaysForEveryK) {
  const auto keys = numbers(0, 100'000), strangers = numbers(9'000'000, 500'000);
  for (std::uint32_t k : {4u, 8u, 16u}) {
    const BlockedBloom f = must_build(keys, {.bits_per_key = 10, .k = k});
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
    const BlockedBloom f = must_build(numbers(0, n), {.bits_per_key = 32.0 / 3});
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(sample::rate_matches(hits, strangers.size(), 0.00765, 0.03)) << n << " keys";
  }
}

TEST(BlockedBloom, TakesTheBestKForItsBudget) {
  EXPECT_EQ(bloom::split_block_best_k(5, 512), 4u);
  EXPECT_EQ(bloom::split_block_best_k(10, 512), 8u);
  EXPECT_EQ(bloom::split_block_best_k(25, 512), 16u);
  const auto f = BlockedBloom::build({}, {.k = 7});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().message, "blocked-bloom: k is 7; it must be 4, 8 or 16, or 0 for the best");
}

}  // namespace
}  // namespace naysay
