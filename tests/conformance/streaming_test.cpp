// SPDX-License-Identifier: Apache-2.0
// Streaming: every filter leaves in pieces and comes back from pieces, with the bytes of to_bytes().
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cases.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;
using sample::numbers;

class EveryStreamedFilter : public ::testing::TestWithParam<FilterType> {
 protected:
  static AnyFilter built(std::uint64_t n) {
    const auto keys = numbers(0, n), negatives = numbers(1 << 30, n);
    return must(AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}));
  }
};

// Gives at most `step` bytes at a time, and counts what was taken.
struct Source {
  std::span<const std::byte> bytes;
  std::size_t step = 4096, taken = 0;
  ByteSource function() {
    return [this](std::span<std::byte> room) -> Result<std::size_t> {
      const std::size_t n = std::min({step, room.size(), bytes.size() - taken});
      if (n != 0) std::memcpy(room.data(), bytes.data() + taken, n);
      taken += n;
      return n;
    };
  }
};

TEST_P(EveryStreamedFilter, IsSavedInBoundedPiecesThatTogetherAreItsFile) {
  for (std::uint64_t n : {0, 1, 5000}) {
    const AnyFilter f = built(n);
    const auto bytes = f.to_bytes();
    EXPECT_EQ(f.image().size(), bytes.size());
    for (const std::size_t most : {std::size_t{1}, std::size_t{97}, std::size_t{4096}, kPieceBytes}) {
      std::vector<std::byte> together;
      const auto ok = f.save(
          [&](std::span<const std::byte> piece) -> Result<Ok> {
            EXPECT_GT(piece.size(), 0u);
            EXPECT_LE(piece.size(), most);
            together.insert(together.end(), piece.begin(), piece.end());
            return Ok{};
          },
          most);
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_EQ(together, bytes) << "in pieces of " << most;
    }
  }
}

TEST_P(EveryStreamedFilter, GivesAnyPartOfItsFile) {
  const AnyFilter f = built(3000);
  const auto bytes = f.to_bytes();
  const FileImage image = f.image();
  sample::Words random(7);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t at = random.below(bytes.size()),
                        n = random.below(std::min<std::uint64_t>(bytes.size() - at, 600));
    std::vector<std::byte> part(n);
    image.copy(at, part);
    ASSERT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at)))
        << n << " bytes at " << at;
  }
}

TEST_P(EveryStreamedFilter, IsLoadedFromPiecesOfAnySizeAndTakesNoByteAfterItself) {
  for (std::uint64_t n : {0, 1, 5000}) {
    const AnyFilter f = built(n);
    auto bytes = f.to_bytes();
    const std::size_t size = bytes.size();
    bytes.resize(size + 1000, std::byte{0xee});  // what follows in the stream belongs to others
    for (const std::size_t step : {std::size_t{1}, std::size_t{61}, std::size_t{1} << 30}) {
      Source source{bytes, step};
      const auto g = AnyFilter::load(source.function());
      ASSERT_TRUE(g) << g.error().message;
      EXPECT_EQ(source.taken, size);
      EXPECT_EQ(g->keys(), n);
      ASSERT_EQ(g->to_bytes(), f.to_bytes());
      for (const Digest& d : numbers(0, n)) ASSERT_TRUE(g->may_contain(d));
    }
  }
}

TEST_P(EveryStreamedFilter, IsRefusedWhenItsBytesEndTooSoonOrAByteWasChanged) {
  const auto bytes = built(200).to_bytes();
  for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 64) {
    Source source{std::span(bytes).first(n)};
    ASSERT_TRUE(sample::refused(AnyFilter::load(source.function()), Errc::corrupt, {})) << "cut at " << n;
  }
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 64) {
    auto changed = bytes;
    changed[at] ^= std::byte{1};
    Source source{changed};
    const auto f = AnyFilter::load(source.function());
    ASSERT_FALSE(f) << "byte " << at << " was changed";
    ASSERT_TRUE(f.error().code == Errc::corrupt || f.error().code == Errc::unsupported) << f.error().message;
  }
}

TEST(Streaming, ReturnsTheErrorOfTheSinkAndOfTheSource) {
  const auto keys = numbers(0, 100'000);
  const AnyFilter f = must(AnyFilter::build("bloom", {.keys = keys}));
  int calls = 0;
  const auto ok = f.save(
      [&](std::span<const std::byte>) -> Result<Ok> {
        if (++calls == 3) return Error{Errc::io, "the disk is full"};
        return Ok{};
      },
      4096);
  EXPECT_TRUE(sample::refused(ok, Errc::io, {"disk", "full"}));
  EXPECT_EQ(calls, 3) << "nothing more is given after an error";

  const auto bytes = f.to_bytes();
  Source source{bytes};
  const ByteSource give = source.function();
  const auto loaded = AnyFilter::load([&](std::span<std::byte> room) -> Result<std::size_t> {
    if (source.taken > 10'000) return Error{Errc::io, "the line is cut"};
    return give(room);
  });
  EXPECT_TRUE(sample::refused(loaded, Errc::io, {"line", "cut"}));
}

TEST(Streaming, RefusesAHeaderThatSaysMoreThanTheSourceCanHave) {
  auto bytes = must(AnyFilter::build("bloom", {.keys = numbers(0, 1000)})).to_bytes();
  for (const std::uint64_t most : {std::uint64_t{bytes.size()} - 1, std::uint64_t{0}}) {
    Source source{bytes};
    EXPECT_TRUE(sample::refused(AnyFilter::load(source.function(), most), Errc::corrupt, {"header"}));
    EXPECT_EQ(source.taken, 80u);
  }
  Source source{bytes};
  EXPECT_TRUE(AnyFilter::load(source.function(), bytes.size()));
}

NAYSAY_FOR_FILTERS(EveryStreamedFilter, true);

}  // namespace
}  // namespace naysay
