// SPDX-License-Identifier: Apache-2.0
#include "parts/spill.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace naysay::cli {

Result<Spill> Spill::create(const std::string& folder) {
  Spill spill;
  spill.folder_ = folder;
  std::string path = folder + "/naysay-XXXXXX";
  spill.fd_ = ::mkstemp(path.data());
  if (spill.fd_ < 0 || ::unlink(path.c_str()) != 0)
    return Error{Errc::io, fmt::format("{}: cannot make a temporary file for known negatives: {}; give another folder "
                                       "with --temp",
                                       folder, std::strerror(errno))};
  return spill;
}

Spill::Spill(Spill&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      folder_(std::move(other.folder_)),
      size_(other.size_),
      blocks_(other.blocks_),
      buckets_(std::move(other.buckets_)),
      costs_(std::move(other.costs_)) {}

Spill::~Spill() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Ok> Spill::push(Digest negative, float cost) {
  Bucket& bucket = buckets_[negative.hi >> 56];
  bucket.last->digests[bucket.filled] = negative;
  bucket.last->costs[bucket.filled] = cost;
  costs_.add(cost);
  ++size_;
  if (++bucket.filled < kBlock) return Ok{};
  const auto* bytes = reinterpret_cast<const char*>(bucket.last.get());
  for (std::size_t done = 0; done < kBytes;) {
    const auto at = static_cast<off_t>(blocks_ * kBytes + done);
    const ssize_t n = ::pwrite(fd_, bytes + done, kBytes - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{Errc::io, fmt::format("{}: cannot write known negative {} to a temporary file: {}; each needs {} "
                                         "bytes there, and --temp gives another folder",
                                         folder_, size_, std::strerror(n < 0 ? errno : ENOSPC), kBytes / kBlock)};
    done += static_cast<std::size_t>(n);
  }
  bucket.blocks.push_back(blocks_++);
  bucket.filled = 0;
  return Ok{};
}

Result<Ok> Spill::read(std::uint64_t first, std::uint64_t last, const NegativeSource::Take& take) const {
  const auto block = std::make_unique_for_overwrite<Block>();
  for (std::uint64_t b = first >> 56; b <= last >> 56; ++b) {
    for (const std::uint64_t index : buckets_[b].blocks) {
      for (std::size_t done = 0; done < kBytes;) {
        const auto at = static_cast<off_t>(index * kBytes + done);
        const ssize_t n = ::pread(fd_, reinterpret_cast<char*>(block.get()) + done, kBytes - done, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
          return Error{Errc::io, fmt::format("{}: cannot read known negatives from the temporary file: {}", folder_,
                                             std::strerror(n < 0 ? errno : EIO))};
        done += static_cast<std::size_t>(n);
      }
      take(block->digests, block->costs);
    }
    const Bucket& bucket = buckets_[b];
    take(std::span(bucket.last->digests).first(bucket.filled), std::span(bucket.last->costs).first(bucket.filled));
  }
  return Ok{};
}

NegativeSource Spill::source() const {
  NegativeSource source;
  source.costs = costs_;
  source.read = [this](std::uint64_t first, std::uint64_t last, const NegativeSource::Take& take) {
    return read(first, last, take);
  };
  return source;
}

}  // namespace naysay::cli
