// SPDX-License-Identifier: Apache-2.0
// Generators: the same seed gives the same keys and costs on every machine, and sets that must not meet do not.
#include "naysay/workload/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "naysay/workload/zipf.hpp"

namespace naysay {
namespace {

std::string key(KeyShape kind, std::uint64_t i, std::uint64_t seed = 0) {
  std::string out = "old content";
  generate_key(kind, i, seed, out);
  return out;
}

TEST(Ycsb, MakesTheKeysThatYcsbMakes) {
  // The first keys of any YCSB load phase.
  EXPECT_EQ(key(KeyShape::ycsb, 0), "user6284781860667377211");
  EXPECT_EQ(key(KeyShape::ycsb, 1), "user8517097267634966620");
  EXPECT_EQ(key(KeyShape::ycsb, 2), "user1820151046732198393");
}

TEST(Generate, GivesTheSameKeysForEver) {
  EXPECT_EQ(key(KeyShape::integers, 0), "8841707400507832957");
  EXPECT_EQ(key(KeyShape::integers, 1, 7), "10267574001610339165");
  EXPECT_EQ(key(KeyShape::urls, 0), "https://www.cottonlantern.fr/cloud/ginger-1v6azoxnybb0d");
  EXPECT_EQ(key(KeyShape::urls, 1, 7), "https://winterhoney.org/orchid/castle/desert-260an7vd22pgd");
  EXPECT_EQ(key(KeyShape::ycsb, 1, 7), "user3438887723562049148");
}

TEST(Generate, GivesDifferentKeysForDifferentIndicesAndSeeds) {
  for (KeyShape kind : {KeyShape::ycsb, KeyShape::urls, KeyShape::integers}) {
    std::set<std::string> seen;
    for (std::uint64_t seed : {0, 1, 2})
      for (std::uint64_t i = 0; i < 20'000; ++i) seen.insert(key(kind, i, seed));
    EXPECT_EQ(seen.size(), 60'000u);
    for (const std::string& k : seen)
      ASSERT_EQ(k.find_first_of("\t\r\n"), std::string::npos) << "it must fit on a line";
  }
}

TEST(Generate, FindsItsKindsByName) {
  for (std::size_t i = 0; i < kKeyKinds.size(); ++i) EXPECT_EQ(find_key_kind(kKeyKinds[i]), static_cast<KeyShape>(i));
  EXPECT_EQ(find_key_kind("url"), std::nullopt);
}

TEST(Zipf, GivesCostsOfTheAskedSkewWhoseMeanIsOne) {
  for (double skew : {0.0, 0.5, 1.0, 1.5, 3.0}) {
    auto costs = zipf_costs(1000, skew, 3);
    EXPECT_NEAR(std::accumulate(costs.begin(), costs.end(), 0.0), 1000, 0.01);
    std::sort(costs.begin(), costs.end(), std::greater<>());
    for (std::size_t r : {2u, 10u, 1000u})
      EXPECT_NEAR(costs[r - 1] / costs[0], std::pow(static_cast<double>(r), -skew), 1e-6)
          << "rank " << r << ", skew " << skew;
  }
}

TEST(Zipf, OfSkewZeroIsOneEach) {
  for (float cost : zipf_costs(100, 0, 1)) EXPECT_EQ(cost, 1.0f);
}

TEST(Zipf, IsShuffledByItsSeed) {
  const auto a = zipf_costs(1000, 1, 1), again = zipf_costs(1000, 1, 1), other = zipf_costs(1000, 1, 2);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, other);
  EXPECT_FALSE(std::is_sorted(a.begin(), a.end(), std::greater<>()));
  EXPECT_TRUE(std::is_permutation(a.begin(), a.end(), other.begin()));
  EXPECT_TRUE(zipf_costs(0, 1, 1).empty());
  EXPECT_EQ(zipf_costs(1, 2, 1), std::vector<float>{1.0f});
}

TEST(Random, ShufflesEveryElementToEveryPlaceAboutAsOften) {
  constexpr int kRounds = 40'000, kItems = 4;
  int counts[kItems][kItems] = {};
  Random random(5);
  for (int round = 0; round < kRounds; ++round) {
    int items[kItems] = {0, 1, 2, 3};
    random.shuffle(std::span<int>(items));
    for (int place = 0; place < kItems; ++place) ++counts[items[place]][place];
  }
  // 5 standard deviations of a binomial count with chance 1/4
  for (const auto& row : counts)
    for (int count : row) EXPECT_NEAR(count, kRounds / kItems, 5 * std::sqrt(kRounds * 0.25 * 0.75));
}

}  // namespace
}  // namespace naysay
