// SPDX-License-Identifier: Apache-2.0
// Cuckoo: what is peculiar to it. The rest is in conformance.
#include "naysay/cuckoo/cuckoo.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "cuckoo/copies.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::numbers;
using sample::rate_matches;

double full(unsigned b) { return b / cuckoo::kLoad; }

TEST(Cuckoo, TakesTheWidestFingerprintThatFitsAtItsLoad) {
  for (unsigned b = 4; b <= 32; ++b) {
    EXPECT_EQ(must_build<Cuckoo>({}, {.bits_per_key = full(b)}, {.capacity = 1000}).width(), b);
    EXPECT_EQ(must_build<Cuckoo>({}, {.bits_per_key = full(b) + 0.9}, {.capacity = 1000}).width(), b);
  }
  EXPECT_EQ(must_build<Cuckoo>({}, {.bits_per_key = 100}, {.capacity = 1000}).width(), 32u);
  const auto small = Cuckoo::build({}, {.bits_per_key = full(4) - 0.01}, {.capacity = 1000});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, Errc::out_of_budget);
}

TEST(Cuckoo, HoldsKeysAndErrsAsOftenAsItSaysAtEveryWidth) {
  const auto keys = numbers(0, 4000), strangers = numbers(9'000'000, 40'000);
  for (unsigned b = 4; b <= 32; ++b) {
    const Cuckoo f = must_build<Cuckoo>({.keys = keys}, {.bits_per_key = full(b)});
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << b << " bits";
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), 0.02)) << b << " bits";
    EXPECT_NEAR(f.expected_fpr() / cuckoo::fpr(b, 4000.0 / static_cast<double>(f.slots())), 1, 0.02) << b << " bits";
  }
}

// Every slot of 0.95, key by key, without a rebuild.
void fill_to_capacity(unsigned b, std::uint64_t n, std::uint64_t seed) {
  Cuckoo f = must_build<Cuckoo>({}, {.bits_per_key = full(b)}, {.capacity = n, .seed = seed});
  ASSERT_LE(static_cast<double>(f.slots()), static_cast<double>(n) / 0.95 + 40);
  for (std::uint64_t i = 0; i < n; ++i)
    ASSERT_TRUE(f.insert(digest(i, seed))) << b << " bits, key " << i << " of " << n;
  for (std::uint64_t i = 0; i < n; ++i)
    ASSERT_TRUE(f.may_contain(digest(i, seed))) << b << " bits, key " << i << " of " << n;
}

