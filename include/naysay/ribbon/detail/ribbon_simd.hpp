// SPDX-License-Identifier: Apache-2.0
// The vector code of ribbon queries: AVX2 and AVX-512. It gives the answers of test_scalar (ribbon_probe.hpp).
//
//   AVX2      one key, eight planes at a time: parities are folded from 64 bits to 4 and looked up
//   AVX-512   one key: eight planes in one vector, with a vector popcount
//             batches: eight keys per group, in a ring of groups (query_eights)
//
//   group i        split_eight    shards and table entries of eight keys
//   group i - 1    probe_eight    equations and places; then fetch_eight prefetches their windows
//   group i - 1 - kFlight         test_eight tests the windows, which have arrived meanwhile
//
// If every shard has eight planes, a block is exactly one cache line. Loops that know this cost two thirds of the time
// of those that do not; RibbonLayout::fit therefore prefers eight planes for all shards to nine planes for a few.
#pragma once

#include "naysay/ribbon/detail/ribbon_probe.hpp"

#if NAYSAY_X86

namespace naysay::ribbon::detail {

// Four words from p on; those beyond `count` are 0 and not read.
NAYSAY_TARGET(NAYSAY_AVX2) inline __m256i load256(const std::uint64_t* p, unsigned count) noexcept {
  alignas(64) static constexpr std::int64_t kLanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
  if (count >= 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLanes + 4 - count));
  return _mm256_maskload_epi64(reinterpret_cast<const long long*>(p), lanes);
}

// Up to four words from p on (those beyond `count` are 0), AND mask.
NAYSAY_TARGET(NAYSAY_AVX2)
inline __m256i masked256(const std::uint64_t* p, unsigned count, std::uint64_t mask) noexcept {
  return _mm256_and_si256(load256(p, count), _mm256_set1_epi64x(static_cast<long long>(mask)));
}

template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX2)
inline __m256i
    products256(const RibbonProbe& p, const std::array<std::uint64_t, w / 64 + 1>& mask, unsigned plane) noexcept {
  const unsigned count = p.planes - plane;
  const std::uint64_t* at = p.block + plane;
  __m256i x = _mm256_xor_si256(masked256(at, count, mask[0]), masked256(last_block<w>(p) + plane, count, mask[w / 64]));
  if constexpr (w == 128) x = _mm256_xor_si256(x, masked256(at + p.planes, count, mask[1]));
  return x;
}

// Eight planes at a time: 64-bit parities are folded to 32 bits in pairs, then to 4, then looked up in a word of 16
// bits in which bit x is set if x has an odd number of ones.
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX2)
inline bool test_avx2(const RibbonProbe& p) noexcept {
  const auto mask = masks<w>(p);
  std::uint64_t wrong = 0;
  for (unsigned j = 0; j < p.planes; j += 8) {
    const __m256i a = products256<w>(p, mask, j);
    const __m256i b = j + 4 < p.planes ? products256<w>(p, mask, j + 4) : _mm256_setzero_si256();
    __m256i x = _mm256_xor_si256(_mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa),
                                 _mm256_blend_epi32(_mm256_srli_epi64(a, 32), b, 0xaa));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 8));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 4));
    x = _mm256_srlv_epi32(_mm256_set1_epi32(0x6996), _mm256_and_si256(x, _mm256_set1_epi32(15)));
    x = _mm256_permutevar8x32_epi32(_mm256_slli_epi32(x, 31), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    const auto odd = static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(x)));
    const unsigned count = std::min(p.planes - j, 8u);
    wrong |= (odd ^ (p.bits >> j)) & low_mask(count);
  }
  return wrong == 0;
}

// Windows AND coefficients, eight next to each other: the parity of a lane is a bit of the answer. The windows begin
// `shift` slots (modulo 64) after the begin of the w / 64 + 1 blocks whose words are words(0), words(1) ...
template <unsigned w, class Words>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline __m512i
    products512(Words words, __m512i shift, __m512i near, __m512i far) noexcept {
  const __m512i second = words(1), window = _mm512_shrdv_epi64(words(0), second, shift);
  if constexpr (w == 64) return _mm512_and_si512(window, near);
  const __m512i rest = _mm512_shrdv_epi64(second, words(w / 64), shift);
  return _mm512_xor_si512(_mm512_and_si512(window, near), _mm512_and_si512(rest, far));
}
NAYSAY_TARGET(NAYSAY_AVX512) inline __mmask8 odd512(__m512i x) noexcept {
  return _mm512_test_epi64_mask(_mm512_popcnt_epi64(x), _mm512_set1_epi64(1));
}
NAYSAY_TARGET(NAYSAY_AVX512) inline __m512i everywhere(std::uint64_t x) noexcept {
  return _mm512_set1_epi64(static_cast<long long>(x));
}

