// SPDX-License-Identifier: Apache-2.0
// Filter files: where a command reads a filter from and writes it to. "-" is the standard input or output.
//
//   naysay build --keys keys.txt --fpr 0.01 -o - | ssh server 'cat > set.nsy'
//   ssh server 'cat set.nsy' | naysay inspect -
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

// Mapped if it is a file; read to its end if it is the standard input.
AnyFilter open_filter(const std::string& path);
std::string input_name(const std::string& path);  // "standard input" for "-"

// Throws a Failure if the filter was built from integers: the keys of a file are text, and the two digest differently.
void need_text_filter(const AnyFilter& filter, const std::string& path);

// Throws a Failure if a filter cannot be written there. The standard output must not be a terminal: a filter is no text.
void need_filter_output(const char* option, const std::string& path);
void save_filter(const AnyFilter& filter, const std::string& path);
void write_standard_output(std::span<const std::byte> bytes);
std::string output_name(const std::string& path);  // "standard output" for "-"

// Where a command that writes to `path` says what it did: on the standard error if the file goes to the standard output.
std::FILE* talk_to(const std::string& path);

}  // namespace naysay::cli
