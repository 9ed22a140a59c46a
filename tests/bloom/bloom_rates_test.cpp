#include "naysay/theory/rates.hpp"

#include <gtest/gtest.h>

namespace naysay::rates {
namespace {

TEST(Rates, BloomIsWhatTheTextbookSays) {
  EXPECT_NEAR(bloom(10, 7), 0.00819, 1e-5);
  EXPECT_EQ(bloom_best_k(10), 7u);
  EXPECT_NEAR(bloom_bits_per_key(0.01), 9.59, 0.02);
  for (double fpr : {0.5, 0.1, 0.01, 1e-4, 1e-9}) {
    const double bits = bloom_bits_per_key(fpr);
    EXPECT_LE(bloom(bits, bloom_best_k(bits)), fpr);
    EXPECT_GT(bloom(bits * 0.999, bloom_best_k(bits * 0.999)), fpr);
  }
}

TEST(Rates, ASplitBlockOfAMillionBitsIsABloomFilterAndASmallOneIsWorse) {
  for (unsigned k : {4u, 8u, 16u}) {
    EXPECT_NEAR(split_block(10, k, 1 << 20) / bloom(10, k), 1, 0.001);
    EXPECT_GT(split_block(10, k, 512), bloom(10, k));
    EXPECT_GT(split_block(10, k, 256), split_block(10, k, 512));
  }
  EXPECT_NEAR(split_block(32.0 / 3, 8, 256), 0.00944, 0.0001);  // measured by others with 32-byte blocks
}

TEST(Rates, ASplitBlocksPriceIsTheFewestBits) {
  for (double fpr : {0.3, 0.1, 0.01, 1e-3, 1e-5}) {
    const double bits = split_block_bits_per_key(fpr, 512), fewer = bits * 0.99;
    EXPECT_LE(split_block(bits, split_block_best_k(bits, 512), 512), fpr);
    EXPECT_GT(split_block(fewer, split_block_best_k(fewer, 512), 512), fpr);
  }
}

TEST(Rates, AFingerprintIsWideEnoughAndNotWider) {
  EXPECT_EQ(fingerprint_width(0.5), 1u);
  EXPECT_EQ(fingerprint_width(0.49), 2u);
  EXPECT_EQ(fingerprint_width(1.0 / 256), 8u);
  EXPECT_EQ(fingerprint_width(0.001), 10u);
  EXPECT_EQ(fingerprint_width(0.9), 1u);
  EXPECT_EQ(fingerprint_width(1e-30), 32u);
}

}  // namespace
}  // namespace naysay::rates
