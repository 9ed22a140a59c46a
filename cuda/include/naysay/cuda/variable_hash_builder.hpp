// SPDX-License-Identifier: Apache-2.0
// The CUDA builder: builds a variable hash filter on a GPU, with the same bytes as on the CPU.
//
//   auto f = naysay::cuda::build_variable_hash({.keys = keys}, {.bits_per_key = 10, .effort = Effort::small});
//
//   keys --> copied --> by region --> 3 x best spread function --> slot functions --> filter     on the device
//                            |             one block per node        one warp per slot
//                            +-- repeated keys? no device? a device that fails? --> VariableHash::build on the CPU
//
// With known negatives the device finds the spread functions, which is most of the work, and the CPU the slot
// functions.
//
// Promises   The bytes of VariableHash::build for the same workload, parameters and seed.
// Cost       24 bytes of device memory per key and 16 per slot; BuildOptions::threads of the host copy the keys.
#pragma once

#include "naysay/cuda/job.hpp"
#include "naysay/variable_hash/variable_hash.hpp"

namespace naysay::cuda {

// The number of CUDA devices; 0 without a driver.
int devices() noexcept;

// Builds on the first device, or on the CPU if there is none. Reports "built on the gpu" as 1 or 0.
Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o = {});

// The same on any device that runs such jobs; the tests have one without a GPU.
struct Device {
  int (*count)() noexcept;
  Answer (*run)(const DeviceJob&) noexcept;
};
Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o,
                                         const Device& device);

}  // namespace naysay::cuda
