// SPDX-License-Identifier: Apache-2.0
#include "naysay/quotient/quotient.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::numbers;

TEST(Quotient, AgreesWithAMapOfCountsUnderRandomOperationsAndIsSoundAfterEach) {
  for (double bits : {4.8, 6.0, 12.0, 30.0}) {
    sample::Words random(static_cast<std::uint64_t>(bits * 10));
    Quotient f = must_build<Quotient>({}, {.bits_per_key = bits}, {.capacity = 300});
    const auto universe = numbers(0, 250);
    std::map<std::uint64_t, std::uint64_t> model;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t i = random.below(universe.size());
      // favour few keys, so that counters grow long
      const std::uint64_t key = random.below(3) == 0 ? i % 5 : i;
      const bool grow = (step / 2000) % 2 == 0 ? random.below(3) > 0 : random.below(3) == 0;
      if (grow) {
        const auto before = bytes_of(f);
        if (f.insert(universe[key]))
          ++model[key];
        else
          ASSERT_EQ(bytes_of(f), before) << "a refused insert changed something";
      } else if (model[key] > 0) {
        ASSERT_TRUE(f.erase(universe[key]));
        --model[key];
      }
      if (step % 50 == 0) {
        const auto sound = f.validate();
        ASSERT_TRUE(sound) << sound.error().message << " after step " << step;
        for (const auto& [k, count] : model) ASSERT_GE(f.count(universe[k]), count) << "step " << step;
      }
    }
    if (bits == 30.0)
      for (const auto& [k, count] : model) EXPECT_EQ(f.count(universe[k]), count) << "no two of these keys collide";
  }
}

TEST(Quotient, IsBackToItsFirstStateAfterEverythingIsErased) {
  const auto keys = numbers(0, 3000);
  Quotient f = must_build<Quotient>({}, {.bits_per_key = 11}, {.capacity = 6000});
  const auto empty = bytes_of(f);
  for (int copy = 0; copy < 2; ++copy)
    for (const Digest& d : keys) ASSERT_TRUE(f.insert(d));
  for (int copy = 0; copy < 2; ++copy)
    for (const Digest& d : keys) ASSERT_TRUE(f.erase(d));
  EXPECT_EQ(bytes_of(f), empty);
}

TEST(Quotient, ABuildAndInsertsInAnyOrderGiveTheSameBytes) {
  auto keys = numbers(0, 5000);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 700);
  for (int i = 0; i < 300; ++i) keys.push_back(keys[3]);
  const Quotient built = must_build<Quotient>({.keys = keys}, {.bits_per_key = 10.5});
  Quotient grown = must_build<Quotient>({}, {.bits_per_key = 10.5}, {.capacity = keys.size()});
  for (const Digest& d : keys) ASSERT_TRUE(grown.insert(d));
  EXPECT_EQ(bytes_of(built), bytes_of(grown));
}

TEST(Quotient, CountsAKeyThatComesAMillionTimesInAFewSlots) {
  const auto keys = numbers(0, 40);
  Quotient f = must_build<Quotient>({}, {.bits_per_key = 12}, {.capacity = 1200});
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t times = i == 7 ? 1'000'000 : 1 + i * i;
    for (std::uint64_t t = 0; t < times; ++t) ASSERT_TRUE(f.insert(keys[i]));
    counts.push_back(times);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(f.count(keys[i]), counts[i]);
  EXPECT_TRUE(f.validate());
  for (std::uint64_t t = 0; t < counts[7]; ++t) ASSERT_TRUE(f.erase(keys[7]));
  EXPECT_EQ(f.count(keys[7]), 0u);
  EXPECT_FALSE(f.erase(keys[7]));
}

TEST(Quotient, TakesItsCapacityAtEverySizeAndEveryWidth) {
  for (std::uint64_t n : {1, 2, 3, 10, 63, 64, 65, 100, 500, 1000, 4000})
    for (double bits : {4.5, 5.6, 9.0, 16.0, 36.1}) {
      Quotient f = must_build<Quotient>({}, {.bits_per_key = bits}, {.capacity = n});
      for (const Digest& d : numbers(n * 1000, n)) ASSERT_TRUE(f.insert(d)) << n << " keys at " << bits;
      ASSERT_TRUE(f.validate());
    }
}

TEST(Quotient, RunsAcrossRegionsAndBlocksAreFound) {
  const auto keys = numbers(0, 300'000);  // five regions
  const Quotient f = must_build<Quotient>({.keys = keys}, {.bits_per_key = 11});
  ASSERT_TRUE(f.validate());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(Quotient, SaysHowManyBitsItNeeds) {
  const auto f = Quotient::build({}, {.bits_per_key = 4});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::out_of_budget);
}

}  // namespace
}  // namespace naysay
