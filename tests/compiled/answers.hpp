// SPDX-License-Identifier: Apache-2.0
// Answers of typed filters in files that are compiled for different machines and linked into one program.
//
// answers.cpp is compiled once for each level, with the flags that its name says (tests/CMakeLists.txt).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/cpu.hpp"

namespace naysay::compiled {

// What one filter answered and became. The queries are integers.
struct Answers {
  std::vector<std::uint8_t> one_by_one;  // Keyed::may_contain(integer)
  std::vector<std::uint8_t> by_digest;   // Keyed::may_contain(digest)
  std::vector<std::uint8_t> batch;       // Keyed::may_contain(integers)
  std::vector<std::byte> bytes;          // of its file
};

Simd level_of_plain();
Simd level_of_avx2();
Simd level_of_avx512();
std::vector<Answers> answers_of_plain(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> queries);
std::vector<Answers> answers_of_avx2(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> queries);
std::vector<Answers> answers_of_avx512(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> queries);

}  // namespace naysay::compiled
