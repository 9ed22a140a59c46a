// SPDX-License-Identifier: Apache-2.0
// The filter as the paper describes it: its k, its objective, and the query of the authors' code.
#include <gtest/gtest.h>

#include "naysay/seesaw/seesaw.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;

Seesaw::Params paper(SeesawQuery query = SeesawQuery::leaning_round, double bits = 24) {
  return {.bits_per_key = bits, .alpha = 0.1, .encode = 1000, .extra = 0, .query = query, .plan = SeesawPlanner::paper};
}

TEST(SeesawOfThePaper, HasKFromTheCountersPerKey) {
  const auto keys = sample::numbers(0, 20'000), negatives = sample::numbers(1 << 30, 20'000);
  for (const auto& [bits, k] : {std::pair{19.69, 2.0}, {23.63, 2.0}, {28.13, 3.0}, {36.0, 4.0}, {44.45, 5.0}}) {
    Report report;
    (void)must_build<Seesaw>({.keys = keys, .negatives = negatives}, paper(SeesawQuery::leaning_round, bits),
                             {.report = &report});
    EXPECT_EQ(report.lines.at(0).name, "functions per key");
    EXPECT_EQ(report.lines.at(0).value, k) << bits;
  }
}

TEST(SeesawOfThePaper, ChoosesTheModulatorsShareByItsOwnObjective) {
  const std::vector<seesaw::CostPoint> curve = {{1000, 0.8}};
  seesaw::SeesawProblem q{.bits = 24.0 * 20'000, .keys = 20'000, .curve = curve, .query = SeesawQuery::two_round};
  q.extra = 0;
  const seesaw::SeesawPlan best = seesaw::plan_of_paper(q);
  for (const double alpha : {0.02, 0.05, 0.1, 0.2, 0.3}) {
    q.alpha = alpha;
    const seesaw::SeesawPlan given = seesaw::plan_of_paper(q);
    EXPECT_LE(best.wfpr, given.wfpr) << alpha;
    EXPECT_EQ(given.shape.k, seesaw::paper_k(given.shape.counters / q.keys, q.max_k));
  }
}

TEST(SeesawOfThePaper, AcceptsWithTheAuthorsQueryAPartOfWhatThePrintedOneAccepts) {
  const auto keys = sample::numbers(0, 20'000), negatives = sample::numbers(1 << 30, 20'000),
             strangers = sample::numbers(std::uint64_t{1} << 40, 50'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const Seesaw exact = must_build<Seesaw>(w, paper(SeesawQuery::exact_path)), leaning = must_build<Seesaw>(w, paper()),
               printed = must_build<Seesaw>(w, paper(SeesawQuery::two_round));
  std::size_t refused = 0;
  for (const Digest& d : strangers) {
    ASSERT_LE(exact.may_contain(d), leaning.may_contain(d));
    ASSERT_LE(leaning.may_contain(d), printed.may_contain(d));
    refused += printed.may_contain(d) && !leaning.may_contain(d);
  }
  EXPECT_GT(refused, 100u) << "the check must refuse something";
  for (const Digest& d : keys) ASSERT_TRUE(leaning.may_contain(d));
}

TEST(SeesawOfThePaper, ErrsAsOftenAsItsFormulaSays) {
  const auto keys = sample::numbers(0, 50'000), negatives = sample::numbers(1 << 30, 50'000),
             strangers = sample::numbers(std::uint64_t{1} << 40, 200'000);
  Seesaw::Params p = paper();
  p.encode = 2500;
  const Seesaw f = must_build<Seesaw>({.keys = keys, .negatives = negatives}, p);
  double accepted = 0;
  for (const Digest& d : strangers) accepted += f.may_contain(d);
  const double expected = f.expected_fpr();
  EXPECT_NEAR(accepted / 200'000, expected, 0.02 * expected + 5 * std::sqrt(expected / 200'000));
}

TEST(SeesawOfThePaper, NeverDeniesAKeyWhileKeysComeAndGo) {
  auto keys = sample::numbers(0, 5000);
  const auto negatives = sample::numbers(1 << 30, 5000);
  Seesaw f = must_build<Seesaw>({.keys = keys, .negatives = negatives}, paper());
  sample::Words words(7);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Digest& d = keys[words.below(keys.size())];
    ASSERT_TRUE(f.erase(d));
    d = digest((std::uint64_t{1} << 35) + i);
    ASSERT_TRUE(f.insert(d));
  }
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

}  // namespace
}  // namespace naysay
