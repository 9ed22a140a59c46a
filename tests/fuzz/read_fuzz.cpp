// SPDX-License-Identifier: Apache-2.0
#include "fuzz/read_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  naysay::fuzz::read_lines({data, size});
  return 0;
}
