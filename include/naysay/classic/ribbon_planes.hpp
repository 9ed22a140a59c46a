// RibbonPlanes: the solved shards of a ribbon, and the question. Plain and taught ribbons share it.
//
//   digest.hi --> shard --table--> first slot, slots, seed         digest.lo, seed --> start, w coefficients, bits
//
//   block           0                 1                 2
//           +-----+-----+---  +-----+-----+---  +-----+-----+---    64 slots of plane 0, the same 64 of plane 1, ...
//   start --------> 0110|   |   1101|     |       |     |     |     "maybe" if in every plane j the parity of
//             plane 0  1  2     0     1     2                       (coefficients AND window) is bit j
//
// All planes of a key lie side by side, so a query reads w / 64 + 1 neighbouring blocks and answers all planes at
// once: eight in one AVX-512 vector, with a vector popcount.
//
// Fractions of a bit: the first `rich` shards have planes + 1 planes, the others have `planes` of them. Shards follow
// each other without gaps (only the first poor shard starts a new block).
//
// The table is one cache line for 14 shards, 36.6 bits a shard, and is exact for any sizes:
//
//   u32      0          1            2           3                15
//         +-------+-----------+-----------+-----------+-----+------------+
//         | base  | 0  | base | end | seed| end | seed| ... | end | seed |     end: 24 bits, counted from base
//         +-------+-----------+-----------+-----------+-----+------------+     base: 40 bits, seed: 8 bits
//                              shard 0     shard 1            shard 13
//
// so that shard i of the line starts where u32 number i + 1 says and ends where number i + 2 says, without a case
// for the first.
//
// Starts are not quite uniform: the first start stands for 3/8 w more values than the others, and so does the last. A
// band whose starts are uniform wastes the slots at its front, which few windows reach: 4000 keys, w = 128 and 1 % of
// slack took 1.57 seeds, but with piles at both ends 1.20 at 0.5 % and 1.05 at 1 %.
//
// Promises   may_contain is the same with every instruction set, one by one and in batches.
// Cost       one read of the table (cached: 1.5 bytes for 1000 keys), then w / 64 + 1 blocks of 8 * planes bytes.
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
#include "naysay/core/band.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/core/shards.hpp"

