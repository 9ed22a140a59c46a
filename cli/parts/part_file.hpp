// SPDX-License-Identifier: Apache-2.0
// PartFile: a part of a filter between naysay build --part and naysay join, with the plan that it was built under.
//
//   header       48 bytes: 'naysayp\n', version, index, parts, bytes of the plan, bytes of the file, checksum
//   secret       16 bytes: the key of siphash; zeros otherwise
//   plan         as naysay plan wrote it
//   FilterPart   its fields, arrays aligned to 64 bytes
//
// It appears by rename, whole, or not at all; a part that is killed is started again and gives the same bytes. A file
// with a secret is readable by its owner alone.
#pragma once

#include <string>

#include "naysay/core/files.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/parts.hpp"
#include "parts/part_plan.hpp"

namespace naysay::cli {

// I/N: the I-th of N parts, counted from 1.
struct PartNumber {
  std::uint32_t index = 1, parts = 1;
  static PartNumber parse(const std::string& text);  // Throws a Failure.
  std::string text() const { return std::to_string(index) + "/" + std::to_string(parts); }
};
inline constexpr std::uint32_t kMostParts = 1'000'000;

struct PartFile {
  std::string path;
  PartNumber number;
  std::string plan_text;
  PartPlan plan;
  SipKey secret = {};
  FilterPart part;  // its arrays lie in the mapped file
  files::Mapping mapping;

  static bool is_one(const std::string& path);    // by its first bytes
  static PartFile read(const std::string& path);  // Throws a Failure.
  Hasher hasher() const;                          // as the plan has it
};

void write_part(const std::string& path, const PartNumber& number, const std::string& plan_text, const Hasher& hasher,
                const FilterPart& part);

// All parts of one filter, in their order. Throws a Failure that names what is missing, doubled, or of another plan.
std::vector<PartFile> read_parts(const std::vector<std::string>& paths);

}  // namespace naysay::cli
