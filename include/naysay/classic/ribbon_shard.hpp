// RibbonShard: solves one shard of a ribbon, in memory of its own that fits a cache.
//
//   keys --band(seed)--> rows --solve(planes)--> blocks --RibbonPlanes::put--> the filter
//             |
//             +-- the equations of two keys contradict each other: next seed
//
// Promises   after build() every key is accepted (each was asked again); the same keys, place and first seed give the
//            same blocks.
// Cost       24 bytes a slot for w = 128, 16 for w = 64, one shard at a time on each thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "naysay/classic/ribbon_planes.hpp"
#include "naysay/core/band.hpp"

namespace naysay {

inline constexpr unsigned kRibbonSeeds = 256;  // what the table of RibbonPlanes can name

template <unsigned w>
class RibbonShard {
 public:
  explicit RibbonShard(const RibbonPlanes::Place& place)
      : at_{place.slot % 64, place.slots, 0, place.planes, 0},
        blocks_(words_for_bits(at_.slot + at_.slots) * place.planes) {}

  // Tries seeds from `first` on, around the clock, until one works. False if none does.
  bool build(std::span<const std::uint64_t> keys, std::uint32_t first) {
    for (tries_ = 1; tries_ <= kRibbonSeeds; ++tries_)
      if (band(keys, (first + tries_ - 1) % kRibbonSeeds)) {
        solve(0, at_.planes);
        if (accepts_all(keys)) return true;
      }
    return false;
  }

  // Eliminates the keys' equations. False if two of them contradict each other under this seed.
  bool band(std::span<const std::uint64_t> keys, std::uint32_t seed) {
    at_.seed = seed;
    band_.reset(at_.slots);
    if (!band_.add_all(static_cast<std::uint32_t>(keys.size()), static_cast<std::uint32_t>(low_mask(at_.planes)),
                       [&](std::uint32_t i) __attribute__((always_inline)) { return ribbon_equation<w>(keys[i], seed, at_.slots); }))
      return false;
    // Random bits in the free slots: with zeros, a window that is mostly free would accept too many strangers.
    for (std::uint32_t i = 0; i < at_.slots; ++i)
      if (band_.is_free(i)) band_.set_free(i, static_cast<std::uint32_t>(mix64((std::uint64_t{seed} << 32) + i)));
    return true;
  }
  void solve(unsigned first, unsigned count) {
    band_.solve(first, count, static_cast<unsigned>(at_.slot), at_.planes, blocks_.data() + first);
  }

  bool accepts(std::uint64_t key) const noexcept {
    return ribbon_detail::test<w>(RibbonPlanes::probe_at<w>(blocks_.data(), at_, key));
  }
  bool accepts_all(std::span<const std::uint64_t> keys) const noexcept {
    bool all = true;
    for (std::uint64_t key : keys) all &= accepts(key);
    return all;
  }

  std::uint32_t seed() const noexcept { return at_.seed; }
  unsigned tries() const noexcept { return tries_; }
  std::span<const std::uint64_t> blocks() const noexcept { return blocks_; }

 private:
  RibbonPlanes::Place at_;  // inside blocks_
  std::vector<std::uint64_t> blocks_;
  Band<w> band_;
  unsigned tries_ = 0;
};

}  // namespace naysay
