// SPDX-License-Identifier: Apache-2.0
// Inputs: the options that several commands share about what they read, and the checks of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// -0,--null: keys are separated by NUL bytes.
void add_null_option(Command& command, bool& nul);
KeyFile key_file(const std::string& path, bool nul);

// Notes on the standard error about lines that are probably not what was meant: no keys at all, keys that look like
// key<TAB>cost, costs that are separated by something else than a tab.
void note_keys(const KeyFile& file, const LineTally& tally);
void note_negatives(const KeyFile& file, const LineTally& tally);
// The same for sets: keys that come more than once, negatives that are keys. Of more than a million keys a part is
// looked at, chosen by their digests, and the numbers are estimates.
void note_sets(const KeyFile& keys_file, std::span<const Digest> keys, const KeyFile& negatives_file,
               std::span<const Digest> negatives);

// Throws a Failure if more than one of these inputs is -, the standard input.
struct Input {
  const char* option;  // "--keys"
  const std::string& path;
};
void need_one_standard_input(const std::vector<Input>& inputs);

// --stranger-share: the share of the negative queries that is about strangers.
void add_stranger_share(Command& command, double& share);

// --seed and --threads.
void add_seed(Command& command, std::uint64_t& seed, const char* help);
void add_threads(Command& command, unsigned& threads);
unsigned thread_count(unsigned threads);  // 0 becomes the number of cores

}  // namespace naysay::cli
