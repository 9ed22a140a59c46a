// SPDX-License-Identifier: Apache-2.0
// GrowingCuckoo: what is peculiar to it. The rest is in conformance.
#include "naysay/cuckoo/growing_cuckoo.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::numbers;
using sample::rate_matches;

using Params = GrowingCuckoo::Params;

GrowingCuckoo reload(const GrowingCuckoo& f) {
  const auto bytes = bytes_of(f);
  FieldReader read(bytes, 0, 0, FieldReader::Arrays::copy);
  GrowingCuckoo again;
  GrowingCuckoo::fields(again, read);
  EXPECT_TRUE(read.ok()) << read.error();
  const auto ok = again.validate();
  EXPECT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(bytes_of(again), bytes);
  return again;
}

std::vector<bool> answers(const GrowingCuckoo& f, std::uint64_t first, std::uint64_t count) {
  std::vector<bool> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = f.may_contain(digest(first + i));
  return out;
}

// Random insertions and erasures of keys with up to four copies, from n0 keys to `most` and back and on.
struct Churn {
  explicit Churn(GrowingCuckoo& filter, std::uint64_t seed) : f(filter), random(seed) {}

  bool step(std::uint64_t most) {
    const std::uint64_t live = in.size();
    if (live < most && (live == 0 || random.below(100) < (growing ? 70u : 35u))) {
      const bool again = live > 0 && random.below(20) == 0;
      const std::uint64_t key = again ? in[random.below(live)] : next++;
      if (copies[key] >= 4) return true;
      if (!f.insert(digest(key))) return false;
      ++copies[key];
      in.push_back(key);
    } else {
      const std::uint64_t i = random.below(live), key = in[i];
      if (!f.erase(digest(key))) return false;
      --copies[key];
      in[i] = in.back();
      in.pop_back();
    }
    if (in.size() >= most) growing = false;
    if (in.size() < most / 2) growing = true;
    return true;
  }
  std::uint64_t lost() const {
    std::uint64_t n = 0;
    for (std::uint64_t key : in) n += !f.may_contain(digest(key));
    return n;
  }

  GrowingCuckoo& f;
  sample::Words random;
  std::unordered_map<std::uint64_t, unsigned> copies;
  std::vector<std::uint64_t> in;
  std::uint64_t next = 0;
  bool growing = true;
};

TEST(GrowingCuckoo, LosesNoKeyAndRefusesNoErasureOfAMultisetOverThreeErasWithShortSlots) {
  for (double growth : {6.0, 8.0}) {
    GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 7.5, .growth = growth}, {.capacity = 200});
    ASSERT_LE(f.era(0).tag_bits(), 6u) << "short slots, so that keys collide";
    Churn churn(f, 7);
    std::size_t most_eras = 0;
    for (int i = 0; i < 200'000; ++i) {
      ASSERT_TRUE(churn.step(22'000)) << "operation " << i;
      most_eras = std::max(most_eras, f.eras());
      if (i % 20'000 == 0) {
        ASSERT_EQ(churn.lost(), 0u) << "operation " << i;
      }
    }
    EXPECT_EQ(churn.lost(), 0u);
    EXPECT_GE(most_eras, 3u);
    for (std::uint64_t key : churn.in) ASSERT_TRUE(f.erase(digest(key)));
    EXPECT_EQ(f.keys(), 0u);
    EXPECT_EQ(f.eras(), 1u) << "eras without keys are dropped";
  }
}

