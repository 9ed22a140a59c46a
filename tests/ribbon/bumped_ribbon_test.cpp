// SPDX-License-Identifier: Apache-2.0
// A ribbon of many keys: one band that bumps some of its keys into a second ribbon.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "levels.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using ribbon::BumpedSizes;
using ribbon::detail::Band;
using ribbon::detail::BumpedLayout;
using ribbon::detail::BumpedSegments;
using ribbon::detail::Equation;
using sample::bytes_of;
using sample::must_build;
using sample::must_say;
using sample::numbers;
using sample::rate_matches;

constexpr std::uint64_t kMany = BumpedSizes::kFewest;

// 0.5: half of the slots have no plane at all and accept everything. The third has eight planes everywhere.
const double kBudgets[] = {0.5, 3.3, BumpedSizes::bits_per_key(8), 8.5, 17, 33, 50};

const std::vector<Digest>& many_keys() {
  static const auto keys = numbers(0, kMany);
  return keys;
}
const Ribbon& built(std::size_t budget) {
  static std::array<std::optional<Ribbon>, std::size(kBudgets)> filters;
  if (!filters[budget]) filters[budget] = must_build<Ribbon>({.keys = many_keys()}, {.bits_per_key = kBudgets[budget]});
  return *filters[budget];
}
void denies_none(const Ribbon& f, std::span<const Digest> keys) {
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(BumpedRibbon, IsBuiltFromFiftyThousandKeysOnUnlessAWidthIsGiven) {
  EXPECT_TRUE(built(2).is_bumped());
  const auto keys = std::span(many_keys());
  EXPECT_FALSE(must_build<Ribbon>({.keys = keys.first(kMany - 1)}, {}).is_bumped());
  for (unsigned width : {64u, 128u}) EXPECT_FALSE(must_build<Ribbon>({.keys = keys}, {.width = width}).is_bumped());
}

TEST(BumpedRibbon, HoldsItsPromisesAtEveryBudget) {
  const auto strangers = numbers(1 << 30, 200'000);
  for (std::size_t i = 0; i < std::size(kBudgets); ++i) {
    SCOPED_TRACE(kBudgets[i]);
    const Ribbon& f = built(i);
    denies_none(f, many_keys());
    EXPECT_LE(static_cast<double>(f.size_bits()),
              kBudgets[i] * static_cast<double>(kMany) + double{Ribbon::kClaims.fixed_bits});
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), 0.0));
    EXPECT_TRUE(f.validate());
  }
  EXPECT_EQ(built(2).expected_fpr(), std::exp2(-8));
}

class BumpedRibbonAtLevel : public levels::Test {};

