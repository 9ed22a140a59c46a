// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/counting_bloom.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using sample::numbers;

TEST(CountingBloom, ACounterAtItsMaximumIsStickySoNoKeyIsLost) {
  for (std::uint32_t bits : {2u, 3u, 4u, 5u, 8u}) {
    CountingBloom f =
        must_build<CountingBloom>({}, {.bits_per_key = 10.0 * bits, .counter_bits = bits}, {.capacity = 10});
    const Digest often = digest(1), once = digest(2);
    ASSERT_TRUE(f.insert(once));
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(f.insert(often));
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(f.erase(often)) << "a sticky counter is never 0, so it stays a maybe";
    EXPECT_TRUE(f.may_contain(often)) << "how often it was inserted is no longer known";
    EXPECT_TRUE(f.may_contain(once)) << bits << " bits";
  }
}

// Few counters of two bits: nearly all overflow. Only keys that are in are erased.
TEST(CountingBloom, NeverDeniesAKeyHoweverManyCountersOverflow) {
  for (std::uint32_t bits : {2u, 4u}) {
    CountingBloom f =
        must_build<CountingBloom>({}, {.bits_per_key = 4, .counter_bits = bits, .k = 3}, {.capacity = 200});
    const auto universe = numbers(0, 300);
    std::map<std::uint64_t, int> model;
    sample::Words random(bits);
    for (int step = 0; step < 50'000; ++step) {
      const std::uint64_t i = random.below(universe.size());
      if (random.below(2) == 0) {
        ASSERT_TRUE(f.insert(universe[i]));
        ++model[i];
      } else if (model[i] > 0) {
        ASSERT_TRUE(f.erase(universe[i]));
        --model[i];
      }
      const std::uint64_t j = random.below(universe.size());
      ASSERT_TRUE(model[j] == 0 || f.may_contain(universe[j])) << "step " << step;
    }
  }
}

TEST(CountingBloom, IsAsItWasAfterEverythingInsertedIsErasedAgain) {
  const auto keys = numbers(0, 5000), later = numbers(1'000'000, 5000), questions = numbers(0, 20'000);
  CountingBloom f = must_build<CountingBloom>({.keys = keys}, {}, {.capacity = 10'000});
  const double before = f.expected_fpr();
  std::vector<bool> answers;
  for (const Digest& d : questions) answers.push_back(f.may_contain(d));
  for (const Digest& d : later) ASSERT_TRUE(f.insert(d));
  EXPECT_GT(f.expected_fpr(), before);
  for (const Digest& d : later) ASSERT_TRUE(f.erase(d));
  EXPECT_EQ(f.expected_fpr(), before);
  for (std::size_t i = 0; i < questions.size(); ++i) ASSERT_EQ(f.may_contain(questions[i]), answers[i]);
}

TEST(CountingBloom, AcceptsStrangersAsOftenAsItSaysWithCountersOfAnyWidth) {
  const auto keys = numbers(0, 10'000), strangers = numbers(9'000'000, 100'000);
  for (std::uint32_t bits = 2; bits <= 16; ++bits) {
    const CountingBloom f =
        must_build<CountingBloom>({.keys = keys}, {.bits_per_key = 8.0 * bits, .counter_bits = bits});
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(sample::rate_matches(hits, strangers.size(), f.expected_fpr(), 0.01)) << bits << " bits";
    EXPECT_NEAR(f.expected_fpr() / bloom::fpr(8, bloom::best_k(8)), 1, 0.05) << bits << " bits";
  }
}

TEST(CountingBloom, RefusesCountersThatCannotCount) {
  for (std::uint32_t bits : {0u, 1u, 17u}) {
    EXPECT_TRUE(sample::refused(CountingBloom::build({}, {.counter_bits = bits}), Errc::invalid_argument,
                                {"counting-bloom", "counter_bits", std::to_string(bits), "2", "16"}));
  }
}

}  // namespace
}  // namespace naysay
