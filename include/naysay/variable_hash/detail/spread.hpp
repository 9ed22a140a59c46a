// SPDX-License-Identifier: Apache-2.0
// best_spread: finds, among 2^r spread functions, the one that distributes a set of keys most evenly to its children.
//
//   512 functions are tried together, one bit of a vector each. For each key, three planes say to which child each of
//   the 512 sends it. From these come eight vectors "sends the key to child c", and carry-save adders count their bits,
//   8 keys per round:
//
//     plane 0  0110...   --> to child 0  0001...  --+
//     plane 1  1010...   --> to child 1  0100...    |   count of child c for function j:
//     plane 2  0010...       ...                    +-> bit j of counts[c][0], counts[c][1], counts[c][2] ...
//                                                       (ones)       (twos)       (fours)
//
//   Most even means: smallest maximum, then smallest sum of squares, then smallest number. The maximum is compared for
//   512 functions together; those that cannot win are dropped, and the search ends early at a function that cannot be
//   beaten. The result depends neither on the order of the keys nor on the order of the search.
//
//   paper      here
//   2^r_s      functions tried for a sector; 2^r_b for a bucket
//   b, s       2^child_log
//
// Promises   Every instruction set finds the same function.
// Cost       About 40 vector operations per key and 512 functions; 72 bytes of scratch memory per key.
// Source     Deeds, 2020, section 3.2, phase 1. Counting in bits is our own.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"

#if NAYSAY_X86
#include <immintrin.h>
#endif