TEST(Cuckoo, TakesTheCapacityItWasBuiltForAtAnySize) {
  for (std::uint64_t n = 1; n < 20'000; n += 1 + n / 5)
    for (unsigned b : {4, 5, 8, 12, 13, 16, 17, 31, 32}) fill_to_capacity(b, n, n);
}

// From 12 bits on the partners of a bucket are multiples of one step. With the first step that comes, these seeds gave
// tables that stopped short.
TEST(Cuckoo, TakesItsCapacityWhateverTheStepFromPartnerToPartner) {
  for (std::uint64_t seed : {9269, 11873, 31462, 41714, 52751, 55338, 73605, 89721}) fill_to_capacity(12, 200, seed);
  for (std::uint64_t seed = 0; seed < 50; ++seed) fill_to_capacity(12, 2000, seed);
}

TEST(CuckooSlow, TakesTheCapacityItWasBuiltForAtAnySize) {
  for (std::uint64_t n = 1; n < 300; ++n)
    for (std::uint64_t seed = 0; seed < 30; ++seed)
      for (unsigned b : {4, 8, 12}) fill_to_capacity(b, n, seed);
  for (unsigned b : {4, 5, 6, 8, 12, 16, 24, 32})
    for (std::uint64_t n : {10'000, 100'000, 1'000'000}) fill_to_capacity(b, n, b);
}

TEST(Cuckoo, CountsSevenCopiesAndKeepsEightForEver) {
  for (unsigned b : {4, 12, 21}) {
    Cuckoo f = must_build<Cuckoo>({}, {.bits_per_key = full(b)}, {.capacity = 100});
    sample::expect_seven_copies_counted(f);
  }
}

TEST(Cuckoo, BuildsFromKeysThatRepeatAndThenNeverForgetsTheLastCopy) {
  auto keys = numbers(0, 3000);
  const auto once = keys;
  keys.insert(keys.end(), 50, once[0]);
  Cuckoo one = must_build<Cuckoo>({.keys = keys}, {.bits_per_key = full(12)});
  EXPECT_FALSE(one.keeps_last()) << "one key fifty times fits into its eight slots";
  for (int copy = 0; copy < 2; ++copy) keys.insert(keys.end(), once.begin(), once.end());
  Report report;
  Cuckoo all = must_build<Cuckoo>({.keys = keys}, {.bits_per_key = full(12)}, {.report = &report});
  ASSERT_TRUE(all.keeps_last()) << "three copies of every key do not pack to 0.95";
  EXPECT_EQ(sample::must_say(report, "repeated keys stored once"), 6050);
  for (const Digest& d : once) ASSERT_TRUE(all.may_contain(d));
  for (int copy = 0; copy < 3; ++copy)
    for (const Digest& d : once) {
      ASSERT_TRUE(all.may_contain(d));
      ASSERT_TRUE(all.erase(d));
    }
  for (const Digest& d : once) ASSERT_TRUE(all.may_contain(d)) << "it may stand for a copy that was not stored";
  for (const Digest& d : once) ASSERT_TRUE(all.insert(d)) << "copies that come later are counted";
}

TEST(Cuckoo, ARefusedInsertHasChangedNothing) {
  for (unsigned b : {4, 11, 30}) {
    Cuckoo f = must_build<Cuckoo>({}, {.bits_per_key = full(b)}, {.capacity = 1000});
    std::uint64_t refused = 0, taken = 0;
    for (std::uint64_t i = 0; i < 1300; ++i) {
      const auto before = bytes_of(f);
      if (f.insert(digest(i))) {
        ++taken;
      } else {
        ++refused;
        ASSERT_EQ(bytes_of(f), before);
      }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GE(taken, 1000u);
  }
}

// The pair of buckets and the fingerprint are all that the filter knows of a key.
using Class = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
Class class_of(const Cuckoo& f, Digest d) {
  const auto at = f.probe(d);
  return {std::min(at.first, at.second), std::max(at.first, at.second), at.fingerprint};
}

TEST(Cuckoo, AgreesWithAMapOfCopiesUnderRandomOperationsInAFullTable) {
  for (unsigned b : {4, 7, 12, 19, 31}) {
    sample::Words random(b);
    const auto universe = numbers(0, 700);
    Cuckoo f = must_build<Cuckoo>({}, {.bits_per_key = full(b)}, {.capacity = 400});
    std::map<Class, unsigned> model;
    std::uint64_t refused = 0;
    for (int step = 0; step < 8000; ++step) {
      const Digest d = universe[random.below(universe.size())];
      unsigned& copies = model[class_of(f, d)];
      if (random.below(5) < 3) {
        const auto before = bytes_of(f);
        if (f.insert(d)) {
          copies = std::min(copies + 1, 8u);
        } else {
          ++refused;
          ASSERT_EQ(bytes_of(f), before);
          ASSERT_LT(copies, 8u) << "a class of eight takes any number";
        }
      } else {
        const auto before = bytes_of(f);
        ASSERT_EQ(f.erase(d), copies > 0);
        if (copies == 0) {
          ASSERT_EQ(bytes_of(f), before) << "erasing a key that the filter denies changes nothing";
        } else if (copies < 8) {
          --copies;
        }
      }
      const Digest q = universe[random.below(universe.size())];
      ASSERT_EQ(f.may_contain(q), model[class_of(f, q)] > 0) << b << " bits, step " << step;
    }
    EXPECT_GT(refused, 0u) << "the table was never full";
  }
}

TEST(Cuckoo, BothBucketsOfAKeyDifferAndLeadToEachOther) {
  for (std::uint64_t n : {1, 5, 77, 1000, 54321}) {
    const Cuckoo f = must_build<Cuckoo>({}, {.bits_per_key = full(9)}, {.capacity = n});
    for (const Digest& d : numbers(0, 2000)) {
      const auto at = f.probe(d);
      ASSERT_LT(at.first, f.slots() / 4);
      ASSERT_LT(at.second, f.slots() / 4);
      ASSERT_NE(at.first % 2, at.second % 2);
    }
  }
}

}  // namespace
}  // namespace naysay
