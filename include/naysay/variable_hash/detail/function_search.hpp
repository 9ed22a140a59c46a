// SPDX-License-Identifier: Apache-2.0
// FunctionSearch: finds the functions that accept all keys of a slot.
//
//   Function f accepts key i under the number (mask, column, pick) if
//
//        parity(mask and mask_word(i))  =  not (bit `pick` of pick_word(i, f)  xor  bit `column` of mask_word(i))
//
//   For a given column and pick this is a system of linear equations in the bits of the mask, one equation per key.
//   The left sides are the same for all columns, picks and functions, so they are eliminated once:
//
//        keys 0..c-1                     basis (one per mask bit)           rests (left side 0)
//        m0 = 1011  \                    1 . . .  = keys {0}
//        m1 = 0110   |  elimination      . 1 . .  = keys {0, 3}             0 0 0 0 = keys {0, 1, 4}
//        m2 = 1101   |  ----------->     . . 1 .  = keys {2}                0 0 0 0 = keys {2, 3}
//        ...        /
//
//   A rest requires that the right sides of its keys cancel. One xor over the keys' words tests this for all 32 picks,
//   and the AND over the rests leaves the picks that work. Any bit left is a hit, and the basis gives its mask.
//
//   paper         here
//   SAT(H_i)      works(column) has bit `pick`, and i = number(column, pick)
//   2^r           8 columns, 32 picks and 2^(r-8) masks; where the keys leave mask bits free, those are 0
//
// Promises   number() accepts every key. The answers do not depend on the order of the keys.
// Cost       For c keys and r bits: c * r / 2 xors once; then c words and c * (rests) / 2 xors per function. The
//            thesis tries 2^c functions instead: 16 million for 24 keys.
// Source     Deeds, 2020, section 3.2, phase 2, for what is searched.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "naysay/core/bits.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"

namespace naysay::variable_hash::detail {

class FunctionSearch {
 public:
  // Requires 1 <= r <= kMaxFunctionBits. The keys are x values; they may repeat. For more than kMaxSlotKeys keys no
  // function works.
  FunctionSearch(std::span<const std::uint64_t> keys, unsigned r) noexcept
      : columns_(r > family::kPickLog ? 1u << std::min(r - family::kPickLog, family::kColumnLog) : 1) {
    if (keys.size() > family::kMaxSlotKeys) return;
    keys_ = keys;
    allowed_ = static_cast<std::uint32_t>(low_mask(1u << std::min(r, family::kPickLog)));
    for (unsigned i = 0; i < keys_.size(); ++i) {
      const std::uint64_t word = family::mask_word(keys_[i]);
      for (unsigned column = 0; column < columns_; ++column) column_[column] |= (word >> column & 1) << i;
      Equation e{word >> family::kPlaceLog & low_mask(family::mask_bits(r)), std::uint64_t{1} << i};
      while (const std::uint64_t shared = e.left & leads_) {
        const Equation& b = basis_[std::bit_width(shared) - 1];
        e.left ^= b.left, e.keys ^= b.keys;
      }
      if (e.left != 0) {
        const unsigned lead = static_cast<unsigned>(std::bit_width(e.left)) - 1;
        basis_[lead] = e;
        leads_ |= std::uint64_t{1} << lead;
      } else {
        rests_[rest_count_++] = e.keys;
      }
    }
  }

  // Selects function f for the calls below.
  void turn_to(unsigned f) noexcept {
    for (unsigned i = 0; i < keys_.size(); ++i) right_[i] = ~family::pick_word(keys_[i], f);
    for (unsigned j = 0; j < rest_count_; ++j) {
      odd_[j] = 0;
      for (std::uint64_t left = rests_[j]; left != 0; left &= left - 1) odd_[j] ^= right_[std::countr_zero(left)];
    }
  }

  unsigned columns() const noexcept { return columns_; }

  // The picks that work with this column.
  std::uint32_t works(unsigned column) const noexcept {
    std::uint32_t alive = allowed_;
    for (unsigned j = 0; j < rest_count_ && alive != 0; ++j)
      alive &= ~odd_[j] ^ (0 - family::parity(rests_[j] & column_[column]));
    return alive;
  }

  // Requires that works(column) has the bit `pick`.
  std::uint64_t number(unsigned column, unsigned pick) const noexcept {
    std::uint64_t right = column_[column];  // bit i: what key i requires
    for (unsigned i = 0; i < keys_.size(); ++i) right ^= std::uint64_t{right_[i] >> pick & 1} << i;
    std::uint64_t mask = 0;
    for (std::uint64_t left = leads_; left != 0;
         left &= left - 1) {  // from the lowest: an equation depends only on lower bits
      const unsigned lead = static_cast<unsigned>(std::countr_zero(left));
      mask |= std::uint64_t{family::parity((basis_[lead].keys & right)) ^ family::parity(basis_[lead].left & mask)}
              << lead;
    }
    return mask << family::kPlaceLog | column << family::kPickLog | pick;
  }

  // The number that works at the first place from `place` on; 0 if there is none.
  std::uint64_t first(unsigned place) const noexcept {
    for (unsigned column = place >> family::kPickLog; column < columns_; ++column, place = 0) {
      const auto skipped = static_cast<std::uint32_t>(low_mask(place & ((1u << family::kPickLog) - 1)));
      for (std::uint32_t alive = works(column) & ~skipped; alive != 0; alive &= alive - 1)
        if (const std::uint64_t found = number(column, static_cast<unsigned>(std::countr_zero(alive))); found != 0)
          return found;
    }
    return 0;
  }

 private:
  struct Equation {
    std::uint64_t left;  // mask bits
    std::uint64_t keys;  // whose right sides are added up
  };

  std::span<const std::uint64_t> keys_;
  unsigned columns_;
  unsigned rest_count_ = 0;
  std::uint32_t allowed_ = 0;
  std::uint64_t leads_ = 0;  // the mask bits that lead an equation of the basis
  std::uint64_t column_[1u << family::kColumnLog] = {};
  Equation basis_[family::kMaxFunctionBits];
  std::uint64_t rests_[family::kMaxSlotKeys];
  std::uint32_t right_[family::kMaxSlotKeys];  // of the selected function; one bit per pick
  std::uint32_t odd_[family::kMaxSlotKeys];
};

}  // namespace naysay::variable_hash::detail
