// SPDX-License-Identifier: Apache-2.0
// The golden file of a ribbon of many keys, which has other fields than that of 200 keys (golden_test.cpp), and how such
// a ribbon leaves and comes back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must;

std::vector<std::byte> whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const std::vector<Digest>& keys() {
  static const auto digests = sample::numbers(0, 50'000);
  return digests;
}
AnyFilter built() { return must(AnyFilter::build("ribbon", {.keys = keys()}, {{"bits_per_key", 2.5}}, {.seed = 1})); }
void answers_alike(const AnyFilter& a, const AnyFilter& b) {
  for (const Digest& d : sample::numbers(40'000, 20'000)) ASSERT_EQ(a.may_contain(d), b.may_contain(d));
}

TEST(GoldenFileOfManyKeys, StillHoldsItsKeysAndIsStillWhatABuildGives) {
  const std::string path = NAYSAY_SOURCE_DIR "/tests/golden/ribbon.bumped.v2.nsy";
  if (!std::filesystem::exists(path) && std::getenv("NAYSAY_WRITE_GOLDEN")) ASSERT_TRUE(built().save(path));
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing; ./dev golden writes it";
  const AnyFilter golden = must(naysay::open(path));
  for (const Digest& d : keys()) ASSERT_TRUE(golden.may_contain(d)) << "a file of an earlier build lost a key";
  EXPECT_EQ(built().to_bytes(), whole_file(path)) << "the same input gives other bytes than it used to";
}

TEST(BumpedRibbonFile, ComesBackFromBytesFromAPayloadAndFromAStream) {
  const AnyFilter f = built();
  const auto bytes = f.to_bytes();
  const AnyFilter loaded = must(AnyFilter::load(bytes));
  EXPECT_EQ(loaded.to_bytes(), bytes);
  EXPECT_EQ(loaded.expected_fpr(), f.expected_fpr());
  answers_alike(loaded, f);
  const auto payload = f.to_bare();
  answers_alike(must(AnyFilter::view_bare(payload)), f);
  std::size_t taken = 0;
  const AnyFilter streamed = must(AnyFilter::load([&](std::span<std::byte> room) -> Result<std::size_t> {
    const std::size_t n = std::min({std::size_t{1000}, room.size(), bytes.size() - taken});
    if (n != 0) std::memcpy(room.data(), bytes.data() + taken, n);
    taken += n;
    return n;
  }));
  EXPECT_EQ(streamed.to_bytes(), bytes);
  answers_alike(streamed, f);
}

TEST(BumpedRibbonFile, HasAtMostTheBytesThatWereSaidBeforeItWasBuilt) {
  for (const double bits : {2.5, 8.0, 20.0}) {
    const auto said = must(bytes_for("ribbon", 50'000, {{"bits_per_key", bits}}));
    const AnyFilter f = must(AnyFilter::build("ribbon", {.keys = keys()}, {{"bits_per_key", bits}}));
    EXPECT_LE(f.image().size(), said);
    EXPECT_GE(f.image().size() + 8192, said);
  }
}

TEST(BumpedRibbonFile, IsRefusedIfItIsCutAnywhere) {
  const auto bytes = built().to_bare();
  for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 40) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(AnyFilter::view_bare(part)) << n;
  }
}

// A bare payload has no checksum. Each damaged one is an allocation of its own, so that ASan sees a read outside of it.
TEST(BumpedRibbonFile, AnswersOrIsRefusedIfItIsDamaged) {
  const auto bytes = built().to_bare();
  const auto questions = sample::numbers(0, 500);
  std::vector<std::uint8_t> answers(questions.size());
  sample::Words random(3);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> damaged(bytes.begin(), bytes.end());
    // The fields of the band are in the last part, those of the shards in the first.
    const std::uint64_t at = i % 2 == 0 ? random.below(200) : bytes.size() - 1 - random.below(bytes.size() - 200);
    damaged[at] ^= static_cast<std::byte>(1 + random.below(255));
    const auto f = AnyFilter::view_bare(damaged);
    refused += !f;
    if (!f) continue;
    f->may_contain(std::span<const Digest>(questions), answers.data());
    for (const Digest& d : questions) (void)f->may_contain(d);
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 350);
}

TEST(BumpedRibbonFile, HoldsTheLayersOfAStackToo) {
  const auto negatives = sample::numbers(1 << 20, 60'000);
  const auto f =
      must(AnyFilter::build("stacked-ribbon", {.keys = keys(), .negatives = negatives}, {{"bits_per_key", 8}}));
  const AnyFilter again = must(AnyFilter::load(f.to_bytes()));
  EXPECT_EQ(again.to_bytes(), f.to_bytes());
  for (const Digest& d : keys()) ASSERT_TRUE(again.may_contain(d));
  answers_alike(again, f);
}

}  // namespace
}  // namespace naysay
