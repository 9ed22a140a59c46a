// SPDX-License-Identifier: Apache-2.0
// Variable hash filters: what is peculiar to them.
#include "naysay/variable_hash/variable_hash.hpp"

#include <gtest/gtest.h>

#include <set>

#include "levels.hpp"
#include "naysay/bloom/bloom_rates.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using namespace variable_hash::detail;
using sample::must_build;
using sample::numbers;

std::vector<std::uint64_t> xs_of(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> xs;
  for (const Digest& d : numbers(first, count)) xs.push_back(d.lo);
  return xs;
}

// ---- function family ---------------------------------------------------------------------------------------------

TEST(FunctionFamily, KeepsItsArithmetic) {
  // Golden: filters in files rely on these.
  const family::SpreadWords w = family::spread_words(0x0123456789abcdefu);
  EXPECT_EQ(w.a, 0x4c29e0843846ca65u);
  EXPECT_EQ(w.b, 0x6487cb6cc7affc3u);
  EXPECT_EQ(w.c, 0x42b47a1cbd220ef1u);
  unsigned children = 0;
  for (std::uint32_t i : {0u, 1u, 63u, 64u, 4095u, 65535u}) children = children * 8 + family::spread_child(w, i);
  EXPECT_EQ(children, 230732u);
  EXPECT_EQ(family::mask_word(0x0123456789abcdefu), 0x4aa1193812f8c835u);
  EXPECT_EQ(family::pick_word(0x0123456789abcdefu, 0), 0x3aa59057u);
  EXPECT_EQ(family::pick_word(0x0123456789abcdefu, 63), 0x25571364u);
}

TEST(FunctionFamily, GivesFairAndIndependentBits) {
  // For random x, the bits of two functions of a slot agree half of the time, whatever their numbers.
  sample::Words random(5);
  const int asked = 20'000;
  for (int pair = 0; pair < 200; ++pair) {
    const std::uint64_t a = random() & low_mask(28), b = random() & low_mask(28);
    const auto f = static_cast<unsigned>(random.below(16)), g = static_cast<unsigned>((f + 1 + random.below(15)) % 16);
    int ones = 0, equal = 0;
    for (int i = 0; i < asked; ++i) {
      const std::uint64_t x = random();
      const bool p = family::accepts(a, family::pick_word(x, f), family::mask_word(x)),
                 q = family::accepts(b, family::pick_word(x, g), family::mask_word(x));
      ones += p, equal += p == q;
    }
    EXPECT_NEAR(ones, asked / 2, 5 * std::sqrt(asked) / 2) << "number " << a << " of function " << f;
    EXPECT_NEAR(equal, asked / 2, 5 * std::sqrt(asked) / 2) << "functions " << f << " and " << g;
  }
}

TEST(FunctionFamily, AcceptsAllUnderNumberZero) {
  for (std::uint64_t x : xs_of(0, 100)) EXPECT_TRUE(family::accepts(0, family::pick_word(x, 3), family::mask_word(x)));
}

// ---- spreading ---------------------------------------------------------------------------------------------------

// By counting one function after the other.
std::uint32_t best_by_counting(std::span<const std::uint64_t> xs, unsigned child_log, unsigned spread_bits) {
  std::uint64_t best_maximum = ~0ull, best_squares = ~0ull;
  std::uint32_t best = 0;
  for (std::uint32_t i = 0; i < 1u << spread_bits; ++i) {
    std::uint64_t counts[8] = {}, maximum = 0, squares = 0;
    for (std::uint64_t x : xs) ++counts[family::spread_child(family::spread_words(x), i) & low_mask(child_log)];
    for (std::uint64_t c : counts) maximum = std::max(maximum, c), squares += c * c;
    if (maximum < best_maximum || (maximum == best_maximum && squares < best_squares))
      best_maximum = maximum, best_squares = squares, best = i;
  }
  return best;
}

class SpreadAtLevel : public levels::Test {};

