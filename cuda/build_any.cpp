// SPDX-License-Identifier: Apache-2.0
#include "naysay/cuda/build_any.hpp"

#include "naysay/cuda/variable_hash_builder.hpp"

namespace naysay::cuda {

Result<AnyFilter> build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                        const BuildOptions& options, KeyKind kind) {
  if (find_filter(filter) != &file_detail::type_of<VariableHash>() || devices() == 0)
    return AnyFilter::build(filter, workload, params, options, kind);
  return no_memory_is_an_error(filter, [&]() -> Result<AnyFilter> {
    VariableHash::Params p;
    NAYSAY_CHECK(params_from_text(filter, params, p));
    NAYSAY_CHECK(check_build(filter, workload, p.bits_per_key, options));
    NAYSAY_TRY(VariableHash built, build_variable_hash(workload, p, options));
    return Keyed<VariableHash>(std::move(built), p,
                               {.hasher = options.hasher, .key_kind = kind, .keys = workload.keys.size()});
  });
}

}  // namespace naysay::cuda
