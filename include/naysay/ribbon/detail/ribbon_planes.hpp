// RibbonPlanes: the solved shards of a ribbon, and the question. Plain and taught ribbons share it.
//
//   hi * shards --> shard, rest     shard --table--> first slot, slots, seed     lo, rest, seed --> start,
//                                                                                w coefficients, bits
//   block           0                 1                 2
//           +-----+-----+---  +-----+-----+---  +-----+-----+---    64 slots of plane 0, the same 64 of plane 1, ...
//   start --------> 0110|   |   1101|     |       |     |     |     "maybe" if in every plane j the parity of
//             plane 0  1  2     0     1     2                       (coefficients AND window) is bit j
//
// All planes of a key lie side by side, so a query reads w / 64 + 1 neighbouring blocks and answers all planes at
// once: eight in one AVX-512 vector, with a vector popcount. Where all shards have eight, a block is a cache line, and
// the loops that know this take two thirds of the time; so few shards that could have nine are left with eight.
//
// Fractions of a bit: the first `rich` shards have planes + 1 planes, the others have `planes` of them. Shards follow
// each other without gaps, only the first poor shard starts a new block, and at a cache line: 8 planes fill one. Block
// q begins at word q * (planes + 1) if it is one of the rich_blocks, and else at poor + q * planes.
//
// The table has one u32 a shard, and one more for the end of the last:
//
//   31                         8 7      0
//   +---------------------------+--------+      off: where the shard begins, less shard * step; 24 bits and a sign
//   |           off             |  seed  |      step: the slots of an average shard
//   +---------------------------+--------+
//
// so that one read of 8 bytes says where a shard begins and where the next one does. Sizes that stray from the average
// by 2^23 slots in all have no place (fits() says so). That takes keys that are not hashed, or thousands of keys that
// come 100,000 times each.
//
// Starts are not quite uniform: the first start stands for 3/8 w more values than the others, and so does the last. A
// band whose starts are uniform wastes the slots at its front, which few windows reach: 4000 keys, w = 128 and 1 % of
// slack took 1.57 seeds, but with piles at both ends 1.20 at 0.5 % and 1.05 at 1 %.
//
// Promises   may_contain is the same with every instruction set, one by one and in batches.
// Cost       one read of the table (cached: 2 bytes for 1000 keys), then w / 64 + 1 blocks of 8 * planes bytes.
// Source     Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate membership
//            using ribbon, 2022 (interleaved planes); end piles: "smash" in the ribbon filter of RocksDB.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/array.hpp"
#include "naysay/ribbon/detail/band.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/core/detail/shards.hpp"