TEST_P(SpreadAtLevel, FindsTheMostEvenFunction) {
  const ScopedSimd simd(GetParam());
  SpreadScratch scratch;
  for (std::uint64_t n : {2u, 3u, 7u, 8u, 9u, 16u, 63u, 64u, 65u, 200u})
    for (unsigned child_log : {1u, 2u, 3u}) {
      const auto xs = xs_of(1000 * n, n);
      const std::uint32_t expected = best_by_counting(xs, child_log, 9);
      EXPECT_EQ(best_spread(xs, child_log, 9, scratch), expected) << n << " keys, 2^" << child_log << " children";
    }
}

TEST_P(SpreadAtLevel, FindsItAmongMoreFunctionsToo) {
  const ScopedSimd simd(GetParam());
  SpreadScratch scratch;
  const auto xs = xs_of(7, 90);
  for (unsigned bits : {10u, 12u, 14u}) {
    const std::uint32_t expected = best_by_counting(xs, 3, bits);
    EXPECT_EQ(best_spread(xs, 3, bits, scratch), expected) << bits;
  }
}
NAYSAY_FOR_LEVELS(SpreadAtLevel);

TEST(Spread, DoesNotDependOnTheOrderOfTheKeys) {
  SpreadScratch scratch;
  auto xs = xs_of(0, 500);
  const std::uint32_t number = best_spread(xs, 3, 11, scratch);
  std::reverse(xs.begin(), xs.end());
  EXPECT_EQ(best_spread(xs, 3, 11, scratch), number);
}

TEST(Spread, TakesTheFirstFunctionForSetsItCannotCount) {
  SpreadScratch scratch;
  EXPECT_EQ(best_spread({}, 3, 9, scratch), 0u);
  EXPECT_EQ(best_spread(xs_of(0, 1), 3, 9, scratch), 0u);
  EXPECT_EQ(best_spread(xs_of(0, kMaxSpreadKeys + 1), 3, 9, scratch), 0u);
}

TEST(Spread, LeavesAsMuchUnevennessAsTheoryExpects) {
  SpreadScratch scratch;
  double variance = 0;
  const int sets = 60, n = 192;
  for (int s = 0; s < sets; ++s) {
    const auto xs = xs_of(static_cast<std::uint64_t>(s) * n, n);
    const std::uint32_t number = best_spread(xs, 3, 11, scratch);
    int counts[8] = {};
    for (std::uint64_t x : xs) ++counts[family::spread_child(family::spread_words(x), number)];
    for (int c : counts) variance += (c - n / 8.0) * (c - n / 8.0) / 8 / sets;
  }
  EXPECT_NEAR(variance / (n / 8.0 * 7 / 8), variable_hash::spread_gain(3, 11), 0.015);
}

// ---- searching ---------------------------------------------------------------------------------------------------

TEST(FunctionSearch, FindsExactlyTheNumbersThatAcceptEveryKey) {
  for (unsigned r : {1u, 4u, 5u, 7u, 8u, 10u, 12u})
    for (std::uint64_t n : {0u, 1u, 2u, 5u, 8u, 11u}) {
      const auto xs = xs_of(100 * n + r, n);
      FunctionSearch search(xs, r);
      for (unsigned f : {0u, 3u}) {
        search.turn_to(f);
        // places at which some number works, by trying all numbers
        std::set<unsigned> places;
        for (std::uint64_t number = 1; number < 1ull << r; ++number) {
          bool all = true;
          for (std::uint64_t x : xs)
            all = all && family::accepts(number, family::pick_word(x, f), family::mask_word(x));
          if (all) places.insert(family::place(number));
        }
        std::set<unsigned> found;
        for (std::uint64_t number = search.first(0); number != 0; number = search.first(family::place(number) + 1)) {
          EXPECT_LT(number, 1ull << r);
          for (std::uint64_t x : xs)
            ASSERT_TRUE(family::accepts(number, family::pick_word(x, f), family::mask_word(x)))
                << "r " << r << ", " << n << " keys";
          EXPECT_TRUE(found.insert(family::place(number)).second);
        }
        places.erase(0), found.erase(0);  // number 0 means something else, and another mask at place 0 may work
        EXPECT_EQ(found, places) << "r " << r << ", " << n << " keys, function " << f;
      }
    }
}

