// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/detail/bucket_places.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "naysay/core/hash.hpp"

namespace naysay {
namespace {

constexpr std::uint64_t kElements = 200'000, kBuckets = 37;

// Some elements have a bucket that does not exist.
std::uint64_t bucket_of(std::uint64_t i) { return mix64(i) % (kBuckets + 3); }

std::vector<std::vector<std::uint64_t>> one_by_one() {
  std::vector<std::vector<std::uint64_t>> buckets(kBuckets);
  for (std::uint64_t i = 0; i < kElements; ++i)
    if (const std::uint64_t b = bucket_of(i); b < kBuckets) buckets[b].push_back(i);
  return buckets;
}

TEST(BucketPlacesThreads, KeepTheOrderOfTheListForAnyNumberOfThreads) {
  const auto expected = one_by_one();
  for (unsigned threads : {0u, 1u, 2u, 3u, 16u}) {
    BucketPlaces places(kElements, kBuckets, threads, bucket_of);
    std::vector<std::vector<std::uint64_t>> buckets;
    for (std::uint64_t count : places.counts()) buckets.emplace_back(count, kElements);
    places.run([&](std::uint64_t i, std::uint64_t b, std::uint64_t place) { buckets[b][place] = i; });
    EXPECT_EQ(buckets, expected) << threads << " threads";
  }
}

TEST(BucketPlacesThreads, BearAnEmptyListAndNoBuckets) {
  const auto never = [](std::uint64_t, std::uint64_t, std::uint64_t) { FAIL(); };
  BucketPlaces empty(0, kBuckets, 4, bucket_of);
  EXPECT_EQ(empty.counts(), std::vector<std::uint64_t>(kBuckets, 0));
  empty.run(never);
  BucketPlaces none(kElements, 0, 4, bucket_of);
  EXPECT_TRUE(none.counts().empty());
  none.run(never);
}

}  // namespace
}  // namespace naysay