TEST_P(BumpedRibbonAtLevel, AnswersAsItsScalarCodeAtEveryBudget) {
  const auto questions = numbers(kMany - 10'000, 20'003);  // half of them keys; not a multiple of eight
  std::vector<std::uint8_t> plain(questions.size()), one(questions.size()), batch(questions.size());
  for (std::size_t b = 0; b < std::size(kBudgets); ++b) {
    SCOPED_TRACE(kBudgets[b]);
    const Ribbon& f = built(b);
    {
      const ScopedSimd scalar(Simd::scalar);
      for (std::size_t i = 0; i < questions.size(); ++i) plain[i] = f.may_contain(questions[i]);
    }
    const ScopedSimd simd(GetParam());
    for (std::size_t i = 0; i < questions.size(); ++i) one[i] = f.may_contain(questions[i]);
    ASSERT_EQ(one, plain);
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{257}, questions.size()}) {
      std::fill(batch.begin(), batch.end(), 2);
      f.may_contain(std::span(questions).first(n), batch.data());
      ASSERT_TRUE(std::equal(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(n), batch.begin())) << n;
      ASSERT_TRUE(n == batch.size() || batch[n] == 2) << "wrote more answers than there were questions";
    }
  }
}
// Every key of such a batch is bumped, so the queue of bumped keys fills up.
TEST_P(BumpedRibbonAtLevel, AnswersBatchesOfBumpedKeysOnly) {
  const Ribbon& f = built(2);
  BumpedLayout layout;
  ASSERT_EQ(sample::edit_field(const_cast<Ribbon&>(f), "bumped", [&](BumpedLayout& own) { layout = own; }), 1);
  std::vector<Digest> bumped;
  for (const Digest& d : numbers(0, 2 * kMany))
    if (layout.is_bumped(fast_range(d.hi, layout.slots()))) bumped.push_back(d);
  ASSERT_GT(bumped.size(), 3000u);
  std::vector<std::uint8_t> plain(bumped.size()), batch(bumped.size());
  {
    const ScopedSimd scalar(Simd::scalar);
    for (std::size_t i = 0; i < bumped.size(); ++i) plain[i] = f.may_contain(bumped[i]);
  }
  const ScopedSimd simd(GetParam());
  f.may_contain(bumped, batch.data());
  EXPECT_EQ(batch, plain);
}
TEST_P(BumpedRibbonAtLevel, IsBuiltAsItsScalarCodeBuilds) {
  const ScopedSimd simd(GetParam());
  for (std::size_t b : {std::size_t{2}, std::size_t{3}}) {
    const Ribbon f = must_build<Ribbon>({.keys = many_keys()}, {.bits_per_key = kBudgets[b]});
    const ScopedSimd scalar(Simd::scalar);
    EXPECT_EQ(bytes_of(f), bytes_of(must_build<Ribbon>({.keys = many_keys()}, {.bits_per_key = kBudgets[b]})));
  }
}
NAYSAY_FOR_LEVELS(BumpedRibbonAtLevel);

TEST(BumpedRibbon, UsesTheWholeBudgetUpToOneShardsPlane) {
  for (double budget : {2.2, 7.9, 8.0, 8.1, 8.5, 9.99}) {
    const Ribbon f = must_build<Ribbon>({.keys = many_keys()}, {.bits_per_key = budget});
    const double bits = budget * static_cast<double>(kMany);
    EXPECT_LE(static_cast<double>(f.size_bits()), bits + double{Ribbon::kClaims.fixed_bits}) << budget;
    EXPECT_GE(static_cast<double>(f.size_bits()), bits - 4000) << budget;
  }
}

TEST(BumpedRibbon, GivesTheRateItPricedForSmallAndForManyKeys) {
  for (std::uint64_t n : {std::uint64_t{2000}, std::uint64_t{20'000}, kMany - 1, kMany})
    for (double fpr : {0.01, std::exp2(-8), 0.001}) {
      const Ribbon f = must_build<Ribbon>({.keys = std::span(many_keys()).first(n)}, Ribbon::params_for(fpr));
      EXPECT_LE(f.expected_fpr(), fpr * 1.001) << n << " keys at " << fpr;
    }
}

// From the number of keys and slots alone; no clock and no chance is in it.
TEST(BumpedRibbon, TakesAtMost1005ThousandthsOfTheLimitAtEightPlanesAndAMillionKeys) {
  const auto keys = numbers(0, 1'000'000);
  Report report;
  const Ribbon f = must_build<Ribbon>({.keys = keys}, Ribbon::params_for(std::exp2(-8)), {.report = &report});
  EXPECT_EQ(f.expected_fpr(), std::exp2(-8));
  EXPECT_LE(static_cast<double>(f.size_bits()) / 8e6, 1.005);
  EXPECT_LE(must_say(report, "bumped keys"), BumpedSizes::kShare * 1e6);
  denies_none(f, keys);
}
TEST(BumpedRibbon, TakesAtMost1009ThousandthsOfTheLimitAtEightPlanesAndFiftyThousandKeys) {
  EXPECT_LE(static_cast<double>(built(2).size_bits()) / (8 * static_cast<double>(kMany)), 1.009);
}
TEST(BumpedRibbonSlow, TakesAtMost1005ThousandthsOfTheLimitAtManyPlanes) {
  const auto keys = numbers(7 << 20, 1'000'000), strangers = numbers(1 << 30, 4'000'000);
  for (int planes : {8, 9, 12, 16, 24, 32}) {
    const Ribbon f = must_build<Ribbon>({.keys = keys}, Ribbon::params_for(std::exp2(-planes)));
    EXPECT_LE(static_cast<double>(f.size_bits()) / 1e6 / -std::log2(f.expected_fpr()), 1.005) << planes;
    std::vector<std::uint8_t> answers(strangers.size());
    f.may_contain(strangers, answers.data());
    const auto hits = static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), 1));
    EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), 0.0)) << planes;
  }
}

