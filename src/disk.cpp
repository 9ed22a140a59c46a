// SPDX-License-Identifier: Apache-2.0
#include "naysay/live/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace naysay {

int Disk::create(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); }
int Disk::open(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); }
std::int64_t Disk::write(int file, const void* bytes, std::size_t size) { return ::write(file, bytes, size); }
std::int64_t Disk::write_at(int file, const void* bytes, std::size_t size, std::uint64_t at) {
  return ::pwrite(file, bytes, size, static_cast<off_t>(at));
}
int Disk::sync(int file) { return ::fdatasync(file); }
int Disk::truncate(int file, std::uint64_t size) { return ::ftruncate(file, static_cast<off_t>(size)); }
int Disk::rename(const std::string& from, const std::string& to) { return ::rename(from.c_str(), to.c_str()); }
int Disk::remove(const std::string& path) { return ::unlink(path.c_str()); }
int Disk::sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  const int done = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  errno = error;
  return done;
}
void Disk::close(int file) noexcept {
  if (file >= 0) ::close(file);
}
Disk& Disk::system() {
  static Disk disk;
  return disk;
}

}  // namespace naysay
