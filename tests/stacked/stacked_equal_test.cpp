// SPDX-License-Identifier: Apache-2.0
// rates = equal: the stack of the Seesaw paper's baseline.
#include <gtest/gtest.h>

#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/stacked/stacked.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using Stack = Stacked<CountingBloom, 3>;

constexpr Stack::Params kPaper = {.bits_per_key = 24, .known = 0.05, .rates = StackedRates::equal};

TEST(EqualRates, AreThoseOfThreeLayersThatStoreAllChosenNegatives) {
  const auto keys = sample::numbers(0, 40'000), negatives = sample::numbers(1 << 30, 40'000);
  Report report;
  const Stack f = must_build<Stack>({.keys = keys, .negatives = negatives}, kPaper, {.report = &report});
  ASSERT_EQ(f.layers(), 3u);
  for (const std::size_t i : {1u, 2u})
    EXPECT_NEAR(f.layer(i).expected_fpr() / f.layer(0).expected_fpr(), 1, 0.2) << "layer " << i + 1;
  EXPECT_EQ(report.lines.at(1).name, "negatives stored");
  EXPECT_NEAR(report.lines.at(1).value, 2000, 100) << "all 5 %, whether layer 1 accepts them or not";
  EXPECT_LE(f.size_bits(), 24 * 40'000 + Stack::kClaims.fixed_bits);
}

TEST(EqualRates, DenyNoKeyThatIsInsertedLater) {
  const auto keys = sample::numbers(0, 40'000), negatives = sample::numbers(1 << 30, 40'000);
  Stack f = must_build<Stack>({.negatives = negatives}, kPaper, {.capacity = keys.size()});
  for (const Digest& d : keys) ASSERT_TRUE(f.insert(d));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_LE(f.size_bits(), 24 * 40'000 + Stack::kClaims.fixed_bits);
  const Stack known = must_build<Stack>({.keys = keys, .negatives = negatives}, kPaper);
  double inserted = 0, built = 0;
  for (const Digest& d : sample::numbers(std::uint64_t{1} << 40, 100'000)) {
    inserted += f.may_contain(d);
    built += known.may_contain(d);
  }
  EXPECT_NEAR(inserted / built, 1, 0.1) << "equal rates need not know the keys";
  for (const Digest& d : keys) ASSERT_TRUE(f.erase(d));
}

TEST(EqualRates, NeedThreeLayers) {
  const auto keys = sample::numbers(0, 100);
  const auto f = Stack::build({.keys = keys}, {.layers = 1, .rates = StackedRates::equal});
  ASSERT_FALSE(f);
  EXPECT_TRUE(sample::says(f.error().message, {"layers is 1", "rates=equal"}));
  // Without negatives there is nothing to store: one layer.
  EXPECT_EQ(must_build<Stack>({.keys = keys}, kPaper).layers(), 1u);
  EXPECT_EQ(must_build<Stacked<Bloom>>({.keys = keys, .negatives = sample::numbers(1 << 30, 100)},
                                       {.bits_per_key = 20, .rates = StackedRates::equal})
                .layers(),
            3u);
}

}  // namespace
}  // namespace naysay
