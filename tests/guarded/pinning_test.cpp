// SPDX-License-Identifier: Apache-2.0
// Pinned negatives: planned for the capacity when the filter is built, and pinned and unpinned while it lives.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "naysay/guarded/guarded.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using guarded::detail::Guard;
using guarded::detail::PinnedIndex;
using sample::bytes_of;
using sample::must_build;
using sample::numbers;

// bits_per_key that leaves `base` bits per key next to a guard of `entries`.
double bits_for(double base, std::uint64_t entries, std::uint64_t keys) {
  return base + static_cast<double>(Guard::bits_for(entries) - Guard::bits_for(1)) / static_cast<double>(keys);
}

std::uint64_t accepted_of(const auto& f, std::span<const Digest> digests) {
  std::uint64_t n = 0;
  for (const Digest& d : digests) n += f.may_contain(d);
  return n;
}

TEST(Pinning, RefusesPinnedNegativesThatTheCapacityCannotHoldAndSaysTheBitsThatDo) {
  const std::uint64_t capacity = 4000;
  const auto keys = numbers(0, 500), later = numbers(100'000, capacity - 500), negatives = numbers(1'000'000, 40'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto refused = GuardedCuckoo::build(w, {.bits_per_key = 12, .pinned = Pinning::all}, {.capacity = capacity});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::out_of_budget);
  EXPECT_TRUE(sample::says(refused.error().message, {"40000 pinned negatives", "4000 keys", "bits_per_key"}));
  const std::string& text = refused.error().message;
  const double bits = std::stod(text.substr(text.find("need ") + 5));
  EXPECT_GT(bits, 12);
  auto f = must_build<GuardedCuckoo>(w, {.bits_per_key = bits, .pinned = Pinning::all}, {.capacity = capacity});
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  EXPECT_EQ(accepted_of(f, negatives), 0u);
  EXPECT_EQ(accepted_of(f, later), later.size());
  EXPECT_FALSE(GuardedCuckoo::build(w, {.bits_per_key = bits * 0.97, .pinned = Pinning::all}, {.capacity = capacity}))
      << "it is the fewest";
}

TEST(Pinning, ByDefaultRefusesEveryGivenNegativeWhileTheFilterFillsUp) {
  const std::uint64_t capacity = 20'000;
  const auto keys = numbers(0, 2000), later = numbers(100'000, capacity - 2000),
             negatives = numbers(1'000'000, 2 * capacity);
  const Workload w{.keys = keys, .negatives = negatives};
  auto f = must_build<GuardedCuckoo>(w, {}, {.capacity = capacity});
  auto cuckoo = must_build<Cuckoo>(w, {.bits_per_key = GuardedCuckoo::Params{}.bits_per_key}, {.capacity = capacity});
  EXPECT_EQ(f.pinned(), negatives.size());
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d) && cuckoo.insert(d));
  EXPECT_EQ(accepted_of(f, negatives), 0u);
  EXPECT_GT(accepted_of(cuckoo, negatives), 20u) << "or nothing was shown";
  EXPECT_EQ(accepted_of(f, keys) + accepted_of(f, later), capacity);
}

TEST(Pinning, PinsTheCostliestThatTheBudgetHolds) {
  const std::uint64_t capacity = 5000;
  const auto keys = numbers(0, 500), later = numbers(100'000, capacity - 500), negatives = numbers(1'000'000, 200'000);
  const auto costs = sample::zipf_costs(1, negatives.size());
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 10},
                                     {.capacity = capacity});
  EXPECT_GT(f.pinned(), 100u);
  EXPECT_LT(f.pinned(), negatives.size());
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  EXPECT_EQ(accepted_of(f, std::span(negatives).first(f.pinned())), 0u);
  EXPECT_GT(accepted_of(f, std::span(negatives).subspan(f.pinned())), 0u) << "or all of them fit";
}

TEST(Pinning, PinsNothingByDefaultWithoutACapacity) {
  const auto keys = numbers(0, 500), negatives = numbers(1'000'000, 500);
  EXPECT_EQ(must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives}).pinned(), 0u);
  EXPECT_EQ(
      must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives}, {.pinned = Pinning::none}, {.capacity = 600})
          .pinned(),
      0u);
  EXPECT_EQ(must_build<GuardedSeesaw>({.keys = keys, .negatives = negatives}, {}, {.capacity = 600}).pinned(), 0u);
}

