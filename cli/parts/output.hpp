// SPDX-License-Identifier: Apache-2.0
// Output: what a command writes, to the standard output or to a file that appears whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "naysay/core/files.hpp"

namespace naysay::cli {

// Names the temporary files of `path` that a killed run left there, each on a line of the standard error.
void mention_leftovers(const std::string& path);

class Output {
 public:
  // "-" is the standard output.
  explicit Output(const std::string& path);

  void write(std::string_view bytes) {
    buffer_.append(bytes);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void write(char byte) { buffer_.push_back(byte); }

  // Must be called at the end: only then is it known that every byte arrived.
  void finish();

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

  void flush();

  std::optional<files::AtomicFile> file_;  // none: the standard output
  std::string buffer_;
};

}  // namespace naysay::cli
