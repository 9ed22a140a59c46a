// SPDX-License-Identifier: Apache-2.0
// The hash families of habf, and chains that name a function twice.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <type_traits>

#include "naysay/any_filter.hpp"
#include "naysay/habf/habf.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;

struct Texts {
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<Digest> digests;

  Texts(std::uint64_t first, std::size_t count) {
    for (std::uint64_t i = first; i < first + count; ++i)
      texts.push_back("www.host" + std::to_string(i * 7) + ".example");
    for (const std::string& t : texts) {
      views.push_back(t);
      digests.push_back(digest(std::string_view(t)));
    }
  }
};

constexpr HashFamily kTextFamilies[] = {HashFamily::independent, HashFamily::murmur64, HashFamily::xxh128};

TEST(TableFunctions, GiveThePublishedValues) {
  using namespace habf::table;
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(one_at_a_time("a"), 0xca2e9442u);
  EXPECT_EQ(one_at_a_time("The quick brown fox jumps over the lazy dog"), 0x519e91f5u);
  EXPECT_EQ(lookup3(""), 0xdeadbeefu);
  EXPECT_EQ(lookup3("Four score and seven years ago"), 0x17770551u);
  EXPECT_EQ(murmur3_32("test"), 0xba6bd213u);
  EXPECT_EQ(murmur3_32("Hello, world!"), 0xc0363e43u);
  EXPECT_EQ(habf::table_function("a", 8), 0xaf63dc4c8601ec8cu);  // FNV-1a
  EXPECT_EQ(habf::table_function("abc", 17), ((5381u * 33 + 97) * 33 + 98) * 33 + 99);
  EXPECT_EQ(elf("printf"), 0x077905a6u);  // the example of the System V ABI
}

TEST(TableFunctions, AreTwentyTwoDifferentOnesForTextsOfEveryLength) {
  std::string text;
  for (int length = 4; length < 40; ++length) {
    text.assign(static_cast<std::size_t>(length), 'a');
    text[1] = static_cast<char>('a' + length % 26);
    std::set<std::uint64_t> values;
    for (unsigned i = 1; i <= habf::kTableFunctions; ++i) values.insert(habf::table_function(text, i));
    EXPECT_EQ(values.size(), habf::kTableFunctions) << text;
  }
}

TEST(HabfHashFamilies, NeverDenyAKeyAndRefuseMostKnownNegatives) {
  const Texts keys(0, 4000), negatives(1 << 20, 4000);
  for (const HashFamily family :
       {HashFamily::doubled, HashFamily::independent, HashFamily::murmur64, HashFamily::xxh128})
    for (const bool texts : {false, true}) {
      if (texts && family == HashFamily::doubled) continue;  // refused, see below
      const Habf f = must_build<Habf>({.keys = keys.digests,
                                       .negatives = negatives.digests,
                                       .key_bytes = keys.views,
                                       .negative_bytes = negatives.views},
                                      {.hash_family = family, .texts = texts});
      std::size_t accepted = 0;
      for (std::size_t i = 0; i < keys.views.size(); ++i) {
        ASSERT_TRUE(f.may_contain(keys.digests[i], keys.views[i]));
        ASSERT_TRUE(f.may_contain(keys.digests[i])) << "a query without the text must not deny a key";
        accepted += f.may_contain(negatives.digests[i], negatives.views[i]);
      }
      EXPECT_LT(accepted, 20u) << kHashFamilies[static_cast<int>(family)];
      EXPECT_EQ(f.may_contain(negatives.digests[0]), texts || f.may_contain(negatives.digests[0], negatives.views[0]));
    }
}

