// SPDX-License-Identifier: Apache-2.0
// Shards: splits the keys of a static filter (xor, fuse, ribbon) into shards that are solved one by one, in cache.
//
// A split maps a digest to a shard and to the word by which the shard knows the key:
//
//   SplitByHi    shard = high word of hi * shards    word = lo
//   SplitByLo    shard = high word of lo * shards    word = low word of that product; cheaper to query, and enough hash
//                                                    for structures that need at most 50 bits inside a shard
//   SplitBoth    shard = high word of hi * shards    word = lo and the low word of that product: 128 bits
//
//   keys    |a c b a d c ...|      one pass counts the keys of each shard, then a few passes gather
//              v   v
//   group   |a a a ...|c c ...|    the shards of one group, the words of their keys side by side
//              |         |
//             body(a)  body(c)     on any number of threads, each shard on its own
//
// Two keys with the same word in one shard are the same key to the filter.
//
// Promises   body(shard, words) is called exactly once for every shard, empty ones included; words belongs to body and
//            may be reordered; each shard's keys come in the order of the input, for any number of threads.
// Cost       a few sequential passes over the digests, each by all threads. Scratch: 8 bytes (SplitBoth: 16) per key of a
//            group. A group is all keys up to kGroupKeys, and a quarter (an eighth) of them beyond.
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

#include "naysay/core/detail/bucket_places.hpp"
#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

inline std::uint64_t shard_of(Digest d, std::uint64_t shards) noexcept { return fast_range(d.hi, shards); }

// Where a key goes, and what its shard sees of it.
template <class Word = std::uint64_t>
struct ShardSplit {
  std::uint64_t shard;
  Word word;
};
struct SplitByHi {
  ShardSplit<> operator()(Digest d, std::uint64_t shards) const noexcept { return {shard_of(d, shards), d.lo}; }
};
struct SplitByLo {
  ShardSplit<> operator()(Digest d, std::uint64_t shards) const noexcept {
    const Uint128 product = static_cast<Uint128>(d.lo) * shards;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
  }
};
struct SplitBoth {
  ShardSplit<Digest> operator()(Digest d, std::uint64_t shards) const noexcept {
    const Uint128 product = static_cast<Uint128>(d.hi) * shards;
    return {static_cast<std::uint64_t>(product >> 64), {d.lo, static_cast<std::uint64_t>(product)}};
  }
};

// The shards from `first` on, of `all`: for callers that have a range of them, and count their keys on their own. Shards
// before the first get numbers that no shard has.
template <class SplitBy>
struct SplitFrom {
  SplitBy split = {};
  std::uint64_t all = 1, first = 0;
  auto operator()(Digest d, std::uint64_t) const noexcept {
    auto to = split(d, all);
    to.shard -= first;
    return to;
  }
};

inline constexpr std::uint64_t kGroupKeys = std::uint64_t{1} << 21;
inline constexpr std::uint64_t kGroups = 4;

// How many keys each shard has, copies of one key counted, for filters that plan their shards before they solve them.
// Requires shards >= 1.
template <class SplitBy = SplitByHi>
std::vector<std::uint64_t> shard_counts(std::span<const Digest> keys, std::uint64_t shards, SplitBy split = {},
                                        unsigned threads = 1) {
  if (shards == 1) return {keys.size()};
  return BucketPlaces(keys.size(), shards, threads, [=](std::uint64_t i) { return split(keys[i], shards).shard; })
      .counts();
}

// The words of the keys of a few neighbouring shards, side by side.
template <class Word = std::uint64_t>
class GatheredShards {
 public:
  // Shards first .. last - 1. Requires counts = shard_counts(keys, counts.size(), split).
  template <class SplitBy = SplitByHi>
  void gather(std::span<const Digest> keys, std::span<const std::uint64_t> counts, std::uint64_t first,
              std::uint64_t last, SplitBy split = {}, unsigned threads = 1) {
    first_ = first;
    offset_.assign(last - first + 1, 0);
    for (std::uint64_t s = first; s < last; ++s) offset_[s - first + 1] = offset_[s - first] + counts[s];
    if (size_ < offset_.back()) {
      words_.reset();
      words_ = std::make_unique_for_overwrite<Word[]>(offset_.back());  // pages never touched are never made
      size_ = offset_.back();
    }
    const std::uint64_t shards = counts.size();
    if (threads > 1) {
      // Shards before the first wrap, and are left out.
      BucketPlaces places(keys.size(), last - first, threads,
                          [=](std::uint64_t i) { return split(keys[i], shards).shard - first; });
      places.run([&](std::uint64_t i, std::uint64_t s, std::uint64_t place) {
        words_[offset_[s] + place] = split(keys[i], shards).word;
      });
      return;
    }
    std::vector<std::uint64_t> fill(offset_.begin(), offset_.end() - 1);
    for (const Digest& d : keys) {
      const auto to = split(d, shards);
      const std::uint64_t s = to.shard - first;  // wraps for shards before the first
      if (s < last - first) words_[fill[s]++] = to.word;
    }
  }
  std::span<Word> operator[](std::uint64_t shard) noexcept {
    return {words_.get() + offset_[shard - first_], words_.get() + offset_[shard - first_ + 1]};
  }

 private:
  std::unique_ptr<Word[]> words_;
  std::vector<std::uint64_t> offset_;
  std::uint64_t size_ = 0, first_ = 0;
};

// Calls body(shard, words), the words a std::span of what SplitBy makes of a key. Requires counts = shard_counts(keys,
// counts.size(), split).
template <class Body, class SplitBy = SplitByHi>
void for_each_shard(std::span<const Digest> keys, std::span<const std::uint64_t> counts, unsigned threads, Body&& body,
                    SplitBy split = {}) {
  const std::uint64_t shards = counts.size();
  using Word = decltype(split(Digest{}, 1).word);
  const std::uint64_t groups = kGroups * (sizeof(Word) / sizeof(std::uint64_t));
  const std::uint64_t limit = std::max<std::uint64_t>(kGroupKeys, divide_up(keys.size(), groups));
  GatheredShards<Word> group;
  for (std::uint64_t first = 0; first < shards;) {
    std::uint64_t last = first, total = 0;
    while (last < shards && (last == first || total + counts[last] <= limit)) total += counts[last++];
    group.gather(keys, counts, first, last, split, threads);
    parallel_for(last - first, threads, [&](std::uint64_t s) { body(first + s, group[first + s]); });
    first = last;
  }
}
// The same for callers that do not need the counts. Requires shards >= 1.
template <class Body, class SplitBy = SplitByHi>
void for_each_shard(std::span<const Digest> keys, std::uint64_t shards, unsigned threads, Body&& body,
                    SplitBy split = {}) {
  for_each_shard(keys, std::span<const std::uint64_t>(shard_counts(keys, shards, split, threads)), threads, body,
                 split);
}

// Tells a build's progress callback how many shards are done: from any thread, one call at a time. A build that it
// cancelled leaves the other shards out (BuildOptions::cancelled).
class ShardsDone {
 public:
  ShardsDone(const BuildOptions& o, std::string_view stage, std::uint64_t shards)
      : o_(o), stage_(stage), shards_(shards) {}
  void one_more() {
    const std::uint64_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!o_.progress || (done % kTellShards != 0 && done != shards_)) return;
    const std::lock_guard lock(telling_);
    (void)o_.tell(stage_, done, shards_);
  }

 private:
  static constexpr std::uint64_t kTellShards = 16;

  const BuildOptions& o_;
  std::string_view stage_;
  std::uint64_t shards_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex telling_;
};

}  // namespace naysay
