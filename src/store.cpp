// SPDX-License-Identifier: Apache-2.0
#include "naysay/live/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/files.hpp"

namespace naysay {

// ---- Disk -----------------------------------------------------------------------------------------------------------

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

namespace {

Error os_error(const std::string& path, const char* what) {
  return {Errc::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

// ---- records --------------------------------------------------------------------------------------------------------

struct LogHeader {
  std::array<char, 8> magic = {'n', 'a', 'y', 's', 'a', 'y', 'l', 'g'};
  std::uint32_t version = 1;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(LogHeader) == 24);

constexpr std::size_t kFrame = 8, kPayload = 17, kRecord = kFrame + kPayload;

std::uint32_t record_checksum(std::span<const std::byte> payload, std::uint64_t log, std::uint64_t at) {
  const std::uint64_t seed = mix64(log + 1) + at * 0x9e3779b97f4a7c15u + payload.size();
  return static_cast<std::uint32_t>(checksum(payload, seed));
}

void append_record(std::vector<std::byte>& out, const Operation& operation, std::uint64_t log, std::uint64_t at) {
  std::array<std::byte, kRecord> record;
  const std::uint32_t length = kPayload;
  record[kFrame] = static_cast<std::byte>(operation.kind);
  std::memcpy(record.data() + kFrame + 1, &operation.digest.lo, 8);
  std::memcpy(record.data() + kFrame + 9, &operation.digest.hi, 8);
  const std::uint32_t sum = record_checksum(std::span(record).subspan(kFrame), log, at);
  std::memcpy(record.data(), &length, 4);
  std::memcpy(record.data() + 4, &sum, 4);
  out.insert(out.end(), record.begin(), record.end());
}

// The operation of the record at `at`, or nothing if there is no valid one.
std::optional<Operation> record_at(std::span<const std::byte> log, std::uint64_t number, std::uint64_t at) {
  std::uint32_t length = 0, sum = 0;
  if (at + kRecord > log.size()) return {};
  std::memcpy(&length, log.data() + at, 4);
  std::memcpy(&sum, log.data() + at + 4, 4);
  if (length != kPayload) return {};
  const auto payload = log.subspan(at + kFrame, kPayload);
  if (sum != record_checksum(payload, number, at)) return {};
  Operation operation;
  const auto kind = static_cast<std::uint8_t>(payload[0]);
  if (kind != 1 && kind != 2) return {};
  operation.kind = static_cast<Operation::Kind>(kind);
  std::memcpy(&operation.digest.lo, payload.data() + 1, 8);
  std::memcpy(&operation.digest.hi, payload.data() + 9, 8);
  return operation;
}

// ---- the folder -----------------------------------------------------------------------------------------------------

std::string checkpoint_path(const std::string& folder, std::uint64_t number) {
  return folder + "/checkpoint." + std::to_string(number) + ".nsy";
}
std::string log_path(const std::string& folder, std::uint64_t number) {
  return folder + "/log." + std::to_string(number);
}

struct Listing {
  std::vector<std::uint64_t> checkpoints, logs;  // ascending
  std::vector<std::string> temporaries;
};

// "prefix123suffix" gives 123.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return {};
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t n = 0;
  std::string right;
  if (!from_text(name, n, right)) return {};
  return n;
}

Result<Listing> list(const std::string& folder) {
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return os_error(folder, "open the folder");
  Listing out;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (const auto c = number_in(name, "checkpoint.", ".nsy")) out.checkpoints.push_back(*c);
    if (const auto l = number_in(name, "log.", "")) out.logs.push_back(*l);
    if (name.starts_with("checkpoint.") && name.ends_with(".tmp"))
      out.temporaries.push_back(folder + "/" + entry->d_name);
  }
  ::closedir(dir);
  std::sort(out.checkpoints.begin(), out.checkpoints.end());
  std::sort(out.logs.begin(), out.logs.end());
  return out;
}

// ---- writing a checkpoint next to writers -----------------------------------------------------------------------------

class Checkpointer final : public live::detail::BlockSaver {
 public:
  Checkpointer(Disk& disk, int file, std::string path) : disk_(disk), file_(file), path_(std::move(path)) {}