TEST(HabfHashFamilies, MakeAPlainBloomFilterOfKDifferentFunctions) {
  const Texts keys(0, 20'000), strangers(1 << 20, 40'000);
  for (const HashFamily family : kTextFamilies) {
    const Habf f =
        must_build<Habf>({.keys = keys.digests, .key_bytes = keys.views},
                         {.bits_per_key = 10, .k = 0, .space_ratio = 0, .hash_family = family, .texts = true});
    double accepted = 0;
    for (std::size_t i = 0; i < strangers.views.size(); ++i)
      accepted += f.may_contain(strangers.digests[i], strangers.views[i]);
    EXPECT_NEAR(accepted / 40'000, bloom::fpr(10, bloom::best_k(10)), 0.003) << kHashFamilies[static_cast<int>(family)];
  }
}

TEST(HabfHashFamilies, AreRefusedWhereTheyCannotBe) {
  const Texts keys(0, 100);
  const auto says = [&](const Habf::Params& p) {
    const auto f = Habf::build({.keys = keys.digests}, p);
    return f ? std::string() : f.error().message;
  };
  EXPECT_TRUE(sample::says(says({.hash_family = HashFamily::xxh128, .texts = true}), {"texts", "true", "workload"}));
  for (const bool choose : {false, true})
    EXPECT_TRUE(sample::says(says({.choose = choose, .texts = true}), {"texts", "hash_family", "double"}));
  EXPECT_TRUE(
      sample::says(says({.cell_bits = 6, .family = 23, .hash_family = HashFamily::independent}), {"family", "22"}));
  EXPECT_TRUE(
      sample::says(says({.k = 23, .space_ratio = 0, .hash_family = HashFamily::independent}), {"k is 23", "22"}));
  const auto fast = AnyFilter::build("f-habf", {.keys = keys.digests}, {{"hash_family", "independent"}});
  ASSERT_FALSE(fast);
  EXPECT_TRUE(sample::says(fast.error().message, {"hash_family"})) << "f-HABF keeps double hashing";
}

TEST(HabfHashFamilies, ComeBackFromAFile) {
  const Texts keys(0, 2000), negatives(1 << 20, 2000);
  const Workload w{
      .keys = keys.digests, .negatives = negatives.digests, .key_bytes = keys.views, .negative_bytes = negatives.views};
  const auto built =
      AnyFilter::build("habf", w, {{"hash_family", "independent"}, {"texts", "true"}, {"repeats", "true"}});
  ASSERT_TRUE(built) << built.error().message;
  const auto again = AnyFilter::load(built->to_bytes());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_bytes(), built->to_bytes());
  const Texts others(1 << 22, 5000);
  for (std::size_t i = 0; i < others.views.size(); ++i)
    ASSERT_EQ(again->may_contain(others.digests[i], others.views[i]),
              built->may_contain(others.digests[i], others.views[i]));
  for (const std::string_view key : keys.views) ASSERT_TRUE(again->may_contain(key));
}

// Makes a filter say that it hashes texts, as a damaged file may.
struct SetsTexts {
  template <class Field>
  void operator()(std::string_view name, Field& field) {
    if constexpr (std::is_same_v<Field, bool>) field = field || name == "texts";
  }
};

TEST(HabfHashFamilies, OfAFileThatWouldDenyItsKeysAreRefused) {
  const Texts keys(0, 100);
  Habf f = must_build<Habf>({.keys = keys.digests}, {});
  EXPECT_TRUE(f.validate());
  SetsTexts forge;
  Habf::fields(f, forge);
  EXPECT_TRUE(sample::refused(f.validate(), Errc::corrupt, {"habf", "texts", "double"}));
}

// ---- repeats -------------------------------------------------------------------------------------------------------

