// SPDX-License-Identifier: Apache-2.0
// A filter that is saved or loaded in pieces is in memory once: no allocation is as large as the filter, but its own.
#include <gtest/gtest.h>

#include <cstring>

#include "memory/failing_new.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(StreamedFilter, IsSavedWithoutASecondCopy) {
  const AnyFilter f = sample::must(AnyFilter::build("bloom", {}, {{"bits_per_key", 8}}, {.capacity = 4'000'000}));
  largest_allocation = 0;
  std::uint64_t given = 0;
  ASSERT_TRUE(f.save([&](std::span<const std::byte> piece) -> Result<Ok> {
    given += piece.size();
    return Ok{};
  }));
  EXPECT_LE(largest_allocation, 16'384u);
  EXPECT_GE(given, 4'000'000u);
  const std::string path = testing::TempDir() + "/streamed_without_a_copy.nsy";
  largest_allocation = 0;
  ASSERT_TRUE(f.save(path));
  EXPECT_LE(largest_allocation, 16'384u) << "files are written in pieces, too";
  EXPECT_EQ(sample::must(load(path)).to_bytes(), f.to_bytes());
}

TEST(StreamedFilter, IsLoadedIntoItsOwnMemoryOnly) {
  const auto bytes =
      sample::must(AnyFilter::build("bloom", {}, {{"bits_per_key", 8}}, {.capacity = 4'000'000})).to_bytes();
  std::size_t at = 0;
  const ByteSource source = [&](std::span<std::byte> room) -> Result<std::size_t> {
    const std::size_t n = std::min(room.size(), bytes.size() - at);
    std::memcpy(room.data(), bytes.data() + at, n);
    at += n;
    return n;
  };
  largest_allocation = 0;
  allocations_made = 0;
  ASSERT_TRUE(AnyFilter::load(source));
  EXPECT_LE(largest_allocation, bytes.size());
  EXPECT_LE(allocations_made, 10) << "the filter's one array, and small things";
}

TEST(StreamedFilter, ReturnsAnErrorWhereverMemoryEnds) {
  const AnyFilter f = sample::must(AnyFilter::build("growing-cuckoo", {.keys = sample::numbers(0, 5000)}));
  const auto bytes = f.to_bytes();
  int failed = 0;
  for (std::int64_t n = 0; n < 400; ++n) {
    std::size_t at = 0;
    const ByteSource source = [&](std::span<std::byte> room) -> Result<std::size_t> {
      const std::size_t some = std::min(room.size(), bytes.size() - at);
      std::memcpy(room.data(), bytes.data() + at, some);
      at += some;
      return some;
    };
    const ByteSink sink = [](std::span<const std::byte>) -> Result<Ok> { return Ok{}; };
    Errc loading{}, saving{};
    {
      const AllowAllocations some(n);
      if (auto g = AnyFilter::load(source); !g) loading = g.error().code;
    }
    {
      const AllowAllocations some(n);
      if (auto ok = f.save(sink); !ok) saving = ok.error().code;
    }
    for (const Errc code : {loading, saving})
      if (code != Errc{}) {
        EXPECT_EQ(code, Errc::no_memory) << n << " allocations";
        ++failed;
      }
  }
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace naysay
