// SPDX-License-Identifier: Apache-2.0
// The tool's pieces, with rows and wishes that no registered filter would give.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "parts/choose.hpp"
#include "parts/failure.hpp"
#include "parts/heap.hpp"
#include "parts/measure.hpp"
#include "parts/table.hpp"
#include "parts/timing.hpp"
#include "says.hpp"

namespace naysay::cli {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

FilterType type_named(std::string_view name, bool dynamic) {
  FilterType t = filter_types()[0];
  t.name = name;
  t.dynamic = dynamic;
  t.erasable = false;
  return t;
}

const FilterType kBloom = type_named("bloom", true), kSharp = type_named("sharp", false),
                 kSwift = type_named("swift", true);

FilterRow row(const FilterType& t, double fpr, double wfpr, double batch_ns) {
  FilterRow r;
  r.filter = &t;
  r.bits_per_key = 10;
  r.score = {.fpr = fpr, .known_fpr = wfpr, .wfpr = wfpr, .false_negatives = 0};
  r.judged = {.expected_fpr = fpr, .strangers = exactly(fpr), .known_cost = exactly(wfpr)};
  if (t.dynamic) r.grown = {.score = r.score, .judged = r.judged};
  r.query_ns = r.batch_ns = batch_ns;
  r.builds = kRounds;
  return r;
}

TEST(Advice, NamesTheFilterThatCostsLeastTheBestThatGrowsAndTheQuickest) {
  const std::vector<FilterRow> rows = {row(kBloom, 0.01, 0.01, 20), row(kSharp, 0.02, 0, 30),
                                       row(kSwift, 0.05, 0.005, 4)};
  EXPECT_TRUE(
      sample::says(advise(rows, 0.01), {"Use sharp", "10.0", "0 %", "2.00 %", "bloom accepts 1.00 %", "later use swift",
                                        "0.500 %", "5.00 %", "swift (4.00 ns", "sharp needs 30.0"}));
  EXPECT_EQ(advise(rows, 1).find("Use bloom: "), 0u) << "if all queries are about strangers";
}

TEST(Advice, WorksWithOneFilterWithNoneAndWithoutStrangers) {
  EXPECT_TRUE(sample::says(advise({row(kSharp, kNone, 0.5, 3)}, 0.01),
                           {"Use sharp", "10.0", "50.0 %", "no other filter", "No filter", "3.00 ns"}));
  FilterRow failed;
  failed.filter = &kSharp;
  failed.problem = "sharp: it does not fit";
  EXPECT_EQ(advise({failed}, 0.01), "");
  EXPECT_EQ(advise({failed, row(kBloom, 0.1, 0.1, 3)}, 0.01).find("Use bloom: "), 0u);
}

TEST(Compare, FailsWhenAFilterDeniesAKey) {
  std::vector<FilterRow> rows = {row(kBloom, 0.01, 0.01, 20), row(kSharp, 0.02, 0, 30)};
  EXPECT_NO_THROW(refuse_false_negatives(rows));
  rows[1].score.false_negatives = 3;
  try {
    refuse_false_negatives(rows);
    FAIL() << "three keys are denied";
  } catch (const Failure& e) {
    EXPECT_TRUE(sample::says(e.message, {"sharp", "denies", "3"}));
  }
}

TEST(Compare, ShowsTheReasonInsteadOfNumbers) {
  FilterRow failed;
  failed.filter = &kSharp;
  failed.problem = "sharp: 3 bits per key are too few; give at least 4";
  const std::vector<FilterRow> rows = {row(kBloom, 0.01, kNone, 20), failed};
  EXPECT_NE(table_text(rows).find("\nsharp   sharp: 3 bits per key are too few; give at least 4\n"), std::string::npos)
      << table_text(rows);
  EXPECT_EQ(to_json(failed).dump(),
            R"({"filter":"sharp","problem":"sharp: 3 bits per key are too few; give at least 4"})");
  EXPECT_EQ(to_json(rows[0])["wfpr"], nullptr);
  EXPECT_NE(csv_text(rows).find("\nsharp,,,,,,,,,,,,,,,,\n"), std::string::npos) << csv_text(rows);
}

TEST(Choose, TakesOnlyFiltersThatCanDoWhatIsWished) {
  std::vector<Digest> keys;
  for (std::uint64_t i = 0; i < 1000; ++i) keys.push_back(digest(i));
  for (bool negatives : {false, true})
    for (bool grows : {false, true})
      for (bool by_rate : {false, true}) {
        const auto choices = choose({negatives, grows, by_rate});
        ASSERT_FALSE(choices.empty());
        for (const Choice& c : choices) {
          EXPECT_FALSE(c.why.empty());
          EXPECT_TRUE(!grows || c.filter->dynamic) << c.filter->name;
          EXPECT_TRUE(!by_rate || c.filter->tunable) << c.filter->name;
        }
        const Workload few_keys{.keys = keys};
        EXPECT_TRUE(std::any_of(choices.begin(), choices.end(), [&](const Choice& c) {
          return AnyFilter::build(c.filter->name, few_keys, {{"bits_per_key", "0.01"}}).has_value();
        })) << "one of them must fit into any budget";
        const auto exact = [&](const FilterType& t) {
          return t.claims.exact_on_negatives && (!grows || t.dynamic) && (!by_rate || t.tunable);
        };
        if (negatives && std::any_of(filter_types().begin(), filter_types().end(), exact))
          EXPECT_TRUE(choices[0].filter->claims.exact_on_negatives) << choices[0].filter->name;
      }
}

TEST(Choose, RanksByThePredictedRateAndLeavesOutWhatCannotHoldTheNegatives) {
  CostCounts costs;
  for (int i = 0; i < 100'000; ++i) costs.add(1);
  const Outlook outlook{.keys = 1e5, .bits_per_key = 10, .stranger_share = 0.01, .costs = costs};
  const FilterWish wish{.negatives = true};
  const auto ranked = rank(choose(wish), wish, outlook, false);
  ASSERT_TRUE(ranked[0].filter->predict) << ranked[0].filter->name;
  EXPECT_TRUE(sample::says(ranked[0].why, {"0 % of the known negatives", "of strangers", "next best"}));
  for (const Choice& c : rank(choose(wish), wish, outlook, true))
    EXPECT_TRUE(!c.filter->claims.uses_negatives || c.filter->claims.streams_negatives) << c.filter->name;
}

TEST(KeyFile, ThatCannotBeOpenedLeavesTheFilterAsItWas) {
  std::vector<Digest> keys;
  for (std::uint64_t i = 0; i < 1000; ++i) keys.push_back(digest(i));
  std::size_t checked = 0;
  for (const FilterType& t : filter_types()) {
    if (!t.write_key_file) continue;
    auto f = AnyFilter::build(t.name, {.keys = keys});
    ASSERT_TRUE(f) << f.error().message;
    const auto before = f->to_bytes();
    EXPECT_FALSE(f->attach_key_file("/no/such/folder/keys"));
    EXPECT_EQ(f->adapt(digest(5000u)), Outcome::no_key_file);
    EXPECT_EQ(f->to_bytes(), before) << t.name;
    ++checked;
  }
  EXPECT_GT(checked, 0u);
}

TEST(Heap, CountsWhatIsHeldAndTheMostThatWas) {
  const std::uint64_t before = heap::held();
  heap::forget_peak();
  {
    auto large = std::make_unique<char[]>(1 << 20);
    EXPECT_GE(heap::held(), before + (1 << 20));
    struct alignas(64) Line {
      char bytes[64];
    };
    auto aligned = std::make_unique<Line[]>(1 << 14);
    EXPECT_GE(heap::held(), before + (2 << 20));
  }
  EXPECT_EQ(heap::held(), before);
  EXPECT_GE(heap::peak(), before + (2 << 20));
  EXPECT_LT(heap::peak(), before + (2 << 20) + 65'536);
  heap::forget_peak();
  EXPECT_EQ(heap::peak(), heap::held());
}

TEST(Table, WritesNumbersWithThreeDigits) {
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0.00812), "0.812 %");
  EXPECT_EQ(percent(1e-9), "1.0e-07 %");
  EXPECT_EQ(percent(kNone), "-");
  EXPECT_EQ(number(1234.5), "1234");
  EXPECT_EQ(number(9.996), "10.00");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1'500'000), "1.50 MB");
}

}  // namespace
}  // namespace naysay::cli
