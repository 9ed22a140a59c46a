#include "naysay/habf/habf.hpp"

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

template <class F>
class HabfAndFast : public ::testing::Test {
 public:
  using Params = typename F::Params;

  static F must_build(const Workload& w, const Params& p = {}) {
    auto f = F::build(w, p);
    EXPECT_TRUE(f) << f.error().message;
    if (!f) std::abort();
    return std::move(*f);
  }
  static double known_rate(const F& f, std::span<const Digest> negatives) {
    std::uint64_t hits = 0;
    for (const Digest& d : negatives) hits += f.may_contain(d);
    return static_cast<double>(hits) / static_cast<double>(negatives.size());
  }
  static std::vector<std::byte> bytes(const F& f) {
    std::vector<std::byte> out;
    FieldWriter writer(out);
    F::fields(f, writer);
    return out;
  }
  static std::string why_not(const Params& p) {
    const auto keys = numbers(0, 100);
    const auto f = F::build({.keys = keys}, p);
    return f ? "" : f.error().message;
  }
  static double line(const Report& r, std::string_view name) {
    for (const Report::Line& l : r.lines)
      if (l.name == name) return l.value;
    ADD_FAILURE() << "the report has no line '" << name << "'";
    return -1;
  }
};

using Both = ::testing::Types<Habf, FastHabf>;
TYPED_TEST_SUITE(HabfAndFast, Both);

constexpr double kPaperBits = 1.5 * 8 * 1024 * 1024 / 1491178;  // 1.5 MB for the paper's keys

TYPED_TEST(HabfAndFast, NeverDeniesAKeyItWasBuiltFromWhateverTheParameters) {
  const auto keys = numbers(0, 700), negatives = numbers(1 << 30, 1400);
  const Workload w{.keys = keys, .negatives = negatives};
  for (unsigned cell_bits = 3; cell_bits <= 6; ++cell_bits)
    for (unsigned k = 1; k < std::min(12u, HashExpressor::family_of(cell_bits)); ++k)
      for (double ratio : {0.01, 0.25, 2.0})
        for (double bits : {2.0, 8.0}) {
          const TypeParam f =
              this->must_build(w, {.bits_per_key = bits, .k = k, .cell_bits = cell_bits, .space_ratio = ratio});
          for (const Digest& d : keys)
            ASSERT_TRUE(f.may_contain(d)) << "k " << k << ", cells of " << cell_bits << ", ratio " << ratio;
        }
}

TYPED_TEST(HabfAndFast, NeverDeniesAKeyWhoseFunctionsMeet) {
  // In a filter of some 50 bits two functions of a key often lead to one bit or one cell.
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto keys = numbers(i * 10, 4), negatives = numbers((1 << 30) + i * 100, 100);
    const TypeParam f = this->must_build({.keys = keys, .negatives = negatives}, {.bits_per_key = 16});
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << "filter " << i;
  }
}

TYPED_TEST(HabfAndFast, RefusesMoreOfTheKnownThanTheAuthorsCode) {
  const auto keys = numbers(0, 100'000), negatives = numbers(1 << 30, 96'000);
  const TypeParam f = this->must_build({.keys = keys, .negatives = negatives}, {.bits_per_key = kPaperBits});
  const double authors = std::is_same_v<TypeParam, Habf> ? 0.00355 : 0.00566;
  EXPECT_LT(this->known_rate(f, negatives), authors / 2);
}

TYPED_TEST(HabfAndFast, ServesTheCostliestFirst) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1 << 30, 40'000);
  std::vector<float> costs(negatives.size(), 1);
  for (std::size_t i = 0; i < costs.size(); i += 10) costs[i] = 50;
  const TypeParam f = this->must_build({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = 6});
  std::uint64_t cheap = 0, costly = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) (costs[i] > 1 ? costly : cheap) += f.may_contain(negatives[i]);
  EXPECT_LT(static_cast<double>(costly) / 4'000, 0.5 * static_cast<double>(cheap) / 36'000);
}

