// SPDX-License-Identifier: Apache-2.0
// The calls themselves. Loaded into the tool (LD_PRELOAD), it reads what shall fail from NAYSAY_FAULT, "no_space:3", and
// when the tool ends writes the number of calls it saw to the file that NAYSAY_FAULT_SEEN names.
#include "memory/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<int> fault{0};
std::atomic<long> after{0}, seen{0};

#if NAYSAY_CALLS_CAN_FAIL
// Whether this call, which `about` is about, has to fail.
bool fails(Fault about) {
  if (fault.load() != static_cast<int>(about)) return false;
  const long number = seen.fetch_add(1);
  const bool lasting = about == Fault::no_space || about == Fault::short_write;
  return lasting ? number >= after : number == after;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#endif

}  // namespace

// NOLINTBEGIN: these are libc's own names and types.
extern "C" {

void naysay_fail_calls(int which, long calls) {
  fault = 0;
  seen = 0;
  after = calls;
  fault = which;
}
long naysay_calls_seen() { return seen; }

#if NAYSAY_CALLS_CAN_FAIL
ssize_t write(int file, const void* bytes, size_t size) {
  if (file > 2 && fails(Fault::no_space)) return errno = ENOSPC, -1;
  if (file > 2 && fails(Fault::interrupted)) return errno = EINTR, -1;
  if (file > 2 && size > 1 && fails(Fault::short_write)) size = 1;
  return ::syscall(SYS_write, file, bytes, size);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  if (fails(Fault::no_space)) return errno = ENOSPC, -1;
  if (fails(Fault::interrupted)) return errno = EINTR, -1;
  if (size > 1 && fails(Fault::short_write)) size = 1;
  return ::syscall(SYS_pwrite64, file, bytes, size, at);
}
int posix_fallocate(int file, off_t at, off_t size) {
  if (fails(Fault::no_space)) return ENOSPC;
  return next<int(int, off_t, off_t)>("posix_fallocate")(file, at, size);
}
int ftruncate(int file, off_t size) noexcept {
  if (fails(Fault::no_space)) return errno = ENOSPC, -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}
int fsync(int file) {
  if (fails(Fault::no_sync)) return errno = EIO, -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  if (fails(Fault::no_sync)) return errno = EIO, -1;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}
int msync(void* memory, size_t size, int flags) {
  if (fails(Fault::no_sync)) return errno = EIO, -1;
  return static_cast<int>(::syscall(SYS_msync, memory, size, flags));
}
int rename(const char* from, const char* to) noexcept {
  if (fails(Fault::no_rename)) return errno = EACCES, -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int mkstemp(char* path) {
  if (fails(Fault::no_file)) return errno = EMFILE, -1;
  return next<int(char*)>("mkstemp")(path);
}
int open(const char* path, int flags, ...) {
  if (fails(Fault::no_file)) return errno = EMFILE, -1;
  va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int close(int file) {
  const int done = static_cast<int>(::syscall(SYS_close, file));
  return file > 2 && fails(Fault::no_close) ? errno = EIO, -1 : done;
}
int fchmod(int file, mode_t mode) noexcept {
  if (fails(Fault::no_chmod)) return errno = EPERM, -1;
  return static_cast<int>(::syscall(SYS_fchmod, file, mode));
}
void* mmap(void* wanted, size_t size, int protection, int flags, int file, off_t at) noexcept {
  if (file >= 0 && fails(Fault::no_mapping)) return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, wanted, size, protection, flags, file, at));
}
#endif
}
// NOLINTEND

namespace {

struct FromEnvironment {
  FromEnvironment() {
    const char* wish = std::getenv("NAYSAY_FAULT");
    if (wish == nullptr) return;
    const char* colon = std::strchr(wish, ':');
    for (int i = 0; colon != nullptr && i < static_cast<int>(std::size(kFaultNames)); ++i)
      if (std::strlen(kFaultNames[i]) == static_cast<std::size_t>(colon - wish) &&
          std::strncmp(wish, kFaultNames[i], static_cast<std::size_t>(colon - wish)) == 0)
        naysay_fail_calls(i, std::atol(colon + 1));
  }
  ~FromEnvironment() {
    const char* path = std::getenv("NAYSAY_FAULT_SEEN");
    const long calls = seen;
    fault = 0;
    if (path == nullptr) return;
    if (std::FILE* to = std::fopen(path, "w")) {
      std::fprintf(to, "%ld\n", calls);
      std::fclose(to);
    }
  }
} const from_environment;

}  // namespace
