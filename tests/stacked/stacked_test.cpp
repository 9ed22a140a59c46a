// SPDX-License-Identifier: Apache-2.0
#include "naysay/stacked/stacked.hpp"

#include <gtest/gtest.h>

#include "counted.hpp"
#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/quotient/quotient.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::Counted;
using sample::must;
using sample::must_say;
using sample::numbers;
using sample::rate_matches;
using sample::zipf_costs;

static_assert(DynamicFilter<Stacked<Bloom>> && TunableFilter<Stacked<Bloom>> && BatchFilter<Stacked<Bloom>>);
static_assert(!ErasableFilter<Stacked<Bloom>>);

template <class F>
double weighted_rate(const F& f, const std::vector<Digest>& negatives, const std::vector<float>& costs) {
  double accepted = 0, all = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    all += costs[i];
    if (f.may_contain(negatives[i])) accepted += costs[i];
  }
  return accepted / all;
}

// ---- the formulas of theory/stacked.hpp against stacks that were built ------------------------------------------

template <class Base>
class StackedTheory : public ::testing::Test {};
using Bases = ::testing::Types<Bloom, Cuckoo, Quotient, Ribbon>;
TYPED_TEST_SUITE(StackedTheory, Bases);

TYPED_TEST(StackedTheory, RatesSizeAndWorkAreAsComputed) {
  using Base = Counted<TypeParam>;
  stacked::layer_extra<Base>();  // builds nine layers on first use
  struct Setting {
    std::uint64_t keys, negatives;
    double rate;  // the budget is 1.2 times what one layer of this rate takes
    std::uint32_t layers;
  };
  for (const Setting& s : {Setting{20'000, 20'000, 0.03, 3},
                           {20'000, 100'000, 0.01, 3},
                           {50'000, 10'000, 0.03, 3},
                           {20'000, 200'000, 0.01, 5},
                           {10'000, 50'000, 0.003, 7}}) {
    const double bits_per_key = 1.2 * TypeParam::bits_per_key(s.rate);
    SCOPED_TRACE(std::to_string(s.negatives) + " negatives, " + std::to_string(s.keys) + " keys at " +
                 std::to_string(bits_per_key));
    const auto keys = numbers(0, s.keys), negatives = numbers(5'000'000, s.negatives),
               strangers = numbers(90'000'000, 400'000);
    Base::reset();
    const auto f = must(Stacked<Base>::build({.keys = keys, .negatives = negatives},
                                             {.bits_per_key = bits_per_key, .layers = s.layers, .known = 1}));
    const sample::Counts built = Base::counts;
    ASSERT_GE(f.layers(), 3u);
    std::vector<double> rates;
    for (std::size_t i = 0; i < f.layers(); ++i) rates.push_back(f.layer(i).expected_fpr());
    const double error = TypeParam::kClaims.fpr_model_error, n = static_cast<double>(s.keys),
                 m = static_cast<double>(s.negatives);

    const auto ask = [&](const std::vector<Digest>& questions) {
      std::uint64_t hits = 0;
      Base::reset();
      for (const Digest& d : questions) hits += f.may_contain(d);
      return hits;
    };
    const auto queries = [&](const std::vector<Digest>& questions) {
      return static_cast<double>(Base::counts.queries) / static_cast<double>(questions.size());
    };
    EXPECT_EQ(ask(keys), s.keys);
    EXPECT_NEAR(queries(keys) / stacked::key_queries(rates), 1, 0.05);
    // Which negatives reach the deeper layers is drawn once, at the layers above.
    EXPECT_TRUE(rate_matches(ask(negatives), s.negatives, stacked::known(rates), 0.05 + 2 * error));
    EXPECT_NEAR(queries(negatives) / stacked::known_queries(rates), 1, 0.05);
    EXPECT_TRUE(rate_matches(ask(strangers), strangers.size(), stacked::stranger(rates), error));
    EXPECT_NEAR(queries(strangers) / stacked::stranger_queries(rates), 1, 0.02);
    EXPECT_EQ(f.expected_fpr(), stacked::stranger(rates));

    const stacked::StackedWork work = stacked::build_work(rates);
    EXPECT_NEAR(static_cast<double>(built.inserts) / (n * work.key_inserts + m * work.known_inserts), 1, 0.05);
    EXPECT_NEAR(static_cast<double>(built.queries) / (n * work.key_queries + m * work.known_queries), 1, 0.05);

    // Slightly above the measured rate: just below it a base of whole fingerprints needs a longer one. An empty
    // layer has the rate 0.
    const auto price = [](double rate) { return TypeParam::bits_per_key(std::clamp(1.05 * rate, 0x1p-24, 0.99)); };
    double expected = stacked::bits_per_key(rates, m / n, price) * n;
    for (double rate : rates) expected += stacked::layer_extra<TypeParam>().at(price(rate));
    EXPECT_NEAR(static_cast<double>(f.size_bits()) / expected, 1, 0.08);
    EXPECT_LE(static_cast<double>(f.size_bits()),
              bits_per_key * n + static_cast<double>(TypeParam::kClaims.fixed_bits));
  }
}

TYPED_TEST(StackedTheory, WeightedRateIsAsPlannedAndUnderThatOfTheBase) {
  for (double exponent : {0.5, 0.75, 1.0})
    for (double bits : {9.0, 12.0}) {
      const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 200'000);
      const auto costs = zipf_costs(exponent, negatives.size());
      Report report;
      const auto f =
          must(Stacked<TypeParam>::build({.keys = keys, .negatives = negatives, .costs = costs, .stranger_share = 0},
                                         {.bits_per_key = bits}, {.report = &report}));
      typename TypeParam::Params params{};
      params.bits_per_key = bits;
      const auto base = must(TypeParam::build({.keys = keys}, params));
      const double measured = weighted_rate(f, negatives, costs), expected = must_say(report, "expected wfpr");
      // One negative of Zipf's first ranks is a sixth of all cost: the sum moves with each.
      EXPECT_NEAR(measured, expected, 0.15 * expected + 1e-5) << exponent << " at " << bits;
      EXPECT_LT(expected, base.expected_fpr()) << exponent << " at " << bits;
      EXPECT_GE(must_say(report, "layers"), 3);
    }
}

// ---- what is peculiar to a stack ---------------------------------------------------------------------------------

TEST(Stacked, IsItsBaseWhenThereAreNoNegatives) {
  const auto keys = numbers(0, 5000);
  const auto f = must(Stacked<Bloom>::build({.keys = keys}, {.bits_per_key = 11}));
  const auto base = must(Bloom::build({.keys = keys}, {.bits_per_key = 11}));
  EXPECT_EQ(f.layers(), 1u);
  EXPECT_EQ(f.size_bits(), base.size_bits());
  for (const Digest& d : numbers(0, 50'000)) ASSERT_EQ(f.may_contain(d), base.may_contain(d));
}

TEST(Stacked, RefusesKnownNegativesFarMoreOftenThanStrangers) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000), strangers = numbers(9'000'000, 200'000);
  const auto f = must(Stacked<Bloom>::build({.keys = keys, .negatives = negatives}, {}));
  std::uint64_t known = 0, unknown = 0;
  for (const Digest& d : negatives) known += f.may_contain(d);
  for (const Digest& d : strangers) unknown += f.may_contain(d);
  EXPECT_LE(known, 10u);
  EXPECT_GT(unknown, 1000u);
}

TEST(Stacked, InsertsBelowTheLayersOfNegativesToo) {
  const auto keys = numbers(0, 20'000), later = numbers(100'000, 2000), negatives = numbers(5'000'000, 100'000);
  auto f = must(Stacked<Bloom>::build({.keys = keys, .negatives = negatives}, {.bits_per_key = 8}));
  ASSERT_GE(f.layers(), 3u);
  std::uint64_t deep = 0;
  for (const Digest& d : later) {
    deep += f.layer(1).may_contain(stacked::detail::layer_digest(d, 1));
    ASSERT_TRUE(f.insert(d));
  }
  EXPECT_GT(deep, 10u) << "none of them tested what it should";
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  for (const Digest& d : later) ASSERT_TRUE(f.may_contain(d));
}

template <class Base>
class StackedErasure : public ::testing::Test {};
using ErasableBases = ::testing::Types<Cuckoo, Quotient, CountingBloom>;
TYPED_TEST_SUITE(StackedErasure, ErasableBases);

TYPED_TEST(StackedErasure, ErasesFromEveryLayerOfKeysAndKeepsTheRest) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 100'000);
  auto f = must(Stacked<TypeParam>::build({.keys = keys, .negatives = negatives},
                                          {.bits_per_key = 1.2 * TypeParam::bits_per_key(0.01)}));
  ASSERT_GE(f.layers(), 3u);
  std::uint64_t deep = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    deep += f.layer(1).may_contain(stacked::detail::layer_digest(keys[i], 1));
    ASSERT_TRUE(f.erase(keys[i]));
  }
  EXPECT_GT(deep, 10u) << "none of them tested what it should";
  for (std::size_t i = 10'000; i < keys.size(); ++i) ASSERT_TRUE(f.may_contain(keys[i]));
  for (std::size_t i = 0; i < 10'000; ++i) ASSERT_TRUE(f.insert(keys[i]));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  for (const Digest& d : keys) ASSERT_TRUE(f.erase(d));
  std::uint64_t left = 0;
  for (const Digest& d : keys) left += f.may_contain(d);
  EXPECT_EQ(left, 0u);
}

TYPED_TEST(StackedErasure, InsertsUntilAFullLayerRefusesAndLosesNothing) {
  const auto negatives = numbers(5'000'000, 2000);
  auto f = must(Stacked<TypeParam>::build({.negatives = negatives},
                                          {.bits_per_key = 1.5 * TypeParam::bits_per_key(0.01)}, {.capacity = 5000}));
  std::vector<Digest> in;
  for (const Digest& d : numbers(0, 8000))
    if (f.insert(d)) in.push_back(d);
  EXPECT_GE(in.size(), 5000u);
  for (const Digest& d : in) ASSERT_TRUE(f.may_contain(d));
}

TEST(Stacked, ProtectsNegativesFromKeysThatComeLater) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000);
  const auto costs = zipf_costs(1, negatives.size());
  const Workload none_yet{.negatives = negatives, .costs = costs};
  auto f = must(Stacked<Bloom>::build(none_yet, {.bits_per_key = 10}, {.capacity = 20'000}));
  auto base = must(Bloom::build({}, {.bits_per_key = 10}, {.capacity = 20'000}));
  ASSERT_EQ(f.layers(), 3u);
  for (const Digest& d : keys) {
    ASSERT_TRUE(f.insert(d));
    base.insert(d);
  }
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_LE(f.size_bits(), 10 * 20'000 + Stacked<Bloom>::kClaims.fixed_bits);
  EXPECT_LT(weighted_rate(f, negatives, costs), 0.7 * weighted_rate(base, negatives, costs));
}

TEST(Stacked, DropsNegativesThatAreKeysAndCountsThem) {
  const auto keys = numbers(0, 20'000);
  auto negatives = numbers(15'000, 25'000);  // the first 5000 are keys
  Report mixed, clean;
  const auto f = must(Stacked<Bloom>::build({.keys = keys, .negatives = negatives}, {}, {.report = &mixed}));
  EXPECT_EQ(must_say(mixed, "negatives that are keys"), 5000);
  const auto g = must(
      Stacked<Bloom>::build({.keys = keys, .negatives = std::span(negatives).subspan(5000)}, {}, {.report = &clean}));
  EXPECT_EQ(must_say(clean, "negatives that are keys"), 0);
  // Layer 1 was planned with them still among the negatives, and errs a little more or less often.
  EXPECT_NEAR(must_say(mixed, "negatives stored"), must_say(clean, "negatives stored"),
              0.5 * must_say(clean, "negatives stored"));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(Stacked, StoresARepeatedNegativeOnce) {
  const auto keys = numbers(0, 20'000), once = numbers(5'000'000, 20'000);
  std::vector<Digest> thrice;
  for (const Digest& d : once) thrice.insert(thrice.end(), 3, d);
  Report one, three;
  const auto f = must(Stacked<Bloom>::build({.keys = keys, .negatives = once}, {.known = 1}, {.report = &one}));
  const auto g = must(Stacked<Bloom>::build({.keys = keys, .negatives = thrice}, {.known = 1}, {.report = &three}));
  EXPECT_LE(must_say(three, "negatives stored"), 1.5 * must_say(one, "negatives stored"));
}

TEST(Stacked, ReachesAWantedRateWithFewerBitsThanItsBase) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 200'000);
  const auto costs = zipf_costs(1, negatives.size());
  Report report;
  const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
  const auto f = must(Stacked<Bloom>::build(w, {.bits_per_key = 20, .wfpr = 0.001}, {.report = &report}));
  EXPECT_LE(must_say(report, "expected wfpr"), 0.0011);
  EXPECT_LT(static_cast<double>(f.size_bits()) / 20'000, 0.8 * Bloom::bits_per_key(0.001));
  const auto tight = Stacked<Bloom>::build(w, {.bits_per_key = 5, .wfpr = 0.001});
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, Errc::out_of_budget);
}

TEST(Stacked, KeepsTheBoundOnStrangers) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 200'000);
  const auto costs = zipf_costs(1, negatives.size());
  for (double bits : {8.0, 10.0}) {
    const Workload w{.keys = keys, .negatives = negatives, .costs = costs, .stranger_share = 0};
    const auto base = must(Bloom::build(w, {.bits_per_key = bits}));
    const auto free = must(Stacked<Bloom>::build(w, {.bits_per_key = bits}));
    const double bound = 1.2 * base.expected_fpr();
    const auto f = must(Stacked<Bloom>::build(w, {.bits_per_key = bits, .max_fpr = bound}));
    EXPECT_GT(free.expected_fpr(), bound) << "the bound should matter";
    EXPECT_LE(f.expected_fpr(), 1.02 * bound);
    EXPECT_GE(f.layers(), 3u);
    const auto as_good = must(Stacked<Bloom>::build(w, {.bits_per_key = bits, .max_fpr_times = 1.2}));
    EXPECT_LE(as_good.expected_fpr(), 1.02 * bound);
    EXPECT_GE(as_good.layers(), 3u);
    const auto never = Stacked<Bloom>::build(w, {.bits_per_key = bits, .max_fpr = 0.1 * base.expected_fpr()});
    ASSERT_FALSE(never);
    EXPECT_EQ(never.error().code, Errc::out_of_budget);
  }
}

TEST(Stacked, LosesNoKeyWhenALayerCannotBeBuilt) {
  using Base = Counted<Bloom>;
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000);
  const Workload w{.keys = keys, .negatives = negatives};
  stacked::layer_extra<Base>();
  // The first build is layer 1, the second layer 2, ..; then one more, of a single layer, is tried.
  Base::reset(0);
  EXPECT_FALSE(Stacked<Base>::build(w, {}));
  Base::reset(1);
  EXPECT_FALSE(Stacked<Base>::build(w, {})) << "layer 2 failed, and then layer 1 did";
  Base::reset();
  EXPECT_GE(must(Stacked<Base>::build(w, {})).layers(), 3u);
}

TEST(Stacked, SaysWhatItsParametersMustBe) {
  const auto refuses = [](const Stacked<Bloom>::Params& p, const std::vector<std::string_view>& words) {
    return sample::refused(Stacked<Bloom>::build({}, p), Errc::invalid_argument, words);
  };
  EXPECT_TRUE(refuses({.layers = 4}, {"stacked", "layers", "4", "7"}));
  EXPECT_TRUE(refuses({.layers = 9}, {"stacked", "layers", "9", "7"}));
  EXPECT_TRUE(refuses({.wfpr = 2}, {"stacked", "wfpr", "2", "[0, 1]"}));
  EXPECT_TRUE(refuses({.max_fpr = -1}, {"stacked", "max_fpr", "-1", "[0, 1]"}));
  EXPECT_TRUE(refuses({.max_fpr_times = 0.5}, {"stacked", "max_fpr_times", "0.5", "1"}));
  EXPECT_TRUE(refuses({.known = 1.5}, {"stacked", "known", "1.5", "[0, 1]"}));
}

}  // namespace
}  // namespace naysay