  // Requires that no other thread writes to the filter.
  void begin(SharedFilter::Filter& filter) {
    const auto params = filter.params();
    SharedFilter::Filter::Params::fields(params, plan_);
    SharedFilter::Filter::fields(std::as_const(filter), plan_);
    for (std::size_t i = 0; i < plan_.pieces().size(); ++i)
      if (const std::byte* array = plan_.pieces()[i].data)
        unwritten_.emplace(reinterpret_cast<const std::uint64_t*>(array), i);
    filter.for_each_access([this](auto& access) { access.save_through(this); });
  }
  static void end(SharedFilter::Filter& filter) {
    filter.for_each_access([](auto& access) { access.save_through(nullptr); });
  }
  std::size_t pieces() const noexcept { return plan_.pieces().size(); }
  std::uint64_t size() const noexcept { return plan_.end(); }

  // Writes a piece, unless it is an array that a change has written already. Requires that no other thread writes to
  // the filter.
  void write_piece(std::size_t i) noexcept {
    const FieldPlan::Piece& piece = plan_.pieces()[i];
    if (piece.data == nullptr) return write(piece);
    const auto at = unwritten_.find(reinterpret_cast<const std::uint64_t*>(piece.data));
    if (at != unwritten_.end() && at->second == i) write_array(at);
  }
  void before_change(const std::uint64_t* words) noexcept override {
    if (const auto at = unwritten_.find(words); at != unwritten_.end()) write_array(at);
  }
  Result<Ok> written() const {
    if (failed_) return Error{Errc::io, path_ + ": cannot write: " + std::strerror(failed_)};
    return Ok{};
  }

 private:
  using Unwritten = std::unordered_map<const std::uint64_t*, std::size_t>;

  void write_array(Unwritten::iterator at) noexcept {
    write(plan_.pieces()[at->second]);
    unwritten_.erase(at);
  }
  void write(const FieldPlan::Piece& piece) noexcept { write(piece.at, plan_.bytes(piece).data(), piece.size); }
  void write(std::uint64_t at, const std::byte* bytes, std::uint64_t size) noexcept {
    while (size > 0 && failed_ == 0) {
      const std::int64_t n = disk_.write_at(file_, bytes, size, at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        failed_ = n < 0 ? errno : ENOSPC;
        return;
      }
      at += static_cast<std::uint64_t>(n);
      bytes += n;
      size -= static_cast<std::uint64_t>(n);
    }
  }

  Disk& disk_;
  int file_;
  std::string path_;
  FieldPlan plan_{file_detail::kHeaderBytes, kFileAlignment};
  Unwritten unwritten_;  // arrays: the piece that each is
  int failed_ = 0;       // an errno
};

using Clock = std::chrono::steady_clock;

}  // namespace

// ---- the store --------------------------------------------------------------------------------------------------------

struct Store::State {
  State(std::string where, const StoreOptions& o, SharedFilter f, Hasher h)
      : folder(std::move(where)),
        options(o),
        disk(o.disk ? *o.disk : Disk::system()),
        filter(std::move(f)),
        hasher(h) {}
  ~State() {
    disk.close(log);
    if (lock >= 0) ::close(lock);
  }

  Error failure() const {
    return {Errc::io, folder + ": the store takes no more operations since a write or sync failed; open it again"};
  }

  // ---- the log; all require `writing` ----

  Result<Ok> begin_log(std::uint64_t n) {
    const std::string path = log_path(folder, n);
    const int file = disk.create(path);
    if (file < 0) return os_error(path, "create");
    LogHeader header;
    header.number = n;
    if (disk.write(file, &header, sizeof header) != sizeof header || disk.sync(file) != 0 ||
        disk.sync_folder(folder) != 0) {
      const Error e = os_error(path, "begin");
      disk.close(file);
      disk.remove(path);
      return e;
    }
    disk.close(log);
    log = file;
    number = n;
    end = sizeof header;
    return Ok{};
  }
  Result<Ok> append(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const std::int64_t n = disk.write_at(log, bytes.data() + done, bytes.size() - done, end + done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        if (n == 0) errno = ENOSPC;
        const Error e = os_error(log_path(folder, number), "append");
        // Part of it may stand there. It is cut away, or the next record would be damage after it.
        if (disk.truncate(log, end) != 0) failed = true;
        return e;
      }
      done += static_cast<std::size_t>(n);
    }
    end += bytes.size();
    written += bytes.size();
    return Ok{};
  }

  // ---- syncing: one thread syncs for all that wait ----

