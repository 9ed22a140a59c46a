// SPDX-License-Identifier: Apache-2.0
// LeaningCounters: how the counters of a seesaw filter are read and changed.
//
//   counter    | pending | negative | count  |        pending only in AdaSeesaw; neither in a counting Bloom filter
//                             |
//                             +-- set: the counter "leans" to a known negative
//
// A key's k counters are read one after the other into a LeaningRow, from which the filter sees without branches which
// of them are vacant, which lean, and which leaning one comes first.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"

namespace naysay::seesaw::detail {

// Two bits for each function of a key read so far: is its counter vacant (0), does it lean? The first is highest.
struct LeaningRow {
  std::uint64_t bits = 0;  // vacant in the low half, leaning in the high half

  std::uint32_t vacant() const noexcept { return static_cast<std::uint32_t>(bits); }
  std::uint32_t leaning() const noexcept { return static_cast<std::uint32_t>(bits >> 32); }
  bool all_lean(std::uint32_t k) const noexcept { return (bits >> 32) + 1 == std::uint64_t{1} << k; }
  // The first of k that leans. Some number below k if none does.
  std::uint32_t first(std::uint32_t k) const noexcept {
    return k - 1 - (31 - static_cast<std::uint32_t>(std::countl_zero(leaning() | 1)));
  }
  // Vacant counters except the first that leans, which a backup function may replace.
  std::uint32_t missing() const noexcept {
    const std::uint64_t first = std::uint64_t{1} << (63 - std::countl_zero(bits >> 31 | 1)) >> 1;
    return vacant() & ~static_cast<std::uint32_t>(first);
  }
};
inline constexpr std::uint64_t kLeaning = std::uint64_t{1} << 32;

// What a counter of 4 bits and its negative bit adds to a row: a table costs fewer instructions than the flags.
inline constexpr auto kFlags = [] {
  std::array<std::uint64_t, 32> flags{};
  for (std::uint32_t v = 0; v < 32; ++v) flags[v] = (v % 16 == 0) + (v / 16) * kLeaning;
  return flags;
}();

// How to read a counter: count in the low bits, then the negative bit, then the pending bit. The bits above belong to
// the next counter. Held by value, so that the compiler need not read it again after a store. Bits > 0: the widths are
// known at compile time.
template <unsigned Bits, unsigned Marks>
struct LeaningCounters {
  static constexpr unsigned kBits = Bits, kMarks = Marks;
  using Word = std::conditional_t<Bits == 4, std::uint16_t, std::uint32_t>;  // holds a counter at any bit of a byte
  const std::uint64_t* words;
  std::uint64_t size;
  std::uint32_t bits;   // of a count
  std::uint32_t marks;  // 0, 1: negative, 2: negative and pending

  std::uint32_t count_bits() const noexcept { return Bits > 0 ? Bits : bits; }
  std::uint32_t mark_bits() const noexcept { return Bits > 0 ? Marks : marks; }
  std::uint32_t max() const noexcept { return (std::uint32_t{1} << count_bits()) - 1; }
  std::uint32_t negative() const noexcept { return mark_bits() > 0 ? std::uint32_t{1} << count_bits() : 0; }
  std::uint32_t pending() const noexcept { return mark_bits() > 1 ? std::uint32_t{2} << count_bits() : 0; }

  std::uint64_t position(std::uint64_t hash) const noexcept {
    return fast_range(hash, size) * (count_bits() + mark_bits());
  }
  std::uint64_t position(Digest d, std::uint32_t i) const noexcept { return position(triple_hash(d, i)); }
  std::uint32_t read(std::uint64_t at) const noexcept { return peek_bits<Word>(words, at); }
  void add(std::uint64_t* to, std::uint64_t at, std::uint32_t step) const noexcept { add_bits<Word>(to, at, step); }
  std::uint32_t count(std::uint32_t v) const noexcept { return v & max(); }
  bool leans(std::uint32_t v) const noexcept { return (v & negative()) != 0; }
  void add_to(LeaningRow& row, std::uint32_t v) const noexcept {
    row.bits += row.bits + (Bits == 4 && Marks > 0 ? kFlags[v % 32] : (count(v) == 0) + leans(v) * kLeaning);
  }
  // What is added to a counter that falls to 0: a pending negative becomes a leaning one.
  std::uint32_t last_step(std::uint32_t v) const noexcept {
    return (v & pending()) != 0 ? negative() - pending() - 1 : ~std::uint32_t{0};
  }
};

}  // namespace naysay::seesaw::detail
