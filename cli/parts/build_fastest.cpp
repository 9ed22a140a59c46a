// SPDX-License-Identifier: Apache-2.0
#include "parts/build_fastest.hpp"

#ifdef NAYSAY_WITH_CUDA
#include "naysay/cuda/build_any.hpp"
#endif

namespace naysay::cli {

Result<AnyFilter> build_fastest(const FilterType& filter, const Workload& workload, std::span<const Param> params,
                                const BuildOptions& options) {
#ifdef NAYSAY_WITH_CUDA
  return cuda::build(filter.name, workload, params, options, KeyKind::text);
#else
  return AnyFilter::build(filter.name, workload, params, options, KeyKind::text);
#endif
}

}  // namespace naysay::cli
