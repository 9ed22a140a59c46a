// SPDX-License-Identifier: Apache-2.0
// Function family: the hash functions of a variable hash filter, as plain arithmetic that every builder shares.
//
//   Digest {lo, hi}
//     hi --fast_range--> region            x = lo + seed: all else comes from x
//
//   a spread function, number i < 2^16: sends x to one of 8 children
//
//        i  =  | c (4 bits) | b (6 bits) | a (6 bits) |
//
//        child = the 3 bits from bit a of word A  xor  those from bit b of word B  xor  those from bit c of word C
//
//   a slot function, number i < 2^r: sends x to odd (1) or even (0)
//
//        i  =  | mask (r - 8 bits) | column (3 bits) | pick (5 bits) |
//
//        bit = bit `pick` of pick_word(x, f)  xor  bit `column` of mask_word(x)  xor  parity(mask and mask_word(x) >>
//        8) number 0 is no function: it accepts every key. The low 8 bits of a number are its place.
//
// Why in parts: a word holds one bit of 64 functions, so functions can be tried 64 at a time; but to try 2^r functions
// that way costs 2^r / 64 words per key. With the number in parts joined by xor, all functions share a few words, which
// can be computed before the number is known. The bit depends linearly on the mask, so masks need not be tried at all:
// function_search.hpp solves for them.
//
// Promises   The same answers on every machine and device: only integer arithmetic. For a random x the bits of the
//            functions of a slot are independent and fair, because each function has its own word.
// Cost       Four multiplications for all spread functions and the mask word, two of 32 bits per slot function.
// Source     our own; what a function must do: Deeds, 2020, section 3.2.
#pragma once

#include <cstdint>

#include "naysay/core/hash.hpp"

namespace naysay::variable_hash::detail::family {

// ---- spread functions ------------------------------------------------------------------------------------------

inline constexpr unsigned kChildLog = 3;  // 8 children; a power of two makes it possible to count in bits
inline constexpr unsigned kChildren = 1u << kChildLog;
inline constexpr unsigned kMinSpreadBits = 9;  // 512 functions: one vector
inline constexpr unsigned kMaxSpreadBits = 16;

struct SpreadWords {
  std::uint64_t a, b, c;
};

// One multiplication each; the high half, which is mixed best, is folded into the low one (odd constants of wyhash).
constexpr SpreadWords spread_words(std::uint64_t x) noexcept {
  const std::uint64_t a = x * 0xa0761d6478bd642fu, b = x * 0xe7037ed1a0b428dbu, c = x * 0x8ebc6af09c88c6e3u;
  return {a ^ a >> 32, b ^ b >> 32, c ^ c >> 32};
}

// The child, 0..7, to which spread function i sends a key of these words.
constexpr unsigned spread_child(const SpreadWords& w, std::uint32_t i) noexcept {
  return static_cast<unsigned>((w.a >> (i & 63)) ^ (w.b >> (i >> 6 & 63)) ^ (w.c >> (i >> 12))) & (kChildren - 1);
}

// ---- slot functions --------------------------------------------------------------------------------------------

inline constexpr unsigned kPickLog = 5;    // 32 picks: a word of 32 bits, so that a register holds 16 functions
inline constexpr unsigned kColumnLog = 3;  // 8 columns: 8 tries if the equations of the keys depend on each other
inline constexpr unsigned kPlaceLog = kPickLog + kColumnLog;
inline constexpr unsigned kMaxFunctionBits = 55;  // 8 bytes hold a number at any bit of a byte
inline constexpr unsigned kNarrowBits = 28;       // numbers of up to this many bits are tested 8 or 16 at a time
inline constexpr unsigned kMaxFunctions = 64;     // of a slot: a rate of 2^-64
inline constexpr unsigned kMaxSlotKeys = 64;      // each key of a slot is one bit of a word

// The bits that masks and columns choose from.
constexpr std::uint64_t mask_word(std::uint64_t x) noexcept {
  const std::uint64_t y = x * 0x589965cc75374cc3u;
  return y ^ y >> 32;
}

// The 32 bits of function f that a pick chooses from: two rounds of the 32-bit finaliser by C. Wellons ("lowbias32"),
// one half of x before each. Multiplications of 32 bits are single instructions on vector units and GPUs; those of
// 64 bits are not.
inline constexpr std::uint32_t kStep = 0x9e3779b9u;  // 2^32 over the golden ratio
inline constexpr std::uint32_t kFirstRound = 0x7feb352du, kSecondRound = 0x846ca68bu;
constexpr std::uint32_t pick_word(std::uint64_t x, unsigned f) noexcept {
  std::uint32_t z = static_cast<std::uint32_t>(x) + (f + 1) * kStep;
  z = (z ^ z >> 16) * kFirstRound;
  z = ((z ^ z >> 15) + static_cast<std::uint32_t>(x >> 32)) * kSecondRound;
  return z ^ z >> 16;
}

constexpr unsigned parity(std::uint64_t x) noexcept { return static_cast<unsigned>(__builtin_parityll(x)); }

constexpr unsigned place(std::uint64_t number) noexcept {
  return static_cast<unsigned>(number & ((1u << kPlaceLog) - 1));
}
constexpr unsigned mask_bits(unsigned r) noexcept { return r > kPlaceLog ? r - kPlaceLog : 0; }

// Whether the function accepts a key with these words.
constexpr bool accepts(std::uint64_t number, std::uint32_t pick_word, std::uint64_t mask_word) noexcept {
  const std::uint64_t mask =
      (number & ~std::uint64_t{(1u << kPlaceLog) - 1}) | 1u << (number >> kPickLog & ((1u << kColumnLog) - 1));
  return number == 0 || ((pick_word >> (number & ((1u << kPickLog) - 1)) ^ parity(mask & mask_word)) & 1);
}

}  // namespace naysay::variable_hash::detail::family
