// SPDX-License-Identifier: Apache-2.0
#include "parts/locked_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestWait = 1e9;  // seconds: 31 years
constexpr std::chrono::milliseconds kPause{5};

// -1 if there is nothing to lock. Some systems lock only what is open for writing, and a file may be read-only.
int open_to_lock(const std::string& path) {
  constexpr int kFlags = O_NONBLOCK | O_CLOEXEC;
  int fd = ::open(path.c_str(), O_RDWR | kFlags);
  if (fd < 0) fd = ::open(path.c_str(), O_RDONLY | kFlags);
  struct stat info {};
  if (fd >= 0 && (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) ::close(std::exchange(fd, -1));
  return fd;
}

bool still_named(const std::string& path, int fd) {
  struct stat named {
  }, held{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &held) == 0 && named.st_dev == held.st_dev &&
         named.st_ino == held.st_ino;
}

}  // namespace

void add_wait_option(Command& command, double& seconds) {
  command
      .number("--wait", seconds, {0, kLongestWait},
              "how long to wait while another naysay changes the same file; 0: not at all")
      .shows_default()
      .type_name("SECONDS");
}

LockedFile::LockedFile(const std::string& path, double wait_seconds, ProgressBar* bar) {
  const auto start = Clock::now();
  for (;;) {
    const int fd = open_to_lock(path);
    if (fd < 0) return;
    const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int why = errno;
    if (locked && still_named(path, fd)) {
      fd_ = fd;
      return;
    }
    ::close(fd);
    if (locked) continue;
    if (why == EINTR) continue;
    if (why != EWOULDBLOCK) throw Failure{fmt::format("{}: cannot lock: {}", path, std::strerror(why))};
    const double waited = std::chrono::duration<double>(Clock::now() - start).count();
    if (waited >= wait_seconds)
      throw Failure{fmt::format("{}: another naysay is changing it{}; try again, or wait longer with --wait SECONDS",
                                path, wait_seconds > 0 ? fmt::format(", still after {} s", wait_seconds) : "")};
    if (bar)
      bar->show(fmt::format("waiting for another naysay that changes {}", path),
                static_cast<std::uint64_t>(waited * 1e3),
                static_cast<std::uint64_t>(std::min(wait_seconds, 1e9) * 1e3));
    std::this_thread::sleep_for(kPause);
  }
}

LockedFile::LockedFile(LockedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
LockedFile& LockedFile::operator=(LockedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
LockedFile::~LockedFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace naysay::cli