TYPED_TEST(HabfAndFast, TreatsANegativeThatIsAKeyAsAKey) {
  const auto keys = numbers(0, 5000);
  const auto both = numbers(0, 10'000);  // the first half are keys
  Report report;
  const TypeParam f = this->must_build({.keys = keys, .negatives = both, .report = &report});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_EQ(this->line(report, "negatives that are keys"), 5000);
  const auto others = std::span(both).subspan(5000);
  EXPECT_DOUBLE_EQ(this->line(report, "weighted fpr measured"), this->known_rate(f, others));
  const TypeParam alone = this->must_build({.keys = keys, .negatives = others});
  EXPECT_EQ(this->bytes(f), this->bytes(alone)) << "no effort is spent on it";
}

TYPED_TEST(HabfAndFast, CountsEachCopyOfANegative) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  auto twice = negatives;
  twice.insert(twice.end(), negatives.begin(), negatives.end());
  Report report;
  const TypeParam f = this->must_build({.keys = keys, .negatives = twice, .report = &report}, {.bits_per_key = 7});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_DOUBLE_EQ(this->line(report, "weighted fpr measured"), this->known_rate(f, negatives));
  EXPECT_LT(this->known_rate(f, negatives), 0.01);
}

TYPED_TEST(HabfAndFast, TreatsANegativeOfNoCostAsAStranger) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  const std::vector<float> costs(negatives.size(), 0);
  const TypeParam nothing = this->must_build({.keys = keys});
  EXPECT_EQ(this->bytes(this->must_build({.keys = keys, .negatives = negatives, .costs = costs})),
            this->bytes(nothing));
}

TYPED_TEST(HabfAndFast, DoesTheSameForAllEqualCosts) {
  const auto keys = numbers(0, 5000), negatives = numbers(1 << 30, 5000);
  const std::vector<float> sevens(negatives.size(), 7);
  EXPECT_EQ(this->bytes(this->must_build({.keys = keys, .negatives = negatives})),
            this->bytes(this->must_build({.keys = keys, .negatives = negatives, .costs = sevens})));
}

TYPED_TEST(HabfAndFast, IsABloomFilterWithoutNegatives) {
  const auto keys = numbers(0, 5000);
  Report report;
  const TypeParam f = this->must_build({.keys = keys, .report = &report});
  EXPECT_EQ(this->line(report, "collisions found"), 0);
  EXPECT_NEAR(f.expected_fpr(), bloom::fpr(10 / 1.25, 3), 0.003);
}

TYPED_TEST(HabfAndFast, MovesOneKeyForManyNegatives) {
  const auto keys = numbers(0, 1), negatives = numbers(1 << 30, 20'000);
  for (double bits : {1.0, 64.0, 100.0, 1000.0}) {
    const TypeParam f = this->must_build({.keys = keys, .negatives = negatives}, {.bits_per_key = bits});
    EXPECT_TRUE(f.may_contain(keys[0])) << bits << " bits";
    const TypeParam chosen =
        this->must_build({.keys = keys, .negatives = negatives}, {.bits_per_key = bits, .choose = true});
    EXPECT_TRUE(chosen.may_contain(keys[0])) << bits << " bits";
  }
  this->must_build({}, {.choose = true});
  this->must_build({.negatives = negatives}, {.choose = true});
}

TYPED_TEST(HabfAndFast, MovesACopyOfAKeyWithTheKey) {
  const auto keys = numbers(0, 4000), negatives = numbers(1 << 30, 4000);
  auto twice = keys;
  twice.insert(twice.end(), keys.begin(), keys.end());
  const TypeParam once = this->must_build({.keys = keys, .negatives = negatives}, {.bits_per_key = 8});
  const TypeParam copied = this->must_build({.keys = twice, .negatives = negatives}, {.bits_per_key = 4});
  EXPECT_EQ(this->bytes(once), this->bytes(copied));
}

TYPED_TEST(HabfAndFast, ReportsWhatItDid) {
  const auto keys = numbers(0, 50'000), negatives = numbers(1 << 30, 100'000);
  Report report;
  const TypeParam f =
      this->must_build({.keys = keys, .negatives = negatives, .report = &report}, {.bits_per_key = kPaperBits});
  const double found = this->line(report, "collisions found"), again = this->line(report, "negatives re-queued");
  EXPECT_NEAR(found / 100'000, bloom::fpr(kPaperBits / 1.25, 3), 0.005);
  EXPECT_EQ(found + again, this->line(report, "collisions optimised") +
                               this->line(report, "collisions optimised in passing") +
                               this->line(report, "collisions failed, no candidate") +
                               this->line(report, "collisions failed, no room in the HashExpressor"));
  EXPECT_EQ(again > 0, (std::is_same_v<TypeParam, Habf>)) << "without Gamma nobody can become a victim";
  const double measured = this->line(report, "weighted fpr measured"),
               expected = this->line(report, "weighted fpr expected");
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
    HashExpressor expressor(m / 16, 4);
    const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
    const TpjoOutcome o = Tpjo<true>(w, 3, 5, m, words.mutable_data(), expressor).run();
    double passing = 0;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      bool all = true;
      for (unsigned h = 1; h <= 3; ++h) all &= test_bit(words.data(), fast_range(habf_hash(negatives[i], h), m));
      if (all) passing += costs[i];
    }
    requeued += o.requeued;
    EXPECT_LE(passing, o.left) << bits << " bits: somebody passes who did not fail";
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
    const TypeParam chosen = this->must_build(w, {.bits_per_key = bits, .choose = true});
    EXPECT_LE(score(chosen), score(this->must_build(w, {.bits_per_key = bits})));
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
    Workload told = w;
    told.report = &report;
    const TypeParam f = this->must_build(told, {.bits_per_key = 8, .choose = true});
    EXPECT_EQ(this->line(report, "space ratio"), 0);
    EXPECT_NEAR(f.expected_fpr(), bloom::fpr(8, 6), 0.002);
  }
}

