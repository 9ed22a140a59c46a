// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace naysay::files {

namespace {

#ifdef MADV_HUGEPAGE
constexpr std::size_t kHugeFileFrom = std::size_t{32} << 20;
#endif

Error os_error(const std::string& path, const char* what) {
  return {Errc::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

}  // namespace

Result<Mapping> map(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe is refused, not waited for
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
#ifdef MADV_HUGEPAGE
  if (size >= kHugeFileFrom) ::madvise(p, size, MADV_HUGEPAGE);  // where the file system has them, such as tmpfs
#endif
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

namespace {

constexpr std::string_view kTemporary = ".naysay-";  // and six letters that mkstemp chooses
constexpr std::size_t kLetters = 6;

std::string folder_of(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : target.substr(0, slash);
}

// ---- temporary files that a signal handler can remove -----------------------------------------------------------------

struct Temporary {
  enum State : int { unused, changing, there };
  std::atomic<int> state{unused};
  char path[PATH_MAX];
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Temporary, 16> temporaries;

// The slot, or -1 if all are in use or the path is too long.
int remember(const std::string& path) noexcept {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < temporaries.size(); ++i) {
    int expected = Temporary::unused;
    if (!temporaries[i].state.compare_exchange_strong(expected, Temporary::changing)) continue;
    std::memcpy(temporaries[i].path, path.c_str(), path.size() + 1);
    temporaries[i].state = Temporary::there;
    return static_cast<int>(i);
  }
  return -1;
}
void forget(int slot) noexcept {
  if (slot >= 0) temporaries[static_cast<std::size_t>(slot)].state = Temporary::unused;
}

// No signal comes between the making of a file and its being remembered.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The mode of the file that `fd` will replace, and its owner and group, if there is such a file. Where the group cannot
// be kept, the new group may do no more than everybody.
mode_t take_owner(int fd, const std::string& target, Access access) noexcept {
  struct stat old {};
  const bool there = ::stat(target.c_str(), &old) == 0;
  mode_t mode = old.st_mode & 0777;
  if (!there) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  } else if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    mode &= 0707 | (mode & 07) << 3;
  }
  return access == Access::owner_only ? 0600 : mode;
}

// A rename is on disk when its folder is. Folders that may not be read and file systems without this are passed over.
bool sync_folder(const std::string& path) noexcept {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return true;
  const bool done = ::fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int error = errno;
  ::close(folder);
  errno = error;
  return done;
}

}  // namespace

void remove_temporaries() noexcept {
  for (const Temporary& t : temporaries)
    if (t.state == Temporary::there) ::unlink(t.path);
}

std::vector<std::string> leftovers(const std::string& path) {
  std::vector<std::string> found;
  const auto target = target_of(path);
  if (!target) return found;
  const std::size_t slash = target->rfind('/');
  const std::string prefix = target->substr(slash == std::string::npos ? 0 : slash + 1) + std::string(kTemporary);
  const std::string folder = slash == std::string::npos ? "" : target->substr(0, slash + 1);
  DIR* dir = ::opendir(folder.empty() ? "." : folder.c_str());
  if (dir == nullptr) return found;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kLetters) continue;
    const std::string there = folder + entry->d_name;
    const int fd = ::open(there.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) found.push_back(there);
    ::close(fd);
  }
  ::closedir(dir);
  return found;
}

Result<Ok> can_create(const std::string& path) {
  NAYSAY_TRY(const std::string target, target_of(path));
  const std::string folder = folder_of(target);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return os_error(path, ("write into folder '" + folder + "'").c_str());
  return Ok{};
}

Result<AtomicFile> AtomicFile::create(const std::string& path, Access access) {
  NAYSAY_CHECK(can_create(path));
  AtomicFile f;
  f.path_ = path;
  f.access_ = access;
  NAYSAY_TRY(f.target_, target_of(path));
  f.folder_ = folder_of(f.target_);  // commit() allocates nothing
  f.temporary_ = f.target_ + std::string(kTemporary) + std::string(kLetters, 'X');
  const SignalsBlocked blocked;
  f.fd_ = ::mkstemp(f.temporary_.data());
  if (f.fd_ < 0) {
    f.temporary_.clear();
    return os_error(path, "create a temporary file next to it");
  }
  f.slot_ = remember(f.temporary_);
  (void)::flock(f.fd_, LOCK_EX | LOCK_NB);  // where there are no locks, a leftover is found while it is written
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
  if (::fchmod(fd_, take_owner(fd_, target_, access_)) != 0) return os_error(path_, "set the mode");
  if (::fsync(fd_) != 0) return os_error(path_, "sync");
  if (::close(std::exchange(fd_, -1)) != 0) return os_error(path_, "close");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return os_error(path_, "rename into place");
  temporary_.clear();
  forget(std::exchange(slot_, -1));
  if (!sync_folder(folder_)) return os_error(path_, "sync its folder");
  return Ok{};
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      folder_(std::move(other.folder_)),
      temporary_(std::exchange(other.temporary_, {})),
      access_(other.access_),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget(slot_);
}

Result<Ok> write_atomically(const std::string& path, std::span<const std::byte> bytes, Access access) {
  NAYSAY_TRY(AtomicFile file, AtomicFile::create(path, access));
  NAYSAY_CHECK(file.append(bytes));
  return file.commit();
}

}  // namespace naysay::files
