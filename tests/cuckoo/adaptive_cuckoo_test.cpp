// SPDX-License-Identifier: Apache-2.0
// AdaptiveCuckoo: what is peculiar to it. The rest is in conformance.
#include "naysay/cuckoo/adaptive_cuckoo.hpp"

#include <gtest/gtest.h>

#include <map>

#include "cuckoo/copies.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::numbers;
using sample::rate_matches;

double full(unsigned slot_bits) { return slot_bits / cuckoo::kLoad; }

AdaptiveCuckoo with(const std::vector<Digest>& keys, unsigned b, unsigned s, std::uint64_t seed = 1) {
  return must_build<AdaptiveCuckoo>({.keys = keys}, {.bits_per_key = full(b + s), .selector_bits = s}, {.seed = seed});
}
std::vector<Digest> accepted_of(const AdaptiveCuckoo& f, const std::vector<Digest>& of) {
  std::vector<Digest> out;
  for (const Digest& d : of)
    if (f.may_contain(d)) out.push_back(d);
  return out;
}

TEST(AdaptiveCuckoo, GivesTheSelectorItsBitsAndTheFingerprintTheRest) {
  for (unsigned s = 0; s <= 4; ++s)
    for (unsigned b : {4, 8, 12, 16, 17, 32}) {
      const AdaptiveCuckoo f = with({}, b, s);
      EXPECT_EQ(f.width(), b);
      EXPECT_EQ(f.selector_bits(), s);
    }
  EXPECT_TRUE(sample::refused(AdaptiveCuckoo::build({}, {.bits_per_key = 20, .selector_bits = 5}),
                              Errc::invalid_argument, {"selector_bits", "5", "4"}));
  EXPECT_TRUE(sample::refused(AdaptiveCuckoo::build({}, {.bits_per_key = 5, .selector_bits = 1}), Errc::out_of_budget,
                              {"bits_per_key", "5.264"}));
}