// Tables with fewer buckets than are repacked together.
TEST(GrowingCuckoo, LosesNoKeyOfASmallTable) {
  for (const double bits : {12.5, 13.0, 14.0, 16.0, 20.0})
    for (std::uint64_t n = 0; n <= 40; ++n) {
      const auto keys = numbers(n * 1000, n);
      auto f = must_build<GrowingCuckoo>({.keys = keys}, {.bits_per_key = bits, .growth = 64});
      for (std::uint64_t i = n; i < 300; ++i) {
        ASSERT_TRUE(f.insert(digest(n * 1000 + i)));
        const auto ok = f.validate();
        ASSERT_TRUE(ok) << bits << " bits, " << n << " keys and " << i - n << " more: " << ok.error().message;
      }
      for (std::uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(f.may_contain(digest(n * 1000 + i))) << bits << " " << n;
    }
}

TEST(GrowingCuckoo, ChangesNoAnswerWhileItGrows) {
  const auto keys = numbers(0, 3000);
  GrowingCuckoo f = must_build<GrowingCuckoo>({.keys = keys}, Params{.bits_per_key = 15, .growth = 64});
  const auto before = answers(f, 1'000'000, 1'000'000);
  const std::uint64_t first = f.era(0).buckets();
  std::uint64_t next_check = 1;
  while (f.era(0).buckets() < first * 20) {
    ASSERT_TRUE(f.reserve(f.capacity() + 1));
    if (f.era(0).buckets() - first < next_check) continue;
    next_check *= 3;
    ASSERT_EQ(answers(f, 1'000'000, 30'000), std::vector<bool>(before.begin(), before.begin() + 30'000))
        << f.era(0).buckets() << " buckets";
    const GrowingCuckoo again = reload(f);
    ASSERT_EQ(answers(again, 1'000'000, 30'000), std::vector<bool>(before.begin(), before.begin() + 30'000));
  }
  EXPECT_EQ(f.eras(), 1u);
  EXPECT_EQ(answers(f, 1'000'000, 1'000'000), before);
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(GrowingCuckoo, GoesOnAfterAFileInTheMiddleOfARound) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 18, .growth = 32}, {.capacity = 100});
  sample::Words random(3);
  std::uint64_t n = 0;
  for (int round = 0; round < 60; ++round) {
    for (const std::uint64_t until = n + 1 + random.below(200); n < until; ++n) ASSERT_TRUE(f.insert(digest(n)));
    f = reload(f);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.may_contain(digest(i))) << i << " of " << n;
  }
  EXPECT_GE(f.eras(), 1u);
}

TEST(GrowingCuckoo, ErrsAsOftenAsItSaysAtEverySize) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 13, .growth = 16}, {.capacity = 1000});
  sample::Words random(5);
  for (std::uint64_t n = 0; n < 100'000;) {
    for (const std::uint64_t until = n + 1 + random.below(20'000); n < until; ++n) ASSERT_TRUE(f.insert(digest(n)));
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0; i < 300'000; ++i) hits += f.may_contain(digest((std::uint64_t{1} << 40) + i));
    EXPECT_TRUE(rate_matches(hits, 300'000, f.expected_fpr(), 0.02)) << n << " keys";
  }
  EXPECT_GE(f.eras(), 2u);
}

TEST(GrowingCuckoo, ReachesThePlannedRateAtThePlannedCapacityAndItsPrice) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 20, .growth = 32}, {.capacity = 1000});
  const double planned = f.planned_fpr();
  const std::uint64_t most = f.planned_capacity();
  EXPECT_GE(most, 32'000u);
  for (std::uint64_t i = 0; i < most; ++i) ASSERT_TRUE(f.insert(digest(i)));
  EXPECT_EQ(f.eras(), 1u);
  EXPECT_NEAR(f.expected_fpr() / planned, 1, 0.001);
  const double bits = static_cast<double>(f.size_bits()) / static_cast<double>(most);
  EXPECT_LE(bits, f.era(0).tag_bits() / 0.90 * 1.01) << "no bits of the place are left in a slot";
  ASSERT_TRUE(f.insert(digest(most)));
  EXPECT_EQ(f.eras(), 2u);
}

TEST(GrowingCuckoo, HasNoRoomBeyondThePlanIfErasAreForbidden) {
  GrowingCuckoo f =
      must_build<GrowingCuckoo>({}, Params{.bits_per_key = 16, .growth = 4, .eras = false}, {.capacity = 500});
  const std::uint64_t most = f.planned_capacity();
  std::uint64_t n = 0;
  while (f.insert(digest(n))) ++n;
  EXPECT_GE(n, most);
  EXPECT_EQ(f.eras(), 1u);
  const auto before = bytes_of(f);
  EXPECT_FALSE(f.insert(digest(n)));
  EXPECT_EQ(bytes_of(f), before);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.may_contain(digest(i)));
}

TEST(GrowingCuckoo, KeepsTheAddressOfADigestForEver) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 14, .growth = 8}, {.capacity = 300});
  const auto some = numbers(0, 5000);
  std::vector<std::uint64_t> before;
  for (const Digest& d : some) before.push_back(f.address(d));
  for (std::uint64_t i = 0; i < 40'000; ++i) ASSERT_TRUE(f.insert(digest(i)));
  ASSERT_GE(f.eras(), 2u);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(f.erase(digest(i)));
  for (std::size_t i = 0; i < some.size(); ++i) ASSERT_EQ(f.address(some[i]), before[i]);
}

