// SPDX-License-Identifier: Apache-2.0
// The 22 hash functions of HABF's table: functions of different design, each of the bytes of a key.
//
//   number   function               number   function              number   function
//   1        lookup3 ("BOB")        9        CRC-32                17       DJB
//   2        XXH3-128               10       one-at-a-time (OAAT)  18       PJW, 64 bits
//   3        SipHash-2-4            11       DEK                   19       JS
//   4        MurmurHash3, 32 bits   12       Pearson               20       RS
//   5        BKDR                   13       PY                    21       SDBM
//   6        MurmurHash64A          14       BRP                   22       ELF
//   7        AP                     15       TWMX
//   8        FNV-1a, 64 bits        16       NDJB
//
// Debian 12 has no library of the CityHash, SuperFastHash and Hsieh of the paper's Table II; SipHash, MurmurHash3 and
// Pearson (3, 4 and 12) stand in their places. Each is written from its description, XXH3 and SipHash are the library's.
// The first seven are the paper's default family (|H| = 7, cells of 4 bits) in the order of the authors' code.
//
// Many of them are weak: values of 28 to 32 bits, and of short keys fewer. That is what the paper measures. They are
// reduced to a range by the remainder, as in the paper, because their high bits say little.
//
// Promises   the same bytes give the same value on every machine.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, Table II; B. Jenkins (lookup3, one-at-a-time) and
//            A. Appleby (Murmur), public domain; G. Fowler, L. C. Noll, K.-P. Vo (FNV), public domain; P. Pearson, CACM 33(6);
//            D. Knuth (DEK), P. Weinberger (PJW), R. Sedgewick (RS), B. Kernighan and D. Ritchie (BKDR), D. Bernstein
//            (DJB), B. Preiss (BRP), T. Wang (TWMX), A. Partow (AP), J. Sobel (JS), as their authors describe them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "naysay/core/hash.hpp"

namespace naysay::habf {

inline constexpr unsigned kTableFunctions = 22;

namespace table {

// Calls step(h, byte) for each byte.
template <class Word, class Step>
constexpr Word over(std::string_view text, Word h, Step&& step) noexcept {
  for (const char c : text) h = step(h, Word{static_cast<std::uint8_t>(c)});
  return h;
}
// Up to sizeof(Word) bytes, little-endian.
template <class Word>
Word word_at(std::string_view text, std::size_t at) noexcept {
  Word w = 0;
  std::memcpy(&w, text.data() + at, std::min(sizeof w, text.size() - at));
  return w;
}

inline std::uint32_t lookup3(std::string_view text) noexcept {
  const auto rot = [](std::uint32_t x, int by) { return std::rotl(x, by); };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(text.size()), b = a, c = a;
  std::size_t at = 0;
  const auto take = [&] {
    a += at < text.size() ? word_at<std::uint32_t>(text, at) : 0;
    b += at + 4 < text.size() ? word_at<std::uint32_t>(text, at + 4) : 0;
    c += at + 8 < text.size() ? word_at<std::uint32_t>(text, at + 8) : 0;
  };
  for (; text.size() - at > 12; at += 12) {
    take();
    a -= c, a ^= rot(c, 4), c += b;
    b -= a, b ^= rot(a, 6), a += c;
    c -= b, c ^= rot(b, 8), b += a;
    a -= c, a ^= rot(c, 16), c += b;
    b -= a, b ^= rot(a, 19), a += c;
    c -= b, c ^= rot(b, 4), b += a;
  }
  if (at == text.size()) return c;
  take();
  c ^= b, c -= rot(b, 14);
  a ^= c, a -= rot(c, 11);
  b ^= a, b -= rot(a, 25);
  c ^= b, c -= rot(b, 16);
  a ^= c, a -= rot(c, 4);
  b ^= a, b -= rot(a, 14);
  c ^= b, c -= rot(b, 24);
  return c;
}

inline std::uint32_t murmur3_32(std::string_view text) noexcept {
  constexpr std::uint32_t kFirst = 0xcc9e2d51, kSecond = 0x1b873593;
  const auto mixed = [&](std::uint32_t k) { return std::rotl(k * kFirst, 15) * kSecond; };
  std::uint32_t h = 0;
  std::size_t at = 0;
  for (; at + 4 <= text.size(); at += 4)
    h = std::rotl(h ^ mixed(word_at<std::uint32_t>(text, at)), 13) * 5 + 0xe6546b64;
  if (at < text.size()) h ^= mixed(word_at<std::uint32_t>(text, at));
  h ^= static_cast<std::uint32_t>(text.size());
  h = (h ^ (h >> 16)) * 0x85ebca6b;
  h = (h ^ (h >> 13)) * 0xc2b2ae35;
  return h ^ (h >> 16);
}

inline std::uint64_t murmur64a(std::string_view text, std::uint64_t seed) noexcept {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  std::uint64_t h = seed ^ (text.size() * kFactor);
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t k = word_at<std::uint64_t>(text, at) * kFactor;
    k ^= k >> 47;
    h = (h ^ (k * kFactor)) * kFactor;
  }
  if (at < text.size()) h = (h ^ word_at<std::uint64_t>(text, at)) * kFactor;
  h = (h ^ (h >> 47)) * kFactor;
  return h ^ (h >> 47);
}

inline constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> t{};
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320 : 0);
    t[i] = c;
  }
  return t;
}();
constexpr std::uint32_t crc32(std::string_view text) noexcept {
  return ~over(text, ~std::uint32_t{0},
               [](std::uint32_t h, std::uint32_t c) { return kCrcTable[(h ^ c) & 0xff] ^ (h >> 8); });
}