namespace naysay {

// The equation of a key in a shard of so many slots. Requires slots >= w.
// All of it follows from one word h, a bijection of lo for every seed: the coefficients are h itself and its remix,
// start and bits come from the upper part of another product of h. Bits that were a linear function of the coefficients
// would be satisfied by every stranger; the carries of the product see to that. Only multiplications that keep the low
// half are used, since vectors have no others.
template <unsigned w>
[[gnu::always_inline]] inline Equation<w> ribbon_equation(std::uint64_t lo, std::uint32_t seed,
                                                          std::uint32_t slots) noexcept {
  constexpr std::uint32_t pile = 3 * w / 8;
  const std::uint64_t h = remix64(lo ^ (seed * 0xd6e8feb86659fd93u));
  const std::uint64_t product = h * 0xa0761d6478bd642fu;
  const std::uint32_t last = slots - w;
  const auto at = fast_range32(static_cast<std::uint32_t>(product >> 32), last + 1 + 2 * pile);
  Equation<w> e;
  e.start = std::min(std::max(at, pile) - pile, last);
  e.coefficients.word[0] = h | 1;
  if constexpr (w == 128) e.coefficients.word[1] = remix64(h + 0xe7037ed1a0b428dbu);
  e.bits = static_cast<std::uint32_t>(product >> 16);
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

namespace ribbon_detail {

template <unsigned w>
std::array<std::uint64_t, w / 64 + 1> masks(const RibbonProbe& p) noexcept {
  Coefficients<w> c;
  for (unsigned i = 0; i < w / 64; ++i) c.word[i] = p.coefficients[i];
  return c.shifted(p.shift);
}
// Words from the first block to block w / 64. A window that begins its block ends before that one, which then need
// not exist: the first is read in its place, and its mask is 0.
template <unsigned w>
std::size_t last_block(const RibbonProbe& p) noexcept {
  return p.shift != 0 ? p.planes * std::size_t{w / 64} : 0;
}

template <unsigned w>
bool test_scalar(const RibbonProbe& p) noexcept {
  const auto mask = masks<w>(p);
  const std::uint64_t* last = p.block + last_block<w>(p);
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
  __m256i x = _mm256_xor_si256(masked256(at, count, mask[0]), masked256(at + last_block<w>(p), count, mask[w / 64]));
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

NAYSAY_TARGET(NAYSAY_AVX512)
inline __m512i masked512(const std::uint64_t* p, __mmask8 lanes, std::uint64_t mask) noexcept {
  return _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, p), _mm512_set1_epi64(static_cast<long long>(mask)));
}

// Up to eight planes, one in each lane; most filters have no more. The i-th mask is mask[i * stride].
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
inline bool test_one_vector(const std::uint64_t* block, const std::uint64_t* last, std::size_t planes,
                            std::uint32_t bits, std::uint32_t lanes, const std::uint64_t* mask,
                            std::size_t stride) noexcept {
  const auto some = static_cast<__mmask8>(lanes);
  __m512i x = masked512(block, some, mask[0]);
  x = _mm512_xor_si512(x, masked512(last, some, mask[w / 64 * stride]));
  if constexpr (w == 128) x = _mm512_xor_si512(x, masked512(block + planes, some, mask[stride]));
  const std::uint32_t odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(x), _mm512_set1_epi64(1));
  return ((odd ^ bits) & lanes) == 0;
}

// Any number, eight at a time.
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
inline bool test_avx512(const std::uint64_t* block, const std::uint64_t* last, unsigned planes, std::uint32_t bits,
                        const std::uint64_t* mask, std::size_t stride) noexcept {
  std::uint32_t wrong = 0;  // no way out before the end: nobody can guess the answer, least of all a branch predictor
  for (unsigned j = 0; j < planes; j += 8, bits >>= 8) {
    const auto lanes = static_cast<__mmask8>(_bzhi_u32(0xff, planes - j));
    __m512i x = masked512(block + j, lanes, mask[0]);
    x = _mm512_xor_si512(x, masked512(last + j, lanes, mask[w / 64 * stride]));
    if constexpr (w == 128) x = _mm512_xor_si512(x, masked512(block + planes + j, lanes, mask[stride]));
    const std::uint32_t odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(x), _mm512_set1_epi64(1));
    wrong |= (odd ^ bits) & lanes;
  }
  return wrong == 0;
}
template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX512)
inline bool test_avx512(const RibbonProbe& p) noexcept {
  const auto mask = masks<w>(p);
  const std::uint64_t* last = p.block + last_block<w>(p);
  if (p.planes <= 8)
    return test_one_vector<w>(p.block, last, p.planes, p.bits, _bzhi_u32(0xff, p.planes), mask.data(), 1);
  return test_avx512<w>(p.block, last, p.planes, p.bits, mask.data(), 1);
}

template <unsigned w>
NAYSAY_TARGET(NAYSAY_AVX2)
void test_all_avx2(std::span<const RibbonProbe> probes, std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < probes.size(); ++i) out[i] = test_avx2<w>(probes[i]);
}

using Lanes = unsigned long long __attribute__((vector_size(64)));

// Eight plain loads: since 2023 a gather instruction takes several times as long, on machines that mend a leak of it.
NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes gather(const std::uint32_t* from, Lanes at) noexcept {
  const auto load = [&](int i) { return load_u64(from + at[i]); };
  return Lanes{load(0), load(1), load(2), load(3), load(4), load(5), load(6), load(7)};
}
NAYSAY_TARGET(NAYSAY_AVX512) inline Lanes remix(Lanes x) noexcept {  // remix64
  x *= 0x9e3779b97f4a7c15u;
  return x ^ (x >> 32);
}
template <class T>
NAYSAY_TARGET(NAYSAY_AVX512)
void store(T (&to)[8], Lanes x) noexcept {
  static_assert(sizeof(T) == 8);
  _mm512_store_si512(to, (__m512i)x);
}

// Eight probes, computed side by side.
template <unsigned w>
struct alignas(64) EightProbes {
  const std::uint64_t* block[8];
  const std::uint64_t* last[8];  // the last block that is needed
  std::uint64_t planes[8];
  std::uint64_t lanes[8];  // a bit for each plane
  std::uint64_t bits[8];   // of these
  std::uint64_t mask[w / 64 + 1][8];