namespace naysay {

// The equation of a key, as SplitBoth leaves it, in a shard of so many slots. Requires slots >= w.
//
// The coefficients are h, a bijection of lo for every seed. Start and bits come from the sum of h and the rest of hi,
// which is independent of h because the rest is: bits that were a linear function of the coefficients would be
// satisfied by every stranger. The upper 12 bits of the sum make the start, the 36 from bit 16 on are the bits; below,
// the rest of hi may lack what an even number of shards takes. Only multiplications that keep the low half are used,
// since vectors have no others.
template <unsigned w>
[[gnu::always_inline]] inline Equation<w> ribbon_equation(Digest key, std::uint32_t seed,
                                                          std::uint32_t slots) noexcept {
  constexpr std::uint32_t pile = 3 * w / 8;
  const std::uint64_t h = key.lo * (0x9e3779b97f4a7c15u + 2 * seed);
  const std::uint64_t sum = h + key.hi;
  const std::uint32_t last = slots - w;
  const auto at = fast_range32(static_cast<std::uint32_t>(sum >> 32), last + 1 + 2 * pile);
  Equation<w> e;
  e.start = std::min(std::max(at, pile) - pile, last);
  e.coefficients.word[0] = h | 1;
  if constexpr (w == 128) e.coefficients.word[1] = remix64(h + 0xe7037ed1a0b428dbu);
  e.bits = static_cast<std::uint32_t>(sum >> 16);
  return e;
}

// Where a key's window lies and what it must hold.
struct RibbonProbe {
  const std::uint64_t* block;
  std::array<std::uint64_t, 2> coefficients;
  std::uint32_t bits;
  std::uint32_t planes;
  std::uint32_t shift;  // of the window in its first block
};

namespace ribbon::detail {

template <unsigned w>
std::array<std::uint64_t, w / 64 + 1> masks(const RibbonProbe& p) noexcept {
  Coefficients<w> c;
  for (unsigned i = 0; i < w / 64; ++i) c.word[i] = p.coefficients[i];
  return c.shifted(p.shift);
}
// The last block that is read. A window that begins its block ends before this one, and then its mask is 0.
template <unsigned w>
const std::uint64_t* last_block(const RibbonProbe& p) noexcept {
  return p.block + p.planes * std::size_t{w / 64};
}

template <unsigned w>
bool test_scalar(const RibbonProbe& p) noexcept {
  const auto mask = masks<w>(p);
  const std::uint64_t* last = last_block<w>(p);
  std::uint32_t bits = p.bits;
  for (unsigned j = 0; j < p.planes; ++j, bits >>= 1) {
    std::uint64_t product = (p.block[j] & mask[0]) ^ (last[j] & mask[w / 64]);
    if constexpr (w == 128) product ^= p.block[p.planes + j] & mask[1];
    if ((static_cast<std::uint32_t>(__builtin_parityll(product)) ^ bits) & 1) return false;
  }
  return true;
}

#if NAYSAY_X86
// Four words from p on, of which those beyond `count` are 0 and not read.
NAYSAY_TARGET(NAYSAY_AVX2) inline __m256i load256(const std::uint64_t* p, unsigned count) noexcept {
  alignas(64) static constexpr std::int64_t kLanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
  if (count >= 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i lanes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLanes + 4 - count));
  return _mm256_maskload_epi64(reinterpret_cast<const long long*>(p), lanes);
}

// Up to four words from p on, less those beyond `count`, AND mask.
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
// bits that has bit x set if x is odd in ones.
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

// Windows AND coefficients, eight side by side: an odd number of ones in a lane is a bit of the answer. The windows
// begin `shift` slots (modulo 64) behind the w / 64 + 1 blocks whose words are words(0), words(1) ...
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
  // No way out before the end: nobody can guess the answer, least of all a branch predictor.
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
// The product of the low halves: a third of the work of a product of 64 bits.
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

// Eight probes, computed side by side.
template <unsigned w>
struct alignas(64) EightProbes {
  // What is known once the shards are.
  std::uint64_t shard[8], rest[8], entries[8];
  // What is known once their entries of the table are.
  const std::uint64_t* block[8];
  std::uint64_t bits[8];
  std::uint64_t shift[8];
  std::uint64_t coefficients[w / 64][8];
  // Only if not all keys have eight planes.
  std::uint64_t planes[8];
  const std::uint64_t* end[8];   // the last word of the window
  const std::uint64_t* tail[8];  // block, for the last planes of the richest: a key that has none of them reads its
                                 // first planes in their place, since those have been fetched

  // Byte i is 0 if no plane says no to key i. Requires eight planes for every key.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t wrong() const noexcept {
    return odd([&](unsigned i) { return block[i]; }, [](unsigned) { return 8; }, 0xff) ^ low_bytes(load(bits));
  }
  // The same of the planes from `first` on, up to eight of them, where the richest key has `most` planes in all.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t
      wrong(unsigned first, unsigned most) const noexcept {
    if (most == first + 1) return wrong_in(first);
    const auto& from = most <= first + 8 ? tail : block;
    const auto at = [&](unsigned i) { return from[i] + first; };
    const auto planes_of = [&](unsigned i) { return planes[i]; };
    const std::uint64_t found = most >= first + 8
                                    ? odd(at, planes_of, 0xff)
                                    : odd(at, planes_of, static_cast<__mmask8>(_bzhi_u32(0xff, most - first)));
    const Lanes asked = (one_each << (load(planes) - first)) - 1;  // shifts of 64 and more give 0
    return (found ^ low_bytes(load(bits) >> first)) & low_bytes(asked);
  }

