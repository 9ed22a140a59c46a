// SPDX-License-Identifier: Apache-2.0
// Queries of a BumpedLayout and of the second ribbon, which holds the bumped keys: one key or a batch, with the
// instruction set of this machine.
//
//   may_contain(pair, key)     one key
//   may_contain(pair, keys)    many: windows are fetched ahead of the one that is tested
//
// A batch tests the window of every key, that of a bumped one too, since nobody knows before which these are. The bumped
// keys are noted, and the second ribbon answers for them afterwards, in a batch of its own.
//
// Promises   The answers are the same with every instruction set, one by one and in batches.
// Cost       One key: a multiplication, one byte of the thresholds, two neighbouring blocks of 8 * planes bytes; for 4 %
//            of the keys a query of the second ribbon instead. What finds the blocks depends on the key alone, so
//            their reads begin immediately.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "naysay/core/cpu.hpp"
#include "naysay/ribbon/detail/bumped_layout.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"

namespace naysay::ribbon::detail {

// The window of a key, whether it is bumped or not.
template <bool eight_planes = false>
[[gnu::always_inline]] inline RibbonProbe bumped_probe(const BumpedLayout& f, std::uint64_t lo,
                                                       const BumpedSpot& at) noexcept {
  const std::uint64_t h = lo * kBumpedFactor, q = at.start >> 6;
  RibbonProbe p;
  p.coefficients = {h | 1, h | 1};
  p.bits = bumped_bits(h, at.rest);
  p.shift = static_cast<std::uint32_t>(at.start & 63);
  if constexpr (eight_planes) {
    p.block = f.words() + q * 8;
    p.planes = 8;
  } else {
    const std::uint64_t is_rich = q < f.rich_blocks(), planes = f.planes() + is_rich;
    p.block = f.words() + q * planes + (f.poor() & (is_rich - 1));  // a choice with ?: would become a branch
    p.planes = static_cast<std::uint32_t>(planes);
  }
  return p;
}

// lo and hi are passed as two numbers in all functions for one key: GCC 12 builds a Digest in memory, and reading it
// back as a vector costs 20 ns. The two ribbons are passed as one, so that all fits into registers.
struct BumpedPair {
  BumpedLayout band;
  RibbonLayout second;
};

template <Simd known>
[[gnu::noinline]] bool second_one(const BumpedPair& f, std::uint64_t lo, std::uint64_t hi) noexcept {
  return may_contain<known>(f.second, bumped_digest(lo, hi));
}

// Bumped keys of a batch whose answers are still to come.
class BumpedQueue {
 public:
  static constexpr std::size_t kRoom = 256;

  BumpedQueue(const RibbonLayout& second, std::span<const Digest> keys, std::uint8_t* out) noexcept
      : second_(second), keys_(keys), out_(out) {}

  std::size_t size() const noexcept { return size_; }
  // Requires size() < kRoom.
  void add(std::size_t key) noexcept { waiting_[size_++] = key; }
  // Where up to 8 more are written. Requires size() <= kRoom - 8.
  std::uint64_t* end() noexcept { return waiting_.data() + size_; }
  void grow(std::size_t count) noexcept { size_ += count; }

  // Writes the answers for all that wait.
  [[gnu::noinline]] void answer() noexcept {
    std::array<Digest, kRoom> digests;
    std::array<std::uint8_t, kRoom> answers;
    for (std::size_t i = 0; i < size_; ++i) digests[i] = bumped_digest(keys_[waiting_[i]].lo, keys_[waiting_[i]].hi);
    may_contain(second_, std::span<const Digest>(digests).first(size_), answers.data());
    for (std::size_t i = 0; i < size_; ++i) out_[waiting_[i]] = answers[i];
    size_ = 0;
  }

