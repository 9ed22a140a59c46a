// SPDX-License-Identifier: Apache-2.0
// Distinct files: what a command writes is none of the files that it reads, whatever names they were given by.
//
// Two names are the same file if device and inode are the same (links, ./x and x, the standard input from a file), or,
// for a file that does not exist yet, folder and name.
#pragma once

#include <vector>

#include "parts/inputs.hpp"

namespace naysay::cli {

// Throws a Failure if one of `written` is one of `read`, or another of `written`. Empty paths are left out; "-" is the
// standard output in the first list and the standard input in the second.
void need_distinct(const std::vector<Input>& written, const std::vector<Input>& read);

// Whether two paths, neither of them "-", lead to the same file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace naysay::cli
