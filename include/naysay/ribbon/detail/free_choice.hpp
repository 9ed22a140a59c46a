// SPDX-License-Identifier: Apache-2.0
// FreeChoice: the bits of a band's free slots in one plane, some of them chosen such that given sums have given bits.
//
//   free slot          0 1 2 3 4
//   sum = 1              1 . 1          slot 1 is chosen: it will be 1 plus slot 3
//   sum = 0              1 1 . 1        has slot 1 too: the row of slot 1 is added, and slot 2 is chosen
//   others             0     3 4        keep the bits that they had
//
// It is Band for a few dozen slots, all within one word (slot_sums.hpp makes the sums).
//
// Promises   choose() returns the slot that Band::add() would use for the same equation after the same equations before.
// Cost       choose(): one addition of a word for each chosen slot before the one that it finds, at most.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace naysay::ribbon::detail {

// Sum: std::uint64_t or Uint128.
template <class Sum>
class FreeChoice {
 public:
  static constexpr unsigned kMost = 8 * sizeof(Sum) - 1;  // free slots

  // Nothing is chosen yet; bit k of `bits` is the bit of free slot k, and stays unless it is chosen.
  void reset(unsigned free, Sum bits) noexcept {
    assert(free <= kMost);
    free_ = free;
    bits_ = bits;
    chosen_ = 0;
  }
  // Chooses a free slot such that the slots in `sum` add up to `bit`. Returns it, or free if sums before it decide that.
  unsigned choose(Sum sum, bool bit) noexcept {
    Sum row = sum | static_cast<Sum>(bit) << kMost;
    for (;;) {
      const unsigned first = lowest(row);
      if (first >= free_) return free_;
      if ((chosen_ >> first & 1) == 0) {
        rows_[first] = row;
        chosen_ |= Sum{1} << first;
        return first;
      }
      row ^= rows_[first];
    }
  }
  // The bits of all free slots.
  Sum bits() noexcept {
    for (unsigned k = free_; k-- > 0;) {
      if ((chosen_ >> k & 1) == 0) continue;
      const Sum others = rows_[k] & ((Sum{1} << kMost) - 1) & ~(Sum{1} << k);
      const bool bit = (rows_[k] >> kMost & 1) != is_odd(others & bits_);
      bits_ = (bits_ & ~(Sum{1} << k)) | static_cast<Sum>(bit) << k;
    }
    return bits_;
  }

  static bool is_odd(Sum x) noexcept {
    std::uint64_t folded = static_cast<std::uint64_t>(x);
    if constexpr (sizeof(Sum) == 16) folded ^= static_cast<std::uint64_t>(x >> 64);
    return __builtin_parityll(folded);
  }

 private:
  // The lowest one, or a number beyond all bits.
  static unsigned lowest(Sum x) noexcept {
    const auto low = static_cast<std::uint64_t>(x);
    if constexpr (sizeof(Sum) == 16)
      if (low == 0) return 64 + static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(x >> 64)));
    return static_cast<unsigned>(std::countr_zero(low));
  }

  std::array<Sum, kMost> rows_;  // of the chosen slots, each the lowest one in its row; bit kMost: what they add up to
  Sum bits_ = 0, chosen_ = 0;
  unsigned free_ = 0;
};

}  // namespace naysay::ribbon::detail