// Bit j: whether plane first + j says no.
template <unsigned w>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline std::uint32_t
    wrong512(const RibbonProbe& p, unsigned first, std::size_t planes, std::uint32_t lanes) noexcept {
  const auto words = [&](unsigned k) __attribute__((always_inline, target(NAYSAY_AVX512))) {
    return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(lanes), p.block + first + k * planes);
  };
  const std::uint32_t odd =
      odd512(products512<w>(words, everywhere(p.shift), everywhere(p.coefficients[0]), everywhere(p.coefficients[1])));
  return (odd ^ (p.bits >> first)) & lanes;
}
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
inline bool test_avx512(const RibbonProbe& p) noexcept {
  std::uint32_t wrong = wrong512<w>(p, 0, p.planes, _bzhi_u32(0xff, p.planes));
  // No early exit: a branch on the answer could not be predicted.
  for (unsigned first = 8; first < p.planes; first += 8)
    wrong |= wrong512<w>(p, first, p.planes, _bzhi_u32(0xff, p.planes - first));
  return wrong == 0;
}

template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX2)
void test_all_avx2(std::span<const RibbonProbe> probes, std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < probes.size(); ++i) out[i] = test_avx2<w>(probes[i]);
}

using Lanes = unsigned long long __attribute__((vector_size(64)));
using SignedLanes = long long __attribute__((vector_size(64)));

NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes remix(Lanes x) noexcept {  // remix64
  x *= 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}
// The product of the low halves: cheaper than a product of 64 bits.
NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes multiply32(Lanes a, Lanes b) noexcept {
  return (Lanes)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
}
NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes least(Lanes a, Lanes b) noexcept {
  return (Lanes)_mm512_maskz_min_epu64(0xff, (__m512i)a, (__m512i)b);
}
NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes most(Lanes a, Lanes b) noexcept {
  return (Lanes)_mm512_maskz_max_epu64(0xff, (__m512i)a, (__m512i)b);
}
template <class T>
NAYSAY_TARGET(NAYSAY_AVX512)
void store(T (&to)[8], Lanes x) noexcept {
  static_assert(sizeof(T) == 8);
  _mm512_store_si512(to, (__m512i)x);
}
template <class T>
NAYSAY_TARGET(NAYSAY_AVX512)
Lanes load(const T (&from)[8]) noexcept {
  static_assert(sizeof(T) == 8);
  return (Lanes)_mm512_load_si512(from);
}

// Eight probes, computed together: one in each lane.
template <unsigned w>
struct alignas(64) EightProbes {
  // Known after split_eight. In a BumpedLayout: start slots, and thresholds.
  std::uint64_t shard[8], rest[8], entries[8];
  // Known after probe_eight.
  const std::uint64_t* block[8];
  std::uint64_t bits[8];
  std::uint64_t shift[8];
  std::uint64_t coefficients[w / 64][8];
  // Only if not all keys have eight planes.
  std::uint64_t planes[8];
  const std::uint64_t* end[8];   // the last word of the window
  const std::uint64_t* tail[8];  // block, for the last planes of the richest key: a key without these planes reads its
                                 // first planes instead, which have been fetched

