// SPDX-License-Identifier: Apache-2.0
// StoredFilter: what a key of this module's type holds.
//
//   filter     the filter itself; keys, rates and parameters are all in its own bytes (a .nsy file, docs/format.md)
//   mapped     a filter that NS.LOAD maps from a file: the server saves its path and checksum, not its bytes
//   incoming   the chunks of NS.LOADCHUNK so far; `filter` answers until the last one has come
//
// A mapped file that is missing or was changed leaves a key without a filter. Such a key answers "maybe" to every query,
// so that no item is denied, and INFO says why.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "naysay/any_filter.hpp"

namespace naysay::redis {

inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // of RDB, AOF, replication and NS.SCANDUMP

// What NS.RESERVE and NS.INSERT ask for.
struct Shape {
  double error_rate = 0.01;
  std::uint64_t capacity = 1000;
  std::string filter;            // empty: the default, or a filter of fixed capacity if it must not scale
  double expansion = 16;         // how many times the capacity the first table reaches at the error rate
  bool expansion_given = false;  // else it is only a default
  bool nonscaling = false, pinned = false;
};

struct StoredFilter {
  std::optional<AnyFilter> filter;
  std::string path;                                    // of a mapped file; empty: not mapped
  std::uint64_t checksum = 0;                          // of that file
  std::string trouble;                                 // why a mapped file cannot be read
  std::string incoming;                                // the bytes of NS.LOADCHUNK so far
  std::shared_ptr<const std::vector<std::byte>> dump;  // what NS.SCANDUMP reads, from its first chunk to its last

  // Since the key was created or loaded. They are not saved: reading must not make a replica differ.
  std::uint64_t queries = 0, maybes = 0, reports = 0;
  double reported_cost = 0;

  StoredFilter() noexcept { ++count; }
  StoredFilter(const StoredFilter&) = delete;
  StoredFilter& operator=(const StoredFilter&) = delete;
  ~StoredFilter() { --count; }

  bool mapped() const noexcept { return !path.empty(); }
  std::size_t bytes() const noexcept;
  Result<std::unique_ptr<StoredFilter>> copy() const;

  inline static std::atomic<std::uint64_t> count{0};  // a key may be freed in another thread
};

// An empty filter of this shape.
Result<AnyFilter> make_filter(const Shape& shape);
// The most bytes that it will have.
Result<std::uint64_t> bytes_of(const Shape& shape);

// ---- bytes ----------------------------------------------------------------------------------------------------------

// The filter, if it was built from text: items are text.
Result<AnyFilter> of_text(Result<AnyFilter> filter);

// The path without links and dots.
Result<std::string> real_path(const std::string& path);
// Maps the file, which must be below naysay.load-directory. If `checksum` is not 0, the file must have it. An error leaves
// a key that knows its path and why there is no filter.
Result<Ok> map_into(StoredFilter& stored, const std::string& path, std::uint64_t checksum);

// What NS.LOADCHUNK does: `end` is the offset after these bytes. True when the filter is complete. An error leaves
// everything as it was. `most` bytes may be had in all, 0: any number.
Result<bool> take_chunk(StoredFilter& stored, std::uint64_t end, std::string_view bytes, std::uint64_t most);

}  // namespace naysay::redis
