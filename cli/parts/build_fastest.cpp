#include "parts/build_fastest.hpp"

#ifdef NAYSAY_WITH_CUDA
#include "naysay/cuda/variable_hash.hpp"
#endif

namespace naysay::cli {

Result<AnyFilter> build_fastest(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                const Hasher& hasher) {
#ifdef NAYSAY_WITH_CUDA
  if (filter == "variable-hash" && cuda::devices() > 0) {
    VariableHash::Params p;
    if (auto ok = params_from_text(filter, params, p); !ok) return std::move(ok).error();
    auto built = cuda::build_variable_hash(workload, p);
    if (!built) return std::move(built).error();
    return AnyFilter::hold(filter, *built, p, workload.keys.size(), hasher);
  }
#endif
  return AnyFilter::build(filter, workload, params, hasher);
}

}  // namespace naysay::cli
