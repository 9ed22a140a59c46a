// SPDX-License-Identifier: Apache-2.0
// Threads: one filter of every type, queried one by one and in batches from many threads at the same time, while
// another thread swaps it for another filter of the same type. This is what any_filter.hpp promises; TSan must see it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;
using sample::numbers;

constexpr std::size_t kReaders = 4, kRounds = 8, kKeys = 500, kBatch = 100;

class EveryFilterOnManyThreads : public ::testing::TestWithParam<FilterType> {};

// What f answers to each question, one by one, on this thread.
std::vector<std::uint8_t> answers_of(const AnyFilter& f, std::span<const Digest> questions) {
  std::vector<std::uint8_t> out(questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) out[i] = f.may_contain(questions[i]);
  return out;
}

// How many answers differ from the expected ones, one by one and in batches. Each reader begins elsewhere.
std::uint64_t wrong_answers(const AnyFilter& f, std::span<const Digest> questions,
                            const std::vector<std::uint8_t>& expected, std::size_t reader) {
  std::uint64_t wrong = 0;
  std::array<std::uint8_t, kBatch> batch;
  for (std::size_t at = 0; at < questions.size(); at += kBatch) {
    const std::size_t first = (at + reader * kBatch) % questions.size();
    const auto some = questions.subspan(first, kBatch);
    f.may_contain(some, batch.data());
    for (std::size_t i = 0; i < kBatch; ++i) {
      wrong += batch[i] != expected[first + i];
      wrong += f.may_contain(some[i]) != (expected[first + i] != 0);
    }
  }
  if (f.keys() != kKeys || !(f.expected_fpr() <= 1) || f.size_bits() == 0) ++wrong;
  return wrong;
}

TEST_P(EveryFilterOnManyThreads, AnswersThemAllAsItAnswersOneThread) {
  const auto questions = numbers(0, 2 * kKeys), negatives = numbers(kKeys, kKeys / 2);  // the first half are keys
  const std::span<const Digest> all(questions);
  const auto built = must(AnyFilter::build(GetParam().name, {.keys = all.first(kKeys), .negatives = negatives}));
  const auto expected = answers_of(built, all);
  const auto bytes = built.to_bytes();
  for (const bool borrows : {false, true}) {  // its arrays, from the bytes
    const AnyFilter f = must(borrows ? AnyFilter::view(bytes) : AnyFilter::load(bytes));
    std::atomic<std::uint64_t> wrong = 0;
    std::barrier begin(kReaders);
    std::vector<std::thread> readers;
    for (std::size_t r = 0; r < kReaders; ++r)
      readers.emplace_back([&, r] {
        begin.arrive_and_wait();
        for (std::size_t round = 0; round < kRounds; ++round) wrong += wrong_answers(f, all, expected, r);
      });
    for (std::thread& t : readers) t.join();
    EXPECT_EQ(wrong, 0u) << (borrows ? "borrowed" : "owned");
  }
}

// A filter that is replaced as a whole while others read it.
class Shared {
 public:
  std::shared_ptr<const AnyFilter> get() const {
    const std::lock_guard lock(mutex_);
    return filter_;
  }
  void set(std::shared_ptr<const AnyFilter> next) {
    const std::lock_guard lock(mutex_);
    filter_.swap(next);  // what it held before is let go after the lock, or by its last reader
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AnyFilter> filter_;
};

TEST_P(EveryFilterOnManyThreads, IsSwappedUnderReadersThatSeeTheOldOneOrTheNewOne) {
  const auto questions = numbers(0, 2 * kKeys);
  const std::span<const Digest> all(questions);
  // Two versions of different keys; the seed of its hasher says which one a reader has got.
  std::vector<AnyFilter> versions;
  std::vector<std::uint8_t> expected[2];
  for (const std::size_t version : {0, 1}) {
    versions.push_back(must(AnyFilter::build(GetParam().name, {.keys = all.subspan(version * kKeys, kKeys)}, {},
                                             {.hasher = {.seed = version}})));
    expected[version] = answers_of(versions[version], all);
    for (std::size_t i = 0; i < kKeys; ++i) ASSERT_TRUE(expected[version][version * kKeys + i]);
  }
  ASSERT_NE(expected[0], expected[1]);
  Shared shared;
  shared.set(std::make_shared<const AnyFilter>(must(versions[0].clone())));
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::size_t> finished = 0;
  std::vector<std::thread> readers;
  for (std::size_t r = 0; r < kReaders; ++r)
    readers.emplace_back([&, r] {
      bool seen[2] = {false, false};
      for (std::size_t round = 0; round < kRounds || !seen[0] || !seen[1]; ++round) {
        const auto mine = shared.get();
        const std::uint64_t version = mine->hasher().seed;
        wrong += wrong_answers(*mine, all, expected[version], r);
        seen[version] = true;
      }
      ++finished;
    });
  for (std::size_t swap = 1; finished < kReaders; ++swap)
    shared.set(std::make_shared<const AnyFilter>(must(versions[swap % 2].clone())));
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(shared.get().use_count(), 2) << "a reader still holds the filter";
}

NAYSAY_FOR_FILTERS(EveryFilterOnManyThreads, true);

}  // namespace
}  // namespace naysay
