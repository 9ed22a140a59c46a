// SPDX-License-Identifier: Apache-2.0
#include "naysay/habf/habf.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::must_build;
using sample::must_say;
using sample::numbers;

template <class F>
class HabfAndFast : public ::testing::Test {
 public:
  using Params = typename F::Params;

  static double known_rate(const F& f, std::span<const Digest> negatives) {
    std::uint64_t hits = 0;
    for (const Digest& d : negatives) hits += f.may_contain(d);
    return static_cast<double>(hits) / static_cast<double>(negatives.size());
  }
  static ::testing::AssertionResult refuses(const Params& p, const std::vector<std::string_view>& words) {
    const auto keys = numbers(0, 100);
    return sample::refused(F::build({.keys = keys}, p), Errc::invalid_argument, words);
  }
};

using Both = ::testing::Types<Habf, FastHabf>;
TYPED_TEST_SUITE(HabfAndFast, Both);

constexpr double kPaperBits = 1.5 * 8 * 1024 * 1024 / 1491178;  // 1.5 MB for the paper's keys

TYPED_TEST(HabfAndFast, NeverDeniesAKeyItWasBuiltFromWhateverTheParameters) {
  const auto keys = numbers(0, 700), negatives = numbers(1 << 30, 1400);
  const Workload w{.keys = keys, .negatives = negatives};
  for (unsigned cell_bits = 3; cell_bits <= 6; ++cell_bits)
    for (unsigned k = 1; k < std::min(12u, habf::HashExpressor::family_of(cell_bits)); ++k)
      for (double ratio : {0.01, 0.25, 2.0})
        for (double bits : {2.0, 8.0}) {
          const TypeParam f =
              must_build<TypeParam>(w, {.bits_per_key = bits, .k = k, .cell_bits = cell_bits, .space_ratio = ratio});
          for (const Digest& d : keys)
            ASSERT_TRUE(f.may_contain(d)) << "k " << k << ", cells of " << cell_bits << ", ratio " << ratio;
        }
}

TYPED_TEST(HabfAndFast, NeverDeniesAKeyWhoseFunctionsMeet) {
  // In a filter of some 50 bits two functions of a key often lead to one bit or one cell.
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto keys = numbers(i * 10, 4), negatives = numbers((1 << 30) + i * 100, 100);
    const TypeParam f = must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = 16});
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << "filter " << i;
  }
}

TYPED_TEST(HabfAndFast, RefusesMoreOfTheKnownThanTheAuthorsCode) {
  const auto keys = numbers(0, 100'000), negatives = numbers(1 << 30, 96'000);
  const TypeParam f = must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = kPaperBits});
  const double authors = std::is_same_v<TypeParam, Habf> ? 0.00355 : 0.00566;
  EXPECT_LT(this->known_rate(f, negatives), authors / 2);
}

TYPED_TEST(HabfAndFast, ServesTheCostliestFirst) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1 << 30, 40'000);
  std::vector<float> costs(negatives.size(), 1);
  for (std::size_t i = 0; i < costs.size(); i += 10) costs[i] = 50;
  const TypeParam f =
      must_build<TypeParam>({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 6});
  std::uint64_t cheap = 0, costly = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) (costs[i] > 1 ? costly : cheap) += f.may_contain(negatives[i]);
  EXPECT_LT(static_cast<double>(costly) / 4'000, 0.5 * static_cast<double>(cheap) / 36'000);
}

TYPED_TEST(HabfAndFast, TreatsANegativeThatIsAKeyAsAKey) {
  const auto keys = numbers(0, 5000);
  const auto both = numbers(0, 10'000);  // the first half are keys
  Report report;
  const TypeParam f = must_build<TypeParam>({.keys = keys, .negatives = both}, {}, {.report = &report});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_EQ(must_say(report, "negatives that are keys"), 5000);
  const auto others = std::span(both).subspan(5000);
  EXPECT_DOUBLE_EQ(must_say(report, "weighted fpr measured"), this->known_rate(f, others));
  const TypeParam alone = must_build<TypeParam>({.keys = keys, .negatives = others});
  EXPECT_EQ(bytes_of(f), bytes_of(alone)) << "no effort is spent on it";
}

TYPED_TEST(HabfAndFast, CountsEachCopyOfANegative) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  auto twice = negatives;
  twice.insert(twice.end(), negatives.begin(), negatives.end());
  Report report;
  const TypeParam f =
      must_build<TypeParam>({.keys = keys, .negatives = twice}, {.bits_per_key = 7}, {.report = &report});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_DOUBLE_EQ(must_say(report, "weighted fpr measured"), this->known_rate(f, negatives));
  EXPECT_LT(this->known_rate(f, negatives), 0.01);
}

