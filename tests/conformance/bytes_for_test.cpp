// SPDX-License-Identifier: Apache-2.0
// bytes_for: what a filter will need at most, known before it is built.
#include <gtest/gtest.h>

#include "cases.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

class EveryFilterOfKnownSize : public ::testing::TestWithParam<FilterType> {};

TEST_P(EveryFilterOfKnownSize, HasAtMostTheBytesThatWereSaidBeforeItWasBuilt) {
  for (std::uint64_t n : {0, 1, 2, 63, 64, 65, 1000, 30'000}) {
    const auto keys = sample::numbers(0, n), negatives = sample::numbers(1 << 30, n);
    for (const double bits : {0.0, 8.0, 12.5, 20.0}) {
      std::vector<Param> params;
      if (bits != 0) params.push_back({"bits_per_key", bits});
      const auto said = bytes_for(GetParam().name, n, params);
      ASSERT_TRUE(said) << said.error().message;
      const auto f = AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, params);
      if (!f) {
        EXPECT_EQ(f.error().code, Errc::out_of_budget) << f.error().message;
        continue;
      }
      EXPECT_LE(f->image().size(), *said) << n << " keys at " << bits << " bits";
      EXPECT_LE(f->size_bits(), 8 * *said);
      if (n >= 1000) EXPECT_GE(2 * f->image().size() + 16'384, *said) << n << " keys at " << bits << " bits";
    }
  }
}

TEST(BytesFor, CountsTheRoomOfADynamicFilter) {
  const auto said = bytes_for("cuckoo", 1'000'000, {{"bits_per_key", 14}});
  ASSERT_TRUE(said);
  EXPECT_GE(*said, 1'750'000u);
  EXPECT_LE(*said, 1'760'000u);
  const auto f = AnyFilter::build("cuckoo", {}, {{"bits_per_key", 14}}, {.capacity = 1'000'000});
  ASSERT_TRUE(f);
  EXPECT_LE(f->image().size(), *said);
  EXPECT_GE(f->image().size(), *said * 95 / 100);
}

TEST(BytesFor, FailsAsBuildWould) {
  EXPECT_TRUE(sample::refused(bytes_for("blom", 7), Errc::invalid_argument, {"blom"}));
  EXPECT_TRUE(sample::refused(bytes_for("bloom", 7, {{"bitz", 7}}), Errc::invalid_argument, {"bloom", "bitz"}));
  EXPECT_TRUE(sample::refused(bytes_for("bloom", 7, {{"bits_per_key", -1}}), Errc::invalid_argument, {"bits_per_key"}));
  EXPECT_TRUE(sample::refused(bytes_for("bloom", ~std::uint64_t{0}), Errc::invalid_argument, {"bloom"}));
}

NAYSAY_FOR_FILTERS(EveryFilterOfKnownSize, true);

}  // namespace
}  // namespace naysay
