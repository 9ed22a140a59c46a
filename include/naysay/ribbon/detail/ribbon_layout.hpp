// SPDX-License-Identifier: Apache-2.0
// RibbonLayout: the solved shards of a ribbon as they lie in memory. Plain and taught ribbons share it.
//
// A ribbon has m slots, each with one bit in every plane. 64 neighbouring slots are a block; a block holds 64 bits of
// plane 0, then the 64 bits of the same slots in plane 1, and so on. A key reads w / 64 + 1 neighbouring blocks and so
// gets all planes together (ribbon_probe.hpp says what it does with them).
//
//   shards   |  0   |   1   |   2  |   3   | ...        follow each other without gaps, of any size
//   blocks   |    |    |    |    |    |    |  ...       64 slots each, across the borders of shards
//
// Fractions of a bit: the first `rich` shards have planes + 1 planes, the others have `planes`. The first of the others
// starts a new block, at a cache line. Block q begins at word q * (planes + 1) if q < rich_blocks, and else at word
// poor + q * planes.
//
// The table has one u32 per shard, and one more for the end of the last:
//
//   31                         8 7      0
//   +---------------------------+--------+      off: the first slot of the shard minus shard * step, 24 bits with sign
//   |           off             |  seed  |      step: the slots of an average shard
//   +---------------------------+--------+
//
// One read of 8 bytes gives the begin and the end of a shard. Sums of sizes that differ from the average by 2^23 slots
// or more cannot be written (fits() says so). That happens only with keys that are not hashed, or with thousands of
// keys that occur 100,000 times each.
//
//   paper    here
//   m        slots of all shards together
//   r        planes, rich
//   w        width
//
// Promises   After validate() every window of every key lies inside the words.
// Cost       32 bits per shard for the table; 64 * planes bits per block.
// Source     Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate membership
//            using ribbon, 2022 (interleaved planes).
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/result.hpp"

namespace naysay::ribbon::detail {

class RibbonLayout {
 public:
  static constexpr unsigned kMaxPlanes = 32;  // the bits of an equation
  static constexpr std::uint64_t kFew = 64;   // nine planes for less than 1 / 64 of the shards: eight for all
  static constexpr std::uint32_t kMaxSlots = std::uint32_t{1} << 17;  // of a shard; hashed keys never need more

  // One shard's piece of the words.
  struct Place {
    std::uint64_t slot;  // its first slot
    std::uint32_t slots;
    std::uint32_t seed;
    std::uint32_t planes;
    std::uint64_t words;  // word offset of block 0 for shards with this number of planes
  };

  // Whether the table can describe shards of these sizes.
  static bool fits(std::span<const std::uint32_t> sizes) noexcept {
    const std::uint64_t step = step_of(sizes);
    std::uint64_t end = 0;
    for (std::uint64_t s = 0; s < sizes.size(); ++s) {
      end += sizes[s];
      const auto off = static_cast<std::int64_t>(end - (s + 1) * step);
      if (off < -kMaxOff || off + 64 > kMaxOff) return false;
    }
    return true;
  }