// A permutation of the bytes: any will do.
inline constexpr std::array<std::uint8_t, 256> kPearsonTable = [] {
  std::array<std::uint8_t, 256> t{};
  for (unsigned i = 0; i < t.size(); ++i) t[i] = static_cast<std::uint8_t>(i);
  for (unsigned i = 255; i > 0; --i) {
    const auto j = static_cast<unsigned>(mix64(i) % (i + 1));
    const std::uint8_t held = t[i];
    t[i] = t[j], t[j] = held;
  }
  return t;
}();
// Four rounds that begin with different values of the first byte, a byte of the result each.
constexpr std::uint32_t pearson(std::string_view text) noexcept {
  std::uint32_t out = 0;
  for (std::uint32_t round = 0; round < 4; ++round)
    out = out << 8 | over(text, round, [&](std::uint32_t h, std::uint32_t c) {
            return std::uint32_t{kPearsonTable[(h ^ c) & 0xff]};
          });
  return out;
}

constexpr std::uint32_t one_at_a_time(std::string_view text) noexcept {
  std::uint32_t h = over(text, std::uint32_t{0}, [](std::uint32_t x, std::uint32_t c) {
    x += c;
    x += x << 10;
    return x ^ (x >> 6);
  });
  h += h << 3;
  h ^= h >> 11;
  return h + (h << 15);
}

constexpr std::uint32_t partow(std::string_view text) noexcept {
  std::uint32_t h = 0xaaaaaaaa;
  bool even = false;
  for (const char byte : text) {
    const std::uint32_t c = static_cast<std::uint8_t>(byte);
    even = !even;
    h ^= even ? (h << 7) ^ (c * (h >> 3)) : ~((h << 11) + (c ^ (h >> 5)));
  }
  return h;
}

constexpr std::uint32_t sedgewick(std::string_view text) noexcept {
  std::uint32_t factor = 63689;
  return over(text, std::uint32_t{0}, [&](std::uint32_t h, std::uint32_t c) {
    h = h * factor + c;
    factor *= 378551;
    return h;
  });
}

constexpr std::uint32_t wang(std::uint32_t x) noexcept {
  x = ~x + (x << 15);
  x ^= x >> 12;
  x += x << 2;
  x ^= x >> 4;
  x *= 2057;
  return x ^ (x >> 16);
}

constexpr std::uint32_t python(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const std::uint32_t first = static_cast<std::uint8_t>(text[0]);
  return over(text, first << 7, [](std::uint32_t h, std::uint32_t c) { return h * 1000003 ^ c; }) ^
         static_cast<std::uint32_t>(text.size());
}

constexpr std::uint64_t weinberger(std::string_view text) noexcept {
  constexpr std::uint64_t kHigh = 0xff00000000000000;
  return over(text, std::uint64_t{0}, [](std::uint64_t h, std::uint64_t c) {
    h = (h << 8) + c;
    const std::uint64_t high = h & kHigh;
    return (h ^ (high >> 48)) & ~kHigh;
  });
}

constexpr std::uint32_t elf(std::string_view text) noexcept {
  return over(text, std::uint32_t{0}, [](std::uint32_t h, std::uint32_t c) {
    h = (h << 4) + c;
    const std::uint32_t high = h & 0xf0000000;
    return (h ^ (high >> 24)) & ~high;
  });
}

}  // namespace table

// Function 1 to kTableFunctions of the text; beyond them they begin again.
inline std::uint64_t table_function(std::string_view text, std::uint64_t number) noexcept {
  using namespace table;
  using Word = std::uint32_t;
  switch ((number + kTableFunctions - 1) % kTableFunctions + 1) {
    case 1:
      return lookup3(text);
    case 2:
      return digest(text).lo;
    case 3:
      return siphash(text, {}).lo;
    case 4:
      return murmur3_32(text);
    case 5:
      return over(text, Word{0}, [](Word h, Word c) { return h * 131 + c; });
    case 6:
      return murmur64a(text, 0);
    case 7:
      return partow(text);
    case 8:
      return over(text, std::uint64_t{0xcbf29ce484222325},
                  [](std::uint64_t h, std::uint64_t c) { return (h ^ c) * 0x100000001b3; });
    case 9:
      return crc32(text);
    case 10:
      return one_at_a_time(text);
    case 11:
      return over(text, static_cast<Word>(text.size()), [](Word h, Word c) { return std::rotl(h, 5) ^ c; });
    case 12:
      return pearson(text);
    case 13:
      return python(text);
    case 14:
      return over(text, Word{0}, [](Word h, Word c) { return (h & 0xfc000000) ^ (h << 6) ^ c; });
    case 15:
      return over(text, Word{0}, [](Word h, Word c) { return wang(h + c); });
    case 16:
      return over(text, Word{5381}, [](Word h, Word c) { return h * 33 ^ c; });
    case 17:
      return over(text, Word{5381}, [](Word h, Word c) { return h * 33 + c; });
    case 18:
      return weinberger(text);
    case 19:
      return over(text, Word{1315423911}, [](Word h, Word c) { return h ^ ((h << 5) + c + (h >> 2)); });
    case 20:
      return sedgewick(text);
    case 21:
      return over(text, Word{0}, [](Word h, Word c) { return c + (h << 6) + (h << 16) - h; });
    default:
      return elf(text);
  }
}

}  // namespace naysay::habf
