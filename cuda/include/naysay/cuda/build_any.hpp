// SPDX-License-Identifier: Apache-2.0
// Builds any registered filter, on a GPU if there is one and it can build that filter, and else on the CPU.
//
//   auto f = naysay::cuda::build("variable-hash", {.keys = digests}, {{{"bits_per_key", "10"}}});
//
// Promises   the bytes of AnyFilter::build for the same arguments.
#pragma once

#include "naysay/any_filter.hpp"

namespace naysay::cuda {

// As AnyFilter::build.
Result<AnyFilter> build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                        const BuildOptions& options = {}, KeyKind kind = KeyKind::unknown);

}  // namespace naysay::cuda