 private:
  const RibbonLayout& second_;
  std::span<const Digest> keys_;
  std::uint8_t* out_;
  std::array<std::uint64_t, kRoom> waiting_;
  std::size_t size_ = 0;
};

[[gnu::noinline]] inline bool bumped_scalar(const BumpedPair& f, std::uint64_t lo, std::uint64_t hi) noexcept {
  const BumpedSpot at = bumped_spot(hi, f.band.slots());
  if (f.band.is_bumped(at.start)) [[unlikely]]
    return second_one<Simd::scalar>(f, lo, hi);
  return test_scalar<64>(bumped_probe(f.band, lo, at));
}

// In pieces that have no more bumped keys than the queue has room for.
inline void bumped_batch(const BumpedPair& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  BumpedQueue queue(f.second, keys, out);
  for (std::size_t first = 0; first < keys.size(); first += BumpedQueue::kRoom) {
    query_probes<64>(
        std::min(keys.size() - first, BumpedQueue::kRoom),
        [&](std::size_t i) {
          const BumpedSpot at = bumped_spot(keys[first + i].hi, f.band.slots());
          if (f.band.is_bumped(at.start)) [[unlikely]]
            queue.add(first + i);
          return bumped_probe(f.band, keys[first + i].lo, at);
        },
        out + first);
    queue.answer();
  }
}

#if NAYSAY_X86

NAYSAY_TARGET(NAYSAY_AVX2)
inline bool bumped_avx2(const BumpedPair& f, std::uint64_t lo, std::uint64_t hi) noexcept {
  const BumpedSpot at = bumped_spot(hi, f.band.slots());
  if (f.band.is_bumped(at.start)) [[unlikely]]
    return second_one<Simd::avx2>(f, lo, hi);
  return test_avx2<64>(bumped_probe(f.band, lo, at));
}

[[gnu::noinline]] NAYSAY_TARGET(NAYSAY_AVX512) inline bool bumped_any_avx512(const BumpedPair& f, std::uint64_t lo,
                                                                             std::uint64_t hi) noexcept {
  const BumpedSpot at = bumped_spot(hi, f.band.slots());
  if (f.band.is_bumped(at.start)) [[unlikely]]
    return second_one<Simd::avx512>(f, lo, hi);
  const RibbonProbe p = bumped_probe(f.band, lo, at);
  std::uint32_t wrong = wrong512<64>(p, 0, p.planes, _bzhi_u32(0xff, p.planes));
  // As often for poor keys as for rich ones: a branch on the planes of the key could not be predicted.
  for (unsigned first = 8; first < f.band.most_planes(); first += 8)
    wrong |= wrong512<64>(p, first, p.planes, _bzhi_u32(0xff, std::max(p.planes, first) - first));
  return wrong == 0;
}
// With eight planes: test_avx512(bumped_probe()) in the fewest instructions, which is what one key costs.
NAYSAY_TARGET(NAYSAY_AVX512)
inline bool bumped_avx512(const BumpedPair& f, std::uint64_t lo, std::uint64_t hi) noexcept {
  if (!f.band.has_eight_planes()) [[unlikely]]
    return bumped_any_avx512(f, lo, hi);
  const BumpedSpot at = bumped_spot(hi, f.band.slots());
  if (f.band.is_bumped(at.start)) [[unlikely]]
    return second_one<Simd::avx512>(f, lo, hi);
  const std::uint64_t h = lo * kBumpedFactor, *block = f.band.words() + at.start / 64 * 8;
  const __m512i window = _mm512_shrdv_epi64(_mm512_loadu_si512(block), _mm512_loadu_si512(block + 8),
                                            everywhere(at.start));  // shifts by the count modulo 64
  const __m512i ones = _mm512_popcnt_epi64(_mm512_and_si512(window, everywhere(h | 1)));
  const std::uint32_t odd = _mm512_movepi64_mask(_mm512_maskz_slli_epi64(0xff, ones, 63));
  return ((odd ^ bumped_bits(h, at.rest)) & 0xff) == 0;
}

// bumped_spot() of eight keys, and their thresholds; eight single reads, as in split_eight.
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline void spot_eight(const BumpedLayout& f, const Digest* keys,
                                                                           EightProbes<64>& out) noexcept {
  constexpr Lanes kZero = {};
  const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
  const auto hi = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), more);
  const Lanes low = multiply32(hi, kZero + f.slots()), high = multiply32(hi >> 32, kZero + f.slots());
  const Lanes start = (high + (low >> 32)) >> 32;
  store(out.rest, low + (high << 32));
  store(out.shard, start);
  alignas(64) std::uint64_t at[8];
  store(at, (start + (BumpedLayout::kWidth - 1)) / BumpedLayout::kStep);
  for (unsigned i = 0; i < 8; ++i) out.entries[i] = f.thresholds()[at[i]];
}
// bumped_probe() of eight keys. Returns which are bumped.
template <bool eight_planes>
[[gnu::always_inline]] NAYSAY_TARGET(NAYSAY_AVX512) inline __mmask8
    bumped_eight(const BumpedLayout& f, const Digest* keys, EightProbes<64>& out) noexcept {
  constexpr Lanes kZero = {};
  const __m512i some = _mm512_loadu_si512(keys), more = _mm512_loadu_si512(keys + 4);
  const auto lo = (Lanes)_mm512_permutex2var_epi64(some, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), more);
  const Lanes start = load(out.shard), h = lo * kBumpedFactor;
  place_eight<64, eight_planes>(f, start, out);
  store(out.bits, (h + load(out.rest)) >> 32);
  store(out.coefficients[0], h | 1);
  const Lanes x = start + (BumpedLayout::kWidth - 1), own = load(out.entries) >> (x >> 6 & 6) & 3;
  const Lanes level = (kZero + BumpedLayout::kLevels) >> 8 * own & 0xff;
  return _mm512_cmplt_epu64_mask((__m512i)(x % BumpedLayout::kBucket), (__m512i)level);
}

