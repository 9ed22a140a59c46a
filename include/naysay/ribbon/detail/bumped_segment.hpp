// SPDX-License-Identifier: Apache-2.0
// BumpedSegment: fills a piece of a BumpedLayout, with its thresholds, and says which keys are bumped.
//
//   slots     |<------------- rich ------------->|<------------- others ------------->|
//   segments  |      0      |         1          |        2        |        3         |    2^17 to 1.5 * 2^18 slots each
//
// No window crosses a border, because the first bucket of every segment but the first is bumped: so segments are solved
// on any number of threads. Inside a segment, buckets are eliminated from left to right. The keys of a bucket are three
// groups by their offsets, and each group is added with all its keys or not at all:
//
//   offset    0      17       37                 128
//             +-------+--------+------------------+
//   group     |   2   |   1    |        0         |      added in the order 0, 1, 2
//             +-------+--------+------------------+
//   refused   t = 1     t = 2     t = 3                  a group with a refused equation is bumped, and so are those left
//                                                        of it; t is the threshold of the bucket
//
// An equation counts as refused if it contradicts others in any of 32 planes. So which keys are bumped does not depend
// on the number of planes.
//
// Promises   Every key is accepted by the segment or bumped. It cannot fail, and needs no seeds. The same keys give the
//            same bytes in any order.
// Cost       12 bytes per slot, and 16 per key for the sorted keys; one segment at a time on each thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "naysay/core/detail/shards.hpp"
#include "naysay/ribbon/detail/band.hpp"
#include "naysay/ribbon/detail/bumped_layout.hpp"

namespace naysay::ribbon::detail {

// How the slots are divided, and into which segment a key goes.
class BumpedSegments {
 public:
  explicit BumpedSegments(const BumpedLayout::Shape& shape) noexcept
      : slots_(shape.slots),
        rich_(shape.rich),
        rich_count_(count(shape.rich)),
        count_(rich_count_ + count(shape.slots - shape.rich)) {}

  std::uint64_t size() const noexcept { return count_; }
  std::uint64_t begin(std::uint64_t segment) const noexcept {
    if (segment == count_) return slots_;
    return segment < rich_count_ ? segment << kLog : rich_ + ((segment - rich_count_) << kLog);
  }
  // The smallest digest.hi of a segment's keys.
  std::uint64_t first_hi(std::uint64_t segment) const noexcept {
    if (segment == 0) return 0;
    const Uint128 start = begin(segment) - (BumpedLayout::kWidth - 1);
    return static_cast<std::uint64_t>(((start << 64) + slots_ - 1) / slots_);
  }
  // A split for core/detail/shards.hpp.
  ShardSplit<Digest> operator()(Digest d, std::uint64_t) const noexcept {
    const std::uint64_t x = bumped_spot(d.hi, slots_).start + (BumpedLayout::kWidth - 1);
    return {
        x < rich_ ? std::min(x >> kLog, rich_count_ - 1) : std::min(rich_count_ + ((x - rich_) >> kLog), count_ - 1),
        d};
  }

 private:
  static constexpr unsigned kLog = 18;

  static std::uint64_t count(std::uint64_t slots) noexcept {
    return slots == 0 ? 0 : std::max<std::uint64_t>(1, (slots + (std::uint64_t{1} << (kLog - 1))) >> kLog);
  }

  std::uint64_t slots_, rich_, rich_count_, count_;
};

class BumpedSegment {
 public:
  // Slots begin .. end - 1. Requires that they are a segment.
  BumpedSegment(BumpedLayout& layout, std::uint64_t begin, std::uint64_t end)
      : layout_(layout), begin_(begin), slots_(end - begin), is_last_(end == layout.slots()) {}

  // Returns the bumped keys, as bumped_digest() makes them.
  std::vector<Digest> build(std::span<const Digest> keys) {
    sort(keys);
    band_.reset(static_cast<std::uint32_t>(slots_));
    std::vector<Digest> bumped;
    for (std::uint64_t b = 0; b < buckets(); ++b) {
      std::array<std::span<const Digest>, kGroups> groups;
      for (std::uint32_t g = 0; g < kGroups; ++g) groups[g] = group(b, g);
      std::uint32_t added = 0;
      if (!must_bump(b))
        while (added < kGroups && add(groups[added])) ++added;
      layout_.set_threshold(begin_ / BumpedLayout::kBucket + b, kGroups - added);
      for (; added < kGroups; ++added)
        for (const Digest& key : groups[added]) bumped.push_back(bumped_digest(key.lo, key.hi));
    }
    // Random bits in the free slots: with zeros, a window with many free slots would accept too many strangers.
    for (std::uint32_t i = 0; i < slots_; ++i)
      if (band_.is_free(i)) band_.set_free(i, static_cast<std::uint32_t>(mix64(begin_ + i)));
    const unsigned planes = layout_.planes_of(begin_);
    band_.solve(0, planes, 0, planes, layout_.block(begin_));
    return bumped;
  }