TEST(FunctionSearch, DoesNotDependOnTheOrderOfTheKeys) {
  auto xs = xs_of(0, 24);
  FunctionSearch one(xs, 28);
  auto turned = xs;
  std::reverse(turned.begin(), turned.end());
  FunctionSearch other(turned, 28);
  for (unsigned f = 0; f < 10; ++f) {
    one.turn_to(f), other.turn_to(f);
    EXPECT_EQ(one.first(0), other.first(0));
  }
}

TEST(FunctionSearch, FindsNothingForMoreKeysThanASlotCanHave) {
  const auto xs = xs_of(0, 65);
  FunctionSearch search(xs, 50);
  search.turn_to(0);
  EXPECT_EQ(search.first(0), 0u);
}

TEST(FunctionSearch, FailsAsOftenAsTheorySays) {
  for (auto [n, r] : {std::pair{14u, 14u}, {14u, 15u}, {14u, 17u}, {20u, 21u}}) {
    int missing = 0;
    const int slots = 400, functions = 8;
    for (int s = 0; s < slots; ++s) {
      const auto xs = xs_of(static_cast<std::uint64_t>(s) * n, n);
      FunctionSearch search(xs, r);
      for (unsigned f = 0; f < functions; ++f) search.turn_to(f), missing += search.first(0) == 0;
    }
    const double expected = variable_hash::not_found(n, r) * slots * functions;
    // functions of a slot share their equations, so they are not independent: a tenth more than chance
    EXPECT_NEAR(missing, expected, 5 * std::sqrt(expected) + 0.1 * expected + 1) << n << " keys, " << r << " bits";
  }
}

// ---- the filter --------------------------------------------------------------------------------------------------

class VariableHashAtLevel : public levels::Test {};

