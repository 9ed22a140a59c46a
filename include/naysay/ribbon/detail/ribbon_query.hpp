// SPDX-License-Identifier: Apache-2.0
// Queries of a RibbonLayout: one key or a batch, with the instruction set of this machine.
//
//   test(probe)                  one window, for builders that check their own work
//   may_contain(layout, key)     one key
//   may_contain(layout, keys)    many: windows are fetched ahead of the one that is tested
//
// Promises   The answers are the same with every instruction set, one by one and in batches.
// Cost       One read of the table (2 bytes per 1000 keys, so it is cached), then w / 64 + 1 neighbouring blocks of
//            8 * planes bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "naysay/core/cpu.hpp"
#include "naysay/ribbon/detail/ribbon_probe.hpp"
#include "naysay/ribbon/detail/ribbon_simd.hpp"

namespace naysay::ribbon::detail {

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

inline constexpr std::size_t kChunk = 16;  // windows in flight; more misses than a core can have open at a time

template <unsigned w>
[[gnu::noinline]] bool one_scalar(const RibbonLayout& f, Digest d) noexcept {
  return test_scalar<w>(probe<w>(f, d));
}

// Windows are fetched one chunk ahead of the chunk that is tested, so cache misses overlap each other and the tests.
// probe_at(i) is the window of keys[i].
template <unsigned w, class Probing>
void query_probes(std::size_t keys, const Probing& probe_at, std::uint8_t* out) noexcept {
  std::array<std::array<RibbonProbe, kChunk>, 2> ring;
  const auto fetch = [&](std::size_t i, auto& probes) {
    const std::size_t count = std::min(keys - i, kChunk);
    for (std::size_t j = 0; j < count; ++j) {
      probes[j] = probe_at(i + j);
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
    test_all<w>(std::span(ring[turn]).first(count), out + i);
    i += count;
    count = next;
    turn ^= 1;
  }
}
template <unsigned w>
void query_batch(const RibbonLayout& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  query_probes<w>(
      keys.size(), [&](std::size_t i) { return probe<w>(f, keys[i]); }, out);
}

// Requires !f.is_absent().
template <Simd known = kCompiledFor>
bool may_contain(const RibbonLayout& f, Digest d) noexcept {
#if NAYSAY_X86
  if (simd<known>() == Simd::avx512) return f.width() == 64 ? one_avx512<64>(f, d) : one_avx512<128>(f, d);
  if (simd<known>() == Simd::avx2) return f.width() == 64 ? one_avx2<64>(f, d) : one_avx2<128>(f, d);
#endif
  return f.width() == 64 ? one_scalar<64>(f, d) : one_scalar<128>(f, d);
}
inline void may_contain(const RibbonLayout& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
#if NAYSAY_X86
  if (simd() == Simd::avx512) return f.width() == 64 ? query_avx512<64>(f, keys, out) : query_avx512<128>(f, keys, out);
#endif
  f.width() == 64 ? query_batch<64>(f, keys, out) : query_batch<128>(f, keys, out);
}

}  // namespace naysay::ribbon::detail
