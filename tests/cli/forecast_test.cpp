// SPDX-License-Identifier: Apache-2.0
// Forecast: the memory of a build is known before it starts, and a dry run builds nothing.
#include "parts/forecast.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parts/timing.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

// The bounds are those of the head comment of forecast.hpp.
void hold_to_forecast(const FilterType& type, std::uint64_t keys, std::uint64_t negatives) {
  std::vector<Digest> members, others;
  std::vector<float> costs;
  CostCounts counts;
  for (std::uint64_t i = 0; i < keys; ++i) members.push_back(digest(i));
  for (std::uint64_t i = 0; i < negatives; ++i) {
    others.push_back(digest(i, 7));
    costs.push_back(static_cast<float>(1 + i % 1000));
    counts.add(costs.back());
  }
  const Workload w{.keys = members, .negatives = others, .costs = costs};
  const std::vector<Param> params = {{"bits_per_key", "10"}};
  const auto expected = cli::forecast(type, w, counts, params, {});
  const cli::Attempt built = cli::attempt(type.name, w, params, {});
  ASSERT_EQ(expected.has_value(), built.filter.has_value()) << type.name << ": what cannot be built has no forecast";
  if (!expected) return;
  const auto peak = static_cast<double>(built.peak_bytes), said = static_cast<double>(expected->build_bytes);
  EXPECT_LE(peak, 1.5 * said) << type.name << " needs " << peak << " bytes, and " << said << " were forecast";
  EXPECT_GE(peak, 0.5 * said) << type.name << " needs " << peak << " bytes, and " << said << " were forecast";
  const auto size = static_cast<double>(built.filter->size_bits()) / 8;
  EXPECT_NEAR(static_cast<double>(expected->filter_bytes), size, 0.25 * size + 256) << type.name;
  EXPECT_EQ(expected->input_bytes, 16 * keys + 20 * negatives);
}

TEST(Forecast, IsTheBuildItselfForFewKeys) {
  for (const char* name : {"bloom", "taught-ribbon", "cuckoo"}) hold_to_forecast(*find_filter(name), 5000, 5000);
}

TEST(Forecast, HoldsForMoreKeysThanTheSamples) {
  for (const char* name : {"bloom", "ribbon", "taught-ribbon", "cuckoo", "xor"})
    if (const FilterType* type = find_filter(name)) hold_to_forecast(*type, 700'000, 700'000);
}

TEST(ForecastSlow, HoldsForEveryFilter) {
  for (const FilterType& type : filter_types())
    if (!type.claims.reads_bytes) hold_to_forecast(type, 1'500'000, 1'500'000);  // others need strings
}

TEST_F(Tool, DryRunsPrintThePlanAndBuildNothing) {
  must("naysay generate urls --count 3000 -o keys");
  must("naysay generate urls --count 3000 --first 3000 --zipf 1 -o negatives");
  const std::string build = "naysay build --keys keys --negatives negatives --bits-per-key 9 -o set.nsy ";
  const std::string text = must(build + "--dry-run");
  for (const char* word :
       {"filter", "keys", "3000", "size", "accepts", "strangers", "memory", "peak", "time", "Nothing"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_FALSE(exists("set.nsy"));
  const auto j = nlohmann::json::parse(must(build + "--dry-run --json"));
  EXPECT_FALSE(exists("set.nsy"));
  const auto built = nlohmann::json::parse(must(build + "--json"));
  EXPECT_EQ(j["filter"], built["filter"]);
  EXPECT_EQ(j["keys"], built["keys"]);
  EXPECT_NEAR(j["bytes"].get<double>(), built["bytes"].get<double>(), 0.05 * built["bytes"].get<double>());
  EXPECT_NEAR(j["expected_fpr"].get<double>(), built["expected_fpr"].get<double>(),
              0.3 * j["expected_fpr"].get<double>());
  EXPECT_GT(j["peak_bytes"], j["input_bytes"]);
  EXPECT_EQ(j["input_bytes"], 3000 * 36);
  refuses("naysay build --keys keys --filter bloom --bits-per-key 0 --dry-run -o set.nsy", {"--bits-per-key", "'0'"});
}

TEST_F(Tool, VerboseBuildsSayWhatMemoryTheyExpect) {
  must("naysay generate integers --count 1000 -o keys");
  const Ran ran = shell("naysay build -v --keys keys --filter bloom --fpr 0.01 -o set.nsy");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(sample::says(ran.err, {"expects", "memory at the peak", "bloom"}));
}

TEST_F(Tool, BenchIngestHasARowForEveryNumberOfThreadsAndForWc) {
  const auto j = nlohmann::json::parse(must("naysay bench ingest --size tiny --out -"));
  EXPECT_EQ(j["experiment"], "ingest");
  int naysay = 0, wc = 0;
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row["lines"], 20'000);
    EXPECT_GT(row["lines_per_second"], 0);
    EXPECT_GT(row["bytes_per_second"], row["lines_per_second"]);
    (row["reader"] == "naysay" ? naysay : wc) += 1;
  }
  EXPECT_GE(naysay, 2);
  EXPECT_EQ(wc, 2);
  const Ran without = shell("PATH=\"$(dirname \"$(command -v naysay)\")\" naysay bench ingest --size tiny");
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_TRUE(sample::says(without.err, {"no wc"}));
}

}  // namespace
}  // namespace naysay
