// SPDX-License-Identifier: Apache-2.0
// Hash once: one pass over a key gives a 128-bit Digest; everything else is derived from the digest.
//
//   key bytes --XXH3 or SipHash--> Digest {lo, hi} --nth_hash, fast_range--> positions, fingerprints, shards
//
// A filter never sees a key again after it was digested, so its cost does not depend on the key's length.
//
// Two ways to digest, chosen when a filter is built and recorded in its file:
//   HashId::xxh3      XXH3-128 with a 64-bit seed. The default. Fast, well mixed, not secret: anybody who
//                     knows the seed can manufacture false positives.
//   HashId::siphash   SipHash-2-4-128 with a 128-bit key, a pseudo-random function, for hostile input. The key is
//                     stored in the file: anybody who can read the file can manufacture false positives again.
//
// A 64-bit integer is not a string: digest(7) and digest("7") differ. With xxh3 integers use a fast path of two
// independent 64-bit mixers (lo is a bijection of the integer, so distinct integers never share a digest); with
// siphash an integer is its 8 little-endian bytes.
//
// Promises   the same bytes, seed and HashId give the same digest on any machine, permanently (golden values in
//            tests/core/hash_test.cpp).
// Cost       one pass over the key's bytes; siphash costs several times as much as xxh3.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "naysay/core/export.hpp"

namespace naysay {

// 128-bit products are how a hash is reduced to a range. ISO C++ has no such type; every compiler we support does.
__extension__ using Uint128 = unsigned __int128;

struct Digest {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend constexpr auto operator<=>(const Digest&, const Digest&) = default;
};

enum class HashId : std::uint32_t { xxh3 = 1, siphash = 2 };

// A bijection of 64-bit words in which every input bit reaches every output bit (Stafford's variant 13 of the
// MurmurHash3 finaliser).
inline constexpr std::uint64_t kMixFactor = 0xbf58476d1ce4e5b9u, kSecondMixFactor = 0x94d049bb133111ebu;
constexpr std::uint64_t mix64(std::uint64_t x, std::uint64_t factor = kMixFactor,
                              std::uint64_t second_factor = kSecondMixFactor) noexcept {
  x = (x ^ (x >> 30)) * factor;
  x = (x ^ (x >> 27)) * second_factor;
  return x ^ (x >> 31);
}

// Hides x from the optimiser: a multiplication by a constant stays one and does not become half a dozen shifts and
// additions, and a loop loads the constant once and not in every round.
inline std::uint64_t opaque(std::uint64_t x) noexcept {
  __asm__("" : "+r"(x));
  return x;
}

// A bijection of 64-bit words that costs one multiplication; enough to remix a digest, not to hash a key.
inline constexpr std::uint64_t kRemixFactor = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t remix64(std::uint64_t x) noexcept {
  x *= kRemixFactor;
  return x ^ (x >> 32);
}

// Maps a hash to [0, n) by multiply-shift: uses the high bits of x, no division. Requires n > 0 for a
// meaningful result; fast_range(x, 0) is 0.
constexpr std::uint64_t fast_range(std::uint64_t x, std::uint64_t n) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(x) * n) >> 64);
}
constexpr std::uint32_t fast_range32(std::uint32_t x, std::uint32_t n) noexcept {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(x) * n) >> 32);
}

// The high and low halves of a 128-bit product, folded: every bit of both factors reaches every bit of the result.
constexpr std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// The i-th function of the family H: full 64-bit values, one multiplication each. Both factors move with i, so
// the values are not in arithmetic progression as those of double_hash are.
constexpr std::uint64_t nth_hash(Digest d, std::uint64_t i) noexcept {
  return fold_multiply(d.lo + i * 0xd6e8feb86659fd93u, d.hi ^ (i * 0xa0761d6478bd642fu));
}

// Which of n parts a digest belongs to: nodes of a cluster, shards of a server, files of a level. Requires n > 0.
//
// Parts must be chosen by this function and not by bits of the digest itself. Filters use the digest's own bits for
// positions and fingerprints. If all keys of a part have, say, the same top bits of lo, then a filter of this part has
// lost that much of its hash: of 64 parts by the top bits of lo a blocked-bloom accepts every stranger and a cuckoo
// filter fails to build; by the top bits of hi a ribbon fails. route() uses a function of the family that no filter
// uses. The conformance tests build every registered filter from one part of many, and hold it to its rate.
inline constexpr std::uint64_t kRouteFunction = 0x726f757465;  // "route": far from the numbers that filters use
constexpr std::uint64_t route(Digest d, std::uint64_t n) noexcept { return fast_range(nth_hash(d, kRouteFunction), n); }

