// SPDX-License-Identifier: Apache-2.0
// SlotFile: a file next to a variable hash filter with its keys, slot by slot, and a log of what it has absorbed.
//
//   +--------+--------------------+----------------------------------+---------------------------------
//   | header | start of each slot | check x x x | check x x | ...    | record | record | record | ...
//   +--------+--------------------+----------------------------------+---------------------------------
//    written once, appears whole by rename, mapped read-only           appended to, a record at a time
//
//   x        d.lo + seed of a key: all that a slot's functions read
//   check    XXH3-64 of the slot's number and keys, compared whenever the slot is read
//   record   {slot, function, its new number, x of the negative, the slot's record before, check}
//
// The filter's own file never has to change: the current filter is that file with the log applied to it. A record is
// written before the filter in memory changes. If the process is killed, the log has a whole number of records and
// perhaps a torn one, which the next open() cuts off. Every record holds a function that all keys of its slot pass, and
// functions only move to higher places. So any prefix of the log, applied to any later copy of the filter, gives a
// state that the filter really had, or a mixture of two such states; neither denies a key.
//
// Promises   open() fails if the file belongs to another filter or is open elsewhere, or if a record is damaged and a later
//            one is not; keys_of() fails if the slot is damaged.
// Does not   keep the last records through a power failure unless sync() was called; they are then forgotten. If a later
//            one reached the disk before an earlier one, open() says how many bytes to keep.
// Cost       8 bytes per key, 16 per slot and 48 per record on disk; 4 bytes per slot in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/variable_hash/variable_hash.hpp"

namespace naysay {

class NAYSAY_EXPORT SlotFile {
 public:
  struct Record {
    std::uint64_t slot = 0;
    std::uint64_t function = 0;
    std::uint64_t number = 0;  // 0: no function changed, but the negative must stay refused
    std::uint64_t x = 0;
  };

  // Writes the file of a filter that was built from these keys.
  static Result<Ok> create(const std::string& path, const VariableHash& filter, std::span<const Digest> keys);

  // Opens it for the filter it was created with, or for any later copy of that.
  static Result<SlotFile> open(const std::string& path, const VariableHash& filter);

  SlotFile(SlotFile&&) noexcept = default;
  SlotFile& operator=(SlotFile&&) noexcept = default;

  // The keys of a slot. False if their check does not match.
  bool keys_of(std::uint64_t slot, std::span<const std::uint64_t>& xs) const noexcept;

  // Copies the slot's records, newest first, to `out`. Returns how many there are, which may be more than fit.
  std::uint64_t records_of(std::uint64_t slot, std::span<Record> out) const noexcept;

  // False if the file cannot be written, or in a child of the process that opened it; then it is unchanged.
  bool append(const Record& r) noexcept;

  // Calls body(record) for all records, oldest first.
  template <class Body>
  void replay(Body&& body) const {
    Record r;
    for (std::uint64_t i = 0; i < records_; ++i)
      if (read(i, r)) body(r);
  }

  Result<Ok> sync() const;  // returns when the records are on the disk
  std::uint64_t keys() const noexcept { return keys_; }
  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t size_bytes() const noexcept { return log_start_ + records_ * kRecordBytes; }

 private:
  static constexpr std::uint64_t kRecordBytes = 48;

  // Closes the descriptor and the mapping.
  struct Handle;

  SlotFile() = default;
  static Result<Ok> write(const std::string& path, const VariableHash& filter, std::span<const Digest> keys);
  static Result<SlotFile> read(const std::string& path, const VariableHash& filter);
  bool read(std::uint64_t i, Record& r, std::uint64_t* before = nullptr) const noexcept;

  std::shared_ptr<const Handle> handle_;
  std::string path_;
  const std::uint64_t* starts_ = nullptr;  // slots + 1, in words from body_
  const std::uint64_t* body_ = nullptr;
  std::uint64_t slots_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t identity_ = 0;
  std::uint64_t log_start_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::uint32_t> newest_;  // by slot: the number of its newest record plus 1
};

}  // namespace naysay