TEST(BumpedRibbonThreads, AnyNumberOfThemGivesTheSameBytes) {
  const auto keys = numbers(0, 600'000);  // two segments; with a fractional budget four
  for (double budget : {3.0 * BumpedSizes::slots_per_key() + 0.02, 2.5}) {
    const Ribbon one = must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget});
    denies_none(one, keys);
    for (unsigned threads : {2u, 5u})
      EXPECT_EQ(bytes_of(must_build<Ribbon>({.keys = keys}, {.bits_per_key = budget}, {.threads = threads})),
                bytes_of(one))
          << threads;
  }
}

TEST(BumpedRibbon, TheOrderOfTheKeysChangesNothing) {
  std::vector<Digest> backwards(many_keys().rbegin(), many_keys().rend());
  EXPECT_EQ(bytes_of(must_build<Ribbon>({.keys = backwards}, {.bits_per_key = kBudgets[2]})), bytes_of(built(2)));
}

TEST(BumpedRibbon, TakesManyCopiesOfAFewKeys) {
  auto keys = numbers(0, 60'000);
  for (int i = 0; i < 200'000; ++i) keys.push_back(keys[static_cast<std::size_t>(i % 9)]);
  const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = 3});
  EXPECT_TRUE(f.is_bumped());
  denies_none(f, keys);
  EXPECT_LE(f.expected_fpr(), 0.14);
}

