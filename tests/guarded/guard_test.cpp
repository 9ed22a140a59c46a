// SPDX-License-Identifier: Apache-2.0
// Guard and PinnedIndex against the standard containers; the plan of the guard's share.
#include "naysay/guarded/detail/guard.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "naysay/cuckoo/cuckoo_rates.hpp"
#include "naysay/guarded/detail/pinned_index.hpp"
#include "naysay/guarded/guard_plan.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using guarded::detail::Guard;
using guarded::detail::PinnedIndex;
using sample::numbers;

TEST(Guard, DrawsVictimsEvenlyFromAllOfTheSmallestCost) {
  Guard guard(300'000);
  for (std::uint64_t i = 0; !guard.full(); ++i) guard.put(digest(i), i % 3 == 0 ? 2.0f : 1.0f);
  constexpr std::uint64_t kDraws = 40'000, kParts = 20;
  std::uint64_t parts[kParts] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::uint64_t slot = guard.cheapest(mix64(i));
    ASSERT_EQ(guard.cost(slot), 1.0f);
    ++parts[slot * kParts / (guard.groups() * 15)];
  }
  for (std::uint64_t part = 0; part < kParts; ++part)
    EXPECT_TRUE(sample::rate_matches(parts[part], kDraws, 1.0 / kParts, 0.02)) << "part " << part;
}

TEST(Guard, HoldsExactlyTheDigestsThatWerePutInAndNotRemoved) {
  for (std::uint64_t entries : {1, 14, 15, 300, 5000}) {
    Guard guard(entries);
    ASSERT_GE(guard.room(), entries);
    std::map<Digest, float> model;
    sample::Words random(entries);
    const auto universe = numbers(0, 2 * guard.room());
    for (int step = 0; step < 40'000; ++step) {
      const Digest d = universe[random.below(universe.size())];
      const std::uint64_t slot = guard.find(d);
      ASSERT_EQ(slot != Guard::kNone, model.count(d) == 1);
      ASSERT_EQ(guard.holds(d), model.count(d) == 1);
      const float cost = random.below(20) == 0 ? Guard::kPinned : static_cast<float>(random.below(50));
      if (slot == Guard::kNone) {
        if (guard.full()) continue;
        guard.put(d, cost);
        model[d] = cost;
      } else if (random.below(4) == 0) {
        guard.raise(slot, cost);
        if (model[d] != Guard::kPinned) model[d] = cost == Guard::kPinned ? cost : model[d] + cost;
      } else {
        guard.remove(slot);
        model.erase(d);
      }
      ASSERT_EQ(guard.used(), model.size());
      const std::uint64_t cheapest = guard.cheapest(random());
      ASSERT_EQ(cheapest == Guard::kNone, model.empty());
      if (model.empty()) continue;
      float least = Guard::kPinned;
      if (entries <= 300 || step % 100 == 0) {
        for (const auto& entry : model) least = std::min(least, entry.second);
        ASSERT_EQ(guard.cost(cheapest), least) << "step " << step;
      }
    }
    ASSERT_TRUE(guard.validate());
    std::map<Digest, float> held;
    guard.for_each([&](Digest d, float cost) { held[d] = cost; });
    EXPECT_EQ(held, model);
  }
}

TEST(Guard, TellsDigestsApartThatDifferInOneBit) {
  const Digest d = digest(std::uint64_t{7});
  Guard guard(200);
  guard.put(d, 1);
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_FALSE(guard.holds({d.lo ^ (std::uint64_t{1} << bit), d.hi})) << bit;
    EXPECT_FALSE(guard.holds({d.lo, d.hi ^ (std::uint64_t{1} << bit)})) << bit;
  }
  EXPECT_TRUE(guard.holds(d));
}

TEST(Guard, EvictsEqualCostsFromEverywhere) {
  Guard guard(2000);
  sample::Words random(3);
  while (!guard.full()) guard.put(digest(random()), 1);
  std::set<std::uint64_t> quarters;
  for (int i = 0; i < 64; ++i) quarters.insert(guard.cheapest(random()) * 4 / (guard.groups() * 15));
  EXPECT_EQ(quarters.size(), 4u);
}

