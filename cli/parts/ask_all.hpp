// SPDX-License-Identifier: Apache-2.0
// ask_all: what a filter or a stack answers about all keys, or known negatives, of files: counted, by all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/workload/keys.hpp"

namespace naysay::cli {

enum class LinesAre { keys, negatives };

struct Answers {
  LineTally tally;
  std::uint64_t accepted = 0;
  double cost = 0, accepted_cost = 0;        // of negatives
  std::string first_accepted, first_denied;  // "keys.txt:17"; empty if there is none
};

// `ask` is called by several threads at a time; it sets one answer for each key.
using Ask = std::function<void(std::span<const std::string_view> keys, std::vector<std::uint8_t>& answers)>;
Answers ask_all(std::span<const KeyFile> files, LinesAre lines, unsigned threads, const Ask& ask);

}  // namespace naysay::cli
