// SPDX-License-Identifier: Apache-2.0
// FileHeader: the first bytes of a .nsy file. docs/format.md describes them one by one.
#pragma once

#include <array>
#include <cstdint>

#include "naysay/any_filter.hpp"

namespace naysay::file_detail {

inline constexpr std::array<char, 8> kMagic = {'n', 'a', 'y', 's', 'a', 'y', '\r', '\n'};
inline constexpr std::uint32_t kVersion = 1;

struct FileHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t filter = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
  std::uint64_t keys = 0;
  std::uint32_t hash = 0;
  std::uint32_t key_kind = 0;
  std::uint64_t seed = 0;
  std::uint64_t secret_lo = 0;
  std::uint64_t secret_hi = 0;
  std::uint32_t key_set = 0;
  float capacity = 0;
};
static_assert(sizeof(FileHeader) == kHeaderBytes);

// The header of a file of `size` bytes, but for its checksum, which is 0.
FileHeader unsealed_header(const FilterType& type, const FilterFacts& facts, std::uint64_t size) noexcept;
// The seed of the checksum of the bytes that follow this header.
std::uint64_t checksum_seed(FileHeader header) noexcept;

}  // namespace naysay::file_detail
