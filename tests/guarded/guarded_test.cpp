// SPDX-License-Identifier: Apache-2.0
// Guarded, against a model: negatives that are given, reported or pinned are refused; keys that are in never are.
#include "naysay/guarded/guarded.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sample.hpp"

namespace naysay {
namespace {

using guarded::detail::Guard;
using sample::bytes_of;
using sample::must_build;
using sample::numbers;

// bits_per_key that leaves `base` bits per key next to a guard of `entries`.
double bits_for(double base, std::uint64_t entries, std::uint64_t keys) {
  return base + static_cast<double>(Guard::bits_for(entries) - Guard::bits_for(1)) / static_cast<double>(keys);
}

std::vector<Digest> accepted_by(const auto& f, std::span<const Digest> digests) {
  std::vector<Digest> out;
  for (const Digest& d : digests)
    if (f.may_contain(d)) out.push_back(d);
  return out;
}

TEST(Guarded, RefusesAReportedNegativeUntilItIsInserted) {
  const auto keys = numbers(0, 2000);
  auto f = must_build<GuardedCuckoo>({.keys = keys}, {.bits_per_key = bits_for(8, 500, 2100), .guard = 500},
                                     {.capacity = 2100});
  const auto wrong = accepted_by(f, numbers(1'000'000, 5000));
  ASSERT_GT(wrong.size(), 50u);
  ASSERT_LT(wrong.size(), 500u);
  for (const Digest& d : wrong) ASSERT_TRUE(f.adapt(d, 1));
  EXPECT_EQ(f.guarded(), wrong.size());
  for (const Digest& d : wrong) ASSERT_FALSE(f.may_contain(d));
  for (const Digest& d : wrong) ASSERT_FALSE(f.erase(d)) << "it is denied, so nothing is erased";
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  for (std::size_t i = 0; i < 100 && i < wrong.size(); ++i) {
    if (!f.insert(wrong[i])) continue;
    ASSERT_TRUE(f.may_contain(wrong[i])) << "what was said of a key before it came does not count";
    ASSERT_TRUE(f.erase(wrong[i]));
  }
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(Guarded, DropsWhatTheBaseDeniesBeforeAnythingLeaves) {
  const auto keys = numbers(0, 2000), later = numbers(50'000, 2000);
  auto f = must_build<GuardedCuckoo>({.keys = keys}, {.bits_per_key = bits_for(6.4, 100, 2000), .guard = 100});
  const auto universe = numbers(1'000'000, 20'000);
  for (const Digest& d : universe)
    if (f.may_contain(d) && f.guarded() < f.guard_room()) ASSERT_TRUE(f.adapt(d, 1000));
  for (const Digest& d : keys) ASSERT_TRUE(f.erase(d));
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  // Every entry costs more than a newcomer, but most have become idle.
  std::uint64_t told = 0, kept = 0;
  for (const Digest& d : universe)
    if (told < 60 && f.may_contain(d)) ++told, kept += f.adapt(d, 1);
  EXPECT_GE(kept, 50u) << "of " << told;
}

TEST(Guarded, RefusesTheCostliestOfTheKnownNegativesThatFit) {
  const auto keys = numbers(0, 5000), negatives = numbers(1'000'000, 50'000);
  std::vector<float> costs(negatives.size());
  std::iota(costs.begin(), costs.end(), 0.0f);
  const auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives, .costs = costs},
                                           {.bits_per_key = bits_for(6.4, 200, 5000), .guard = 200});
  std::uint64_t left = 0;
  bool refusing = true;
  for (std::size_t i = negatives.size(); i-- > 0;) {
    if (!f.base().may_contain(negatives[i])) continue;
    refusing = left < f.guard_room();
    ASSERT_EQ(f.may_contain(negatives[i]), !refusing);
    ++left;
  }
  EXPECT_GT(left, 2 * f.guard_room());
}

TEST(Guarded, WithoutAGuardIsItsBase) {
  const auto keys = numbers(0, 1000), negatives = numbers(1'000'000, 1000);
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives}, {.bits_per_key = 9, .guard = 0});
  const auto base = must_build<Cuckoo>({.keys = keys}, {.bits_per_key = 9});
  EXPECT_EQ(bytes_of(f.base()), bytes_of(base));
  const auto wrong = accepted_by(f, numbers(2'000'000, 20'000));
  ASSERT_FALSE(wrong.empty());
  for (const Digest& d : wrong) {
    EXPECT_FALSE(f.adapt(d, 1));
    EXPECT_TRUE(f.may_contain(d));
  }
}

TEST(Guarded, RefusesPinnedNegativesAtEveryMomentUnderAnyChurn) {
  const std::uint64_t n = 2000;
  auto live = numbers(0, n);
  const auto negatives = numbers(1'000'000, 10 * n);
  auto f = must_build<GuardedCuckoo>({.keys = live, .negatives = negatives},
                                     {.bits_per_key = bits_for(8.6, 900, n), .guard = 900, .pinned = Pinning::all});
  EXPECT_EQ(f.pinned(), negatives.size());
  sample::Words random(4);
  std::uint64_t next = n, had_to = 0;
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < n / 10; ++i) {
      Digest& key = live[random.below(n)];
      ASSERT_TRUE(f.erase(key));
      key = digest(next++);
      ASSERT_TRUE(f.insert(key));
    }
    for (const Digest& d : negatives) {
      ASSERT_FALSE(f.may_contain(d)) << "round " << round;
      had_to += f.base().may_contain(d);
    }
    for (const Digest& d : live) ASSERT_TRUE(f.may_contain(d));
  }
  EXPECT_GT(had_to, 20 * n / 10) << "or nothing was shown";
}

TEST(Guarded, UnpinsAPinnedNegativeThatBecomesAKey) {
  const auto keys = numbers(0, 1000), negatives = numbers(1'000'000, 1000);
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives},
                                     {.bits_per_key = 20, .pinned = Pinning::all}, {.capacity = 3000});
  for (std::size_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(f.insert(negatives[i]));
    ASSERT_TRUE(f.may_contain(negatives[i]));
  }
  EXPECT_EQ(f.pinned(), 500u);
  for (const Digest& d : numbers(5'000'000, 1000)) ASSERT_TRUE(f.insert(d));
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(f.may_contain(negatives[i]), i < 500) << i;
  for (std::size_t i = 0; i < 500; ++i) ASSERT_TRUE(f.erase(negatives[i]));
}