// The i-th value of double hashing: lo + i * hi. Cheaper than nth_hash and enough for Bloom filters
// (Kirsch and Mitzenmacher, 2006). The multiplier is odd so that it never degenerates to a constant.
constexpr std::uint64_t double_hash(Digest d, std::uint64_t i) noexcept { return d.lo + i * (d.hi | 1); }

// Triple hashing, one value after the other: lo, lo + hi, lo + 2 hi + c, ..., with c the halves of lo exchanged. Two
// additions each. The values of double hashing are in arithmetic progression, and two progressions that nearly meet
// meet k times. That raises the false-positive rate of small Bloom filters above the formula. Triple hashing does not
// (tests/bloom/bloom_test.cpp).
class HashWalk {
 public:
  explicit constexpr HashWalk(Digest d) noexcept : value_(d.lo), step_(d.hi), bend_((d.lo << 32) | (d.lo >> 32)) {}
  constexpr std::uint64_t next() noexcept {
    const std::uint64_t value = value_;
    value_ += step_;
    step_ += bend_;
    return value;
  }

 private:
  std::uint64_t value_, step_, bend_;
};

// The i-th value of a HashWalk, for callers that need only one.
constexpr std::uint64_t triple_hash(Digest d, std::uint64_t i) noexcept {
  return d.lo + i * d.hi + i * (i - 1) / 2 * ((d.lo << 32) | (d.lo >> 32));
}

// The fast path for 64-bit integers under HashId::xxh3. The seed becomes two summands, which a filter computes once.
struct IntegerSalts {
  std::uint64_t lo, hi;

  explicit constexpr IntegerSalts(std::uint64_t seed) noexcept : lo(seed * 0x9e3779b97f4a7c15u), hi(mix64(seed + 1)) {}
  [[gnu::always_inline]] constexpr Digest operator()(std::uint64_t key) const noexcept {
    std::uint64_t factor = kMixFactor, second_factor = kSecondMixFactor, flip = 0xa0761d6478bd642fu;
    if (!std::is_constant_evaluated())
      factor = opaque(factor), second_factor = opaque(second_factor), flip = opaque(flip);
    return {mix64(key + lo, factor, second_factor), mix64((key ^ flip) + hi, factor, second_factor)};
  }
};
constexpr Digest digest(std::uint64_t key, std::uint64_t seed = 0) noexcept { return IntegerSalts(seed)(key); }

// XXH3-128 of the bytes. Pure (here and below): it writes nothing, so that a loop of queries keeps what it has read of
// the filter.
[[gnu::pure]] NAYSAY_EXPORT Digest digest(std::string_view key, std::uint64_t seed = 0) noexcept;
inline Digest digest(const char* key, std::uint64_t seed = 0) noexcept { return digest(std::string_view(key), seed); }

struct SipKey {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend constexpr auto operator<=>(const SipKey&, const SipKey&) = default;
};

// SipHash-2-4 with 128-bit output.
[[gnu::pure]] NAYSAY_EXPORT Digest siphash(std::string_view key, SipKey secret) noexcept;

// XXH3-64 of the bytes: the checksum of files.
NAYSAY_EXPORT std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;
// The same of bytes that come in pieces.
class NAYSAY_EXPORT Checksum {
 public:
  explicit Checksum(std::uint64_t seed = 0) noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  std::uint64_t value() const noexcept;  // of all that was added so far

 private:
  static constexpr std::size_t kStateBytes = 576;
  alignas(64) std::byte state_[kStateBytes];
};

// How a filter's keys are digested: chosen once, recorded in the file, the same for building and querying.
struct Hasher {
  HashId id = HashId::xxh3;
  std::uint64_t seed = 0;  // of xxh3
  SipKey secret = {};      // of siphash

  Digest operator()(std::string_view key) const noexcept {
    return id == HashId::siphash ? siphash(key, secret) : digest(key, seed);
  }
  Digest operator()(std::uint64_t key) const noexcept {
    return id == HashId::siphash ? siphash_integer(key) : digest(key, seed);
  }
  friend constexpr bool operator==(const Hasher&, const Hasher&) = default;

 private:
  [[gnu::pure]] NAYSAY_EXPORT Digest siphash_integer(std::uint64_t key) const noexcept;
};

}  // namespace naysay
