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
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/core/parallel.hpp"

namespace naysay {

inline std::uint64_t shard_of(Digest d, std::uint64_t shards) noexcept { return fast_range(d.hi, shards); }

inline constexpr std::uint64_t kGroupKeys = std::uint64_t{1} << 22;

// Keys of each shard, for filters that plan their shards before they solve them. Requires shards >= 1.
inline std::vector<std::uint64_t> shard_counts(std::span<const Digest> keys, std::uint64_t shards) {
  std::vector<std::uint64_t> counts(shards, 0);
  for (const Digest& d : keys) ++counts[shard_of(d, shards)];
  return counts;
}

// The lo words of the keys of a few neighbouring shards, side by side.
class GatheredShards {
 public:
  // Shards first .. last - 1. Requires counts = shard_counts(keys, counts.size()).
  void gather(std::span<const Digest> keys, std::span<const std::uint64_t> counts, std::uint64_t first, std::uint64_t last) {
    first_ = first;
    offset_.assign(last - first + 1, 0);
    for (std::uint64_t s = first; s < last; ++s) offset_[s - first + 1] = offset_[s - first] + counts[s];
    if (size_ < offset_.back()) {
      los_.reset();
      los_ = std::make_unique_for_overwrite<std::uint64_t[]>(offset_.back());  // pages never touched are never made
      size_ = offset_.back();
    }
    std::vector<std::uint64_t> fill(offset_.begin(), offset_.end() - 1);
    for (const Digest& d : keys) {
      const std::uint64_t s = shard_of(d, counts.size()) - first;  // wraps for shards before the first
      if (s < last - first) los_[fill[s]++] = d.lo;
    }
  }
  std::span<std::uint64_t> operator[](std::uint64_t shard) noexcept {
    return {los_.get() + offset_[shard - first_], los_.get() + offset_[shard - first_ + 1]};
  }

 private:
  std::unique_ptr<std::uint64_t[]> los_;
  std::vector<std::uint64_t> offset_;
  std::uint64_t size_ = 0, first_ = 0;
};

// Calls body(shard, std::span<std::uint64_t> los). Requires counts = shard_counts(keys, counts.size()).
template <class Body>
void for_each_shard(std::span<const Digest> keys, std::span<const std::uint64_t> counts, unsigned threads, Body&& body) {
  const std::uint64_t shards = counts.size(), limit = std::max<std::uint64_t>(kGroupKeys, divide_up(keys.size(), 3));
  GatheredShards group;
  for (std::uint64_t first = 0; first < shards;) {
    std::uint64_t last = first, total = 0;
    while (last < shards && (last == first || total + counts[last] <= limit)) total += counts[last++];
    group.gather(keys, counts, first, last);
    parallel_for(last - first, threads, [&](std::uint64_t s) { body(first + s, group[first + s]); });
    first = last;
  }
}
template <class Body>
void for_each_shard(std::span<const Digest> keys, std::uint64_t shards, unsigned threads, Body&& body) {
  for_each_shard(keys, shard_counts(keys, shards), threads, std::forward<Body>(body));
}

// Tells a workload's progress how many shards are done: from any thread, one call at a time.
class ShardsDone {
 public:
  ShardsDone(const Workload& w, std::string_view stage, std::uint64_t shards) : w_(w), stage_(stage), shards_(shards) {}
  void one_more() {
    const std::uint64_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!w_.progress || (done % kTellShards != 0 && done != shards_)) return;
    const std::lock_guard lock(telling_);
    w_.tell(stage_, done, shards_);
  }

 private:
  static constexpr std::uint64_t kTellShards = 256;

  const Workload& w_;
  std::string_view stage_;
  std::uint64_t shards_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex telling_;
};

}  // namespace naysay
