// SPDX-License-Identifier: Apache-2.0
// SharedFilter: threads that read and write at the same time, against a checker that knows when each operation ran.
#include "naysay/live/shared_filter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::numbers;

SharedFilter must_share(std::uint64_t capacity, const SharedFilter::Params& p) {
  auto f = SharedFilter::build({}, p, {.capacity = capacity});
  EXPECT_TRUE(f) << f.error().message;
  if (!f) std::abort();
  return std::move(*f);
}

TEST(SharedFilter, AnswersAsTheFilterItWasMadeOf) {
  const auto keys = numbers(0, 30'000);
  auto alone = sample::must_build<GrowingCuckoo>({.keys = keys}, {.bits_per_key = 14});
  auto shared = SharedFilter::share(alone);
  ASSERT_TRUE(shared);
  for (std::uint64_t i = 0; i < 200'000; ++i)
    ASSERT_EQ(shared->may_contain(digest(i)), alone.may_contain(digest(i))) << i;
  for (std::uint64_t i = 30'000; i < 200'000; ++i) {
    ASSERT_TRUE(alone.insert(digest(i)));
    ASSERT_TRUE(shared->insert(digest(i)));
  }
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(alone.erase(digest(i)));
    ASSERT_TRUE(shared->erase(digest(i)));
  }
  for (std::uint64_t i = 0; i < 400'000; ++i)
    ASSERT_EQ(shared->may_contain(digest(i)), alone.may_contain(digest(i))) << i;
  EXPECT_EQ(shared->keys(), alone.keys());
  const auto back = shared->alone();
  ASSERT_TRUE(back);
  ASSERT_TRUE(back->validate());
  for (std::uint64_t i = 0; i < 400'000; ++i) ASSERT_EQ(back->may_contain(digest(i)), alone.may_contain(digest(i)));
}

// Each key has one writer and a state: even, it is out; odd, it is in; while an operation runs, changing. A reader looks
// at the state before and after it asks: if it was `in` at both times and the same, the answer must be "maybe". And if
// it was `out` at both, the answer must be "no" unless the filter takes the key for another: the keys were chosen so
// that no two share an address.
struct Checker {
  static constexpr std::uint32_t kChanging = 1u << 31;

  explicit Checker(std::uint64_t keys) : states(new std::atomic<std::uint32_t>[keys]()) {}
  std::unique_ptr<std::atomic<std::uint32_t>[]> states;

  static bool settled(std::uint32_t s) { return (s & kChanging) == 0; }
  static bool in(std::uint32_t s) { return s % 2 == 1; }
};

// `operations` in all, from writers that insert and erase keys of their own and readers that ask for any.
void run(std::uint64_t operations, unsigned writers, unsigned readers, double bits, double growth) {
  constexpr std::uint64_t kPerWriter = 20'000;
  SharedFilter f = must_share(500, {.bits_per_key = bits, .growth = growth});
  std::vector<Digest> keys;
  {
    const auto alone = f.alone();
    ASSERT_TRUE(alone);
    std::vector<std::uint64_t> taken;
    for (std::uint64_t i = 0; keys.size() < writers * kPerWriter; ++i) {
      keys.push_back(digest(i));
      taken.push_back(alone->address(keys.back()));
    }
    std::vector<std::uint64_t> sorted = taken;
    std::sort(sorted.begin(), sorted.end());
    std::vector<Digest> apart;  // keys that share an address with another are left out
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto range = std::equal_range(sorted.begin(), sorted.end(), taken[i]);
      apart.push_back(range.second - range.first == 1 ? keys[i] : Digest{});
    }
    keys = apart;
  }
  Checker check(keys.size());
  std::atomic<std::uint64_t> false_no{0}, false_maybe{0}, refused{0}, asked{0}, judged{0};
  std::atomic<unsigned> writing{writers};
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      sample::Words random(w + 1);
      for (std::uint64_t i = 0; i < operations / writers; ++i) {
        // At first mostly insertions, so that the table grows; then as many of each.
        const std::uint64_t k = w * kPerWriter + random.below(i < kPerWriter ? i + 1 : kPerWriter);
        if (keys[k] == Digest{}) continue;
        std::atomic<std::uint32_t>& state = check.states[k];
        const std::uint32_t s = state.load(std::memory_order_relaxed);
        state.store(s | Checker::kChanging);
        const bool done = Checker::in(s) ? f.erase(keys[k]) : f.insert(keys[k]);
        refused += !done;
        state.store(s + 1);
      }
      --writing;
    });
  for (unsigned r = 0; r < readers; ++r)
    threads.emplace_back([&, r] {
      sample::Words random(100 + r);
      std::uint64_t n = 0, sure = 0;
      while (writing.load() != 0) {
        const std::uint64_t k = random.below(keys.size());
        const std::uint32_t before = check.states[k].load();
        const bool maybe = f.may_contain(keys[k]);
        const std::uint32_t after = check.states[k].load();
        ++n;
        if (keys[k] == Digest{} || before != after || !Checker::settled(before)) continue;
        ++sure;
        if (Checker::in(before) && !maybe) ++false_no;
        if (!Checker::in(before) && maybe) ++false_maybe;
      }
      asked += n;
      judged += sure;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(false_no.load(), 0u) << "of " << judged.load() << " answers";
  EXPECT_EQ(false_maybe.load(), 0u) << "of " << judged.load() << " answers";
  EXPECT_EQ(refused.load(), 0u);
  EXPECT_GT(judged.load(), asked.load() / 2);
  std::uint64_t in = 0;
  for (std::uint64_t k = 0; k < keys.size(); ++k) {
    const bool is_in = Checker::in(check.states[k].load());
    in += is_in;
    if (keys[k] != Digest{}) {
      ASSERT_EQ(f.may_contain(keys[k]), is_in) << k;
    }
  }
  EXPECT_EQ(f.keys(), in) << "no operation was lost";
}

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kOperations = 60'000;
#else
constexpr std::uint64_t kOperations = 600'000;
#endif

TEST(SharedFilterOnThreads, IsLinearizableForEachKeyNextToOneWriter) { run(kOperations, 1, 3, 24, 64); }
TEST(SharedFilterOnThreads, IsLinearizableForEachKeyNextToTwoWriters) { run(kOperations, 2, 2, 24, 64); }
TEST(SharedFilterOnThreads, IsLinearizableForEachKeyWhileErasOpen) { run(kOperations, 2, 2, 22, 2); }
TEST(SharedFilterSlow, LosesNothingIn1e9OperationsOfFourThreads) { run(1'000'000'000, 2, 2, 24, 64); }

}  // namespace
}  // namespace naysay
