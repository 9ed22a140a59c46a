// SPDX-License-Identifier: Apache-2.0
// HABF rates: how many collisions the build of an HABF can resolve, and the rates that follow. Numbers in, numbers out.
//
// A collision is a known negative all of whose bits are set. The build moves keys to other functions to resolve it.
//
//   paper            here
//   |S|, |O|         keys, negatives
//   m, omega         bits (of the Bloom filter), cells (of the HashExpressor)
//   b                bits / keys
//   P_xi             single_owner           Eq. 3
//   P'_c             move_exists            appendix; here exact, see there
//   E(t)             resolved               Eq. 12
//   F*_bf            bloom_bound            Eq. 19
//   F_h              chain_bound            III-F, the bound t / omega
//   F_habf           total                  Eq. 2
//
// The printed Eq. 5 and 8 have lost an exponent of -1: (1 - x)^|S| - 1 stands for (1 - x)^-|S| - 1, or Eq. 3 would not
// follow from them.
//
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>

namespace naysay::habf {

struct HabfShape {
  double keys = 0;
  double negatives = 0;
  double bits = 0;
  double cells = 0;
  unsigned k = 0;
  unsigned family = 0;
};

// P_xi: the chance that a set bit was set once only, at b bits per key. The exact value is a little larger.
inline double single_owner(unsigned k, double bits_per_key) noexcept {
  const double load = k / bits_per_key;
  return load / std::expm1(load);
}

// The share of bits that are set before the build begins to move keys.
inline double ones(const HabfShape& s) noexcept {
  return s.bits <= 0 ? 1.0 : -std::expm1(-static_cast<double>(s.k) * s.keys / s.bits);
}

// P'_c: the chance that a key which must leave a bit has some other function to go to, even if every negative is to
// stay refused. A function fails if it leads to a clear bit that is the only clear one of some negative; such negatives
// of a bit are Poisson with mean |O| k rho^(k-1) / m. The paper's appendix bounds the same chance from below, less
// tightly.
inline double move_exists(const HabfShape& s) noexcept {
  if (s.family <= s.k || s.bits <= 0) return 0;
  const double ones = habf::ones(s);
  const double critical = s.negatives * s.k * std::pow(ones, s.k - 1.0) / s.bits;
  const double fails = (1 - ones) * -std::expm1(-critical);
  return 1 - std::pow(fails, s.family - s.k);
}

// The collisions before the build begins to move keys: T in expectation.
inline double collisions(const HabfShape& s) noexcept { return s.negatives * std::pow(ones(s), s.k); }

// E(t): at least this many of T collisions are resolved.
inline double resolved(double collisions, double move_exists, double cells, unsigned k) noexcept {
  const double squared = static_cast<double>(k) * k, tried = collisions * move_exists;
  return cells <= squared ? 0.0 : tried * (cells - squared) / (cells + tried * squared);
}

// F*_bf: at most this rate of known negatives passes the Bloom filter after the build, all costs being equal.
inline double bloom_bound(const HabfShape& s) noexcept {
  if (s.negatives <= 0) return 0;
  const double collisions = habf::collisions(s);
  return (collisions - resolved(collisions, move_exists(s), s.cells, s.k)) / s.negatives;
}

// F_h: at most this share of other keys finds a chain when `stored` keys have one.
inline double chain_bound(double stored, double cells) noexcept {
  return cells <= 0 ? 0.0 : std::min(1.0, stored / cells);
}

// F_habf: what the Bloom filter refuses is tested a second time if it finds a chain.
inline double total(double bloom, double chain) noexcept { return bloom + chain * bloom * (1 - bloom); }

// The share of strangers that the first look refuses and the second accepts, from what the HashExpressor holds. at[i]
// is the share of all cells that hold function i, end[i] the share that hold it and are an end (i from 1; at[0] is not
// used). H0 is 1..k and `ones` the share of set bits. Requires k <= kMaxChain.
//
// A chain is k different functions: k - 1 cells, in any order, and an end. All its k bits are set with ones^k, and the
// first look refused if at least one of the H0 functions outside the chain meets a clear bit.
inline constexpr unsigned kMaxChain = 31;
inline double second_look(std::span<const double> at, std::span<const double> end, unsigned k, double ones) noexcept {
  assert(k <= kMaxChain);
  // way[c * (k + 1) + h][e]: the weight of all choices of c functions, h of them in H0, e: one of them is the end.
  struct Weight {
    double open = 0, ended = 0;
  };
  const std::size_t side = k + 1;
  std::array<Weight, (kMaxChain + 1) * (kMaxChain + 1)> way{};
  way[0].open = 1;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const bool first = i <= k;
    for (std::size_t c = k; c-- > 0;)
      for (std::size_t h = c + 1; h-- > 0;) {
        const Weight from = way[c * side + h];
        Weight& to = way[(c + 1) * side + h + first];
        to.open += from.open * at[i] * ones;
        to.ended += from.ended * at[i] * ones + from.open * end[i] * ones;
      }
  }
  double orders = 1, sum = 0;
  for (unsigned i = 2; i < k; ++i) orders *= i;
  for (std::size_t h = 0; h <= k; ++h)
    sum += way[k * side + h].ended * orders * (1 - std::pow(ones, static_cast<double>(k - h)));
  return sum;
}

