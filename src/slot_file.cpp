// SPDX-License-Identifier: Apache-2.0
#include "naysay/variable_hash/slot_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/files.hpp"

namespace naysay {

namespace {

constexpr std::array<char, 8> kMagic = {'n', 's', 'y', 'k', 'e', 'y', 's', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMaxRecords = UINT32_MAX - 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
  std::uint64_t identity = 0;
  std::uint64_t slots = 0;
  std::uint64_t keys = 0;
  std::uint64_t checksum = 0;  // of the fields before
};
static_assert(sizeof(Header) == 48);

struct Entry {  // a record in the file
  std::uint64_t slot, function, number, x, before, check;
};
static_assert(sizeof(Entry) == 48);

template <class T>
std::uint64_t checksum_of(const T& head, std::size_t bytes, std::uint64_t seed) {
  return checksum({reinterpret_cast<const std::byte*>(&head), bytes}, seed);
}
std::uint64_t check_of(std::uint64_t slot, std::span<const std::uint64_t> xs, std::uint64_t identity) {
  return checksum(std::as_bytes(xs), identity + slot * 0x9e3779b97f4a7c15u);
}
std::uint64_t check_of(const Entry& e, std::uint64_t i, std::uint64_t identity) {
  return checksum_of(e, offsetof(Entry, check), identity ^ mix64(i + 1));
}

// What absorbing never changes: every key's way to its slot, and the number of functions there.
class IdentityVisitor {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if (name == "functions") return;
    std::vector<std::byte> bytes;
    FieldWriter writer(bytes);
    writer(name, value);
    value_ = checksum(bytes, value_);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};
std::uint64_t identity_of(const VariableHash& filter) {
  IdentityVisitor visit;
  VariableHash::fields(filter, visit);
  return visit.value();
}

Error os_error(const std::string& path, const char* what) {
  return {Errc::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

constexpr char kLocked[] = "lock it; a filter has it attached, in this process or another";

// Where the parts begin, in bytes. Each slot has one word for its check.
std::uint64_t body_at(std::uint64_t slots) { return sizeof(Header) + 8 * (slots + 1); }
std::uint64_t log_at(std::uint64_t slots, std::uint64_t keys) { return body_at(slots) + 8 * (slots + keys); }

bool write_all(int fd, const void* from, std::size_t n, std::uint64_t at) noexcept {
  const char* p = static_cast<const char*>(from);
  while (n > 0) {
    const ssize_t done = ::pwrite(fd, p, n, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    p += done, n -= static_cast<std::size_t>(done), at += static_cast<std::uint64_t>(done);
  }
  return true;
}

// Whether the path still leads to this file; with -1, whether it leads nowhere.
bool leads_to(const std::string& path, int fd) noexcept {
  struct stat there {};
  struct stat held {};
  if (::stat(path.c_str(), &there) != 0) return fd < 0;
  return fd >= 0 && ::fstat(fd, &held) == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

}  // namespace

struct SlotFile::Handle {
  int fd = -1;
  pid_t process = ::getpid();  // a lock is shared with child processes, but what this one knows of the file is not
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (memory != MAP_FAILED) ::munmap(memory, size);
    if (fd >= 0) ::close(fd);
  }
};

Result<Ok> SlotFile::create(const std::string& path, const VariableHash& filter, std::span<const Digest> keys) {
  return no_memory_is_an_error(path, [&] { return write(path, filter, keys); });
}

Result<Ok> SlotFile::write(const std::string& path, const VariableHash& filter, std::span<const Digest> keys) {
  Header h;
  h.identity = identity_of(filter);
  h.slots = filter.slots();
  h.keys = keys.size();
  h.checksum = checksum_of(h, offsetof(Header, checksum), 0);
  // A file that is attached is not replaced: what its filter records from then on would be lost.
  Handle old;
  old.fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (old.fd < 0 && errno != ENOENT) return os_error(path, "open the file that it would replace");
  if (old.fd >= 0 && ::flock(old.fd, LOCK_EX | LOCK_NB) != 0) return os_error(path, kLocked);
  NAYSAY_TRY(files::AtomicFile made, files::AtomicFile::create(path));
  Handle file;
  file.size = log_at(h.slots, h.keys);
  if (const int wrong = ::posix_fallocate(made.descriptor(), 0, static_cast<off_t>(file.size)); wrong != 0) {
    errno = wrong;
    return os_error(path, "reserve space");
  }
  file.memory = ::mmap(nullptr, file.size, PROT_READ | PROT_WRITE, MAP_SHARED, made.descriptor(), 0);
  if (file.memory == MAP_FAILED) return os_error(path, "map");
  std::byte* bytes = static_cast<std::byte*>(file.memory);
  std::memcpy(bytes, &h, sizeof h);
  auto* starts = reinterpret_cast<std::uint64_t*>(bytes + sizeof h);
  auto* body = reinterpret_cast<std::uint64_t*>(bytes + body_at(h.slots));
  // The keys of a slot follow the word for their check.
  for (const Digest& d : keys) ++starts[filter.slot_of(d) + 1];
  for (std::uint64_t s = 0; s < h.slots; ++s) starts[s + 1] += starts[s] + 1;
  std::vector<std::uint64_t> fill(h.slots);
  for (std::uint64_t s = 0; s < h.slots; ++s) fill[s] = starts[s] + 1;
  for (const Digest& d : keys) body[fill[filter.slot_of(d)]++] = d.lo + filter.seed();
  for (std::uint64_t s = 0; s < h.slots; ++s)
    body[starts[s]] = check_of(s, {body + starts[s] + 1, body + starts[s + 1]}, h.identity);
  if (::msync(file.memory, file.size, MS_SYNC) != 0) return os_error(path, "sync");
  if (!leads_to(path, old.fd))
    return Error{Errc::io, path + ": somebody else wrote it while this file was made; try again"};
  return made.commit();
}

Result<SlotFile> SlotFile::open(const std::string& path, const VariableHash& filter) {
  return no_memory_is_an_error(path, [&] { return read(path, filter); });
}

Result<SlotFile> SlotFile::read(const std::string& path, const VariableHash& filter) {
  const auto handle = std::make_shared<Handle>();
  handle->fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (handle->fd < 0) return os_error(path, "open for reading and writing");
  if (::flock(handle->fd, LOCK_EX | LOCK_NB) != 0) return os_error(path, kLocked);
  struct stat info {};
  if (::fstat(handle->fd, &info) != 0) return os_error(path, "stat");
  if (info.st_nlink == 0) return Error{Errc::io, path + ": was replaced while it was opened; try again"};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  Header h;
  if (size < sizeof h || ::pread(handle->fd, &h, sizeof h, 0) != static_cast<ssize_t>(sizeof h) || h.magic != kMagic)
    return Error{Errc::corrupt, path + ": not a key file of naysay; it must begin with 'nsykeys'"};
  if (h.version != kVersion)
    return Error{Errc::unsupported, path + ": has format version " + std::to_string(h.version) +
                                        "; this naysay reads version " + std::to_string(kVersion)};
  if (h.checksum != checksum_of(h, offsetof(Header, checksum), 0))
    return Error{Errc::corrupt, path + ": the header's checksum does not match"};
  if (h.identity != identity_of(filter) || h.slots != filter.slots())
    return Error{Errc::invalid_argument,
                 path + ": holds the keys of another filter; give the filter it was created with"};
  if (h.slots > size / 8 || h.keys > size / 8 || log_at(h.slots, h.keys) > size)
    return Error{Errc::corrupt, path + ": " + std::to_string(h.keys) + " keys in " + std::to_string(h.slots) +
                                    " slots need " + std::to_string(log_at(h.slots, h.keys)) + " bytes; the file has " +
                                    std::to_string(size)};
  SlotFile f;
  f.log_start_ = log_at(h.slots, h.keys);
  handle->size = f.log_start_;
  handle->memory = ::mmap(nullptr, handle->size, PROT_READ, MAP_SHARED, handle->fd, 0);
  if (handle->memory == MAP_FAILED) return os_error(path, "map");
  const std::byte* bytes = static_cast<const std::byte*>(handle->memory);
  f.starts_ = reinterpret_cast<const std::uint64_t*>(bytes + sizeof h);
  f.body_ = reinterpret_cast<const std::uint64_t*>(bytes + body_at(h.slots));
  if (f.starts_[0] != 0 || f.starts_[h.slots] != h.slots + h.keys)
    return Error{Errc::corrupt, path + ": its slots do not hold " + std::to_string(h.keys) + " keys"};
  f.slots_ = h.slots;
  f.keys_ = h.keys;
  f.identity_ = h.identity;
  f.path_ = path;
  f.handle_ = handle;
  // What is not whole at the end was torn, and is cut off. Before a whole record it is damage, and all behind would go.
  f.newest_.resize(h.slots);
  const std::uint64_t room = std::min((size - f.log_start_) / kRecordBytes, kMaxRecords);
  for (std::uint64_t i = 0; i < room; ++i) {
    Record r;
    errno = 0;
    if (!f.read(i, r) || r.slot >= h.slots) {
      if (errno != 0) return os_error(path, "read");
      continue;
    }
    if (f.records_ != i)
      return Error{Errc::corrupt, path + ": record " + std::to_string(f.records_ + 1) +
                                      " is damaged, and later ones are not; cut the file to " +
                                      std::to_string(f.size_bytes()) +
                                      " bytes to keep those before, or write it again"};
    f.newest_[r.slot] = static_cast<std::uint32_t>(++f.records_);
  }
  if (f.size_bytes() != size && ::ftruncate(handle->fd, static_cast<off_t>(f.size_bytes())) != 0)
    return os_error(path, "cut off a torn record");
  return f;
}

bool SlotFile::keys_of(std::uint64_t slot, std::span<const std::uint64_t>& xs) const noexcept {
  const std::uint64_t first = starts_[slot], last = starts_[slot + 1], words = (log_start_ - body_at(slots_)) / 8;
  if (first >= last || last > words) return false;
  xs = {body_ + first + 1, body_ + last};
  return body_[first] == check_of(slot, xs, identity_);
}

bool SlotFile::read(std::uint64_t i, Record& r, std::uint64_t* before) const noexcept {
  Entry e;
  if (::pread(handle_->fd, &e, sizeof e, static_cast<off_t>(log_start_ + i * kRecordBytes)) !=
      static_cast<ssize_t>(sizeof e))
    return false;
  if (e.check != check_of(e, i, identity_)) return false;
  r = {e.slot, e.function, e.number, e.x};
  if (before) *before = e.before;
  return true;
}

std::uint64_t SlotFile::records_of(std::uint64_t slot, std::span<Record> out) const noexcept {
  std::uint64_t count = 0;
  Record r;
  for (std::uint64_t next = newest_[slot], before = 0; next != 0 && read(next - 1, r, &before);
       next = before, ++count) {
    if (count < out.size()) out[count] = r;
    if (before >= next) break;  // a record's predecessor is older
  }
  return count;
}

bool SlotFile::append(const Record& r) noexcept {
  if (records_ >= kMaxRecords || handle_->process != ::getpid()) return false;
  Entry e{r.slot, r.function, r.number, r.x, newest_[r.slot], 0};
  e.check = check_of(e, records_, identity_);
  if (!write_all(handle_->fd, &e, sizeof e, size_bytes())) {
    (void)!::ftruncate(handle_->fd, static_cast<off_t>(size_bytes()));
    return false;
  }
  newest_[r.slot] = static_cast<std::uint32_t>(++records_);
  return true;
}

Result<Ok> SlotFile::sync() const {
  if (::fdatasync(handle_->fd) != 0) return os_error(path_, "sync");
  return Ok{};
}

}  // namespace naysay
