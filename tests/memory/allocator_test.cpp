// SPDX-License-Identifier: Apache-2.0
// The allocator of arrays can be replaced: it gets all of them, aligned, and gets every one of them back.
#include "naysay/core/allocator.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "cases.hpp"
#include "naysay/core/array.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

// Counts what it gives and takes.
struct Pool {
  std::mutex mutex;
  std::map<void*, std::pair<std::size_t, std::size_t>> held;  // bytes and alignment
  std::uint64_t calls = 0, bytes = 0, most = 0, wrong = 0;
  std::size_t limit = ~std::size_t{0};

  Allocator allocator() {
    return {.allocate = [](std::size_t n, std::size_t alignment, void* context) -> void* {
              Pool& pool = *static_cast<Pool*>(context);
              const std::lock_guard lock(pool.mutex);
              ++pool.calls;
              if (pool.bytes + n > pool.limit) return nullptr;
              void* p = std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
              pool.held[p] = {n, alignment};
              pool.bytes += n;
              pool.most = std::max(pool.most, pool.bytes);
              return p;
            },
            .release =
                [](void* p, std::size_t n, std::size_t alignment, void* context) {
                  Pool& pool = *static_cast<Pool*>(context);
                  const std::lock_guard lock(pool.mutex);
                  const auto at = pool.held.find(p);
                  pool.wrong += at == pool.held.end() || at->second != std::pair{n, alignment};
                  pool.held.erase(p);
                  pool.bytes -= n;
                  std::free(p);
                },
            .context = this};
  }
};

class EveryFilterFromAPool : public ::testing::TestWithParam<FilterType> {};

TEST_P(EveryFilterFromAPool, TakesItsArraysFromItAndGivesAllOfThemBack) {
  Pool pool;
  ASSERT_TRUE(set_allocator(pool.allocator()));
  {
    const auto keys = sample::numbers(0, 20'000), negatives = sample::numbers(1 << 30, 20'000);
    AnyFilter f = sample::must(AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}));
    EXPECT_GE(8 * pool.bytes + 8192, f.size_bits()) << "what the filter is, lies in arrays";
    EXPECT_EQ(array_memory().arrays, pool.held.size());
    EXPECT_EQ(array_memory().bytes, pool.bytes);
    if (GetParam().dynamic)
      for (const Digest& d : sample::numbers(1 << 20, 2000)) f.insert(d);
    AnyFilter copy = sample::must(f.clone());
    const auto bytes = copy.to_bytes();
    f = sample::must(AnyFilter::load(bytes));
    EXPECT_FALSE(set_allocator({})) << "arrays exist";
  }
  EXPECT_EQ(pool.held.size(), 0u);
  EXPECT_EQ(pool.wrong, 0u);
  EXPECT_GT(pool.calls, 0u);
  EXPECT_EQ(array_memory().arrays, 0u);
  EXPECT_TRUE(set_allocator({}));
}

TEST_P(EveryFilterFromAPool, ReturnsAnErrorWhenThePoolIsEmpty) {
  Pool pool;
  pool.limit = 0;
  ASSERT_TRUE(set_allocator(pool.allocator()));
  {
    const auto keys = sample::numbers(0, 2000);
    const auto f = AnyFilter::build(GetParam().name, {.keys = keys});
    EXPECT_TRUE(sample::refused(f, Errc::no_memory, {"memory"}));
  }
  EXPECT_TRUE(set_allocator({}));
}

TEST(Allocators, AreAskedForHugePagesWhereAnArrayIsLarge) {
  Pool pool;
  ASSERT_TRUE(set_allocator(pool.allocator()));
  {
    const Array<std::uint64_t> small(100), large(kHugeFrom / 8 + 5);
    const auto raw = Array<std::uint64_t>::try_make_raw(kHugeFrom / 8 + 5);
    EXPECT_EQ(pool.held.at(const_cast<std::uint64_t*>(small.data())), (std::pair<std::size_t, std::size_t>{800, 64}));
    EXPECT_EQ(pool.held.at(const_cast<std::uint64_t*>(large.data())).second, kHugePage);
    EXPECT_EQ(pool.held.at(const_cast<std::uint64_t*>(raw.data())), (std::pair{2 * kHugePage, kHugePage}));
  }
  EXPECT_EQ(pool.wrong, 0u);
  EXPECT_TRUE(set_allocator({}));
}

TEST(Allocators, AreRefusedWithOneFunctionOnly) {
  EXPECT_FALSE(set_allocator({.allocate = Pool{}.allocator().allocate}));
  EXPECT_FALSE(set_allocator({.release = Pool{}.allocator().release}));
  EXPECT_TRUE(set_allocator({}));
}

NAYSAY_FOR_FILTERS(EveryFilterFromAPool, true);

}  // namespace
}  // namespace naysay
