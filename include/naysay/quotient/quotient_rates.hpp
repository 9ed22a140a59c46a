// SPDX-License-Identifier: Apache-2.0
// Quotient rates: what a table of remainders costs, and its false-positive rate. Numbers in, numbers out.
//
//   fpr(r, load) = load / (2^r - 1)       r bits per remainder; the rate that a stranger's quotient and remainder exist
//
// A rate has a price for each width: narrow remainders in a sparse table, or wide ones in a full one. bits_per_key() is
// the lowest of these prices.
#pragma once

#include <algorithm>
#include <cmath>

namespace naysay::quotient {

// A slot has r remainder bits and 2.25 bits of bookkeeping: two bits per slot and an offset of 16 bits per block of 64.
// Tables are filled to 0.95, because clusters grow with 1 / (1 - load)^2. Remainders are 1 .. 2^r - 1.
inline constexpr double kExtra = 2.25, kLoad = 0.95;

// The chance that a stranger's quotient and remainder are in the table, at a load of distinct pairs per quotient.
inline double fpr(unsigned r, double load) noexcept { return load / (std::exp2(r) - 1); }

// The widest remainder that fits, or 0. The small number makes up for rounding.
inline unsigned width(double bits_per_key, unsigned narrowest, unsigned widest) noexcept {
  const double bits = std::floor(bits_per_key * kLoad - kExtra + 1e-9);
  return bits < narrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, widest));
}

// The fewest bits per key, over all widths, that give the rate.
inline double bits_per_key(double fpr, unsigned narrowest, unsigned widest) noexcept {
  double best = 0;
  for (unsigned r = narrowest; r <= widest; ++r) {
    const double bits = (r + kExtra) / std::min(fpr / quotient::fpr(r, 1), kLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

}  // namespace naysay::quotient
