// SPDX-License-Identifier: Apache-2.0
// HashFamily: the hash functions of a habf.
//
//   double         lo + i * hi of the digest: double hashing (HABF, III-G). The default.
//   independent    22 functions of different design (Table II)
//   murmur64       MurmurHash64A with seed i
//   xxh128         XXH3-128 with seed i (V-H)
//
// All but the first hash bytes: those of the digest, or those of the key itself with texts = true.
//
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace naysay {

enum class HashFamily : std::uint8_t { doubled, independent, murmur64, xxh128 };
inline constexpr std::string_view kHashFamilies[] = {"double", "independent", "murmur64", "xxh128"};
constexpr std::span<const std::string_view> enum_names(HashFamily) noexcept { return kHashFamilies; }

}  // namespace naysay