 private:
  static constexpr Lanes one_each = {1, 1, 1, 1, 1, 1, 1, 1};

  // Of one plane, where the lanes are the keys.
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) std::uint64_t wrong_in(unsigned plane) const noexcept {
    const auto words = [&](unsigned k) __attribute__((always_inline, target(NAYSAY_AVX512))) {
      const auto word = [&](unsigned i) { return tail[i][plane + k * planes[i]]; };
      return (__m512i)Lanes{word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)};
    };
    const __m512i windows = products512<w>(words, (__m512i)load(shift), (__m512i)load(coefficients[0]),
                                           (__m512i)load(coefficients[w / 64 - 1]));
    const auto wanted = _mm512_test_epi64_mask((__m512i)load(bits), (__m512i)(one_each << plane));
    const auto asked = _mm512_cmpgt_epu64_mask((__m512i)load(planes), everywhere(plane));
    return static_cast<std::uint64_t>(
        _mm_cvtsi128_si64(_mm_movm_epi8(static_cast<__mmask16>((odd512(windows) ^ wanted) & asked))));
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
#endif

template <unsigned w>
void test_all(std::span<const RibbonProbe> probes, std::uint8_t* out) noexcept {
#if NAYSAY_X86
  if (simd() >= Simd::avx2) return test_all_avx2<w>(probes, out);
#endif
  for (std::size_t i = 0; i < probes.size(); ++i) out[i] = test_scalar<w>(probes[i]);
}

template <unsigned w>
bool test(const RibbonProbe& p) noexcept {
#if NAYSAY_X86
  if (simd() == Simd::avx512) return test_avx512<w>(p);
  if (simd() == Simd::avx2) return test_avx2<w>(p);
#endif
  return test_scalar<w>(p);
}

}  // namespace ribbon::detail

class RibbonPlanes {
 public:
  static constexpr unsigned kMaxPlanes = 32;                          // the bits of an equation
  static constexpr std::uint64_t kFew = 64;                           // of so many shards may lack a ninth plane
  static constexpr std::uint32_t kMaxSlots = std::uint32_t{1} << 17;  // of a shard; more is no shard of hashed keys

  // One shard's piece of the words.
  struct Place {
    std::uint64_t slot;  // the first
    std::uint32_t slots;
    std::uint32_t seed;
    std::uint32_t planes;
    std::uint64_t words;  // before block 0 of its kind, if there were one
  };

  // Whether the table can say where shards of these sizes lie.
  static bool fits(std::span<const std::uint32_t> sizes) noexcept {
    const std::uint64_t step = step_of(sizes);
    std::uint64_t end = 0;
    for (std::uint64_t s = 0; s < sizes.size(); ++s) {
      end += sizes[s];
      const auto off = static_cast<std::int64_t>(end - (s + 1) * step);
      if (off < -kMaxOff || off + 64 > kMaxOff) return false;
    }
    return true;
  }

