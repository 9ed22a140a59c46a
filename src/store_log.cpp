// SPDX-License-Identifier: Apache-2.0
#include "store_log.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

namespace naysay::store_detail {

Error os_error(const std::string& path, const char* what) {
  return {Errc::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

namespace {

constexpr std::size_t kFrame = 8, kPayload = 17, kCost = 4;
static_assert(kFrame + kPayload == kLeastRecord);

std::size_t payload_of(std::uint8_t kind) noexcept {
  return kind == static_cast<std::uint8_t>(Operation::Kind::adapt) ? kPayload + kCost : kPayload;
}

std::uint32_t record_checksum(std::span<const std::byte> payload, std::uint64_t log, std::uint64_t at) {
  const std::uint64_t seed = mix64(log + 1) + at * 0x9e3779b97f4a7c15u + payload.size();
  return static_cast<std::uint32_t>(checksum(payload, seed));
}

}  // namespace

void append_record(std::vector<std::byte>& out, const Operation& operation, std::uint64_t log, std::uint64_t at) {
  std::array<std::byte, kLeastRecord + kCost> record;
  const auto length = static_cast<std::uint32_t>(payload_of(static_cast<std::uint8_t>(operation.kind)));
  record[kFrame] = static_cast<std::byte>(operation.kind);
  std::memcpy(record.data() + kFrame + 1, &operation.digest.lo, 8);
  std::memcpy(record.data() + kFrame + 9, &operation.digest.hi, 8);
  std::memcpy(record.data() + kFrame + kPayload, &operation.cost, kCost);
  const std::uint32_t sum = record_checksum(std::span(record).subspan(kFrame, length), log, at);
  std::memcpy(record.data(), &length, 4);
  std::memcpy(record.data() + 4, &sum, 4);
  out.insert(out.end(), record.begin(), record.begin() + kFrame + length);
}

std::optional<Record> record_at(std::span<const std::byte> log, std::uint64_t number, std::uint64_t at) {
  std::uint32_t length = 0, sum = 0;
  if (at + kLeastRecord > log.size()) return {};
  std::memcpy(&length, log.data() + at, 4);
  std::memcpy(&sum, log.data() + at + 4, 4);
  const auto kind = static_cast<std::uint8_t>(log[at + kFrame]);
  if (kind < 1 || kind > 5 || length != payload_of(kind) || at + kFrame + length > log.size()) return {};
  const auto payload = log.subspan(at + kFrame, length);
  if (sum != record_checksum(payload, number, at)) return {};
  Operation operation;
  operation.kind = static_cast<Operation::Kind>(kind);
  std::memcpy(&operation.digest.lo, payload.data() + 1, 8);
  std::memcpy(&operation.digest.hi, payload.data() + 9, 8);
  if (operation.kind == Operation::Kind::adapt) std::memcpy(&operation.cost, payload.data() + kPayload, kCost);
  if (!std::isfinite(operation.cost)) return {};
  return Record{operation, kFrame + length};
}

std::string checkpoint_path(const std::string& folder, std::uint64_t number) {
  return folder + "/checkpoint." + std::to_string(number) + ".nsy";
}
std::string log_path(const std::string& folder, std::uint64_t number) {
  return folder + "/log." + std::to_string(number);
}

namespace {

// "prefix123suffix" gives 123.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return {};
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t n = 0;
  std::string right;
  if (!from_text(name, n, right)) return {};
  return n;
}

}  // namespace

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

}  // namespace naysay::store_detail
