// SPDX-License-Identifier: Apache-2.0
// The longer members of a SplitTable (split_table.hpp): growth by splitting buckets, moves that make room for an entry,
// and the check of a table that was loaded.
#pragma once

#include "naysay/core/detail/memory.hpp"
#include "naysay/cuckoo/detail/split_table.hpp"

namespace naysay::cuckoo::detail {

template <class Access>
bool SplitTable<Access>::split() noexcept {
  const std::uint64_t to = buckets_, half = std::has_single_bit(to) ? to : half_, from = to - half;
  while (half != half_ && done_ != half_)
    if (!repack(std::min(kStrip, half_))) return false;
  if (half != half_ && !new_round(half)) return false;
  if (!make_bucket(layers_[kNarrowed], to)) return false;
  // Entries stand at both places until the new number of buckets is known to readers.
  unsigned moving = 0;
  for (unsigned slot = 0, at = 0; slot < kSlots; ++slot) {
    const std::uint32_t v = get(from, slot);
    if ((v & 1) == 0) continue;  // bit `level` of its side is the lowest that a wide slot holds; empty is 0
    put_in(layers_[kNarrowed], to, at++, v >> 1);
    moving |= 1u << slot;
  }
  Access::store(buckets_, to + 1);
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if ((moving >> slot) & 1) put(from, static_cast<int>(slot), 0);
  const std::uint64_t strip = std::min(kStrip, half_);
  for (int i = 0; i < 2 && to + 1 - half_ - done_ >= strip; ++i) repack(strip);
  return true;
}

template <class Access>
bool SplitTable<Access>::add_words(Layer& layer, std::uint64_t first, std::uint64_t last, std::uint64_t room) noexcept {
  const std::uint64_t k = layer.block_of(first), needed = words_for(last - first, layer.width);
  if (k >= layer.blocks.size() && !grow_to(layer.blocks, k + 1)) return false;
  Block& block = layer.blocks[k];
  if (needed > block.words.size()) {
    const std::uint64_t whole = layer.at_mask + 1;
    Array<std::uint64_t> words = access_.make(words_for(Access::kWholeBlocks ? whole : room, layer.width));
    if (words.empty()) return false;
    for (std::uint64_t i = 0; i < block.used; ++i) Access::store(words.at_mut(i), block.words[i]);
    if (!block.words.empty()) access_.changing(block.words);
    std::swap(block.words, words);
    access_.publish(layer, k);
    if (!words.empty()) access_.retire(std::move(words));
  }
  for (; block.used < needed; ++block.used) Access::store(block.words.at_mut(block.used), 0);
  return true;
}

template <class Access>
bool SplitTable<Access>::repack(std::uint64_t buckets) noexcept {
  Layer &wide = layers_[kWide], &narrow = layers_[kNarrowed];
  if (!make_bucket(narrow, done_ + buckets - 1)) return false;
  const std::uint64_t* in = wide.words(done_);
  std::uint64_t* out =
      narrow.blocks[narrow.block_of(done_)].words.mutable_data() + narrow.at(done_) * kSlots * narrow.width / 64;
  std::uint64_t word = 0, filled = 0;
  const std::uint64_t first = wide.at(done_) * kSlots;
  for (std::uint64_t slot = first; slot < first + buckets * kSlots; ++slot) {
    const std::uint64_t v = (Access::window(in, slot * wide.width) & wide.slot_mask) >> 1;
    word |= v << filled;
    filled += narrow.width;
    if (filled < 64) continue;
    Access::store(*out++, word);
    filled -= 64;
    word = filled == 0 ? 0 : v >> (narrow.width - filled);
  }
  // In a table of fewer buckets than a strip, the last word may also hold the first slots of the buckets that follow.
  if (filled != 0) Access::store(*out, word | (Access::load(*out) & ~low_mask(static_cast<unsigned>(filled))));
  const std::uint64_t k = wide.block_of(done_);
  set_done(done_ + buckets);
  if (done_ == half_ || wide.block_of(done_) != k) {
    access_.changing(wide.blocks[k].words);
    Array<std::uint64_t> old = std::exchange(wide.blocks[k], Block{}).words;
    access_.publish(wide, k);
    access_.retire(std::move(old));
  }
  return true;
}

template <class Access>
bool SplitTable<Access>::make_room(std::uint64_t first, std::uint64_t second) noexcept {
  struct Node {
    std::uint32_t bucket;
    std::uint16_t parent;
    std::uint16_t slot;  // in the parent bucket, of the entry that could move here
  };
  Node nodes[kMaxNodes];
  nodes[0] = {static_cast<std::uint32_t>(bucket_of(first)), 0, 0};
  nodes[1] = {static_cast<std::uint32_t>(bucket_of(second)), 1, 0};
  unsigned reached = 2;
  const bool small = buckets_ <= kMaxNodes;
  std::uint64_t seen[kMaxNodes / 64];
  if (small) {
    std::fill(std::begin(seen), std::end(seen), 0);
    set_bit(seen, nodes[0].bucket);
    set_bit(seen, nodes[1].bucket);
  }
  for (unsigned i = 0; i < reached; ++i) {
    std::uint64_t others[kSlots];  // all four are fetched at the same time
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t from = side_of(nodes[i].bucket, get(nodes[i].bucket, slot));
      others[slot] = bucket_of(other(from, hop_at(from)));
      prefetch_bucket(others[slot]);
    }
    for (unsigned slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t to = others[slot];
      const int gap = find(to, 0);
      if (gap >= 0) {
        move_along(nodes, i, slot, to, static_cast<unsigned>(gap), first, second);
        return true;
      }
      if (reached == kMaxNodes || (small ? test_bit(seen, to) : to == nodes[nodes[i].parent].bucket)) continue;
      nodes[reached++] = {static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(i),
                          static_cast<std::uint16_t>(slot)};
      if (small) set_bit(seen, to);
    }
  }
  return false;
}

