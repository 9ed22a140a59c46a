// SPDX-License-Identifier: Apache-2.0
// Hashing: how the keys of a new filter are digested, from the options --hash, --hash-key and --seed.
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

 private:
  std::string hash_ = "xxh3";
  std::string key_;
};

}  // namespace naysay::cli
