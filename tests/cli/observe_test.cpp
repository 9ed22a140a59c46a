// SPDX-License-Identifier: Apache-2.0
// naysay observe: from a log of misses to negatives. naysay inspect --prometheus: metrics as text.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/tool.hpp"

namespace naysay {
namespace {

class Observe : public Tool {
 protected:
  // "key<TAB>cost" lines by key.
  static std::map<std::string, double> costs_in(const std::string& text, std::vector<std::string>* order = nullptr) {
    std::map<std::string, double> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      const std::size_t tab = line.find('\t');
      EXPECT_NE(tab, std::string::npos) << line;
      out[line.substr(0, tab)] = std::stod(line.substr(tab + 1));
      if (order) order->push_back(line.substr(0, tab));
    }
    return out;
  }
};

TEST_F(Observe, AddsUpTheCostOfEachKeyAndWritesTheCostliestFirst) {
  write("misses.log", "a\t2\nb\nc\t1.5\na\t3\nb\nb\n");
  std::vector<std::string> order;
  const auto costs = costs_in(must("naysay observe misses.log"), &order);
  EXPECT_EQ(costs, (std::map<std::string, double>{{"a", 5}, {"b", 3}, {"c", 1.5}}));
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(costs_in(must("naysay observe misses.log --top 1")).size(), 1u);
  EXPECT_EQ(must("cat misses.log | naysay observe"), must("naysay observe misses.log")) << "a pipe is a log, too";
  must("naysay observe misses.log -o negatives.tsv");
  EXPECT_EQ(read("negatives.tsv"), must("naysay observe misses.log"));
  EXPECT_TRUE(sample::says(shell("naysay observe misses.log").err, {"6", "lines", "3", "keys"}));
}

TEST_F(Observe, KeepsTheHeavyKeysInBoundedMemoryAndSaysHowFarItIsOff) {
  std::string log;
  for (int i = 0; i < 5000; ++i) {
    log += "rare" + std::to_string(i) + "\n";
    if (i % 4 == 0) log += "heavy" + std::to_string(i % 20) + "\t10\n";
  }
  write("misses.log", log);
  const Ran ran = shell("naysay observe misses.log --keep 200 --top 5");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto costs = costs_in(ran.out);
  ASSERT_EQ(costs.size(), 5u);
  for (const auto& [key, cost] : costs) {
    EXPECT_EQ(key.find("heavy"), 0u) << key;
    EXPECT_GE(cost, 2500) << "a cost is never too small";
    EXPECT_LE(cost, 2500 + 17'500.0 / 200) << "and at most the total / keep too large";
  }
  EXPECT_TRUE(sample::says(ran.err, {"too", "large"}));
}

TEST_F(Observe, LetsCostsAge) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "yesterday\n";
  for (int i = 0; i < 600; ++i) log += "today\n";
  write("misses.log", log);
  std::vector<std::string> order;
  costs_in(must("naysay observe misses.log"), &order);
  EXPECT_EQ(order.front(), "yesterday");
  order.clear();
  costs_in(must("naysay observe misses.log --half-life 100"), &order);
  EXPECT_EQ(order.front(), "today");
}

TEST_F(Observe, CountsOnlyWhatAFilterAcceptsAndFeedsOneThatAdapts) {
  must("naysay generate urls --count 2000 -o keys.txt");
  must("naysay generate urls --count 20000 --seed 7 -o absent.txt");
  must("naysay build --keys keys.txt --filter guarded --bits-per-key 20 --param guard=100 -o set.nsy");
  const auto accepted = costs_in(must("naysay observe absent.txt --filter set.nsy"));
  EXPECT_GT(accepted.size(), 5u) << "few bits are left for the base";
  EXPECT_LT(accepted.size(), 2000u);
  const Ran fed = shell("naysay observe absent.txt --adapt set.nsy");
  EXPECT_EQ(fed.exit_code, 0) << fed.err;
  EXPECT_EQ(fed.out, "");
  const auto still = costs_in(must("naysay observe absent.txt --filter set.nsy"));
  EXPECT_LE(still.size() + std::min<std::size_t>(accepted.size(), 100) / 2, accepted.size()) << "the guard holds 100";
  must("naysay verify set.nsy --keys keys.txt");
}

TEST_F(Observe, IsTheFirstHalfOfABuildThatKnowsItsNegatives) {
  must("naysay generate urls --count 2000 -o keys.txt");
  must("naysay generate urls --count 20000 --seed 7 -o absent.txt");
  must("naysay build --keys keys.txt --filter guarded --bits-per-key 9 -o set.nsy");
  must("naysay observe absent.txt --filter set.nsy -o negatives.tsv");
  must("naysay build --keys keys.txt --negatives negatives.tsv --filter taught-ribbon --bits-per-key 12 -o better.nsy");
  write("accepted.txt", [&] {
    std::string keys;
    for (const auto& [key, cost] : costs_in(read("negatives.tsv"))) keys += key + "\n";
    return keys;
  }());
  EXPECT_EQ(costs_in(must("naysay observe accepted.txt --filter better.nsy")).size(), 0u);
}

TEST_F(Observe, RefusesWhatMakesNoSense) {
  write("misses.log", "a\t1\n");
  write("bad.log", "a\t1\nb\t-3\n");
  refuses("naysay observe misses.log --keep 0", {"keep", "0", "1"});
  refuses("naysay observe misses.log --half-life -1", {"half", "life"});
  refuses("naysay observe bad.log", {"2"});
  refuses("naysay observe absent.log", {"absent"});
  must("naysay build --keys misses.log --filter xor --bits-per-key 20 -o set.nsy");
  refuses("naysay observe misses.log --adapt set.nsy", {"xor", "adapt", "guarded"});
  refuses("naysay observe misses.log --adapt set.nsy --filter set.nsy", {"filter", "adapt"});
}

class Prometheus : public Tool {};

TEST_F(Prometheus, PrintsEveryMetricOnceWithItsTypeAndTheNameOfTheFilter) {
  must("naysay generate urls --count 3000 -o keys.txt");
  for (const std::string filter : {"guarded", "growing-cuckoo", "taught-ribbon"}) {
    must("naysay build --keys keys.txt --filter " + filter + " --bits-per-key 20 -o set.nsy");
    std::istringstream in(must("naysay inspect set.nsy --prometheus"));
    std::set<std::string> typed, seen;
    std::map<std::string, double> values;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string first, second, third;
      words >> first >> second >> third;
      if (first == "#") {
        ASSERT_TRUE(second == "HELP" || second == "TYPE") << line;
        if (second == "TYPE") {
          EXPECT_TRUE(typed.insert(third).second) << third << " has two types";
        }
        continue;
      }
      const std::size_t brace = line.find('{'), end = line.find("} ");
      ASSERT_NE(brace, std::string::npos) << line;
      ASSERT_NE(end, std::string::npos) << line;
      const std::string name = line.substr(0, brace);
      EXPECT_EQ(name.find("naysay_"), 0u) << line;
      EXPECT_EQ(line.substr(brace, end + 1 - brace), "{filter=\"" + filter + "\"}");
      EXPECT_TRUE(typed.contains(name)) << name << " has no type";
      EXPECT_TRUE(seen.insert(name).second) << name << " comes twice";
      values[name] = std::stod(line.substr(end + 2));
    }
    EXPECT_EQ(seen, typed);
    EXPECT_EQ(values.at("naysay_keys"), 3000) << filter;
    EXPECT_GT(values.at("naysay_size_bits"), 3000 * 10);
    EXPECT_GT(values.at("naysay_expected_fpr"), 0);
    EXPECT_LT(values.at("naysay_expected_fpr"), 0.01);
  }
}

}  // namespace
}  // namespace naysay
