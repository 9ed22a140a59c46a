// SPDX-License-Identifier: Apache-2.0
// Reasons: why a filter did not take a key or a reported negative, and what would help.
#pragma once

#include <string>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// After an insert found no room: "it is full".
std::string why_no_room(const AnyFilter& f);

// After a reported negative was still accepted: "its guard is full".
std::string why_not_refused(const AnyFilter& f);

// How far a filter that warms is: "cold, 40 of 374 negatives learned". Empty for other filters.
std::string warmth_text(const AnyFilter& f);

}  // namespace naysay::cli
