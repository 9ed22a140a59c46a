// SPDX-License-Identifier: Apache-2.0
// Filters that grow, merged: no key of either is denied, keys can be erased again, and what both deny stays refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "naysay/any_filter.hpp"
#include "naysay/guarded/guarded.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using sample::numbers;

template <class F>
void insert_all(F& f, std::span<const Digest> keys) {
  for (const Digest& d : keys) ASSERT_TRUE(f.insert(d));
}
template <class F>
std::uint64_t accepted(const F& f, std::span<const Digest> keys) {
  std::uint64_t n = 0;
  for (const Digest& d : keys) n += f.may_contain(d);
  return n;
}

GrowingCuckoo growing(std::span<const Digest> keys, double growth = 4) {
  auto f = must_build<GrowingCuckoo>({}, {.bits_per_key = 16, .growth = growth}, {.capacity = 1000});
  insert_all(f, keys);
  return f;
}

TEST(Merge, HoldsTheKeysOfBothAtTheRateOfTheSum) {
  for (std::uint64_t mine : {0, 700, 3900, 9000})  // the last two do not leave room in one table; 9000 has eras
    for (std::uint64_t theirs : {1, 900, 3900, 9000}) {
      SCOPED_TRACE(std::to_string(mine) + " and " + std::to_string(theirs));
      const auto a = numbers(0, mine), b = numbers(1 << 20, theirs), strangers = numbers(1 << 30, 50'000);
      GrowingCuckoo f = growing(a);
      const GrowingCuckoo other = growing(b);
      ASSERT_TRUE(f.merge(other));
      ASSERT_TRUE(f.validate());
      EXPECT_EQ(f.keys(), mine + theirs);
      EXPECT_EQ(accepted(f, a), mine);
      EXPECT_EQ(accepted(f, b), theirs);
      EXPECT_TRUE(sample::rate_matches(accepted(f, strangers), strangers.size(), f.expected_fpr(), 0.3));
      for (const Digest& d : b) ASSERT_TRUE(f.erase(d));
      EXPECT_EQ(accepted(f, a), mine) << "erasing the other's keys takes none of ours";
      for (const Digest& d : a) ASSERT_TRUE(f.erase(d));
      EXPECT_EQ(f.keys(), 0u);
      insert_all(f, b);
      EXPECT_EQ(accepted(f, b), theirs);
    }
}

TEST(Merge, IsOneTableWhereItFits) {
  GrowingCuckoo f = growing(numbers(0, 1500));
  ASSERT_TRUE(f.merge(growing(numbers(1 << 20, 1500))));
  EXPECT_EQ(f.eras(), 1u);
  EXPECT_GT(f.load(), 0.8);
}

TEST(Merge, NeedsNoTableOfItsOwnForASmallOrEmptyFilter) {
  GrowingCuckoo f = growing(numbers(0, 9000));
  ASSERT_EQ(f.eras(), 2u);
  for (const Digest& d : numbers(0, 2000)) ASSERT_TRUE(f.erase(d));  // room in the older table, too
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(f.merge(growing({})));
    ASSERT_TRUE(f.merge(growing(numbers((i + 1) << 20, 30))));
  }
  EXPECT_EQ(f.eras(), 2u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(accepted(f, numbers((i + 1) << 20, 30)), 30u);
}

TEST(Merge, OpensNoTableThatTheFilterMustNotOpen) {
  const auto keys = numbers(0, 5000);
  auto f = must_build<GrowingCuckoo>({}, {.bits_per_key = 16, .growth = 4, .eras = false}, {.capacity = 1000});
  insert_all(f, keys);
  EXPECT_TRUE(
      sample::refused(f.merge(growing(numbers(1 << 20, 5000))), Errc::out_of_budget, {"no room", "more growth"}));
  EXPECT_EQ(f.keys(), keys.size());
}

TEST(Merge, RefusesFiltersThatSeeOtherBitsOfAKeyAndChangesNothing) {
  const auto keys = numbers(0, 500);
  GrowingCuckoo f = growing(keys);
  const auto before = bits_of_fields(f);
  const auto other_bits = must_build<GrowingCuckoo>({}, {.bits_per_key = 20, .growth = 4}, {.capacity = 1000});
  const auto other_seed =
      must_build<GrowingCuckoo>({}, {.bits_per_key = 16, .growth = 4}, {.capacity = 1000, .seed = 5});
  for (const GrowingCuckoo* other : {&other_bits, &other_seed}) {
    const auto merged = f.merge(*other);
    ASSERT_FALSE(merged);
    EXPECT_TRUE(sample::says(merged.error().message, {"same bits_per_key", "capacity", "growth"}));
  }
  EXPECT_EQ(bits_of_fields(f), before);
  EXPECT_EQ(accepted(f, keys), keys.size());
}

TEST(Merge, RefusesWhatBothDenyAndNothingThatOneMayContain) {
  const auto mine = numbers(0, 3000), theirs = numbers(1 << 20, 3000);
  auto pins = numbers(1 << 24, 2000), their_pins = numbers(1 << 25, 2000);
  pins.insert(pins.end(), theirs.begin(), theirs.begin() + 300);  // pinned in one, keys of the other
  their_pins.insert(their_pins.end(), mine.begin(), mine.begin() + 300);
  const GuardedGrowing::Params params{.bits_per_key = 20, .guard = 60, .pinned = Pinning::all, .growth = 16};
  auto f = must_build<GuardedGrowing>({.negatives = pins}, params, {.capacity = 1000});
  auto other = must_build<GuardedGrowing>({.negatives = their_pins}, params, {.capacity = 1000});
  insert_all(f, mine);
  insert_all(other, theirs);
  for (std::uint64_t i = 0; i < 4000; ++i)
    if (const Digest d = digest((1ull << 33) + i); f.may_contain(d)) ASSERT_TRUE(f.adapt(d, 1));
  std::vector<Digest> denied = numbers(1ull << 33, 4000);  // by both; most of those that only one accepts are reported
  denied.insert(denied.end(), pins.begin(), pins.end());
  denied.insert(denied.end(), their_pins.begin(), their_pins.end());
  std::erase_if(denied, [&](Digest d) { return f.may_contain(d) || other.may_contain(d); });
  std::vector<Digest> pinned = denied;
  std::erase_if(pinned, [&](Digest d) {
    return std::find(pins.begin(), pins.end(), d) == pins.end() &&
           std::find(their_pins.begin(), their_pins.end(), d) == their_pins.end();
  });
  ASSERT_GT(pinned.size(), 3900u);
  std::uint64_t refused = 0;  // by the guard of this one, and not accepted by the other's base
  for (const Digest& d : denied) refused += f.base().may_contain(d) && !other.base().may_contain(d);
  ASSERT_GT(refused, 10u);
  ASSERT_TRUE(f.merge(other));
  ASSERT_TRUE(f.validate());
  EXPECT_EQ(accepted(f, mine), mine.size());
  EXPECT_EQ(accepted(f, theirs), theirs.size());
  EXPECT_EQ(f.pinned(), pinned.size());
  EXPECT_EQ(accepted(f, pinned), 0u);
  for (const Digest& d : denied)
    if (f.may_contain(d)) ASSERT_TRUE(other.refuses(d)) << "only what was reported to the other is forgotten";
  insert_all(f, numbers(1 << 26, 3000));
  EXPECT_EQ(accepted(f, pinned), 0u);
}

TEST(Merge, CountsTheKeysOfAnyFilter) {
  const auto make = [](std::uint64_t first) {
    auto f = AnyFilter::build("growing-cuckoo", {}, {}, {.capacity = 100});
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(f->insert(digest(first + i)));
    return std::move(*f);
  };
  AnyFilter f = make(0);
  ASSERT_TRUE(f.merge(make(1000)));
  EXPECT_EQ(f.keys(), 100u);
  const auto again = AnyFilter::load(f.to_bytes());
  ASSERT_TRUE(again);
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(again->may_contain(digest(1000 + i)));

  auto bloom = AnyFilter::build("bloom", {}, {}, {.capacity = 100});
  const auto no = bloom->merge(f);
  ASSERT_FALSE(no);
  EXPECT_EQ(no.error().code, Errc::unsupported);
  auto cuckoo = AnyFilter::build("guarded-growing", {}, {}, {.capacity = 100});
  EXPECT_FALSE(f.merge(*cuckoo)) << "another type";
  auto salted = AnyFilter::build("growing-cuckoo", {}, {}, {.capacity = 100, .hasher = Hasher{HashId::xxh3, 7}});
  ASSERT_TRUE(salted);
  const auto other_hash = f.merge(*salted);
  ASSERT_FALSE(other_hash);
  EXPECT_TRUE(sample::says(other_hash.error().message, {"another hash or seed"}));
}

}  // namespace
}  // namespace naysay
