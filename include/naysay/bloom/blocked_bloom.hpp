// SPDX-License-Identifier: Apache-2.0
// BlockedBloom: a Bloom filter in which the k bits of a key lie in one cache line. A few vector operations test them.
//
// The array is divided into blocks of one cache line, and each block into k parts. A key has one bit in each part of
// one block.
//
//   lo --> the block: one of m blocks of 512 bits         hi --> a bit in each of its parts
//
//   block   | word 0 | word 1 | word 2 | word 3 | word 4 | word 5 | word 6 | word 7 |
//   k = 8       1        1        1        1        1        1        1        1       a bit of each 64
//   k = 4      (    1    )       (    1    )       (    1    )       (    1    )       a bit of each 128
//   k = 16     1   1    1   1    1   1    1   1    1   1    1   1    1   1    1   1    a bit of each 32
//
//   paper     here
//   B         512 bits: the cache line
//   k         k_: 4, 8 or 16, by default the best for bits_per_key
//   -         a part: 512 / k bits, in which a key has exactly one bit ("split block")
//
// The positions are bits of the digest, without a multiplication (k = 8: six bits of hi for each part). k = 16 needs 80
// bits: the last 20 are the low end of lo, whose high end selects the block. So the rate does not grow with n.
//
// Promises   never denies a key it was built from or given by insert.
// Does not   erase keys. It never refuses an insert, but every insert raises the false-positive rate.
// Cost       Insert and query read one cache line; batches overlap the misses. Blocks fill unevenly, so the filter
//            needs more bits than Bloom: 5 % more for a rate of 1 %, 9 % for 0.1 %, 20 % for 0.01 %
//            (bloom::split_block_bits_per_key against bloom::bits_per_key).
// Source     F. Putze, P. Sanders, J. Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007, section 3; the
//            split into parts as in Broder and Mitzenmacher: Network Applications of Bloom Filters, 2004, section 2.1.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

class BlockedBloom {
 public:
  struct Params {
    double bits_per_key = 11;
    std::uint32_t k = 0;  // 4, 8 or 16; 0: the best for bits_per_key

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
    }
  };

  static constexpr Claims kClaims = {
      .about = "the fastest: one cache line per query, dynamic, somewhat larger than a Bloom filter",
  };

  static double bits_per_key(double fpr) { return bloom::split_block_bits_per_key(fpr, kBlockBits); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<BlockedBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k != 0 && !is_k(p.k))
      return Error{Errc::invalid_argument,
                   "blocked-bloom: k is " + std::to_string(p.k) + "; it must be 4, 8 or 16, or 0 for the best"};
    BlockedBloom f;
    f.k_ = p.k != 0 ? p.k : bloom::split_block_best_k(p.bits_per_key, kBlockBits);
    f.words_ = Array<std::uint64_t>(divide_up(budget_bits(p.bits_per_key, o.room(w)), kBlockBits) * kWords);
    for (std::size_t i = 0; i < w.keys.size(); i += kTellEvery) {
      if (!o.tell("blocked-bloom: setting bits", i, w.keys.size())) return cancelled_error("blocked-bloom");
      f.insert(w.keys.subspan(i, std::min<std::size_t>(kTellEvery, w.keys.size() - i)));
    }
    return f;
  }

  template <Simd known = kCompiledFor>
  bool insert(Digest d) noexcept {
    std::uint64_t* block = words_.mutable_data() + kWords * block_index(d);
#if NAYSAY_X86
    if (simd<known>() == Simd::avx512) return add_avx512(block, d), true;
#endif
    add_scalar(block, d);
    return true;
  }

  struct Probe {
    const std::uint64_t* block;
    Digest d;
  };
  Probe probe(Digest d) const noexcept {
    const std::uint64_t* block = block_of(d);
    __builtin_prefetch(block);
    return {block, d};
  }
  template <Simd known = kCompiledFor>
  bool test(Probe p) const noexcept {
#if NAYSAY_X86
    if (simd<known>() == Simd::avx512) return test_avx512(p.block, p.d);
    if (simd<known>() == Simd::avx2) return test_avx2(p.block, p.d);
#endif
    return test_scalar(p.block, p.d);
  }
  template <Simd known = kCompiledFor>
  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    if (simd<known>() == Simd::avx512) return query_avx512(d);
    if (simd<known>() == Simd::avx2) return query_avx2(d);