TEST(Guarded, PinsNoNegativeThatIsAKey) {
  const auto keys = numbers(0, 1000), negatives = numbers(500, 1000);
  const auto f =
      must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives}, {.bits_per_key = 16, .pinned = Pinning::all});
  EXPECT_EQ(f.pinned(), 500u);
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  for (std::size_t i = 500; i < 1000; ++i) ASSERT_FALSE(f.may_contain(negatives[i]));
}

// As many pinned negatives as the guard cannot hold, over 4-bit fingerprints.
TEST(Guarded, SaysNoRoomAndChangesNothingWhenThePinnedWouldNotFitTheGuard) {
  const auto negatives = numbers(1'000'000, 4000);
  auto f = must_build<GuardedCuckoo>({.negatives = negatives},
                                     {.bits_per_key = bits_for(4.3, 300, 1000), .guard = 300, .pinned = Pinning::all},
                                     {.capacity = 1000});
  std::vector<Digest> in;
  std::uint64_t refused = 0;
  for (const Digest& d : numbers(0, 1000)) {
    const auto before = bytes_of(f);
    if (f.insert(d)) {
      in.push_back(d);
    } else {
      ++refused;
      ASSERT_EQ(bytes_of(f), before);
    }
  }
  EXPECT_GT(refused, 300u);
  EXPECT_GE(f.guarded(), f.guard_room() - 20);
  for (const Digest& d : negatives) ASSERT_FALSE(f.may_contain(d));
  for (const Digest& d : in) ASSERT_TRUE(f.may_contain(d));
  // Room comes back as keys leave: entries that have become idle make place.
  for (const Digest& d : in) ASSERT_TRUE(f.erase(d));
  std::uint64_t again = 0;
  for (const Digest& d : numbers(10'000, 1000)) again += f.insert(d);
  EXPECT_GT(again, in.size() / 2);
  for (const Digest& d : negatives) ASSERT_FALSE(f.may_contain(d));
}

TEST(Guarded, LetsReportedEntriesLeaveForPinnedOnes) {
  const auto keys = numbers(0, 500), negatives = numbers(1'000'000, 500);
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives},
                                     {.bits_per_key = bits_for(5.4, 250, 1000), .guard = 250, .pinned = Pinning::all},
                                     {.capacity = 1000});
  for (const Digest& d : numbers(2'000'000, 50'000))
    if (f.guarded() < f.guard_room()) f.adapt(d, 1e30f);
  ASSERT_EQ(f.guarded(), f.guard_room());
  for (const Digest& d : numbers(10'000, 450)) ASSERT_TRUE(f.insert(d));
  for (const Digest& d : negatives) ASSERT_FALSE(f.may_contain(d));
}

TEST(Guarded, RefusesToPinWhatDoesNotFit) {
  const auto keys = numbers(0, 1000), negatives = numbers(1'000'000, 10'000);
  const auto f =
      GuardedCuckoo::build({.keys = keys, .negatives = negatives}, {.bits_per_key = 5, .pinned = Pinning::all});
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::out_of_budget);
  const auto seesaw = GuardedSeesaw::build({.keys = keys, .negatives = negatives}, {.pinned = Pinning::all});
  ASSERT_FALSE(seesaw);
  EXPECT_EQ(seesaw.error().code, Errc::invalid_argument);
  const Digest zero[] = {Digest{}};
  EXPECT_FALSE(GuardedCuckoo::build({.keys = keys, .negatives = zero}, {.pinned = Pinning::all}));
}

TEST(Guarded, AnswersTheSameWithoutItsIndexAndTakesNoMoreKeys) {
  const auto keys = numbers(0, 1000), negatives = numbers(1'000'000, 5000), questions = numbers(3'000'000, 20'000);
  auto f = must_build<GuardedCuckoo>({.keys = keys, .negatives = negatives},
                                     {.bits_per_key = 17, .pinned = Pinning::all}, {.capacity = 1100});
  auto g = f;
  EXPECT_GE(f.index_bits(), 128 * negatives.size());
  EXPECT_LE(f.size_bits(), 17 * 1100 + GuardedCuckoo::kClaims.fixed_bits);
  g.drop_index();
  EXPECT_EQ(g.index_bits(), 0u);
  EXPECT_EQ(g.size_bits(), f.size_bits());
  for (const Digest& d : questions) ASSERT_EQ(g.may_contain(d), f.may_contain(d));
  for (const Digest& d : negatives) ASSERT_FALSE(g.may_contain(d));
  const auto before = bytes_of(g);
  EXPECT_FALSE(g.insert(digest(std::uint64_t{77'777'777})));
  EXPECT_EQ(bytes_of(g), before);
  EXPECT_TRUE(g.erase(keys[3]));
  EXPECT_TRUE(f.insert(digest(std::uint64_t{77'777'777})));
}

TEST(Guarded, SurvivesAnyFlippedBitOfAFilterWithAnIndex) {
  const auto keys = numbers(0, 12), negatives = numbers(1000, 12), questions = numbers(0, 60);
  const auto bytes = bytes_of(must_build<GuardedCuckoo>(
      {.keys = keys, .negatives = negatives},
      {.bits_per_key = bits_for(6, 13, 14), .guard = 13, .pinned = Pinning::all}, {.capacity = 14}));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    GuardedCuckoo f;
    FieldReader read(flipped, 0, 0, FieldReader::Arrays::copy);
    GuardedCuckoo::fields(f, read);
    if (!read.ok() || !f.validate()) continue;
    for (const Digest& d : questions) (void)f.adapt(d, 1), (void)f.may_contain(d);
    for (const Digest& d : questions) (void)f.insert(d);
    for (const Digest& d : questions) (void)f.erase(d);
  }
}

// Random inserts, erases, questions and reports over a small universe, against counts. The base errs often and the
// guard has room for all: whatever was reported must be refused until it is inserted, whatever is pinned likewise.
template <class F>
void agrees_with_a_model(std::uint64_t operations, const typename F::Params& params, std::uint64_t seed) {
  constexpr std::uint64_t kUniverse = 1 << 13, kCapacity = 4000, kPinned = 1000;
  const auto universe = numbers(0, kUniverse);
  const auto negatives = std::span(universe).first(params.pinned == Pinning::all ? kPinned : 0);
  auto f = must_build<F>({.negatives = negatives}, params, {.capacity = kCapacity});
  std::vector<std::uint8_t> copies(kUniverse, 0), refused(kUniverse, 0);
  std::fill_n(refused.begin(), negatives.size(), std::uint8_t{1});
  sample::Words random(seed);
  std::uint64_t live = 0, asked = 0, no_room = 0, reports = 0;
  for (std::uint64_t step = 0; step < operations; ++step) {
    const std::uint64_t word = random();
    const std::uint64_t i = fast_range(word, kUniverse);
    const Digest d = universe[i];
    const bool in = f.may_contain(d);
    ASSERT_TRUE(in || copies[i] == 0) << "step " << step << " denies a key";
    ASSERT_TRUE(!in || refused[i] == 0) << "step " << step << " makes a mistake twice";
    switch (word % 4) {
      case 0:
        if (live == kCapacity * 19 / 20 || copies[i] == 2) break;
        ++asked;
        if (f.insert(d))
          ++copies[i], ++live, refused[i] = 0;
        else
          ++no_room;
        break;
      case 1:
        if (copies[i] == 0) {
          ASSERT_FALSE(!in && f.erase(d)) << "step " << step;
        } else {
          ASSERT_TRUE(f.erase(d)) << "step " << step;
          --copies[i], --live;
        }
        break;
      default:
        if (!in || copies[i] != 0) break;
        ASSERT_TRUE(f.adapt(d, 1)) << "step " << step;
        ASSERT_FALSE(f.may_contain(d)) << "step " << step;
        refused[i] = 1;
        ++reports;
    }
  }
  EXPECT_LE(no_room * 100, asked);
  EXPECT_GT(reports, operations / 10'000);
  for (std::uint64_t i = 0; i < kUniverse; ++i)
    for (; copies[i] > 0; --copies[i]) ASSERT_TRUE(f.erase(universe[i]));
  for (const Digest& d : universe) ASSERT_FALSE(f.base().may_contain(d)) << "counted wrongly: every key is out";
}

// All digests of the universe may be in the guard at the same time. Fingerprints of 8 bits: two universe keys seldom
// share their address four times over, which would be eight copies, the limit of the counts.
GuardedCuckoo::Params roomy(bool pinned) {
  return {
      .bits_per_key = bits_for(8.6, 1 << 13, 4000), .guard = 1 << 13, .pinned = pinned ? Pinning::all : Pinning::none};
}

TEST(Guarded, AgreesWithAModelUnderRandomOperations) { agrees_with_a_model<GuardedCuckoo>(200'000, roomy(false), 1); }
TEST(Guarded, AgreesWithAModelUnderRandomOperationsWithPinnedNegatives) {
  agrees_with_a_model<GuardedCuckoo>(200'000, roomy(true), 2);
}
TEST(Guarded, AgreesWithAModelOverCountingBloom) {
  agrees_with_a_model<GuardedCountingBloom>(100'000, {.bits_per_key = bits_for(24, 1 << 13, 4000), .guard = 1 << 13},
                                            3);
}
TEST(Guarded, AgreesWithAModelOverSeesaw) {
  agrees_with_a_model<GuardedSeesaw>(100'000, {.bits_per_key = bits_for(24, 1 << 13, 4000), .guard = 1 << 13}, 4);
}

// NAYSAY_OPERATIONS: how many instead of a billion.
TEST(GuardedSlow, AgreesWithAModelForABillionRandomOperations) {
  const char* asked = std::getenv("NAYSAY_OPERATIONS");
  const std::uint64_t operations = asked ? std::strtoull(asked, nullptr, 10) : 1'000'000'000;
  agrees_with_a_model<GuardedCuckoo>(operations, roomy(true), 5);
}

}  // namespace
}  // namespace naysay
