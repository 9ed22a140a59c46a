// SPDX-License-Identifier: Apache-2.0
#include "parts/inputs.hpp"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/workload/repeats.hpp"
#include "parts/cores.hpp"
#include "parts/failure.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

void add_null_option(Command& command, bool& nul) {
  command.flag("-0,--null", nul, "keys are separated by NUL bytes instead of lines");
}

KeyFile key_file(const std::string& path, bool nul) { return {path, nul ? Separator::nul : Separator::newline}; }

std::vector<KeyFile> key_files(const std::vector<std::string>& given, bool nul) {
  namespace fs = std::filesystem;
  std::vector<KeyFile> files;
  const auto add = [&](std::vector<std::string> paths) {
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) files.push_back(key_file(path, nul));
  };
  for (const std::string& value : given) {
    std::error_code failed;
    const fs::file_status status = fs::status(value, failed);
    if (value != "-" && fs::is_directory(status)) {
      std::vector<std::string> inside;
      for (fs::directory_iterator at(value, failed), end; !failed && at != end; at.increment(failed))
        if (!at->path().filename().string().starts_with('.') && !at->is_directory(failed))
          inside.push_back(at->path().string());
      if (failed) throw Failure{fmt::format("{}: cannot read the folder: {}", value, failed.message())};
      if (inside.empty())
        throw Failure{
            fmt::format("{}: the folder has no files; give a file of keys, or - for the standard input", value)};
      add(std::move(inside));
    } else if (value != "-" && !fs::exists(status) && value.find_first_of("*?[") != std::string::npos) {
      glob_t matches{};
      std::vector<std::string> found;
      const int problem = ::glob(value.c_str(), GLOB_ERR, nullptr, &matches);
      for (std::size_t i = 0; i < matches.gl_pathc; ++i)
        if (!fs::is_directory(matches.gl_pathv[i], failed)) found.emplace_back(matches.gl_pathv[i]);
      ::globfree(&matches);
      if (problem != 0 && problem != GLOB_NOMATCH)
        throw Failure{fmt::format("{}: cannot read a folder of this pattern", value)};
      if (found.empty())
        throw Failure{fmt::format("{}: no file has a name of this pattern; give one that some have", value)};
      add(std::move(found));
    } else {
      files.push_back(key_file(value, nul));
    }
  }
  return files;
}

std::string names_of(std::span<const KeyFile> files) {
  if (files.empty()) return "no file";
  const std::string first = files[0].name();
  return files.size() == 1
             ? first
             : fmt::format("{} and {} more file{}", first, files.size() - 1, files.size() == 2 ? "" : "s");
}

Option add_keys_option(Command& command, std::vector<std::string>& keys) {
  return command
      .option("--keys", keys, "the keys, one per line; a file, a folder, a quoted pattern, or - for the standard input")
      .required()
      .type_name("FILE")
      .repeated();
}

Option add_negatives_option(Command& command, std::vector<std::string>& negatives) {
  return command.option("--negatives", negatives, "known negatives, one key<TAB>cost per line; a missing cost is 1")
      .type_name("FILE")
      .repeated();
}

void note_keys(std::string_view name, const LineTally& tally) {
  if (tally.lines == 0) note(fmt::format("{}: there are no keys; a filter of none denies everything", name));
  if (tally.lines > 0 && tally.tab_costs == tally.lines)
    note(fmt::format(
        "{}: every line ends with a tab and a number, and is taken as a whole; if these are known negatives "
        "with their costs, give the file with --negatives",
        name));
}

void note_negatives(std::string_view name, const LineTally& tally) {
  if (tally.lines == 0) note(fmt::format("{}: there are no negatives", name));
  if (tally.tabs == 0 && tally.other_costs > tally.lines / 2)
    note(
        fmt::format("{}: no line has a tab, but {} of {} end with a number after a comma, semicolon or space; each is "
                    "taken as a key that costs 1, because a cost comes after a tab",
                    name, tally.other_costs, tally.lines));
}

void note_sets(std::string_view keys_name, std::span<const Digest> keys, std::string_view negatives_name,
               std::span<const Digest> negatives, unsigned threads) {
  const Repeats repeats = count_repeats(keys, negatives, threads);
  const auto told = [&](std::string_view name, std::uint64_t count, std::uint64_t of, const char* what) {
    if (count > 0) note(fmt::format("{}: {}{} of {} {}", name, repeats.estimated ? "about " : "", count, of, what));
  };
  told(keys_name, repeats.keys, keys.size(), "keys repeat another one");
  told(negatives_name, repeats.negatives, negatives.size(), "known negatives are keys, and are treated as keys");
}

void add_inputs(std::vector<Input>& inputs, const char* option, std::span<const KeyFile> files) {
  for (const KeyFile& file : files) inputs.push_back({option, file.path});
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

void add_threads(Command& command, unsigned& threads, const char* help) {
  command.number("--threads", threads, {0, kMaxThreads}, help).shows_default().type_name("T");
}

unsigned thread_count(unsigned threads) { return threads > 0 ? threads : usable_cores(); }

}  // namespace naysay::cli
