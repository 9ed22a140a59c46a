// SPDX-License-Identifier: Apache-2.0
#include "parts/inputs.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "parts/failure.hpp"

namespace naysay::cli {

void add_null_option(Command& command, bool& nul) {
  command.flag("-0,--null", nul, "keys are separated by NUL bytes instead of lines");
}

KeyFile key_file(const std::string& path, bool nul) { return {path, nul ? Separator::nul : Separator::newline}; }

void need_one_standard_input(std::initializer_list<std::string> paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) throw Failure{"more than one input is -; only one can be"};
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
