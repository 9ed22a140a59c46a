// SPDX-License-Identifier: Apache-2.0
// SplitTable: a cuckoo table that grows by one bucket at a time and changes no answer while it grows.
//
// A key is known by W bits of its digest: a tag of G bits and a place of Q bits, W = Q + G. Each key has two *sides*,
// which share the tag; hop(tag) is odd, so a key's two buckets always differ.
//
//      tag (G)        place (Q)                        side 1 = (tag, place)
//   +-----------+-------------+--------+               side 2 = (tag, place xor hop(tag))
//   |           |             |  index |
//   +-----------+-------------+--------+               the low bits of the place are the bucket's index,
//   |<-- slot: w = W - l bits ->|<- l ->|              all other bits stand in the slot
//
// The table has B buckets of four slots, 2^l < B <= 2^(l+1). A side lies in bucket (side mod 2^(l+1)) if there is one,
// else in (side mod 2^l): linear hashing. split() adds bucket B and moves there those entries of bucket B - 2^l whose
// bit l is set. That bit then is part of the index, and its place in the slot is dropped: growing moves bits from slots
// to indices, and no bit of a key is ever forgotten. So a split never changes an answer, never fails for want of a
// slot, and takes no longer in a large table. When B = 2^Q no bits of the place are left, and the table is used up.
//
// So there are slots of two widths, wide (W - l) and narrow (W - l - 1):
//
//   buckets   0         done       2^l         B             done <= B - 2^l: up to there split buckets were repacked,
//             +----------+----------+----------+             16 at a time, so that no insertion waits for long
//             |  narrow  |   wide   |  narrow  |
//             +----------+----------+----------+
//
// The buckets of one width are a *layer*. Its words lie in blocks of 2^c buckets, 16 or more: the directory stays
// small, and so does what a block has spare. A block of the wide layer is released when its last bucket was repacked.
// At the end of a round the narrow layer becomes the wide one, and a new one begins.
//
// Equal entries are *copies*: of one key, or of keys that agree in all W bits. Seven are counted. Eight fill both
// buckets and mean "eight or more": further inserts succeed and change nothing, and erase changes nothing either.
//
// Access says how words are read and written, and is notified of what could mislead a reader: Alone (split_layout.hpp) for a table
// that one thread uses, live/detail/shared_access.hpp for one that is read next to a writer.
//
// Source     W. Litwin: Linear Hashing, VLDB 1980; B. Fan et al.: Cuckoo Filter, CoNEXT 2014.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/cuckoo/detail/split_layout.hpp"

namespace naysay::cuckoo::detail {

template <class Access = Alone>
class SplitTable {
 public:
  SplitTable() = default;

  // Empty, of `buckets` buckets. Requires 2 <= buckets <= 2^place_bits, and a widest slot of at most kMaxWidth bits.
  // False if there is no memory.
  bool start(std::uint64_t buckets, unsigned place_bits, unsigned tag_bits, std::uint64_t seed) noexcept {
    place_bits_ = place_bits;
    tag_bits_ = tag_bits;
    seed_ = seed;
    count_ = 0;
    buckets_ = buckets;
    half_ = std::bit_floor(buckets - 1);
    const auto level = static_cast<unsigned>(std::countr_zero(half_));
    if (!access_.begin(place_bits, level)) return false;
    set_done(first_done(buckets, half_, access_.block_bits(level)));
    bool made = layers_[kWide].start(total_bits(), level, access_.block_bits(level)) &&
                layers_[kNarrowed].start(total_bits(), level + 1, access_.block_bits(level + 1));
    for_each_run(buckets_, half_, done_, layers_[kWide].block_bits, layers_[kNarrowed].block_bits,
                 [&](std::uint64_t first, std::uint64_t last, bool wide) {
                   made = made && add_words(layers_[wide], first, last, last - first);
                 });
    return made;
  }

