// Builds a filter where it is built fastest: on a GPU if this tool can use one and the filter can be built there.
#pragma once

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// As AnyFilter::build, to the same bytes.
Result<AnyFilter> build_fastest(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                const BuildOptions& options);

}  // namespace naysay::cli
