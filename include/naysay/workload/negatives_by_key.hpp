// SPDX-License-Identifier: Apache-2.0
// NegativesByKey: known negatives in the order of their keys, for hosts that build a filter for each range of keys.
//
// A storage engine cuts its sorted keys into tables and blocks, and builds a filter for each. Of all known negatives
// only those that fall into a block's range of keys can ever be queried there; the others would use up the filter's
// spare slots for nothing. Digests and costs lie side by side in the order of the keys, so the negatives of a range
// are two spans, ready to be given to a build.
//
//   keys     |apple|fig|kiwi|pear|plum|       range("cherry", "lemon") = (cherry, lemon] = fig, kiwi
//   digests  |  d  | d | d  | d  | d  |
//   costs    |  4  | 1 | 9  | 1  | 2  |
//
// SharedNegatives holds the current set where readers run: set() replaces it as a whole, and whoever got the old one
// keeps it until done.
//
// Room       workload: it is made of a file of negatives, as the other things here are; tiny/ needs only digests.
// Promises   a key that comes several times is kept once, with the sum of its costs. range() is exact for the order of
//            bytes (memcmp). For a host with another order it may return too few or too many negatives; filters stay
//            correct, but refuse fewer of them.
// Cost       key length + 28 bytes per negative; range(): two binary searches.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/workload/keys.hpp"

namespace naysay {

class NAYSAY_EXPORT NegativesByKey {
 public:
  struct Range {
    std::span<const Digest> digests;
    std::span<const float> costs;  // one each
    std::uint64_t size() const noexcept { return digests.size(); }
  };

  NegativesByKey() = default;
  // In any order. Fails if a cost is negative or not finite.
  static Result<NegativesByKey> of(std::span<const CostedKey> negatives, const Hasher& hasher = {});
  // key<TAB>cost lines, plain, gzip or zstd: see workload/keys.hpp.
  static Result<NegativesByKey> read(const KeyFile& file, const Hasher& hasher = {});

  // after < key <= last. Empty if last <= after.
  Range range(std::string_view after, std::string_view last) const noexcept;
  // key <= last.
  Range up_to(std::string_view last) const noexcept;
  Range all() const noexcept { return between(0, digests_.size()); }

  std::uint64_t size() const noexcept { return digests_.size(); }
  std::string_view key(std::uint64_t i) const noexcept {
    return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
  }
  const Hasher& hasher() const noexcept { return hasher_; }

 private:
  std::uint64_t first_after(std::string_view key) const noexcept;  // the first that is greater
  Range between(std::uint64_t first, std::uint64_t last) const noexcept {
    return {std::span(digests_).subspan(first, last - first), std::span(costs_).subspan(first, last - first)};
  }

  std::string bytes_;                        // of all keys, one behind the other
  std::vector<std::uint64_t> begins_ = {0};  // size() + 1
  std::vector<Digest> digests_;
  std::vector<float> costs_;
  Hasher hasher_;
};

// Any number of threads may call get() and set().
class SharedNegatives {
 public:
  explicit SharedNegatives(std::shared_ptr<const NegativesByKey> negatives = nullptr) { set(std::move(negatives)); }

  // Never null.
  std::shared_ptr<const NegativesByKey> get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Null: none are known.
  void set(std::shared_ptr<const NegativesByKey> negatives) {
    if (!negatives) negatives = std::make_shared<const NegativesByKey>();
    const std::lock_guard lock(mutex_);
    current_.swap(negatives);
  }  // the old set, if nobody else has it, is freed outside of the lock

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const NegativesByKey> current_;
};

}  // namespace naysay
