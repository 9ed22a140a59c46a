// SPDX-License-Identifier: Apache-2.0
// SharedAccess: how a SplitTable is read while one thread writes to it.
//
// Every word that a reader may read is read and written atomically, with acquire and release, so that a reader who sees
// a word sees all that was written before it. On x86 these are plain loads and stores.
//
//   directory   by layer parity and block: the address of the block's words, and in its low six bits their slot width.
//               One word, so address and width always belong together.
//   moves       counts the moves of entries, in 1024 stripes by the low bits of a side's place. A reader looks at the
//               stripe of its first side; a move counts at both of its sides.
//   recycled    counts how often retired words were taken into use again. Words are never given back to the system
//               while the table lives: a late reader finds memory, and this number tells it that the words are others.
//
// All blocks of a table have the same number of buckets, so retired words fit the next block: at most a few are spare.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "naysay/core/array.hpp"
#include "naysay/cuckoo/detail/split_table.hpp"

namespace naysay::live::detail {

// A checkpoint that is being written: it must have the words of a block as they were when it began.
class BlockSaver {
 public:
  virtual void before_change(const std::uint64_t* words) noexcept = 0;

 protected:
  ~BlockSaver() = default;
};

class SharedAccess {
 public:
  static constexpr bool kShared = true, kWholeBlocks = true;

  static std::uint64_t load(const std::uint64_t& word) noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  static void store(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  static std::uint64_t window(const std::uint64_t* words, std::uint64_t at) noexcept {
    const unsigned shift = static_cast<unsigned>(at & 63);
    const std::uint64_t low = load(words[at >> 6]), high = load(words[(at >> 6) + 1]);
    return (low >> shift) | ((high << 1) << (63 - shift));
  }

  // Writes b bits, less than 64, from bit `at` on.
  static void write(std::uint64_t* words, std::uint64_t at, unsigned b, std::uint64_t v) noexcept {
    const std::uint64_t mask = low_mask(b);
    const unsigned shift = static_cast<unsigned>(at & 63);
    std::uint64_t* word = words + (at >> 6);
    store(word[0], (word[0] & ~(mask << shift)) | (v << shift));
    if (shift + b <= 64) return;
    store(word[1], (word[1] & ~(mask >> (64 - shift))) | (v >> (64 - shift)));
  }

  // Room for the directory of a table that starts with 2^level buckets or more. False if there is no memory.
  bool begin(unsigned place_bits, unsigned level) noexcept {
    block_bits_ = std::clamp(level, 8u, 18u) - 4;
    at_mask_ = low_mask(block_bits_);
    const std::uint64_t blocks = (std::uint64_t{1} << place_bits >> block_bits_) + 1;
    for (auto& half : directory_) {
      half.reset(new (std::nothrow) std::uint64_t[blocks]());
      if (!half) return false;
    }
    moves_.reset(new (std::nothrow) std::uint64_t[kStripes]());
    return moves_ != nullptr;
  }
  unsigned block_bits(unsigned) const noexcept { return block_bits_; }

  Array<std::uint64_t> make(std::uint64_t words) noexcept {
    for (Array<std::uint64_t>& spare : spare_)
      if (spare.size() >= words) {
        store(recycled_, recycled_ + 1);
        std::swap(spare, spare_.back());
        Array<std::uint64_t> out = std::move(spare_.back());
        spare_.pop_back();
        return out;
      }
    // Room to retire it, while an insertion can still fail.
    if (!reserve_for(spare_, std::bit_ceil(made_ + 1))) return {};
    auto out = Array<std::uint64_t>::try_make_raw(words);
    made_ += !out.empty();
    return out;
  }
  void retire(Array<std::uint64_t> words) noexcept { spare_.push_back(std::move(words)); }
  void publish(const cuckoo::detail::Layer& layer, std::uint64_t k) noexcept {
    const auto& words = layer.blocks[k].words;
    const auto address = reinterpret_cast<std::uintptr_t>(words.data());
    store(directory_[layer.known & 1][k], words.empty() ? 0 : address | layer.width);
  }
  // Before words change that a checkpoint has not written yet, it writes them.
  void changing(const Array<std::uint64_t>& words) noexcept {
    if (saver_ != nullptr) saver_->before_change(words.data());
  }
  void save_through(BlockSaver* saver) noexcept { saver_ = saver; }
  void moved(std::uint64_t from, std::uint64_t to) noexcept {
    for (std::uint64_t side : {from, to}) {
      std::uint64_t& stripe = moves_[side % kStripes];
      store(stripe, stripe + 1);
    }
  }

  cuckoo::detail::BlockView view(unsigned known, std::uint64_t bucket, unsigned width) const noexcept {
    const std::uint64_t entry = load(directory_[known & 1][bucket >> block_bits_]);
    if ((entry & kWidthMask) != width) return {nullptr, 0};
    return {reinterpret_cast<const std::uint64_t*>(entry & ~kWidthMask), bucket & at_mask_};
  }
  std::uint64_t moves(std::uint64_t side) const noexcept { return load(moves_[side % kStripes]); }
  std::uint64_t recycled() const noexcept { return load(recycled_); }

 private:
  static constexpr std::uint64_t kStripes = 1024, kWidthMask = kCacheLine - 1;

  std::unique_ptr<std::uint64_t[]> directory_[2];
  std::unique_ptr<std::uint64_t[]> moves_;
  std::uint64_t recycled_ = 0;
  BlockSaver* saver_ = nullptr;
  std::vector<Array<std::uint64_t>> spare_;  // has room for all that were made
  std::size_t made_ = 0;
  unsigned block_bits_ = cuckoo::detail::kMinBlockBits;
  std::uint64_t at_mask_ = low_mask(cuckoo::detail::kMinBlockBits);  // of a bucket in its block
};

}  // namespace naysay::live::detail
