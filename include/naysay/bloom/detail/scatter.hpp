// SPDX-License-Identifier: Apache-2.0
// Scatter: collects many small writes to a large array and does them in an order in which caches help.
//
//   positions   907 13 455 20 901 ...           far apart: a cache miss each
//                |  |   |
//   parts      |13 20 ...|455 ...|907 901 ...|  collected by part of the array, up to kDepth for each
//                   |
//   array      |=========|=======|===========|  a full part is written while it is in a second-level cache
//
// Promises   apply(position) is called once for every position given, before finish() returns, parts in any order. For
//            writes that commute (setting bits, counting) the array is the same as without.
// Cost       4 * kDepth bytes for each part of kPartBytes: half of the array.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "naysay/core/bits.hpp"

namespace naysay::bloom {

template <class Apply>
class Scatter {
 public:
  // Positions are in [0, positions), each for `bits` bits of the array.
  Scatter(std::uint64_t positions, unsigned bits, Apply apply)
      : apply_(std::move(apply)),
        pays_(positions / 8 * bits >= kFromBytes),
        log_part_(static_cast<unsigned>(std::bit_width(8 * kPartBytes / bits)) - 1),
        fill_(pays_ ? (positions >> log_part_) + 1 : 0, 0),
        kept_(std::make_unique_for_overwrite<std::uint32_t[]>(fill_.size() * kDepth)) {}

  // False if the array is too small for this to pay; then the caller writes directly, and gives no position.
  bool pays() const noexcept { return pays_; }

  void operator()(std::uint64_t position) {
    const std::uint64_t part = position >> log_part_;
    kept_[part * kDepth + fill_[part]] = static_cast<std::uint32_t>(position & low_mask(log_part_));
    if (++fill_[part] == kDepth) write(part);
  }
  void finish() {
    for (std::uint64_t part = 0; part < fill_.size(); ++part) write(part);
  }

 private:
  // The fastest of parts of 2^17 to 2^20 bytes and depths of 2^12 to 2^15, on a Bloom filter of 1e7 keys. Half of this
  // depth gains much less.
  static constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 18, kDepth = std::uint64_t{1} << 15;
  static constexpr std::uint64_t kFromBytes = std::uint64_t{1} << 22;

  void write(std::uint64_t part) {
    const std::uint64_t first = part << log_part_;
    const std::uint32_t* kept = kept_.get() + part * kDepth;
    for (std::uint32_t i = 0; i < fill_[part]; ++i) apply_(first + kept[i]);
    fill_[part] = 0;
  }

  Apply apply_;
  bool pays_;
  unsigned log_part_;
  std::vector<std::uint32_t> fill_;
  std::unique_ptr<std::uint32_t[]> kept_;
};

}  // namespace naysay::bloom