  // How many planes the shards have.
  struct Mix {
    unsigned planes = 0;     // of every shard
    std::uint64_t rich = 0;  // so many of the first have one more; fewer than there are shards
    friend auto operator<=>(const Mix&, const Mix&) = default;
  };
  // So many planes on average, or slightly more.
  static Mix mix_of(double planes, std::uint64_t shards) noexcept {
    const double most = std::clamp(planes, 0.0, double{kMaxPlanes}), whole = std::floor(most);
    const auto rich = static_cast<std::uint64_t>(std::ceil((most - whole) * static_cast<double>(shards)));
    return rich < shards ? Mix{static_cast<unsigned>(whole), rich} : Mix{static_cast<unsigned>(whole) + 1, 0};
  }
  // The most planes for which shards of these sizes take no more than so many bits. {0, 0}, no planes, if none fit.
  static Mix fit(std::span<const std::uint32_t> sizes, double bits) {
    const std::uint64_t shards = sizes.size();
    std::vector<std::uint64_t> before(shards + 1, 0);
    for (std::uint64_t s = 0; s < shards; ++s) before[s + 1] = before[s] + sizes[s];
    const auto fit = [&](Mix mix) {
      const std::uint64_t rich = words_for_bits(before[mix.rich]),
                          poor = words_for_bits(before[shards] - before[mix.rich] + 1);
      const std::uint64_t words = poor_words(rich) + (rich + poor) * mix.planes + (rich != 0);
      return static_cast<double>(bits_of_fields(RibbonPlanes{}) + table_bits(shards) + 64 * words) <= bits;
    };
    Mix mix;
    while (mix.planes < kMaxPlanes && fit({mix.planes + 1, 0})) ++mix.planes;
    if (mix.planes == kMaxPlanes) return mix;
    std::uint64_t low = 0, high = shards;  // low fits or is 0, high is one plane more for all
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (fit({mix.planes, middle}) ? low : high) = middle;
    }
    mix.rich = low;
    return mix;
  }

  // The whole budget; and in a small filter, where whole windows and blocks cost more than that, as many planes as the
  // budget would buy in a large one, as long as they fit into `fixed` bits more. But eight planes for all, which are
  // asked faster (has_eight_planes()), rather than nine for less than 1 / kFew of the shards.
  static Mix fit(std::span<const std::uint32_t> sizes, double bits, double fixed, double planes) {
    const Mix most = std::max(fit(sizes, bits), std::min(mix_of(planes, sizes.size()), fit(sizes, bits + fixed)));
    return most.planes == 8 && most.rich < divide_up(sizes.size(), kFew) ? Mix{8, 0} : most;
  }

  // No planes at all: accepts everything.
  RibbonPlanes() = default;
  bool is_absent() const noexcept { return shards_ == 0; }

  // Zeroed planes for shards of these sizes. Requires width 64 or 128, width <= each size <= kMaxSlots - 64,
  // fits(sizes), and mix.rich < sizes.size(). The last rich shard may get up to 63 slots more than it asked for.
  RibbonPlanes(unsigned width, Mix mix, std::span<const std::uint32_t> sizes)
      : table_(sizes.size() + 1),
        shards_(sizes.size()),
        rich_(mix.rich),
        width_(width),
        planes_(mix.planes),
        step_(step_of(sizes)) {
    std::uint64_t end = 0;
    for (std::uint64_t s = 0; s < shards_; ++s) {
      end += sizes[s];
      if (s + 1 == rich_) {  // it gets the slots up to the end of its block
        rich_blocks_ = words_for_bits(end);
        end = rich_blocks_ * 64;
      }
      table_.at_mut(s + 1) = static_cast<std::uint32_t>((end - (s + 1) * step_) << 8);
    }
    // The block of slot `end` is there too: a window that begins its block reads the next one. And a vector reads a
    // plane more than a poor shard has.
    poor_ = poor_words(rich_blocks_);
    words_ = Array<std::uint64_t>(poor_ + words_for_bits(end + 1) * planes_ + (rich_ != 0));
  }

  static std::uint64_t table_bits(std::uint64_t shards) noexcept { return 32 * (shards + 1); }

  // On average over the shards. Requires !is_absent().
  double mean_planes() const noexcept { return planes_ + static_cast<double>(rich_) / static_cast<double>(shards_); }

  [[gnu::always_inline]] Place place(std::uint64_t shard) const noexcept {
    const auto [slot, slots, seed] = entry(shard);
    const bool is_rich = shard < rich_;
    return {slot, slots, seed, planes_ + is_rich, is_rich ? 0 : poor_};
  }
  void set_seed(std::uint64_t shard, std::uint32_t seed) noexcept {
    assert(seed < 256);
    std::uint32_t& own = table_.at_mut(shard);
    own = (own & ~std::uint32_t{0xff}) | seed;
  }

  // Puts a solved shard in its place: blocks as Band::solve writes them, with phase place(shard).slot % 64. Blocks at
  // both ends may be shared with the neighbours, who may be at work on another thread.
  void put(std::uint64_t shard, std::span<const std::uint64_t> blocks) noexcept {
    const Place at = place(shard);
    std::uint64_t* to = words_.mutable_data() + at.words + at.slot / 64 * at.planes;
    assert(blocks.size() == words_for_bits(at.slot % 64 + at.slots) * at.planes);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i < at.planes || i + at.planes >= blocks.size())
        std::atomic_ref(to[i]).fetch_or(blocks[i], std::memory_order_relaxed);
      else
        to[i] = blocks[i];
    }
  }

  // The window of a key in `words`, where the shard lies at `at`.
  template <unsigned w>
  [[gnu::always_inline]] static RibbonProbe probe_at(const std::uint64_t* words, const Place& at, Digest key) noexcept {
    const Equation<w> e = ribbon_equation<w>(key, at.seed, at.slots);
    const std::uint64_t slot = at.slot + e.start;
    return probe_of(words + at.words + (slot >> 6) * at.planes, e, slot, at.planes);
  }

  // Requires !is_absent().
  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    if (simd() == Simd::avx512) return width_ == 64 ? one_avx512<64>(d) : one_avx512<128>(d);
    if (simd() == Simd::avx2) return width_ == 64 ? one_avx2<64>(d) : one_avx2<128>(d);