  // How many planes the shards have.
  struct Mix {
    unsigned planes = 0;     // of every shard
    std::uint64_t rich = 0;  // the first `rich` shards have one more; fewer than there are shards
    friend auto operator<=>(const Mix&, const Mix&) = default;
  };
  // `planes` on average over the shards, or slightly more.
  static Mix mix_of(double planes, std::uint64_t shards) noexcept {
    const double most = std::clamp(planes, 0.0, double{kMaxPlanes}), whole = std::floor(most);
    const auto rich = static_cast<std::uint64_t>(std::ceil((most - whole) * static_cast<double>(shards)));
    return rich < shards ? Mix{static_cast<unsigned>(whole), rich} : Mix{static_cast<unsigned>(whole) + 1, 0};
  }
  // The most planes with which shards of these sizes use at most `bits` bits. {0, 0}, no planes, if none fit.
  static Mix fit(std::span<const std::uint32_t> sizes, double bits) {
    const std::uint64_t shards = sizes.size();
    std::vector<std::uint64_t> before(shards + 1, 0);
    for (std::uint64_t s = 0; s < shards; ++s) before[s + 1] = before[s] + sizes[s];
    const auto fit = [&](Mix mix) {
      const std::uint64_t rich = words_for_bits(before[mix.rich]),
                          poor = words_for_bits(before[shards] - before[mix.rich] + 1);
      const std::uint64_t words = poor_words(rich) + (rich + poor) * mix.planes + (rich != 0);
      return static_cast<double>(bits_of_fields(RibbonLayout{}) + table_bits(shards) + 64 * words) <= bits;
    };
    Mix mix;
    while (mix.planes < kMaxPlanes && fit({mix.planes + 1, 0})) ++mix.planes;
    if (mix.planes == kMaxPlanes) return mix;
    std::uint64_t low = 0, high = shards;  // low fits or is 0, high is one plane more for all
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (fit({mix.planes, middle}) ? low : high) = middle;
    }
    mix.rich = low;
    return mix;
  }

  // The planes that `bits` bits buy. In a small filter whole windows and blocks cost more than the budget: it gets
  // `planes` (what the budget would buy in a large filter) if they fit into bits + fixed. If fewer than 1 / kFew of the
  // shards would get a ninth plane, none does, since eight planes are queried faster (has_eight_planes()).
  static Mix fit(std::span<const std::uint32_t> sizes, double bits, double fixed, double planes) {
    const Mix most = std::max(fit(sizes, bits), std::min(mix_of(planes, sizes.size()), fit(sizes, bits + fixed)));
    return most.planes == 8 && most.rich < divide_up(sizes.size(), kFew) ? Mix{8, 0} : most;
  }

  // No planes at all: accepts everything.
  RibbonLayout() = default;
  bool is_absent() const noexcept { return shards_ == 0; }

  // Zeroed planes for shards of these sizes; sparse ones for a filter that is built in parts. Requires width 64 or 128,
  // width <= each size <= kMaxSlots - 64, fits(sizes), and mix.rich < sizes.size(). The last rich shard may get up to 63
  // slots more than its size.
  RibbonLayout(unsigned width, Mix mix, std::span<const std::uint32_t> sizes, Zeros zeros = Zeros::dense)
      : table_(sizes.size() + 1),
        shards_(sizes.size()),
        rich_(mix.rich),
        width_(width),
        planes_(mix.planes),
        step_(step_of(sizes)) {
    std::uint64_t end = 0;
    for (std::uint64_t s = 0; s < shards_; ++s) {
      end += sizes[s];
      if (s + 1 == rich_) {  // it is extended to the end of its block
        rich_blocks_ = words_for_bits(end);
        end = rich_blocks_ * 64;
      }
      table_.at_mut(s + 1) = static_cast<std::uint32_t>((end - (s + 1) * step_) << 8);
    }
    // The block of slot `end` is allocated too, because a window that begins its block reads the next one. One more
    // word, because a vector reads one plane more than a poor shard has.
    poor_ = poor_words(rich_blocks_);
    const std::uint64_t words = poor_ + words_for_bits(end + 1) * planes_ + (rich_ != 0);
    words_ = Array<std::uint64_t>::make_zeros(words, zeros);
  }

  // The offset that makes poor + q * planes the first word of block q: one word for each rich block, rounded up to a
  // cache line.
  static std::uint64_t poor_words(std::uint64_t rich_blocks) noexcept {
    return divide_up(rich_blocks, kCacheLine / 8) * (kCacheLine / 8);
  }
  static std::uint64_t table_bits(std::uint64_t shards) noexcept { return 32 * (shards + 1); }

  // On average over the shards. Requires !is_absent().
  double mean_planes() const noexcept { return planes_ + static_cast<double>(rich_) / static_cast<double>(shards_); }

