// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/detail/shards.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>

#include "sample.hpp"

namespace naysay {
namespace {

TEST(Shards, EveryShardIsCalledOnceWithItsKeysInOrderOnAnyNumberOfThreads) {
  for (std::uint64_t shards : {1, 2, 7, 1000})
    for (unsigned threads : {1u, 4u})
      for (std::uint64_t n : {0, 1, 100, 5000}) {
        const auto keys = sample::numbers(0, n);
        std::vector<std::vector<std::uint64_t>> expected(shards), got(shards);
        std::vector<int> calls(shards, 0);
        for (const Digest& d : keys) expected[shard_of(d, shards)].push_back(d.lo);
        for_each_shard(keys, shards, threads, [&](std::uint64_t s, std::span<std::uint64_t> los) {
          ++calls[s];
          got[s].assign(los.begin(), los.end());
        });
        EXPECT_EQ(got, expected);
        EXPECT_EQ(calls, std::vector<int>(shards, 1));
      }
}

TEST(Shards, GroupsGiveTheSameAsOnePassOnTwoThreads) {
  // more keys than one group takes: several passes
  const std::uint64_t n = kGroupKeys + kGroupKeys / 2, shards = 50;
  std::vector<Digest> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = digest(i);
  std::vector<std::uint64_t> sum(shards, 0), expected(shards, 0), count(shards, 0);
  for (const Digest& d : keys) expected[shard_of(d, shards)] += d.lo;
  for_each_shard(keys, shards, 2, [&](std::uint64_t s, std::span<std::uint64_t> los) {
    count[s] += los.size();
    for (std::uint64_t lo : los) sum[s] += lo;
  });
  EXPECT_EQ(sum, expected);
  std::uint64_t total = 0;
  for (std::uint64_t c : count) total += c;
  EXPECT_EQ(total, n);
}

TEST(Shards, AKeySplitByLoOnTwoThreadsKeepsEverythingThatTellsItFromOthersOfItsShard) {
  const auto keys = sample::numbers(0, 20'000);
  for (std::uint64_t shards : {1, 3, 64}) {
    std::vector<std::uint64_t> sizes(shards, 0);
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for_each_shard(
        keys, shards, 2,
        [&](std::uint64_t s, std::span<std::uint64_t> words) {
          static std::mutex one_at_a_time;
          const std::lock_guard<std::mutex> lock(one_at_a_time);
          sizes[s] = words.size();
          for (std::uint64_t word : words) seen.emplace(s, word);
        },
        SplitByLo{});
    EXPECT_EQ(seen.size(), keys.size());
    EXPECT_EQ(sizes, shard_counts(keys, shards, SplitByLo{}));
    for (const Digest& d : keys) {
      const ShardSplit to = SplitByLo{}(d, shards);
      ASSERT_TRUE(seen.count({to.shard, to.word}));
    }
  }
}

TEST(Shards, ParallelForVisitsEveryIndexOnceOnAnyNumberOfThreads) {
  for (unsigned threads : {0u, 1u, 2u, 8u}) {
    std::vector<std::atomic<int>> seen(1000);
    parallel_for(seen.size(), threads, [&](std::uint64_t i) { ++seen[i]; });
    for (auto& s : seen) ASSERT_EQ(s.load(), 1);
  }
  parallel_for(0, 4, [](std::uint64_t) { FAIL(); });
}

}  // namespace
}  // namespace naysay