  // One spare word, so that 64 bits can be read from the start of any bucket's half.
  static constexpr std::uint64_t words_for(std::uint64_t buckets, unsigned width) noexcept {
    return words_for_bits(buckets * kSlots * width) + 1;
  }
  // The bits of the buckets of a whole table, before it is made; each block has a spare word besides.
  static std::uint64_t bits_for(std::uint64_t buckets, unsigned total_bits) noexcept {
    const std::uint64_t half = std::bit_floor(buckets - 1);
    const auto level = static_cast<unsigned>(std::countr_zero(half));
    const unsigned wide_bits = Alone::block_bits(level), narrow_bits = Alone::block_bits(level + 1);
    std::uint64_t words = 0;
    for_each_run(buckets, half, first_done(buckets, half, wide_bits), wide_bits, narrow_bits,
                 [&](std::uint64_t first, std::uint64_t last, bool wide) {
                   words += words_for(last - first, total_bits - level - 1 + wide) - 1;
                 });
    return 64 * words;
  }

  std::uint64_t buckets() const noexcept { return buckets_; }
  std::uint64_t slots() const noexcept { return buckets_ * kSlots; }
  std::uint64_t most_buckets() const noexcept { return std::uint64_t{1} << place_bits_; }
  std::uint64_t count() const noexcept { return count_; }
  unsigned place_bits() const noexcept { return place_bits_; }
  unsigned tag_bits() const noexcept { return tag_bits_; }
  std::uint64_t seed() const noexcept { return seed_; }
  bool used_up() const noexcept { return buckets_ >= most_buckets(); }

  // ---- one key -----------------------------------------------------------------------------------------------------

  std::uint64_t side(Address a) const noexcept {
    return (std::uint64_t{a.tag} << place_bits_) | (a.place & place_mask());
  }
  std::uint64_t other(std::uint64_t side, std::uint32_t hop) const noexcept { return side ^ (hop & place_mask()); }
  void prefetch(Address a) const noexcept {
    const std::uint64_t first = side(a);
    if constexpr (Access::kShared) return prefetch_next_to_a_writer(first, other(first, a.hop));
    prefetch_bucket(bucket_of(first));
    prefetch_bucket(bucket_of(other(first, a.hop)));
  }
  bool may_contain(Address a) const noexcept {
    const std::uint64_t first = side(a), second = other(first, a.hop);
    if constexpr (Access::kShared) return found_next_to_a_writer(first, second);
    return (matches_in(bucket_of(first), first) | matches_in(bucket_of(second), second)) != 0;
  }

  enum class Put { done, copied, full };  // copied: one of eight or more that are not counted
  // full: no chain of moves ends in an empty slot, and nothing has changed.
  Put insert(Address a) noexcept {
    const std::uint64_t first = side(a), second = other(first, a.hop);
    for (std::uint64_t side : {first, second}) {
      const std::uint64_t bucket = bucket_of(side);
      if (const int slot = find(bucket, 0); slot >= 0) {
        put(bucket, slot, stored(bucket, side));
        ++count_;
        return Put::done;
      }
    }
    if (saturated(first, second)) return Put::copied;
    if (!make_room(first, second)) return Put::full;
    ++count_;
    return Put::done;
  }

  // False if there is no such entry.
  bool erase(Address a) noexcept {
    const std::uint64_t first = side(a), second = other(first, a.hop);
    for (std::uint64_t side : {first, second}) {
      const std::uint64_t bucket = bucket_of(side);
      const int slot = find(bucket, stored(bucket, side));
      if (slot < 0) continue;
      if (saturated(first, second)) return true;
      put(bucket, slot, 0);
      --count_;
      return true;
    }
    return false;
  }

  // ---- growth ------------------------------------------------------------------------------------------------------

  // One bucket more. Requires !used_up(). False if there is no memory; then nothing has changed.
  bool split() noexcept;

