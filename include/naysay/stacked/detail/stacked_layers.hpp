// SPDX-License-Identifier: Apache-2.0
// StackedLayers: the filters of a stack, and the digest by which each layer knows a key.
//
//   first    layer 1, of keys           the layers must err independently of each other, so each knows a key by its
//   rest     layers 2, 3, ...           own digest: layer_digest(d, layer)
#pragma once

#include <cstdint>
#include <vector>

#include "naysay/core/hash.hpp"

namespace naysay::stacked::detail {

// The digest by which layer `layer` (from 0) of a stack knows a key.
inline Digest layer_digest(Digest d, std::uint64_t layer) noexcept {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;  // away from the nth_hash values that a base uses
  return layer == 0 ? d : Digest{nth_hash(d, kFar + 2 * layer), nth_hash(d, kFar + 2 * layer + 1)};
}

template <class Base>
struct StackedLayers {
  Base first;
  std::vector<Base> rest;

  std::size_t size() const noexcept { return 1 + rest.size(); }
};

}  // namespace naysay::stacked::detail
