// SPDX-License-Identifier: Apache-2.0
#include "naysay/ribbon/ribbon.hpp"

#include <gtest/gtest.h>

#include "levels.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using ribbon::detail::RibbonLayout;
using sample::must_build;
using sample::numbers;
using sample::rate_matches;

// 0.5: half of the shards have no plane at all and accept everything.
constexpr double kBudgets[] = {0.5, 1, 3.3, 7.9, 8.1, 12.5, 20, 33, 50};

TEST(Ribbon, HoldsItsPromisesAtEveryWidthAndBudget) {
  const auto keys = numbers(0, 30'000), strangers = numbers(1 << 30, 60'000);
  for (unsigned width : {64u, 128u})
    for (double budget : kBudgets) {
      const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget, .width = width});
      for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << width << " at " << budget;
      EXPECT_LE(static_cast<double>(f.size_bits()), budget * 30'000 + double{Ribbon::kClaims.fixed_bits});
      std::uint64_t hits = 0;
      for (const Digest& d : strangers) hits += f.may_contain(d);
      EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), 0.0)) << width << " at " << budget;
      EXPECT_TRUE(f.validate());
    }
}

class RibbonAtLevel : public levels::Test {
 protected:
  // One by one and in batches, and as the scalar code does.
  static void answers_as_scalar_code(const Ribbon& f, std::span<const Digest> questions) {
    std::vector<std::uint8_t> plain(questions.size()), one(questions.size()), batch(questions.size());
    {
      const ScopedSimd scalar(Simd::scalar);
      for (std::size_t i = 0; i < questions.size(); ++i) plain[i] = f.may_contain(questions[i]);
    }
    const ScopedSimd simd(GetParam());
    for (std::size_t i = 0; i < questions.size(); ++i) one[i] = f.may_contain(questions[i]);
    f.may_contain(questions, batch.data());
    ASSERT_EQ(one, plain);
    ASSERT_EQ(batch, plain);
  }
};

TEST_P(RibbonAtLevel, AnswersAsItsScalarCodeAtEveryWidthAndBudget) {
  const auto keys = numbers(0, 5000), questions = numbers(4000, 4000);
  for (unsigned width : {64u, 128u})
    for (double budget : kBudgets) {
      SCOPED_TRACE(std::to_string(width) + " at " + std::to_string(budget));
      const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget, .width = width});
      answers_as_scalar_code(f, questions);
    }
}

TEST(Ribbon, UsesTheWholeBudgetUpToOneShardsPlane) {
  const auto keys = numbers(0, 100'000);
  for (unsigned width : {64u, 128u})
    for (double budget : {7.9, 8.0, 8.1, 8.5, 9.99}) {
      const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget, .width = width});
      EXPECT_LE(static_cast<double>(f.size_bits()), budget * 100'000 + double{Ribbon::kClaims.fixed_bits});
      EXPECT_GE(static_cast<double>(f.size_bits()), budget * 100'000 - 4000) << width << " at " << budget;
    }
}

TEST(RibbonSlow, TakesAtMost102PercentOfTheLimitAndTwoHundredthsOfABitAtWidth128OnTwoThreads) {
  const auto keys = numbers(0, 1'000'000), strangers = numbers(1 << 30, 4'000'000);
  for (double fpr : {0.5, 0.01, std::exp2(-7), std::exp2(-8), 0.001, std::exp2(-16)}) {
    const Ribbon f = must_build<Ribbon>({.keys = keys}, Ribbon::params_for(fpr), {.threads = 2});
    std::uint64_t hits = 0;
    std::vector<std::uint8_t> answers(strangers.size());
    f.may_contain(strangers, answers.data());
    for (std::uint8_t a : answers) hits += a;
    EXPECT_TRUE(rate_matches(hits, strangers.size(), fpr, 0.001));
    EXPECT_LE(static_cast<double>(f.size_bits()) / 1e6, 1.02 * std::log2(1 / fpr) + 0.02) << "at " << fpr;
  }
}

TEST(Ribbon, SaysWhatIsWrongWithItsParameters) {
  const auto keys = numbers(0, 10'000);
  EXPECT_TRUE(sample::refused(Ribbon::build({.keys = keys}, {.width = 100}), Errc::invalid_argument,
                              {"ribbon", "width", "100", "64", "128"}));
  EXPECT_TRUE(sample::refused(Ribbon::build({.keys = keys}, {.bits_per_key = 0.001}), Errc::out_of_budget, {"ribbon"}));
}

TEST(Ribbon, DigestsThatShareTheirHighWordEndInAnErrorNotInALoop) {
  auto keys = numbers(0, 12'000);
  for (Digest& d : keys) d.hi = 7;
  const auto f = Ribbon::build({.keys = keys}, {});
  if (f)
    for (const Digest& d : keys) ASSERT_TRUE(f->may_contain(d));
  else
    EXPECT_EQ(f.error().code, Errc::build_failed);
}

TEST(Ribbon, TakesAMillionCopiesOfOneKey) {
  const std::vector<Digest> keys(1'000'000, digest(5));
  const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = 8});
  EXPECT_TRUE(f.may_contain(digest(5)));
}

TEST_P(RibbonAtLevel, AnswersAsItsScalarCodeWhereAllShardsHaveEightPlanes) {
  const auto keys = numbers(0, 40'000), questions = numbers(39'000, 4003);
  for (unsigned width : {64u, 128u}) {
    SCOPED_TRACE(width);
    const double budget = ribbon::RibbonSizes(width, ribbon::RibbonFit::quick).bits_per_key(8) - 0.03;
    const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget, .width = width});
    ASSERT_EQ(f.expected_fpr(), std::exp2(-8));
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
    answers_as_scalar_code(f, questions);
  }
}
NAYSAY_FOR_LEVELS(RibbonAtLevel);