  Result<Ok> sync_to(std::uint64_t mine) {
    const std::lock_guard lock_sync(syncing);
    if (synced.load() >= mine) return Ok{};
    int file = -1;
    std::uint64_t until = 0;
    {
      const std::lock_guard lock_log(writing);
      if (failed) return failure();
      until = written;
      file = ::dup(log);  // a checkpoint may begin another log meanwhile; it syncs the old one itself
    }
    const int done = disk.sync(file);
    const Error e = os_error(folder, "sync the log");
    disk.close(file);
    if (done != 0) {
      const std::lock_guard lock_log(writing);
      failed = true;
      return e;
    }
    synced = until;
    ++syncs;
    last_sync = Clock::now();
    return Ok{};
  }

  std::string folder;
  StoreOptions options;
  Disk& disk;
  SharedFilter filter;
  Hasher hasher;
  Recovery recovery;
  int lock = -1;

  mutable std::mutex writing;  // the log's order is the order of the operations
  int log = -1;
  std::uint64_t number = 0;                       // of the log
  std::uint64_t end = 0;                          // of the log
  std::uint64_t written = 0;                      // bytes since open, over all logs
  std::uint64_t operations = 0, older_bytes = 0;  // older: of logs before this one that the next open would replay
  bool failed = false;

  std::mutex syncing;
  std::atomic<std::uint64_t> synced{0}, syncs{0};
  Clock::time_point last_sync = Clock::now();

  std::mutex checkpointing;
  std::atomic<std::uint64_t> checkpoints{0}, last_checkpoint{0};
  std::atomic<Clock::rep> checkpoint_time{Clock::now().time_since_epoch().count()};
};

namespace {

// Held until the returned file is closed.
Result<int> lock_folder(const std::string& folder) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return os_error(path, "open");
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    return Error{Errc::io, folder + ": another process has this store open"};
  }
  return file;
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() {
  if (state_ && !state_->failed && state_->options.sync != Sync::each) (void)sync();
}
const SharedFilter& Store::filter() const noexcept { return state_->filter; }
const Recovery& Store::recovery() const noexcept { return state_->recovery; }
const Hasher& Store::hasher() const noexcept { return state_->hasher; }

Result<std::unique_ptr<Store>> Store::create(const std::string& folder, const GrowingCuckoo& filter,
                                             const StoreOptions& options) {
  auto lock = lock_folder(folder);
  if (!lock) return std::move(lock).error();
  auto shared = SharedFilter::share(filter);
  if (!shared) {
    ::close(*lock);
    return std::move(shared).error();
  }
  auto state = std::make_unique<State>(folder, options, std::move(*shared), options.hasher);
  state->lock = *lock;
  auto there = list(folder);
  if (!there) return std::move(there).error();
  if (!there->checkpoints.empty() || !there->logs.empty())
    return Error{Errc::invalid_argument, folder + ": it holds a store already; open it, or name another folder"};
  auto store = std::unique_ptr<Store>(new Store(std::move(state)));
  // The first log and then its checkpoint: without a checkpoint there is no store, and create can be called again.
  if (auto ok = store->checkpoint(); !ok) {
    store->state_->disk.remove(log_path(folder, 1));
    return std::move(ok).error();
  }
  return store;
}

