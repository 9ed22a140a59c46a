// Shards: static filters that are solved (xor, fuse, ribbon) are solved in pieces that fit a cache.
//
//   split by hi     hi --fast_range--> shard            lo --> everything inside the shard
//   split by lo     lo * shards: the high word is the shard, the low word is for everything inside it, and hi is left
//                   alone; cheaper to ask, and enough hash for structures that need at most 50 bits inside a shard
//
//   keys    |a c b a d c ...|      one pass counts, then a few passes gather
//              v   v
//   group   |a a a ...|c c ...|    the shards of one group, the words of their keys side by side
//              |         |
//             body(a)  body(c)     on any number of threads, each shard on its own
//
// Because a shard sees only that word, two keys with the same word in one shard are the same key to the filter.
//
// Promises   body(shard, words) is called exactly once for every shard, empty ones included; words belongs to body and
//            may be reordered; each shard's keys come in the order of the input, for any number of threads.
// Cost       8 bytes of scratch per key of the largest group: all keys at once up to kGroupKeys, a quarter of them
//            beyond, which is a few sequential passes over the digests and 2 bytes a key.
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

// Where a key goes, and the word its shard sees of it.
struct Split {
  std::uint64_t shard, word;
};
struct SplitByHi {
  Split operator()(Digest d, std::uint64_t shards) const noexcept { return {shard_of(d, shards), d.lo}; }
};
struct SplitByLo {
  Split operator()(Digest d, std::uint64_t shards) const noexcept {
    const unsigned __int128 product = static_cast<unsigned __int128>(d.lo) * shards;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
  }
};

// How many keys each shard has, copies of one key counted. Requires shards >= 1.
template <class SplitBy = SplitByHi>
std::vector<std::uint64_t> shard_sizes(std::span<const Digest> keys, std::uint64_t shards, SplitBy split = {}) {
  if (shards == 1) return {keys.size()};
  std::vector<std::uint64_t> sizes(shards, 0);
  for (const Digest& d : keys) ++sizes[split(d, shards).shard];
  return sizes;
}

inline constexpr std::uint64_t kGroupKeys = std::uint64_t{1} << 21;
inline constexpr std::uint64_t kGroups = 4;

// Calls body(shard, std::span<std::uint64_t> words). Requires shards >= 1.
template <class Body, class SplitBy = SplitByHi>
void for_each_shard(std::span<const Digest> keys, std::uint64_t shards, unsigned threads, Body&& body,
                    SplitBy split = {}) {
  const std::vector<std::uint64_t> sizes = shard_sizes(keys, shards, split);
  const std::uint64_t limit = std::max<std::uint64_t>(kGroupKeys, divide_up(keys.size(), kGroups));
  // for_overwrite: pages that a small last group never touches are never made
  std::unique_ptr<std::uint64_t[]> scratch;
  std::uint64_t scratch_size = 0;
  for (std::uint64_t first = 0; first < shards;) {
    std::uint64_t last = first, total = 0;
    while (last < shards && (last == first || total + sizes[last] <= limit)) total += sizes[last++];
    std::vector<std::uint64_t> offset(last - first + 1, 0);
    for (std::uint64_t s = first; s < last; ++s) offset[s - first + 1] = offset[s - first] + sizes[s];
    if (scratch_size < total) {
      scratch.reset();
      scratch = std::make_unique_for_overwrite<std::uint64_t[]>(total);
      scratch_size = total;
    }
    std::vector<std::uint64_t> fill(offset.begin(), offset.end() - 1);
    for (const Digest& d : keys) {
      const Split to = split(d, shards);
      const std::uint64_t s = to.shard - first;  // wraps for shards before the group
      if (s < last - first) scratch[fill[s]++] = to.word;
    }
    parallel_for(last - first, threads, [&](std::uint64_t s) {
      body(first + s, std::span<std::uint64_t>(scratch.get() + offset[s], scratch.get() + offset[s + 1]));
    });
    first = last;
  }
}

}  // namespace naysay
