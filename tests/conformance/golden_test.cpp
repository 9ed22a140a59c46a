// SPDX-License-Identifier: Apache-2.0
// Golden files: one saved filter of each kind and format version. A test that compares the code with itself does not
// notice a changed hash; these files do.
//
// ./dev golden writes the files that are missing. To change one on purpose, delete it first.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cases.hpp"
#include "hosts.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class GoldenFile : public ::testing::TestWithParam<FilterType> {};

TEST_P(GoldenFile, StillHoldsItsKeysAndIsStillWhatABuildGives) {
  const std::string path = NAYSAY_SOURCE_DIR "/tests/golden/" + std::string(GetParam().name) + ".v" +
                           std::to_string(GetParam().format) + ".nsy";
  const auto keys = sample::numbers(0, 200), negatives = sample::numbers(1000, 200);
  const auto built = AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, {}, {.seed = 1});
  ASSERT_TRUE(built) << built.error().message;
  if (!std::filesystem::exists(path) && std::getenv("NAYSAY_WRITE_GOLDEN")) ASSERT_TRUE(built->save(path));
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing; ./dev golden writes it";
  const auto golden = naysay::open(path);
  ASSERT_TRUE(golden) << golden.error().message;
  for (const Digest& d : keys) ASSERT_TRUE(golden->may_contain(d)) << "a file of an earlier build lost a key";
  EXPECT_EQ(built->to_bytes(), file_bytes(path)) << "the same input gives other bytes than it used to";
}

class OldGoldenFile : public ::testing::TestWithParam<FilterType> {};

TEST_P(OldGoldenFile, IsStillReadAndAnswersAsItDid) {
  const auto keys = sample::numbers(0, 200), negatives = sample::numbers(1000, 200);
  const auto built = AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, {}, {.seed = 1});
  ASSERT_TRUE(built) << built.error().message;
  for (std::uint32_t version = 1; version < GetParam().format; ++version) {
    const std::string path =
        NAYSAY_SOURCE_DIR "/tests/golden/" + std::string(GetParam().name) + ".v" + std::to_string(version) + ".nsy";
    for (const auto how : {file_detail::Bytes::map, file_detail::Bytes::copy}) {
      auto golden = AnyFilter::open(path, how);
      ASSERT_TRUE(golden) << golden.error().message;
      for (const Digest& d : keys) ASSERT_TRUE(golden->may_contain(d)) << "a file of an earlier version lost a key";
      for (const Digest& d : negatives)
        ASSERT_LE(golden->may_contain(d), built->may_contain(d)) << "a known negative is accepted that was not";
      // Saved again it has the new version, and all that it had.
      const auto again = AnyFilter::load(golden->to_bytes());
      ASSERT_TRUE(again) << again.error().message;
      for (const Digest& d : sample::numbers(0, 20'000)) ASSERT_EQ(golden->may_contain(d), again->may_contain(d));
    }
  }
}

class GoldenByteFile : public ::testing::TestWithParam<FilterType> {};

TEST_P(GoldenByteFile, StillHoldsItsStringsAndIsStillWhatABuildGives) {
  const std::string path = NAYSAY_SOURCE_DIR "/tests/golden/" + std::string(GetParam().name) + ".strings.v1.nsy";
  const auto keys = sample::hosts(sample::Hosts::blocked, 0, 8000),
             negatives = sample::hosts(sample::Hosts::popular, 0, 8000);
  const auto built = AnyFilter::build(GetParam().name,
                                      {.keys = keys.digests,
                                       .negatives = negatives.digests,
                                       .key_bytes = keys.views,
                                       .negative_bytes = negatives.views},
                                      {}, {.seed = 1});
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_GT(built->describe().lines.at(0).value, 0) << "a golden file should hold a model";
  if (!std::filesystem::exists(path) && std::getenv("NAYSAY_WRITE_GOLDEN")) ASSERT_TRUE(built->save(path));
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing; ./dev golden writes it";
  const auto golden = naysay::open(path);
  ASSERT_TRUE(golden) << golden.error().message;
  for (std::string_view key : keys.views) ASSERT_TRUE(golden->may_contain(key)) << "an earlier file lost a key";
  EXPECT_EQ(built->to_bytes(), file_bytes(path)) << "the same input gives other bytes than it used to";
}

NAYSAY_FOR_FILTERS(GoldenFile, true);
NAYSAY_FOR_FILTERS(OldGoldenFile, filter.format > 1);
NAYSAY_FOR_FILTERS(GoldenByteFile, filter.claims.reads_bytes);

}  // namespace
}  // namespace naysay
