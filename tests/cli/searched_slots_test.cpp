// SPDX-License-Identifier: Apache-2.0
// vhf-fig8: slots are searched really, by solving and by trying, and both agree with the formulas.
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/kinds/kinds.hpp"
#include "experiments/results.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::ordered_json;

// The values of one point of a panel of vhf-fig8, at the tiny size.
Json searched(const char* panel, double keys, std::uint64_t seed) {
  const cli::Experiment& e = *cli::find_experiment("vhf-fig8");
  for (const cli::Panel& p : e.panels) {
    if (std::string_view(p.id) != panel) continue;
    const cli::Job job{&e, &p, &p.series[0], keys};
    const cli::JobPlan plan = cli::plan(job, cli::Size::tiny, seed);
    cli::Sources sources("", seed);
    return cli::measure(job, plan, sources, {})["values"];
  }
  return {};
}

TEST(SearchedSlots, AreFoundAsOftenAsTheFormulaSays) {
  // 18 keys and 16 bits: 22 % of the functions. 111 slots with 7 functions each, 40 slots that are tried.
  const Json at18 = searched("a", 18, 1);
  EXPECT_NEAR(at18["expected"].get<double>(), 1 - std::exp(-0.25), 1e-3);
  EXPECT_NEAR(at18["found"]["mean"].get<double>(), 0.22, 5 * std::sqrt(0.22 * 0.78 / 770));
  EXPECT_NEAR(at18["expected_found"].get<double>(), 0.22, 0.01);
  EXPECT_NEAR(at18["any_found"]["mean"].get<double>(), 1 - std::pow(0.78, 7), 0.2);
  double tried = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) tried += searched("a", 18, seed)["tried"]["mean"].get<double>() / 10;
  EXPECT_NEAR(tried, 0.22, 5 * std::sqrt(0.22 * 0.78 / 100));
}

TEST(SearchedSlots, AreAllFoundWhereThereAreFewKeys) {
  const Json few = searched("a", 8, 1);
  EXPECT_EQ(few["found"]["mean"], 1);
  EXPECT_EQ(few["tried"]["mean"], 1);
  EXPECT_EQ(few["any_found"]["mean"], 1);
}

TEST(SearchedSlots, HaveThreeBitsMoreThanKeysWhereNoNumberIsGiven) {
  // 2^-6 of 512 functions accept six keys: none does with probability e^-8.
  const Json six = searched("b", 6, 1);
  EXPECT_NEAR(six["expected"].get<double>(), 1 - std::exp(-8), 1e-4);
  EXPECT_NEAR(six["tried_not_found"]["mean"].get<double>(), std::exp(-8), 5 * std::sqrt(std::exp(-8) / 15'000));
}

}  // namespace
}  // namespace naysay
