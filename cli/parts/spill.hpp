// SPDX-License-Identifier: Apache-2.0
// Spill: known negatives that do not fit into memory, in a temporary file.
//
//   hi >> 56     0         1          ...      255
//             |d d d c c c|  |d d . c c .|          a block of each bucket fills up in memory: digests, then costs
//                  | full
//   file      | bucket 0 | bucket 7 | bucket 0 | ...        in the order in which they are full
//
// The file has no name from the moment it is made, so nothing remains of it, however the tool ends.
//
// Cost       20 bytes of disk a negative; 20 MiB of memory, and 8 bytes for each 4096 negatives.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "naysay/core/negatives.hpp"

namespace naysay::cli {

class Spill {
 public:
  // Its file lies in this folder.
  static Result<Spill> create(const std::string& folder);

  Result<Ok> push(Digest negative, float cost);
  std::uint64_t size() const noexcept { return size_; }
  // Valid while this lives and does not move, and nothing more is pushed.
  NegativeSource source() const;

  Spill(Spill&& other) noexcept;
  Spill& operator=(Spill&&) = delete;
  ~Spill();

 private:
  static constexpr std::size_t kBlock = 4096, kBytes = kBlock * (sizeof(Digest) + sizeof(float));
  struct Block {
    std::array<Digest, kBlock> digests;
    std::array<float, kBlock> costs;
  };
  static_assert(sizeof(Block) == kBytes);
  struct Bucket {
    std::unique_ptr<Block> last = std::make_unique_for_overwrite<Block>();
    std::size_t filled = 0;             // of it
    std::vector<std::uint64_t> blocks;  // in the file, counted from its start
  };

  Spill() : buckets_(256) {}
  Result<Ok> read(std::uint64_t first, std::uint64_t last, const NegativeSource::Take& take) const;

  int fd_ = -1;
  std::string folder_;
  std::uint64_t size_ = 0, blocks_ = 0;
  std::vector<Bucket> buckets_;
  CostCounts costs_;
};

}  // namespace naysay::cli
