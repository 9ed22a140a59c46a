// SPDX-License-Identifier: Apache-2.0
// Queries of a VariableHashTable: one key or a batch, with the instruction set of this machine.
//
//   digest --slot_of--> slot --> k numbers of r bits, packed   | 81 | 1f | 0 | c2 | ...
//                                                                 |    |
//   x = lo + seed ------------------------------------------> accepts(number, words of x)?   all: "maybe"
//
//   scalar    four functions per branch
//   AVX2      eight functions at a time, AVX-512 sixteen, if a number has at most 28 bits; else as scalar
//
// Promises   The answers are the same with every instruction set, one by one and in batches.
// Cost       Reads of up to three spread functions and one or two cache lines of slot functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"
#include "naysay/variable_hash/detail/variable_hash_table.hpp"

#if NAYSAY_X86
#include <immintrin.h>
#endif

namespace naysay::variable_hash::detail {

// What a query computes before it reads a slot: where its functions lie, and the key.
struct VariableHashProbe {
  const std::uint32_t* words;  // the first function begins in this word,
  unsigned shift;              // at this bit
  unsigned k;
  std::uint64_t x;
};
[[gnu::always_inline]] inline VariableHashProbe probe(const VariableHashTable& f, Digest d) noexcept {
  const std::uint64_t slot = f.slot_of(d), at = f.first_function(slot) * f.function_bits();
  return {reinterpret_cast<const std::uint32_t*>(f.functions()) + (at >> 5), static_cast<unsigned>(at & 31),
          f.functions_of(slot), d.lo + f.seed()};
}

template <class T>
[[gnu::always_inline]] inline bool query_one(const VariableHashTable& self, Digest d) noexcept {
  return T::test(self, probe(self, d));
}
// The slots of the next keys are fetched while one is tested.
template <class T>
[[gnu::always_inline]] inline void query_all(const VariableHashTable& self, std::span<const Digest> keys,
                                             std::uint8_t* out) noexcept {
  VariableHashProbe ring[kAhead];
  const std::uint64_t last_word = std::uint64_t{self.most_functions()} * self.function_bits() >> 5;
  for (std::size_t i = 0; i < keys.size() + kAhead; ++i) {
    if (i >= kAhead) out[i - kAhead] = T::test(self, ring[i % kAhead]);
    if (i >= keys.size()) continue;
    ring[i % kAhead] = probe(self, keys[i]);
    __builtin_prefetch(ring[i % kAhead].words);
    __builtin_prefetch(ring[i % kAhead].words + last_word);
  }
}

// Four functions at a time: a stranger passes all four with probability 1/16, so the branch is well predicted.
struct PlainTest {
  [[gnu::always_inline]] static bool test(const VariableHashTable& self, const VariableHashProbe& p) noexcept {
    const unsigned r = self.function_bits();
    const std::uint64_t mask_word = family::mask_word(p.x);
    const auto one = [&](unsigned f) __attribute__((always_inline))->unsigned {
      const std::uint64_t at = p.shift + std::uint64_t{f} * r;
      const std::uint64_t number =
          load_u64(reinterpret_cast<const unsigned char*>(p.words) + (at >> 3)) >> (at & 7) & low_mask(r);
      return family::accepts(number, family::pick_word(p.x, f), mask_word);
    };
    unsigned f = 0;
    for (; f + 4 <= p.k; f += 4)
      if ((one(f) & one(f + 1) & one(f + 2) & one(f + 3)) == 0) return false;
    for (; f < p.k; ++f)
      if (!one(f)) return false;
    return true;
  }
};

// Numbers of up to 28 bits, a register of them at a time: number l begins at bit o = shift + l * r of the words, so
// it lies in word o / 32 and the one after it.
template <class V>
[[gnu::always_inline]] inline bool test_narrow(const VariableHashTable& self, const VariableHashProbe& p) noexcept {
  using Lanes = typename V::Lanes;
  constexpr unsigned kCount = sizeof(Lanes) / 4, kPlaces = (1u << family::kPlaceLog) - 1;
  const Lanes one = (V::kLanes & 0) + 1;
  const unsigned r = self.function_bits(), most = self.most_functions();
  const auto low = static_cast<std::uint32_t>(p.x), high = static_cast<std::uint32_t>(p.x >> 32);
  const auto mask_word = static_cast<std::uint32_t>(family::mask_word(p.x));
  const auto group = [&](unsigned f) __attribute__((always_inline)) {
    Lanes loaded, first, second;
    const unsigned at = p.shift + f * r;
    V::load(loaded, p.words + (at >> 5), most * r + 31 <= 256);
    const Lanes bit = V::kLanes * r + (at & 31), shift = bit & 31;
    V::pick_words(first, loaded, bit >> 5);
    V::pick_words(second, loaded, (bit >> 5) + 1);
    const Lanes number = ((first >> shift) | (second << 1) << (31 - shift)) & ((1u << r) - 1);
    Lanes z = low + (V::kLanes + 1 + f) * family::kStep;  // as family::pick_word
    z = (z ^ z >> 16) * family::kFirstRound;
    z = ((z ^ z >> 15) + high) * family::kSecondRound;
    z = (z ^ z >> 16) >> (number & 31);
    const Lanes masked = ((number & ~kPlaces) | one << (number >> family::kPickLog & 7)) & mask_word;
    const std::uint64_t queried = p.k > f ? (std::uint64_t{1} << std::min(p.k - f, kCount)) - 1 : 0;
    return (queried & ~std::uint64_t{V::passes(z, masked, number)}) == 0;
  };
  if (!group(0)) return false;  // in most filters the only group; f is a constant here
  for (unsigned f = kCount; f < most; f += kCount)
    if (!group(f)) return false;
  return true;
}

#if NAYSAY_X86
struct Avx2Test {
  typedef std::uint32_t Lanes __attribute__((vector_size(32), may_alias));
  static constexpr Lanes kLanes = {0, 1, 2, 3, 4, 5, 6, 7};
  NAYSAY_TARGET(NAYSAY_AVX2) static void load(Lanes& to, const std::uint32_t* from, bool) noexcept {
    std::memcpy(&to, from, sizeof to);
  }
  NAYSAY_TARGET(NAYSAY_AVX2) static void pick_words(Lanes& to, const Lanes& from, const Lanes& which) noexcept {
    to = reinterpret_cast<Lanes>(
        _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(from), reinterpret_cast<__m256i>(which)));
  }
  NAYSAY_TARGET(NAYSAY_AVX2)
  static unsigned passes(const Lanes& z, const Lanes& masked, const Lanes& number) noexcept {
    Lanes odd = masked ^ masked >> 16;
    for (unsigned half = 8; half > 0; half /= 2) odd ^= odd >> half;
    odd = (odd ^ z) << 31 | reinterpret_cast<Lanes>(number == 0);
    return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(odd)));
  }
  NAYSAY_TARGET(NAYSAY_AVX2) static bool test(const VariableHashTable& self, const VariableHashProbe& p) noexcept {
    return self.function_bits() <= family::kNarrowBits ? test_narrow<Avx2Test>(self, p) : PlainTest::test(self, p);
  }
};
[[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX2) inline bool query_avx2(const VariableHashTable& self, Digest d) noexcept {
  return query_one<Avx2Test>(self, d);
}
[[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX2) inline void query_all_avx2(const VariableHashTable& self,
                                                                       std::span<const Digest> keys,
                                                                       std::uint8_t* out) noexcept {
  query_all<Avx2Test>(self, keys, out);
}

struct Avx512Test {
  typedef std::uint32_t Lanes __attribute__((vector_size(64), may_alias));
  static constexpr Lanes kLanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  // Half a cache line, if that is enough: it crosses into another line half as often.
  NAYSAY_TARGET(NAYSAY_AVX512) static void load(Lanes& to, const std::uint32_t* from, bool half) noexcept {
    to = half ? reinterpret_cast<Lanes>(
                    _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))))
              : reinterpret_cast<Lanes>(_mm512_loadu_si512(from));
  }
  NAYSAY_TARGET(NAYSAY_AVX512) static void pick_words(Lanes& to, const Lanes& from, const Lanes& which) noexcept {
    constexpr __mmask16 kAll = 0xffff;  // GCC 12 warns of the form without a mask
    to = reinterpret_cast<Lanes>(
        _mm512_maskz_permutexvar_epi32(kAll, reinterpret_cast<__m512i>(which), reinterpret_cast<__m512i>(from)));
  }
  NAYSAY_TARGET(NAYSAY_AVX512)
  static unsigned passes(const Lanes& z, const Lanes& masked, const Lanes& number) noexcept {
    const __m512i odd =
        _mm512_xor_si512(reinterpret_cast<__m512i>(z), _mm512_popcnt_epi32(reinterpret_cast<__m512i>(masked)));
    return _mm512_test_epi32_mask(odd, _mm512_set1_epi32(1)) |
           _mm512_testn_epi32_mask(reinterpret_cast<__m512i>(number), reinterpret_cast<__m512i>(number));
  }
  NAYSAY_TARGET(NAYSAY_AVX512) static bool test(const VariableHashTable& self, const VariableHashProbe& p) noexcept {
    return self.function_bits() <= family::kNarrowBits ? test_narrow<Avx512Test>(self, p) : PlainTest::test(self, p);
  }
};
[[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX512) inline bool query_avx512(const VariableHashTable& self,
                                                                       Digest d) noexcept {
  return query_one<Avx512Test>(self, d);
}
[[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX512) inline void query_all_avx512(const VariableHashTable& self,
                                                                           std::span<const Digest> keys,
                                                                           std::uint8_t* out) noexcept {
  query_all<Avx512Test>(self, keys, out);
}
#endif

template <Simd known = kCompiledFor>
bool may_contain(const VariableHashTable& f, Digest d) noexcept {
#if NAYSAY_X86
  switch (simd<known>()) {
    case Simd::avx512:
      return query_avx512(f, d);
    case Simd::avx2:
      return query_avx2(f, d);
    case Simd::scalar:
      break;
  }
#endif
  return query_one<PlainTest>(f, d);
}
inline void may_contain(const VariableHashTable& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
#if NAYSAY_X86
  switch (simd()) {
    case Simd::avx512:
      return query_all_avx512(f, keys, out);
    case Simd::avx2:
      return query_all_avx2(f, keys, out);
    case Simd::scalar:
      break;
  }
#endif
  query_all<PlainTest>(f, keys, out);
}

}  // namespace naysay::variable_hash::detail
