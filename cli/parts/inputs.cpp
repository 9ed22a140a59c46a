// SPDX-License-Identifier: Apache-2.0
#include "parts/inputs.hpp"

#include <fmt/core.h>

#include "parts/failure.hpp"

namespace naysay::cli {

void add_null_option(Command& command, bool& nul) {
  command.flag("-0,--null", nul, "keys are separated by NUL bytes instead of lines");
}

KeyFile key_file(const std::string& path, bool nul) { return {path, nul ? Separator::nul : Separator::newline}; }

void need_one_standard_input(const std::vector<Input>& inputs) {
  std::string names;
  int count = 0;
  for (const Input& input : inputs)
    if (input.path == "-") names += fmt::format("{}{}", count++ > 0 ? " and " : "", input.option);
  if (count > 1) throw Failure{fmt::format("{} are -; only one input can be the standard input", names)};
}

void add_stranger_share(Command& command, double& share) {
  command.option("--stranger-share", share, "the share of the negative queries that is about strangers")
      .shows_default()
      .type_name("P");
}

void need_stranger_share(double share) {
  if (!(share >= 0 && share <= 1))
    throw Failure{fmt::format("--stranger-share is {}; it must be between 0 and 1", share)};
}

}  // namespace naysay::cli