  // The same entries in the same buckets, in words of this table's own. Requires other.buckets() >= 2.
  template <class OtherAccess>
  bool copy_from(const SplitTable<OtherAccess>& other) {
    if (!start(other.buckets(), other.place_bits(), other.tag_bits(), other.seed())) return false;
    other.for_each_entry([this](std::uint64_t bucket, unsigned slot, std::uint64_t side) {
      put(bucket, static_cast<int>(slot), stored(bucket, side));
    });
    count_ = other.count();
    return true;
  }
  template <class Body>
  void for_each_entry(Body&& body) const {
    for (std::uint64_t bucket = 0; bucket < buckets_; ++bucket)
      for (unsigned slot = 0; slot < kSlots; ++slot)
        if (const std::uint32_t v = get(bucket, slot); v != 0) body(bucket, slot, side_of(bucket, v));
  }

  // What the table has kept of a key, from one of its sides: of the place, its own bits.
  Address address_at(std::uint64_t side) const noexcept {
    const auto tag = static_cast<std::uint32_t>(side >> place_bits_);
    return {tag, static_cast<std::uint32_t>(side & place_mask()), hop_of(tag, seed_)};
  }

  // ---- the whole table ---------------------------------------------------------------------------------------------

  const Layer& layer(bool wide) const noexcept { return layers_[wide]; }
  const Access& access() const noexcept { return access_; }
  Access& access() noexcept { return access_; }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("place_bits", self.place_bits_);
    visit("tag_bits", self.tag_bits_);
    visit("seed", self.seed_);
    visit("buckets", self.buckets_);
    visit("half", self.half_);
    visit("done", self.done_);
    visit("count", self.count_);
    visit("narrow", self.layers_[kNarrowed]);
    visit("wide", self.layers_[kWide]);
  }

  Result<Ok> validate() const;

 private:
  static constexpr unsigned kMaxNodes = 1024;  // of a search for room
  static constexpr std::size_t kNarrowed = 0, kWide = 1;
  static constexpr unsigned kDoneBits = 40;

  std::uint64_t place_mask() const noexcept { return (std::uint64_t{1} << place_bits_) - 1; }
  unsigned total_bits() const noexcept { return place_bits_ + tag_bits_; }

  // The strips that are split as a whole; at the end of a round, all.
  static std::uint64_t done_for(std::uint64_t buckets, std::uint64_t half) noexcept {
    return buckets == 2 * half ? half : (buckets - half) / kStrip * kStrip;
  }
  // A new table has no block in both layers, so that none is paid for twice.
  static std::uint64_t first_done(std::uint64_t buckets, std::uint64_t half, unsigned block_bits) noexcept {
    return buckets == 2 * half ? half : (buckets - half) >> block_bits << block_bits;
  }
  // Calls body(first, last, wide) for each block of both layers that buckets lie in: they are among first .. last - 1,
  // and the block begins with the first.
  template <class Body>
  static void for_each_run(std::uint64_t buckets, std::uint64_t half, std::uint64_t done, unsigned wide_bits,
                           unsigned narrow_bits, Body&& body) {
    for (std::uint64_t first = done & ~low_mask(wide_bits); first < half; first += low_mask(wide_bits) + 1)
      if (done < half) body(first, std::min(half, first + low_mask(wide_bits) + 1), true);
    for (std::uint64_t first = 0, size = low_mask(narrow_bits) + 1; first < buckets; first += size) {
      const std::uint64_t last = std::min(buckets, first + size);
      if (last > half || first < done) body(first, last > half ? last : std::min(done, last), false);
    }
  }

  // Both are a coin toss, so they are arithmetic, on signs. Not on comparisons: GCC makes `sbb r, r` of them, which waits
  // for the old value of r; if that was read from memory, every query waits for the one before it (4 M keys: 235 ns
  // instead of 29).
  static std::uint64_t bucket_of(std::uint64_t side, std::uint64_t half, std::uint64_t buckets) noexcept {
    const std::uint64_t wide = side & (2 * half - 1);
    return wide - (half & (sign(wide - buckets) - 1));
  }
  // Is it among the buckets from `done` to `half`?
  static std::uint64_t is_wide(std::uint64_t bucket, std::uint64_t half, std::uint64_t done) noexcept {
    return sign((done - 1 - bucket) & (bucket - half));
  }
  static std::uint64_t sign(std::uint64_t x) noexcept { return x >> 63; }

