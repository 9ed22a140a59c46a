// SPDX-License-Identifier: Apache-2.0
// Budget: how large a filter may be, given in one of three ways.
//
//   --bits-per-key 10      bits for each key
//   --bytes 1.5MB          bytes in all; kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024
//   --fpr 0.001            the bits that this rate on strangers costs, for filters that can price a rate
#pragma once

#include <string>
#include <vector>

#include "naysay/any_filter.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

// "1.5MB" -> 1500000. The message of an error names the option and says what would be right.
Result<std::uint64_t> parse_bytes(const std::string& text, const char* option = "--bytes");

class Budget {
 public:
  enum class Rates { refused, allowed };

  // Adds the options; --fpr only if rates are allowed.
  void add_options(Command& command, Rates rates);
  // To be called before long work: throws a Failure unless exactly one was given and it makes sense.
  void check() const;

  bool given() const noexcept { return !bits_per_key_.empty() || !bytes_.empty() || !fpr_.empty(); }
  bool is_rate() const noexcept { return !fpr_.empty(); }
  bool is_bytes() const noexcept { return !bytes_.empty(); }
  double rate() const;  // Requires is_rate().
  // For this many keys. Requires !is_rate().
  double bits_per_key(std::uint64_t room) const;
  // As a filter's parameters, for a filter that must have room for this many keys. Requires !is_rate().
  std::vector<Param> params(std::uint64_t room) const;

 private:
  std::string bits_per_key_, bytes_, fpr_;
  Rates rates_ = Rates::refused;
};

}  // namespace naysay::cli
