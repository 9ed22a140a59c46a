// SPDX-License-Identifier: Apache-2.0
// The families of hash functions that a HABF can have.
//
//   hash_family     function i of a key                                     reduced by
//   double          lo + i * hi of its digest                               multiply-shift
//   independent     the i-th of 22 functions of different design            remainder
//   murmur64        MurmurHash64A with seed i                               remainder
//   xxh128          XXH3-128 with seed i, its low half                      remainder
//
// The last three hash bytes: those of the key itself if the filter was built with texts=true, else the 16 bytes of its
// digest. DoubleHashes and TextHashes say the same with the same calls, so that the build and the query are written once.
//
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021: double hashing is III-G, the others V-A and V-H.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "naysay/core/hash.hpp"
#include "naysay/habf/detail/table_functions.hpp"
#include "naysay/habf/hash_family.hpp"

namespace naysay::habf {

// The family of f-HABF and the default of HABF: function i >= 1 as a 64-bit word, and the entry to the HashExpressor,
// independent of all of them.
inline std::uint64_t nth_function(Digest d, std::uint64_t i) noexcept { return double_hash(d, i); }
inline std::uint64_t entry_hash(Digest d) noexcept { return nth_hash(d, 0); }

struct DoubleHashes {
  using Item = Digest;  // what is kept of a key to hash it again
  static Item item(Digest d, std::string_view) noexcept { return d; }
  static Digest digest_of(Item x) noexcept { return x; }
  static std::uint64_t word(Item x, std::uint64_t i) noexcept { return i == 0 ? entry_hash(x) : nth_function(x, i); }
  static std::uint64_t position(std::uint64_t word, std::uint64_t bits) noexcept { return fast_range(word, bits); }
  // The high half of the word chose a bit of the Bloom filter; the low half decides here, so that a stranger's cells say
  // nothing about its bits.
  static std::uint64_t cell(std::uint64_t word, std::uint64_t cells) noexcept {
    return fast_range(std::rotl(word, 32), cells);
  }
};

struct TextHashes {
  HashFamily family = HashFamily::independent;
  bool texts = false;  // Item::text is hashed; else the bytes of the digest

  struct Item {
    Digest digest;
    std::string_view text;
  };
  static Item item(Digest d, std::string_view text) noexcept { return {d, text}; }
  static Digest digest_of(const Item& x) noexcept { return x.digest; }
  std::uint64_t word(const Item& x, std::uint64_t i) const noexcept {
    const std::string_view text =
        texts ? x.text : std::string_view(reinterpret_cast<const char*>(&x.digest), sizeof x.digest);
    if (i == 0) return checksum(std::as_bytes(std::span(text.data(), text.size())));
    if (family == HashFamily::murmur64) return table::murmur64a(text, i);
    return family == HashFamily::xxh128 ? digest(text, i).lo : table_function(text, i);
  }
  static std::uint64_t position(std::uint64_t word, std::uint64_t bits) noexcept { return word % bits; }
  static std::uint64_t cell(std::uint64_t word, std::uint64_t cells) noexcept { return word % cells; }
};

}  // namespace naysay::habf