// The same for chains that name a function twice, which HABF's paper accepts and we refuse unless `repeats` is set. Once a
// walk meets function f_i again, in its j-th cell, it goes round: the cells i + 1 to j follow each other until k functions
// are counted. Such a chain has j - 1 different functions, and j - 1 bits must be set. The k-th cell must be an end: it is
// the j-th if (k - j) is a multiple of the round's length, else one of the cells before it.
inline double second_look_repeated(std::span<const double> at, std::span<const double> end, unsigned k,
                                   double ones) noexcept {
  assert(k <= kMaxChain);
  // way[c * (k + 1) + h]: the weight of all choices of c functions, h of them in H0. The function met again has a second
  // cell: `back` if that is no end, `shut` if it is the end; `ended` has an end elsewhere and one met again.
  struct Weight {
    double open = 0, back = 0, shut = 0, end = 0, ended = 0;
  };
  const std::size_t side = k + 1;
  std::array<Weight, (kMaxChain + 1) * (kMaxChain + 1)> way{};
  way[0].open = 1;
  for (std::size_t i = 1; i < at.size(); ++i) {
    const bool first = i <= k;
    const double one = at[i] * ones, stop = end[i] * ones;
    for (std::size_t c = k; c-- > 0;)
      for (std::size_t h = c + 1; h-- > 0;) {
        const Weight from = way[c * side + h];
        Weight& to = way[(c + 1) * side + h + first];
        to.open += from.open * one;
        to.back += from.back * one + from.open * one * at[i];
        to.shut += from.shut * one + from.open * one * end[i];
        to.end += from.end * one + from.open * stop;
        to.ended += from.ended * one + from.back * stop + from.end * one * at[i];
      }
  }
  const auto orders = [](std::size_t n) {
    double product = 1;
    for (std::size_t i = 2; i <= n; ++i) product *= static_cast<double>(i);
    return product;
  };
  double sum = 0;
  for (unsigned j = 2; j <= k; ++j)
    for (unsigned i = 1; i < j; ++i) {
      const std::size_t different = j - 1;
      const bool ends_at_j = (k - j) % (j - i) == 0;
      if (!ends_at_j && different < 2) continue;
      const double arranged = orders(ends_at_j ? different - 1 : different - 2);
      for (std::size_t h = 0; h <= different; ++h) {
        const Weight& w = way[different * side + h];
        sum += arranged * (ends_at_j ? w.shut : w.ended) * (1 - std::pow(ones, static_cast<double>(k - h)));
      }
    }
  return sum;
}

}  // namespace naysay::habf
