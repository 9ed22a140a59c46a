// SPDX-License-Identifier: Apache-2.0
#include "fuzz/bodies.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  naysay::fuzz::tiny_filter({data, size});
  return 0;
}
