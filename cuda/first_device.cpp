// SPDX-License-Identifier: Apache-2.0
#include "naysay/cuda/variable_hash_builder.hpp"

namespace naysay::cuda {

int devices() noexcept { return count_devices(); }

Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o) {
  return build_variable_hash(w, p, o, Device{count_devices, run_job});
}

}  // namespace naysay::cuda
