// SPDX-License-Identifier: Apache-2.0
// Bloom rates: the formulas of the Bloom filters. Numbers in, numbers out.
//
//   n keys, m bits, k bits per key       fpr = (1 - e^(-k n / m))^k, least at k = ln 2 * m / n
//   blocks of B bits in k parts          the mean of ((1 - (1 - k / B)^j))^k over j, a Poisson number of mean B n / m
//
// Source     B. Bloom, 1970; F. Putze, P. Sanders, J. Singler, 2007, section 3 (blocks).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace naysay::bloom {

// The false-positive rate of a Bloom filter: the chance that k bits are all set.
inline double fpr(double bits_per_key, unsigned k) noexcept {
  return bits_per_key <= 0 ? 1.0 : std::pow(-std::expm1(-static_cast<double>(k) / bits_per_key), k);
}

// The k that makes fpr() smallest.
inline unsigned best_k(double bits_per_key) noexcept {
  const auto near = static_cast<unsigned>(std::clamp(bits_per_key * std::log(2.0), 1.0, 63.0));
  return fpr(bits_per_key, near + 1) < fpr(bits_per_key, near) ? near + 1 : near;
}

// The fewest bits per key at which fpr() with its best k is at most fpr. Requires 0 < fpr < 1.
inline double bits_per_key(double fpr) noexcept {
  // For a given k the formula has an exact solution; the factor at the end covers rounding. The best k is within one of
  // log2(1 / fpr).
  const auto near = static_cast<unsigned>(std::clamp(std::log2(1 / fpr), 1.0, 63.0));
  double least = HUGE_VAL;
  for (unsigned k = std::max(near, 2u) - 1; k <= near + 1; ++k)
    least = std::min(least, -static_cast<double>(k) / std::log1p(-std::pow(fpr, 1.0 / k)));
  return least * (1 + 1e-12);
}

// The rate of a split-block Bloom filter: a key sets one bit in each of the k parts of a block. A block has a Poisson
// number j of keys, and the share of set bits in a part of z bits is then 1 - (1 - 1/z)^j.
inline double split_block(double bits_per_key, unsigned k, unsigned block_bits) noexcept {
  if (bits_per_key <= 0) return 1.0;
  const double mean = block_bits / bits_per_key, log_empty = std::log1p(-static_cast<double>(k) / block_bits);
  const int last = static_cast<int>(mean + 12 * std::sqrt(mean) + 30);  // beyond: less than 1e-16 of the blocks
  const double log_mean = std::log(mean);
  double sum = 0, log_factorial = 0;
  for (int j = 1; j <= last; ++j) {
    log_factorial += std::log(j);
    double all = 1, bit = -std::expm1(j * log_empty);
    for (unsigned left = k; left > 0; left /= 2, bit *= bit)
      if (left % 2 == 1) all *= bit;  // bit^k
    sum += std::exp(j * log_mean - mean - log_factorial) * all;
  }
  return std::min(sum, 1.0);
}

// The k of 4, 8 and 16 that makes split_block() smallest.
inline unsigned split_block_best_k(double bits_per_key, unsigned block_bits) noexcept {
  unsigned best = 4;
  double least = split_block(bits_per_key, best, block_bits);
  for (unsigned k : {8u, 16u})
    if (const double rate = split_block(bits_per_key, k, block_bits); rate < least) {
      best = k;
      least = rate;
    }
  return best;
}

// The fewest bits per key at which split_block() with its best k is at most fpr. Requires 0 < fpr < 1.
inline double split_block_bits_per_key(double fpr, unsigned block_bits) noexcept {
  const auto rate = [&](double bits) { return split_block(bits, split_block_best_k(bits, block_bits), block_bits); };
  double low = 0.01, high = 8;
  while (rate(high) > fpr && high < 4096) high *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (rate(middle) > fpr ? low : high) = middle;
  }
  return high;
}

}  // namespace naysay::bloom
