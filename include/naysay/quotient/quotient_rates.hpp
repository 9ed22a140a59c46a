// Quotient rates: what a table of remainders costs and how often it errs. Numbers in, numbers out.
#pragma once

#include <algorithm>
#include <cmath>

namespace naysay::quotient {

// Quotient: slots of r remainder bits and 2.25 bits of bookkeeping (an offset of 16 bits and two bits a slot in blocks
// of 64), filled to 0.95, because clusters grow with 1 / (1 - load)^2. Remainders are 1 .. 2^r - 1.
inline constexpr double kExtra = 2.25, kLoad = 0.95;

// The chance that a stranger's quotient and remainder are taken, at a load of distinct pairs per quotient.
inline double fpr(unsigned r, double load) noexcept { return load / (std::exp2(r) - 1); }

// The widest remainder that fits, or 0. What a rounded quotient loses is given back.
inline unsigned width(double bits_per_key, unsigned narrowest, unsigned widest) noexcept {
  const double bits = std::floor(bits_per_key * kLoad - kExtra + 1e-9);
  return bits < narrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, widest));
}

// The fewest bits per key that give the rate, over all widths: a narrow one in a sparse table, or the next in a full
// one.
inline double bits_per_key(double fpr, unsigned narrowest, unsigned widest) noexcept {
  double best = 0;
  for (unsigned r = narrowest; r <= widest; ++r) {
    const double bits = (r + kExtra) / std::min(fpr / quotient::fpr(r, 1), kLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

}  // namespace naysay::quotient
