// The CUDA builder: a variable hash filter, spread and searched on a GPU, to the same bytes as on the CPU.
//
//   auto f = naysay::cuda::build_variable_hash({.keys = keys}, {.bits_per_key = 10, .effort = Effort::small});
//
//   keys --> copied --> by region --> 3 x best spread function --> slot functions --> filter     on the device
//                            |             a block a node            a warp a slot
//                            +-- repeated keys? no device? a device that fails? --> VariableHash::build on the CPU
//
// With known negatives the device spreads, which is the long part, and the CPU chooses the slot functions.
//
// Promises   the bytes of VariableHash::build for the same workload, params and seed.
// Cost       24 bytes of device memory a key and 16 a slot; BuildOptions::threads of the host copy the keys.
#pragma once

#include "naysay/variable_hash/variable_hash.hpp"
#include "naysay/cuda/job.hpp"

namespace naysay::cuda {

// How many CUDA devices there are; 0 without a driver.
int devices() noexcept;

// On the first device, or on the CPU where there is none. Reports "built on the gpu" as 1 or 0.
Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o = {});

// The same over any device that does such jobs: tests have one without a GPU.
struct Device {
  int (*count)() noexcept;
  Answer (*run)(const DeviceJob&) noexcept;
};
Result<VariableHash> build_variable_hash(const Workload& w, const VariableHash::Params& p, const BuildOptions& o,
                                         const Device& device);

}  // namespace naysay::cuda
