// Rates: the formulas behind the filters. Numbers in, numbers out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace naysay::rates {

// Bloom: n keys, m bits, k functions: the chance that k bits are all set.
inline double bloom(double bits_per_key, unsigned k) noexcept {
  return bits_per_key <= 0 ? 1.0 : std::pow(-std::expm1(-static_cast<double>(k) / bits_per_key), k);
}

// The k that makes bloom() smallest.
inline unsigned bloom_best_k(double bits_per_key) noexcept {
  const auto near = static_cast<unsigned>(std::clamp(bits_per_key * std::log(2.0), 1.0, 63.0));
  return bloom(bits_per_key, near + 1) < bloom(bits_per_key, near) ? near + 1 : near;
}

// The fewest bits per key at which bloom() with its best k is at most fpr. Requires 0 < fpr < 1.
inline double bloom_bits_per_key(double fpr) noexcept {
  // For a given k the formula is solved exactly, but for rounding: a little more than that is surely enough. The best k
  // is within one of log2(1 / fpr).
  const auto near = static_cast<unsigned>(std::clamp(std::log2(1 / fpr), 1.0, 63.0));
  double least = HUGE_VAL;
  for (unsigned k = std::max(near, 2u) - 1; k <= near + 1; ++k)
    least = std::min(least, -static_cast<double>(k) / std::log1p(-std::pow(fpr, 1.0 / k)));
  return least * (1 + 1e-12);
}

// Quotient: slots of r remainder bits and 2.25 bits of bookkeeping (an offset of 16 bits and two bits a slot in blocks
// of 64), filled to 0.95, because clusters grow with 1 / (1 - load)^2. Remainders are 1 .. 2^r - 1.
inline constexpr double kQuotientExtra = 2.25, kQuotientLoad = 0.95;

// The chance that a stranger's quotient and remainder are taken, at a load of distinct pairs per quotient.
inline double quotient(unsigned r, double load) noexcept { return load / (std::exp2(r) - 1); }

// The widest remainder that fits, or 0. What a rounded quotient loses is given back.
inline unsigned quotient_width(double bits_per_key, unsigned narrowest, unsigned widest) noexcept {
  const double bits = std::floor(bits_per_key * kQuotientLoad - kQuotientExtra + 1e-9);
  return bits < narrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, widest));
}

// The fewest bits per key that give the rate, over all widths: a narrow one in a sparse table, or the next in a full
// one.
inline double quotient_bits_per_key(double fpr, unsigned narrowest, unsigned widest) noexcept {
  double best = 0;
  for (unsigned r = narrowest; r <= widest; ++r) {
    const double bits = (r + kQuotientExtra) / std::min(fpr / quotient(r, 1), kQuotientLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

// Split-block Bloom: blocks of block_bits in k parts, a bit of each part for every key. A block has a Poisson number j
// of keys, and a part of z bits is then full to 1 - (1 - 1/z)^j.
inline double split_block(double bits_per_key, unsigned k, unsigned block_bits) noexcept {
  if (bits_per_key <= 0) return 1.0;
  const double mean = block_bits / bits_per_key, log_empty = std::log1p(-static_cast<double>(k) / block_bits);
  const int last = static_cast<int>(mean + 12 * std::sqrt(mean) + 30);  // beyond: less than 1e-16 of the blocks
  double sum = 0;
  for (int j = 1; j <= last; ++j)
    sum += std::exp(j * std::log(mean) - mean - std::lgamma(j + 1.0)) * std::pow(-std::expm1(j * log_empty), k);
  return std::min(sum, 1.0);
}

// The k of 4, 8 and 16 that makes split_block() smallest.
inline unsigned split_block_best_k(double bits_per_key, unsigned block_bits) noexcept {
  unsigned best = 4;
  for (unsigned k : {8u, 16u})
    if (split_block(bits_per_key, k, block_bits) < split_block(bits_per_key, best, block_bits)) best = k;
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

// The narrowest fingerprint, 1 to 32 bits, that a stranger meets by chance at most as often as fpr. Requires fpr > 0.
inline unsigned fingerprint_width(double fpr) noexcept {
  return static_cast<unsigned>(std::clamp(std::ceil(-std::log2(fpr) - 1e-9), 1.0, 32.0));
}

}  // namespace naysay::rates
