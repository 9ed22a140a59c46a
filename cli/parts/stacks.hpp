// SPDX-License-Identifier: Apache-2.0
// Stacks: what inspect, verify and query do with a .nst file, a base with updates. A tool that was built without updates
// says so.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/workload/keys.hpp"

namespace naysay::cli {

// answers[i] becomes whether keys[i] may be in the list, which is the case if any of its partitions accepts it.
using AskStack = std::function<void(std::span<const std::string_view> keys, std::vector<std::uint8_t>& answers)>;

bool is_stack(const std::string& path);
AskStack ask_stack(const std::string& path);
void inspect_stack(const std::string& path, bool json);
int verify_stack(const std::string& path, const KeyFile* keys, const std::string& verify_key);

}  // namespace naysay::cli
