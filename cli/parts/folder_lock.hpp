// SPDX-License-Identifier: Apache-2.0
// FolderLock: one command at a time in a folder. It ends with the process, however that ends.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "parts/failure.hpp"

namespace naysay::cli {

class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw Failure{fmt::format("{}/lock: cannot open: {}", folder, std::strerror(errno))};
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    ::close(fd_);
    throw Failure{fmt::format("{}: another naysay works in this folder; try again when it is done", folder)};
  }
  ~FolderLock() { ::close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

}  // namespace naysay::cli
