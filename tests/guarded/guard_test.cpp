// SPDX-License-Identifier: Apache-2.0
// Guard and PinnedIndex against the standard containers; the plan of the guard's share.
#include "naysay/guarded/detail/guard.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
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

TEST(Guard, EvictsEvenlyFromEverywhere) {
  Guard guard(100'000);
  std::vector<Digest> in;
  for (std::uint64_t i = 0; !guard.full(); ++i) {
    in.push_back(digest(i));
    ASSERT_TRUE(guard.put(in.back(), 1));
  }
  const std::uint64_t evicted = in.size() / 10;
  for (std::uint64_t i = 0; i < evicted; ++i) ASSERT_TRUE(guard.evict());
  EXPECT_EQ(guard.evictions(), evicted);
  EXPECT_EQ(guard.used(), in.size() - evicted);
  std::uint64_t gone = 0;
  for (std::size_t i = 0; i < in.size() / 2; ++i) gone += !guard.holds(in[i]);
  EXPECT_TRUE(sample::rate_matches(gone, in.size() / 2, 0.1, 0.1)) << "of those that came first";
}

TEST(Guard, HoldsExactlyTheDigestsThatWerePutInAndNotRemoved) {
  for (std::uint64_t entries : {1, 4, 5, 6, 160, 161, 300, 5000}) {
    Guard guard(entries);
    ASSERT_GE(guard.room(), entries);
    std::map<Digest, bool> model;  // pinned?
    sample::Words random(entries);
    const auto universe = numbers(0, 2 * guard.room());
    std::uint64_t pinned = 0;
    for (int step = 0; step < 40'000; ++step) {
      const Digest d = universe[random.below(universe.size())];
      const std::uint64_t slot = guard.find(d);
      ASSERT_EQ(slot != Guard::kNone, model.contains(d)) << step;
      ASSERT_EQ(guard.holds(d), model.contains(d));
      const bool pin = random.below(20) == 0;
      const float cost = pin ? Guard::kPinned : static_cast<float>(random.below(50));
      if (slot == Guard::kNone) {
        if (guard.full()) continue;
        ASSERT_TRUE(guard.put(d, cost)) << step << " of " << entries;
        model[d] = pin;
        pinned += pin;
      } else if (const std::uint64_t what = random.below(8); what < 2) {
        guard.raise(slot, cost);
        pinned += pin && !model[d];
        model[d] = model[d] || pin;
      } else if (what == 2) {
        guard.unpin(slot);
        pinned -= model[d];
        model[d] = false;
      } else {
        guard.remove(slot);
        pinned -= model[d];
        model.erase(d);
      }
      ASSERT_EQ(guard.used(), model.size());
      ASSERT_EQ(guard.pinned(), pinned);
    }
    ASSERT_TRUE(guard.validate());
    for (const Digest& d : universe) ASSERT_EQ(guard.holds(d), model.contains(d));
    while (guard.evict()) {
    }
    EXPECT_EQ(guard.used(), pinned) << "pinned entries are never evicted";
    for (const auto& [d, pin] : model) ASSERT_EQ(guard.holds(d), pin);
  }
}

TEST(Guard, TellsDigestsApartThatDifferInABitThatItKeeps) {
  const Digest d = digest(std::uint64_t{7});
  for (std::uint64_t entries : {20, 2000}) {
    Guard guard(entries);
    ASSERT_TRUE(guard.put(d, 1));
    for (unsigned bit = 0; bit < 64; ++bit) {
      EXPECT_FALSE(guard.holds({d.lo ^ (std::uint64_t{1} << bit), d.hi})) << bit;
      if (bit >= 34) EXPECT_FALSE(guard.holds({d.lo, d.hi ^ (std::uint64_t{1} << bit)})) << bit;
    }
    EXPECT_TRUE(guard.holds(d));
  }
}

TEST(Guard, EvictsTheLowestPriorityOfASmallTable) {
  for (std::uint64_t entries : {20, 300}) {
    Guard guard(entries);
    std::vector<Digest> in = numbers(0, guard.room());
    std::vector<float> costs(in.size());
    std::iota(costs.begin(), costs.end(), 1.0f);
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_TRUE(guard.put(in[i], costs[i] * costs[i]));
    // Steps of 9 %, rounded at random: the tenth that cost least are gone when half as many again have been evicted.
    const std::size_t tenth = in.size() / 10;
    for (std::size_t i = 0; i < tenth + tenth / 2; ++i) ASSERT_TRUE(guard.evict());
    for (std::size_t i = 0; i < tenth; ++i) EXPECT_FALSE(guard.holds(in[i])) << i;
    for (std::size_t i = in.size() / 2; i < in.size(); ++i) EXPECT_TRUE(guard.holds(in[i])) << i;
  }
}

TEST(Guard, KeepsWhatItIsToldOverAnyRangeOfCosts) {
  Guard guard(100);
  float cost = 1e-30f;
  for (std::uint64_t i = 0; i < 60; ++i, cost *= 10) ASSERT_TRUE(guard.put(digest(i), std::min(cost, Guard::kMaxCost)));
  ASSERT_TRUE(guard.validate());
  while (guard.used() > 10) ASSERT_TRUE(guard.evict());
  for (std::uint64_t i = 52; i < 60; ++i) EXPECT_TRUE(guard.holds(digest(i))) << i;
}

// The rounding of a priority is up or down at random, so that what is added counts on average.
TEST(Guard, AddsUpSmallCostsOnAverage) {
  Guard guard(1);
  ASSERT_TRUE(guard.put(digest(std::uint64_t{1}), 1000));
  const std::uint64_t slot = guard.find(digest(std::uint64_t{1}));
  double sum = 0;
  for (int i = 0; i < 40; ++i) {
    Guard other(1);
    ASSERT_TRUE(other.put(digest(std::uint64_t{1}), 1000));
    for (int k = 0; k < 3500 * i; ++k) other.raise(slot, 0);  // another part of the dithering
    for (int k = 0; k < 3000; ++k) other.raise(slot, 1);
    sum += other.cost_of(slot);
  }
  EXPECT_NEAR(sum / 40, 4000, 400);
}

TEST(Guard, NeedsTheBitsItSays) {
  for (std::uint64_t entries : {0, 1, 15, 1000, 100'000}) {
    const Guard guard(entries);
    EXPECT_EQ(bits_of_fields(guard), Guard::bits_for(entries) + 13 * 64);
  }
  EXPECT_LT(static_cast<double>(Guard::bits_for(100'000)), 130.0 * 100'000);
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

constexpr auto cuckoo_price = [](double fpr) { return cuckoo::bits_per_key(fpr); };

TEST(GuardPlan, CoversTheKnownNegativesWhenTheBudgetAllows) {
  const auto space = [](std::uint64_t entries) { return Guard::bits_for(entries); };
  guarded::GuardProblem q{.bits = 14e6, .keys = 1e6, .negatives = 1e6, .stranger_share = 0.01};
  const auto plan = guarded::plan_guard(q, cuckoo_price, space);
  EXPECT_GE(guarded::sure_entries(static_cast<double>(plan.entries)), q.negatives * plan.fpr);
  EXPECT_LE(plan.base_bits_per_key * q.keys + static_cast<double>(space(plan.entries) - space(1)),
            q.bits * (1 + 1e-12));
  EXPECT_NEAR(plan.fpr, cuckoo::fpr(13, cuckoo::kLoad), plan.fpr * 0.06) << "14 bits would not fit";
  EXPECT_DOUBLE_EQ(plan.wfpr, 0.01 * plan.fpr);

  // Ten a key at any cost: fewer bits of fingerprint would need more guard than they save.
  q.negatives = 1e7, q.all = true, q.bits = 16e6;
  const auto pinned = guarded::plan_guard(q, cuckoo_price, space);
  EXPECT_GE(guarded::sure_entries(static_cast<double>(pinned.entries)), q.negatives * pinned.fpr);
}

TEST(GuardPlan, KeepsRoomForReportsOnlyAsFarAsTheBaseErrs) {
  const auto space = [](std::uint64_t entries) { return Guard::bits_for(entries); };
  for (double bits : {8.0, 14.0, 20.0, 30.0}) {
    const auto plan = guarded::plan_guard({.bits = bits * 1e6, .keys = 1e6}, cuckoo_price, space);
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
  const auto plan = guarded::plan_guard(q, cuckoo_price, space);
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