#endif
    return width_ == 64 ? one_scalar<64>(d) : one_scalar<128>(d);
  }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
#if NAYSAY_X86
    if (simd() == Simd::avx512) return width_ == 64 ? ask_avx512<64>(keys, out) : ask_avx512<128>(keys, out);
#endif
    width_ == 64 ? ask<64>(keys, out) : ask<128>(keys, out);
  }

  // A stranger falls into any shard with the same chance.
  double expected_fpr() const noexcept {
    const double poor = std::exp2(-static_cast<double>(planes_));
    return is_absent() ? 1.0 : poor * (1 - 0.5 * static_cast<double>(rich_) / static_cast<double>(shards_));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("width", self.width_);
    visit("planes", self.planes_);
    visit("shards", self.shards_);
    visit("rich", self.rich_);
    visit("rich_blocks", self.rich_blocks_);
    visit("poor", self.poor_);
    visit("step", self.step_);
    visit("table", self.table_);
    visit("words", self.words_);
  }

  // Every window of every shard lies inside the words.
  Result<Ok> validate(std::string_view who) const {
    const auto corrupt = [&](std::string what) {
      return Error{Errc::corrupt, std::string(who) + ": " + std::move(what)};
    };
    if (is_absent() && table_.empty() && words_.empty()) return Ok{};
    if (width_ != 64 && width_ != 128) return corrupt("width is " + std::to_string(width_) + "; it must be 64 or 128");
    if (planes_ > kMaxPlanes - (rich_ != 0))
      return corrupt(std::to_string(planes_) + " planes; there must be at most " + std::to_string(kMaxPlanes));
    if (shards_ == 0 || shards_ > kMaxShards || rich_ >= shards_ || table_.size() != shards_ + 1)
      return corrupt(std::to_string(shards_) + " shards, " + std::to_string(rich_) +
                     " of them rich, do not make a table of " + std::to_string(table_.size()) + " words");
    if (step_ > kMaxSlots) return corrupt("step is " + std::to_string(step_) + "; a shard has fewer slots");
    if (rich_blocks_ > words_.size())
      return corrupt("rich_blocks is " + std::to_string(rich_blocks_) + "; there are fewer words");
    if (poor_ != poor_words(rich_blocks_))
      return corrupt("poor is " + std::to_string(poor_) + "; it must be " + std::to_string(poor_words(rich_blocks_)));
    for (std::uint64_t s = 0; s < shards_; ++s) {
      const Entry at = entry(s);
      const std::uint64_t slot = at.slot, slots = at.slots;
      const auto refuse = [&] {
        return corrupt("shard " + std::to_string(s) + " has " + std::to_string(slots) + " slots from " +
                       std::to_string(slot) + " on; they must be " + std::to_string(width_) +
                       " or more and lie inside the words");
      };
      if (slots < width_ || slots > kMaxSlots || slot / 64 > 0xffffffff) return refuse();
      const std::uint64_t first = slot / 64, last = (slot + slots - 1) / 64;
      const bool is_rich = s < rich_;
      if (is_rich != (first < rich_blocks_) || is_rich != (last < rich_blocks_)) return refuse();
      if (poor_ + words_for_bits(slot + slots + 1) * planes_ + (rich_blocks_ != 0) > words_.size()) return refuse();
    }
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kMaxShards = 0xffffffff;
  static constexpr std::int64_t kMaxOff = (1 << 23) - 1;
  static constexpr std::size_t kSecondLevelWords = (256 << 10) / 8;  // so many lie in every second-level cache
  static constexpr std::size_t kThirdLevelWords = (4 << 20) / 8;     // ... in most third-level caches
  // Groups of eight windows in flight. Eight planes: 3 took 1.18 times as long at 10 MB. Others read more lines each.
  static constexpr std::size_t kEights = 7, kOtherEights = 3;
  static constexpr std::size_t kChunk = 16;  // twice as many windows in flight as a core can have misses open

  static std::uint32_t step_of(std::span<const std::uint32_t> sizes) noexcept {
    std::uint64_t all = 0;
    for (std::uint32_t size : sizes) all += size;
    return static_cast<std::uint32_t>(all / std::max<std::uint64_t>(1, sizes.size()));
  }

  // Before block 0 of the poor ones, if there were one: what the planes that they lack would take, and up to a cache
  // line.
  static std::uint64_t poor_words(std::uint64_t rich_blocks) noexcept {
    return divide_up(rich_blocks, kCacheLine / 8) * (kCacheLine / 8);
  }

  struct Entry {
    std::uint64_t slot;
    std::uint32_t slots, seed;
  };
  [[gnu::always_inline]] Entry entry(std::uint64_t shard) const noexcept {
    const std::uint64_t both = load_u64(table_.data() + shard);  // its own, and the next one's
    const std::int64_t off = static_cast<std::int32_t>(both) >> 8, next = static_cast<std::int64_t>(both) >> 40;
    return {shard * step_ + static_cast<std::uint64_t>(off), step_ + static_cast<std::uint32_t>(next - off),
            static_cast<std::uint32_t>(both & 0xff)};
  }

  template <unsigned w>
  [[gnu::always_inline]] static RibbonProbe probe_of(const std::uint64_t* block, const Equation<w>& e,
                                                     std::uint64_t slot, std::uint32_t planes) noexcept {
    RibbonProbe p;
    p.block = block;
    p.coefficients[0] = e.coefficients.word[0];
    p.coefficients[1] = e.coefficients.word[w / 64 - 1];
    p.bits = e.bits;
    p.planes = planes;
    p.shift = static_cast<std::uint32_t>(slot & 63);
    return p;
  }

  unsigned most_planes() const noexcept { return planes_ + (rich_blocks_ != 0); }
  bool has_eight_planes() const noexcept { return planes_ == 8 && rich_blocks_ == 0; }  // a cache line, in every block

  // Arithmetic and one read of the table. Requires eight_planes == has_eight_planes() or eight_planes == false.
  template <unsigned w, bool eight_planes = false>
  [[gnu::always_inline]] RibbonProbe probe(Digest d) const noexcept {
    const auto [shard, key] = SplitBoth{}(d, shards_);
    const auto [begin, slots, seed] = entry(shard);
    const Equation<w> e = ribbon_equation<w>(key, seed, slots);
    const std::uint64_t slot = begin + e.start, q = slot >> 6;
    if constexpr (eight_planes) return probe_of(words_.data() + q * 8, e, slot, 8);
    const bool is_rich = q < rich_blocks_;
    const std::uint64_t planes = planes_ + is_rich;
    return probe_of(words_.data() + q * planes + (is_rich ? 0 : poor_), e, slot, static_cast<std::uint32_t>(planes));
  }
  template <unsigned w>
  [[gnu::noinline]] bool one_scalar(Digest d) const noexcept {
    return ribbon::detail::test_scalar<w>(probe<w>(d));
  }

#if NAYSAY_X86
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX2)
  bool one_avx2(Digest d) const noexcept {
    return ribbon::detail::test_avx2<w>(probe<w>(d));
  }
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX512)
  bool one_avx512(Digest d) const noexcept {
    if (has_eight_planes()) return ribbon::detail::wrong512<w>(probe<w, true>(d), 0, 8, 0xff) == 0;
    return one_of_any_avx512<w>(d);
  }
  template <unsigned w>
  [[gnu::noinline]] NAYSAY_TARGET(NAYSAY_AVX512) bool one_of_any_avx512(Digest d) const noexcept {
    return ribbon::detail::test_avx512<w>(probe<w>(d));
  }
