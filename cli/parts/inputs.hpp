// SPDX-License-Identifier: Apache-2.0
// Inputs: the options that several commands share about what they read, and the checks of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// -0,--null: keys are separated by NUL bytes.
void add_null_option(Command& command, bool& nul);
KeyFile key_file(const std::string& path, bool nul);

// The files that a repeated option names. Each value is a file, -, a folder (the files in it, in the order of their
// names, without hidden ones and folders) or a pattern (*, ? and [...], as a shell has them). Throws a Failure if a
// folder or a pattern has no file. A file that does not exist is left to who reads it.
std::vector<KeyFile> key_files(const std::vector<std::string>& given, bool nul);
// "keys.txt", or "keys.txt and 3 more files".
std::string names_of(std::span<const KeyFile> files);

// --keys and --negatives of commands that read many files: each may be repeated.
Option add_keys_option(Command& command, std::vector<std::string>& keys);
Option add_negatives_option(Command& command, std::vector<std::string>& negatives);

// Notes on the standard error about lines that are probably not what was meant: no keys at all, keys that look like
// key<TAB>cost, costs that are separated by something else than a tab.
void note_keys(std::string_view name, const LineTally& tally);
void note_negatives(std::string_view name, const LineTally& tally);
// The same for sets: keys that come more than once, negatives that are keys. Of more than a million keys a part is
// looked at, chosen by their digests, and the numbers are estimates.
void note_sets(std::string_view keys_name, std::span<const Digest> keys, std::string_view negatives_name,
               std::span<const Digest> negatives, unsigned threads);

// Throws a Failure if more than one of these inputs is -, the standard input.
struct Input {
  const char* option;  // "--keys"
  const std::string& path;
};
void need_one_standard_input(const std::vector<Input>& inputs);
void add_inputs(std::vector<Input>& inputs, const char* option, std::span<const KeyFile> files);

// --stranger-share: the share of the negative queries that is about strangers.
void add_stranger_share(Command& command, double& share);

// --seed and --threads.
void add_seed(Command& command, std::uint64_t& seed, const char* help);
void add_threads(Command& command, unsigned& threads,
                 const char* help = "any number gives the same bytes; 0: as many as there are cores for this process");
unsigned thread_count(unsigned threads);  // 0 becomes the number of cores that this process may use

}  // namespace naysay::cli
