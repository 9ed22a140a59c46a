// SPDX-License-Identifier: Apache-2.0
// Store: a SharedFilter that survives a crash. It is a folder with a checkpoint and a log of the operations since.
//
//   folder/checkpoint.7.nsy   the filter as it was when log 7 began: an ordinary filter file
//   folder/log.7              operations, one record each, in the order in which they were applied
//   folder/log.8              there while checkpoint 8 is being written, and if that failed
//   folder/lock               held by the process that has the store open
//
// A store of a guarded filter also takes reports of false positives, adapt(d, cost), and pins, and keeps them as safely
// as keys.
//
//   insert(d) --> append to the log --> apply to the filter --> sync, as Sync says --> return
//
//   log file:  24 bytes of header ("naysaylg", version 1 as u32, 0 as u32, the log's number as u64), then records
//   record:    u32 length of the payload | u32 checksum | payload: u8 operation, u64 digest.lo, u64 digest.hi, and of a
//              report its cost, f32. Operations: 1 insert, 2 erase, 3 adapt, 4 pin, 5 unpin
//   checksum:  the low half of XXH3-64 of the payload, with a seed made of the log's number, the record's offset and its
//              length. So a record is valid in one place only.
//
// open() loads the newest checkpoint and replays the logs from its number on. A record that is cut off at the end of the
// last log was never acknowledged: it is cut away. A bad record with a valid one anywhere after it, or in a log that is
// not the last, is damage: open() fails with Errc::corrupt and names the file and the offset. With
// take_state_before_damage it takes the state before that record and drops what follows.
//
// checkpoint() begins a new log, notes where every word of the filter will stand in the new file, and writes block after
// block. A writer that is about to change a block which is not written yet writes it first: one block of at most 0.2 MB.
// So the file has the filter as it was at the beginning, readers are not disturbed, writers wait for one block at most,
// and no second copy is in memory, but of the guard. Then the file is synced, renamed, the folder synced, and the old files are removed.
//
// Promises   an operation that returned is there after the process was killed, at any moment. With Sync::each it is
//            there after a power failure too; with the others, those before the last sync() are. An operation that
//            returned an error may be there or not after the next open(), but never in part.
//            After a failed sync the store takes no more operations, because nobody knows what the disk has.
// Cost       an operation: one write call, 25 bytes, 29 for a report. Sync::each: one fdatasync for all operations that wait at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "naysay/core/export.hpp"
#include "naysay/live/disk.hpp"
#include "naysay/live/shared_filter.hpp"

namespace naysay {

enum class Sync : std::uint8_t {
  each,      // before an operation returns
  batch,     // when sync() is called
  interval,  // by an operation, if the last sync was StoreOptions::interval ago or longer, and when sync() is called
};

struct StoreOptions {
  Sync sync = Sync::each;
  std::chrono::milliseconds interval{100};
  bool take_state_before_damage = false;
  Hasher hasher = {};    // recorded when the store is created
  Disk* disk = nullptr;  // null: the system's
};

struct Operation {
  enum class Kind : std::uint8_t { insert = 1, erase = 2, adapt = 3, pin = 4, unpin = 5 };
  Kind kind = Kind::insert;
  Digest digest = {};
  float cost = 0;  // of adapt: finite, 0 or more
};

// What open() found.
struct Recovery {
  std::uint64_t checkpoint = 0;  // its number
  std::uint64_t replayed = 0;    // operations
  std::uint64_t cut_bytes = 0;   // of a torn tail, or after damage
  std::string damage = {};       // what was wrong, if the state before it was taken
};

struct StoreMetrics {
  std::uint64_t operations = 0;  // logged since open
  std::uint64_t log_bytes = 0;   // that the next open would replay
  std::uint64_t syncs = 0;
  std::uint64_t checkpoints = 0;        // since open
  std::uint64_t checkpoint = 0;         // the number of the last one
  double seconds_since_checkpoint = 0;  // or since open
  bool failed = false;
};

class NAYSAY_EXPORT Store {
 public:
  // Requires that the folder exists and holds no store.
  static Result<std::unique_ptr<Store>> create(const std::string& folder, const GrowingCuckoo& filter,
                                               const StoreOptions& options = {});
  // With a guard; `params` are those it was built with.
  static Result<std::unique_ptr<Store>> create(const std::string& folder, const GuardedGrowing& filter,
                                               const GuardedGrowing::Params& params, const StoreOptions& options = {});
  static Result<std::unique_ptr<Store>> open(const std::string& folder, const StoreOptions& options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  bool may_contain(Digest d) const noexcept { return filter().may_contain(d); }

  // False: the filter has no room (insert), or denies the key (erase).
  Result<bool> insert(Digest d) { return one({Operation::Kind::insert, d, 0}); }
  Result<bool> erase(Digest d) { return one({Operation::Kind::erase, d, 0}); }
  // True: d is refused from now on. False: the guard has no room for it, or there is none. Requires that d is not a key.
  Result<bool> adapt(Digest d, float cost = 1) { return one({Operation::Kind::adapt, d, cost}); }
  // As SharedFilter's. False: the guard has no room for it, or there is none; d is not pinned.
  Result<bool> pin(Digest d) { return one({Operation::Kind::pin, d, 0}); }
  Result<bool> unpin(Digest d) { return one({Operation::Kind::unpin, d, 0}); }
  // All of them in one write and one sync; done[i], if given, is what insert or erase would have returned. An error means
  // that none was applied, or, if the sync failed, that nobody knows.
  Result<Ok> apply(std::span<const Operation> operations, bool* done = nullptr);

  Result<Ok> sync();
  Result<Ok> checkpoint();

  const SharedFilter& filter() const noexcept;
  const Recovery& recovery() const noexcept;
  const Hasher& hasher() const noexcept;
  StoreMetrics metrics() const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  Result<bool> one(const Operation& operation);
  static Result<std::unique_ptr<Store>> create_from(const std::string& folder, Result<SharedFilter> shared,
                                                    const GuardedGrowing::Params* params, const StoreOptions& options);

  std::unique_ptr<State> state_;
};

}  // namespace naysay