TYPED_TEST(HabfAndFast, TreatsANegativeOfNoCostAsAStranger) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  const std::vector<float> costs(negatives.size(), 0);
  const TypeParam nothing = must_build<TypeParam>({.keys = keys});
  EXPECT_EQ(bytes_of(must_build<TypeParam>({.keys = keys, .negatives = negatives, .costs = costs})), bytes_of(nothing));
}

TYPED_TEST(HabfAndFast, DoesTheSameForAllEqualCosts) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  const std::vector<float> sevens(negatives.size(), 7);
  EXPECT_EQ(bytes_of(must_build<TypeParam>({.keys = keys, .negatives = negatives})),
            bytes_of(must_build<TypeParam>({.keys = keys, .negatives = negatives, .costs = sevens})));
}

TYPED_TEST(HabfAndFast, IsABloomFilterWithoutNegatives) {
  const auto keys = numbers(0, 5000);
  Report report;
  const TypeParam f = must_build<TypeParam>({.keys = keys}, {}, {.report = &report});
  EXPECT_EQ(must_say(report, "collisions found"), 0);
  EXPECT_NEAR(f.expected_fpr(), bloom::fpr(10 / 1.25, 3), 0.003);
}

TYPED_TEST(HabfAndFast, MovesOneKeyForManyNegatives) {
  const auto keys = numbers(0, 1), negatives = numbers(1 << 30, 20'000);
  for (double bits : {1.0, 64.0, 100.0, 1000.0}) {
    const TypeParam f = must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = bits});
    EXPECT_TRUE(f.may_contain(keys[0])) << bits << " bits";
    const TypeParam chosen =
        must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = bits, .choose = true});
    EXPECT_TRUE(chosen.may_contain(keys[0])) << bits << " bits";
  }
  must_build<TypeParam>({}, {.choose = true});
  must_build<TypeParam>({.negatives = negatives}, {.choose = true});
}

TYPED_TEST(HabfAndFast, MovesACopyOfAKeyWithTheKey) {
  const auto keys = numbers(0, 4000), negatives = numbers(1 << 30, 4000);
  auto twice = keys;
  twice.insert(twice.end(), keys.begin(), keys.end());
  const TypeParam once = must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = 8});
  const TypeParam copied = must_build<TypeParam>({.keys = twice, .negatives = negatives}, {.bits_per_key = 4});
  EXPECT_EQ(bytes_of(once), bytes_of(copied));
}

