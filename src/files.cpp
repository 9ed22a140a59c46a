#include "files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

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
  Error e = os_error(path, "map");
  ::close(fd);
  if (p == MAP_FAILED) return e;
  return Mapping{{static_cast<const std::byte*>(p), size},
                 std::shared_ptr<const void>(p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); })};
}

Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes) {
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return os_error(path, "create a temporary file beside it");
  const auto fail = [&](const char* what) {
    Error e = os_error(path, what);
    ::close(fd);
    ::unlink(temporary.c_str());
    return e;
  };
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("write");
    done += static_cast<std::size_t>(n);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd, 0666 & ~mask) != 0) return fail("set the mode");
  if (::fsync(fd) != 0) return fail("sync");
  if (::close(fd) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    Error e = os_error(path, "rename into place");
    ::unlink(temporary.c_str());
    return e;
  }
  return Ok{};
}

}  // namespace naysay::files
