// Cuckoo rates: what a table of short fingerprints costs and how often it errs. Numbers in, numbers out.
//
// There is a price for each width: narrow fingerprints in a sparse table, or wide ones in a full one. The cheapest is
// taken, so that any rate can be asked for, not only those of full tables.
#pragma once

#include <algorithm>
#include <cmath>

namespace naysay::rates {

// The load a table is built for. Four-slot buckets and two choices take 0.98 in the limit (Fountoulakis, Khosla and
// Panagiotou, 2011).
inline constexpr double kCuckooLoad = 0.95;
inline constexpr unsigned kCuckooNarrowest = 4, kCuckooWidest = 32;

// b-bit fingerprints, one of them for "empty", four-slot buckets: a stranger is accepted if one of the keys has its
// pair of buckets and its fingerprint; the number of such keys is Poisson with mean 8 * load / (2^b - 1).
inline double cuckoo(unsigned b, double load) noexcept { return -std::expm1(-8 * load / (std::exp2(b) - 1)); }

// The load at which cuckoo() is fpr; it may be more than a table can hold.
inline double cuckoo_load(unsigned b, double fpr) noexcept { return -std::log1p(-fpr) * (std::exp2(b) - 1) / 8; }

// The fewest bits per key, over all widths, that give the rate. Requires 0 < fpr < 1.
inline double cuckoo_bits_per_key(double fpr) noexcept {
  double best = 0;
  for (unsigned b = kCuckooNarrowest; b <= kCuckooWidest; ++b) {
    const double bits = b / std::min(cuckoo_load(b, fpr), kCuckooLoad);
    if (best == 0 || bits < best) best = bits;
  }
  return best;
}

// The widest fingerprint that fits at kCuckooLoad, or 0. What a rounded division loses is given back.
inline unsigned cuckoo_width(double bits_per_key) noexcept {
  const double bits = std::floor(bits_per_key * kCuckooLoad + 1e-9);
  return bits < kCuckooNarrowest ? 0 : static_cast<unsigned>(std::min<double>(bits, kCuckooWidest));
}

}  // namespace naysay::rates