TYPED_TEST(HabfAndFast, ReportsWhatItDid) {
  const auto keys = numbers(0, 50'000), negatives = numbers(1 << 30, 100'000);
  Report report;
  const TypeParam f =
      must_build<TypeParam>({.keys = keys, .negatives = negatives}, {.bits_per_key = kPaperBits}, {.report = &report});
  const double found = must_say(report, "collisions found"), again = must_say(report, "negatives re-queued");
  EXPECT_NEAR(found / 100'000, bloom::fpr(kPaperBits / 1.25, 3), 0.005);
  EXPECT_EQ(found + again, must_say(report, "collisions optimised") +
                               must_say(report, "collisions optimised in passing") +
                               must_say(report, "collisions failed, no candidate") +
                               must_say(report, "collisions failed, no room in the HashExpressor"));
  EXPECT_EQ(again > 0, (std::is_same_v<TypeParam, Habf>)) << "without Gamma no refused negative collides again";
  const double measured = must_say(report, "weighted fpr measured"),
               expected = must_say(report, "weighted fpr expected");
  EXPECT_DOUBLE_EQ(measured, this->known_rate(f, negatives));
  EXPECT_NEAR(expected, measured, 0.15 * measured);
}

// What the optimisation says it resolved is refused by the first look, victims and all.
TEST(Tpjo, LosesTrackOfNoRefusedNegative) {
  const auto keys = numbers(0, 10'000), negatives = numbers(1 << 30, 60'000);
  std::vector<float> costs(negatives.size());
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = 1 + static_cast<float>(i % 7);
  std::uint64_t requeued = 0;
  for (double bits : {5.0, 8.0, 12.0}) {
    const auto m = static_cast<std::uint64_t>(bits * 10'000);
    Array<std::uint64_t> words(words_for_bits(m));
    habf::HashExpressor expressor(m / 16, 4);
    const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
    const habf::TpjoOutcome o = habf::Tpjo<true>(w, {}, 3, 5, m, words.mutable_data(), expressor).run();
    double passing = 0;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      bool all = true;
      for (unsigned h = 1; h <= 3; ++h)
        all &= test_bit(words.data(), fast_range(habf::nth_function(negatives[i], h), m));
      if (all) passing += costs[i];
    }
    requeued += o.requeued;
    EXPECT_LE(passing, o.left) << bits << " bits: a negative is accepted that did not fail";
    EXPECT_GE(passing, 0.9 * o.left) << bits << " bits: few who failed are refused by a later move";
  }
  EXPECT_GT(requeued, 0u) << "there are no victims to lose";
}

TYPED_TEST(HabfAndFast, ChoosesNoWorseThanTheDefaults) {
  const auto keys = numbers(0, 30'000), negatives = numbers(1 << 30, 30'000);
  const Workload w{.keys = keys, .negatives = negatives, .stranger_share = 0.05};
  const auto score = [&](const TypeParam& f) {
    return 0.95 * this->known_rate(f, negatives) + 0.05 * f.expected_fpr();
  };
  for (double bits : {6.0, 12.0}) {
    const TypeParam chosen = must_build<TypeParam>(w, {.bits_per_key = bits, .choose = true});
    EXPECT_LE(score(chosen), score(must_build<TypeParam>(w, {.bits_per_key = bits})));
    EXPECT_LE(static_cast<double>(chosen.size_bits()),
              bits * 30'000 + static_cast<double>(TypeParam::kClaims.fixed_bits));
  }
}

TYPED_TEST(HabfAndFast, ChoosesAPlainBloomFilterWhenKnowledgeDoesNotPay) {
  const auto keys = numbers(0, 2000), negatives = numbers(1 << 30, 2000);
  const std::vector<float> no_cost(negatives.size(), 0);
  for (const Workload& w : {Workload{.keys = keys}, Workload{.keys = keys, .negatives = negatives, .costs = no_cost},
                            Workload{.keys = keys, .negatives = negatives, .stranger_share = 1}}) {
    Report report;
    const TypeParam f = must_build<TypeParam>(w, {.bits_per_key = 8, .choose = true}, {.report = &report});
    EXPECT_EQ(must_say(report, "space ratio"), 0);
    EXPECT_NEAR(f.expected_fpr(), bloom::fpr(8, 6), 0.002);
  }
}

TYPED_TEST(HabfAndFast, ChoosesNoWorseThanABloomFilterForManyNegativesPerKey) {
  const auto keys = numbers(0, 2000), negatives = numbers(1 << 30, 20'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const double bloom = bloom::fpr(kPaperBits, 6);
  EXPECT_GT(this->known_rate(must_build<TypeParam>(w, {.bits_per_key = kPaperBits}), negatives), bloom)
      << "the defaults are";
  EXPECT_LT(this->known_rate(must_build<TypeParam>(w, {.bits_per_key = kPaperBits, .choose = true}), negatives), bloom);
}

TYPED_TEST(HabfAndFast, KeepsTheBoundOnStrangers) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1 << 30, 20'000), strangers = numbers(1 << 29, 200'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto refused = TypeParam::build(w, {.bits_per_key = kPaperBits, .max_stranger_fpr = 0.025});
  ASSERT_FALSE(refused) << "at the paper's parameters more than 4 % pass";
  EXPECT_TRUE(sample::refused(refused, Errc::out_of_budget, {"choose=true"}));
  const TypeParam f = must_build<TypeParam>(w, {.bits_per_key = kPaperBits, .choose = true, .max_stranger_fpr = 0.025});
  EXPECT_LE(f.expected_fpr(), 0.025);
  EXPECT_LE(this->known_rate(f, strangers), 0.026);
  EXPECT_LE(this->known_rate(f, negatives), 0.25 * bloom::fpr(kPaperBits, 6))
      << "and still most of the known are refused";
  const auto impossible = TypeParam::build(w, {.bits_per_key = kPaperBits, .choose = true, .max_stranger_fpr = 0.01});
  ASSERT_FALSE(impossible) << "no Bloom filter of that size can";
  EXPECT_EQ(impossible.error().code, Errc::out_of_budget);
}

TYPED_TEST(HabfAndFast, SaysWhatIsWrongWithItsParameters) {
  using P = typename TypeParam::Params;
  EXPECT_TRUE(this->refuses(P{.k = 7, .cell_bits = 4}, {"k", "7", "1", "6"}));
  EXPECT_TRUE(this->refuses(P{.k = 0}, {"k", "0", "1"}));
  EXPECT_TRUE(this->refuses(P{.k = 4, .family = 4}, {"k", "4", "1", "3"}));
  EXPECT_TRUE(this->refuses(P{.cell_bits = 7}, {"cell_bits", "7", "3", "6"}));
  EXPECT_TRUE(this->refuses(P{.cell_bits = 4, .family = 8}, {"family", "8", "4", "7"}));
  EXPECT_TRUE(this->refuses(P{.space_ratio = -1}, {"space_ratio", "-1", "0", "16"}));
  EXPECT_TRUE(this->refuses(P{.max_stranger_fpr = 0}, {"max_stranger_fpr", "0"}));
  const auto keys = numbers(0, 100);
  EXPECT_TRUE(TypeParam::build({.keys = keys}, P{.k = 20, .space_ratio = 0})) << "a plain Bloom filter may have any k";
}

}  // namespace
}  // namespace naysay
