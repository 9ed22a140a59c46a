// SPDX-License-Identifier: Apache-2.0
// since(visit, version): whether fields that came with a format version are there for this visitor.
//
//   visit("k", self.k);
//   if (since(visit, 2)) visit("plan", self.plan);       a file of version 1 does not have it; the default stays
//
// A reader of an older file says no. All other visitors (writers, printers, parsers) know the newest version only.
#pragma once

#include <cstdint>

namespace naysay {

template <class V>
constexpr bool since([[maybe_unused]] const V& visit, [[maybe_unused]] std::uint32_t version) noexcept {
  if constexpr (requires { visit.version(); })
    return visit.version() >= version;
  else
    return true;
}

}  // namespace naysay