  // Byte i is 0 if no plane says no to key i. Requires eight planes for every key.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t wrong() const noexcept {
    return odd([&](unsigned i) { return block[i]; }, [](unsigned) { return 8; }, 0xff) ^ low_bytes(load(bits));
  }
  // The same for up to eight planes from `first` on, where the richest key has `most` planes in all.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t
      wrong(unsigned first, unsigned most) const noexcept {
    if (most == first + 1) return wrong_in(first);
    const auto& from = most <= first + 8 ? tail : block;
    const auto at = [&](unsigned i) { return from[i] + first; };
    const auto planes_of = [&](unsigned i) { return planes[i]; };
    const std::uint64_t found = most >= first + 8
                                    ? odd(at, planes_of, 0xff)
                                    : odd(at, planes_of, static_cast<__mmask8>(_bzhi_u32(0xff, most - first)));
    const Lanes queried = (one_each << (load(planes) - first)) - 1;  // shifts of 64 and more give 0
    return (found ^ low_bytes(load(bits) >> first)) & low_bytes(queried);
  }

 private:
  static constexpr Lanes one_each = {1, 1, 1, 1, 1, 1, 1, 1};

  // For one plane: each lane is a key.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t wrong_in(unsigned plane) const noexcept {
    const auto words = [&](unsigned k) __attribute__((always_inline, target(NAYSAY_AVX512))) {
      const auto word = [&](unsigned i) { return tail[i][plane + k * planes[i]]; };
      return (__m512i)Lanes{word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)};
    };
    const __m512i windows = products512<w>(words, (__m512i)load(shift), (__m512i)load(coefficients[0]),
                                           (__m512i)load(coefficients[w / 64 - 1]));
    const auto wanted = _mm512_test_epi64_mask((__m512i)load(bits), (__m512i)(one_each << plane));
    const auto queried = _mm512_cmpgt_epu64_mask((__m512i)load(planes), everywhere(plane));
    return static_cast<std::uint64_t>(
        _mm_cvtsi128_si64(_mm_movm_epi8(static_cast<__mmask16>((odd512(windows) ^ wanted) & queried))));
  }
  // Parities of the windows that begin in the blocks at(i) of planes_of(i) planes.
  template <class At, class PlanesOf>
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t
      odd(At at, PlanesOf planes_of, __mmask8 lanes) const noexcept {
    const auto one = [&](unsigned i) __attribute__((always_inline, target(NAYSAY_AVX512)))->__mmask16 {
      const auto words = [&](unsigned k) __attribute__((always_inline, target(NAYSAY_AVX512))) {
        return _mm512_maskz_loadu_epi64(lanes, at(i) + k * planes_of(i));
      };
      return odd512(products512<w>(words, everywhere(shift[i]), everywhere(coefficients[0][i]),
                                   everywhere(coefficients[w / 64 - 1][i])));
    };
    return _mm512_kunpackd(_mm512_kunpackw(_mm512_kunpackb(one(7), one(6)), _mm512_kunpackb(one(5), one(4))),
                           _mm512_kunpackw(_mm512_kunpackb(one(3), one(2)), _mm512_kunpackb(one(1), one(0))));
  }
  NAYSAY_TARGET(NAYSAY_AVX512) static std::uint64_t low_bytes(Lanes x) noexcept {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_maskz_cvtepi64_epi8(0xff, (__m512i)x)));
  }
};

// Filters of at most this many words lie in every second-level cache, or in most third-level caches.
inline constexpr std::size_t kSecondLevelWords = (256 << 10) / 8, kThirdLevelWords = (4 << 20) / 8;
// Groups of eight windows in flight. With eight planes a query reads fewer lines, so more groups are useful.
inline constexpr std::size_t kEights = 7, kOtherEights = 3;

template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX2)
bool one_avx2(const RibbonLayout& f, Digest d) noexcept {
  return test_avx2<w>(probe<w>(f, d));
}
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
bool one_avx512(const RibbonLayout& f, Digest d) noexcept {
  if (f.has_eight_planes()) return wrong512<w>(probe<w, true>(f, d), 0, 8, 0xff) == 0;
  return one_of_any_avx512<w>(f, d);
}
template <unsigned w>
[[gnu::noinline]] NAYSAY_TARGET(NAYSAY_AVX512) bool one_of_any_avx512(const RibbonLayout& f, Digest d) noexcept {
  return test_avx512<w>(probe<w>(f, d));
}

// Where eight windows lie that begin at these slots, in a RibbonLayout or a BumpedLayout.
template <unsigned w, bool eight_planes, class Layout>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void place_eight(const Layout& f, Lanes slot,
                                                                            EightProbes<w>& out) noexcept {
  constexpr Lanes kZero = {};
  const Lanes q = slot >> 6, words = kZero + reinterpret_cast<std::uintptr_t>(f.words());
  if constexpr (eight_planes) {
    store(out.block, words + (q << 6));
  } else {
    const auto is_rich = (Lanes)(q < kZero + f.rich_blocks());  // all ones or none
    const Lanes planes = f.planes() - is_rich;
    const Lanes block = words + 8 * (multiply32(q, planes) + (f.poor() & ~is_rich));
    const std::uint64_t last_eight = (f.most_planes() - 1) / 8 * 8;
    store(out.block, block);
    store(out.planes, planes);
    store(out.end, block + planes * (w / 8 + 8) - 8);
    store(out.tail, planes > kZero + last_eight ? block : block - 8 * last_eight);
  }
  store(out.shift, slot);
}