TEST(AdaptiveCuckoo, HoldsKeysAndErrsAsOftenAsItSaysAtEveryWidth) {
  const auto keys = numbers(0, 4000), strangers = numbers(9'000'000, 40'000);
  for (unsigned s : {0, 1, 3})
    for (unsigned b = 4; b <= 32; b += b < 16 ? 1 : 5) {
      const AdaptiveCuckoo f = with(keys, b, s);
      for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << b << " bits";
      EXPECT_TRUE(rate_matches(accepted_of(f, strangers).size(), strangers.size(), f.expected_fpr(), 0.02)) << b;
      EXPECT_NEAR(f.expected_fpr() / cuckoo::fpr(b, 4000.0 / static_cast<double>(f.slots())), 1, 0.06) << b;
    }
}

TEST(AdaptiveCuckoo, RefusesWhatWasReportedAndDeniesNoKey) {
  const auto keys = numbers(0, 5000), strangers = numbers(9'000'000, 50'000);
  for (unsigned s : {0, 1, 2})
    for (unsigned b : {5, 8, 12}) {
      AdaptiveCuckoo f = with(keys, b, s);
      const auto errors = accepted_of(f, strangers);
      ASSERT_GT(errors.size(), 20u);
      std::uint64_t refused = 0;
      for (const Digest& d : errors) {
        const bool done = f.adapt(d, 1);
        EXPECT_EQ(done, !f.may_contain(d));
        refused += done;
      }
      // Of the three other slots of a bucket one nearly always helps, and so does a selector.
      EXPECT_GE(refused * 1000, errors.size() * 995) << b << " bits, selectors of " << s;
      for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << b << " bits, selectors of " << s;
    }
}

// The paper's experiment: negatives are queried again and again, and each error is reported.
TEST(AdaptiveCuckoo, ErrsLessAndLessOnNegativesThatComeAgain) {
  const auto keys = numbers(0, 10'000), negatives = numbers(9'000'000, 20'000);
  for (unsigned s : {0, 1, 2}) {
    AdaptiveCuckoo f = with(keys, 8, s);
    const std::uint64_t first = accepted_of(f, negatives).size();
    for (int round = 0; round < 20; ++round)
      for (const Digest& d : negatives)
        if (f.may_contain(d)) f.adapt(d, 1);
    EXPECT_LT(accepted_of(f, negatives).size() * 10, first) << "selectors of " << s;
    const auto others = numbers(20'000'000, 20'000);
    EXPECT_TRUE(rate_matches(accepted_of(f, others).size(), others.size(), f.expected_fpr(), 0.02))
        << "others fare as before";
  }
}

TEST(AdaptiveCuckoo, TakesNoKeyForANegative) {
  const auto keys = numbers(0, 2000);
  AdaptiveCuckoo f = with(keys, 8, 1);
  const auto before = bytes_of(f);
  for (const Digest& d : keys) ASSERT_FALSE(f.adapt(d, 1));
  EXPECT_EQ(bytes_of(f), before);
}

TEST(AdaptiveCuckoo, NeverErasesAKeyInsteadOfAnother) {
  const auto keys = numbers(0, 5000);
  AdaptiveCuckoo f = with(keys, 4, 0);
  const auto errors = accepted_of(f, numbers(9'000'000, 5000));
  ASSERT_GT(errors.size(), 1000u);
  const auto before = bytes_of(f);
  for (const Digest& d : errors) ASSERT_FALSE(f.erase(d));
  EXPECT_EQ(bytes_of(f), before);
}

TEST(AdaptiveCuckoo, CountsSevenCopiesAndKeepsEightPermanently) {
  AdaptiveCuckoo f = must_build<AdaptiveCuckoo>({}, {.bits_per_key = full(9)}, {.capacity = 100});
  sample::expect_seven_copies_counted(f);
}

TEST(AdaptiveCuckoo, BuildsFromKeysThatRepeatAndThenNeverForgetsTheLastCopy) {
  const auto once = numbers(0, 3000);
  auto keys = once;
  for (int copy = 0; copy < 2; ++copy) keys.insert(keys.end(), once.begin(), once.end());
  Report report;
  AdaptiveCuckoo f = must_build<AdaptiveCuckoo>({.keys = keys}, {}, {.report = &report});
  ASSERT_TRUE(f.keeps_last()) << "three copies of every key do not pack to 0.95";
  EXPECT_EQ(sample::must_say(report, "repeated keys stored once"), 6000);
  for (int copy = 0; copy < 3; ++copy)
    for (const Digest& d : once) ASSERT_TRUE(f.erase(d));
  for (const Digest& d : once) ASSERT_TRUE(f.may_contain(d));
}

TEST(AdaptiveCuckoo, TakesTheCapacityItWasBuiltForAtAnySize) {
  for (std::uint64_t n = 1; n < 20'000; n += 1 + n / 5)
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      AdaptiveCuckoo f = must_build<AdaptiveCuckoo>({}, {.bits_per_key = full(9)}, {.capacity = n, .seed = seed});
      ASSERT_LE(static_cast<double>(f.slots()), static_cast<double>(n) / 0.95 + 40);
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.insert(digest(i, seed))) << i << " of " << n;
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.may_contain(digest(i, seed))) << i << " of " << n;
    }
}

TEST(AdaptiveCuckoo, ARefusedInsertHasChangedNothing) {
  AdaptiveCuckoo f = must_build<AdaptiveCuckoo>({}, {}, {.capacity = 1000});
  std::uint64_t i = 0;
  while (f.insert(digest(i))) ++i;
  EXPECT_GE(i, 1000u);
  const auto before = bytes_of(f);
  for (std::uint64_t j = i; j < i + 20; ++j)
    if (!f.insert(digest(j)))
      ASSERT_EQ(bytes_of(f), before);
    else
      return;  // there was room for that one
}

// Insertions, erasures and reports in any order against a multiset; keys are moved and adapted all the time.
TEST(AdaptiveCuckoo, DeniesNoKeyWhateverIsInsertedErasedAndReported) {
  for (unsigned s : {0, 1, 2}) {
    sample::Words random(s + 1);
    AdaptiveCuckoo f =
        must_build<AdaptiveCuckoo>({}, {.bits_per_key = full(6 + s), .selector_bits = s}, {.capacity = 1000});
    std::map<std::uint64_t, int> model;
    std::uint64_t held = 0, reported = 0;
    for (int step = 0; step < 100'000; ++step) {
      const std::uint64_t key = random.below(4000);
      int& count = model[key];
      const std::uint64_t what = random.below(3);
      if (what == 0 && held < 1000 && count < 3) {
        if (f.insert(digest(key))) ++count, ++held;
      } else if (what == 1 && count > 0) {
        ASSERT_TRUE(f.erase(digest(key)));
        --count, --held;
      } else if (count == 0 && f.may_contain(digest(key))) {
        reported += f.adapt(digest(key), 1);
      }
      if (step % 500 == 0)
        for (const auto& [k, n] : model) ASSERT_TRUE(n == 0 || f.may_contain(digest(k))) << "step " << step;
    }
    EXPECT_GT(reported, 500u);
    EXPECT_GT(held, 900u);
  }
}

TEST(AdaptiveCuckoo, CountsItsKeysNextToTheFilterAndNotInIt) {
  const auto keys = numbers(0, 20'000);
  const auto f = AnyFilter::build("adaptive-cuckoo", {.keys = keys}, {{"bits_per_key", 10}});
  const auto plain = AnyFilter::build("cuckoo", {.keys = keys}, {{"bits_per_key", 10}});
  ASSERT_TRUE(f && plain);
  EXPECT_NEAR(static_cast<double>(f->size_bits()), static_cast<double>(plain->size_bits()), 1024);
  EXPECT_NEAR(f->expected_fpr() / plain->expected_fpr(), 1, 0.02);
  EXPECT_GE(f->index_bits(), 64 * keys.size());
  EXPECT_LE(f->index_bits(), 85 * keys.size());
  EXPECT_GE(8 * f->to_bytes().size(), f->size_bits() + f->index_bits());
}

TEST(AdaptiveCuckoo, KeepsWhatItWasToldInItsFile) {
  const auto keys = numbers(0, 5000);
  auto f = sample::must(AnyFilter::build("adaptive-cuckoo", {.keys = keys}, {{"bits_per_key", 9}}));
  std::vector<Digest> told;
  for (const Digest& d : numbers(9'000'000, 20'000))
    if (f.may_contain(d) && f.adapt(d)) told.push_back(d);
  ASSERT_GT(told.size(), 100u);
  AnyFilter again = sample::must(AnyFilter::load(f.to_bytes()));
  for (const Digest& d : told) EXPECT_EQ(again.may_contain(d), f.may_contain(d));
  for (const Digest& d : keys) ASSERT_TRUE(again.may_contain(d));
  for (const Digest& d : keys) ASSERT_TRUE(again.erase(d));
  for (const Digest& d : keys) ASSERT_FALSE(again.may_contain(d)) << "all keys were erased";
}

}  // namespace
}  // namespace naysay
