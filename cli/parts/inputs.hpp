// SPDX-License-Identifier: Apache-2.0
// Inputs: the options that several commands share about what they read, and the checks of them.
#pragma once

#include <string>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// -0,--null: keys are separated by NUL bytes.
void add_null_option(Command& command, bool& nul);
KeyFile key_file(const std::string& path, bool nul);

// Throws a Failure if more than one of these inputs is -, the standard input.
struct Input {
  const char* option;  // "--keys"
  const std::string& path;
};
void need_one_standard_input(const std::vector<Input>& inputs);

// --stranger-share: the share of the negative queries that is about strangers.
void add_stranger_share(Command& command, double& share);
void need_stranger_share(double share);

}  // namespace naysay::cli