  // Requires up to eight planes.
  NAYSAY_TARGET(NAYSAY_AVX512) bool test_one(unsigned j) const noexcept {
    return test_one_vector<w>(block[j], last[j], planes[j], static_cast<std::uint32_t>(bits[j]),
                              static_cast<std::uint32_t>(lanes[j]), &mask[0][j], 8);
  }
  NAYSAY_TARGET(NAYSAY_AVX512) bool test(unsigned j) const noexcept {
    return test_avx512<w>(block[j], last[j], static_cast<unsigned>(planes[j]), static_cast<std::uint32_t>(bits[j]),
                          &mask[0][j], 8);
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

}  // namespace ribbon_detail

class RibbonPlanes {
 public:
  static constexpr unsigned kMaxPlanes = 32;  // the bits of an equation
  static constexpr std::uint32_t kMaxSlots = std::uint32_t{1}
                                             << 20;  // of a shard; 14 of them fit the 24 bits of an end

  // One shard's piece of the words.
  struct Place {
    std::uint64_t slot;  // the first
    std::uint32_t slots;
    std::uint32_t seed;
    std::uint32_t planes;
    std::uint64_t words;  // before block 0 of its kind, if there were one
  };

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
    const auto fits = [&](Mix mix) {
      const std::uint64_t rich = words_for_bits(before[mix.rich]),
                          poor = words_for_bits(before[shards] - before[mix.rich]);
      const std::uint64_t words = rich * (mix.planes + 1) + poor * mix.planes;
      return static_cast<double>(bits_of_fields(RibbonPlanes{}) + table_bits(shards) + 64 * words) <= bits;
    };
    Mix mix;
    while (mix.planes < kMaxPlanes && fits({mix.planes + 1, 0})) ++mix.planes;
    if (mix.planes == kMaxPlanes) return mix;
    std::uint64_t low = 0, high = shards;  // low fits or is 0, high is one plane more for all
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (fits({mix.planes, middle}) ? low : high) = middle;
    }
    mix.rich = low;
    return mix;
  }

  // The whole budget; and in a small filter, where whole windows and blocks cost more than that, as many planes as the
  // budget would buy in a large one, as long as they fit into `fixed` bits more.
  static Mix fit(std::span<const std::uint32_t> sizes, double bits, double fixed, double planes) {
    return std::max(fit(sizes, bits), std::min(mix_of(planes, sizes.size()), fit(sizes, bits + fixed)));
  }

  // No planes at all: accepts everything.
  RibbonPlanes() = default;
  bool is_absent() const noexcept { return shards_ == 0; }

  // Zeroed planes for shards of these sizes. Requires width 64 or 128, width <= each size <= kMaxSlots - 64, and
  // mix.rich < sizes.size(). The last rich shard may get up to 63 slots more than it asked for.
  RibbonPlanes(unsigned width, Mix mix, std::span<const std::uint32_t> sizes)
      : table_(table_words(sizes.size())), shards_(sizes.size()), rich_(mix.rich), width_(width), planes_(mix.planes) {
    std::uint64_t end = 0, base = 0;
    for (std::uint64_t s = 0; s < shards_; ++s) {
      std::uint32_t* line = table_.mutable_data() + s / kLine * kLineWords;
      const std::uint64_t i = s % kLine;
      if (i == 0) {
        base = end;
        line[0] = static_cast<std::uint32_t>(base);
        line[1] = static_cast<std::uint32_t>(base >> 32);
      }
      end += sizes[s];
      if (s + 1 == rich_) {  // it gets the slots up to the end of its block
        rich_blocks_ = words_for_bits(end);
        end = rich_blocks_ * 64;
      }
      line[2 + i] = static_cast<std::uint32_t>((end - base) << 8);
    }
    words_ = Array<std::uint64_t>(rich_blocks_ + words_for_bits(end) * planes_);
  }

  static std::uint64_t table_bits(std::uint64_t shards) noexcept { return 32 * table_words(shards); }

  // On average over the shards. Requires !is_absent().
  double mean_planes() const noexcept { return planes_ + static_cast<double>(rich_) / static_cast<double>(shards_); }

  [[gnu::always_inline]] Place place(std::uint64_t shard) const noexcept {
    const std::uint64_t line = static_cast<std::uint32_t>(shard) / kLine;
    const std::uint64_t base = load_u64(table_.data() + line * kLineWords) & low_mask(40);
    const std::uint64_t ends =
        load_u64(table_.data() + 1 + line * (kLineWords - kLine) + shard);  // of the one before and its own
    const std::uint32_t begin = static_cast<std::uint32_t>(ends) >> 8, end = static_cast<std::uint32_t>(ends >> 40);
    const std::uint32_t is_rich = shard < rich_;
    return {base + begin, end - begin, static_cast<std::uint32_t>(ends >> 32) & 0xff, planes_ + is_rich,
            rich_blocks_ & (std::uint64_t{is_rich} - 1)};
  }
  void set_seed(std::uint64_t shard, std::uint32_t seed) noexcept {
    assert(seed < 256);
    std::uint32_t& own = table_.at_mut(shard / kLine * kLineWords + 2 + shard % kLine);
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
  [[gnu::always_inline]] static RibbonProbe probe_at(const std::uint64_t* words, const Place& at,
                                                     std::uint64_t lo) noexcept {
    const Equation<w> e = ribbon_equation<w>(lo, at.seed, at.slots);
    const std::uint64_t slot = at.slot + e.start;
    RibbonProbe p;
    p.block = words + at.words + (slot >> 6) * at.planes;
    for (unsigned i = 0; i < w / 64; ++i) p.coefficients[i] = e.coefficients.word[i];
    p.bits = e.bits;
    p.planes = at.planes;
    p.shift = static_cast<std::uint32_t>(slot & 63);
    return p;
  }

  // Requires !is_absent().
  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    if (simd() == Simd::avx512) return width_ == 64 ? one_avx512<64>(d) : one_avx512<128>(d);
    if (simd() == Simd::avx2) return width_ == 64 ? one_avx2<64>(d) : one_avx2<128>(d);
#endif
    return width_ == 64 ? ribbon_detail::test_scalar<64>(probe<64>(d)) : ribbon_detail::test_scalar<128>(probe<128>(d));
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
    if (shards_ == 0 || shards_ > kMaxShards || rich_ >= shards_ || table_.size() != table_words(shards_))
      return corrupt(std::to_string(shards_) + " shards, " + std::to_string(rich_) +
                     " of them rich, do not make a table of " + std::to_string(table_.size()) + " words");
    if (rich_blocks_ > words_.size())
      return corrupt("rich_blocks is " + std::to_string(rich_blocks_) + "; there are fewer words");
    for (std::uint64_t s = 0; s < shards_; ++s) {
      const Place at = place(s);
      const std::uint64_t end = words_for_bits(at.slot + at.slots);
      if (at.slots < width_ || at.slots > kMaxSlots || at.words + end * at.planes > words_.size())
        return corrupt("shard " + std::to_string(s) + " has " + std::to_string(at.slots) + " slots from " +
                       std::to_string(at.slot) + " on; they must be " + std::to_string(width_) +
                       " or more and lie inside the words");
    }
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kLine = 14, kLineWords = 16;
  static constexpr std::uint64_t kMaxShards = 0xffffffff;
  static constexpr std::size_t kEights = 3;  // groups of eight windows in flight
  static constexpr std::size_t kChunk = 16;  // twice as many windows in flight as a core can have misses open

  static std::uint64_t table_words(std::uint64_t shards) noexcept { return shards + 2 * divide_up(shards, kLine); }

  // Arithmetic and one read of the table.
  template <unsigned w>
  [[gnu::always_inline]] RibbonProbe probe(Digest d) const noexcept {
    return probe_at<w>(words_.data(), place(shard_of(d, shards_)), d.lo);
  }

#if NAYSAY_X86
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX2)
  bool one_avx2(Digest d) const noexcept {
    return ribbon_detail::test_avx2<w>(probe<w>(d));
  }
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX512)
  bool one_avx512(Digest d) const noexcept {
    return ribbon_detail::test_avx512<w>(probe<w>(d));
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
      ribbon_detail::test_all<w>(std::span(ring[turn]).first(count), out + i);
      i += count;
      count = next;
      turn ^= 1;
    }
  }

