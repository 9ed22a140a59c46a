// SPDX-License-Identifier: Apache-2.0
// UpdateOptions: what delta, rollup and publish share: whose update it is, when it ends, and who signs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "naysay/updates/stack.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// "7d", "36h", "90m", "30s" or seconds --> seconds.
std::int64_t need_duration(const char* option, const std::string& text);
std::int64_t now_in_seconds();

struct UpdateOptions {
  std::string list, expires = "14d", sign_key;
  std::uint64_t partition = 0, created = 0, seed = 0;
  double add_rate = 0;
  unsigned threads = 0;
  bool ghosts = false;

  void add_options(Command& command);
  void check() const;
  // All but the digests and the sequence number.
  DeltaTask task() const;
};

// Checks of a client: expiry against the clock, and signatures if a key is given.
StackChecks checks_of(const std::string& verify_key, bool allow_expired = false);

// The numbers of two commands that write an update.
void say_update(const std::string& path, std::span<const std::byte> delta, bool json);

}  // namespace naysay::cli
