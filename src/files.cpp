// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace naysay::files {

namespace {

Error os_error(const std::string& path, const char* what) {
  return {Errc::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

}  // namespace

Result<Mapping> map(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return os_error(path, "open");
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    Error e = os_error(path, "stat");
    ::close(fd);
    return e;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Error{Errc::io, path + ": not a regular file"};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    ::close(fd);
    return Mapping{};
  }
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int why = errno;
  ::close(fd);
  errno = why;
  if (p == MAP_FAILED) return os_error(path, "map");
  return Mapping{{static_cast<const std::byte*>(p), size},
                 std::shared_ptr<const void>(p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); })};
}

namespace {

// Where the bytes of `path` really are or will be.
Result<std::string> target_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return path;
  if (S_ISDIR(info.st_mode)) return Error{Errc::io, path + ": is a directory; give the name of a file"};
  if (!S_ISREG(info.st_mode)) return Error{Errc::io, path + ": is not a regular file; give the name of one"};
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  if (!resolved) return os_error(path, "resolve");
  return std::string(resolved.get());
}

}  // namespace

Result<Ok> can_create(const std::string& path) {
  NAYSAY_TRY(const std::string target, target_of(path));
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return os_error(path, ("write into folder '" + folder + "'").c_str());
  return Ok{};
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  NAYSAY_CHECK(can_create(path));
  AtomicFile f;
  f.path_ = path;
  NAYSAY_TRY(f.target_, target_of(path));
  f.temporary_ = f.target_ + ".XXXXXX";
  f.fd_ = ::mkstemp(f.temporary_.data());
  if (f.fd_ < 0) {
    f.temporary_.clear();
    return os_error(path, "create a temporary file next to it");
  }
  return f;
}

Result<Ok> AtomicFile::append(std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return os_error(path_, "write");
    done += static_cast<std::size_t>(n);
  }
  return Ok{};
}

Result<Ok> AtomicFile::commit() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0) return os_error(path_, "set the mode");
  if (::fsync(fd_) != 0) return os_error(path_, "sync");
  if (::close(std::exchange(fd_, -1)) != 0) return os_error(path_, "close");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return os_error(path_, "rename into place");
  temporary_.clear();
  return Ok{};
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes) {
  NAYSAY_TRY(AtomicFile file, AtomicFile::create(path));
  NAYSAY_CHECK(file.append(bytes));
  return file.commit();
}

}  // namespace naysay::files
