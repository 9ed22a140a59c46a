// SPDX-License-Identifier: Apache-2.0
// FileImage: the bytes of a filter's file, put together from the filter's own memory as they are asked for.
//
//   const FileImage image = filter.image();
//   image.size();                                  known before a byte is written
//   image.write(sink);                             in order, in pieces, as AnyFilter::save does
//   image.copy(offset, room);                      any part, such as the next chunk of a dump
//
// Promises   the same bytes as AnyFilter::to_bytes().
// Does not   keep the filter alive, or notice that it changed: the image is then worthless.
// Cost       to make it: one pass over the filter, for the checksum in its header. Memory: some bytes for each array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/byte_stream.hpp"
#include "naysay/core/export.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

struct FilterFacts;  // keyed.hpp
struct FilterType;   // any_filter.hpp

namespace file_detail {
inline constexpr std::size_t kHeaderBytes = 80;
}

class NAYSAY_EXPORT FileImage {
 public:
  // later: the header has no checksum until seal(). For a file that many processes write, each a range of it.
  enum class Seal { now, later };

  // Requires a plan that begins after the header.
  FileImage(const FilterType& type, const FilterFacts& facts, FieldPlan plan, Seal seal = Seal::now);

  std::uint64_t size() const noexcept { return plan_.end(); }
  // Requires at + out.size() <= size().
  void copy(std::uint64_t at, std::span<std::byte> out) const noexcept;
  // All bytes, in order, in pieces of at most `most` bytes. Requires most > 0. The sink's error is returned.
  Result<Ok> write(const ByteSink& to, std::size_t most = kPieceBytes) const;
  Result<Ok> save(const std::string& path) const;  // whole, by rename, or not at all
  std::vector<std::byte> to_bytes() const;

  // The seed of the checksum of all bytes after the header, and where the pieces of these lie, in their order.
  std::uint64_t checksum_seed() const noexcept;
  const FieldPlan& plan() const noexcept { return plan_; }
  void seal(std::uint64_t checksum) noexcept;

 private:
  std::array<std::byte, file_detail::kHeaderBytes> header_;
  FieldPlan plan_;
};

}  // namespace naysay