  std::uint64_t bucket_of(std::uint64_t side) const noexcept { return bucket_of(side, half_, buckets_); }
  const Layer& layer_at(std::uint64_t bucket) const noexcept { return layers_[is_wide(bucket, half_, done_)]; }
  Layer& layer_at(std::uint64_t bucket) noexcept { return layers_[is_wide(bucket, half_, done_)]; }

  void set_done(std::uint64_t done) noexcept {
    done_ = done;
    if constexpr (Access::kShared)
      Access::store(progress_, (static_cast<std::uint64_t>(std::countr_zero(half_)) << kDoneBits) | done);
  }
  // False if there is no memory; then nothing has changed.
  bool new_round(std::uint64_t half) noexcept {
    const auto level = static_cast<unsigned>(std::countr_zero(half));
    Layer narrower;
    if (!narrower.start(total_bits(), level + 1, access_.block_bits(level + 1))) return false;
    half_ = half;
    set_done(0);
    layers_[kWide] = std::exchange(layers_[kNarrowed], std::move(narrower));
    return true;
  }
  // Makes the block that begins with bucket `first` hold all buckets before `last`. If it has no room for them, it gets
  // room for `room` buckets.
  bool add_words(Layer& layer, std::uint64_t first, std::uint64_t last, std::uint64_t room) noexcept;
  // The first bucket of its block makes room for all of them.
  bool make_bucket(Layer& layer, std::uint64_t bucket) noexcept {
    const std::uint64_t first = bucket - layer.at(bucket);
    return add_words(layer, first, bucket / kStrip * kStrip + kStrip, layer.at_mask + 1);
  }
  // The next buckets lose a bit of each slot. False if there is no memory; a round does not end before it was done.
  bool repack(std::uint64_t buckets) noexcept;
  std::uint64_t count_used() const noexcept {
    std::uint64_t used = 0;
    for (std::uint64_t bucket = 0; bucket < buckets_; ++bucket)
      for (unsigned slot = 0; slot < kSlots; ++slot) used += get(bucket, slot) != 0;
    return used;
  }

  // What a slot of this bucket holds of a side that lies in it.
  std::uint32_t stored(std::uint64_t bucket, std::uint64_t side) const noexcept {
    return static_cast<std::uint32_t>(side >> layer_at(bucket).known);
  }
  // The side of what a slot of this bucket holds.
  std::uint64_t side_of(std::uint64_t bucket, std::uint32_t v) const noexcept {
    const unsigned known = layer_at(bucket).known;
    return (std::uint64_t{v} << known) | (bucket & low_mask(known));
  }
  std::uint32_t hop_at(std::uint64_t side) const noexcept {
    return hop_of(static_cast<std::uint32_t>(side >> place_bits_), seed_);
  }

