// SPDX-License-Identifier: Apache-2.0
// Manual: the texts of the help as manual pages and as completion scripts for shells, so that they exist once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parts/command_line.hpp"

namespace naysay::cli {

// naysay(1), and naysay-build(1) for a command: the source of a page, for man.
std::string main_page(const CommandText& naysay, std::span<const CommandText> commands);
std::string command_page(const CommandText& command);

// What the user may type next. After --filter and --filters come the names of filters; after an option whose value is
// written as a|b|c these words; after an option that wants a path, and for arguments, files.
std::string bash_completion(std::span<const CommandText> commands, std::span<const std::string> filters);
std::string zsh_completion(std::span<const CommandText> commands, std::span<const std::string> filters);
std::string fish_completion(std::span<const CommandText> commands, std::span<const std::string> filters);

}  // namespace naysay::cli
