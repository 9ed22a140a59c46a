// SPDX-License-Identifier: Apache-2.0
// What the metrics say of a guard: entries, room, pinned negatives, and evictions, which a file keeps.
#include <gtest/gtest.h>

#include "naysay/live/metrics.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(GuardMetrics, CountEvictionsAndKeepThemInTheFile) {
  const auto keys = sample::numbers(0, 2000);
  for (const char* name : {"guarded", "guarded-growing", "guarded-counting-bloom", "guarded-seesaw"}) {
    auto f = AnyFilter::build(name, {.keys = keys}, {{"bits_per_key", "12"}, {"guard", "10"}});
    ASSERT_TRUE(f) << f.error().message;
    EXPECT_EQ(metrics_of(*f).guard_evictions, 0u) << name;
    const std::uint64_t room = metrics_of(*f).guard_room;
    std::uint64_t reported = 0;
    for (std::uint64_t i = 1 << 20; reported < room + 7; ++i)
      if (f->may_contain(digest(i))) {
        ASSERT_TRUE(f->adapt(digest(i), 1)) << name;
        ++reported;
      }
    EXPECT_EQ(metrics_of(*f).guard_entries, room) << name;
    EXPECT_EQ(metrics_of(*f).guard_evictions, 7u) << name;
    const auto again = AnyFilter::load(f->to_bytes());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(metrics_of(*again).guard_evictions, 7u) << name;
    EXPECT_NE(prometheus(metrics_of(*again), name)
                  .find("naysay_guard_evictions_total{filter=\"" + std::string(name) + "\"} 7"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace naysay
