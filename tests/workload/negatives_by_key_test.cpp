// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/negatives_by_key.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include "sample.hpp"

namespace naysay {
namespace {

NegativesByKey must_have(std::span<const CostedKey> negatives) {
  auto sorted = NegativesByKey::of(negatives);
  EXPECT_TRUE(sorted) << sorted.error().message;
  return sorted ? std::move(*sorted) : NegativesByKey();
}

TEST(NegativesByKey, RangesHoldWhatLiesAfterTheFirstKeyAndUpToTheLast) {
  // Against a map, with keys that are prefixes of one another and hold every byte.
  sample::Words random(1);
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) {
    std::string key;
    for (std::uint64_t n = random.below(4); key.size() < n;) key += static_cast<char>(random.below(5) * 63);
    keys.push_back(key);
  }
  std::map<std::string, float> model;
  std::vector<CostedKey> given;
  for (const std::string& key : keys) {
    given.push_back({key, static_cast<float>(random.below(10))});
    model[key] += given.back().cost;
  }
  const NegativesByKey sorted = must_have(given);
  ASSERT_EQ(sorted.size(), model.size());
  const auto same = [&](NegativesByKey::Range range, auto from, auto to) {
    ASSERT_EQ(range.size(), static_cast<std::uint64_t>(std::distance(from, to)));
    for (std::size_t i = 0; from != to; ++from, ++i) {
      EXPECT_EQ(range.digests[i], digest(from->first));
      EXPECT_EQ(range.costs[i], from->second);
    }
  };
  for (const std::string& after : keys) {
    same(sorted.up_to(after), model.begin(), model.upper_bound(after));
    for (const std::string& last : keys) {
      if (last <= after)
        EXPECT_EQ(sorted.range(after, last).size(), 0u);
      else
        same(sorted.range(after, last), model.upper_bound(after), model.upper_bound(last));
    }
  }
  same(sorted.all(), model.begin(), model.end());
}

TEST(NegativesByKey, ReadsAFileAndNamesTheLineThatIsWrong) {
  const std::string path = ::testing::TempDir() + "negatives_by_key.tsv";
  std::ofstream(path) << "pear\t2\n\nfig\napple\t0.5\npear\t3\n";
  const auto read = NegativesByKey::read({path});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ(read->key(0), "apple");
  EXPECT_EQ(read->key(2), "pear");
  EXPECT_EQ(read->all().costs[1], 1);
  EXPECT_EQ(read->all().costs[2], 5);
  std::ofstream(path) << "pear\t2\nfig\tmuch\n";
  const auto wrong = NegativesByKey::read({path});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find(":2:"), std::string::npos) << wrong.error().message;
  std::filesystem::remove(path);
  EXPECT_FALSE(NegativesByKey::read({path}));
}

TEST(NegativesByKey, RefusesCostsThatAreNone) {
  for (const float cost : {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const CostedKey bad[] = {{"apple", cost}};
    const auto sorted = NegativesByKey::of(bad);
    ASSERT_FALSE(sorted);
    EXPECT_EQ(sorted.error().code, Errc::invalid_argument);
  }
}

TEST(SharedNegatives, ThreadsSeeAWholeSetWhileItIsReplaced) {
  const auto set_of = [](std::uint64_t n) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < n; ++i) keys.push_back(std::to_string(i));
    std::vector<CostedKey> given;
    for (const std::string& key : keys) given.push_back({key, static_cast<float>(n)});
    return std::make_shared<const NegativesByKey>(must_have(given));
  };
  SharedNegatives shared;
  EXPECT_EQ(shared.get()->size(), 0u);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<std::uint64_t> mixed{0}, reads{0};
  for (int t = 0; t < 2; ++t)
    readers.emplace_back([&] {
      while (!stop.load() || reads.load() < 100) {
        const auto set = shared.get();
        for (const float cost : set->all().costs) mixed += cost != static_cast<float>(set->size());
        ++reads;
      }
    });
  for (std::uint64_t i = 0; i < 300; ++i) shared.set(set_of(i % 7 * 10));
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(mixed.load(), 0u);
  shared.set(nullptr);
  EXPECT_EQ(shared.get()->size(), 0u);
}

}  // namespace
}  // namespace naysay