// As query_eights.
template <bool eight_planes>
NAYSAY_TARGET(NAYSAY_AVX512)
void bumped_eights(const BumpedLayout& f, std::span<const Digest> keys, std::uint8_t* out,
                   BumpedQueue& queue) noexcept {
  constexpr std::size_t kFlight = eight_planes ? kEights : kOtherEights;
  std::array<EightProbes<64>, kFlight + 1> ring;
  std::array<__mmask8, kFlight + 1> bumped;
  const std::size_t eights = keys.size() / 8;
  const unsigned most = f.most_planes();
  const bool fetches = f.word_count() > kSecondLevelWords;
  for (std::size_t i = 0; i < eights + 1 + kFlight; ++i) {
    const std::size_t turn = i % (kFlight + 1);
    if (i > kFlight) {
      const std::size_t first = 8 * (i - 1 - kFlight);
      test_eight<64, eight_planes>(ring[turn], most, out + first);
      const __m512i own = _mm512_add_epi64(everywhere(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
      _mm512_storeu_si512(queue.end(), _mm512_maskz_compress_epi64(bumped[turn], own));
      queue.grow(static_cast<unsigned>(__builtin_popcount(bumped[turn])));
      if (queue.size() > BumpedQueue::kRoom - 8) [[unlikely]]
        queue.answer();
    }
    if (i < eights) spot_eight(f, keys.data() + 8 * i, ring[turn]);
    if (i > 0 && i <= eights) {
      const std::size_t before = (i - 1) % (kFlight + 1);
      bumped[before] = bumped_eight<eight_planes>(f, keys.data() + 8 * (i - 1), ring[before]);
      if (fetches) fetch_eight<64, eight_planes>(f, ring[before]);
    }
  }
}
NAYSAY_TARGET(NAYSAY_AVX512)
inline void bumped_batch_avx512(const BumpedPair& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  BumpedQueue queue(f.second, keys, out);
  f.band.has_eight_planes() ? bumped_eights<true>(f.band, keys, out, queue)
                            : bumped_eights<false>(f.band, keys, out, queue);
  queue.answer();
  for (std::size_t i = keys.size() / 8 * 8; i < keys.size(); ++i) out[i] = bumped_avx512(f, keys[i].lo, keys[i].hi);
}

#endif

// Requires that neither is absent.
template <Simd known = kCompiledFor>
[[gnu::always_inline]] inline bool may_contain(const BumpedPair& f, Digest d) noexcept {
#if NAYSAY_X86
  if (simd<known>() == Simd::avx512) return bumped_avx512(f, d.lo, d.hi);
  if (simd<known>() == Simd::avx2) return bumped_avx2(f, d.lo, d.hi);
#endif
  return bumped_scalar(f, d.lo, d.hi);
}
inline void may_contain(const BumpedPair& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
#if NAYSAY_X86
  if (simd() == Simd::avx512) return bumped_batch_avx512(f, keys, out);
#endif
  bumped_batch(f, keys, out);
}

}  // namespace naysay::ribbon::detail
