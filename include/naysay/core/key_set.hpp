// SPDX-License-Identifier: Apache-2.0
// The sum of a set of keys: 32 bits that are the same for the same keys in any order, and almost surely others for other
// keys. It tells whether a list of keys is the one that a filter holds, when the filter cannot tell.
//
//   key_set_of({a, b, c}) == key_set_of({c, a, b}) == key_set_of({a, b}) + key_set_part(c)
//
// Each copy of a key counts. The sum of no keys is not 0: a file has 0 where nobody computed it.
//
// Does not   withstand somebody who wants two sets to have the same sum.
#pragma once

#include <cstdint>
#include <span>

#include "naysay/core/hash.hpp"

namespace naysay {

inline constexpr std::uint32_t kUnknownKeySet = 0;

constexpr std::uint32_t key_set_part(Digest d) noexcept {
  return static_cast<std::uint32_t>(mix64(d.lo ^ mix64(d.hi)) >> 32);
}

constexpr std::uint32_t key_set_of(std::span<const Digest> keys) noexcept {
  std::uint32_t sum = 0x9e3779b9;
  for (const Digest& d : keys) sum += key_set_part(d);
  return sum;
}

}  // namespace naysay
