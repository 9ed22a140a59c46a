// SPDX-License-Identifier: Apache-2.0
// Trial and score: what is shown to a filter, what is kept from it, and how its answers are counted.
#include "naysay/workload/score.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "naysay/workload/repeats.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

// Answers "maybe" to exactly these.
struct Exactly {
  std::set<Digest> accepted;
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = accepted.count(keys[i]) > 0;
  }
};

std::set<Digest> set_of(std::span<const Digest> digests) { return {digests.begin(), digests.end()}; }

TEST(Trial, HoldsBackARandomTenthOfTheNegativesWhenNoStrangersAreGiven) {
  const auto keys = numbers(0, 100), negatives = numbers(1000, 50'000);
  std::vector<float> costs;
  for (std::size_t i = 0; i < negatives.size(); ++i) costs.push_back(static_cast<float>(i));
  const Trial t = make_trial(keys, negatives, costs, {}, 1);
  EXPECT_TRUE(t.held_back);
  EXPECT_EQ(t.left_out, 0u);
  EXPECT_EQ(t.negatives.size() + t.strangers.size(), negatives.size());
  EXPECT_NEAR(static_cast<double>(t.strangers.size()), 5000, 5 * std::sqrt(50'000 * 0.09));
  ASSERT_EQ(t.costs.size(), t.negatives.size());
  for (std::size_t i = 0; i < t.negatives.size(); i += 97)
    EXPECT_EQ(t.negatives[i], digest(1000 + static_cast<std::uint64_t>(t.costs[i])))
        << "a cost stays with its negative";
  EXPECT_EQ(make_trial(keys, negatives, costs, {}, 1).strangers, t.strangers);
  EXPECT_NE(make_trial(keys, negatives, costs, {}, 2).strangers, t.strangers);
}

TEST(Trial, LeavesOutNegativesThatAreKeysAndStrangersThatAreKnown) {
  const auto keys = numbers(0, 100), negatives = numbers(90, 100), strangers = numbers(50, 200);
  const Trial t = make_trial(keys, negatives, {}, strangers, 1);
  EXPECT_FALSE(t.held_back);
  EXPECT_EQ(t.negatives, numbers(100, 90));
  EXPECT_EQ(t.costs, std::vector<float>(90, 1.0f));
  EXPECT_EQ(t.strangers, numbers(190, 60));
  EXPECT_EQ(t.left_out, 10u + 140u);
}

TEST(Trial, KeepsNoStrangerThatIsAlsoKnownWhenNegativesRepeat) {
  auto negatives = numbers(0, 1000);
  negatives.insert(negatives.end(), negatives.begin(), negatives.end());
  const Trial t = make_trial({}, negatives, {}, {}, 1);
  const auto known = set_of(t.negatives);
  for (const Digest& d : t.strangers) EXPECT_EQ(known.count(d), 0u);
}

TEST(Score, CountsEachKindByItself) {
  const auto keys = numbers(0, 10'000), negatives = numbers(20'000, 4), strangers = numbers(30'000, 8);
  const std::vector<float> costs = {1, 2, 3, 10};
  const Trial t = make_trial(keys, negatives, costs, strangers, 1);
  Exactly f{set_of(keys)};
  f.accepted.erase(keys[7]);
  f.accepted.insert({negatives[1], negatives[2], strangers[0]});
  const Score s = score(f, t);
  EXPECT_EQ(s.false_negatives, 1u);
  EXPECT_DOUBLE_EQ(s.fpr, 1.0 / 8);
  EXPECT_DOUBLE_EQ(s.known_fpr, 2.0 / 4);
  EXPECT_DOUBLE_EQ(s.wfpr, 5.0 / 16);
}

TEST(Score, OfNothingAskedIsNoNumber) {
  const auto negatives = numbers(0, 2);
  const std::vector<float> free = {0, 0};
  const Score none = score(Exactly{}, make_trial({}, {}, {}, {}, 1));
  EXPECT_TRUE(std::isnan(none.fpr) && std::isnan(none.known_fpr) && std::isnan(none.wfpr));
  EXPECT_EQ(none.false_negatives, 0u);
  const Score costless = score(Exactly{}, make_trial({}, negatives, free, numbers(5, 1), 1));
  EXPECT_EQ(costless.known_fpr, 0.0);
  EXPECT_TRUE(std::isnan(costless.wfpr));
}

// Every third digest, by its bits.
struct Thirds {
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = keys[i].lo % 3 == 0;
  }
};

TEST(ScoreThread, IsTheSameForAnyNumberOfThreads) {
  const auto keys = numbers(0, 150'000), negatives = numbers(200'000, 200'000), strangers = numbers(500'000, 70'000);
  std::vector<float> costs;
  for (std::size_t i = 0; i < negatives.size(); ++i) costs.push_back(1 / static_cast<float>(i + 1));
  const Trial t = make_trial(keys, negatives, costs, strangers, 1);
  std::uint64_t denied = 0;
  for (const Digest& d : keys) denied += d.lo % 3 != 0;
  const Score one = score(Thirds{}, t);
  EXPECT_EQ(one.false_negatives, denied);
  EXPECT_NEAR(one.wfpr, 1.0 / 3, 0.3);
  for (const unsigned threads : {2u, 5u}) {
    const Score many = score(Thirds{}, t, false, threads);
    EXPECT_EQ(many.false_negatives, one.false_negatives);
    EXPECT_EQ(many.fpr, one.fpr);
    EXPECT_EQ(many.known_fpr, one.known_fpr);
    EXPECT_EQ(many.wfpr, one.wfpr);
  }
}

TEST(RepeatsThread, AreCountedExactlyOrEstimatedFromAPart) {
  auto keys = numbers(0, 1000);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 10);
  const Repeats few = count_repeats(keys, numbers(990, 50), 2);
  EXPECT_EQ(few.keys, 10u);
  EXPECT_EQ(few.negatives, 10u);
  EXPECT_FALSE(few.estimated);
  auto many = numbers(0, 3'000'000);
  many.insert(many.end(), many.begin(), many.begin() + 500'000);
  const Repeats one = count_repeats(many, numbers(2'500'000, 2'000'000)),
                four = count_repeats(many, numbers(2'500'000, 2'000'000), 4);
  EXPECT_TRUE(one.estimated);
  EXPECT_NEAR(static_cast<double>(one.keys), 500'000, 5 * std::sqrt(500'000.0) * 4);
  EXPECT_NEAR(static_cast<double>(one.negatives), 500'000, 5 * std::sqrt(500'000.0) * 4);
  EXPECT_EQ(one.keys, four.keys);
  EXPECT_EQ(one.negatives, four.negatives);
}

}  // namespace
}  // namespace naysay
