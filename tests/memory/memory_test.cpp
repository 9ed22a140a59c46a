// SPDX-License-Identifier: Apache-2.0
// Out of memory is an error like others: every allocation of a build, a load and a first insert fails in turn, in the
// caller's thread and in workers, and nothing terminates.
//
// A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "cases.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace {

// Allocations that still succeed; below zero: all do.
std::atomic<std::int64_t> left{-1};
std::atomic<std::int64_t> made{0};

bool fails() noexcept {
  made.fetch_add(1, std::memory_order_relaxed);
  std::int64_t now = left.load(std::memory_order_relaxed);
  while (now > 0)
    if (left.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) return false;
  return now == 0;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes);
}

// While it lives, `count` allocations succeed and no more.
class Allow {
 public:
  explicit Allow(std::int64_t count) { left = count; }
  ~Allow() { left = -1; }
};

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* p = take(bytes, alignof(std::max_align_t))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* p = take(bytes, static_cast<std::size_t>(alignment))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, alignof(std::max_align_t)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace naysay {
namespace {

class EveryFilterWithoutMemory : public ::testing::TestWithParam<FilterType> {};

constexpr std::int64_t kMostTries = 150;  // of the first allocation to fail, spread over all of them

// Calls body() with 0, 1, 2, ... allocations allowed, until it succeeds without a failure. body returns a Result.
template <class Body>
void fails_cleanly(Body body) {
  made = 0;
  ASSERT_TRUE(body()) << "there is memory";
  const std::int64_t all = made;
  std::int64_t refused = 0;
  for (std::int64_t n = 0; n < all; n += std::max<std::int64_t>(1, all / kMostTries)) {
    Errc code{};
    bool done = false;
    {
      const Allow some(n);
      auto result = body();
      done = result.has_value();
      if (!done) code = result.error().code;
    }
    if (!done) {
      ++refused;
      EXPECT_EQ(code, Errc::no_memory) << "allocation " << n << " of " << all;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_P(EveryFilterWithoutMemory, ReturnsAnErrorFromBuildAlsoFromWorkerThreads) {
  const auto keys = sample::numbers(0, 3000), negatives = sample::numbers(1 << 20, 3000);
  for (const unsigned threads : {1u, 3u})
    fails_cleanly([&] {
      return AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, {}, {.threads = threads});
    });
}

TEST_P(EveryFilterWithoutMemory, ReturnsAnErrorFromLoadViewAndClone) {
  const auto keys = sample::numbers(0, 300);
  const AnyFilter f = sample::must(AnyFilter::build(GetParam().name, {.keys = keys}));
  const auto bytes = f.to_bytes();
  fails_cleanly([&] { return AnyFilter::load(bytes); });
  fails_cleanly([&] { return AnyFilter::view(bytes); });
  fails_cleanly([&] { return f.clone(); });
}

TEST_P(EveryFilterWithoutMemory, LeavesABorrowedFilterAsItWasWhenItsFirstInsertFails) {
  if (!GetParam().dynamic) return;
  const auto keys = sample::numbers(0, 300);
  const auto bytes = sample::must(AnyFilter::build(GetParam().name, {.keys = keys}, {}, {.capacity = 400})).to_bytes();
  AnyFilter f = sample::must(AnyFilter::view(bytes));
  Outcome outcome = Outcome::done;
  {
    const Allow none(0);
    outcome = f.insert(digest("late"));
  }
  EXPECT_EQ(outcome, Outcome::no_memory);
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_TRUE(f.insert(digest("late")));
  EXPECT_TRUE(f.may_contain(digest("late")));
}

TEST(FrontDoorWithoutMemory, ReturnsAnErrorFromBuildOpenAndSave) {
  const std::vector<std::string> keys = {"a key that is too long to be kept inside of its string", "b"};
  const std::vector<std::pair<std::string, float>> negatives = {{"another key that is too long for that", 3}};
  fails_cleanly([&] { return build<TaughtRibbon>(keys, negatives, {.bits_per_key = 12}); });
  fails_cleanly([&] { return build("guarded", keys, negatives, {{"bits_per_key", 24}}); });
}

NAYSAY_FOR_FILTERS(EveryFilterWithoutMemory, true);

}  // namespace
}  // namespace naysay