namespace naysay::variable_hash::detail {

using family::kChildren;

inline constexpr unsigned kCountBits = 16;
inline constexpr unsigned kLanes = 8;  // values of b in a group of functions; a runs over the bits of a lane

// One per thread; it grows to the largest set it was used for.
struct SpreadScratch {
  struct Key {
    std::uint64_t near[family::kChildLog];  // bit a of near[p]: what a and c contribute to bit p of the child
    std::uint64_t far[family::kChildLog];   // bit b of far[p]: what b contributes
  };
  std::vector<Key> keys;
  std::vector<family::SpreadWords> words;
};

// As many functions as a register holds, one bit each: 64 values of a in every lane, one value of b per lane.
// add: sum + a + b of every bit column. fan: lane l is all ones if bit l of `bits` is set.
struct SpreadPlain {
  typedef std::uint64_t Block __attribute__((vector_size(16), may_alias));
  [[gnu::always_inline]] static void add(Block& sum, Block& carry, const Block& a, const Block& b) noexcept {
    const Block odd = sum ^ a;
    carry = (sum & a) | (odd & b);
    sum = odd ^ b;
  }
  [[gnu::always_inline]] static void fan(Block& out, std::uint64_t bits) noexcept {
    out = Block{std::uint64_t{0} - (bits & 1), std::uint64_t{0} - (bits >> 1 & 1)};
  }
};
#if NAYSAY_X86
struct SpreadAvx2 {
  typedef std::uint64_t Block __attribute__((vector_size(32), may_alias));
  NAYSAY_TARGET(NAYSAY_AVX2) static inline void add(Block& sum, Block& carry, const Block& a, const Block& b) noexcept {
    const Block odd = sum ^ a;
    carry = (sum & a) | (odd & b);
    sum = odd ^ b;
  }
  NAYSAY_TARGET(NAYSAY_AVX2) static inline void fan(Block& out, std::uint64_t bits) noexcept {
    const Block lane = {1, 2, 4, 8};
    out = reinterpret_cast<Block>((lane & bits) == lane);
  }
};
struct SpreadAvx512 {
  typedef std::uint64_t Block __attribute__((vector_size(64), may_alias));
  NAYSAY_TARGET(NAYSAY_AVX512)
  static inline void add(Block& sum, Block& carry, const Block& a, const Block& b) noexcept {
    const __m512i s = reinterpret_cast<__m512i>(sum), x = reinterpret_cast<__m512i>(a),
                  y = reinterpret_cast<__m512i>(b);
    carry = reinterpret_cast<Block>(_mm512_ternarylogic_epi64(s, x, y, 0xe8));  // at least two of three
    sum = reinterpret_cast<Block>(_mm512_ternarylogic_epi64(s, x, y, 0x96));    // an odd number of three
  }
  NAYSAY_TARGET(NAYSAY_AVX512) static inline void fan(Block& out, std::uint64_t bits) noexcept {
    out = reinterpret_cast<Block>(_mm512_movm_epi64(static_cast<__mmask8>(bits)));
  }
};
#endif

// to[c] = the functions that send the key to child c. b begins at `from`.
template <class R, class Block = typename R::Block>
[[gnu::always_inline]] inline void children_of(const SpreadScratch::Key& key, unsigned from, Block* to) noexcept {
  Block p[family::kChildLog];
  for (unsigned plane = 0; plane < family::kChildLog; ++plane) {
    R::fan(p[plane], key.far[plane] >> from);
    p[plane] ^= key.near[plane];
  }
  for (unsigned c = 0; c < kChildren; ++c)
    to[c] = (c & 1 ? p[0] : ~p[0]) & (c & 2 ? p[1] : ~p[1]) & (c & 4 ? p[2] : ~p[2]);
}

// Adds a carry of weight 2^from; the carry is 0 afterwards.
template <class Block>
[[gnu::always_inline]] inline void ripple(Block* counts, unsigned from, unsigned bits, Block& carry) noexcept {
  for (unsigned p = from; p < bits; ++p) {
    const Block sum = counts[p] ^ carry;
    carry &= counts[p];
    counts[p] = sum;
  }
}

// Counts how many of n keys each function sends to each child. Requires n < 2^bits.
template <class R, class Block = typename R::Block>
[[gnu::always_inline]] inline void count(const SpreadScratch::Key* keys, unsigned from, std::uint64_t n, unsigned bits,
                                         Block (*counts)[kCountBits]) noexcept {
  for (unsigned c = 0; c < kChildren; ++c)
    for (unsigned p = 0; p < bits; ++p) counts[c][p] = Block{};
  std::uint64_t i = 0;
  if (bits > 3) {
    Block ones[kChildren] = {}, twos[kChildren] = {}, fours[kChildren] = {};
    for (; i + 8 <= n; i += 8) {
      Block four[2][kChildren];
      for (unsigned half = 0; half < 2; ++half) {
        Block two[2][kChildren];
        for (unsigned quarter = 0; quarter < 2; ++quarter) {
          const std::uint64_t at = i + 4 * half + 2 * quarter;
          Block a[kChildren], b[kChildren];
          children_of<R>(keys[at], from, a);
          children_of<R>(keys[at + 1], from, b);
          for (unsigned c = 0; c < kChildren; ++c) R::add(ones[c], two[quarter][c], a[c], b[c]);
        }
        for (unsigned c = 0; c < kChildren; ++c) R::add(twos[c], four[half][c], two[0][c], two[1][c]);
      }
      for (unsigned c = 0; c < kChildren; ++c) {
        Block eight;
        R::add(fours[c], eight, four[0][c], four[1][c]);
        ripple(counts[c], 3, bits, eight);
      }
    }
    for (unsigned c = 0; c < kChildren; ++c) counts[c][0] = ones[c], counts[c][1] = twos[c], counts[c][2] = fours[c];
  }
  for (; i < n; ++i) {
    Block to[kChildren];
    children_of<R>(keys[i], from, to);
    for (unsigned c = 0; c < kChildren; ++c) ripple(counts[c], 0, bits, to[c]);
  }
}

// Finds the functions whose counts are all at most `limit`; false if there are none.
template <class Block>
[[gnu::always_inline]] inline bool at_most(const Block (*counts)[kCountBits], unsigned bits, std::uint64_t limit,
                                           Block& found) noexcept {
  Block over = {};
  for (unsigned c = 0; c < kChildren; ++c) {
    Block same = ~Block{};
    for (unsigned p = bits; p-- > 0;) {
      if (limit >> p & 1) {
        same &= counts[c][p];
      } else {
        over |= same & counts[c][p];
        same &= ~counts[c][p];
      }
    }
  }
  found = ~over;
  std::uint64_t some = 0;
  for (unsigned lane = 0; lane < sizeof(Block) / 8; ++lane) some |= found[lane];
  return some != 0;
}

struct BestSpread {
  std::uint64_t maximum = ~std::uint64_t{0};
  std::uint64_t squares = ~std::uint64_t{0};
  std::uint32_t number = 0;
};

// Updates `best` with the best of the 512 functions (c, b from first_b on, every a). `least` is the
// smallest maximum there can be.
template <class R>
[[gnu::always_inline]] inline void try_group(const SpreadScratch::Key* keys, std::uint32_t c, unsigned first_b,
                                             std::uint64_t n, unsigned bits, std::uint64_t least,
                                             BestSpread& best) noexcept {
  using Block = typename R::Block;
  constexpr unsigned kStep = sizeof(Block) / 8;
  for (unsigned b = first_b; b < first_b + kLanes; b += kStep) {
    Block counts[kChildren][kCountBits], alive, fewer;
    count<R>(keys, b, n, bits, counts);
    std::uint64_t limit = least;
    if (best.maximum > n) {  // the first group: search from below
      while (!at_most(counts, bits, limit, alive)) ++limit;
    } else {
      limit = best.maximum;
      if (!at_most(counts, bits, limit, alive)) continue;
      for (; limit > least && at_most(counts, bits, limit - 1, fewer); --limit) alive = fewer;
    }
    for (unsigned lane = 0; lane < kStep; ++lane)
      for (std::uint64_t left = alive[lane]; left != 0; left &= left - 1) {
        const unsigned a = static_cast<unsigned>(std::countr_zero(left));
        std::uint64_t squares = 0;
        for (unsigned child = 0; child < kChildren; ++child) {
          std::uint64_t sent = 0;
          for (unsigned p = 0; p < bits; ++p) sent |= (counts[child][p][lane] >> a & 1) << p;
          squares += sent * sent;
        }
        const std::uint32_t number = c << 12 | (b + lane) << 6 | a;
        if (limit < best.maximum || squares < best.squares || (squares == best.squares && number < best.number))
          best = {limit, squares, number};
      }
  }
}

inline void try_group_scalar(const SpreadScratch::Key* keys, std::uint32_t c, unsigned first_b, std::uint64_t n,
                             unsigned bits, std::uint64_t least, BestSpread& best) noexcept {
  try_group<SpreadPlain>(keys, c, first_b, n, bits, least, best);
}
#if NAYSAY_X86
NAYSAY_TARGET(NAYSAY_AVX2)
inline void try_group_avx2(const SpreadScratch::Key* keys, std::uint32_t c, unsigned first_b, std::uint64_t n,
                           unsigned bits, std::uint64_t least, BestSpread& best) noexcept {
  try_group<SpreadAvx2>(keys, c, first_b, n, bits, least, best);
}
NAYSAY_TARGET(NAYSAY_AVX512)
inline void try_group_avx512(const SpreadScratch::Key* keys, std::uint32_t c, unsigned first_b, std::uint64_t n,
                             unsigned bits, std::uint64_t least, BestSpread& best) noexcept {
  try_group<SpreadAvx512>(keys, c, first_b, n, bits, least, best);
}
#endif

// The largest set that best_spread can count.
inline constexpr std::uint64_t kMaxSpreadKeys = (std::uint64_t{1} << kCountBits) - 1;

// The number, less than 2^spread_bits, of the function that spreads `xs` (distinct) most evenly over 2^child_log
// children. Sets of fewer than 2 and of more than kMaxSpreadKeys keys get number 0.
// Requires 1 <= child_log <= 3 and 9 <= spread_bits <= 16.
inline std::uint32_t best_spread(std::span<const std::uint64_t> xs, unsigned child_log, unsigned spread_bits,
                                 SpreadScratch& s) {
  assert(child_log >= 1 && child_log <= family::kChildLog);
  assert(spread_bits >= family::kMinSpreadBits && spread_bits <= family::kMaxSpreadBits);
  const std::uint64_t n = xs.size();
  if (n < 2 || n > kMaxSpreadKeys) return 0;
  if (s.keys.size() < n) s.keys.resize(n), s.words.resize(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    s.words[i] = family::spread_words(xs[i]);
    for (unsigned p = 0; p < family::kChildLog; ++p) s.keys[i].far[p] = p < child_log ? s.words[i].b >> p : 0;
  }
  const unsigned bits = static_cast<unsigned>(std::bit_width(n));
  const std::uint64_t children = std::uint64_t{1} << child_log, least = divide_up(n, children), full = n % children;
  const std::uint64_t fewest_squares = (children - full) * (n / children) * (n / children) + full * least * least;
  const unsigned bs = 1u << (std::min(spread_bits, 12u) - 6), cs = 1u << (spread_bits - std::min(spread_bits, 12u));
  BestSpread best;
  for (std::uint32_t c = 0; c < cs; ++c) {
    for (std::uint64_t i = 0; i < n; ++i)
      for (unsigned p = 0; p < family::kChildLog; ++p)
        s.keys[i].near[p] =
            p < child_log ? (s.words[i].a >> p) ^ (std::uint64_t{0} - (s.words[i].c >> (c + p) & 1)) : 0;
    for (unsigned b = 0; b < bs && best.squares != fewest_squares; b += kLanes) {
#if NAYSAY_X86
      switch (simd()) {
        case Simd::avx512:
          try_group_avx512(s.keys.data(), c, b, n, bits, least, best);
          continue;
        case Simd::avx2:
          try_group_avx2(s.keys.data(), c, b, n, bits, least, best);
          continue;
        case Simd::scalar:
          break;
      }
#endif
      try_group_scalar(s.keys.data(), c, b, n, bits, least, best);
    }
  }
  return best.number;
}

}  // namespace naysay::variable_hash::detail
