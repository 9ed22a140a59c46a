// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/price.hpp"

#include <gtest/gtest.h>

namespace naysay {
namespace {

TEST(Price, IsInvertedWhereItIsSmooth) {
  const auto bloom = [](double rate) { return 1.44 * std::log2(1 / rate); };
  for (double rate : {0.9, 0.5, 0.01, 1e-6, 1e-15})
    EXPECT_NEAR(rate_for_price(bloom, bloom(rate)) / rate, 1, 1e-6) << rate;
}

TEST(Price, GivesTheLowestRateOfAStep) {
  const auto fingerprints = [](double rate) { return std::ceil(std::log2(1 / rate)) / 0.95; };
  for (int bits = 1; bits < 40; ++bits) {
    const double rate = rate_for_price(fingerprints, (bits + 0.5) / 0.95);
    EXPECT_LE(fingerprints(rate), (bits + 0.5) / 0.95);
    EXPECT_NEAR(rate / std::exp2(-bits), 1, 1e-6);
  }
}

TEST(Price, IsOneWhereNothingIsAffordable) {
  const auto dear = [](double) { return 7.0; };
  EXPECT_EQ(rate_for_price(dear, 6.9), 1);
  EXPECT_NEAR(std::log2(rate_for_price(dear, 7)), -60, 1e-6) << "and the lowest where everything is";
}

TEST(Price, StaysInTheIntervalItIsGiven) {
  const auto price = [](double rate) { return 1 / rate; };
  EXPECT_NEAR(rate_for_price(price, 10, 0.5, 0.01), 0.1, 1e-7);
  EXPECT_NEAR(rate_for_price(price, 1000, 0.5, 0.01), 0.01, 1e-7);
}

}  // namespace
}  // namespace naysay