// Random insertions, erasures, pins and unpins against counts.
template <class F>
void keeps_pins(const typename F::Params& params) {
  constexpr std::uint64_t kUniverse = 1 << 13, kCapacity = 3000;
  const auto universe = numbers(0, kUniverse);
  auto f = must_build<F>({}, params, {.capacity = kCapacity});
  std::vector<std::uint8_t> copies(kUniverse, 0), pinned(kUniverse, 0);
  sample::Words random(7);
  std::uint64_t live = 0, pins = 0, accepted_when_pinned = 0, met = 0;
  for (std::uint64_t step = 0; step < 150'000; ++step) {
    const std::uint64_t word = random(), i = fast_range(word, kUniverse);
    const Digest d = universe[i];
    const bool maybe = f.may_contain(d);
    ASSERT_TRUE(maybe || copies[i] == 0) << "step " << step << " denies a key";
    ASSERT_FALSE(maybe && pinned[i]) << "step " << step << " accepts a pinned negative";
    switch (word % 8) {
      case 0:
      case 1:
      case 2:
        if (live == kCapacity * 19 / 20 || copies[i] == 2) break;
        if (f.insert(d)) ++copies[i], ++live, pins -= pinned[i], pinned[i] = 0;
        break;
      case 3:
      case 4:
        if (copies[i] == 0) break;
        ASSERT_TRUE(f.erase(d));
        --copies[i], --live;
        break;
      case 5:
      case 6:
        if (copies[i] != 0) break;
        accepted_when_pinned += maybe;
        ASSERT_TRUE(f.pin(d)) << "step " << step;
        ASSERT_FALSE(f.may_contain(d));
        pins += pinned[i] == 0, pinned[i] = 1;
        break;
      default:
        ASSERT_EQ(f.unpin(d), pinned[i] == 1) << "step " << step;
        pins -= pinned[i], pinned[i] = 0;
    }
    ASSERT_EQ(f.pinned(), pins);
    if (step % 10'000 == 0)
      for (std::uint64_t k = 0; k < kUniverse; ++k)
        if (pinned[k]) {
          ASSERT_FALSE(f.may_contain(universe[k]));
          met += f.base().may_contain(universe[k]);
        }
  }
  EXPECT_GT(accepted_when_pinned, 100u);
  EXPECT_GT(met, 100u) << "or no pin was needed";
  for (std::uint64_t i = 0; i < kUniverse; ++i)
    for (; copies[i] > 0; --copies[i]) ASSERT_TRUE(f.erase(universe[i]));
}
TEST(Pinning, KeepsWhatIsPinnedAndUnpinnedOnALiveFilter) {
  keeps_pins<GuardedCuckoo>({.bits_per_key = bits_for(8.6, 1 << 13, 3000), .guard = 1 << 13});
}
TEST(Pinning, KeepsWhatIsPinnedAndUnpinnedWhileTheFilterGrows) {
  keeps_pins<GuardedGrowing>({.bits_per_key = bits_for(9, 1 << 13, 3000), .guard = 1 << 13, .growth = 1});
}

TEST(Pinning, SaysNoAndChangesNothingWhenTheGuardIsFullOfPinned) {
  const auto keys = numbers(0, 1000);
  auto f = must_build<GuardedCuckoo>({.keys = keys}, {.bits_per_key = bits_for(5.4, 20, 1000), .guard = 20});
  std::uint64_t refused = 0;
  std::vector<Digest> pinned;
  for (const Digest& d : numbers(1'000'000, 500)) {
    const auto before = bytes_of(f);
    if (f.pin(d)) {
      pinned.push_back(d);
    } else {
      ++refused;
      ASSERT_EQ(bytes_of(f), before);
    }
  }
  EXPECT_GT(refused, 20u);
  EXPECT_EQ(accepted_of(f, pinned), 0u);
  EXPECT_EQ(accepted_of(f, keys), keys.size());
  // Unpinned entries make room.
  const Digest* guarded = nullptr;
  for (const Digest& d : pinned)
    if (f.base().may_contain(d)) guarded = &d;
  ASSERT_TRUE(guarded && f.unpin(*guarded));
  EXPECT_FALSE(f.unpin(*guarded)) << "it is not pinned any more";
  EXPECT_FALSE(f.may_contain(*guarded)) << "its entry stays until it is evicted";
  std::uint64_t more = 0;
  for (const Digest& d : numbers(2'000'000, 500)) more += f.base().may_contain(d) && f.pin(d);
  EXPECT_EQ(more, 1u);
  EXPECT_TRUE(f.may_contain(*guarded)) << "now it was";
}

TEST(Pinning, NeedsTheIndex) {
  const auto keys = numbers(0, 1000), negatives = numbers(1'000'000, 1000);
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives}, {}, {.capacity = 2000});
  EXPECT_TRUE(f.pin(negatives[3])) << "it is pinned already";
  EXPECT_EQ(f.pinned(), 1000u);
  EXPECT_FALSE(f.pin(Digest{}));
  f.drop_index();
  EXPECT_FALSE(f.pin(digest(std::uint64_t{5'000'000})));
  EXPECT_FALSE(f.unpin(negatives[3]));
  EXPECT_FALSE(f.may_contain(negatives[3]));
}

TEST(PinnedIndex, AgreesWithASetAsDigestsAreAddedAndRemoved) {
  const auto address = [](Digest d) { return d.lo % 700; };
  const auto universe = numbers(0, 3000);
  PinnedIndex index;
  std::set<Digest> model;
  sample::Words random(2);
  for (int i = 0; i < 30'000; ++i) {
    const Digest d = universe[random.below(universe.size())];
    ASSERT_EQ(index.contains(d, address), model.contains(d)) << i;
    if (model.contains(d)) {
      if (random.below(3) != 0) continue;
      ASSERT_TRUE(index.remove(d, address));
      model.erase(d);
    } else {
      index.add(d, model.size(), address), model.insert(d);
    }
  }
  EXPECT_EQ(index.count(), model.size());
  for (const Digest& d : universe) ASSERT_EQ(index.contains(d, address), model.contains(d));
  EXPECT_LE(bits_of_fields(index), 171 * model.size() * 2);
}

}  // namespace
}  // namespace naysay
