// SPDX-License-Identifier: Apache-2.0
#include "naysay/fuse/fuse_rates.hpp"

#include <gtest/gtest.h>

namespace naysay::fuse {
namespace {

TEST(FuseRates, AFingerprintIsWideEnoughAndNotWider) {
  EXPECT_EQ(fingerprint_width(0.5), 1u);
  EXPECT_EQ(fingerprint_width(0.49), 2u);
  EXPECT_EQ(fingerprint_width(1.0 / 256), 8u);
  EXPECT_EQ(fingerprint_width(0.001), 10u);
  EXPECT_EQ(fingerprint_width(0.9), 1u);
  EXPECT_EQ(fingerprint_width(1e-30), 32u);
}

}  // namespace
}  // namespace naysay::fuse
