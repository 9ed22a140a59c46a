// SPDX-License-Identifier: Apache-2.0
// RibbonSolver: the shards of a plain ribbon, all of them or a range.
//
//   keys of every shard --place--> RibbonLayout, zeros --solve--> its shards first .. first + n - 1 are filled
//
// Promises   The same keys and seed give the same words, on any number of threads and in whatever ranges.
// Cost       one elimination per key; 16 bytes of scratch memory per key of a group (core/detail/shards.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/detail/shards.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"

namespace naysay::ribbon::detail {

// What the planes may cost, as RibbonLayout::fit has it.
struct RibbonRoom {
  double bits = 0, fixed = 0, planes = 0;
};

template <unsigned width>
class RibbonSolver {
 public:
  static constexpr RibbonSizes sizes() noexcept { return {width, RibbonFit::quick}; }

  // Shards of this many keys, with the planes that there is room for; absent if there are none.
  static Result<RibbonLayout> place(std::span<const std::uint64_t> counts, const RibbonRoom& room,
                                    Zeros zeros = Zeros::dense) {
    std::vector<std::uint32_t> slots(counts.size());
    for (std::size_t s = 0; s < counts.size(); ++s)
      slots[s] =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(sizes().slots(counts[s]), RibbonLayout::kMaxSlots - 64));
    const auto mix = RibbonLayout::fit(slots, room.bits, room.fixed, room.planes);
    if (mix == RibbonLayout::Mix{}) return RibbonLayout{};
    if (!RibbonLayout::fits(slots))
      return Error{Errc::build_failed, "ribbon: the shards differ too much in size; are the digests well mixed?"};
    return RibbonLayout(width, mix, slots, zeros);
  }

  // Fills the shards from `first` on that have this many keys each. Other keys are ignored.
  static Result<Ok> solve(RibbonLayout& layout, std::span<const Digest> keys, std::span<const std::uint64_t> counts,
                          std::uint64_t first, const BuildOptions& o) {
    std::vector<std::uint8_t> seeds(counts.size());
    std::atomic<std::uint64_t> retried{0}, failed{0};
    ShardsDone done(o, "ribbon: solving shards", counts.size());
    for_each_shard(
        keys, counts, o.threads,
        [&](std::uint64_t i, std::span<const Digest> own) {
          if (o.cancelled()) return;
          const std::uint64_t s = first + i;
          RibbonShard<width> shard(layout.place(s));
          if (shard.build(own, {}, static_cast<std::uint32_t>(mix64(o.seed ^ s) % kRibbonSeeds))) {
            layout.put(s, shard.blocks());
            seeds[i] = static_cast<std::uint8_t>(shard.seed());
            retried.fetch_add(shard.tries() - 1, std::memory_order_relaxed);
          } else {
            failed.fetch_add(1, std::memory_order_relaxed);
          }
          done.one_more();
        },
        SplitFrom<SplitBoth>{{}, layout.shards(), first});
    NAYSAY_CHECK(o.go_on("ribbon"));
    if (failed != 0)
      return Error{Errc::build_failed, "ribbon: " + std::to_string(failed) + " of " + std::to_string(counts.size()) +
                                           " shards have no solution; are the digests well mixed?"};
    for (std::uint64_t i = 0; i < counts.size(); ++i) layout.set_seed(first + i, seeds[i]);
    o.say("shards", static_cast<double>(counts.size()));
    o.say("shards retried", static_cast<double>(retried));
    return Ok{};
  }

  // All shards of these keys; absent if there is room for no planes.
  static Result<RibbonLayout> build(std::span<const Digest> keys, const RibbonRoom& room, const BuildOptions& o) {
    const auto counts = shard_counts(keys, sizes().shards(keys.size()), SplitByHi{}, o.threads);
    NAYSAY_TRY(RibbonLayout layout, place(counts, room));
    if (!layout.is_absent()) NAYSAY_CHECK(solve(layout, keys, counts, 0, o));
    return layout;
  }
};

}  // namespace naysay::ribbon::detail
