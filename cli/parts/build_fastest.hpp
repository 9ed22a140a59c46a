// SPDX-License-Identifier: Apache-2.0
// Builds a filter where it is built fastest: on a GPU if this tool can use one and the filter can be built there.
#pragma once

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// As AnyFilter::build from lines of text, to the same bytes.
Result<AnyFilter> build_fastest(const FilterType& filter, const Workload& workload, std::span<const Param> params,
                                const BuildOptions& options);

}  // namespace naysay::cli
