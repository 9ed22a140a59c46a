// SPDX-License-Identifier: Apache-2.0
// Ageing of the guard: what is reported today is held, however costly the entries of yesterday were.
#include <gtest/gtest.h>

#include <vector>

#include "naysay/guarded/guarded.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using guarded::detail::Guard;
using sample::bytes_of;
using sample::must_build;
using sample::numbers;

constexpr std::uint64_t kADay = 300;

// A filter whose guard has room for a day's false positives and hardly more, and the false positives of `days` days.
struct Days {
  explicit Days(std::size_t days) {
    keys = numbers(0, 3000);
    const double bits = 6.4 + static_cast<double>(Guard::bits_for(kADay) - Guard::bits_for(1)) / 3000;
    filter = must_build<GuardedCuckoo>({.keys = keys}, {.bits_per_key = bits, .guard = kADay});
    EXPECT_LE(filter.guard_room(), kADay + 15);
    for (std::uint64_t i = 1'000'000; of_day.size() < days; ++i) {
      if (of_day.empty() || of_day.back().size() == kADay) of_day.emplace_back();
      for (; of_day.back().size() < kADay; ++i)
        if (filter.may_contain(digest(i))) of_day.back().push_back(digest(i));
    }
  }
  // Queries all of a day's false positives once; what is accepted is reported. How many were.
  std::uint64_t query(std::size_t day, auto cost) {
    std::uint64_t reports = 0;
    for (std::size_t i = 0; i < kADay; ++i)
      if (filter.may_contain(of_day[day][i])) {
        EXPECT_TRUE(filter.adapt(of_day[day][i], cost(i)));
        ++reports;
      }
    return reports;
  }
  std::uint64_t held(std::size_t day) const {
    std::uint64_t n = 0;
    for (const Digest& d : of_day[day]) n += !filter.may_contain(d);
    return n;
  }

  std::vector<Digest> keys;
  GuardedCuckoo filter;
  std::vector<std::vector<Digest>> of_day;
};

TEST(Ageing, HoldsAllFalsePositivesOfTodayEveryDay) {
  Days days(7);
  for (std::size_t day = 0; day < 7; ++day) {
    for (int round = 0; round < 20'000 && days.query(day, [](std::size_t) { return 1.0f; }) != 0; ++round) {
    }
    EXPECT_EQ(days.held(day), kADay) << "day " << day;
  }
  for (const Digest& d : days.keys) ASSERT_TRUE(days.filter.may_contain(d));
}

TEST(Ageing, LetsCostlyEntriesOfYesterdayMakeWay) {
  Days days(4);
  // A hundred times as costly, and then of costs that differ by a factor of 300.
  for (int round = 0; round < 3; ++round) days.query(0, [](std::size_t) { return 100.0f; });
  EXPECT_EQ(days.held(0), kADay);
  for (int round = 0; round < 20'000 && days.query(1, [](std::size_t) { return 1.0f; }) != 0; ++round) {
  }
  EXPECT_EQ(days.held(1), kADay);
  for (int round = 0; round < 20'000; ++round)
    if (days.query(2, [](std::size_t i) { return 20.0f / static_cast<float>(i + 1); }) == 0) break;
  EXPECT_EQ(days.held(2), kADay);
  for (int round = 0; round < 20'000 && days.query(3, [](std::size_t) { return 1.0f; }) != 0; ++round) {
  }
  EXPECT_EQ(days.held(3), kADay);
}

TEST(Ageing, KeepsACostlyEntryAmongCheapOnesForAsLongAsItIsWorth) {
  Days days(20);
  days.query(0, [](std::size_t) { return 1.0f; });
  const Digest costly = days.of_day[1][0];
  ASSERT_TRUE(days.filter.adapt(costly, 100));
  // Each full turn of the guard raises the floor by 1: after 9 of them it is there, after 1000 it is not.
  for (std::size_t day = 2; day < 11; ++day) days.query(day, [](std::size_t) { return 1.0f; });
  EXPECT_FALSE(days.filter.may_contain(costly));
  std::uint64_t turns = 0;
  for (; turns < 1000 && !days.filter.may_contain(costly); ++turns)
    days.query(2 + turns % 18, [](std::size_t) { return 1.0f; });
  EXPECT_LT(turns, 1000u);
  EXPECT_GT(turns, 20u);
}

TEST(Ageing, CountsEvictionsAndOnlyThose) {
  Days days(2);
  EXPECT_EQ(days.filter.guard_evictions(), 0u);
  days.query(0, [](std::size_t) { return 1.0f; });
  const std::uint64_t spare = days.filter.guard_room() - kADay;
  EXPECT_EQ(days.filter.guard_evictions(), 0u) << "there was room";
  days.query(1, [](std::size_t) { return 1.0f; });
  EXPECT_EQ(days.filter.guard_evictions(), kADay - spare);
}

TEST(Ageing, GivesTheSameBytesForTheSameReports) {
  Days a(3), b(3);
  for (std::size_t day = 0; day < 3; ++day)
    for (int round = 0; round < 5; ++round) {
      a.query(day, [](std::size_t i) { return static_cast<float>(i % 7); });
      b.query(day, [](std::size_t i) { return static_cast<float>(i % 7); });
    }
  EXPECT_EQ(bytes_of(a.filter), bytes_of(b.filter));
}

}  // namespace
}  // namespace naysay
