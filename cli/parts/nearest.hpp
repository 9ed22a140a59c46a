// SPDX-License-Identifier: Apache-2.0
// Nearest: which of the known names the user may have meant.
//
//   nearest("biuld", {"build", "bench"})       "build"
//   or_nearest("biuld", {"build", "bench"}, "see naysay --help")    "; did you mean build? see naysay --help"
//   or_nearest("zzz", {"build", "bench"}, "see naysay --help")      "; see naysay --help"
//
// Two names are near if at most a third of the letters of the longer one (at least one) were typed wrong, left out, added
// or exchanged with a neighbour, or if one begins with the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace naysay::cli {

// Empty if none is near.
std::string nearest(std::string_view typed, const std::vector<std::string>& names);
// The end of a message about a name that does not exist.
std::string or_nearest(std::string_view typed, const std::vector<std::string>& names, std::string_view otherwise);

}  // namespace naysay::cli
