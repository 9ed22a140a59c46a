// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/detail/digest_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample.hpp"

namespace naysay {
namespace {

TEST(DigestSet, FindsWhatItHoldsAndNothingElse) {
  for (std::size_t n : {0, 1, 2, 63, 64, 65, 10'000}) {
    const auto in = sample::numbers(0, n), out = sample::numbers(1'000'000, 1000);
    const DigestSet set = DigestSet::of(in);
    for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(set.find(in[i]), i) << n;
    for (const Digest& d : out) {
      ASSERT_EQ(set.find(d), DigestSet::kNone) << n;
      ASSERT_FALSE(set.contains(d)) << n;
    }
  }
}

TEST(DigestSet, GivesThePlaceOfTheFirstOfEqualDigests) {
  const std::vector<Digest> list = {{1, 2}, {3, 4}, {1, 2}, {0, 0}, {3, 4}, {0, 0}};
  DigestSet set(list);
  const std::uint32_t first[] = {0, 1, 0, 3, 1, 3};
  for (std::uint32_t i = 0; i < list.size(); ++i) EXPECT_EQ(set.add(i), first[i]);
  EXPECT_FALSE(set.contains({1, 3})) << "the same lo, another hi";
}

TEST(DigestSet, HoldsDigestsThatBeginAtOneCell) {
  std::vector<Digest> list;
  for (std::uint64_t i = 0; i < 500; ++i) list.push_back({~std::uint64_t{0} - i % 3, i});
  const DigestSet set = DigestSet::of(list);
  for (std::uint32_t i = 0; i < list.size(); ++i)
    ASSERT_EQ(set.find(list[i]), i) << "beyond the last cell comes the first";
  EXPECT_FALSE(set.contains({~std::uint64_t{0}, 500}));
}

}  // namespace
}  // namespace naysay
