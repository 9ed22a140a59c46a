// SPDX-License-Identifier: Apache-2.0
// Cancelling: every build ends when its progress callback says so, on one thread and on many.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>

#include "cases.hpp"
#include "hosts.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

constexpr std::uint64_t kKeys = kTellEvery + 2000;

class EveryFilterThatIsCancelled : public ::testing::TestWithParam<FilterType> {
 protected:
  static Workload workload() {
    struct Lists {
      sample::Strings keys = sample::hosts(sample::Hosts::blocked, 0, kKeys);
      sample::Strings negatives = sample::hosts(sample::Hosts::popular, 0, 5000);
    };
    static const Lists lists;
    return {.keys = lists.keys.digests,
            .negatives = lists.negatives.digests,
            .key_bytes = lists.keys.views,
            .negative_bytes = lists.negatives.views};
  }
  // Cancels at call number `last`; 0: never. Returns the error, or none, and counts the calls.
  static std::optional<Error> build(int last, unsigned threads, int& calls) {
    std::atomic<int> inside{0};
    calls = 0;
    const auto f =
        AnyFilter::build(GetParam().name, workload(), {},
                         {.threads = threads, .progress = [&](std::string_view, std::uint64_t, std::uint64_t) {
                            EXPECT_EQ(inside.fetch_add(1), 0) << "one call at a time";
                            ++calls;
                            inside.fetch_sub(1);
                            return calls != last;
                          }});
    if (f) return {};
    return f.error();
  }
  static void cancels(unsigned threads) {
    int all = 0, calls = 0;
    ASSERT_FALSE(build(0, threads, all)) << "nobody cancelled";
    ASSERT_GE(all, 1) << "every build of this many keys tells of itself";
    for (const int last : {1, all / 2 + 1, all}) {
      const auto error = build(last, threads, calls);
      if (threads > 1 && !error && calls < last) continue;  // fewer calls than last time
      ASSERT_TRUE(error) << "cancelled at call " << last << " of " << all;
      EXPECT_EQ(error->code, Errc::cancelled) << error->message;
      EXPECT_TRUE(sample::says(error->message, {"cancelled"}));
      EXPECT_EQ(calls, last) << "not called again after it cancelled";
    }
  }
};

TEST_P(EveryFilterThatIsCancelled, EndsWithAnErrorAndIsNotAskedAgain) { cancels(1); }
TEST_P(EveryFilterThatIsCancelled, EndsWithAnErrorOnManyThreads) { cancels(3); }

TEST(Progress, TakesFunctionsThatReturnNothingAndNeverCancelsThen) {
  int calls = 0;
  const Progress progress = [&](std::string_view, std::uint64_t, std::uint64_t) { ++calls; };
  EXPECT_TRUE(progress("stage", 1, 2));
  EXPECT_TRUE(progress);
  EXPECT_FALSE(progress.cancelled());
  EXPECT_EQ(calls, 1);
  const Progress none;
  EXPECT_TRUE(none("stage", 1, 2));
  EXPECT_FALSE(none);
}

TEST(Progress, StaysCancelledWithItsCopies) {
  const Progress progress = [](std::string_view, std::uint64_t done, std::uint64_t) { return done < 2; };
  const Progress copy = progress;
  EXPECT_TRUE(copy("stage", 1, 3));
  EXPECT_FALSE(progress("stage", 2, 3));
  EXPECT_TRUE(copy.cancelled());
  EXPECT_FALSE(copy("stage", 0, 3));
}

NAYSAY_FOR_FILTERS(EveryFilterThatIsCancelled, true);

}  // namespace
}  // namespace naysay
