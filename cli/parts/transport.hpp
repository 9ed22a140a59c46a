// SPDX-License-Identifier: Apache-2.0
// Transport: files of a publisher, from a folder or, where libcurl is found, from a web server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "naysay/core/result.hpp"

namespace naysay::cli {

class Transport {
 public:
  // A folder, or http://, https:// or file://. Throws a Failure if this tool cannot read from there.
  explicit Transport(std::string source);
  ~Transport();

  // A file of at most `most` bytes. Errc::io if it cannot be had now.
  Result<std::vector<std::byte>> get(const std::string& name, std::uint64_t most);
  std::uint64_t bytes() const noexcept { return bytes_; }  // received so far

 private:
  struct Web;
  std::string source_;
  std::unique_ptr<Web> web_;  // none: a folder
  std::uint64_t bytes_ = 0;
};

}  // namespace naysay::cli
