#include "parts/build_fastest.hpp"

#ifdef NAYSAY_WITH_CUDA
#include "naysay/cuda/variable_hash.hpp"
#endif

namespace naysay::cli {

Result<AnyFilter> build_fastest(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                const BuildOptions& options) {
#ifdef NAYSAY_WITH_CUDA
  if (filter == "variable-hash" && cuda::devices() > 0) {
    VariableHash::Params p;
    NAYSAY_CHECK(params_from_text(filter, params, p));
    NAYSAY_TRY(VariableHash built, cuda::build_variable_hash(workload, p, options));
    return Keyed<VariableHash>(std::move(built), p, {.hasher = options.hasher, .keys = workload.keys.size()});
  }
#endif
  return AnyFilter::build(filter, workload, params, options);
}

}  // namespace naysay::cli
