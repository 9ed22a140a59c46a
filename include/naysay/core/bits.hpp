// SPDX-License-Identifier: Apache-2.0
// Bits: single bits, bit fields at any position, packed cells (Cells) and numbered bits (RankedBits).
//
//   Cells, b = 5:    cell   0     1     2     3   ...
//                   bits  00000 11111 22222 33333 ...      little-endian: cell i starts at bit i * b
//
// A cell is read with one unaligned 8-byte load, a shift and a mask, whatever its width (1..32 bits), because
// (i * b) mod 8 + 32 < 64. One spare word after the last cell keeps that load inside the array.
//
// A counter is a cell that counts keys. At its maximum it is *sticky*: it moves neither up nor down, because the number
// of keys it stands for is no longer known. A counter at 0 does not move down either.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>

#include "naysay/core/array.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

static_assert(std::endian::native == std::endian::little,
              "naysay reads its little-endian files in place; big-endian machines are not supported");

// b ones. Requires b <= 64.
constexpr std::uint64_t low_mask(unsigned b) noexcept {
  assert(b <= 64);
  return b == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << b) - 1;
}

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) noexcept { return a / b + (a % b != 0); }
constexpr std::uint64_t words_for_bits(std::uint64_t bits) noexcept { return divide_up(bits, 64); }

