// SPDX-License-Identifier: Apache-2.0
// Out of memory is an error like others: every allocation of a build, a load and a first insert fails in turn, in the
// caller's thread and in workers, and nothing terminates.
//
// A program of its own, because it replaces operator new (failing_new.cpp).
#include <gtest/gtest.h>

#include "cases.hpp"
#include "memory/failing_new.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

class EveryFilterWithoutMemory : public ::testing::TestWithParam<FilterType> {};

constexpr std::int64_t kMostTries = 150;  // of the first allocation to fail, spread over all of them

// Calls body() with 0, 1, 2, ... allocations allowed, until it succeeds without a failure. body returns a Result.
template <class Body>
void fails_cleanly(Body body) {
  allocations_made = 0;
  ASSERT_TRUE(body()) << "there is memory";
  const std::int64_t all = allocations_made;
  std::int64_t refused = 0;
  for (std::int64_t n = 0; n < all; n += std::max<std::int64_t>(1, all / kMostTries)) {
    Errc code{};
    bool done = false;
    {
      const AllowAllocations some(n);
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
    const AllowAllocations none(0);
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