TEST(BumpedRibbon, IsMadeOfShardsIfTheDigestsAreTooUnevenToBeBumped) {
  auto keys = numbers(0, 60'000);
  for (Digest& d : keys) d.hi = mix64(d.hi % 20);  // all lie at 20 places of the band
  const Ribbon f = must_build<Ribbon>({.keys = keys}, {.bits_per_key = 8});
  EXPECT_FALSE(f.is_bumped());
  denies_none(f, keys);
  EXPECT_LE(f.expected_fpr(), 0.005);
}

TEST(BumpedRibbon, DescribesItself) {
  Report report;
  built(3).describe(report);
  EXPECT_EQ(must_say(report, "slots"), static_cast<double>(BumpedSizes::slots(kMany)));
  EXPECT_NEAR(must_say(report, "planes, on average"), 8.5, 0.1);
  EXPECT_NEAR(must_say(report, "bumped share of the slots"), 0.04, 0.01);
  EXPECT_EQ(must_say(report, "width of the second ribbon"), 128);
}

TEST(BumpedRibbon, RefusesFieldsThatDoNotFitEachOther) {
  const auto refuses = [](std::string_view field, auto change) {
    Ribbon f = built(3);
    ASSERT_EQ(sample::edit_field(f, "bumped",
                                 [&](BumpedLayout& own) { ASSERT_EQ(sample::edit_field(own, field, change), 1); }),
              1);
    EXPECT_TRUE(sample::refused(f.validate(), Errc::corrupt, {"ribbon"})) << field;
  };
  const auto number = [](auto change) { return [=](std::uint64_t& x) { x = change(x); }; };
  for (const char* field : {"slots", "rich"}) {
    refuses(field, number([](std::uint64_t x) { return x + 512; }));
    refuses(field, number([](std::uint64_t x) { return x - 512; }));
    refuses(field, number([](std::uint64_t x) { return x + 64; }));
    refuses(field, number([](std::uint64_t) { return std::uint64_t{1} << 40; }));
    refuses(field, number([](std::uint64_t) { return ~std::uint64_t{127}; }));
  }
  refuses("rich", number([](std::uint64_t) { return 0; }));
  refuses("kept_rich", number([](std::uint64_t x) { return x + 1; }));
  refuses("kept_poor", number([](std::uint64_t x) { return x - 1; }));
  refuses("planes", [](std::uint32_t& x) { ++x; });
  refuses("planes", [](std::uint32_t& x) { x = 32; });
  refuses("thresholds", [](Array<std::uint8_t>& x) { x = Array<std::uint8_t>(x.size() - 1); });
  refuses("thresholds", [](Array<std::uint8_t>& x) { x.at_mut(x.size() / 3) ^= 0xff; });
  refuses("thresholds", [](Array<std::uint8_t>& x) { x.at_mut(x.size() - 1) = 0; });
  refuses("words", [](Array<std::uint64_t>& x) { x = Array<std::uint64_t>(x.size() - 1); });
}

TEST(BumpedSegments, CoverAllSlotsAndTakeEveryKey) {
  for (std::uint64_t slots :
       {std::uint64_t{128}, std::uint64_t{48'128}, std::uint64_t{1} << 18, std::uint64_t{3'000'064}})
    for (std::uint64_t rich : {std::uint64_t{0}, slots / 1024 * 512, (slots - 1) / 512 * 512}) {
      const BumpedSegments segments({slots, 8, rich});
      EXPECT_EQ(segments.begin(0), 0u);
      EXPECT_EQ(segments.begin(segments.size()), slots);
      bool at_border = rich == 0;
      for (std::uint64_t s = 0; s < segments.size(); ++s) {
        const std::uint64_t begin = segments.begin(s), end = segments.begin(s + 1);
        ASSERT_LT(begin, end);
        EXPECT_EQ(begin % 512, 0u) << "threads would share a byte of thresholds";
        EXPECT_LE(end - begin, std::uint64_t{3} << 17);
        at_border |= begin == rich;
      }
      EXPECT_TRUE(at_border) << "a segment has one number of planes";
      for (const Digest& d : numbers(slots, 1000)) {
        const std::uint64_t s = segments(d, 0).shard, x = fast_range(d.hi, slots) + 63;
        ASSERT_LT(s, segments.size());
        EXPECT_GE(x, segments.begin(s));
        EXPECT_LT(x, segments.begin(s + 1) + (s + 1 == segments.size() ? 64 : 0));
      }
    }
}

TEST(BandGroups, AreAddedWithAllTheirEquationsOrNotAtAll) {
  sample::Words random(11);
  const auto equations = [&](std::uint32_t count, std::uint32_t places) {
    std::vector<Equation<64>> out(count);
    for (auto& e : out) {
      e.coefficients.word[0] = random() | 1;
      e.start = static_cast<std::uint32_t>(random.below(places));
      e.bits = static_cast<std::uint32_t>(random());
    }
    return out;
  };
  Band<64> band;
  band.reset(300);
  const auto add = [&](const std::vector<Equation<64>>& all) {
    return band.add_group(static_cast<std::uint32_t>(all.size()), 0xffffffff, [&](std::uint32_t i) { return all[i]; });
  };
  const auto solved = [&] {
    std::vector<std::uint64_t> words(words_for_bits(300) * 3);
    band.solve(0, 3, 0, 3, words.data());
    return words;
  };
  ASSERT_TRUE(add(equations(100, 230)));
  EXPECT_EQ(band.free_slots(), 200u);
  const auto before = solved();
  for (std::uint32_t count : {3u, 120u}) {  // fewer than the lanes, and more
    auto wrong = equations(count, 60);      // 120 equations have 123 slots, 26 of them used
    wrong.back() = wrong.front();
    wrong.back().bits ^= 1;  // the opposite of the first
    EXPECT_FALSE(add(wrong));
    EXPECT_EQ(band.free_slots(), 200u);
    EXPECT_EQ(solved(), before);
  }
  ASSERT_TRUE(add(equations(40, 230)));
  EXPECT_EQ(band.free_slots(), 160u);
}

}  // namespace
}  // namespace naysay
