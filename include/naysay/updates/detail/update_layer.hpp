// SPDX-License-Identifier: Apache-2.0
// UpdateLayer: one half of an update, the keys it adds or the keys it drops. A filter, or a few sorted digests.
//
//   no bytes                                      nothing is in it
//   'n' 's' ...                                   the bare payload of a filter (any_filter.hpp)
//   'n' 'd' version width u32 count  entries      the first `width` bytes of count digests, ascending, for few keys
//
// A filter has headers of 110 bytes, so under about 60 keys their digests are smaller. An entry is the top `width` bytes
// of Digest::lo, as a little-endian number; the builder takes the smallest width that confuses no key with a known
// negative.
//
// Promises   view() leaves a layer on which no query can touch memory that is not its own.
// Cost       a query of n digests: log2(n) steps of a search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/core/export.hpp"

namespace naysay::updates {

class NAYSAY_EXPORT UpdateLayer {
 public:
  // Borrows the bytes.
  static Result<UpdateLayer> view(std::span<const std::byte> bytes);

  struct Task {
    std::span<const Digest> keys;
    std::span<const Digest> refused;  // no key is among them
    double stranger_fpr = 1;
    std::uint64_t seed = 0;
    unsigned threads = 1;
  };
  // The bytes of the smallest layer that accepts every key, refuses all that it must, and keeps the rate.
  static Result<std::vector<std::byte>> build(const Task& task);

  bool empty() const noexcept { return !filter_ && count_ == 0; }
  bool is_filter() const noexcept { return filter_.has_value(); }
  bool may_contain(Digest d) const noexcept { return filter_ ? filter_->may_contain(d) : count_ != 0 && found(d); }
  void may_contain(std::span<const Digest> d, std::uint8_t* out) const noexcept {
    if (filter_) return filter_->may_contain(d, out);
    for (std::size_t i = 0; i < d.size(); ++i) out[i] = count_ != 0 && found(d[i]);
  }
  double expected_fpr() const noexcept;

 private:
  std::uint64_t entry(std::uint32_t i) const noexcept;
  bool found(Digest d) const noexcept;

  std::optional<AnyFilter> filter_;
  const std::byte* entries_ = nullptr;
  std::uint32_t count_ = 0, width_ = 0;
};

}  // namespace naysay::updates
