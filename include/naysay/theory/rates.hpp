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

}  // namespace naysay::rates