TYPED_TEST(HabfAndFast, ChoosesNoWorseThanABloomFilterForManyNegativesPerKey) {
  const auto keys = numbers(0, 2000), negatives = numbers(1 << 30, 20'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const double bloom = bloom::fpr(kPaperBits, 6);
  EXPECT_GT(this->known_rate(this->must_build(w, {.bits_per_key = kPaperBits}), negatives), bloom)
      << "the defaults are";
  EXPECT_LT(this->known_rate(this->must_build(w, {.bits_per_key = kPaperBits, .choose = true}), negatives), bloom);
}

TYPED_TEST(HabfAndFast, KeepsTheBoundOnStrangers) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1 << 30, 20'000), strangers = numbers(1 << 29, 200'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto refused = TypeParam::build(w, {.bits_per_key = kPaperBits, .max_stranger_fpr = 0.025});
  ASSERT_FALSE(refused) << "at the paper's parameters more than 4 % pass";
  EXPECT_EQ(refused.error().code, Errc::out_of_budget);
  EXPECT_NE(refused.error().message.find("choose=true"), std::string::npos) << refused.error().message;
  const TypeParam f = this->must_build(w, {.bits_per_key = kPaperBits, .choose = true, .max_stranger_fpr = 0.025});
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
  EXPECT_NE(
      this->why_not(P{.k = 7, .cell_bits = 4}).find(": k is 7; it must be 1 to 6, less than the functions in all"),
      std::string::npos);
  EXPECT_NE(this->why_not(P{.k = 0}).find(": k is 0; it must be 1 to"), std::string::npos);
  EXPECT_NE(this->why_not(P{.k = 4, .family = 4}).find(": k is 4; it must be 1 to 3"), std::string::npos);
  EXPECT_NE(this->why_not(P{.cell_bits = 7}).find(": cell_bits is 7; it must be 3 to 6"), std::string::npos);
  EXPECT_NE(this->why_not(P{.cell_bits = 4, .family = 8}).find(": family is 8; a cell of 4 bits names at most 7"),
            std::string::npos);
  EXPECT_NE(this->why_not(P{.space_ratio = -1}).find(": space_ratio is -1; it must be 0 to 16"), std::string::npos);
  EXPECT_NE(this->why_not(P{.max_stranger_fpr = 0}).find(": max_stranger_fpr is 0; it must be more than 0"),
            std::string::npos);
  EXPECT_EQ(this->why_not(P{.k = 20, .space_ratio = 0}), "") << "a plain Bloom filter may have any k";
}

}  // namespace
}  // namespace naysay