#if NAYSAY_X86
  // probe() of eight keys side by side, operation by operation. All products fit 64 bits, so the low halves will do.
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX512)
  void probe_eight(const Digest* keys, ribbon_detail::EightProbes<w>& out) const noexcept {
    using namespace ribbon_detail;
    constexpr Lanes kZero = {};
    const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
    const auto lo = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), more);
    const auto hi = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), more);

    // place(shard_of(d, shards_))
    const Lanes shard = ((hi >> 32) * shards_ + (((hi & 0xffffffff) * shards_) >> 32)) >> 32;
    const Lanes line = ((shard >> 1) * 0x92492493) >> 34;  // shard / kLine
    const Lanes base = gather(table_.data(), line * kLineWords) & 0xffffffffff;
    const Lanes ends =
        gather(table_.data() + 1, line * (kLineWords - kLine) + shard);  // where it starts; its end, its seed
    const Lanes begin = (ends & 0xffffffff) >> 8, slots = (ends >> 40) - begin, seed = (ends >> 32) & 0xff;
    const auto is_rich = (Lanes)(shard < kZero + rich_);  // all ones or none
    const Lanes planes = planes_ - is_rich;

    // ribbon_equation(lo, seed, slots)
    constexpr std::uint64_t pile = 3 * w / 8;
    const Lanes h = remix(lo ^ (seed * 0xd6e8feb86659fd93u)), product = h * 0xa0761d6478bd642fu;
    const Lanes at = ((product >> 32) * (slots - w + 1 + 2 * pile)) >> 32;
    const Lanes behind = (at > kZero + pile ? at : kZero + pile) - pile;
    const Lanes slot = base + begin + (behind < slots - w ? behind : slots - w);

    const Lanes shift = slot & 63, back = 63 - shift, near = h | 1;
    const Lanes block =
        reinterpret_cast<std::uintptr_t>(words_.data()) + 8 * ((rich_blocks_ & ~is_rich) + (slot >> 6) * planes);
    const Lanes lanes = ((kZero + 1) << planes) - 1;
    store(out.block, block);
    store(out.last, shift != kZero ? block + planes * (w / 8) : block);
    store(out.planes, planes);
    store(out.lanes, lanes);
    store(out.bits, (product >> 16) & lanes);
    store(out.mask[0], near << shift);
    if constexpr (w == 64) {
      store(out.mask[1], (near >> 1) >> back);
    } else {
      const Lanes far = remix(h + 0xe7037ed1a0b428dbu);
      store(out.mask[1], (far << shift) | ((near >> 1) >> back));
      store(out.mask[2], (far >> 1) >> back);
    }
  }

  // As ask(), eight probes at a time.
  template <unsigned w>
  NAYSAY_TARGET(NAYSAY_AVX512)
  void ask_avx512(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    std::array<ribbon_detail::EightProbes<w>, kEights> ring;
    const std::size_t eights = keys.size() / 8;
    const bool one_vector = planes_ + (rich_ != 0) <= 8;
    for (std::size_t i = 0; i < eights + kEights; ++i) {
      auto& eight = ring[i % kEights];
      if (i >= kEights) {
        std::uint8_t* to = out + 8 * (i - kEights);
        if (one_vector)
          for (unsigned j = 0; j < 8; ++j) to[j] = eight.test_one(j);
        else
          for (unsigned j = 0; j < 8; ++j) to[j] = eight.test(j);
      }
      if (i < eights) {
        probe_eight<w>(keys.data() + 8 * i, eight);
        for (unsigned j = 0; j < 8; ++j) {
          __builtin_prefetch(eight.block[j]);
          if constexpr (w == 128) __builtin_prefetch(eight.block[j] + eight.planes[j]);
          __builtin_prefetch(eight.last[j]);
        }
      }
    }
    for (std::size_t i = 8 * eights; i < keys.size(); ++i) out[i] = one_avx512<w>(keys[i]);
  }
#endif

  Array<std::uint32_t> table_;
  Array<std::uint64_t> words_;
  std::uint64_t shards_ = 0;
  std::uint64_t rich_ = 0;
  std::uint64_t rich_blocks_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t planes_ = 0;
};

}  // namespace naysay