  void prefetch_bucket(std::uint64_t bucket) const noexcept {
    const Layer& layer = layer_at(bucket);
    const auto* bytes = reinterpret_cast<const unsigned char*>(layer.words(bucket));
    __builtin_prefetch(bytes + layer.at(bucket) * layer.width / 2);
  }
  // A writer may change anything meanwhile, one word at a time. What is read is judged afterwards:
  //   an entry is moved by writing it at the other side, counting the move (Access::moved), and clearing it here;
  //   a split writes the new bucket, then the number of buckets, then clears the old one;
  //   buckets are repacked into other words, then `progress` says so, and the old words are retired;
  //   words that were retired are used again only after Access::recycled() has changed.
  // So an entry that was there all the time is found, or one of these numbers has changed. A "maybe" needs only that the
  // words were not recycled.
  bool found_next_to_a_writer(std::uint64_t first, std::uint64_t second) const noexcept {
    for (;;) {
      const std::uint64_t recycled = access_.recycled(), moves = access_.moves(first);
      const std::uint64_t progress = Access::load(progress_), buckets = Access::load(buckets_);
      const Seen one = seen(first, buckets, progress), two = seen(second, buckets, progress);
      if (one.block.words == nullptr || two.block.words == nullptr) continue;
      const std::uint64_t found = match_words(one, first, progress) | match_words(two, second, progress);
      if (access_.recycled() != recycled || Access::load(progress_) != progress) continue;
      if (found != 0) return true;
      if (access_.moves(first) == moves && Access::load(buckets_) == buckets) return false;
    }
  }
  struct Seen {
    BlockView block;
    unsigned known;
  };
  Seen seen(std::uint64_t side, std::uint64_t buckets, std::uint64_t progress) const noexcept {
    const auto level = static_cast<unsigned>(progress >> kDoneBits);
    const std::uint64_t half = std::uint64_t{1} << level, done = progress & low_mask(kDoneBits);
    const std::uint64_t bucket = bucket_of(side, half, buckets);
    const unsigned known = level + 1 - static_cast<unsigned>(is_wide(bucket, half, done));
    return {access_.view(known, bucket, total_bits() - known), known};
  }
  void prefetch_next_to_a_writer(std::uint64_t first, std::uint64_t second) const noexcept {
    const std::uint64_t progress = Access::load(progress_), buckets = Access::load(buckets_);
    for (std::uint64_t side : {first, second}) {
      const Seen at = seen(side, buckets, progress);
      if (at.block.words == nullptr) continue;
      const auto* bytes = reinterpret_cast<const unsigned char*>(at.block.words);
      __builtin_prefetch(bytes + at.block.at * (total_bits() - at.known) / 2);
    }
  }
  std::uint64_t match_words(const Seen& at, std::uint64_t side, std::uint64_t progress) const noexcept {
    struct Lanes {
      PackedFields four, two;
      std::uint64_t mask;
    };
    static constexpr auto kLanes = [] {
      std::array<Lanes, kMaxWidth + 1> lanes{};
      for (unsigned b = 1; b <= kNarrow; ++b) lanes[b].four = PackedFields(b, 4);
      for (unsigned b = 1; b <= kMaxWidth; ++b) lanes[b].two = PackedFields(b, 2), lanes[b].mask = low_mask(b);
      return lanes;
    }();
    const unsigned width = total_bits() - at.known, wide = total_bits() - static_cast<unsigned>(progress >> kDoneBits);
    const std::uint64_t bit = at.block.at * (kSlots * width);
    const Lanes& lanes = kLanes[width];
    const std::uint64_t v = (side >> at.known) ^ lanes.mask;
    if (wide <= kNarrow) return lanes.four.matches(Access::window(at.block.words, bit), lanes.four.repeat(v));
    const std::uint64_t wanted = lanes.two.repeat(v);
    return lanes.two.matches(Access::window(at.block.words, bit), wanted) |
           lanes.two.matches(Access::window(at.block.words, bit + 2 * width), wanted);
  }
  // Which of its layers a bucket is in is a coin toss, so what is done must not depend on the layer's width: if either
  // layer has buckets that do not fit a word, all are read in halves.
  bool in_words() const noexcept { return layers_[kWide].width <= kNarrow; }
  // Not 0 exactly if a slot of the bucket holds the side.
  std::uint64_t matches_in(std::uint64_t bucket, std::uint64_t side) const noexcept {
    const Layer& layer = layer_at(bucket);
    const std::uint64_t* words = layer.words(bucket);
    const std::uint64_t bit = layer.at(bucket) * (kSlots * layer.width), v = (side >> layer.known) ^ layer.slot_mask;
    if (in_words()) return layer.four.matches(Access::window(words, bit), layer.four.repeat(v));
    const std::uint64_t wanted = layer.two.repeat(v);
    return layer.two.matches(Access::window(words, bit), wanted) |
           layer.two.matches(Access::window(words, bit + 2 * layer.width), wanted);
  }
  // The first slot that holds v, or -1.
  int find(std::uint64_t bucket, std::uint32_t v) const noexcept {
    const Layer& layer = layer_at(bucket);
    const std::uint64_t* words = layer.words(bucket);
    const std::uint64_t bit = layer.at(bucket) * kSlots * layer.width;
    if (in_words()) {
      const std::uint64_t found =
          layer.four.matches(Access::window(words, bit), layer.four.repeat(v ^ layer.slot_mask));
      return found == 0 ? -1 : slot_of(found, layer.width);
    }
    const std::uint64_t wanted = layer.two.repeat(v ^ layer.slot_mask);
    std::uint64_t found = layer.two.matches(Access::window(words, bit), wanted);
    if (found != 0) return slot_of(found, layer.width);
    found = layer.two.matches(Access::window(words, bit + 2 * layer.width), wanted);
    return found == 0 ? -1 : 2 + slot_of(found, layer.width);
  }
  static int slot_of(std::uint64_t found, unsigned width) noexcept {
    const int bit = std::countr_zero(found) + 1, w = static_cast<int>(width);  // no division: there are four slots
    return (bit > w) + (bit > 2 * w) + (bit > 3 * w);
  }
  std::uint32_t get(std::uint64_t bucket, unsigned slot) const noexcept {
    const Layer& layer = layer_at(bucket);
    const std::uint64_t at = (layer.at(bucket) * kSlots + slot) * layer.width;
    return static_cast<std::uint32_t>(Access::window(layer.words(bucket), at) & layer.slot_mask);
  }
  void put(std::uint64_t bucket, int slot, std::uint32_t v) noexcept {
    put_in(layer_at(bucket), bucket, static_cast<unsigned>(slot), v);
  }
  void put_in(Layer& layer, std::uint64_t bucket, unsigned slot, std::uint32_t v) noexcept {
    const std::uint64_t at = (layer.at(bucket) * kSlots + slot) * layer.width;
    Array<std::uint64_t>& words = layer.blocks[layer.block_of(bucket)].words;
    access_.changing(words);
    Access::write(words.mutable_data(), at, layer.width, v);
  }
  // All eight slots of both buckets hold copies of one entry.
  bool saturated(std::uint64_t first, std::uint64_t second) const noexcept {
    for (std::uint64_t side : {first, second}) {
      const std::uint64_t bucket = bucket_of(side);
      const std::uint32_t v = stored(bucket, side);
      for (unsigned slot = 0; slot < kSlots; ++slot)
        if (get(bucket, slot) != v) return false;
    }
    return true;
  }

  // Both buckets are full: finds the shortest chain of moves that ends in an empty slot, then moves along it from its
  // end. No bucket is on a shortest chain twice, so that no move disturbs an earlier one. False, and nothing moved, if
  // the first kMaxNodes buckets reached are full.
  bool make_room(std::uint64_t first, std::uint64_t second) noexcept;
  template <class Node>
  void move_along(const Node* nodes, unsigned i, unsigned slot, std::uint64_t to, unsigned gap, std::uint64_t first,
                  std::uint64_t second) noexcept;

  Layer layers_[2];             // kNarrowed, kWide
  std::uint64_t buckets_ = 0;   // B
  std::uint64_t half_ = 0;      // 2^l, less than B and at least half of it
  std::uint64_t done_ = 0;      // buckets from 0 on that are split and repacked
  std::uint64_t progress_ = 0;  // l and done in one word, for readers next to a writer: it never comes back to a value
  std::uint64_t count_ = 0;     // slots in use
  std::uint64_t seed_ = 0;      // of hop()
  std::uint32_t place_bits_ = 0, tag_bits_ = 0;
  [[no_unique_address]] Access access_;
};

}  // namespace naysay::cuckoo::detail

#include "naysay/cuckoo/detail/split_table_members.hpp"  // its longer members