TEST_P(VariableHashAtLevel, AnswersAsItsScalarCodeForNarrowAndWideFunctions) {
  const auto keys = numbers(0, 4000), questions = numbers(2000, 20'000);
  for (double keys_per_slot : {3.0, 12.0, 24.0, 40.0})
    for (double bits : {5.0, 10.0, 24.0}) {
      const VariableHash f = must_build<VariableHash>(
          {.keys = keys}, {.bits_per_key = bits, .keys_per_slot = keys_per_slot, .sector_bits = 9, .bucket_bits = 9});
      std::vector<std::uint8_t> expected(questions.size()), batch(questions.size());
      {
        ScopedSimd scalar(Simd::scalar);
        for (std::size_t i = 0; i < questions.size(); ++i) expected[i] = f.may_contain(questions[i]);
      }
      for (std::size_t i = 0; i < 2000; ++i) ASSERT_TRUE(expected[i]) << "a key was denied";
      const ScopedSimd simd(GetParam());
      f.may_contain(questions, batch.data());
      EXPECT_EQ(batch, expected);
      for (std::size_t i = 0; i < questions.size(); ++i) ASSERT_EQ(f.may_contain(questions[i]), expected[i] != 0);
    }
}
NAYSAY_FOR_LEVELS(VariableHashAtLevel);

TEST(VariableHash, ReachesTheLineOfTheThesisAndStaysUnderBloom) {
  const auto keys = numbers(0, 60'000);
  for (double bits : {4.0, 6.0, 8.0, 10.0, 13.0, 16.0}) {
    const VariableHash f = must_build<VariableHash>({.keys = keys}, {.bits_per_key = bits});
    const auto shape = VariableHash::plan(keys.size(), {.bits_per_key = bits});
    const double partition = static_cast<double>(shape->spread_size_bits()) / 60'000;
    EXPECT_LT(f.expected_fpr(), bloom::fpr(bits, bloom::best_k(bits))) << bits;
    EXPECT_GE(bits, 1.2 * -std::log2(f.expected_fpr()) + partition - 0.35)
        << bits;  // the line is not undercut by magic
    EXPECT_LE(f.expected_fpr(), std::exp2(-(bits - partition) / 1.26)) << bits;
  }
}

TEST(VariableHash, MissesFewFunctionsAtTheSettingOfTheThesis) {
  const auto keys = numbers(0, 64 * 512);
  const VariableHash f = must_build<VariableHash>({.keys = keys}, {.bits_per_key = 12,
                                                                   .keys_per_slot = 14,
                                                                   .function_bits = 17,
                                                                   .functions = 7,
                                                                   .sector_bits = 12,
                                                                   .bucket_bits = 12});
  EXPECT_LE(f.share_not_found(), 0.02);
}

TEST(VariableHash, UsesItsBudgetToTheLastFunction) {
  const auto keys = numbers(0, 30'000);
  for (double bits : {4.0, 7.3, 9.9, 10.0, 10.1}) {
    const VariableHash f = must_build<VariableHash>({.keys = keys}, {.bits_per_key = bits, .effort = Effort::fast});
    EXPECT_GE(static_cast<double>(f.size_bits()), bits * 30'000 - f.function_bits());
  }
}

TEST(VariableHash, RefusesNearlyAllKnownNegatives) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000);
  Report report;
  const VariableHash f =
      must_build<VariableHash>({.keys = keys, .negatives = negatives}, {.effort = Effort::fast}, {.report = &report});
  std::uint64_t accepted = 0;
  for (const Digest& d : negatives) accepted += f.may_contain(d);
  EXPECT_LE(static_cast<double>(accepted), 0.1 * f.expected_fpr() * 20'000);
  EXPECT_EQ(sample::must_say(report, "known negatives still accepted"), static_cast<double>(accepted));
}

TEST(VariableHash, RefusesCostlyNegativesBeforeCheapOnes) {
  // more than can all be refused
  const auto keys = numbers(0, 3000), negatives = numbers(5'000'000, 150'000);
  std::vector<float> costs(negatives.size(), 1.0f);
  for (std::size_t i = 0; i < costs.size(); i += 50) costs[i] = 1000.0f;
  const VariableHash f = must_build<VariableHash>({.keys = keys, .negatives = negatives, .costs = costs},
                                                  {.bits_per_key = 6, .effort = Effort::fast});
  double costly = 0, cheap = 0;
  for (std::size_t i = 0; i < negatives.size(); ++i) (i % 50 == 0 ? costly : cheap) += f.may_contain(negatives[i]);
  EXPECT_LT(costly / 3000, 0.1 * cheap / 147'000);
}

TEST(VariableHash, SaysWhatIsWrongWithItsParameters) {
  const auto keys = numbers(0, 100);
  const auto refuses = [&](const VariableHash::Params& p, Errc code, const std::vector<std::string_view>& words) {
    return sample::refused(VariableHash::build({.keys = keys}, p), code, words);
  };
  EXPECT_TRUE(refuses({.function_bits = 56}, Errc::invalid_argument, {"function_bits", "56", "55"}));
  EXPECT_TRUE(refuses({.functions = 65}, Errc::invalid_argument, {"functions", "65", "64"}));
  EXPECT_TRUE(refuses({.keys_per_slot = 49}, Errc::invalid_argument, {"keys_per_slot", "49", "48"}));
  EXPECT_TRUE(refuses({.keys_per_slot = std::nan("")}, Errc::invalid_argument, {"keys_per_slot", "nan"}));
  EXPECT_TRUE(refuses({.sector_bits = 8}, Errc::invalid_argument, {"sector_bits", "8", "9", "16"}));
  EXPECT_TRUE(refuses({.bits_per_key = 0.2}, Errc::out_of_budget, {"slots"}));
  EXPECT_TRUE(refuses({.bits_per_key = 5, .keys_per_slot = 14, .function_bits = 17, .functions = 7},
                      Errc::out_of_budget, {"bits_per_key"}));
}

TEST(VariableHash, ExpectsBeforeTheBuildWhatItGivesAfterIt) {
  for (Effort effort : {Effort::fast, Effort::balanced}) {
    const auto keys = numbers(0, 50'000);
    const VariableHash::Params p{.effort = effort};
    const VariableHash f = must_build<VariableHash>({.keys = keys}, p);
    EXPECT_NEAR(f.expected_fpr() / variable_hash::fpr(*VariableHash::plan(keys.size(), p), 50'000), 1, 0.15);
  }
}

}  // namespace
}  // namespace naysay
