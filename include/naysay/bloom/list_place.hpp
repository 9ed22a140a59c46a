// SPDX-License-Identifier: Apache-2.0
// ListPlace: where a weighted filter keeps its list of costly negatives.
//
//   inside    in the filter and its budget, as fingerprints (CostList)
//   outside   next to it, as whole digests (OutsideList), as in the papers; for comparisons
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace naysay {

enum class ListPlace : std::uint8_t { inside, outside };
inline constexpr std::string_view kListPlaces[] = {"inside", "outside"};
constexpr std::span<const std::string_view> enum_names(ListPlace) noexcept { return kListPlaces; }

}  // namespace naysay