template <class Access>
template <class Node>
void SplitTable<Access>::move_along(const Node* nodes, unsigned i, unsigned slot, std::uint64_t to, unsigned gap,
                                    std::uint64_t first, std::uint64_t second) noexcept {
  for (;; i = nodes[i].parent) {
    const std::uint64_t from = side_of(nodes[i].bucket, get(nodes[i].bucket, slot));
    const std::uint64_t there = other(from, hop_at(from));
    put(to, static_cast<int>(gap), stored(to, there));
    access_.moved(from, there);
    to = nodes[i].bucket;
    gap = slot;
    if (nodes[i].parent == i) break;
    slot = nodes[i].slot;
  }
  put(to, static_cast<int>(gap), stored(to, i == 0 ? first : second));
}

template <class Access>
Result<Ok> SplitTable<Access>::validate() const {
  const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "growing-cuckoo: " + what}; };
  if (tag_bits_ < kMinTagBits || tag_bits_ > kMaxTagBits || place_bits_ < 1 || place_bits_ > kMaxPlaceBits)
    return wrong("a table has " + std::to_string(tag_bits_) + " tag bits and " + std::to_string(place_bits_) +
                 " place bits; it must have 4 to 25 and 1 to 32");
  if (buckets_ < 2 || buckets_ > most_buckets())
    return wrong("a table has " + std::to_string(buckets_) + " buckets; it must have 2 to " +
                 std::to_string(most_buckets()));
  const std::uint64_t half = std::bit_floor(buckets_ - 1);
  const auto level = static_cast<unsigned>(std::countr_zero(half));
  if (half_ != half || done_ > done_for(buckets_, half) || (done_ % kStrip != 0 && done_ != half) ||
      layers_[kWide].known != level || layers_[kWide].width != total_bits() - level ||
      layers_[kNarrowed].known != level + 1 || layers_[kNarrowed].width + 1 != layers_[kWide].width ||
      layers_[kWide].width > kMaxWidth)
    return wrong("a table has slots of " + std::to_string(layers_[kWide].width) + " and " +
                 std::to_string(layers_[kNarrowed].width) + " bits; that does not fit its " + std::to_string(buckets_) +
                 " buckets");
  for (const Layer& layer : layers_)
    if (layer.block_bits < kMinBlockBits || layer.block_bits > kMaxPlaceBits)
      return wrong("a table has blocks of 2^" + std::to_string(layer.block_bits) + " buckets; it must be 2^4 to 2^32");
  std::string short_run;
  for_each_run(buckets_, half_, done_, layers_[kWide].block_bits, layers_[kNarrowed].block_bits,
               [&](std::uint64_t first, std::uint64_t last, bool wide) {
                 const Layer& layer = layers_[wide];
                 const std::uint64_t needed = words_for(last - first, layer.width), k = layer.block_of(first);
                 const std::uint64_t used = k < layer.blocks.size() ? layer.blocks[k].used : 0;
                 if (used < needed)
                   short_run = "the block of bucket " + std::to_string(first) + " has " + std::to_string(used) +
                               " words of " + std::to_string(layer.width) + "-bit slots; it needs " +
                               std::to_string(needed);
               });
  if (!short_run.empty()) return wrong(short_run);
  if (const std::uint64_t used = count_used(); used != count_)
    return wrong("a table counts " + std::to_string(count_) + " keys; it has " + std::to_string(used));
  return Ok{};
}

}  // namespace naysay::cuckoo::detail
