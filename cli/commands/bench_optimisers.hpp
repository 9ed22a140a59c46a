// SPDX-License-Identifier: Apache-2.0
// naysay bench stack-optimisers, which is no experiment of filters: it plans stacks and builds none.
#pragma once

#include <string>

namespace naysay::cli {

// Our search for the layers of a stack next to the one of the thesis (2.1.5): ISRES with equal rates, then COBYLA. Prints
// a table; size: tiny has four workloads, the others sixty. Fails if this tool was built without NLopt.
void bench_optimisers(const std::string& size);

}  // namespace naysay::cli
