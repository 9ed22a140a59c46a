// SPDX-License-Identifier: Apache-2.0
// The files of a Store: their names, and the records of a log (live/store.hpp says what each byte is).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "naysay/live/store.hpp"

namespace naysay::store_detail {

Error os_error(const std::string& path, const char* what);  // of errno

struct LogHeader {
  std::array<char, 8> magic = {'n', 'a', 'y', 's', 'a', 'y', 'l', 'g'};
  std::uint32_t version = 1;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(LogHeader) == 24);

inline constexpr std::size_t kLeastRecord = 25;  // of all kinds of operations

// Adds the record of an operation, for offset `at` of log number `log`.
void append_record(std::vector<std::byte>& out, const Operation& operation, std::uint64_t log, std::uint64_t at);

struct Record {
  Operation operation;
  std::uint64_t size;  // in bytes
};
// The record at `at`, or nothing if there is no valid one.
std::optional<Record> record_at(std::span<const std::byte> log, std::uint64_t number, std::uint64_t at);

std::string checkpoint_path(const std::string& folder, std::uint64_t number);
std::string log_path(const std::string& folder, std::uint64_t number);

struct Listing {
  std::vector<std::uint64_t> checkpoints, logs;  // ascending
  std::vector<std::string> temporaries;
};
Result<Listing> list(const std::string& folder);

// Held until the returned file is closed.
Result<int> lock_folder(const std::string& folder);

}  // namespace naysay::store_detail
