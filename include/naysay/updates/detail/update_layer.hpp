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
// Cost       a query of digests: one bit, which denies 31 of 32 strangers; else a search of log2(n) steps.
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

  bool empty() const noexcept { return !filter_ && entries_.empty(); }
  bool is_filter() const noexcept { return filter_.has_value(); }
  bool may_contain(Digest d) const noexcept { return filter_ ? filter_->may_contain(d) : found(d); }
  void may_contain(std::span<const Digest> d, std::uint8_t* out) const noexcept {
    if (filter_) return filter_->may_contain(d, out);
    for (std::size_t i = 0; i < d.size(); ++i) out[i] = found(d[i]);
  }
  double expected_fpr() const noexcept;

 private:
  bool found(Digest d) const noexcept {
    const std::uint64_t bit = d.lo >> hint_shift_;
    return (hints_[bit / 64] >> bit % 64 & 1) != 0 && searched(d);
  }
  bool searched(Digest d) const noexcept;

  std::optional<AnyFilter> filter_;
  std::vector<std::uint64_t> entries_;      // ascending
  std::uint32_t width_ = 0;                 // bytes of each
  std::vector<std::uint64_t> hints_ = {0};  // a bit for each value of the highest bits of lo: is there such an entry?
  std::uint32_t hint_shift_ = 58;
};

}  // namespace naysay::updates
