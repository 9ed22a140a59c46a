// SPDX-License-Identifier: Apache-2.0
// A guard that grows: the same entries in more lines, and in a filter that grows, room for as many negatives per key as
// it was built with.
#include <gtest/gtest.h>

#include <map>

#include "naysay/guarded/guarded.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using guarded::detail::Guard;
using sample::must_build;
using sample::numbers;

TEST(GuardGrowth, KeepsEveryEntryAndItsPriority) {
  for (std::uint64_t entries : {1, 5, 20, 80, 160, 161, 300, 1000}) {
    Guard guard(entries);
    std::map<Digest, bool> model;  // pinned?
    sample::Words random(entries);
    const auto universe = numbers(0, 200 * entries);
    unsigned grown = 0;
    for (int step = 0; step < 100'000 && grown < 6; ++step) {
      const Digest d = universe[random.below(universe.size())];
      const std::uint64_t slot = guard.find(d);
      ASSERT_EQ(slot != Guard::kNone, model.contains(d)) << step;
      if (slot != Guard::kNone && random.below(3) == 0) {
        guard.remove(slot);
        model.erase(d);
      } else if (slot == Guard::kNone && !guard.full()) {
        const bool pin = random.below(9) == 0;
        ASSERT_TRUE(guard.put(d, pin ? Guard::kPinned : static_cast<float>(1 + random.below(50))));
        model[d] = pin;
      } else if (guard.full()) {
        std::map<Digest, double> costs;
        for (const auto& [key, pin] : model) costs[key] = guard.cost_of(guard.find(key));
        const std::uint64_t before = guard.room();
        ASSERT_TRUE(guard.grow());
        ++grown;
        ASSERT_GE(guard.room(), before * 9 / 5);
        ASSERT_TRUE(guard.validate());
        ASSERT_EQ(guard.used(), model.size());
        for (const Digest& key : universe) ASSERT_EQ(guard.holds(key), model.contains(key));
        for (const auto& [key, cost] : costs) ASSERT_EQ(guard.cost_of(guard.find(key)), cost);
      }
    }
    EXPECT_EQ(grown, 6u) << entries;
    while (guard.evict()) {
    }
    for (const auto& [d, pin] : model) ASSERT_EQ(guard.holds(d), pin);
  }
}

TEST(GuardGrowth, TellsDigestsApartAsBefore) {
  for (std::uint64_t entries : {20, 2000}) {
    Guard guard(entries);
    const Digest d = digest(std::uint64_t{7});
    ASSERT_TRUE(guard.put(d, 1));
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(guard.grow());
    const auto holds_without = [&](std::uint64_t lo, std::uint64_t hi) { return guard.holds({d.lo ^ lo, d.hi ^ hi}); };
    for (unsigned bit = 0; bit < 64; ++bit) EXPECT_FALSE(holds_without(std::uint64_t{1} << bit, 0)) << bit;
    for (unsigned bit = 35; bit < 64; ++bit) EXPECT_FALSE(holds_without(0, std::uint64_t{1} << bit)) << bit;
  }
}

TEST(GuardGrowth, IsNotWantedByAGuardWithoutLinesOrWithoutAPlan) {
  EXPECT_FALSE(Guard(0).grow());
  EXPECT_FALSE(Guard(0).wants_growth(1'000'000));
  Guard guard(1);
  while (!guard.full()) ASSERT_TRUE(guard.put(digest(guard.used()), 1));
  EXPECT_FALSE(guard.wants_growth(1'000'000));
  guard.grows_for(0.01);
  EXPECT_TRUE(guard.wants_growth(1'000'000));
}

TEST(GuardGrowth, RefusesEveryGivenNegativeAsTheFilterGrows) {
  const auto negatives = numbers(1'000'000, 30'000);
  auto f = must_build<GuardedGrowing>({.negatives = negatives}, {.bits_per_key = 20, .growth = 16}, {.capacity = 500});
  const std::uint64_t room = f.guard_room();
  EXPECT_EQ(f.pinned(), negatives.size()) << "the plan covers all of them, because the guard grows";
  std::uint64_t accepted_by_base = 0;
  for (std::uint64_t i = 0; i < 8000; ++i) ASSERT_TRUE(f.insert(digest(i))) << i;
  for (const Digest& d : negatives) {
    accepted_by_base += f.base().may_contain(d);
    ASSERT_FALSE(f.may_contain(d));
  }
  EXPECT_GT(accepted_by_base, room) << "more than the guard had room for at the start";
  EXPECT_GE(f.guard_room(), accepted_by_base);
  EXPECT_LE(f.guard_room(), 2 * accepted_by_base + 20) << "it grows when it must";
  for (std::uint64_t i = 0; i < 8000; ++i) ASSERT_TRUE(f.may_contain(digest(i)));
}

TEST(GuardGrowth, GivesReportsRoom) {
  auto f =
      must_build<GuardedGrowing>({}, {.bits_per_key = 14, .pinned = Pinning::none, .growth = 16}, {.capacity = 4000});
  const std::uint64_t room = f.guard_room();
  ASSERT_GT(room, 0u);
  std::uint64_t next = 0;
  for (int round = 1; round <= 16; ++round) {
    while (next < 4000u * static_cast<unsigned>(round)) ASSERT_TRUE(f.insert(digest(next++)));
    for (std::uint64_t x = 0; x < 20'000; ++x)
      if (const Digest d = digest(5'000'000 + x); f.may_contain(d)) ASSERT_TRUE(f.adapt(d, 1));
  }
  EXPECT_GE(f.guard_room(), 4 * room);
}

}  // namespace
}  // namespace naysay
