// SPDX-License-Identifier: Apache-2.0
#include "parts/ask_all.hpp"

#include <fmt/core.h>

#include <optional>

#include "parts/failure.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

namespace {

// What a thread makes of a piece.
struct Asked {
  std::vector<std::string_view> keys;
  std::vector<std::uint64_t> numbers;  // of their lines
  std::vector<float> costs;
  std::vector<std::uint8_t> answers;
  std::uint64_t first[2];  // lines of the first that is denied and of the first that is accepted; 0: none
  LineTally tally;

  void clear() {
    keys.clear();
    numbers.clear();
    costs.clear();
    tally = {};
  }
  std::uint64_t bytes() const {
    return keys.size() * (sizeof(std::string_view) + sizeof(std::uint64_t) + sizeof(float) + 1);
  }
};

}  // namespace

Answers ask_all(std::span<const KeyFile> files, LinesAre lines, unsigned threads, const Ask& ask) {
  ProgressBar bar;
  Answers all;
  const auto work = [&](PieceLines& piece, Asked& a) -> std::optional<LineFault> {
    auto fault = for_each_key(piece, lines, a.tally, [&](std::string_view, const CostedKey& key, std::uint64_t number) {
      if (lines == LinesAre::negatives) a.costs.push_back(key.cost);
      a.keys.push_back(key.key);
      a.numbers.push_back(number);
    });
    a.answers.resize(a.keys.size());
    ask(a.keys, a.answers);
    a.first[0] = a.first[1] = 0;
    for (std::size_t i = a.keys.size(); i-- > 0;) a.first[a.answers[i] != 0] = a.numbers[i];
    return fault;
  };
  const auto take = [&](const Asked& a, const PiecePlace& place) -> Result<Ok> {
    all.tally += a.tally;
    for (const std::uint8_t answer : a.answers) all.accepted += answer != 0;
    for (std::size_t i = 0; i < a.costs.size(); ++i) {  // one by one: a sum in another order may be another number
      all.cost += a.costs[i];
      all.accepted_cost += a.answers[i] != 0 ? a.costs[i] : 0;
    }
    for (const bool accepted : {false, true})
      if (std::string& first = accepted ? all.first_accepted : all.first_denied; first.empty() && a.first[accepted] > 0)
        first = fmt::format("{}:{}", place.file.name(), place.lines_before + a.first[accepted]);
    return Ok{};
  };
  need(for_each_piece<Asked>(files, {.threads = threads, .progress = bar.callback()}, work, take));
  return all;
}

}  // namespace naysay::cli
