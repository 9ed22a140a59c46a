// SPDX-License-Identifier: Apache-2.0
#include "naysay/live/store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "checkpointer.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/core/files.hpp"
#include "store_log.hpp"

namespace naysay {

using namespace store_detail;
using Clock = std::chrono::steady_clock;

struct Store::State {
  State(std::string where, const StoreOptions& o, SharedFilter f, std::optional<GuardedGrowing::Params> p, Hasher h)
      : folder(std::move(where)),
        options(o),
        disk(o.disk ? *o.disk : Disk::system()),
        filter(std::move(f)),
        params(std::move(p)),
        hasher(h) {}
  ~State() {
    disk.close(log);
    if (lock >= 0) ::close(lock);
  }

  Error failure() const {
    return {Errc::io, folder + ": the store takes no more operations since a write or sync failed; open it again"};
  }

  // What its return value is for the caller.
  bool apply(const Operation& o) noexcept {
    switch (o.kind) {
      case Operation::Kind::insert:
        return filter.insert(o.digest);
      case Operation::Kind::erase:
        return filter.erase(o.digest);
      case Operation::Kind::adapt:
        return filter.adapt(o.digest, o.cost);
      case Operation::Kind::pin: {
        bool pinned = false;
        const auto tried = no_memory_is_an_error("pin", [&]() -> Result<Ok> {
          pinned = filter.pin(o.digest);
          return Ok{};
        });
        return tried && pinned;
      }
      case Operation::Kind::unpin:
        return filter.unpin(o.digest);
    }
    return false;
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
  std::optional<GuardedGrowing::Params> params;  // none: it has no guard
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

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() {
  if (state_ && !state_->failed && state_->options.sync != Sync::each) (void)sync();
}
const SharedFilter& Store::filter() const noexcept { return state_->filter; }
const Recovery& Store::recovery() const noexcept { return state_->recovery; }
const Hasher& Store::hasher() const noexcept { return state_->hasher; }

Result<std::unique_ptr<Store>> Store::create(const std::string& folder, const GrowingCuckoo& filter,
                                             const StoreOptions& options) {
  return create_from(folder, SharedFilter::share(filter), nullptr, options);
}
Result<std::unique_ptr<Store>> Store::create(const std::string& folder, const GuardedGrowing& filter,
                                             const GuardedGrowing::Params& params, const StoreOptions& options) {
  return create_from(folder, SharedFilter::share(filter), &params, options);
}

Result<std::unique_ptr<Store>> Store::create_from(const std::string& folder, Result<SharedFilter> shared,
                                                  const GuardedGrowing::Params* params, const StoreOptions& options) {
  if (!shared) return std::move(shared).error();
  NAYSAY_TRY(const int lock, lock_folder(folder));
  auto state = std::make_unique<State>(folder, options, std::move(*shared),
                                       params ? std::optional(*params) : std::nullopt, options.hasher);
  state->lock = lock;
  NAYSAY_TRY(const Listing there, list(folder));
  if (!there.checkpoints.empty() || !there.logs.empty())
    return Error{Errc::invalid_argument, folder + ": it holds a store already; open it, or name another folder"};
  auto store = std::unique_ptr<Store>(new Store(std::move(state)));
  // The first log and then its checkpoint: without a checkpoint there is no store, and create can be called again.
  if (auto ok = store->checkpoint(); !ok) {
    store->state_->disk.remove(log_path(folder, 1));
    return std::move(ok).error();
  }
  return store;
}

namespace {

// A checkpoint, as it is in memory.
struct Loaded {
  SharedFilter filter;
  std::optional<GuardedGrowing::Params> params;
  Hasher hasher;
};
Result<Loaded> load_checkpoint(const std::string& path) {
  NAYSAY_TRY(const AnyFilter any, naysay::open(path));
  if (const GrowingCuckoo* table = any.as<GrowingCuckoo>()) {
    NAYSAY_TRY(SharedFilter shared, SharedFilter::share(*table));
    return Loaded{std::move(shared), {}, any.hasher()};
  }
  const GuardedGrowing* guarded = any.as<GuardedGrowing>();
  if (!guarded)
    return Error{Errc::unsupported, path + ": it holds a " + std::string(any.type().name) +
                                        " filter; a store holds a growing-cuckoo or a guarded-growing"};
  GuardedGrowing::Params params;
  NAYSAY_CHECK(params_from_text(path, any.params(), params));
  NAYSAY_TRY(SharedFilter shared, SharedFilter::share(*guarded));
  return Loaded{std::move(shared), params, any.hasher()};
}

}  // namespace

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
  auto loaded = load_checkpoint(checkpoint_path(folder, newest));
  if (!loaded) return unlock(std::move(loaded).error());
  auto state =
      std::make_unique<State>(folder, options, std::move(loaded->filter), std::move(loaded->params), loaded->hasher);
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
      while (at < log.size()) {
        const auto record = record_at(log, logs[i], at);
        if (!record) break;
        state->apply(record->operation);
        at += record->size;
        ++state->recovery.replayed;
      }
      if (at < log.size()) {
        bool torn = last;
        for (std::uint64_t after = at + 1; torn && after + kLeastRecord <= log.size(); ++after)
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
  if (operation.kind == Operation::Kind::adapt && std::isfinite(operation.cost) && operation.cost >= 0 &&
      !may_contain(operation.digest))
    return true;  // it is refused already
  if (auto ok = apply({&operation, 1}, &done); !ok) return std::move(ok).error();
  return done;
}

Result<Ok> Store::apply(std::span<const Operation> operations, bool* done) {
  State& s = *state_;
  for (const Operation& o : operations)
    if (o.kind == Operation::Kind::adapt && !(o.cost >= 0 && std::isfinite(o.cost)))
      return Error{Errc::invalid_argument,
                   "adapt: the cost is " + to_text(o.cost) + "; it must be finite and 0 or more"};
  std::uint64_t mine = 0;
  bool late = false;
  {
    const std::lock_guard lock(s.writing);
    if (s.failed) return s.failure();
    std::vector<std::byte> bytes;
    bytes.reserve(operations.size() * kLeastRecord);
    for (const Operation& o : operations) append_record(bytes, o, s.number, s.end + bytes.size());
    if (auto ok = s.append(bytes); !ok) return ok;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const bool changed = s.apply(operations[i]);
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
      keys = f.base().keys();
      writer.begin(f, s.params ? &*s.params : nullptr);
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
    const FilterType& type = s.params ? file_detail::type_of<GuardedGrowing>() : file_detail::type_of<GrowingCuckoo>();
    const auto header = file_detail::header_of(type, {.hasher = s.hasher, .keys = keys}, mapping->bytes);
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
