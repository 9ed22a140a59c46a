// SPDX-License-Identifier: Apache-2.0
#include "parts/inputs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

void add_null_option(Command& command, bool& nul) {
  command.flag("-0,--null", nul, "keys are separated by NUL bytes instead of lines");
}

KeyFile key_file(const std::string& path, bool nul) { return {path, nul ? Separator::nul : Separator::newline}; }

void note_keys(const KeyFile& file, const LineTally& tally) {
  if (tally.lines == 0) note(fmt::format("{}: there are no keys; a filter of none denies everything", file.name()));
  if (tally.lines > 0 && tally.tab_costs == tally.lines)
    note(fmt::format(
        "{}: every line ends with a tab and a number, and is taken as a whole; if these are known negatives "
        "with their costs, give the file with --negatives",
        file.name()));
}

void note_negatives(const KeyFile& file, const LineTally& tally) {
  if (tally.lines == 0) note(fmt::format("{}: there are no negatives", file.name()));
  if (tally.tabs == 0 && tally.other_costs > tally.lines / 2)
    note(
        fmt::format("{}: no line has a tab, but {} of {} end with a number after a comma, semicolon or space; each is "
                    "taken as a key that costs 1, because a cost comes after a tab",
                    file.name(), tally.other_costs, tally.lines));
}

void note_sets(const KeyFile& keys_file, std::span<const Digest> keys, const KeyFile& negatives_file,
               std::span<const Digest> negatives) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;  // digests that are sorted: 8 MiB
  unsigned halvings = 0;
  while (keys.size() >> halvings > kMost) ++halvings;
  const auto chosen = [&](Digest d) { return halvings == 0 || d.hi >> (64 - halvings) == 0; };
  std::vector<std::uint64_t> seen;
  for (const Digest& d : keys)
    if (chosen(d)) seen.push_back(d.lo);
  std::sort(seen.begin(), seen.end());
  const auto end = std::unique(seen.begin(), seen.end());
  const auto told = [&](const KeyFile& file, std::uint64_t count, std::uint64_t of, const char* what) {
    if (count > 0)
      note(fmt::format("{}: {}{} of {} {}", file.name(), halvings > 0 ? "about " : "", count << halvings, of, what));
  };
  told(keys_file, static_cast<std::uint64_t>(seen.end() - end), keys.size(), "keys repeat another one");
  std::uint64_t both = 0;
  for (const Digest& d : negatives) both += chosen(d) && std::binary_search(seen.begin(), end, d.lo);
  told(negatives_file, both, negatives.size(), "known negatives are keys, and are treated as keys");
}

void need_one_standard_input(const std::vector<Input>& inputs) {
  std::string names;
  int count = 0;
  for (const Input& input : inputs)
    if (input.path == "-") names += fmt::format("{}{}", count++ > 0 ? " and " : "", input.option);
  if (count > 1) throw Failure{fmt::format("{} are -; only one input can be the standard input", names)};
}

void add_stranger_share(Command& command, double& share) {
  command.number("--stranger-share", share, {0, 1}, "the share of the negative queries that is about strangers")
      .shows_default()
      .type_name("P");
}

void add_seed(Command& command, std::uint64_t& seed, const char* help) {
  command.number("--seed", seed, kAnyNumber, help).shows_default().type_name("S");
}

void add_threads(Command& command, unsigned& threads) {
  command
      .number("--threads", threads, {0, kMaxThreads},
              "of the builds: any number gives the same bytes; 0: as many as there are cores")
      .shows_default()
      .type_name("T");
}

unsigned thread_count(unsigned threads) {
  return threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace naysay::cli