TEST(GrowingCuckoo, AnswersAllDigestsOfAnAddressAlikeWithinAnEra) {
  const auto keys = numbers(0, 3000);
  const GrowingCuckoo f = must_build<GrowingCuckoo>({.keys = keys}, Params{.bits_per_key = 12, .growth = 4});
  std::unordered_map<std::uint64_t, bool> answer;
  std::uint64_t pairs = 0;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    const auto [at, first] = answer.try_emplace(f.address(digest(i)), f.may_contain(digest(i)));
    pairs += !first;
    ASSERT_EQ(at->second, f.may_contain(digest(i)));
  }
  EXPECT_GT(pairs, 1000u);
}

TEST(GrowingCuckoo, EightCopiesAndMoreNeverGrowTheTableAndAreNeverForgotten) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{}, {.capacity = 100});
  const Digest d = digest(1u);
  const std::uint64_t buckets = f.era(0).buckets();
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(f.insert(d));
  EXPECT_EQ(f.era(0).buckets(), buckets);
  EXPECT_EQ(f.keys(), 8u);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(f.erase(d));
  EXPECT_TRUE(f.may_contain(d)) << "nobody knows how many the eight stand for";
  for (int copies = 1; copies <= 7; ++copies) {
    const Digest e = digest(std::uint64_t{100} + copies);
    for (int i = 0; i < copies; ++i) ASSERT_TRUE(f.insert(e));
    for (int i = 0; i < copies; ++i) {
      ASSERT_TRUE(f.may_contain(e));
      ASSERT_TRUE(f.erase(e));
    }
    ASSERT_FALSE(f.may_contain(e));
  }
}

TEST(GrowingCuckoo, KeepsItsLoadWhileItGrows) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 20, .growth = 128}, {.capacity = 2000});
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_TRUE(f.insert(digest(i)));
  for (std::uint64_t i = 2000; i < 200'000; ++i) {
    ASSERT_TRUE(f.insert(digest(i)));
    ASSERT_LE(f.load(), 0.90);
    ASSERT_GE(f.load(), 0.89);
  }
}

TEST(GrowingCuckoo, GivesTheSameBytesForTheSameOperations) {
  GrowingCuckoo a = must_build<GrowingCuckoo>({}, Params{}, {.capacity = 100, .seed = 4});
  GrowingCuckoo b = must_build<GrowingCuckoo>({}, Params{}, {.capacity = 100, .seed = 4});
  Churn one(a, 11), two(b, 11);
  for (int i = 0; i < 30'000; ++i) {
    ASSERT_TRUE(one.step(5000));
    ASSERT_TRUE(two.step(5000));
  }
  EXPECT_EQ(bytes_of(a), bytes_of(b));
}

TEST(GrowingCuckoo, ReservesAheadAndRenewsFromKeysShownAgain) {
  GrowingCuckoo f = must_build<GrowingCuckoo>({}, Params{.bits_per_key = 10, .growth = 4}, {.capacity = 200});
  ASSERT_TRUE(f.reserve(300));
  EXPECT_GE(f.capacity(), 300u);
  const std::uint64_t buckets = f.era(0).buckets();
  for (std::uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(f.insert(digest(i)));
  EXPECT_EQ(f.era(0).buckets(), buckets) << "the splits were paid ahead";
  for (std::uint64_t i = 300; i < 20'000; ++i) ASSERT_TRUE(f.insert(digest(i)));
  ASSERT_GE(f.eras(), 3u);
  const double before = f.expected_fpr();
  ASSERT_TRUE(f.renew(numbers(0, 20'000)));
  EXPECT_EQ(f.eras(), 1u);
  EXPECT_LT(f.expected_fpr(), before / 4);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(f.may_contain(digest(i)));
}

TEST(GrowingCuckoo, NamesTheGrowthItCannotPlan) {
  for (double growth : {0.5, 0.0, -1.0, 1e10, std::nan("")}) {
    const auto f = GrowingCuckoo::build({}, {.growth = growth}, {.capacity = 10});
    ASSERT_FALSE(f);
    EXPECT_EQ(f.error().code, Errc::invalid_argument);
    EXPECT_NE(f.error().message.find("growth"), std::string::npos);
  }
  const auto small = GrowingCuckoo::build({}, {.bits_per_key = 8, .growth = 1024}, {.capacity = 1000});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, Errc::out_of_budget);
}

}  // namespace
}  // namespace naysay
