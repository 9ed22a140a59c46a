// SPDX-License-Identifier: Apache-2.0
// SlotSums: what the slots of an eliminated band hold, and what its equations say, in terms of its free slots alone.
//
// The free slots of a band may hold any bits, and all other slots follow from them: the bit of a slot in a plane is a
// constant plus a sum of free slots, and the summands are the same in every plane. So a word per slot says it all:
//
//   bit     0 ........ p - 1   p ..... p + x - 1
//           constants          summands                constant j: the bit in plane j if every free slot holds 0
//                                                      summand k: whether free slot k, from the left, is one
//
// The word of an equation is the sum of the words of its slots and of its bits. Plane j satisfies the equation if the
// constant j and the free slots among the summands, as they are in plane j, add up to 0. With a few dozen free slots
// that is one AND and a parity, whatever the width of the band and however far apart its slots are.
//
//   band       here
//   p          planes
//   x          free slots
//
// Promises   The same band gives the same words with every instruction set.
// Cost       Per slot and per equation: w words are read and the half of them that have a coefficient are added up.
//            Memory: 8 bytes per slot for each 64 bits of p + x, which may be kMostBits.
// Source     Gaussian elimination; the right-hand sides of the free slots are unit vectors.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/ribbon/detail/band.hpp"

namespace naysay::ribbon::detail {

template <unsigned w>
class SlotSums {
 public:
  static constexpr unsigned kMostBits = 128;

  // The words of all slots of a band. Requires planes <= 32, and planes + band.free_slots() <= kMostBits.
  void solve(const Band<w>& band, unsigned planes) {
    const std::uint32_t free = band.free_slots();
    assert(planes + free <= kMostBits);
    solve(band, planes, planes + free, 0);
    words_[1].clear();
    if (planes + free > 64) solve(band, planes, planes + free, 1);
  }

  // The word of each equation. Sum: Uint128, or std::uint64_t if p + x <= 64. Requires at most kSome equations.
  static constexpr std::size_t kSome = 64;
  template <class Sum>
  void add_up(std::span<const Equation<w>> equations, unsigned planes, Sum* out) const noexcept {
    assert(equations.size() <= kSome);
    std::array<std::uint64_t, kSome> sums;
    add_up(words_[0].data(), equations, sums.data());
    const std::uint64_t bits = low_mask(planes);
    for (std::size_t i = 0; i < equations.size(); ++i) out[i] = sums[i] ^ (equations[i].bits & bits);
    if constexpr (sizeof(Sum) == 16) {
      if (words_[1].empty()) return;
      add_up(words_[1].data(), equations, sums.data());
      for (std::size_t i = 0; i < equations.size(); ++i) out[i] |= static_cast<Sum>(sums[i]) << 64;
    }
  }

 private:
  static constexpr std::uint32_t kStep = 8;

  // Bits 64 * part .. 64 * part + 63 of the words, eight slots at a time. What they have from the slots after the eight
  // is added up first, for all of them; then they need only each other, from the last to the first.
  void solve(const Band<w>& band, unsigned planes, unsigned bit, unsigned part) {
    const std::uint32_t slots = band.slots(), end = (slots + kStep - 1) / kStep * kStep;
    auto& words = words_[part];
    words.assign(end + w + kStep, 0);
    std::array<Equation<w>, kStep> rows;
    std::array<std::uint64_t, kStep> own, sums;
    for (std::uint32_t first = end; first > 0;) {
      first -= kStep;
      for (std::uint32_t i = kStep; i-- > 0;) {
        rows[i] = {{}, first + kStep, 0};
        own[i] = 0;
        if (first + i >= slots) continue;
        if (band.is_free(first + i)) {
          if (--bit / 64 == part) own[i] = std::uint64_t{1} << bit % 64;
        } else {
          rows[i].coefficients = band.row(first + i).after(kStep - i);
          if (part == 0) own[i] = band.bits(first + i) & low_mask(planes);
        }
      }
      add_up(words.data(), rows, sums.data());
      for (std::uint32_t i = kStep; i-- > 0;) {
        std::uint64_t word = own[i] ^ sums[i];
        const std::uint64_t near = first + i < slots ? band.row(first + i).word[0] : 0;
        for (std::uint32_t j = 1; i + j < kStep; ++j) word ^= words[first + i + j] & -(near >> j & 1);
        words[first + i] = word;
      }
    }
  }

  // out[i]: the sum of words[start + k] over the coefficients k of equation i.
  static void add_up(const std::uint64_t* words, std::span<const Equation<w>> equations, std::uint64_t* out) noexcept {
#if NAYSAY_X86
    if (simd() == Simd::avx512) return add_up_avx512(words, equations, out);
    if (simd() == Simd::avx2) return add_up_avx2(words, equations, out);
#endif
    for (std::size_t i = 0; i < equations.size(); ++i) {
      std::uint64_t sum = 0;
      for (unsigned k = 0; k < w / 64; ++k)
        for (std::uint64_t left = equations[i].coefficients.word[k]; left != 0; left &= left - 1)
          sum ^= words[equations[i].start + 64 * k + static_cast<unsigned>(std::countr_zero(left))];
      out[i] = sum;
    }
  }
#if NAYSAY_X86
  NAYSAY_TARGET(NAYSAY_AVX2)
  static void add_up_avx2(const std::uint64_t* words, std::span<const Equation<w>> equations,
                          std::uint64_t* out) noexcept {
    for (std::size_t i = 0; i < equations.size(); ++i) {
      __m256i sum = _mm256_setzero_si256();
      for (unsigned k = 0; k < w / 64; ++k) {
        const auto* from = reinterpret_cast<const long long*>(words + equations[i].start + 64 * k);
        // The sign of a lane says whether its word is read: coefficients 60 .. 63 first.
        __m256i signs = _mm256_sllv_epi64(_mm256_set1_epi64x(static_cast<long long>(equations[i].coefficients.word[k])),
                                          _mm256_setr_epi64x(3, 2, 1, 0));
        for (unsigned at = 64; at > 0; signs = _mm256_slli_epi64(signs, 4)) {
          at -= 4;
          sum = _mm256_xor_si256(sum, _mm256_maskload_epi64(from + at, signs));
        }
      }
      const __m128i two = _mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
      out[i] = static_cast<std::uint64_t>(_mm_cvtsi128_si64(two) ^ _mm_extract_epi64(two, 1));
    }
  }
  NAYSAY_TARGET(NAYSAY_AVX512)
  static void add_up_avx512(const std::uint64_t* words, std::span<const Equation<w>> equations,
                            std::uint64_t* out) noexcept {
    for (std::size_t i = 0; i < equations.size(); ++i) {
      __m512i sum = _mm512_setzero_si512();
      for (unsigned k = 0; k < w / 64; ++k) {
        const std::uint64_t* from = words + equations[i].start + 64 * k;
        const std::uint64_t coefficients = equations[i].coefficients.word[k];
        for (unsigned at = 0; at < 64; at += 8)
          sum =
              _mm512_mask_xor_epi64(sum, static_cast<__mmask8>(coefficients >> at), sum, _mm512_loadu_si512(from + at));
      }
      const __m256i four = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xff, sum, 0),
                                            _mm512_maskz_extracti64x4_epi64(0xff, sum, 1));
      const __m128i two = _mm_xor_si128(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
      out[i] = static_cast<std::uint64_t>(_mm_cvtsi128_si64(two) ^ _mm_extract_epi64(two, 1));
    }
  }
#endif

  std::array<std::vector<std::uint64_t>, kMostBits / 64> words_;  // with zeros after the last slot
};

}  // namespace naysay::ribbon::detail