Result<std::unique_ptr<Store>> Store::open(const std::string& folder, const StoreOptions& options) {
  auto lock = lock_folder(folder);
  if (!lock) return std::move(lock).error();
  const auto unlock = [&](Error e) {
    ::close(*lock);
    return e;
  };
  auto there = list(folder);
  if (!there) return unlock(std::move(there).error());
  if (there->checkpoints.empty())
    return unlock(Error{Errc::io, folder + ": there is no checkpoint; create a store there first"});
  const std::uint64_t newest = there->checkpoints.back();
  auto saved = Keyed<GrowingCuckoo>::open(checkpoint_path(folder, newest), file_detail::Bytes::map);
  if (!saved) return unlock(std::move(saved).error());
  auto shared = SharedFilter::share(saved->filter());
  if (!shared) return unlock(std::move(shared).error());
  auto state = std::make_unique<State>(folder, options, std::move(*shared), saved->facts().hasher);
  state->lock = *lock;
  state->recovery.checkpoint = newest;
  state->last_checkpoint = newest;
  Disk& disk = state->disk;

  // Replay.
  std::vector<std::uint64_t> logs;
  for (std::uint64_t n : there->logs)
    if (n >= newest) logs.push_back(n);
  const auto damaged = [&](std::uint64_t n, std::uint64_t at, const char* what) {
    return Error{Errc::corrupt, log_path(folder, n) + ": " + what + " at offset " + std::to_string(at) +
                                    "; take_state_before_damage opens the store as it was before"};
  };
  for (std::size_t i = 0; i < logs.size() || i == 0; ++i) {
    if (logs.empty() || logs[i] != newest + i) {
      const Error e = damaged(newest + i, 0, "the log is missing");
      if (!options.take_state_before_damage) return e;
      state->recovery.damage = e.message;
      logs.resize(i);
      break;
    }
    const bool last = i + 1 == logs.size();
    auto bytes = files::map(log_path(folder, logs[i]));
    if (!bytes) return std::move(bytes).error();
    const std::span<const std::byte> log = bytes->bytes;
    LogHeader expected;
    expected.number = logs[i];
    std::uint64_t at = sizeof expected;
    Error damage{Errc::corrupt, ""};
    if (log.size() < sizeof expected && last && i > 0) {
      at = 0;  // it was just being begun; nothing was logged in it
    } else if (log.size() < sizeof expected || std::memcmp(log.data(), &expected, sizeof expected) != 0) {
      damage = damaged(logs[i], 0, "the header is damaged");
    } else {
      for (; at < log.size(); at += kRecord) {
        const auto operation = record_at(log, logs[i], at);
        if (!operation) break;
        operation->kind == Operation::Kind::insert ? state->filter.insert(operation->digest)
                                                   : state->filter.erase(operation->digest);
        ++state->recovery.replayed;
      }
      if (at < log.size()) {
        bool torn = last;
        for (std::uint64_t after = at + 1; torn && after + kRecord <= log.size(); ++after)
          torn = !record_at(log, logs[i], after);
        if (!torn) damage = damaged(logs[i], at, "a record is damaged");
      }
    }
    if (!damage.message.empty() && !options.take_state_before_damage) return damage;
    state->recovery.damage = damage.message;
    state->recovery.cut_bytes += log.size() - std::min<std::uint64_t>(at, log.size());
    const bool stop = !damage.message.empty();
    if (stop || last) {
      if (stop)
        for (std::size_t k = i + 1; k < logs.size(); ++k) disk.remove(log_path(folder, logs[k]));
      logs.resize(i + 1);
      const std::string path = log_path(folder, logs[i]);
      if (at < sizeof expected || (stop && at == sizeof expected && log.size() < sizeof expected)) {
        if (auto ok = state->begin_log(logs[i]); !ok) return std::move(ok).error();
      } else {
        state->log = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (state->log < 0) return os_error(path, "open");
        if (at < log.size() && (disk.truncate(state->log, at) != 0 || disk.sync(state->log) != 0))
          return os_error(path, "cut off the torn tail");
        state->number = logs[i];
        state->end = at;
      }
      break;
    }
    state->older_bytes += log.size();
  }
  if (state->log < 0) {  // the log of the checkpoint was missing
    if (auto ok = state->begin_log(newest); !ok) return std::move(ok).error();
  }
  // What an interrupted checkpoint or an interrupted removal left.
  for (const std::string& path : there->temporaries) disk.remove(path);
  for (std::uint64_t n : there->checkpoints)
    if (n < newest) disk.remove(checkpoint_path(folder, n));
  for (std::uint64_t n : there->logs)
    if (n < newest) disk.remove(log_path(folder, n));
  return std::unique_ptr<Store>(new Store(std::move(state)));
}

Result<bool> Store::one(const Operation& operation) {
  bool done = false;
  if (operation.kind == Operation::Kind::erase && !may_contain(operation.digest)) return false;
  if (auto ok = apply({&operation, 1}, &done); !ok) return std::move(ok).error();
  return done;
}

Result<Ok> Store::apply(std::span<const Operation> operations, bool* done) {
  State& s = *state_;
  std::uint64_t mine = 0;
  bool late = false;
  {
    const std::lock_guard lock(s.writing);
    if (s.failed) return s.failure();
    std::vector<std::byte> bytes;
    bytes.reserve(operations.size() * kRecord);
    for (const Operation& o : operations) append_record(bytes, o, s.number, s.end + bytes.size());
    if (auto ok = s.append(bytes); !ok) return ok;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& o = operations[i];
      const bool changed = o.kind == Operation::Kind::insert ? s.filter.insert(o.digest) : s.filter.erase(o.digest);
      if (done) done[i] = changed;
    }
    s.operations += operations.size();
    mine = s.written;
    late = s.options.sync == Sync::interval && Clock::now() - s.last_sync >= s.options.interval;
  }
  return s.options.sync == Sync::each || late ? s.sync_to(mine) : Ok{};
}

