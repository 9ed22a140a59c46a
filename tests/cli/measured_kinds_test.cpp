// SPDX-License-Identifier: Apache-2.0
// What is drawn was measured: traffic that shifts is queried, churn erases and inserts what it says, throughput is that of
// the same rounds.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/kinds/kinds.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::ordered_json;

// What one series of a panel measures, at the tiny size.
Json measured(const char* experiment, std::string_view panel, std::string_view series, std::optional<double> x = {}) {
  const cli::Experiment& e = *cli::find_experiment(experiment);
  for (const cli::Panel& p : e.panels)
    for (const cli::Series& s : p.series) {
      if (p.id != panel || s.name != series) continue;
      const cli::Job job{&e, &p, &s, x};
      cli::Sources sources("", 1);
      return cli::measure(job, cli::plan(job, cli::Size::tiny, 1), sources, {});
    }
  ADD_FAILURE() << experiment << " has no panel " << panel << " with a series " << series;
  return {};
}

TEST(Shift, IsQueriedAtEachShareAndNotComputed) {
  const Json shift = measured("stacked-fig5", "a", "bloom");
  const double known = shift["values"]["wfpr"].get<double>(), strangers = shift["values"]["fpr"].get<double>();
  constexpr double kQueries = 10'000;
  ASSERT_GE(shift["curve"].size(), 2u);
  for (const Json& point : shift["curve"]) {
    const double x = point["x"].get<double>(), expected = x * known + (1 - x) * strangers;
    const double accepted = point["wfpr"].get<double>();
    EXPECT_NEAR(point["to_known"].get<double>(), x, 5 * std::sqrt(x * (1 - x) / kQueries));
    EXPECT_NEAR(accepted, expected, 5 * std::sqrt(expected / kQueries) + 1e-3);
    EXPECT_NEAR(accepted * kQueries, std::round(accepted * kQueries), 1e-6) << "a count of queries";
  }
}

TEST(ChurnOfExperiments, ReplacesEachErasedKeyUnlessItSaysOtherwise) {
  const Json replaced = measured("sscf-fig14", "a, 2 %", "counting-bloom"),
             halved = measured("sscf-fig14", "a, 2 % and half", "counting-bloom");
  const auto keys = [](const Json& of, std::size_t round) { return of["curve"][round]["keys"].get<double>(); };
  for (const Json* of : {&replaced, &halved}) {
    EXPECT_EQ(keys(*of, 0), cli::kTinyKeys);
    for (const Json& point : (*of)["curve"]) EXPECT_TRUE(point["fpr"].is_number()) << "strangers stand next to it";
  }
  EXPECT_EQ(keys(replaced, 40), cli::kTinyKeys);
  // A round erases 2 % and inserts 1 %.
  EXPECT_NEAR(keys(halved, 40), cli::kTinyKeys * std::pow(0.99, 40), 20);
  EXPECT_LT(halved["curve"][40]["fpr"].get<double>(), replaced["curve"][40]["fpr"].get<double>());
}

TEST(Throughput, IsThatOfTheBaseInTheSameRounds) {
  const Json values = measured("stacked-fig4", "h", "stacked-bloom", 10)["values"];
  for (const char* what : {"absent", "present"}) {
    const double throughput = values[std::string(what) + "_throughput"].get<double>(),
                 over = values[std::string(what) + "_over"].get<double>();
    EXPECT_NEAR(throughput * over, 1, 1e-3) << what;
  }
  EXPECT_EQ(values["beside"], "bloom");
}

TEST(CountingBloomOfThePaper, HasItsNumberOfFunctionsRoundedUp) {
  const cli::Experiment& e = *cli::find_experiment("sscf-fig11");
  for (const cli::Series& s : e.panels[0].series) {
    if (std::string_view(s.name) != "CBF as in the paper") continue;
    // 3.5 MiB are 4.92 counters of 4 bits for each key, times ln 2 is 3.41.
    const cli::JobPlan plan = cli::plan({&e, &e.panels[0], &s, 3.5}, cli::Size::paper, 1);
    const auto k = std::find_if(plan.params.begin(), plan.params.end(), [](const Param& p) { return p.name == "k"; });
    ASSERT_NE(k, plan.params.end());
    EXPECT_EQ(k->value, "4");
    return;
  }
  FAIL() << "there is no such series";
}

}  // namespace
}  // namespace naysay
