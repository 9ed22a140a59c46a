// SPDX-License-Identifier: Apache-2.0
// HashModulator: remembers which backup function the conflicting keys of a cell use, and how many keys rely on it.
//
//   cell       0       1       2       3       4
//           +-------+-------+-------+-------+-------+
//           | 0   - | 2   1 | 0   - | 1   0 | 7*  1 |     count and index; 0: empty, *: full, permanently
//           +-------+-------+-------+-------+-------+
//                       ^
//    position(x) = 1 ---+     x, if it conflicts, tries backup function 1
//
// It stores no keys: all conflicting keys of a cell share its index. The count is a lock: while it is not 0 the
// index stays, so a key finds on erase what it found on insert.
//
//   paper             here
//   n                 size()
//   h_0               position(d)
//   ModulatedCounter  count: counter_bits wide, sticky at its maximum
//   ModulatedIndex    index, of a family of `backups`
//
// Promises   An index changes only while its count is 0. A full cell keeps its index permanently.
// Cost       One read at a random place; counter_bits + ceil(log2(backups)) bits per cell.
// Source     Seesaw Counting Filter (WWW 2022), 3.3.
#pragma once

#include <bit>

#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"

namespace naysay::seesaw::detail {

class HashModulator {
 public:
  static constexpr unsigned kMaxCounterBits = 16;
  static constexpr unsigned kMaxBackups = 256;

  HashModulator() = default;
  // Requires 1 <= counter_bits <= kMaxCounterBits and 1 <= backups <= kMaxBackups.
  HashModulator(std::uint64_t cells, unsigned counter_bits, unsigned backups)
      : cells_(cells, cell_bits(counter_bits, backups)), counter_bits_(counter_bits) {}

  static unsigned cell_bits(unsigned counter_bits, unsigned backups) noexcept {
    return counter_bits + static_cast<unsigned>(std::bit_width(backups - 1));
  }

  std::uint64_t size() const noexcept { return cells_.size(); }
  // Whether a cell has exactly the bits for the index of one of `backups` functions. Requires backups > 0.
  bool holds(unsigned backups) const noexcept { return cells_.width() == cell_bits(counter_bits_, backups); }
  // Requires size() > 0. The counters of a key are at lo + i * hi: each of them is independent of hi alone.
  std::uint64_t position(Digest d) const noexcept { return fast_range(d.hi, cells_.size()); }
  void prefetch(std::uint64_t cell) const noexcept { cells_.prefetch(cell); }

  struct Entry {
    std::uint32_t count;  // 0: empty
    std::uint32_t index;
  };
  Entry at(std::uint64_t cell) const noexcept {
    const std::uint32_t v = peek_bits(cells_.words(), cell * cells_.width());
    return {v & max_count(), (v >> counter_bits_) & ((std::uint32_t{1} << (cells_.width() - counter_bits_)) - 1)};
  }

  // One more key relies on the cell, whose entry is e. An empty cell stores `chosen`; another keeps its index.
  void take(std::uint64_t cell, Entry e, std::uint32_t chosen) noexcept {
    const std::uint32_t step = e.count == 0 ? 1 + ((chosen - e.index) << counter_bits_) : e.count < max_count();
    add_bits(cells_.mutable_words(), cell * cells_.width(), step);
  }
  // One key fewer. After the last one the cell is empty; a full cell stays full.
  void release(std::uint64_t cell, Entry e) noexcept {
    if (e.count == 0 || e.count == max_count()) return;
    const std::uint32_t step = e.count == 1 ? 1 + (e.index << counter_bits_) : 1;
    add_bits(cells_.mutable_words(), cell * cells_.width(), 0 - step);
  }

  // Cells in use.
  std::uint64_t used() const noexcept {
    std::uint64_t used = 0;
    for (std::uint64_t i = 0; i < cells_.size(); ++i) used += at(i).count != 0;
    return used;
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("counter_bits", self.counter_bits_);
    visit("cells", self.cells_);
  }
  Result<Ok> validate() const {
    NAYSAY_CHECK(cells_.validate());
    if (cells_.size() != 0 && (counter_bits_ < 1 || counter_bits_ > kMaxCounterBits || cells_.width() < counter_bits_ ||
                               cells_.width() > cell_bits(counter_bits_, kMaxBackups)))
      return Error{Errc::corrupt, "hash_modulator: counters of " + std::to_string(counter_bits_) +
                                      " bits do not fit cells of " + std::to_string(cells_.width())};
    return Ok{};
  }

 private:
  std::uint32_t max_count() const noexcept { return (std::uint32_t{1} << counter_bits_) - 1; }

  Cells cells_;
  std::uint32_t counter_bits_ = 0;
};

}  // namespace naysay::seesaw::detail
