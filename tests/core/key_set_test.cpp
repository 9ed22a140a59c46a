// SPDX-License-Identifier: Apache-2.0
// The sum of a set of keys, and the two numbers of a file's header that say what a filter holds and has room for.
#include "naysay/core/key_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "naysay/any_filter.hpp"
#include "sample.hpp"
#include "says.hpp"

namespace naysay {
namespace {

TEST(KeySet, IsTheSameInAnyOrderAndAnotherForOtherKeys) {
  auto keys = sample::numbers(0, 1000);
  const std::uint32_t sum = key_set_of(keys);
  std::reverse(keys.begin(), keys.end());
  EXPECT_EQ(key_set_of(keys), sum);
  EXPECT_EQ(key_set_of(std::span(keys).first(999)) + key_set_part(keys[999]), sum);
  EXPECT_NE(key_set_of(sample::numbers(1, 1000)), sum);
  EXPECT_NE(key_set_of(std::span(keys).first(999)), sum);
  keys[0] = keys[1];
  EXPECT_NE(key_set_of(keys), sum) << "each copy counts";
  EXPECT_NE(key_set_of({}), kUnknownKeySet);
  EXPECT_EQ(key_set_of(sample::numbers(0, 3)), 0x2f16449eu) << "files hold it";
}

// ---- in files -------------------------------------------------------------------------------------------------------

AnyFilter built(std::string_view name, std::span<const Digest> keys, std::uint64_t capacity = 0) {
  auto f = AnyFilter::build(name, {.keys = keys}, {{"bits_per_key", "10"}}, {.capacity = capacity});
  EXPECT_TRUE(f) << f.error().message;
  return std::move(*f);
}

AnyFilter saved_and_loaded(const AnyFilter& f) {
  auto g = AnyFilter::load(f.to_bytes());
  EXPECT_TRUE(g) << g.error().message;
  return std::move(*g);
}

// The filter's file with another header.
std::vector<std::byte> bytes_with(const AnyFilter& f, const FilterFacts& facts) {
  auto bytes = f.to_bytes();
  const auto header = file_detail::header_of(f.type(), facts, bytes);
  std::copy(header.begin(), header.end(), bytes.begin());
  return bytes;
}

TEST(Capacity, IsWhatWasAskedForOrAsManyAsItHolds) {
  const auto keys = sample::numbers(0, 100);
  EXPECT_EQ(saved_and_loaded(built("bloom", keys, 6000)).facts().room(), 6000u);
  EXPECT_EQ(saved_and_loaded(built("bloom", keys, 7)).facts().room(), 100u);
  EXPECT_EQ(built("bloom", {}).facts().room(), 1u);
  AnyFilter f = built("counting-bloom", keys);
  for (const Digest& d : std::span(keys).first(40)) ASSERT_TRUE(f.erase(d));
  EXPECT_EQ(saved_and_loaded(f).facts().room(), 100u) << "erased keys leave their room";
  EXPECT_EQ(f.clone()->facts().room(), 100u);
  for (const Digest& d : sample::numbers(500, 60)) ASSERT_TRUE(f.insert(d));
  EXPECT_EQ(f.keys(), 120u);
  EXPECT_EQ(saved_and_loaded(f).facts().room(), 100u) << "too many keys make no more room";
}

TEST(Capacity, IsRoundedUpWhereAFloatIsTooCoarse) {
  AnyFilter f = built("bloom", {});
  for (const std::uint64_t capacity : {std::uint64_t{16'777'215}, std::uint64_t{16'777'217}, std::uint64_t{1} << 40}) {
    FilterFacts facts = f.facts();
    facts.capacity = capacity;
    const auto g = AnyFilter::load(bytes_with(f, facts));
    ASSERT_TRUE(g) << g.error().message;
    EXPECT_GE(g->facts().room(), capacity);
    EXPECT_LE(g->facts().room() - capacity, capacity >> 22);
  }
}

TEST(Headers, WithNumbersThatTheirFilterCannotHaveAreRefused) {
  const auto keys = sample::numbers(0, 100);
  const auto refused = [](const AnyFilter& f, const FilterFacts& facts, Errc code) {
    return sample::refused(AnyFilter::load(bytes_with(f, facts)), code, {});
  };
  const AnyFilter ribbon = built("ribbon", keys), bloom = built("bloom", keys);
  FilterFacts facts = ribbon.facts();
  facts.capacity = 5;
  EXPECT_TRUE(refused(ribbon, facts, Errc::unsupported));
  facts = bloom.facts();
  facts.key_set = 5;
  EXPECT_TRUE(refused(bloom, facts, Errc::unsupported));
}

TEST(KeySet, OfAFilterThatWarmsFollowsItsKeysThroughFiles) {
  const auto keys = sample::numbers(0, 5000), more = sample::numbers(9000, 100);
  AnyFilter f = built("adaptive-stacked", keys, 6000);
  EXPECT_EQ(f.facts().key_set, key_set_of(keys));
  for (const Digest& d : more) ASSERT_TRUE(f.insert(d));
  auto all = keys;
  all.insert(all.begin(), more.begin(), more.end());
  AnyFilter g = saved_and_loaded(f);
  EXPECT_EQ(g.facts().key_set, key_set_of(all));
  for (const Digest& d : sample::numbers(1'000'000, 100'000))
    if (g.may_contain(d)) g.adapt(d, 1);
  const auto before = g.to_bytes();
  EXPECT_TRUE(sample::refused(g.warm(keys), Errc::invalid_argument, {"5000", "5100"}));
  EXPECT_TRUE(sample::refused(g.warm(sample::numbers(0, 5100)), Errc::invalid_argument, {"5100", "others"}));
  EXPECT_EQ(g.to_bytes(), before);
  ASSERT_TRUE(g.warm(all));
  EXPECT_TRUE(g.warmth().warm);
  for (const Digest& d : all) ASSERT_TRUE(g.may_contain(d));
}

// Of a file that was written before there were sums, only the number of its keys is known.
TEST(KeySet, OfAnEarlierFileIsUnknownAndItsKeysAreCountedAndQueried) {
  auto f = naysay::load(NAYSAY_SOURCE_DIR "/tests/golden/adaptive-stacked.unknown-keys.v1.nsy");
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->facts().key_set, kUnknownKeySet);
  EXPECT_TRUE(sample::refused(f->warm(sample::numbers(0, 100)), Errc::invalid_argument, {"100", "200"}));
  EXPECT_TRUE(sample::refused(f->warm(sample::numbers(500, 200)), Errc::invalid_argument, {"200", "others"}));
  const auto keys = sample::numbers(0, 200);
  ASSERT_TRUE(f->warm(keys));
  for (const Digest& d : keys) ASSERT_TRUE(f->may_contain(d));
}

}  // namespace
}  // namespace naysay