 private:
  static constexpr std::uint32_t kGroups = 3;
  static constexpr std::size_t kMany = 1024;  // more keys than a group of hashed keys has: most are copies

  // The last segment has one bucket more, of the windows that leave the slots.
  std::uint64_t buckets() const noexcept { return slots_ / BumpedLayout::kBucket + is_last_; }
  bool must_bump(std::uint64_t bucket) const noexcept {
    return (bucket == 0 && begin_ != 0) || bucket == slots_ / BumpedLayout::kBucket;
  }

  // By bucket, then by group.
  void sort(std::span<const Digest> keys) {
    ends_.assign(kGroups * buckets() + 1, 0);
    const auto place = [&](const Digest& key) __attribute__((always_inline)) {
      const std::uint64_t x = bumped_spot(key.hi, layout_.slots()).start + (BumpedLayout::kWidth - 1) - begin_;
      const std::uint64_t offset = x % BumpedLayout::kBucket;
      return x / BumpedLayout::kBucket * kGroups + (offset < BumpedLayout::level(1)) +
             (offset < BumpedLayout::level(2));
    };
    for (const Digest& key : keys) ++ends_[place(key) + 1];
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    sorted_ = std::make_unique_for_overwrite<Digest[]>(keys.size());
    for (const Digest& key : keys) sorted_[ends_[place(key)]++] = key;  // now ends_[i] is where group i ends
  }
  std::span<const Digest> group(std::uint64_t bucket, std::uint32_t g) {
    const std::uint64_t i = bucket * kGroups + g;
    Digest *first = sorted_.get() + (i == 0 ? 0 : ends_[i - 1]), *last = sorted_.get() + ends_[i];
    if (static_cast<std::size_t>(last - first) > kMany) {
      std::sort(first, last);
      last = std::unique(first, last);
    }
    return {first, last};
  }
  bool add(std::span<const Digest> keys) {
    const std::uint64_t slots = layout_.slots(), begin = begin_;
    return band_.add_group(
        static_cast<std::uint32_t>(keys.size()), 0xffffffff, [=](std::uint32_t i) __attribute__((always_inline)) {
          const BumpedSpot at = bumped_spot(keys[i].hi, slots);
          const std::uint64_t h = keys[i].lo * kBumpedFactor;
          Equation<BumpedLayout::kWidth> e;
          e.start = static_cast<std::uint32_t>(at.start - begin);
          e.coefficients.word[0] = h | 1;
          e.bits = bumped_bits(h, at.rest);
          return e;
        });
  }

  BumpedLayout& layout_;
  const std::uint64_t begin_, slots_;
  const bool is_last_;
  std::vector<std::uint64_t> ends_;
  std::unique_ptr<Digest[]> sorted_;
  Band<BumpedLayout::kWidth> band_;
};

// Fills the segments from `first` on that have this many keys each, in a layout in which they are not set yet. Other
// keys are ignored. Returns the bumped keys, in the order of the segments; fewer if the build is cancelled.
inline std::vector<Digest> fill_bumped(BumpedLayout& layout, const BumpedSegments& segments,
                                       std::span<const Digest> keys, std::span<const std::uint64_t> counts,
                                       std::uint64_t first, const BuildOptions& o) {
  std::vector<std::vector<Digest>> bumped(counts.size());
  ShardsDone done(o, "ribbon: solving segments", counts.size());
  for_each_shard(
      keys, counts, o.threads,
      [&](std::uint64_t i, std::span<const Digest> own) {
        if (o.cancelled()) return;
        bumped[i] = BumpedSegment(layout, segments.begin(first + i), segments.begin(first + i + 1)).build(own);
        done.one_more();
      },
      SplitFrom<BumpedSegments>{segments, segments.size(), first});
  std::vector<Digest> all;
  for (const auto& some : bumped) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace naysay::ribbon::detail
