// SPDX-License-Identifier: Apache-2.0
// What parts of a filter are made of: ranges of shards, costs counted in several places, arrays of which a part is used.
#include <gtest/gtest.h>

#include <utility>

#include "naysay/core/array.hpp"
#include "naysay/core/cost_curve.hpp"
#include "naysay/core/parts.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(PartRanges, HoldEveryShardOnceAndEveryDigestInOneOfThem) {
  for (std::uint64_t shards : {1, 2, 3, 64, 1001})
    for (std::uint64_t parts : {1, 2, 3, 7, 100}) {
      std::uint64_t next = 0;
      for (std::uint64_t i = 0; i < parts; ++i) {
        const ShardRange range = shard_range(shards, i, parts);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.first, range.last);
        next = range.last;
      }
      EXPECT_EQ(next, shards);
      sample::Words random(shards * 1000 + parts);
      for (int k = 0; k < 50; ++k) {
        const Digest d{random(), k == 0 ? 0 : k == 1 ? ~std::uint64_t{0} : random()};
        int holders = 0;
        for (std::uint64_t i = 0; i < parts; ++i) holders += falls_into(d, shard_range(shards, i, parts), shards);
        EXPECT_EQ(holders, 1);
      }
    }
}

TEST(PartRanges, KnowTheFirstDigestOfAShard) {
  for (std::uint64_t shards : {1, 2, 3, 7, 64, 1001}) {
    for (std::uint64_t s = 1; s < shards; ++s) {
      const auto hi = static_cast<std::uint64_t>(first_hi_of(s, shards));
      EXPECT_EQ(fast_range(hi, shards), s);
      EXPECT_EQ(fast_range(hi - 1, shards), s - 1);
    }
    EXPECT_EQ(first_hi_of(0, shards), Uint128{0});
    EXPECT_EQ(first_hi_of(shards, shards), Uint128{1} << 64);
  }
}

TEST(CostCountsOfParts, AddUpToThoseOfTheWholeExactlyAndInAnyOrder) {
  sample::Words random(5);
  std::vector<float> costs(20'000);
  for (float& cost : costs)
    cost = static_cast<float>(random.below(1 << 20)) / static_cast<float>(1 + random.below(5000));
  CostCounts whole, forwards, backwards;
  std::vector<CostCounts> parts(7);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    whole.add(costs[i]);
    parts[i % 7].add(costs[i]);
  }
  for (std::size_t i = 0; i < 7; ++i) {
    forwards.add(parts[i]);
    backwards.add(parts[6 - i]);
  }
  for (const CostCounts* sum : {&forwards, &backwards})
    for (std::uint32_t bin = 0; bin < CostCounts::kBins; ++bin) {
      const auto of = [&](const CostCounts& c) {
        const std::uint32_t i = bin - c.first_bin();
        return i < c.classes().size() ? c.classes()[i] : CostCounts::Class{};
      };
      ASSERT_EQ(of(*sum).count, of(whole).count) << bin;
      ASSERT_EQ(of(*sum).cost, of(whole).cost) << bin;
    }
}

TEST(SparseArray, IsZeroWhereNobodyWroteAndMovesAndCopiesAsOthersDo) {
  auto sparse = Array<std::uint64_t>::make_sparse(std::uint64_t{1} << 27);  // 1 GiB, of which two pages are made
  EXPECT_TRUE(sparse.owned());
  sparse.at_mut(5) = 7;
  sparse.at_mut((std::uint64_t{1} << 27) - 1) = 9;
  EXPECT_EQ(sparse[5], 7u);
  EXPECT_EQ(sparse[6], 0u);
  EXPECT_EQ(sparse[std::uint64_t{1} << 26], 0u);
  Array<std::uint64_t> moved = std::move(sparse);
  EXPECT_EQ(moved[(std::uint64_t{1} << 27) - 1], 9u);
  EXPECT_EQ(sparse.size(), 0u);  // NOLINT: what is left of it
  auto small = Array<std::uint64_t>::make_sparse(100);
  small.at_mut(3) = 4;
  const Array<std::uint64_t> copy = small;
  small = Array<std::uint64_t>(2);
  EXPECT_EQ(copy[3], 4u);
  EXPECT_EQ(copy.size(), 100u);
  EXPECT_TRUE(Array<std::uint64_t>::make_sparse(0).empty());
}

}  // namespace
}  // namespace naysay
