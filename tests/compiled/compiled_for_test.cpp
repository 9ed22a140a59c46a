// SPDX-License-Identifier: Apache-2.0
// Typed filters that are compiled for a machine, in one program with files that are not: the same bytes and answers.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiled/answers.hpp"
#include "levels.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/key_front.hpp"

namespace naysay {
namespace {

using compiled::Answers;

std::vector<std::uint64_t> integers(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back((first + i) * 0x9e3779b97f4a7c15u);
  return all;
}

constexpr std::uint64_t kKeys = 110'000;  // two shards of xor, one of binary-fuse, a bumped ribbon

std::vector<Answers> answers_of(Simd level) {
  const auto keys = integers(0, kKeys), queries = integers(kKeys - 20'000, 60'000);
  switch (level) {
    case Simd::scalar:
      return compiled::answers_of_plain(keys, queries);
    case Simd::avx2:
      return compiled::answers_of_avx2(keys, queries);
    case Simd::avx512:
      return compiled::answers_of_avx512(keys, queries);
  }
  return {};
}

TEST(CompiledFor, TheFlagsOfAFileSayForWhich) {
  EXPECT_EQ(compiled::level_of_plain(), kCompiledFor);
#if NAYSAY_X86
  EXPECT_EQ(compiled::level_of_avx2(), std::max(kCompiledFor, Simd::avx2));
  EXPECT_EQ(compiled::level_of_avx512(), Simd::avx512);
#endif
}

class CompiledForLevel : public levels::Test {};

// ScopedSimd(scalar): files that are not compiled for a machine use their scalar code, the others do not care.
TEST_P(CompiledForLevel, AnswersAndBuildsAsCodeThatDecidesAtRunTime) {
  ScopedSimd plain(Simd::scalar);
  const auto expected = answers_of(Simd::scalar), all = answers_of(GetParam());
  ASSERT_EQ(all.size(), expected.size());
  ASSERT_GE(all.size(), 13u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_FALSE(expected[i].bytes.empty()) << "filter " << i << " was not built";
    EXPECT_EQ(all[i].bytes, expected[i].bytes) << "filter " << i;
    EXPECT_EQ(all[i].one_by_one, expected[i].one_by_one) << "filter " << i;
    EXPECT_EQ(all[i].by_digest, expected[i].by_digest) << "filter " << i;
    EXPECT_EQ(all[i].batch, expected[i].batch) << "filter " << i;
    EXPECT_EQ(all[i].one_by_one, all[i].by_digest) << "filter " << i;
    EXPECT_EQ(all[i].one_by_one, all[i].batch) << "filter " << i;
    EXPECT_EQ(std::count(all[i].one_by_one.begin(), all[i].one_by_one.begin() + 20'000, 1), 20'000) << "filter " << i;
  }
}

TEST_P(CompiledForLevel, AnswersAsTheLibraryDoesFromTheSameFile) {
  const auto queries = integers(kKeys - 20'000, 60'000);
  const auto all = answers_of(GetParam());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto f = AnyFilter::load(all[i].bytes);
    ASSERT_TRUE(f) << f.error().message;
    for (std::size_t q = 0; q < queries.size(); ++q)
      ASSERT_EQ(f->may_contain(queries[q]), all[i].one_by_one[q] == 1) << f->type().name << ", filter " << i;
  }
}
NAYSAY_FOR_LEVELS(CompiledForLevel);

}  // namespace
}  // namespace naysay
