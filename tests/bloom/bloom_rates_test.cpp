// SPDX-License-Identifier: Apache-2.0
#include "naysay/bloom/bloom_rates.hpp"

#include <gtest/gtest.h>

namespace naysay::bloom {
namespace {

TEST(BloomRates, BloomIsWhatTheTextbookSays) {
  EXPECT_NEAR(fpr(10, 7), 0.00819, 1e-5);
  EXPECT_EQ(best_k(10), 7u);
  EXPECT_NEAR(bits_per_key(0.01), 9.59, 0.02);
  for (double rate : {0.5, 0.1, 0.01, 1e-4, 1e-9}) {
    const double bits = bits_per_key(rate);
    EXPECT_LE(fpr(bits, best_k(bits)), rate);
    EXPECT_GT(fpr(bits * 0.999, best_k(bits * 0.999)), rate);
  }
}

TEST(BloomRates, ASplitBlockOfAMillionBitsIsABloomFilterAndASmallOneIsWorse) {
  for (unsigned k : {4u, 8u, 16u}) {
    EXPECT_NEAR(split_block(10, k, 1 << 20) / fpr(10, k), 1, 0.001);
    EXPECT_GT(split_block(10, k, 512), fpr(10, k));
    EXPECT_GT(split_block(10, k, 256), split_block(10, k, 512));
  }
  EXPECT_NEAR(split_block(32.0 / 3, 8, 256), 0.00944, 0.0001);  // measured by others with 32-byte blocks
}

TEST(BloomRates, ASplitBlocksPriceIsTheFewestBits) {
  for (double rate : {0.3, 0.1, 0.01, 1e-3, 1e-5}) {
    const double bits = split_block_bits_per_key(rate, 512), fewer = bits * 0.99;
    EXPECT_LE(split_block(bits, split_block_best_k(bits, 512), 512), rate);
    EXPECT_GT(split_block(fewer, split_block_best_k(fewer, 512), 512), rate);
  }
}

}  // namespace
}  // namespace naysay::bloom
