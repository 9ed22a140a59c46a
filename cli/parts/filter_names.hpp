// SPDX-License-Identifier: Apache-2.0
// Filter names: from what the user typed to rows of the registry.
#pragma once

#include <string>
#include <vector>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// Throws a Failure if no filter has this name.
const FilterType& need_filter(const std::string& name);
// Likewise for a list; "all" stands for all of them.
std::vector<const FilterType*> need_filters(const std::vector<std::string>& names);

}  // namespace naysay::cli