  [[gnu::always_inline]] Place place(std::uint64_t shard) const noexcept {
    const auto [slot, slots, seed] = entry(shard);
    const bool is_rich = shard < rich_;
    return {slot, slots, seed, planes_ + is_rich, is_rich ? 0 : poor_};
  }
  void set_seed(std::uint64_t shard, std::uint32_t seed) noexcept {
    assert(seed < 256);
    std::uint32_t& own = table_.at_mut(shard);
    own = (own & ~std::uint32_t{0xff}) | seed;
  }

  // Copies a solved shard to its place: blocks as Band::solve writes them, with phase place(shard).slot % 64. The first
  // and the last block may be shared with neighbouring shards, which other threads may be writing.
  void put(std::uint64_t shard, std::span<const std::uint64_t> blocks) noexcept {
    const Place at = place(shard);
    std::uint64_t* to = words_.mutable_data() + at.words + at.slot / 64 * at.planes;
    assert(blocks.size() == words_for_bits(at.slot % 64 + at.slots) * at.planes);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i < at.planes || i + at.planes >= blocks.size())
        std::atomic_ref(to[i]).fetch_or(blocks[i], std::memory_order_relaxed);
      else
        to[i] = blocks[i];
    }
  }

  // ---- parts: ranges of shards that are built apart ----

  // The words of shards first .. last - 1. Neighbours may share the planes of one block.
  struct WordRange {
    std::uint64_t first = 0, last = 0;
  };
  WordRange word_range(std::uint64_t first, std::uint64_t last) const noexcept {
    if (first == last) return {};
    const Place from = place(first), to = place(last - 1);
    return {from.words + from.slot / 64 * from.planes, to.words + words_for_bits(to.slot + to.slots) * to.planes};
  }
  // ORs words of another layout of the same shape into this one, from word `first` on. False if they do not fit.
  bool put_words(std::uint64_t first, std::span<const std::uint64_t> words) noexcept {
    if (first > words_.size() || words.size() > words_.size() - first) return false;
    for (std::size_t i = 0; i < words.size(); ++i) words_.mutable_data()[first + i] |= words[i];
    return true;
  }
  // The same for a layout of shards first .. last - 1 alone, with one plane as this one has, and without the shape: its
  // slot 0 is the first of these shards. Requires first < last.
  bool put_slots(std::uint64_t first, std::uint64_t last, std::span<const std::uint64_t> words) noexcept {
    const Place from = place(first), to = place(last - 1);
    const std::uint64_t slots = to.slot + to.slots - from.slot, shift = from.slot % 64;
    if (words.size() < words_for_bits(slots)) return false;
    if (slots % 64 != 0 && words[slots / 64] >> (slots % 64) != 0) return false;
    std::uint64_t* out = words_.mutable_data() + from.slot / 64;
    for (std::uint64_t i = 0; i < words_for_bits(slots); ++i) {
      out[i] |= words[i] << shift;
      if (shift != 0 && words[i] >> (64 - shift) != 0) out[i + 1] |= words[i] >> (64 - shift);
    }
    return true;
  }

  // A stranger falls into each shard with the same probability.
  double expected_fpr() const noexcept {
    const double poor = std::exp2(-static_cast<double>(planes_));
    return is_absent() ? 1.0 : poor * (1 - 0.5 * static_cast<double>(rich_) / static_cast<double>(shards_));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("width", self.width_);
    visit("planes", self.planes_);
    visit("shards", self.shards_);
    visit("rich", self.rich_);
    visit("rich_blocks", self.rich_blocks_);
    visit("poor", self.poor_);
    visit("step", self.step_);
    visit("table", self.table_);
    visit("words", self.words_);
  }

  // Checks that every window of every shard lies inside the words.
  Result<Ok> validate(std::string_view who) const {
    const auto corrupt = [&](std::string what) {
      return Error{Errc::corrupt, std::string(who) + ": " + std::move(what)};
    };
    if (is_absent() && table_.empty() && words_.empty()) return Ok{};
    if (width_ != 64 && width_ != 128) return corrupt("width is " + std::to_string(width_) + "; it must be 64 or 128");
    if (planes_ > kMaxPlanes - (rich_ != 0))
      return corrupt(std::to_string(planes_) + " planes; there must be at most " + std::to_string(kMaxPlanes));
    if (shards_ == 0 || shards_ > kMaxShards || rich_ >= shards_ || table_.size() != shards_ + 1)
      return corrupt(std::to_string(shards_) + " shards, " + std::to_string(rich_) +
                     " of them rich, do not make a table of " + std::to_string(table_.size()) + " words");
    if (step_ > kMaxSlots) return corrupt("step is " + std::to_string(step_) + "; a shard has fewer slots");
    if (rich_blocks_ > words_.size())
      return corrupt("rich_blocks is " + std::to_string(rich_blocks_) + "; there are fewer words");
    if (poor_ != poor_words(rich_blocks_))
      return corrupt("poor is " + std::to_string(poor_) + "; it must be " + std::to_string(poor_words(rich_blocks_)));
    for (std::uint64_t s = 0; s < shards_; ++s) {
      const Entry at = entry(s);
      const std::uint64_t slot = at.slot, slots = at.slots;
      const auto refuse = [&] {
        return corrupt("shard " + std::to_string(s) + " has " + std::to_string(slots) + " slots from " +
                       std::to_string(slot) + " on; they must be " + std::to_string(width_) +
                       " or more and lie inside the words");
      };
      if (slots < width_ || slots > kMaxSlots || slot / 64 > 0xffffffff) return refuse();
      const std::uint64_t first = slot / 64, last = (slot + slots - 1) / 64;
      const bool is_rich = s < rich_;
      if (is_rich != (first < rich_blocks_) || is_rich != (last < rich_blocks_)) return refuse();
      if (poor_ + words_for_bits(slot + slots + 1) * planes_ + (rich_blocks_ != 0) > words_.size()) return refuse();
    }
    return Ok{};
  }

  // ---- what a query reads ----

  struct Entry {
    std::uint64_t slot;
    std::uint32_t slots, seed;
  };
  [[gnu::always_inline]] Entry entry(std::uint64_t shard) const noexcept {
    const std::uint64_t both = load_u64(table_.data() + shard);  // of this shard and of the next
    const std::int64_t off = static_cast<std::int32_t>(both) >> 8, next = static_cast<std::int64_t>(both) >> 40;
    return {shard * step_ + static_cast<std::uint64_t>(off), step_ + static_cast<std::uint32_t>(next - off),
            static_cast<std::uint32_t>(both & 0xff)};
  }

  unsigned most_planes() const noexcept { return planes_ + (rich_blocks_ != 0); }
  bool has_eight_planes() const noexcept { return planes_ == 8 && rich_blocks_ == 0; }  // each block is a cache line

  const std::uint32_t* table() const noexcept { return table_.data(); }
  const std::uint64_t* words() const noexcept { return words_.data(); }
  std::size_t word_count() const noexcept { return words_.size(); }
  std::uint64_t shards() const noexcept { return shards_; }
  std::uint64_t rich_blocks() const noexcept { return rich_blocks_; }
  std::uint64_t poor() const noexcept { return poor_; }
  std::uint32_t width() const noexcept { return width_; }
  std::uint32_t planes() const noexcept { return planes_; }
  std::uint32_t step() const noexcept { return step_; }

 private:
  static constexpr std::uint64_t kMaxShards = 0xffffffff;
  static constexpr std::int64_t kMaxOff = (1 << 23) - 1;

  static std::uint32_t step_of(std::span<const std::uint32_t> sizes) noexcept {
    std::uint64_t all = 0;
    for (std::uint32_t size : sizes) all += size;
    return static_cast<std::uint32_t>(all / std::max<std::uint64_t>(1, sizes.size()));
  }

  Directory<std::uint32_t> table_;
  Array<std::uint64_t> words_;
  std::uint64_t shards_ = 0;
  std::uint64_t rich_ = 0;
  std::uint64_t rich_blocks_ = 0;
  std::uint64_t poor_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t planes_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace naysay::ribbon::detail