TEST(RibbonLayout, LeavesEightPlanesForAllRatherThanNineForAFew) {
  const std::vector<std::uint32_t> sizes(1000, 2048);
  const double words = 1000 * 2048 / 64, fields = static_cast<double>(bits_of_fields(RibbonLayout{}));
  // For `rich` rich shards, and 8 spare words for each of the cache line, the last block and the last vector.
  const auto fit = [&](unsigned planes, double rich) {
    const double bits =
        fields + static_cast<double>(RibbonLayout::table_bits(1000)) + 64 * (words * planes + 32 * rich + 24);
    return RibbonLayout::fit(sizes, bits, 0, 0);
  };
  EXPECT_EQ(fit(8, 0), (RibbonLayout::Mix{8, 0}));
  EXPECT_EQ(fit(8, 15), (RibbonLayout::Mix{8, 0}));
  EXPECT_EQ(fit(8, 16), (RibbonLayout::Mix{8, 16}));
  EXPECT_EQ(fit(7, 15), (RibbonLayout::Mix{7, 15}));
  EXPECT_EQ(fit(9, 1), (RibbonLayout::Mix{9, 1}));
}

TEST(RibbonLayout, HoldsTheBlockAfterAWindowThatBeginsTheLastBlock) {
  for (std::uint32_t slots : {127u, 128u, 129u}) {
    const RibbonLayout planes(64, {8, 0}, std::vector<std::uint32_t>{slots});
    const std::uint64_t words =
        (bits_of_fields(planes) - bits_of_fields(RibbonLayout{}) - RibbonLayout::table_bits(1)) / 64;
    EXPECT_EQ(words, slots == 127 ? 16u : 24u) << slots;  // slot 64 may begin a window, so slot 128 is read
    EXPECT_TRUE(planes.validate("planes"));
  }
}

TEST(RibbonLayout, FindsEveryShardByItsTable) {
  for (std::uint64_t shards : {1, 2, 13, 14, 15, 28, 100}) {
    std::vector<std::uint32_t> sizes(shards);
    for (std::uint64_t s = 0; s < shards; ++s) sizes[s] = static_cast<std::uint32_t>(64 + mix64(s) % 100'000);
    for (std::uint64_t rich : {std::uint64_t{0}, shards / 2, shards - 1}) {
      RibbonLayout planes(64, {7, rich}, sizes);
      for (std::uint64_t s = 0; s < shards; ++s) planes.set_seed(s, static_cast<std::uint32_t>(s * 37 % 256));
      std::uint64_t slot = 0, rich_blocks = 0;
      for (std::uint64_t s = 0; s < shards; ++s) {
        const auto at = planes.place(s);
        EXPECT_EQ(at.slot, slot) << "shard " << s << " of " << shards;
        EXPECT_GE(at.slots, sizes[s]);
        EXPECT_LE(at.slots, sizes[s] + (s + 1 == rich ? 63 : 0));
        EXPECT_EQ(at.seed, s * 37 % 256);
        EXPECT_EQ(at.planes, s < rich ? 8u : 7u);
        slot += at.slots;
        if (s + 1 == rich) rich_blocks = slot / 64;
        EXPECT_EQ(at.words, s < rich ? 0 : divide_up(rich_blocks, 8) * 8);
      }
      EXPECT_TRUE(planes.validate("planes"));
    }
  }
}

}  // namespace
}  // namespace naysay
