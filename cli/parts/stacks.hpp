// SPDX-License-Identifier: Apache-2.0
// Stacks: what inspect, verify and query do with a .nst file, a base with updates. A tool that was built without updates
// says so.
#pragma once

#include <span>
#include <string>

#include "naysay/workload/keys.hpp"
#include "parts/ask_all.hpp"

namespace naysay::cli {

bool is_stack(const std::string& path);
// answers[i] becomes whether keys[i] may be in the list, which is the case if any of its partitions accepts it.
Ask ask_stack(const std::string& path);
void inspect_stack(const std::string& path, bool json);
int verify_stack(const std::string& path, std::span<const KeyFile> keys, unsigned threads,
                 const std::string& verify_key);

}  // namespace naysay::cli
