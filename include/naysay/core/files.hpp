// SPDX-License-Identifier: Apache-2.0
// Files: whole files in as mapped views, and output that appears by rename or not at all. No part of the interface; the
// tool uses it, so a shared library exports it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/result.hpp"

namespace naysay::files {

// A read-only mapping of a whole file; `keeper` unmaps it when the last copy goes.
struct Mapping {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keeper;
};

NAYSAY_EXPORT Result<Mapping> map(const std::string& path);

// A file in the making: bytes go to a neighbour of `path`, and commit() renames it, so that `path` holds the old bytes
// or all the new ones. Without a commit nothing remains. A symbolic link is followed; what is not a regular file (a
// device, a folder) is refused, because a rename would replace it.
class NAYSAY_EXPORT AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);

  Result<Ok> append(std::span<const std::byte> bytes);
  Result<Ok> commit();

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

 private:
  AtomicFile() = default;

  std::string path_;       // as the user wrote it
  std::string target_;     // the same, links followed
  std::string temporary_;  // empty once there is nothing to remove
  int fd_ = -1;
};

// Would create() work? Asked before a long build, so that a mistyped folder costs no time.
NAYSAY_EXPORT Result<Ok> can_create(const std::string& path);

NAYSAY_EXPORT Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace naysay::files
