// SPDX-License-Identifier: Apache-2.0
// SharedFilter: a growing cuckoo filter that any number of threads read and write at the same time.
//
//   readers   may_contain: no lock, no write to shared memory, no waiting for a writer that is suspended
//   writers   insert, erase, reserve: one at a time, under a mutex that readers never take
//
// Only three things could hide a key from a reader: an entry that moves between its two buckets, a bucket that is
// split, and words that are recycled. The table counts each of them (cuckoo/detail/split_table.hpp). A reader that found
// nothing looks whether one of the counts has changed, and if so reads again. "maybe" hardly ever needs a second look.
//
// Promises   linearizable for each key: an answer is one that the filter would give, alone, at some moment between the
//            call and the return. So a key whose insert has returned is never denied until its erase is called. No
//            data race: every shared word is an atomic (checked under ThreadSanitizer).
// Does not   protect its own life: end all calls before it is destroyed, moved or assigned to.
// Cost       a query: two atomic loads per bucket instead of one plain load, and four loads of counters that stay in
//            the first-level cache unless a writer moves entries. Memory: a few blocks that are kept for reuse.
// Source     sequence locks (S. Hemminger, Linux 2.5.60), taken by moves only, as MemC3 does for cuckoo hashing (B. Fan,
//            D. Andersen, M. Kaminsky, 2013).
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/live/detail/shared_access.hpp"

namespace naysay {

class SharedFilter {
  template <class Ask>
  auto locked(Ask&& ask) const noexcept {
    const std::lock_guard lock(writing_);
    return ask();
  }

 public:
  using Filter = BasicGrowingCuckoo<live::detail::SharedAccess>;
  using Params = GrowingCuckoo::Params;

  static Result<SharedFilter> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    auto built = GrowingCuckoo::build(w, p, o);
    if (!built) return std::move(built).error();
    return share(*built);
  }
  // The same filter, to be shared: answers alike.
  static Result<SharedFilter> share(const GrowingCuckoo& alone) {
    auto copy = Filter::copy_of(alone);
    if (!copy) return std::move(copy).error();
    return SharedFilter(std::move(*copy));
  }
  // The same filter as it is now, for one thread, such as to be saved.
  Result<GrowingCuckoo> alone() const {
    const std::lock_guard lock(writing_);
    return GrowingCuckoo::copy_of(filter_);
  }

  bool may_contain(Digest d) const noexcept { return filter_.may_contain(d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    naysay::may_contain(filter_, keys, out);
  }

  bool insert(Digest d) noexcept {
    const std::lock_guard lock(writing_);
    return filter_.insert(d);
  }
  bool erase(Digest d) noexcept {
    const std::lock_guard lock(writing_);
    return filter_.erase(d);
  }
  bool reserve(std::uint64_t n) noexcept {
    const std::lock_guard lock(writing_);
    return filter_.reserve(n);
  }

  // Calls body(filter) while no other thread writes.
  template <class Body>
  auto exclusively(Body&& body) {
    const std::lock_guard lock(writing_);
    return body(filter_);
  }

  std::uint64_t keys() const noexcept {
    return locked([this] { return filter_.keys(); });
  }
  std::uint64_t capacity() const noexcept {
    return locked([this] { return filter_.capacity(); });
  }
  std::size_t eras() const noexcept {
    return locked([this] { return filter_.eras(); });
  }
  double expected_fpr() const noexcept {
    return locked([this] { return filter_.expected_fpr(); });
  }
  std::uint64_t size_bits() const noexcept {
    return locked([this] { return filter_.size_bits(); });
  }

  // Requires that no other thread uses either.
  SharedFilter(SharedFilter&& other) noexcept : filter_(std::move(other.filter_)) {}
  SharedFilter& operator=(SharedFilter&& other) noexcept {
    filter_ = std::move(other.filter_);
    return *this;
  }

 private:
  explicit SharedFilter(Filter filter) : filter_(std::move(filter)) {}

  mutable std::mutex writing_;
  Filter filter_;
};

}  // namespace naysay
