// SPDX-License-Identifier: Apache-2.0
// The parts of a SplitTable (split_table.hpp): addresses of keys, blocks of words, layers of blocks, and how a table
// that one thread uses reads and writes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/detail/memory.hpp"
#include "naysay/core/hash.hpp"

namespace naysay::cuckoo::detail {

inline constexpr unsigned kSlots = 4;
inline constexpr unsigned kMaxPlaceBits = 32, kMinTagBits = 4, kMaxTagBits = 25;
inline constexpr unsigned kNarrow = 16;      // up to this width a bucket fits a word; beyond, half a bucket does
inline constexpr unsigned kMaxWidth = 29;    // 2 * 29 bits and up to 6 in front of them are a word
inline constexpr std::uint64_t kStrip = 16;  // buckets that are repacked together: a whole number of words

inline constexpr unsigned kMinBlockBits = 4;  // a strip

// What a table sees of a key: the tag is 1 to 2^G - 1, so that a slot of zeros is empty; place and hop have all 32 bits,
// and a table takes as many of them, from the lowest on, as it has place bits. So the places of two tables are nested.
struct Address {
  std::uint32_t tag, place, hop;
};

inline std::uint32_t hop_of(std::uint32_t tag, std::uint64_t seed) noexcept {
  return static_cast<std::uint32_t>(remix64(tag + seed)) | 1;
}
// The lowest six bits of lo are the last to be used: a guard on top tells by them what the table takes for the same.
inline Address address_of(Digest d, unsigned tag_bits, std::uint64_t seed) noexcept {
  const std::uint64_t high = d.lo >> 32;
  const auto tag = static_cast<std::uint32_t>(1 + ((high * ((std::uint64_t{1} << tag_bits) - 1)) >> 32));
  return {tag, std::rotr(static_cast<std::uint32_t>(d.lo), 6), hop_of(tag, seed)};
}

// The words of a block. Those from `used` on were never written.
struct Block {
  Array<std::uint64_t> words;
  std::uint64_t used = 0;

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    if constexpr (std::is_const_v<Self>) {
      const auto written = Array<std::uint64_t>::borrow(self.words.data(), self.used);
      visit("words", written);
    } else {
      visit("words", self.words);
      self.used = self.words.size();
    }
  }
};

// Buckets with slots of one width.
struct Layer {
  std::vector<Block> blocks;
  PackedFields four{}, two{};  // slots of a bucket, if it fits a word, and of half a bucket
  std::uint64_t slot_mask = 0, at_mask = 0;
  std::uint32_t width = 0, block_bits = 0;
  std::uint32_t known = 0;  // bits of a side that a bucket's index gives: known + width = W

  // False if there is no memory.
  bool start(unsigned total_bits, unsigned index_bits, unsigned bits_of_blocks) noexcept {
    blocks.clear();
    known = index_bits;
    width = total_bits - known;
    block_bits = bits_of_blocks;
    derive();
    return reserve_for(blocks, (std::uint64_t{1} << known >> block_bits) + 1);
  }
  // What is not in a file.
  void derive() noexcept {
    if (width >= 1 && width <= kNarrow) four = PackedFields(width, 4);
    if (width >= 1 && width <= kMaxWidth) two = PackedFields(width, 2);
    slot_mask = low_mask(width & 63);
    at_mask = low_mask(block_bits & 63);
  }
  std::uint64_t block_of(std::uint64_t bucket) const noexcept { return bucket >> block_bits; }
  std::uint64_t at(std::uint64_t bucket) const noexcept { return bucket & at_mask; }
  const std::uint64_t* words(std::uint64_t bucket) const noexcept { return blocks[block_of(bucket)].words.data(); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("width", self.width);
    visit("block_bits", self.block_bits);
    visit("blocks", self.blocks);
    visit("known", self.known);
    if constexpr (!std::is_const_v<Self>) self.derive();
  }
};

// What a reader next to a writer sees of a block: its words, or null if they are of another width by now, and the
// bucket's number in it.
struct BlockView {
  const std::uint64_t* words;
  std::uint64_t at;
};

// One thread uses the table.
class Alone {
 public:
  static constexpr bool kShared = false;
  static std::uint64_t load(const std::uint64_t& word) noexcept { return word; }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept { word = value; }
  // At most 58 bits, from bit `at` on, in the low bits, and anything above them. Or 64, if `at` is a multiple of 8.
  static std::uint64_t window(const std::uint64_t* words, std::uint64_t at) noexcept {
    return load_u64(reinterpret_cast<const unsigned char*>(words) + (at >> 3)) >> (at & 7);
  }
  // Writes b bits, at most 57, from bit `at` on.
  static void write(std::uint64_t* words, std::uint64_t at, unsigned b, std::uint64_t v) noexcept {
    store_bits(words, at, b, v);
  }
  // Words for a block; empty if there is no memory.
  Array<std::uint64_t> make(std::uint64_t words) noexcept { return Array<std::uint64_t>::try_make_raw(words); }
  void retire(Array<std::uint64_t>) noexcept {}           // nobody reads it any more
  void changing(const Array<std::uint64_t>&) noexcept {}  // these words are written to or retired next
  void publish(const Layer&, std::uint64_t) noexcept {}   // the words of this block are others now
  void moved(std::uint64_t, std::uint64_t) noexcept {}    // the entry stands at both sides; next, it leaves the first
  static constexpr bool kWholeBlocks = false;             // the last block is as long as it must be
  bool begin(unsigned, unsigned) noexcept { return true; }
  // Of a layer's blocks: a 32nd of the layer, or, if it is large, enough for huge pages.
  static unsigned block_bits(unsigned known) noexcept {
    return known < 22 ? std::max(known, 9u) - 5 : std::clamp(known, 23u, 25u) - 4;
  }
};

}  // namespace naysay::cuckoo::detail
