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

// Who may read a file that is written. usual: whoever could read the file of this name before, which also keeps its
// owner and group as far as the system allows; a new file has what the umask leaves. owner_only: mode 0600.
enum class Access { usual, owner_only };

// A file in the making: bytes go to a neighbour of `path`, and commit() renames it, so that `path` holds the old bytes
// or all the new ones. Without a commit nothing remains. A symbolic link is followed; what is not a regular file (a
// device, a folder) is refused, because a rename would replace it.
//
//   set.nsy                  the old bytes, until commit()
//   set.nsy.naysay-k3Xq9a    the new ones; locked while a process writes them, so that leftovers() can tell
class NAYSAY_EXPORT AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path, Access access = Access::usual);

  Result<Ok> append(std::span<const std::byte> bytes);
  Result<Ok> commit();
  // For callers that map the file instead of appending to it.
  int descriptor() const noexcept { return fd_; }

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

 private:
  AtomicFile() = default;

  std::string path_;       // as the user wrote it
  std::string target_;     // the same, links followed
  std::string folder_;     // of target_
  std::string temporary_;  // empty once there is nothing to remove
  Access access_ = Access::usual;
  int fd_ = -1;
  int slot_ = -1;  // in the list of remove_temporaries()
};

// Removes the temporary files of all AtomicFiles of this process. Async-signal-safe: for the handler of a signal that
// ends the process. Up to 16 files at a time are known to it; of others a leftover remains.
NAYSAY_EXPORT void remove_temporaries() noexcept;

// Temporary files of `path` that no process writes any more: what a killed process left there.
NAYSAY_EXPORT std::vector<std::string> leftovers(const std::string& path);

// Would create() work? Asked before a long build, so that a mistyped folder costs no time.
NAYSAY_EXPORT Result<Ok> can_create(const std::string& path);

NAYSAY_EXPORT Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes,
                                          Access access = Access::usual);

}  // namespace naysay::files