// probe() of eight keys, operation by operation, in two steps. The first is SplitBoth{}(d, f.shards()) and the reads of
// entry(); eight single reads, since gather instructions are slow on machines with a microcode fix for their leak.
template <unsigned w>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void split_eight(const RibbonLayout& f, const Digest* keys,
                                                                            EightProbes<w>& out) noexcept {
  const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
  const auto hi = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), more);
  constexpr Lanes kZero = {};
  const Lanes low = multiply32(hi, kZero + f.shards()), high = multiply32(hi >> 32, kZero + f.shards());
  store(out.rest, low + (high << 32));
  store(out.shard, (high + (low >> 32)) >> 32);
  for (unsigned i = 0; i < 8; ++i) out.entries[i] = load_u64(f.table() + out.shard[i]);
}
// The second: the equation and the place.
template <unsigned w, bool eight_planes>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void probe_eight(const RibbonLayout& f, const Digest* keys,
                                                                            EightProbes<w>& out) noexcept {
  constexpr Lanes kZero = {};
  const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
  const auto lo = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), more);
  const Lanes both = load(out.entries);
  const Lanes off = (Lanes)((SignedLanes)(both << 32) >> 40), next = (Lanes)((SignedLanes)both >> 40);
  const Lanes last = (next - off) + (f.step() - std::uint64_t{w});

  constexpr std::uint64_t pile = 3 * w / 8;
  const Lanes h = lo * (2 * (both & 0xff) + 0x9e3779b97f4a7c15u), sum = h + load(out.rest);
  const Lanes at = multiply32(sum >> 32, last + (1 + 2 * pile)) >> 32;
  const Lanes start = least(most(at, kZero + pile) - pile, last);
  place_eight<w, eight_planes>(f, multiply32(load(out.shard), kZero + f.step()) + off + start, out);
  store(out.bits, sum >> 16);
  store(out.coefficients[0], h | 1);
  if constexpr (w == 128) store(out.coefficients[1], remix(h + 0xe7037ed1a0b428dbu));
}
// Prefetches the windows. With eight planes: to the second-level cache, which is faster for large filters than the
// first. Otherwise: to the first level. A filter that fits the third level fetches only the lines in which blocks
// begin, which is cheaper; a larger one every line of the windows.
template <unsigned w, bool eight_planes, class Layout>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void fetch_eight(const Layout& f,
                                                                            const EightProbes<w>& eight) noexcept {
  constexpr int kLevel = eight_planes ? 2 : 3;
  const bool large = f.word_count() > kThirdLevelWords;
  const unsigned words = (eight_planes ? 8 : f.planes()) * (w / 64 + 1);
  const unsigned step = eight_planes || large ? kCacheLine / 8 : f.planes();
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned at = 0; at < words; at += step) __builtin_prefetch(eight.block[i] + at, 0, kLevel);
    if (!eight_planes && large) __builtin_prefetch(eight.end[i], 0, kLevel);
  }
}

// Tests the windows, which have arrived meanwhile. `most`: the planes of the richest key.
template <unsigned w, bool eight_planes>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void test_eight(const EightProbes<w>& eight, unsigned most,
                                                                           std::uint8_t* out) noexcept {
  std::uint64_t wrong = 0;
  if constexpr (eight_planes)
    wrong = eight.wrong();
  else
    for (unsigned first = 0; first < most; first += 8) wrong |= eight.wrong(first, most);
  const __m128i yes = _mm_cmpeq_epi8(_mm_cvtsi64_si128(static_cast<long long>(wrong)), _mm_setzero_si128());
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_and_si128(yes, _mm_set1_epi8(1)));
}

// Batches, eight keys at a time, in a ring of groups: one group is split, the one before it probed and fetched, and the
// one kFlight before that tested.
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
void query_avx512(const RibbonLayout& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  f.has_eight_planes() ? query_eights<w, true>(f, keys, out) : query_eights<w, false>(f, keys, out);
  for (std::size_t i = keys.size() / 8 * 8; i < keys.size(); ++i) out[i] = one_avx512<w>(f, keys[i]);
}
template <unsigned w, bool eight_planes>
NAYSAY_TARGET(NAYSAY_AVX512)
void query_eights(const RibbonLayout& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  constexpr std::size_t kFlight = eight_planes ? kEights : kOtherEights;
  std::array<EightProbes<w>, kFlight + 1> ring;
  const std::size_t eights = keys.size() / 8;
  const unsigned most = f.most_planes();
  const bool fetches = f.word_count() > kSecondLevelWords;
  for (std::size_t i = 0; i < eights + 1 + kFlight; ++i) {
    if (i > kFlight) test_eight<w, eight_planes>(ring[i % (kFlight + 1)], most, out + 8 * (i - 1 - kFlight));
    if (i < eights) split_eight<w>(f, keys.data() + 8 * i, ring[i % (kFlight + 1)]);
    if (i > 0 && i <= eights) {
      auto& eight = ring[(i - 1) % (kFlight + 1)];
      probe_eight<w, eight_planes>(f, keys.data() + 8 * (i - 1), eight);
      if (fetches) fetch_eight<w, eight_planes>(f, eight);
    }
  }
}

}  // namespace naysay::ribbon::detail

#endif
