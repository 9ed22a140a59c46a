// SPDX-License-Identifier: Apache-2.0
// A growing filter that gets no more memory refuses keys, keeps those it has, and grows on when there is memory again.
#include <gtest/gtest.h>

#include "memory/failing_new.hpp"
#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/live/shared_filter.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

// insert(d) with one allocation more each time that it was refused, until all keys are in. Returns the refusals.
template <class Filter>
std::uint64_t grow_with_little_memory(Filter& f, std::span<const Digest> keys) {
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    bool in = false;
    for (std::int64_t n = 0; !in; ++n) {
      const AllowAllocations some(n);
      in = static_cast<bool>(f.insert(keys[i]));
      refused += !in;
      if (n > 1000) return 0;
    }
    if (refused % 16 == 1)
      for (std::size_t k = 0; k <= i; k += 1 + i / 50) EXPECT_TRUE(f.may_contain(keys[k]));
  }
  for (const Digest& d : keys) EXPECT_TRUE(f.may_contain(d));
  return refused;
}

TEST(GrowingFilterWithoutMemory, RefusesKeysAndGrowsOnLater) {
  const auto keys = sample::numbers(0, 3000);
  auto f = sample::must_build<GrowingCuckoo>({}, {.bits_per_key = 16, .growth = 4}, {.capacity = 50});
  EXPECT_GT(grow_with_little_memory(f, keys), 20u);
  EXPECT_GT(f.eras(), 1u) << "eras were opened with little memory, too";
  EXPECT_TRUE(f.validate());
}

TEST(GrowingFilterWithoutMemory, IsTheSameForOneThatWasLoaded) {
  const auto first = sample::numbers(1 << 20, 150), keys = sample::numbers(0, 3000);
  const auto bytes = sample::must(AnyFilter::build("growing-cuckoo", {.keys = first},
                                                   {{"bits_per_key", 16}, {"growth", 4}}, {.capacity = 50}))
                         .to_bytes();
  AnyFilter f = sample::must(AnyFilter::view(bytes));
  EXPECT_GT(grow_with_little_memory(f, keys), 20u);
  for (const Digest& d : first) EXPECT_TRUE(f.may_contain(d));
}

TEST(GrowingFilterWithoutMemory, IsTheSameForOneThatThreadsShare) {
  const auto keys = sample::numbers(0, 3000);
  auto f = sample::must(SharedFilter::build({}, {.bits_per_key = 16, .growth = 4}, {.capacity = 50}));
  EXPECT_GT(grow_with_little_memory(f, keys), 20u);
}

}  // namespace
}  // namespace naysay
