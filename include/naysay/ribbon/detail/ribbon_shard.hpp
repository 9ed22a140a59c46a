// SPDX-License-Identifier: Apache-2.0
// RibbonShard: solves one shard of a ribbon, in its own memory, which fits a cache.
//
//   keys --band(seed)--> rows --solve(planes)--> blocks --RibbonLayout::put--> the filter
//             |
//             +-- the equations of two keys contradict each other: next seed
//
// A key is what SplitBoth (core/detail/shards.hpp) leaves of a digest.
//
// Promises   After build() every key is accepted: each is queried before a seed is kept. The same keys, place and first
//            seed give the same blocks.
// Cost       20 bytes per slot for w = 128, 12 for w = 64, and the blocks; one shard at a time on each thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "naysay/ribbon/detail/band.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"

namespace naysay::ribbon::detail {

inline constexpr unsigned kRibbonSeeds = 256;  // the table of RibbonLayout has 8 bits for a seed

template <unsigned w>
class RibbonShard {
 public:
  explicit RibbonShard(const RibbonLayout::Place& place)
      : at_{place.slot % 64, place.slots, 0, place.planes, 0},
        blocks_(words_for_bits(at_.slot + at_.slots + 1) * place.planes) {}

  // Tries the seeds first, first + 1, ... modulo kRibbonSeeds until one works. False if none does. Plane 0 refuses the
  // digests in `others` (which must not be keys); each of them needs a slot, as a key does.
  bool build(std::span<const Digest> keys, std::span<const Digest> others, std::uint32_t first) {
    for (tries_ = 1; tries_ <= kRibbonSeeds; ++tries_)
      if (band(keys, others, (first + tries_ - 1) % kRibbonSeeds)) {
        solve(0, at_.planes);
        if (accepts_all(keys) && accepts_none(others)) return true;
      }
    return false;
  }

  // Eliminates the equations of the keys, and for the others the equations with negated bits. False if some contradict
  // each other under this seed.
  bool band(std::span<const Digest> keys, std::span<const Digest> others, std::uint32_t seed) {
    at_.seed = seed;
    band_.reset(at_.slots);
    const auto n = static_cast<std::uint32_t>(keys.size()), all = n + static_cast<std::uint32_t>(others.size());
    const auto planes = static_cast<std::uint32_t>(low_mask(others.empty() ? at_.planes : 1));
    if (!band_.add_all(
            all, planes, [&](std::uint32_t i) __attribute__((always_inline)) {
              Equation<w> e = ribbon_equation<w>(i < n ? keys[i] : others[i - n], seed, at_.slots);
              if (i >= n) e.bits = ~e.bits;
              return e;
            }))
      return false;
    // Random bits in the free slots: with zeros, a window with many free slots would accept too many strangers.
    for (std::uint32_t i = 0; i < at_.slots; ++i)
      if (band_.is_free(i)) band_.set_free(i, free_bits(i));
    return true;
  }
  std::uint32_t free_bits(std::uint32_t slot) const noexcept {
    return static_cast<std::uint32_t>(mix64((std::uint64_t{at_.seed} << 32) + slot));
  }
  void solve(unsigned first, unsigned count) {
    band_.solve(first, count, static_cast<unsigned>(at_.slot), at_.planes, blocks_.data() + first);
  }

  bool accepts(Digest key) const noexcept { return test<w>(probe_at<w>(blocks_.data(), at_, key)); }
  bool accepts_all(std::span<const Digest> keys) const noexcept {
    bool all = true;
    for (Digest key : keys) all &= accepts(key);
    return all;
  }

  bool accepts_none(std::span<const Digest> others) const noexcept {
    bool any = false;
    for (Digest other : others) any |= accepts(other);
    return !any;
  }
  // Whether one plane accepts a key, for builders that fill the planes one by one; accepts() tests all of them.
  bool accepts_in(unsigned plane, const Equation<w>& e) const noexcept {
    const std::uint64_t slot = at_.slot + e.start;
    const auto mask = e.coefficients.shifted(slot % 64);
    const std::uint64_t* word = blocks_.data() + slot / 64 * at_.planes + plane;
    std::uint64_t product = (word[0] & mask[0]) ^ (word[at_.planes * std::size_t{w / 64}] & mask[w / 64]);
    if constexpr (w == 128) product ^= word[at_.planes] & mask[1];
    return (static_cast<std::uint32_t>(__builtin_parityll(product)) ^ (e.bits >> plane) ^ 1) & 1;
  }
  Equation<w> equation(Digest key) const noexcept { return ribbon_equation<w>(key, at_.seed, at_.slots); }
  Band<w>& rows() noexcept { return band_; }

  unsigned planes() const noexcept { return at_.planes; }
  std::uint32_t seed() const noexcept { return at_.seed; }
  unsigned tries() const noexcept { return tries_; }
  std::span<const std::uint64_t> blocks() const noexcept {
    return std::span(blocks_).first(words_for_bits(at_.slot + at_.slots) * at_.planes);
  }

 private:
  RibbonLayout::Place at_;             // inside blocks_
  std::vector<std::uint64_t> blocks_;  // and, as in RibbonLayout, the block of the slot after the last
  Band<w> band_;
  unsigned tries_ = 0;
};

}  // namespace naysay::ribbon::detail
