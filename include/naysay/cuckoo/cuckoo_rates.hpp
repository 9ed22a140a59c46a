// SPDX-License-Identifier: Apache-2.0
// Cuckoo rates: what a table of short fingerprints costs, and its false-positive rate. Numbers in, numbers out.
//
//   fpr(b, load) = 1 - e^(-8 load / (2^b - 1))        b bits per fingerprint, two buckets of four slots
//
// A rate has a price for each width: narrow fingerprints in a sparse table, or wide ones in a full one. bits_per_key()
// is the lowest of these prices, so that any rate can be bought, not only those of full tables.
#pragma once

#include <algorithm>
#include <cmath>

namespace naysay::cuckoo {

// The load a table is built for. Four-slot buckets and two choices reach 0.98 in the limit (Fountoulakis, Khosla and
// Panagiotou, 2011).
inline constexpr double kLoad = 0.95;
inline constexpr unsigned kNarrowest = 4, kWidest = 32;

// b-bit fingerprints, one of them for "empty", four-slot buckets: a stranger is accepted if one of the keys has its
// pair of buckets and its fingerprint; the number of such keys is Poisson with mean 8 * load / (2^b - 1).
inline double fpr(unsigned b, double load) noexcept { return -std::expm1(-8 * load / (std::exp2(b) - 1)); }

// The load at which fpr(b, load) is fpr; it may be more than a table can hold.
inline double load_for(unsigned b, double fpr) noexcept { return -std::log1p(-fpr) * (std::exp2(b) - 1) / 8; }

// The fewest bits per key, over all widths, that give the rate, if a slot has `more` bits than its fingerprint. Requires
// 0 < fpr < 1.
inline double bits_per_key(double fpr, unsigned more = 0) noexcept {
  double best = 0;
  for (unsigned b = kNarrowest; b <= kWidest; ++b) {
    const double bits = (b + more) / std::min(load_for(b, fpr), kLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

// The widest fingerprint that fits at kLoad, or 0. The small number makes up for rounding.
inline unsigned width(double bits_per_key, unsigned more = 0) noexcept {
  const double bits = std::floor(bits_per_key * kLoad + 1e-9) - more;
  return bits < kNarrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, kWidest));
}

}  // namespace naysay::cuckoo