#endif

  // Windows are fetched one chunk ahead of the one that is tested, so their misses overlap each other and the tests.
  template <unsigned w>
  void ask(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    std::array<std::array<RibbonProbe, kChunk>, 2> ring;
    const auto fetch = [&](std::size_t i, auto& probes) {
      const std::size_t count = std::min(keys.size() - i, kChunk);
      for (std::size_t j = 0; j < count; ++j) {
        probes[j] = probe<w>(keys[i + j]);
        const std::uint64_t* end = probes[j].block + probes[j].planes * (w / 64 + 1);
        for (const std::uint64_t* line = probes[j].block; line < end; line += kCacheLine / sizeof *line)
          __builtin_prefetch(line);
        __builtin_prefetch(end - 1);
      }
      return count;
    };
    std::size_t turn = 0, i = 0, count = fetch(0, ring[0]);
    while (count != 0) {
      const std::size_t next = fetch(i + count, ring[turn ^ 1]);
      ribbon::detail::test_all<w>(std::span(ring[turn]).first(count), out + i);
      i += count;
      count = next;
      turn ^= 1;
    }
  }

#if NAYSAY_X86
  // probe() of eight keys side by side, operation by operation, in two steps. First SplitBoth{}(d, shards_) and the
  // reads of entry(); one by one, since a gather instruction takes several times as long on machines that mend a leak
  // of it.
  template <unsigned w>
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) void split_eight(
      const Digest* keys, ribbon::detail::EightProbes<w>& out) const noexcept {
    using namespace ribbon::detail;
    const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
    const auto hi = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), more);
    constexpr Lanes kZero = {};
    const Lanes low = multiply32(hi, kZero + shards_), high = multiply32(hi >> 32, kZero + shards_);
    store(out.rest, low + (high << 32));
    store(out.shard, (high + (low >> 32)) >> 32);
    for (unsigned i = 0; i < 8; ++i) out.entries[i] = load_u64(table_.data() + out.shard[i]);
  }
  // Then the equation and the place.
  template <unsigned w, bool eight_planes>
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) void probe_eight(
      const Digest* keys, ribbon::detail::EightProbes<w>& out) const noexcept {
    using namespace ribbon::detail;
    constexpr Lanes kZero = {};
    const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
    const auto lo = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), more);
    const Lanes both = load(out.entries);
    const Lanes off = (Lanes)((SignedLanes)(both << 32) >> 40), next = (Lanes)((SignedLanes)both >> 40);
    const Lanes last = (next - off) + (step_ - std::uint64_t{w});

    constexpr std::uint64_t pile = 3 * w / 8;
    const Lanes h = lo * (2 * (both & 0xff) + 0x9e3779b97f4a7c15u), sum = h + load(out.rest);
    const Lanes at = multiply32(sum >> 32, last + (1 + 2 * pile)) >> 32;
    const Lanes start = least(most(at, kZero + pile) - pile, last);
    const Lanes slot = multiply32(load(out.shard), kZero + step_) + off + start, q = slot >> 6;

    const Lanes words = kZero + reinterpret_cast<std::uintptr_t>(words_.data());
    if constexpr (eight_planes) {
      store(out.block, words + (q << 6));
    } else {
      const auto is_rich = (Lanes)(q < kZero + rich_blocks_);  // all ones or none
      const Lanes planes = planes_ - is_rich;
      const Lanes block = words + 8 * (multiply32(q, planes) + (poor_ & ~is_rich));
      const std::uint64_t last_eight = (most_planes() - 1) / 8 * 8;
      store(out.block, block);
      store(out.planes, planes);
      store(out.end, block + planes * (w / 8 + 8) - 8);
      store(out.tail, planes > kZero + last_eight ? block : block - 8 * last_eight);
    }
    store(out.bits, sum >> 16);
    store(out.shift, slot);
    store(out.coefficients[0], h | 1);
    if constexpr (w == 128) store(out.coefficients[1], remix(h + 0xe7037ed1a0b428dbu));
  }
  // Eight planes: to the second level, since into the first batches took 1.2 times as long at 10 and 100 MB, and no less
  // at 1 MB. Others: into the first, and of a filter that the third level can hold only the lines in which blocks begin;
  // with every line of the windows batches took 1.1 times as long at 2 MB, and without them 1.2 times at 10 MB.
  template <unsigned w, bool eight_planes>
  [[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) void fetch_eight(
      const ribbon::detail::EightProbes<w>& eight) const noexcept {
    constexpr int kLevel = eight_planes ? 2 : 3;
    const bool large = words_.size() > kThirdLevelWords;
    const unsigned words = (eight_planes ? 8 : planes_) * (w / 64 + 1);
    const unsigned step = eight_planes || large ? kCacheLine / 8 : planes_;
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned at = 0; at < words; at += step) __builtin_prefetch(eight.block[i] + at, 0, kLevel);
      if (!eight_planes && large) __builtin_prefetch(eight.end[i], 0, kLevel);
    }
  }

  // As ask(), eight probes at a time, in a ring: one group is split, the one before it probed and fetched, and the one
  // kFlight before that tested.
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX512)
  void ask_avx512(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    has_eight_planes() ? ask_eights<w, true>(keys, out) : ask_eights<w, false>(keys, out);
    for (std::size_t i = keys.size() / 8 * 8; i < keys.size(); ++i) out[i] = one_avx512<w>(keys[i]);
  }
  template <unsigned w, bool eight_planes>
  NAYSAY_TARGET(NAYSAY_AVX512)
  void ask_eights(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    constexpr std::size_t kFlight = eight_planes ? kEights : kOtherEights;
    std::array<ribbon::detail::EightProbes<w>, kFlight + 1> ring;
    const std::size_t eights = keys.size() / 8;
    const unsigned most = most_planes();
    const bool fetches = words_.size() > kSecondLevelWords;
    for (std::size_t i = 0; i < eights + 1 + kFlight; ++i) {
      if (i > kFlight) {
        const auto& eight = ring[i % (kFlight + 1)];
        std::uint64_t wrong = 0;
        if constexpr (eight_planes)
          wrong = eight.wrong();
        else
          for (unsigned first = 0; first < most; first += 8) wrong |= eight.wrong(first, most);
        const __m128i yes = _mm_cmpeq_epi8(_mm_cvtsi64_si128(static_cast<long long>(wrong)), _mm_setzero_si128());
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 8 * (i - 1 - kFlight)), _mm_and_si128(yes, _mm_set1_epi8(1)));
      }
      if (i < eights) split_eight<w>(keys.data() + 8 * i, ring[i % (kFlight + 1)]);
      if (i > 0 && i <= eights) {
        auto& eight = ring[(i - 1) % (kFlight + 1)];
        probe_eight<w, eight_planes>(keys.data() + 8 * (i - 1), eight);
        if (fetches) fetch_eight<w, eight_planes>(eight);
      }
    }
  }
#endif

  Array<std::uint32_t> table_;
  Array<std::uint64_t> words_;
  std::uint64_t shards_ = 0;
  std::uint64_t rich_ = 0;
  std::uint64_t rich_blocks_ = 0;
  std::uint64_t poor_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t planes_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace naysay
