// SPDX-License-Identifier: Apache-2.0
// ByteSink and ByteSource: bytes that leave or come in pieces, through a function of the host.
//
//   filter.save([&](std::span<const std::byte> piece) { return host.write(piece); });       // Result<Ok>
//   AnyFilter::load([&](std::span<std::byte> room) { return host.read(room); });             // Result<std::size_t>
//
// So a filter goes through a socket, a database's dump or a compressor without a second copy of it in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

// Takes the next bytes, all of them. An error ends the call that gave them, and is what that call returns.
using ByteSink = std::function<Result<Ok>(std::span<const std::byte> piece)>;

// Writes the next bytes to the front of `room` and returns how many there are: at least 1, or 0 if no more will come.
using ByteSource = std::function<Result<std::size_t>(std::span<std::byte> room)>;

inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // of a file that is given in pieces, at most

// What a source gave, in order, and its checksum.
class ByteStream {
 public:
  explicit ByteStream(const ByteSource& from) : from_(from) {}

  // Fills all of `out`. False if the source ends or fails before that; then nothing more is read.
  bool read(std::span<std::byte> out) {
    while (!out.empty() && !ended_) {
      auto given = from_(out.first(std::min(out.size(), kPieceBytes)));
      if (!given) failure_ = std::move(given).error();
      ended_ = failure_.has_value() || *given == 0 || *given > out.size();
      if (ended_) break;
      sum_.add(out.first(*given));
      out = out.subspan(*given);
    }
    return out.empty();
  }
  // Reads and forgets `size` bytes.
  bool skip(std::uint64_t size) {
    std::byte scrap[4096];
    for (; size > 0; size -= std::min<std::uint64_t>(size, sizeof scrap))
      if (!read(std::span(scrap).first(std::min<std::uint64_t>(size, sizeof scrap)))) return false;
    return true;
  }
  // Begins a new checksum with what comes next.
  void begin_checksum(std::uint64_t seed) { sum_ = Checksum(seed); }
  std::uint64_t checksum() const noexcept { return sum_.value(); }

  bool ended() const noexcept { return ended_; }
  // What the source returned, if it failed.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  const ByteSource& from_;
  Checksum sum_{0};
  std::optional<Error> failure_;
  bool ended_ = false;
};

}  // namespace naysay