#endif
    return test_scalar(block_of(d), d);
  }

  // The batch loop of core/filter.hpp would call test() for each key; here the whole loop is compiled for the machine.
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
#if NAYSAY_X86
    if (simd() == Simd::avx512) return query_avx512(keys, out);
    if (simd() == Simd::avx2) return query_avx2(keys, out);
#endif
    for_each_block(keys, [&](std::size_t i, const std::uint64_t* block) { out[i] = test_scalar(block, keys[i]); });
  }

  // Exact for the bits that are set: a stranger's bits in the parts of a block are independent, so a block accepts with
  // the product of the parts' shares of set bits, and every block is equally likely.
  double expected_fpr() const noexcept {
    double sum = 0;
    const std::uint64_t blocks = words_.size() / kWords;
    const std::uint64_t seen = for_each_sampled(blocks, std::uint64_t{1} << 15, 1, [&](std::uint64_t block) {
      const std::uint64_t at = block * kWords;
      const auto ones = [&](unsigned i) { return static_cast<double>(std::popcount(words_[at + i])); };
      const auto low_ones = [&](unsigned i) {
        return static_cast<double>(std::popcount(words_[at + i] & low_mask(32)));
      };
      double all = 1;
      for (unsigned i = 0; i < kWords; ++i) {
        if (k_ == 8) all *= ones(i) / 64;
        if (k_ == 4 && i % 2 == 0) all *= (ones(i) + ones(i + 1)) / 128;
        if (k_ == 16) all *= low_ones(i) / 32 * ((ones(i) - low_ones(i)) / 32);
      }
      sum += all;
    });
    return seen == 0 ? 0.0 : sum / static_cast<double>(seen);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("k", self.k_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    if (!is_k(k_)) return Error{Errc::corrupt, "blocked-bloom: k is " + std::to_string(k_) + "; it must be 4, 8 or 16"};
    if (words_.empty() || words_.size() % kWords != 0)
      return Error{Errc::corrupt,
                   "blocked-bloom: " + std::to_string(words_.size()) +
                       " words do not make blocks; they must be 8 for each block, and at least one block"};
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kWords = 8, kBlockBits = 64 * kWords;

  static bool is_k(std::uint32_t k) noexcept { return k == 4 || k == 8 || k == 16; }

  std::uint64_t block_index(Digest d) const noexcept { return fast_range(d.lo, words_.size() / kWords); }
  const std::uint64_t* block_of(Digest d) const noexcept { return words_.data() + kWords * block_index(d); }

  // Where the bits of word i come from: x = source >> (i * step), and then
  //   k = 8    bit x mod 64
  //   k = 4    bit x mod 128 of the pair of words, x the same for both
  //   k = 16   bit x mod 32, and bit 32 + (x / 32) mod 32; words 6 and 7 get x from lo
  static std::uint64_t mask_of(Digest d, unsigned i, std::uint32_t k) noexcept {
    if (k == 8) return std::uint64_t{1} << ((d.hi >> (6 * i)) & 63);
    if (k == 4) {
      const std::uint64_t bit = (d.hi >> (7 * (i / 2))) & 127;
      return bit / 64 == i % 2 ? std::uint64_t{1} << (bit & 63) : 0;
    }
    const std::uint64_t x = i < 6 ? d.hi >> (10 * i) : d.lo >> (10 * (i - 6));
    return (std::uint64_t{1} << (x & 31)) | (std::uint64_t{1} << (32 + ((x >> 5) & 31)));
  }
  bool test_scalar(const std::uint64_t* block, Digest d) const noexcept {
    std::uint64_t missing = 0;
    for (unsigned i = 0; i < kWords; ++i) missing |= mask_of(d, i, k_) & ~block[i];
    return missing == 0;
  }

  void add_scalar(std::uint64_t* block, Digest d) const noexcept {
    for (unsigned i = 0; i < kWords; ++i) block[i] |= mask_of(d, i, k_);
  }

  // Calls body(i, block of keys[i]). The block was prefetched kAhead keys earlier.
  template <class Body>
  [[gnu::always_inline]] void for_each_block(std::span<const Digest> keys, Body body) const noexcept {
    const std::size_t n = keys.size(), warm = n - std::min(n, kAhead);
    for (std::size_t i = 0; i < std::min(n, kAhead); ++i) __builtin_prefetch(block_of(keys[i]));
    for (std::size_t i = 0; i < warm; ++i) {
      __builtin_prefetch(block_of(keys[i + kAhead]));
      body(i, block_of(keys[i]));
    }
    for (std::size_t i = warm; i < n; ++i) body(i, block_of(keys[i]));
  }

  void insert(std::span<const Digest> keys) noexcept {
    std::uint64_t* words = words_.mutable_data();
#if NAYSAY_X86
    if (simd() == Simd::avx512) return insert_avx512(keys, words);
#endif
    for_each_block(keys,
                   [&](std::size_t i, const std::uint64_t* block) { add_scalar(words + (block - words), keys[i]); });
  }

#if NAYSAY_X86
  // For the vector variants with k = 4 and 8: x = (hi >> shift) & mask ^ flip; a shift by 64 or more leaves no bit.
  struct Lanes {
    alignas(64) std::uint64_t shift[kWords], flip[kWords];
    std::uint64_t mask;
  };
  static constexpr Lanes kLanes[2] = {{{0, 6, 12, 18, 24, 30, 36, 42}, {0, 0, 0, 0, 0, 0, 0, 0}, 63},
                                      {{0, 0, 7, 7, 14, 14, 21, 21}, {0, 64, 0, 64, 0, 64, 0, 64}, 127}};
  alignas(64) static constexpr std::uint64_t kShift16[kWords] = {0, 10, 20, 30, 40, 50, 0, 10};

  // maskz with all lanes on: GCC 12 warns of an uninitialised register inside the plain forms (its bug 105593).
  NAYSAY_TARGET(NAYSAY_AVX512) static __m512i mask_avx512(Digest d, std::uint32_t k) noexcept {
    const __m512i one = _mm512_set1_epi64(1), hi = _mm512_set1_epi64(static_cast<long long>(d.hi));
    if (k == 8) [[likely]]  // a rotation reduces its count modulo 64 itself
      return _mm512_maskz_rolv_epi64(0xff, one, _mm512_maskz_srlv_epi64(0xff, hi, _mm512_load_si512(kLanes[0].shift)));
    if (k == 4) {
      const __m512i x = _mm512_and_si512(_mm512_maskz_srlv_epi64(0xff, hi, _mm512_load_si512(kLanes[1].shift)),
                                         _mm512_set1_epi64(static_cast<long long>(kLanes[1].mask)));
      return _mm512_maskz_sllv_epi64(0xff, one, _mm512_xor_si512(x, _mm512_load_si512(kLanes[1].flip)));
    }
    const __m512i source = _mm512_mask_set1_epi64(hi, 0xc0, static_cast<long long>(d.lo));
    const __m512i x = _mm512_maskz_srlv_epi64(0xff, source, _mm512_load_si512(kShift16)), m = _mm512_set1_epi64(31);
    const __m512i y = _mm512_maskz_srli_epi64(0xff, x, 5), high_one = _mm512_set1_epi64(1ll << 32);
    return _mm512_or_si512(_mm512_maskz_sllv_epi64(0xff, one, _mm512_and_si512(x, m)),
                           _mm512_maskz_sllv_epi64(0xff, high_one, _mm512_and_si512(y, m)));
  }
  NAYSAY_TARGET(NAYSAY_AVX512) bool test_avx512(const std::uint64_t* block, Digest d) const noexcept {
    const __m512i mask = mask_avx512(d, k_);
    if (k_ == 8) [[likely]]
      return _mm512_testn_epi64_mask(mask, _mm512_loadu_si512(block)) == 0;  // a bit in every word
    return _mm512_cmpneq_epi64_mask(_mm512_and_si512(mask, _mm512_loadu_si512(block)), mask) == 0;
  }
  NAYSAY_TARGET(NAYSAY_AVX512) bool query_avx512(Digest d) const noexcept { return test_avx512(block_of(d), d); }
  NAYSAY_TARGET(NAYSAY_AVX512) void query_avx512(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    for_each_block(keys, [&](std::size_t i, const std::uint64_t* block)
                             NAYSAY_TARGET(NAYSAY_AVX512) { out[i] = test_avx512(block, keys[i]); });
  }
  NAYSAY_TARGET(NAYSAY_AVX512) void add_avx512(std::uint64_t* block, Digest d) const noexcept {
    _mm512_storeu_si512(block, _mm512_or_si512(_mm512_loadu_si512(block), mask_avx512(d, k_)));
  }
  NAYSAY_TARGET(NAYSAY_AVX512) void insert_avx512(std::span<const Digest> keys, std::uint64_t* words) const noexcept {
    for_each_block(keys, [&](std::size_t i, const std::uint64_t* block)
                             NAYSAY_TARGET(NAYSAY_AVX512) { add_avx512(words + (block - words), keys[i]); });
  }

  NAYSAY_TARGET(NAYSAY_ONLY_AVX2) static __m256i mask_avx2(Digest d, unsigned half, std::uint32_t k) noexcept {
    const __m256i one = _mm256_set1_epi64x(1), hi = _mm256_set1_epi64x(static_cast<long long>(d.hi));
    const auto load = [half](const std::uint64_t* p) NAYSAY_TARGET(NAYSAY_ONLY_AVX2) {
      return _mm256_load_si256(reinterpret_cast<const __m256i*>(p + 4 * half));
    };
    if (k != 16) {
      const Lanes& lanes = kLanes[k == 4];
      const __m256i x = _mm256_and_si256(_mm256_srlv_epi64(hi, load(lanes.shift)),
                                         _mm256_set1_epi64x(static_cast<long long>(lanes.mask)));
      return _mm256_sllv_epi64(one, _mm256_xor_si256(x, load(lanes.flip)));
    }
    const __m256i lo = _mm256_set1_epi64x(static_cast<long long>(d.lo)), m = _mm256_set1_epi64x(31);
    const __m256i source = half == 0 ? hi : _mm256_blend_epi32(hi, lo, 0xf0);
    const __m256i x = _mm256_srlv_epi64(source, load(kShift16));
    return _mm256_or_si256(
        _mm256_sllv_epi64(one, _mm256_and_si256(x, m)),
        _mm256_sllv_epi64(_mm256_set1_epi64x(1ll << 32), _mm256_and_si256(_mm256_srli_epi64(x, 5), m)));
  }
  NAYSAY_TARGET(NAYSAY_ONLY_AVX2) bool test_avx2(const std::uint64_t* block, Digest d) const noexcept {
    const auto* halves = reinterpret_cast<const __m256i*>(block);
    const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(_mm256_loadu_si256(halves), mask_avx2(d, 0, k_)),
                                            _mm256_andnot_si256(_mm256_loadu_si256(halves + 1), mask_avx2(d, 1, k_)));
    return _mm256_testz_si256(missing, missing);
  }
  NAYSAY_TARGET(NAYSAY_ONLY_AVX2) bool query_avx2(Digest d) const noexcept { return test_avx2(block_of(d), d); }
  NAYSAY_TARGET(NAYSAY_ONLY_AVX2) void query_avx2(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    for_each_block(keys, [&](std::size_t i, const std::uint64_t* block)
                             NAYSAY_TARGET(NAYSAY_ONLY_AVX2) { out[i] = test_avx2(block, keys[i]); });
  }
#endif

  Array<std::uint64_t> words_;
  std::uint32_t k_ = 0;
};

static_assert(DynamicFilter<BlockedBloom> && TunableFilter<BlockedBloom> && ProbedFilter<BlockedBloom>);
static_assert(BatchFilter<BlockedBloom>);

}  // namespace naysay
