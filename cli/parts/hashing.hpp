// SPDX-License-Identifier: Apache-2.0
// Hashing: how the keys of a new filter are digested, from the options --hash, --hash-key, --hash-key-file and --seed, and
// from the environment.
//
// A command line can be read by every user of the machine while it runs, so the key of siphash can also come from a
// file, or from the variable NAYSAY_HASH_KEY. No message prints it.
#pragma once

#include <string>

#include "naysay/core/hash.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

class Hashing {
 public:
  void add_options(Command& command);
  // Throws a Failure if they make no sense. A siphash key that is not given is drawn at random.
  Hasher hasher(std::uint64_t seed) const;
  bool has_key() const;  // given, not drawn at random
  bool given() const;    // an option that is not the default
  const std::string& key_file() const { return key_file_; }

 private:
  std::string hash_ = "xxh3";
  std::string key_, key_file_;
};

}  // namespace naysay::cli
