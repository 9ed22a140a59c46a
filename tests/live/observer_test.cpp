// SPDX-License-Identifier: Apache-2.0
// HeavyCosts and Observer: bounds that hold, ageing, and reports from many threads.
#include "naysay/live/observer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include "sample.hpp"

namespace naysay {
namespace {

TEST(HeavyCosts, KeepsItsBoundsOnASkewedStream) {
  for (std::uint64_t k : {1, 2, 7, 50, 400}) {
    sample::Words random(k);
    HeavyCosts sketch(k);
    std::map<std::uint64_t, double> truth;
    double total = 0;
    for (int i = 0; i < 30'000; ++i) {
      const std::uint64_t key = random.below(1 + random.below(2000));  // small numbers come often
      const double cost = static_cast<double>(1 + random.below(9));
      truth[key] += cost;
      total += cost;
      sketch.add(digest(key), cost, 0, std::to_string(key));
    }
    EXPECT_NEAR(sketch.total(), total, 1e-6);
    std::map<std::string, double> kept;
    double last = 1e300;
    for (const auto& e : sketch.costliest(k)) {
      const double true_cost = truth.at(std::stoull(e.text));
      ASSERT_GE(e.cost, true_cost - 1e-6);
      ASSERT_LE(e.cost, true_cost + e.error + 1e-6);
      ASSERT_LE(e.error, total / static_cast<double>(k) + 1e-6);
      ASSERT_LE(e.cost, last) << "the costliest come first";
      last = e.cost;
      kept[e.text] = e.cost;
    }
    EXPECT_EQ(kept.size(), std::min<std::uint64_t>(k, truth.size()));
    for (const auto& [key, cost] : truth)
      if (cost > total / static_cast<double>(k)) {
        EXPECT_TRUE(kept.contains(std::to_string(key))) << key << " costs " << cost << " of " << total;
      }
  }
}

TEST(HeavyCosts, HalvesCostsInAHalfLifeHoweverLongItRuns) {
  HeavyCosts sketch(10, 5);
  sketch.add(digest(1u), 64, 0);
  sketch.add(digest(2u), 3, 10);
  auto top = sketch.costliest(2, 10);
  EXPECT_NEAR(top[0].cost, 16, 1e-9);
  EXPECT_NEAR(top[1].cost, 3, 1e-9);
  sketch.add(digest(3u), 1, 25);
  top = sketch.costliest(3, 25);
  EXPECT_EQ(top[0].key, digest(1u));
  EXPECT_NEAR(top[0].cost, 2, 1e-9);
  sketch.add(digest(2u), 1e3, 1e6);  // far beyond what a double could scale
  top = sketch.costliest(1, 1e6);
  EXPECT_EQ(top[0].key, digest(2u));
  EXPECT_NEAR(top[0].cost, 1e3, 1e-6);
  EXPECT_TRUE(std::isfinite(sketch.total(1e6)));
}

TEST(HeavyCosts, LetsYesterdayGoForToday) {
  HeavyCosts ages(600, 1), remembers(600);
  for (std::uint64_t day = 0; day < 5; ++day)
    for (std::uint64_t i = 0; i < 300 * 20; ++i)
      for (HeavyCosts* s : {&ages, &remembers})
        s->add(digest(day * 1000 + i % 300), day == 0 ? 100 : 1, static_cast<double>(10 * day));
  const auto today = [](const HeavyCosts& s) {
    std::uint64_t n = 0;
    for (const auto& e : s.costliest(300, 40))
      for (std::uint64_t i = 0; i < 300; ++i) n += e.key == digest(4000 + i);
    return n;
  };
  EXPECT_EQ(today(ages), 300u);
  EXPECT_EQ(today(remembers), 0u) << "without ageing the costly first day stays";
}

TEST(HeavyCosts, TakesNoCostThatIsNoPositiveNumber) {
  HeavyCosts sketch(4);
  for (double cost : {0.0, -1.0, std::nan(""), double(INFINITY)}) sketch.add(digest(1u), cost);
  EXPECT_EQ(sketch.size(), 0u);
}

TEST(Observer, CountsEveryReportOfManyThreadsOrSaysThatItWasDropped) {
  Observer observer({.capacity = 100, .half_life = 0, .mailbox = 256});
  constexpr std::uint64_t kReports = 20'000;
  constexpr unsigned kThreads = 3;
  std::atomic<unsigned> running{kThreads};
  std::atomic<std::uint64_t> taken{0}, reported{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::uint64_t mine = 0, i = 0;
      for (; i < kReports || mine < 200; ++i) mine += observer.missed(digest(t * 10 + i % 10), 2);
      taken += mine;
      reported += i;
      --running;
    });
  while (running != 0) observer.collect();
  for (std::thread& t : threads) t.join();
  observer.collect();
  EXPECT_EQ(observer.collected(), taken);
  EXPECT_EQ(taken + observer.dropped(), reported);
  EXPECT_NEAR(observer.total_cost(), 2.0 * static_cast<double>(taken), 1e-6);
  double sum = 0;
  for (const auto& e : observer.costliest(100)) sum += e.cost;
  EXPECT_NEAR(sum, observer.total_cost(), 1e-6) << "30 keys fit, so nothing is estimated";
  EXPECT_GT(taken, 256u) << "more than the mailbox holds";
}

}  // namespace
}  // namespace naysay
