// SPDX-License-Identifier: Apache-2.0
// RibbonProbe: where the window of a key lies and what it must hold, and the scalar code that tests it.
//
//   digest --SplitBoth--> shard, rest of the digest --table of RibbonLayout--> first slot, slots, seed
//                                     |
//                                     +--ribbon_equation(seed, slots)--> start, w coefficients, one bit per plane
//
//   block           0                 1                 2
//           +-----+-----+---  +-----+-----+---  +-----+-----+---    64 slots of plane 0, the same 64 of plane 1, ...
//   start --------> 0110|   |   1101|     |       |     |     |     "maybe" if in every plane j the parity of
//             plane 0  1  2     0     1     2                       (coefficients AND window) is bit j
//
// Starts are not quite uniform: the first start stands for 3/8 w more values than the others, and so does the last. A
// band with uniform starts wastes the slots at its front, which few windows reach.
//
// Source     Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate membership
//            using ribbon, 2022 (interleaved planes); more starts at both ends: "smash" in the ribbon filter of
//            RocksDB.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "naysay/core/bits.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/ribbon/detail/band.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"

namespace naysay::ribbon::detail {

// The equation of a key, as SplitBoth leaves it, in a shard of `slots` slots. Requires slots >= w.
//
// The coefficients are h, a bijection of lo for every seed. Start and bits come from the sum of h and the rest of hi,
// which is independent of h because the rest is. (If the bits were a linear function of the coefficients, every
// stranger would satisfy its equation.) The upper 12 bits of the sum make the start, the 36 from bit 16 on are the
// bits. The bits below 16 are not used: with an even number of shards the rest of hi has no information there. Only
// multiplications that keep the low half are used, since vectors have no others.
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

template <unsigned w>
std::array<std::uint64_t, w / 64 + 1> masks(const RibbonProbe& p) noexcept {
  Coefficients<w> c;
  for (unsigned i = 0; i < w / 64; ++i) c.word[i] = p.coefficients[i];
  return c.shifted(p.shift);
}
// The last block that is read. If the window begins its block, it ends before this one, and the mask here is 0.
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

template <unsigned w>
[[gnu::always_inline]] inline RibbonProbe probe_of(const std::uint64_t* block, const Equation<w>& e, std::uint64_t slot,
                                                   std::uint32_t planes) noexcept {
  RibbonProbe p;
  p.block = block;
  p.coefficients[0] = e.coefficients.word[0];
  p.coefficients[1] = e.coefficients.word[w / 64 - 1];
  p.bits = e.bits;
  p.planes = planes;
  p.shift = static_cast<std::uint32_t>(slot & 63);
  return p;
}

// The window of a key in `words`, where the shard lies at `at`.
template <unsigned w>
[[gnu::always_inline]] inline RibbonProbe probe_at(const std::uint64_t* words, const RibbonLayout::Place& at,
                                                   Digest key) noexcept {
  const Equation<w> e = ribbon_equation<w>(key, at.seed, at.slots);
  const std::uint64_t slot = at.slot + e.start;
  return probe_of(words + at.words + (slot >> 6) * at.planes, e, slot, at.planes);
}

// The window of a key in a filter: arithmetic and one read of the table. Requires !f.is_absent(), and
// f.has_eight_planes() if eight_planes.
template <unsigned w, bool eight_planes = false>
[[gnu::always_inline]] inline RibbonProbe probe(const RibbonLayout& f, Digest d) noexcept {
  const auto [shard, key] = SplitBoth{}(d, f.shards());
  const auto [begin, slots, seed] = f.entry(shard);
  const Equation<w> e = ribbon_equation<w>(key, seed, slots);
  const std::uint64_t slot = begin + e.start, q = slot >> 6;
  if constexpr (eight_planes) return probe_of(f.words() + q * 8, e, slot, 8);
  const bool is_rich = q < f.rich_blocks();
  const std::uint64_t planes = f.planes() + is_rich;
  return probe_of(f.words() + q * planes + (is_rich ? 0 : f.poor()), e, slot, static_cast<std::uint32_t>(planes));
}

}  // namespace naysay::ribbon::detail
