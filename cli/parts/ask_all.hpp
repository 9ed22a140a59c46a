// SPDX-License-Identifier: Apache-2.0
// ask_all: what a filter or a stack answers about all keys, or known negatives, of files: counted, by all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "naysay/workload/pieces.hpp"

namespace naysay::cli {

enum class LinesAre { keys, negatives };

// Calls body(line, key, number) for the lines of a piece: keys, which cost 1 then, or negatives with their costs. Ends at a
// line that is no negative, and returns what is wrong with it.
template <class Body>
std::optional<LineFault> for_each_key(PieceLines& piece, LinesAre lines, LineTally& tally, Body&& body) {
  std::optional<LineFault> fault;
  piece.for_each([&](std::string_view line, std::uint64_t number) {
    CostedKey key{line, 1};
    if (lines == LinesAre::negatives) {
      auto parsed = parse_negative(line);
      if (!parsed) {
        fault = LineFault{std::move(parsed).error(), number};
        return false;
      }
      key = *parsed;
      tally_negative(tally, line, key);
    } else {
      tally.see(line);
    }
    body(line, key, number);
    return true;
  });
  return fault;
}

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