Result<Ok> Store::sync() {
  std::uint64_t mine = 0;
  {
    const std::lock_guard lock(state_->writing);
    mine = state_->written;
  }
  return state_->sync_to(mine);
}

Result<Ok> Store::checkpoint() {
  State& s = *state_;
  const std::lock_guard one_at_a_time(s.checkpointing);
  if (auto ok = sync(); s.log >= 0 && !ok) return ok;
  const std::uint64_t next = s.number + 1;
  const std::string path = checkpoint_path(s.folder, next), temporary = path + ".tmp";
  const int file = s.disk.create(temporary);
  if (file < 0) return os_error(temporary, "create");
  const auto give_up = [&](Error e) {
    s.disk.close(file);
    s.disk.remove(temporary);
    return e;
  };
  Checkpointer writer(s.disk, file, temporary);
  std::uint64_t keys = 0;
  {
    const std::lock_guard lock(s.writing);
    if (s.failed) return give_up(s.failure());
    // A log that has a successor must be whole on disk.
    if (s.log >= 0 && s.disk.sync(s.log) != 0) {
      s.failed = true;
      return give_up(os_error(s.folder, "sync the log"));
    }
    s.synced = s.written;
    const std::uint64_t before = s.log >= 0 ? s.end : 0;
    if (auto ok = s.begin_log(next); !ok) return give_up(std::move(ok).error());
    s.older_bytes += before;
    s.filter.exclusively([&](SharedFilter::Filter& f) {
      keys = f.keys();
      writer.begin(f);
    });
  }
  for (std::size_t i = 0; i < writer.pieces(); ++i)
    s.filter.exclusively([&](SharedFilter::Filter&) { writer.write_piece(i); });
  s.filter.exclusively([&](SharedFilter::Filter& f) { Checkpointer::end(f); });
  if (auto ok = writer.written(); !ok) return give_up(std::move(ok).error());
  if (s.disk.truncate(file, writer.size()) != 0) return give_up(os_error(temporary, "resize"));
  {
    auto mapping = files::map(temporary);
    if (!mapping) return give_up(std::move(mapping).error());
    const auto header = file_detail::header_of(file_detail::type_of<GrowingCuckoo>(),
                                               {.hasher = s.hasher, .keys = keys}, mapping->bytes);
    if (s.disk.write_at(file, header.data(), header.size(), 0) != static_cast<std::int64_t>(header.size()))
      return give_up(os_error(temporary, "write"));
  }
  if (s.disk.sync(file) != 0) return give_up(os_error(temporary, "sync"));
  if (s.disk.rename(temporary, path) != 0) return give_up(os_error(path, "rename into place"));
  s.disk.close(file);
  if (s.disk.sync_folder(s.folder) != 0) return os_error(s.folder, "sync the folder");
  // From here on the older files are not needed. What cannot be removed now is removed by the next open.
  const std::uint64_t old = s.last_checkpoint.exchange(next);
  if (old != 0) s.disk.remove(checkpoint_path(s.folder, old));
  for (std::uint64_t n = std::max<std::uint64_t>(old, 1); n < next; ++n) s.disk.remove(log_path(s.folder, n));
  {
    const std::lock_guard lock(s.writing);
    s.older_bytes = 0;
  }
  ++s.checkpoints;
  s.checkpoint_time = Clock::now().time_since_epoch().count();
  return Ok{};
}

StoreMetrics Store::metrics() const {
  const State& s = *state_;
  StoreMetrics m;
  {
    const std::lock_guard lock(s.writing);
    m.operations = s.operations;
    m.log_bytes = s.older_bytes + s.end;
    m.failed = s.failed;
  }
  m.syncs = s.syncs;
  m.checkpoints = s.checkpoints;
  m.checkpoint = s.last_checkpoint;
  m.seconds_since_checkpoint =
      std::chrono::duration<double>(Clock::now().time_since_epoch() - Clock::duration(s.checkpoint_time.load()))
          .count();
  return m;
}

}  // namespace naysay
