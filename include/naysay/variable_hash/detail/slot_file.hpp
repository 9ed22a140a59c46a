// SlotFile: the keys of a variable hash filter, slot by slot, in a file beside it, and a log of what it has absorbed.
//
//   +--------+--------------------+----------------------------------+---------------------------------
//   | header | start of each slot | check x x x | check x x | ...    | record | record | record | ...
//   +--------+--------------------+----------------------------------+---------------------------------
//    written once, appears whole by rename, mapped read-only           appended to, a record at a time
//
//   x        d.lo + seed of a key: all that a slot's functions look at
//   check    XXH3-64 of the slot's number and keys, compared whenever the slot is read
//   record   {slot, function, its new number, x of the negative, the slot's record before, check}
//
// The filter's own file never has to change: the filter is what its file says, with the log played over it, and a
// record is written before the filter in memory changes. A kill at any moment leaves a whole number of records and
// perhaps a torn one, which the next open() cuts off. Every record ever written names a function that all keys of its
// slot pass, and functions only move to higher places, so any prefix of the log over any later copy of the filter is a
// state that the filter really had, or a mixture of two that denies no key either.
//
// Promises   open() refuses a file that belongs to another filter, or that somebody else has open; keys_of() refuses a
//            slot that was damaged.
// Does not   survive a power failure with the last records unless sync() was called: then they are forgotten, no more.
// Cost       8 bytes a key and 16 a slot on disk, 48 a record; 4 bytes a slot of memory.
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
    std::uint64_t number = 0;  // 0: nothing was changed, but the negative is to stay refused
    std::uint64_t x = 0;
  };

  // Writes the file of a filter that was built from these keys.
  static Result<Ok> create(const std::string& path, const VariableHash& filter, std::span<const Digest> keys);

  // Opens it for a filter loaded from its file, or from any later copy of it.
  static Result<SlotFile> open(const std::string& path, const VariableHash& filter);

  SlotFile(SlotFile&&) noexcept = default;
  SlotFile& operator=(SlotFile&&) noexcept = default;

  // The keys of a slot. False if their check does not match.
  bool keys_of(std::uint64_t slot, std::span<const std::uint64_t>& xs) const noexcept;

  // The slot's records, newest first, into `out`; how many there are may be more than it holds.
  std::uint64_t records_of(std::uint64_t slot, std::span<Record> out) const noexcept;

  // False if the file cannot be written; then it is as before.
  bool append(const Record& r) noexcept;

  // Calls body(record) for all records, oldest first.
  template <class Body>
  void replay(Body&& body) const {
    Record r;
    for (std::uint64_t i = 0; i < records_; ++i)
      if (read(i, r)) body(r);
  }

  Result<Ok> sync() const;  // returns when the records are on the disk
  std::uint64_t records() const noexcept { return records_; }
  std::uint64_t size_bytes() const noexcept { return log_start_ + records_ * kRecordBytes; }

 private:
  static constexpr std::uint64_t kRecordBytes = 48;

  // Closes the descriptor and the mapping.
  struct Handle;

  SlotFile() = default;
  bool read(std::uint64_t i, Record& r, std::uint64_t* before = nullptr) const noexcept;

  std::shared_ptr<const Handle> handle_;
  std::string path_;
  const std::uint64_t* starts_ = nullptr;  // slots + 1, in words from body_
  const std::uint64_t* body_ = nullptr;
  std::uint64_t slots_ = 0;
  std::uint64_t identity_ = 0;
  std::uint64_t log_start_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::uint32_t> newest_;  // of each slot: number of its newest record plus 1
};

}  // namespace naysay
