// SPDX-License-Identifier: Apache-2.0
// Metrics: what is counted, and the text that Prometheus reads.
#include "naysay/live/metrics.hpp"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "naysay/live/store.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(Metrics, TellWhatAFilterKnowsOfItself) {
  const auto keys = sample::numbers(0, 1000), negatives = sample::numbers(1 << 20, 200);
  const auto growing = AnyFilter::build("growing-cuckoo", {.keys = keys}, {});
  ASSERT_TRUE(growing);
  const Metrics g = metrics_of(*growing);
  EXPECT_EQ(g.keys, 1000u);
  EXPECT_GE(g.capacity, 1000u);
  EXPECT_GT(g.fill, 0.9);
  EXPECT_LE(g.fill, 1.0);
  EXPECT_GT(g.planned_fpr, g.expected_fpr);
  EXPECT_EQ(g.parts, 1u);
  const auto guarded = AnyFilter::build("guarded-growing", {.keys = keys, .negatives = negatives}, {});
  ASSERT_TRUE(guarded);
  EXPECT_GT(metrics_of(*guarded).guard_room, 0u);
}

TEST(Metrics, AreTextThatPrometheusReads) {
  Metrics m;
  m.queries = 7;
  m.expected_fpr = 0.25;
  add_to(m, {.operations = 3, .log_bytes = 99, .failed = true});
  std::istringstream text(prometheus(m, "a\"b"));
  const std::regex help(R"(# HELP (naysay_[a-z_]+) .+\.)"), type(R"(# TYPE (naysay_[a-z_]+) (counter|gauge))"),
      value(R"((naysay_[a-z_]+)\{filter="a\\"b"\} (\S+))");
  std::map<std::string, std::string> values;
  for (std::string line, name; std::getline(text, line);) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, help)) << line;
    name = match[1];
    ASSERT_TRUE(std::getline(text, line) && std::regex_match(line, match, type)) << line;
    EXPECT_EQ(match[1], name);
    EXPECT_EQ(match[2] == "counter", name.ends_with("_total"));
    ASSERT_TRUE(std::getline(text, line) && std::regex_match(line, match, value)) << line;
    EXPECT_EQ(match[1], name);
    values[name] = match[2];
  }
  EXPECT_EQ(values["naysay_queries_total"], "7");
  EXPECT_EQ(values["naysay_expected_fpr"], "0.25");
  EXPECT_EQ(values["naysay_log_bytes"], "99");
  EXPECT_EQ(values["naysay_store_failed"], "1");
  EXPECT_GE(values.size(), 20u);
}

TEST(MeterThreads, CountsEveryQueryOfManyThreads) {
  Meter meter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i)
        if (meter.asked(i % 4 == 0)) meter.false_positive(2);
      meter.avoided(5);
    });
  for (std::thread& t : threads) t.join();
  Metrics m;
  meter.add_to(m);
  EXPECT_EQ(m.queries, 30'000u);
  EXPECT_EQ(m.maybes, 7500u);
  EXPECT_EQ(m.reported_false_positives, 7500u);
  EXPECT_EQ(m.reported_cost, 15'000);
  EXPECT_EQ(m.cost_avoided, 15);
}

}  // namespace
}  // namespace naysay