TEST(HabfRepeats, AcceptMoreAndDenyNoKey) {
  const auto keys = sample::numbers(0, 50'000), negatives = sample::numbers(1 << 30, 50'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const Habf ours = must_build<Habf>(w, {.bits_per_key = 8.438}),
             paper = must_build<Habf>(w, {.bits_per_key = 8.438, .repeats = true});
  for (const Digest& d : keys) ASSERT_TRUE(paper.may_contain(d));
  double less = 0, more = 0;
  for (const Digest& d : negatives) {
    ASSERT_LE(ours.may_contain(d), paper.may_contain(d));
    less += ours.may_contain(d);
    more += paper.may_contain(d);
  }
  EXPECT_GT(more, 2 * less);
  EXPECT_NEAR(more / 50'000, 0.0030, 0.001);
}

TEST(HabfRepeats, GiveThePublishedRatesWithTheFirstMoveThatFits) {
  const auto keys = sample::numbers(0, 200'000), negatives = sample::numbers(1 << 30, 192'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto rate = [&](const auto& f) {
    double accepted = 0;
    for (const Digest& d : negatives) accepted += f.may_contain(d);
    return accepted / static_cast<double>(negatives.size());
  };
  const double published = 0.0036, fast = 0.0055;  // 1.5 MB, equal costs
  EXPECT_NEAR(rate(must_build<Habf>(w, {.bits_per_key = 8.438, .repeats = true, .first_fit = true})), published,
              0.15 * published);
  EXPECT_NEAR(
      rate(must_build<FastHabf>(w, {.bits_per_key = 8.438, .cell_bits = 4, .repeats = true, .first_fit = true})), fast,
      0.15 * fast);
}

TEST(HabfRepeats, AreExpectedAsOftenAsTheyAre) {
  const auto keys = sample::numbers(0, 60'000), negatives = sample::numbers(1 << 30, 60'000),
             strangers = sample::numbers(std::uint64_t{1} << 40, 400'000);
  for (const std::uint32_t k : {2u, 3u, 4u, 5u}) {
    const Habf f =
        must_build<Habf>({.keys = keys, .negatives = negatives}, {.bits_per_key = 8, .k = k, .repeats = true});
    double accepted = 0;
    for (const Digest& d : strangers) accepted += f.may_contain(d);
    const double expected = f.expected_fpr();
    EXPECT_NEAR(accepted / 400'000, expected, 0.02 * expected + 5 * std::sqrt(expected / 400'000)) << "k " << k;
  }
}

// Walks all ways through random cells.
double walked(std::span<const double> at, std::span<const double> end, unsigned k, double ones,
              std::vector<unsigned>& met, double weight) {
  double sum = 0;
  const unsigned functions = static_cast<unsigned>(at.size()) - 1;
  for (unsigned f = 1; f <= functions; ++f) {
    for (const bool is_end : {false, true}) {
      const double here = weight * (is_end ? end[f] : at[f] - end[f]);
      met.push_back(f);
      unsigned i = 0;
      while (met[i] != f) ++i;
      if (i + 1 < met.size()) {
        // Met again, in cell j: cells i + 1 to j follow each other. Only the case that the last one is j is counted here.
        const unsigned j = static_cast<unsigned>(met.size());
        if (is_end && (k - j) % (j - 1 - i) == 0) {
          unsigned in_h0 = 0;
          std::set<unsigned> different(met.begin(), met.end());
          for (const unsigned g : different) in_h0 += g <= k;
          sum += here * std::pow(ones, static_cast<double>(different.size())) *
                 (1 - std::pow(ones, static_cast<double>(k - in_h0)));
        }
      } else if (!is_end && met.size() < k) {
        sum += walked(at, end, k, ones, met, weight * at[f]);
      }
      met.pop_back();
    }
  }
  return sum;
}

TEST(HabfRepeats, AreCountedAsAWalkMeetsThem) {
  const std::array<double, 5> at = {0, 0.1, 0.2, 0.3, 0.05}, end = {0, 0.05, 0.1, 0.15, 0.01};
  std::vector<unsigned> met;
  // With k = 2 and 3 the last cell is always the one that closes the round.
  for (const unsigned k : {2u, 3u})
    EXPECT_NEAR(habf::second_look_repeated(at, end, k, 0.4), walked(at, end, k, 0.4, met, 1), 1e-12) << k;
}

}  // namespace
}  // namespace naysay
