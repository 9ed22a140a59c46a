// SPDX-License-Identifier: Apache-2.0
// What the tool promises about rates: --fpr is held or refused, and advice rests on more than a few samples.
#include <cmath>
#include <nlohmann/json.hpp>

#include "parts/estimate.hpp"
#include "parts/held_rate.hpp"
#include "parts/measure.hpp"
#include "parts/shapes.hpp"
#include "parts/sweep.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using namespace std::string_literals;
using Json = nlohmann::ordered_json;

std::vector<Digest> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<Digest> digests;
  for (std::uint64_t i = first; i < first + count; ++i) digests.push_back(digest(i));
  return digests;
}

// ---- --fpr --------------------------------------------------------------------------------------------------------------

// The number that follows a word in a message.
double number_after(const std::string& text, const std::string& word) {
  return std::stod(text.substr(text.find(word) + word.size()));
}

TEST(HeldRate, IsAtMostTheOneThatWasAskedForOrTheNearestIsNamed) {
  std::size_t held = 0, refused = 0;
  for (const std::uint64_t n : {50, 1000}) {
    const auto keys = numbers(0, n);
    const Workload w{.keys = keys};
    for (const FilterType& t : filter_types()) {
      if (!t.tunable) continue;
      for (const double fpr : {0.5, 0.1, 0.001, 1e-6, 1e-12}) {
        SCOPED_TRACE(std::string(t.name) + " of " + std::to_string(n) + " keys for " + std::to_string(fpr));
        const auto filter = cli::build_for_rate(t, w, fpr, {}, {});
        if (filter) {
          EXPECT_LE(filter->expected_fpr(), fpr);
          ++held;
          continue;
        }
        ++refused;
        ASSERT_TRUE(sample::refused(filter, Errc::out_of_budget, {t.name, "--fpr", "lowest"}));
        const double nearest = number_after(filter.error().message, "about ");
        EXPECT_GT(nearest, fpr);
        const auto again = cli::build_for_rate(t, w, nearest, {}, {});
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_LE(again->expected_fpr(), nearest);
      }
    }
  }
  EXPECT_GT(held, 5 * refused) << "most rates can be had";
  EXPECT_GT(refused, 0u) << "1e-12 cannot be had by all";
}

using Promises = Tool;

TEST_F(Promises, OfARateAreHeldByTheFileThatIsWritten) {
  must("naysay generate urls --count 1000 -o keys");
  for (const char* filter : {"binary-fuse", "stacked-ribbon", "seesaw", "guarded-seesaw", "taught-ribbon", "auto"})
    for (const char* fpr : {"0.1", "0.001"}) {
      const Json j = Json::parse(
          must("naysay build --keys keys --json -o set.nsy --filter "s + filter + " --fpr " + fpr + " 2>/dev/null"));
      EXPECT_LE(j["expected_fpr"].get<double>(), std::stod(fpr)) << filter;
    }
  refuses("naysay build --keys keys -o no.nsy --filter xor --fpr 1e-30", {"xor", "--fpr", "1e-30", "lowest"});
  refuses("naysay build --keys keys -o no.nsy --filter habf --fpr 0.1", {"habf", "--fpr", "--bits-per-key", "bloom"});
  EXPECT_FALSE(exists("no.nsy"));
}

// ---- compare -----------------------------------------------------------------------------------------------------------

TEST(EstimateOfARate, IsAsSureAsItsSample) {
  const cli::Estimate none = cli::counted(0, 92);
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.0401, 0.0005);
  const cli::Estimate half = cli::counted(0.5, 100);
  EXPECT_NEAR(half.low, 0.404, 0.001);
  EXPECT_NEAR(half.high, 0.596, 0.001);
  EXPECT_TRUE(cli::counted(0, 10'000).surely_below(cli::counted(0.01, 10'000)));
  EXPECT_FALSE(cli::counted(0, 908).surely_below(cli::counted(1.0 / 908, 908)));
  EXPECT_FALSE(cli::counted(std::nan(""), 10).known());
  EXPECT_FALSE(cli::counted(0, 0).known());
}

FilterType type_named(std::string_view name, bool uses_negatives) {
  FilterType t = filter_types()[0];
  t.name = name;
  t.dynamic = t.erasable = false;
  t.claims = {.uses_negatives = uses_negatives};
  return t;
}

cli::FilterRow row(const FilterType& t, double expected, double accepted, double negatives, double ns) {
  cli::FilterRow r;
  r.filter = &t;
  r.bits_per_key = 10;
  Trial trial;
  trial.negatives.resize(static_cast<std::size_t>(negatives));
  trial.strangers.resize(100);
  r.score = {.fpr = 0, .known_fpr = accepted / negatives, .wfpr = accepted / negatives};
  r.judged = cli::judge(t, r.score, expected, trial);
  r.query_ns = r.batch_ns = ns;
  return r;
}

const FilterType kLucky = type_named("lucky", true), kSolid = type_named("solid", true),
                 kPlain = type_named("plain", false);

TEST(CompareAdvice, DoesNotRestOnLuck) {
  // None of 908 against one of 908 is no difference; 3 % of strangers against 0.1 % is.
  const std::vector<cli::FilterRow> rows = {row(kLucky, 0.03, 0, 908, 5), row(kSolid, 0.001, 1, 908, 5)};
  const std::string advice = cli::advise(rows, 0.01);
  EXPECT_EQ(advice.find("Use solid: "), 0u) << advice;
  EXPECT_TRUE(sample::says(advice, {"too few", "lucky"}));
  // With as many as that it is one.
  const std::vector<cli::FilterRow> sure = {row(kLucky, 0.03, 0, 1e6, 5), row(kSolid, 0.001, 1101, 1e6, 5)};
  EXPECT_EQ(cli::advise(sure, 0.01).find("Use lucky: "), 0u) << cli::advise(sure, 0.01);
  EXPECT_EQ(cli::advise(sure, 0.01).find("too few"), std::string::npos);
}

