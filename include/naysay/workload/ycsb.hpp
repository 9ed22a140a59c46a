// SPDX-License-Identifier: Apache-2.0
// YCSB keys: a 4-byte prefix and a 64-bit integer, as the Yahoo! Cloud Serving Benchmark writes them.
//
//   record number --xor with the seed--> FNV-1a of its 8 bytes --absolute value--> "user6284781860667377211"
//
// Promises   with seed 0, key i is the key that YCSB gives to record i. Ranges of record numbers that do not
//            overlap make sets that do not: keys from [0, n), negatives from [n, n + m).
// Does not   exclude collisions: two of r records share a 63-bit integer with chance r^2 / 2^64, which is 3e-5 for the
//            24 million of the HABF paper.
// Source     B. Cooper et al., 2010: CoreWorkload.buildKeyName and Utils.hash of YCSB; HABF, section V-C.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "naysay/core/hash.hpp"

namespace naysay {

// FNV-1a of the 8 little-endian bytes (Fowler, Noll and Vo: offset basis and prime of 64 bits).
constexpr std::uint64_t fnv1a(std::uint64_t value) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < 8; ++i, value >>= 8) hash = (hash ^ (value & 0xff)) * 0x100000001b3u;
  return hash;
}

// Writes key `record` into `out`, whose old content is lost.
inline void ycsb_key(std::uint64_t record, std::uint64_t seed, std::string& out) {
  const std::uint64_t hash = fnv1a(record ^ mix64(seed));  // mix64(0) is 0
  const std::uint64_t number = hash >> 63 ? 0 - hash : hash;
  char digits[20];
  out.assign("user");
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace naysay
