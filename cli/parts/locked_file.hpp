// SPDX-License-Identifier: Apache-2.0
// LockedFile: a filter's file that only this run of naysay may change.
//
//   naysay update A          naysay update B           the same file
//   lock | read              lock: waits
//        | change
//        | write, rename     the file it waited for is gone: opens the new one, and
//   unlock                   lock | read | change | write, rename
//
// Without it both would read the old file, and the keys of the one that renames first would be lost. The lock is
// flock(2) on the file itself: advisory, so only those that ask for it are held off, and gone with the process,
// however it ends. A file that is replaced by rename is another file. So after the lock was given, the name must still
// lead to the locked file, or the next one is locked.
//
// A file that does not exist cannot be locked, and need not be: nothing in it can be lost.
#pragma once

#include <string>

#include "parts/command_line.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

// --wait: how long an update waits for another one of the same file.
inline constexpr double kDefaultWait = 10;  // seconds
void add_wait_option(Command& command, double& seconds);

class LockedFile {
 public:
  LockedFile() = default;
  // Throws a Failure if another process still holds the file after so many seconds. The bar, if there is one, says that
  // it waits.
  explicit LockedFile(const std::string& path, double wait_seconds = kDefaultWait, ProgressBar* bar = nullptr);
  LockedFile(LockedFile&& other) noexcept;
  LockedFile& operator=(LockedFile&& other) noexcept;
  ~LockedFile();

 private:
  int fd_ = -1;
};

}  // namespace naysay::cli