TEST(Guard, NeedsTheBitsItSays) {
  for (std::uint64_t entries : {0, 1, 15, 1000, 100'000}) {
    const Guard guard(entries);
    EXPECT_EQ(bits_of_fields(guard), Guard::bits_for(entries) + 5 * 64);
  }
  EXPECT_LT(static_cast<double>(Guard::bits_for(100'000)), 207.0 * 100'000);
}

TEST(PinnedIndex, VisitsEveryDigestOfAnAddress) {
  const auto address = [](Digest d) { return d.lo % 700; };  // crowded: about seven of each
  auto digests = numbers(0, 5000);
  std::map<std::uint64_t, std::set<Digest>> model;
  for (const Digest& d : digests) model[address(d)].insert(d);
  digests.insert(digests.end(), digests.begin(), digests.begin() + 50);
  PinnedIndex index(digests, address);
  EXPECT_EQ(index.count(), 5000u);
  const auto agrees = [&] {
    for (std::uint64_t a = 0; a < 705; ++a) {
      std::set<Digest> seen;
      index.for_each(a, address, [&](Digest d) { ASSERT_TRUE(seen.insert(d).second); });
      ASSERT_EQ(seen, model[a]) << a;
    }
  };
  agrees();
  sample::Words random(1);
  for (int i = 0; i < 3000; ++i) {
    const Digest d = digests[random.below(5000)];
    ASSERT_EQ(index.remove(d, address), model[address(d)].erase(d) == 1);
    if (i % 500 == 0) agrees();
  }
  agrees();
  EXPECT_FALSE(index.remove(digest(std::uint64_t{9'999'999}), address));
  EXPECT_LE(bits_of_fields(index), 171 * 5000u);
}

TEST(GuardPlan, CoversTheKnownNegativesWhenTheBudgetAllows) {
  const auto space = [](std::uint64_t entries) { return Guard::bits_for(entries); };
  guarded::GuardProblem q{.bits = 14e6, .keys = 1e6, .negatives = 1e6, .stranger_share = 0.01};
  const auto plan = guarded::plan_guard(q, cuckoo::bits_per_key, space);
  EXPECT_GE(guarded::sure_entries(static_cast<double>(plan.entries)), q.negatives * plan.fpr);
  EXPECT_LE(plan.base_bits_per_key * q.keys + static_cast<double>(space(plan.entries) - space(1)),
            q.bits * (1 + 1e-12));
  EXPECT_NEAR(plan.fpr, cuckoo::fpr(13, cuckoo::kLoad), plan.fpr * 0.06) << "14 bits would not fit";
  EXPECT_DOUBLE_EQ(plan.wfpr, 0.01 * plan.fpr);

  // Ten a key at any cost: fewer bits of fingerprint would need more guard than they save.
  q.negatives = 1e7, q.all = true, q.bits = 16e6;
  const auto pinned = guarded::plan_guard(q, cuckoo::bits_per_key, space);
  EXPECT_GE(guarded::sure_entries(static_cast<double>(pinned.entries)), q.negatives * pinned.fpr);
}

TEST(GuardPlan, KeepsRoomForReportsOnlyAsFarAsTheBaseErrs) {
  const auto space = [](std::uint64_t entries) { return Guard::bits_for(entries); };
  for (double bits : {8.0, 14.0, 20.0, 30.0}) {
    const auto plan = guarded::plan_guard({.bits = bits * 1e6, .keys = 1e6}, cuckoo::bits_per_key, space);
    const double share = static_cast<double>(space(plan.entries)) / (bits * 1e6);
    EXPECT_LE(share, guarded::kUntoldGuardShare * 1.01) << bits;
    EXPECT_TRUE(share > guarded::kUntoldGuardShare * 0.98 || static_cast<double>(plan.entries) >= 2e6 * plan.fpr)
        << bits;
    EXPECT_LE(static_cast<double>(plan.entries), guarded::entries_for(1e7 * plan.fpr) + 1) << bits;
    EXPECT_NEAR(guarded::sure_entries(guarded::entries_for(1e6 * plan.fpr)), 1e6 * plan.fpr,
                1e-6 * 1e6 * plan.fpr + 1e-9);
  }
}

TEST(GuardPlan, GivesUpTheCheapestWhenTheBudgetIsSmall) {
  const auto space = [](std::uint64_t entries) { return Guard::bits_for(entries); };
  std::vector<float> costs(100'000);
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = 1 / static_cast<float>((i + 1) * (i + 1));
  const guarded::GuardProblem q{
      .bits = 6e5, .keys = 1e5, .negatives = 1e5, .descending = costs, .stranger_share = 0.01};
  const auto plan = guarded::plan_guard(q, cuckoo::bits_per_key, space);
  EXPECT_LT(guarded::sure_entries(static_cast<double>(plan.entries)), q.negatives * plan.fpr);
  EXPECT_LT(plan.wfpr, 0.02 * plan.fpr);
}

TEST(GuardPlan, CountsTheCostsBeyondACount) {
  const float costs[] = {4, 3, 2, 1};
  const guarded::CostsBeyond beyond(4, costs);
  EXPECT_DOUBLE_EQ(beyond(0), 1);
  EXPECT_DOUBLE_EQ(beyond(1), 0.6);
  EXPECT_DOUBLE_EQ(beyond(2.5), 0.3);
  EXPECT_DOUBLE_EQ(beyond(4), 0);
  EXPECT_DOUBLE_EQ(guarded::CostsBeyond(4, {})(1), 0.75);
}

}  // namespace
}  // namespace naysay
