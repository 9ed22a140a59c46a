// SPDX-License-Identifier: Apache-2.0
// Swapped: readers see whole values, and none that was destroyed.
#include "naysay/live/swapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace naysay {
namespace {

// Two equal numbers on the heap, and a count of those alive.
struct Pair {
  static std::atomic<int> alive;
  explicit Pair(std::uint64_t n) : numbers{n, n} { ++alive; }
  Pair(Pair&& other) noexcept : numbers(std::move(other.numbers)) { ++alive; }
  ~Pair() { --alive; }
  std::vector<std::uint64_t> numbers;
};
std::atomic<int> Pair::alive{0};

TEST(SwappedOnThreads, ReadersSeeOneWholeValueThatOnlyGrowsNewer) {
  {
    Swapped<Pair> live(Pair(0));
    std::atomic<bool> stop{false};
    std::atomic<int> reading{0};  // readers that have read once
    std::atomic<std::uint64_t> torn{0}, older{0}, reads{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; ++r)
      readers.emplace_back([&] {
        std::uint64_t last = 0, n = 0;
        while (!stop) {
          const auto [a, b] = live.read([](const Pair& p) { return std::pair(p.numbers[0], p.numbers[1]); });
          torn += a != b;
          older += a < last;
          last = a;
          if (++n == 1) ++reading;
        }
        reads += n;
      });
    while (reading < 3) std::this_thread::yield();
    for (std::uint64_t i = 1; i <= 3000; ++i) {
      live.swap(Pair(i));
      ASSERT_EQ(Pair::alive, 1) << "the old value is destroyed before swap returns";
    }
    stop = true;
    for (std::thread& t : readers) t.join();
    EXPECT_EQ(torn, 0u);
    EXPECT_EQ(older, 0u);
    EXPECT_GT(reads, 0u);
    EXPECT_EQ(live.read([](const Pair& p) { return p.numbers[0]; }), 3000u);
  }
  EXPECT_EQ(Pair::alive, 0);
}

}  // namespace
}  // namespace naysay
