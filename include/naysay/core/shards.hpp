// Shards: static filters that are solved (xor, fuse, ribbon) are solved in pieces that fit a cache.
//
//   digest.hi --fast_range--> shard           digest.lo --> everything inside the shard
//
//   keys    |a c b a d c ...|      one pass counts, then a few passes gather
//              v   v
//   group   |a a a ...|c c ...|    the shards of one group, their keys' lo words side by side
//              |         |
//             body(a)  body(c)     on any number of threads, each shard on its own
//
// Because a shard sees only lo, two keys with the same lo in one shard are the same key to the filter.
//
// Promises   body(shard, los) is called exactly once for every shard, empty ones included; los belongs to body and
//            may be reordered; each shard's keys come in the order of the input, for any number of threads.
// Cost       8 bytes of scratch per key of the largest group: all keys at once up to kGroupKeys, a third of them
//            beyond, which is three sequential passes over the digests and under 3 bytes a key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/core/parallel.hpp"

namespace naysay {

inline std::uint64_t shard_of(Digest d, std::uint64_t shards) noexcept { return fast_range(d.hi, shards); }

inline constexpr std::uint64_t kGroupKeys = std::uint64_t{1} << 22;

// Calls body(shard, std::span<std::uint64_t> los). Requires shards >= 1.
template <class Body>
void for_each_shard(std::span<const Digest> keys, std::uint64_t shards, unsigned threads, Body&& body) {
  std::vector<std::uint64_t> start(shards + 1, 0);  // within its group
  for (const Digest& d : keys) ++start[shard_of(d, shards) + 1];
  const std::uint64_t limit = std::max<std::uint64_t>(kGroupKeys, divide_up(keys.size(), 3));
  // for_overwrite: pages that a small last group never touches are never made
  std::unique_ptr<std::uint64_t[]> scratch;
  std::uint64_t scratch_size = 0;
  for (std::uint64_t first = 0; first < shards;) {
    std::uint64_t last = first, total = 0;
    while (last < shards && (last == first || total + start[last + 1] <= limit)) total += start[++last];
    std::vector<std::uint64_t> offset(last - first + 1, 0);
    for (std::uint64_t s = first; s < last; ++s) offset[s - first + 1] = offset[s - first] + start[s + 1];
    if (scratch_size < total) {
      scratch.reset();
      scratch = std::make_unique_for_overwrite<std::uint64_t[]>(total);
      scratch_size = total;
    }
    std::vector<std::uint64_t> fill(offset.begin(), offset.end() - 1);
    for (const Digest& d : keys) {
      const std::uint64_t s = shard_of(d, shards) - first;  // wraps for shards before the group
      if (s < last - first) scratch[fill[s]++] = d.lo;
    }
    parallel_for(last - first, threads, [&](std::uint64_t s) {
      body(first + s, std::span<std::uint64_t>(scratch.get() + offset[s], scratch.get() + offset[s + 1]));
    });
    first = last;
  }
}

}  // namespace naysay
