// SPDX-License-Identifier: Apache-2.0
#include "fuzz/tool_bodies.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  naysay::fuzz::report({data, size});
  return 0;
}
