// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/atomic_bloom.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "sample.hpp"

namespace naysay {
namespace {

TEST(AtomicBloom, LosesNoKeyOfSeveralThreads) {
  // Few words, so that the writers meet in them.
  for (int round = 0; round < 50; ++round) {
    AtomicBloom f(2000, 10);
    std::vector<std::thread> writers;
    for (std::uint64_t w = 0; w < 4; ++w)
      writers.emplace_back([&f, w] {
        for (const Digest& d : sample::numbers(w * 500, 500)) {
          f.insert(d);
          if (!f.may_contain(d)) std::abort();
        }
      });
    for (std::thread& t : writers) t.join();
    for (const Digest& d : sample::numbers(0, 2000)) ASSERT_TRUE(f.may_contain(d));
  }
}

TEST(AtomicBloom, ErrsOnStrangersAsABloomFilterDoes) {
  AtomicBloom f(10'000, 10);
  for (const Digest& d : sample::numbers(0, 10'000)) f.insert(d);
  std::uint64_t hits = 0;
  for (const Digest& d : sample::numbers(1'000'000, 300'000)) hits += f.may_contain(d);
  EXPECT_TRUE(sample::rate_matches(hits, 300'000, std::pow(1 - std::exp(-0.7), 7), 0.05));
  EXPECT_EQ(f.size_bits(), 100'032u);
}

TEST(AtomicBloom, HasRoomForNothingToo) {
  AtomicBloom f(0);
  EXPECT_FALSE(f.may_contain(digest(1)));
  f.insert(digest(1));
  EXPECT_TRUE(f.may_contain(digest(1)));
}

}  // namespace
}  // namespace naysay
