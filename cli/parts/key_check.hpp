// SPDX-License-Identifier: Apache-2.0
// KeyCheck: which of the negatives that are to be reported are keys. A filter that is given a key as a negative denies it
// from then on, and most filters cannot tell.
#pragma once

#include <span>
#include <vector>

#include "naysay/workload/keys.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// --keys: of a command that reports negatives.
void add_key_check_option(Command& command, std::string& keys);

struct KeyCheck {
  std::vector<std::uint8_t> is_key;  // 0 or 1, one for each negative
  std::uint64_t found = 0;           // negatives that are keys
};

// Reads the keys once, without keeping them: 16 bytes of memory per negative. Says on the standard error if there are
// fewer keys than the filter holds, so that not all were compared.
KeyCheck check_for_keys(std::span<const Digest> negatives, const KeyFile& keys, const Hasher& hasher,
                        std::uint64_t keys_of_filter, const Progress& progress);

}  // namespace naysay::cli