TEST(CompareAdvice, TakesTheRateThatAFilterExpectsForTheOneOfAHundredStrangers) {
  const cli::FilterRow r = row(kPlain, 0.03, 0, 50, 5);
  EXPECT_EQ(r.score.fpr, 0);
  EXPECT_DOUBLE_EQ(r.judged.strangers.value, 0.03);
  EXPECT_DOUBLE_EQ(r.judged.known_cost.value, 0.03) << "it does not use them: to it they are strangers";
  EXPECT_TRUE(sample::says(cli::advise({r}, 0.01), {"3.00 % of strangers"}));
}

TEST(CompareAdvice, DoesNotCallAnotherFilterTheSame) {
  const FilterType exact = [] {
    FilterType t = type_named("exact", true);
    t.claims.exact_on_negatives = true;
    return t;
  }();
  const cli::FilterRow now = row(exact, 0, 0, 1e6, 5);
  EXPECT_EQ(cli::next_better(now, {{20, {row(kLucky, 0, 0, 1e6, 1)}}}, 0.01, ""),
            "Up to 20.0 bits per key no filter does better.");
  EXPECT_TRUE(
      sample::says(cli::next_better(row(kPlain, 0.1, 0, 1e6, 1), {{20, {row(kPlain, 0.001, 0, 1e6, 1)}}}, 0.01, ""),
                   {"The same filter", "plain"}));
  EXPECT_TRUE(sample::says(cli::next_better(row(kPlain, 0.1, 0, 1e6, 1), {{20, {now}}}, 0.01, ""),
                           {"Another filter", "exact"}));
}

TEST(StrangersInShape, HaveLettersAndDigitsWhereTheTextsHave) {
  cli::Shapes shapes(1);
  EXPECT_TRUE(shapes.make(10, {}).empty());
  shapes.see("Ab-12");
  const auto made = shapes.make(1000, {});
  EXPECT_GT(made.size(), 900u);
  const std::set<Digest> all(made.begin(), made.end());
  std::size_t found = 0;
  for (char a = 'A'; a <= 'Z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b)
      for (char c = '0'; c <= '9'; ++c)
        for (char d = '0'; d <= '9'; ++d) found += all.contains(Hasher{}(std::string{a, b, '-', c, d}));
  EXPECT_EQ(found, made.size());
}

TEST_F(Promises, OfCompareComeFromEnoughStrangers) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --first 2000 --count 920 --zipf 1 -o "
      "known.tsv");
  const Json j = Json::parse(
      must("naysay compare --keys keys --negatives known.tsv --bits-per-key 10 --filters bloom,habf,ribbon --json -"));
  EXPECT_LT(j["strangers"].get<int>(), 150);
  EXPECT_GT(j["strangers_made_up"].get<int>(), 90'000);
  for (const Json& r : j["rows"]) {
    const double expected = r["expected_fpr"], fpr = r["fpr"];
    EXPECT_NEAR(fpr, expected, 0.2 * expected) << r["filter"];
    EXPECT_LE(r["fpr_low"].get<double>(), fpr);
    EXPECT_GE(r["fpr_high"].get<double>(), fpr);
    EXPECT_LT(r["fpr_high"].get<double>() - r["fpr_low"].get<double>(), 0.5 * fpr) << r["filter"];
  }
  const std::string text =
      must("naysay compare --keys keys --negatives known.tsv --bits-per-key 10 --filters bloom,habf");
  EXPECT_TRUE(sample::says(text, {"made up in their shape", "known negatives are few"}));
}

TEST_F(Promises, OfCompareAboutSetsThatChangeAreMeasuredOnSuch) {
  must("naysay generate urls --count 5000 -o keys && naysay generate urls --first 5000 --count 9000 -o known.tsv");
  const std::string compare =
      "naysay compare --keys keys --negatives known.tsv --bits-per-key 10 --filters "
      "cuckoo,stacked-bloom,guarded,ribbon ";
  const Json j = Json::parse(must(compare + "--json -"));
  std::map<std::string, Json> rows;
  for (const Json& r : j["rows"]) rows[r["filter"]] = r;
  for (const char* name : {"cuckoo", "stacked-bloom", "guarded"}) {
    ASSERT_TRUE(rows[name].contains("after_inserts")) << name;
    EXPECT_TRUE(rows[name]["after_inserts"].contains("problem") || rows[name]["after_inserts"]["false_negatives"] == 0);
  }
  EXPECT_TRUE(rows["cuckoo"].contains("after_replacing"));
  EXPECT_FALSE(rows["stacked-bloom"].contains("after_replacing")) << "it cannot erase";
  EXPECT_FALSE(rows["ribbon"].contains("after_inserts"));
  // A stack refuses known negatives by what it was built from: keys that come later are accepted by their own layers.
  EXPECT_GT(rows["stacked-bloom"]["after_inserts"]["known_fpr"].get<double>(),
            rows["stacked-bloom"]["known_fpr"].get<double>());
  EXPECT_TRUE(sample::says(must(compare), {"after a tenth of the keys came by insert", "after a tenth was replaced"}));
}

}  // namespace
}  // namespace naysay