inline bool test_bit(const std::uint64_t* words, std::uint64_t i) noexcept { return (words[i >> 6] >> (i & 63)) & 1; }
inline void set_bit(std::uint64_t* words, std::uint64_t i) noexcept { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
inline void clear_bit(std::uint64_t* words, std::uint64_t i) noexcept {
  words[i >> 6] &= ~(std::uint64_t{1} << (i & 63));
}

inline std::uint64_t load_u64(const void* p) noexcept {
  std::uint64_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline void store_u64(void* p, std::uint64_t x) noexcept { std::memcpy(p, &x, sizeof x); }

// b bits that start at bit `at` from p on, which need not be aligned. Requires b <= 57 and 8 readable bytes from byte
// at / 8 on.
inline std::uint64_t load_bits(const void* p, std::uint64_t at, unsigned b) noexcept {
  return (load_u64(static_cast<const unsigned char*>(p) + (at >> 3)) >> (at & 7)) & low_mask(b);
}
inline void store_bits(void* p, std::uint64_t at, unsigned b, std::uint64_t value) noexcept {
  unsigned char* to = static_cast<unsigned char*>(p) + (at >> 3);
  const unsigned shift = static_cast<unsigned>(at & 7);
  store_u64(to, (load_u64(to) & ~(low_mask(b) << shift)) | (value << shift));
}

// Moves the bits first .. last - 1 of a word one place up (down); bit `first` becomes `in` (bit last - 1 does, moving
// down). Bits outside of first .. last, last included, stay as they are. Requires first <= last <= 63.
constexpr std::uint64_t move_bits_up(std::uint64_t word, unsigned first, unsigned last, bool in) noexcept {
  const std::uint64_t range = low_mask(last + 1) & ~low_mask(first);
  return (word & ~range) | ((word << 1) & range & ~(std::uint64_t{1} << first)) | (std::uint64_t{in} << first);
}
constexpr std::uint64_t move_bits_down(std::uint64_t word, unsigned first, unsigned last, bool in) noexcept {
  const std::uint64_t range = low_mask(last + 1) & ~low_mask(first);
  return (word & ~range) | ((word >> 1) & range & ~(std::uint64_t{1} << last)) | (std::uint64_t{in} << last);
}

// The field that starts at bit `at`, and in the higher bits whatever follows it, for callers that mask anyway. The
// field may have at most 7 bits fewer than Word. Reads one Word: a shorter one lies in two cache lines less often.
template <class Word = std::uint32_t>
std::uint32_t peek_bits(const std::uint64_t* words, std::uint64_t at) noexcept {
  Word x;
  std::memcpy(&x, reinterpret_cast<const unsigned char*>(words) + (at >> 3), sizeof x);
  return static_cast<std::uint32_t>(x) >> (at & 7);
}
// Adds to that field, modulo 2^32. Requires that the sum fits the field.
template <class Word = std::uint32_t>
void add_bits(std::uint64_t* words, std::uint64_t at, std::uint32_t value) noexcept {
  unsigned char* p = reinterpret_cast<unsigned char*>(words) + (at >> 3);
  Word x;
  std::memcpy(&x, p, sizeof x);
  x = static_cast<Word>(x + (value << (at & 7)));
  std::memcpy(p, &x, sizeof x);
}

// Sticky counters of four bits, sixteen to a word, by value: returns the word with the counter at bit `shift`, a
// multiple of 4, moved. No branches.
constexpr bool nibble_is_set(std::uint64_t word, unsigned shift) noexcept { return ((word >> shift) & 15) != 0; }
constexpr std::uint64_t nibble_up(std::uint64_t word, unsigned shift) noexcept {
  return word + (std::uint64_t{((word >> shift) & 15) != 15} << shift);
}
constexpr std::uint64_t nibble_down(std::uint64_t word, unsigned shift) noexcept {
  return word - (std::uint64_t{(((word >> shift) + 1) & 14) != 0} << shift);  // 0 and 15: 1 and 16
}

// Writes value into zeroed bits from bit `at` on; other threads may do so in the same words at the same time. Requires
// that the word after the last bit exists.
inline void or_bits(std::uint64_t* words, std::uint64_t at, std::uint64_t value) noexcept {
  const unsigned shift = static_cast<unsigned>(at & 63);
  const std::uint64_t low = value << shift, high = shift == 0 ? 0 : value >> (64 - shift);
  if (low != 0) std::atomic_ref(words[at >> 6]).fetch_or(low, std::memory_order_relaxed);
  if (high != 0) std::atomic_ref(words[(at >> 6) + 1]).fetch_or(high, std::memory_order_relaxed);
}

// 64 bits that start at bit `at`, across two words. Requires that word at / 64 + 1 exists.
inline std::uint64_t load_window(const std::uint64_t* words, std::uint64_t at) noexcept {
  const unsigned shift = static_cast<unsigned>(at & 63);
  const std::uint64_t low = words[at >> 6] >> shift;
  return shift == 0 ? low : low | (words[(at >> 6) + 1] << (64 - shift));
}

// Position of the `rank`-th (from 0) one bit of x. Requires rank < popcount(x). Portable: halves by popcount, then
// clears the few ones left.
constexpr unsigned select64(std::uint64_t x, unsigned rank) noexcept {
  assert(rank < static_cast<unsigned>(std::popcount(x)));
  unsigned base = 0;
  for (unsigned half = 32; half >= 8; half /= 2) {
    const unsigned ones = static_cast<unsigned>(std::popcount(x & low_mask(half)));
    if (rank >= ones) rank -= ones, x >>= half, base += half;
  }
  for (; rank > 0; --rank) x &= x - 1;
  return base + static_cast<unsigned>(std::countr_zero(x));
}

// Equal fields of b bits side by side in a word, from bit 0 on, all compared in one step.
struct PackedFields {
  std::uint64_t ones = 0;  // the lowest bit of every field
  std::uint64_t tops = 0;  // the highest bit of every field
  constexpr PackedFields() = default;
  constexpr PackedFields(unsigned b, unsigned count) noexcept {
    assert(b >= 1 && b * count <= 64);
    for (unsigned i = 0; i < count; ++i) ones |= std::uint64_t{1} << (i * b);
    tops = ones << (b - 1);
  }
  // v in every field. Requires that it fits.
  constexpr std::uint64_t repeat(std::uint64_t v) const noexcept { return ones * v; }
  // Where word has v, with not_v = repeat(the complement of v): the top bit of the lowest such field, and perhaps of
  // higher ones; 0 exactly if no field is v. (Such a field of y is all ones; only there can a carry start, and it only
  // goes up, so bits above the fields do no harm.)
  constexpr std::uint64_t matches(std::uint64_t word, std::uint64_t not_v) const noexcept {
    const std::uint64_t y = word ^ not_v;
    return ((y + ones) ^ y) & y & tops;
  }
};

// n packed cells of b bits, 1 <= b <= 32.
class Cells {
 public:
  Cells() = default;
  Cells(std::uint64_t n, unsigned b) : words_(words_for(n, b)), n_(n), b_(b) { assert(b >= 1 && b <= 32); }

  static std::uint64_t words_for(std::uint64_t n, unsigned b) noexcept {
    return n == 0 ? 0 : words_for_bits(n * b) + 1;
  }

  std::uint64_t size() const noexcept { return n_; }
  unsigned width() const noexcept { return b_; }
  std::uint32_t max() const noexcept { return static_cast<std::uint32_t>(low_mask(b_)); }
  const std::uint64_t* words() const noexcept { return words_.data(); }
  std::uint64_t* mutable_words() noexcept { return words_.mutable_data(); }

  std::uint32_t get(std::uint64_t i) const noexcept {
    assert(i < n_);
    return static_cast<std::uint32_t>(load_bits(words_.data(), i * b_, b_));
  }
  // Cell i in the low bits, and in the higher bits whatever follows it, for callers that combine cells before they
  // mask.
  // With B = 8 or 16, which requires width() == B, it is one load.
  template <unsigned B = 0>
  std::uint64_t peek(std::uint64_t i) const noexcept {
    assert(i < n_ && (B == 0 || B == b_));
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(words_.data());
    if constexpr (B == 8) {
      return bytes[i];
    } else if constexpr (B == 16) {
      std::uint16_t cell;
      std::memcpy(&cell, bytes + 2 * i, sizeof cell);
      return cell;
    } else {
      static_assert(B == 0);
      const std::uint64_t at = i * b_;
      return load_u64(bytes + (at >> 3)) >> (at & 7);
    }
  }
  bool nonzero(std::uint64_t i) const noexcept { return get(i) != 0; }
  void set(std::uint64_t i, std::uint32_t value) noexcept {
    assert(i < n_ && value <= max());
    store_bits(words_.mutable_data(), i * b_, b_, value);
  }
  void prefetch(std::uint64_t i) const noexcept {
    __builtin_prefetch(reinterpret_cast<const unsigned char*>(words_.data()) + ((i * b_) >> 3));
  }

  // Sticky counters: false when the counter is at its maximum (both) or at zero (decrement) and stays there. One load,
  // one addition that cannot carry out of the cell, one store.
  bool increment(std::uint64_t i) noexcept {
    const Place at = place(i);
    const std::uint64_t word = load_u64(at.bytes);
    if (((word >> at.shift) & max()) == max()) return false;
    store_u64(at.bytes, word + (std::uint64_t{1} << at.shift));
    return true;
  }
  bool decrement(std::uint64_t i) noexcept {
    const Place at = place(i);
    const std::uint64_t word = load_u64(at.bytes), v = (word >> at.shift) & max();
    if (v == max() || v == 0) return false;
    store_u64(at.bytes, word - (std::uint64_t{1} << at.shift));
    return true;
  }

  // How many cells are not zero.
  std::uint64_t count_nonzero() const noexcept {
    std::uint64_t count = 0;
    if (b_ == 4) {  // sixteen at a time: the usual counters
      for (std::uint64_t word : words_) {
        word |= word >> 2;
        word |= word >> 1;
        count += static_cast<std::uint64_t>(std::popcount(word & 0x1111111111111111u));
      }
    } else {
      for (std::uint64_t i = 0; i < n_; ++i) count += get(i) != 0;
    }
    return count;
  }

  // Writes count values to the cells from `first` on, without reading what was there. Requires that first is a
  // multiple of 64, so that the cells begin with a word of their own; bits above the width are dropped. Cells after
  // the last, up to the end of its word, become zero.
  void write(std::uint64_t first, const std::uint64_t* values, std::uint64_t count) noexcept {
    assert(first % 64 == 0 && first + count <= n_);
    std::uint64_t* to = words_.mutable_data() + first / 64 * b_;
    const std::uint64_t mask = low_mask(b_);
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t value = values[i] & mask;
      word |= value << filled;
      filled += b_;
      if (filled >= 64) {
        *to++ = word;
        filled -= 64;
        word = filled == 0 ? 0 : value >> (b_ - filled);
      }
    }
    if (filled != 0) *to = word;
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("n", self.n_);
    visit("b", self.b_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    if (b_ < 1 || b_ > 32)
      return n_ == 0 && b_ == 0 && words_.empty()
                 ? Result<Ok>(Ok{})
                 : Error{Errc::corrupt, "cells: width is " + std::to_string(b_) + " bits; it must be 1 to 32"};
    if (n_ > (std::uint64_t{1} << 58) || words_.size() != words_for(n_, b_))
      return Error{Errc::corrupt, "cells: " + std::to_string(n_) + " cells of " + std::to_string(b_) +
                                      " bits do not make " + std::to_string(words_.size()) + " words"};
    return Ok{};
  }

 private:
  // Eight bytes that hold a whole cell, and the bit at which it starts.
  struct Place {
    void* bytes;
    unsigned shift;
  };
  Place place(std::uint64_t i) noexcept {
    assert(i < n_);
    const std::uint64_t at = i * b_;
    return {reinterpret_cast<unsigned char*>(words_.mutable_data()) + (at >> 3), static_cast<unsigned>(at & 7)};
  }

  Array<std::uint64_t> words_;
  std::uint64_t n_ = 0;
  std::uint32_t b_ = 0;
};

// A bit array whose ones are numbered: slot(i) of the one at bit i is how many ones lie before it. Set the ones, seal,
// then query.
class RankedBits {
 public:
  RankedBits() = default;
  explicit RankedBits(std::uint64_t bits) : words_(divide_up(bits, kBlock) * kWords) {}

  void set(std::uint64_t i) noexcept { set_bit(words_.mutable_data(), i); }
  bool test(std::uint64_t i) const noexcept { return test_bit(words_.data(), i); }
  const std::uint64_t* words() const noexcept { return words_.data(); }

  // Numbers the ones and returns how many there are.
  std::uint64_t seal() {
    before_ = Array<std::uint64_t>(words_.size() / kWords);
    std::uint64_t ones = 0;
    for (std::uint64_t w = 0; w < words_.size(); ++w) {
      if (w % kWords == 0) before_.at_mut(w / kWords) = ones;
      ones += static_cast<std::uint64_t>(std::popcount(words_[w]));
    }
    return ones;
  }

  // Requires test(i), and no set() since seal().
  std::uint64_t slot(std::uint64_t i) const noexcept {
    std::uint64_t ones = before_[i / kBlock];
    for (std::uint64_t w = i / kBlock * kWords; w < i / 64; ++w)
      ones += static_cast<std::uint64_t>(std::popcount(words_[w]));
    return ones + static_cast<std::uint64_t>(std::popcount(words_[i / 64] & low_mask(static_cast<unsigned>(i % 64))));
  }

 private:
  static constexpr std::uint64_t kWords = 4, kBlock = kWords * 64;  // one count per four words: a quarter on top

  Array<std::uint64_t> words_;
  Array<std::uint64_t> before_;  // by block
};

}  // namespace naysay
