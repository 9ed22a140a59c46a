// SPDX-License-Identifier: Apache-2.0
// Job: what the CUDA builder wants from a device. Plain numbers and pointers, so that device code need not see the
// filter.
#pragma once

#include <cstdint>

#include "naysay/core/hash.hpp"

namespace naysay::cuda {

struct DeviceJob {
  const Digest* keys = nullptr;
  std::uint64_t key_count = 0;
  std::uint64_t seed = 0;  // x = lo + seed
  unsigned threads = 1;    // of the host, that copy
  // variable_hash::VariableHashShape
  std::uint64_t regions = 1;
  unsigned log[3] = {};
  unsigned tries_log[3] = {};
  unsigned function_bits = 0;
  std::uint64_t k = 0;      // functions of a slot
  std::uint64_t extra = 0;  // slots with one more
  // out
  bool search = true;                  // find slot functions, or spread only
  std::uint16_t* spread[3] = {};       // numbers of the spread functions
  std::uint64_t* functions = nullptr;  // packed slot functions
  std::uint64_t function_words = 0;
};

// repeated_keys: the device does not drop them, so that the CPU has to build; failed: no memory, or a device in error.
enum class Answer { done, repeated_keys, failed };

// kernels.cu
int count_devices() noexcept;
Answer run_job(const DeviceJob& job) noexcept;

}  // namespace naysay::cuda
