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
  double low = 0, high = 2 * std::log2(1 / fpr) + 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (bloom(middle, bloom_best_k(middle)) > fpr ? low : high) = middle;
  }
  return high;
}

// Quotient: slots of r remainder bits and 2.25 bits of bookkeeping (an offset of 16 bits and two bits a slot in blocks of
// 64), filled to 0.95, because clusters grow with 1 / (1 - load)^2. Remainders are 1 .. 2^r - 1.
inline constexpr double kQuotientExtra = 2.25, kQuotientLoad = 0.95;

// The chance that a stranger's quotient and remainder are taken, at a load of distinct pairs per quotient.
inline double quotient(unsigned r, double load) noexcept { return load / (std::exp2(r) - 1); }

// The widest remainder that fits, or 0. What a rounded quotient loses is given back.
inline unsigned quotient_width(double bits_per_key, unsigned narrowest, unsigned widest) noexcept {
  const double bits = std::floor(bits_per_key * kQuotientLoad - kQuotientExtra + 1e-9);
  return bits < narrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, widest));
}

// The fewest bits per key that give the rate, over all widths: a narrow one in a sparse table, or the next in a full one.
inline double quotient_bits_per_key(double fpr, unsigned narrowest, unsigned widest) noexcept {
  double best = 0;
  for (unsigned r = narrowest; r <= widest; ++r) {
    const double bits = (r + kQuotientExtra) / std::min(fpr / quotient(r, 1), kQuotientLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

}  // namespace naysay::rates
