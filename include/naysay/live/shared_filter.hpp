// SPDX-License-Identifier: Apache-2.0
// SharedFilter: a growing cuckoo filter, with a guard or without, that any number of threads read and write at the same
// time.
//
//   readers   may_contain: no lock and no write to shared memory where the table says "no". A "maybe" is looked up in
//             the guard, if that holds anything: then a reader counts itself in, on a cache line of its own
//   writers   insert, erase, adapt, pin, unpin, reserve: one at a time, under a mutex that readers never take
//
// Only three things could hide a key from a reader: an entry that moves between its two buckets, a bucket that is
// split, and words that are recycled. The table counts each of them (cuckoo/detail/split_table.hpp). A reader that found
// nothing looks whether one of the counts has changed, and if so reads again. "maybe" hardly ever needs a second look.
//
// The guard is changed while no reader is in it: by adapt, pin and unpin, and by an insertion of a key that it refuses or that pinned
// negatives must be kept from. So a reader waits for one such operation at most.
//
// Promises   linearizable for each key: an answer is one that the filter would give, alone, at some moment between the
//            call and the return. So a key whose insert has returned is never denied until its erase is called, and a
//            negative for which adapt returned true is refused until its entry is evicted or it is inserted. No data
//            race: every shared word is an atomic, or read under a lock (checked under ThreadSanitizer).
// Does not   protect its own life: end all calls before it is destroyed, moved or assigned to.
// Cost       a query: two atomic loads per bucket instead of one plain load, and four loads of counters that stay in
//            the first-level cache unless a writer moves entries; a "maybe" next to a guard: two atomic additions and
//            the guard's own read. Memory: a few blocks that are kept for reuse.
// Source     sequence locks (S. Hemminger, Linux 2.5.60), taken by moves only, as MemC3 does for cuckoo hashing (B. Fan,
//            D. Andersen, M. Kaminsky, 2013).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/guarded/guarded.hpp"
#include "naysay/live/detail/reader_lock.hpp"
#include "naysay/live/detail/shared_access.hpp"

namespace naysay {

class SharedFilter {
  template <class Ask>
  auto locked(Ask&& ask) const noexcept {
    const std::lock_guard lock(writing_);
    return ask();
  }

 public:
  using Table = BasicGrowingCuckoo<live::detail::SharedAccess>;
  using Filter = Guarded<Table>;
  using Params = GrowingCuckoo::Params;

  // Without a guard: adapt keeps nothing.
  static Result<SharedFilter> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    NAYSAY_TRY(const GrowingCuckoo built, GrowingCuckoo::build(w, p, o));
    return share(built);
  }
  static Result<SharedFilter> build_guarded(const Workload& w, const GuardedGrowing::Params& p,
                                            const BuildOptions& o = {}) {
    NAYSAY_TRY(const GuardedGrowing built, GuardedGrowing::build(w, p, o));
    return share(built);
  }
  // The same filter, to be shared: answers alike.
  static Result<SharedFilter> share(const GrowingCuckoo& alone) {
    NAYSAY_TRY(Table table, Table::copy_of(alone));
    return SharedFilter(Filter::without_guard(std::move(table)));
  }
  static Result<SharedFilter> share(const GuardedGrowing& alone) {
    NAYSAY_TRY(Filter copy, Filter::copy_of(alone));
    return SharedFilter(std::move(copy));
  }
  // The same filter as it is now, for one thread, such as to be saved; the first without its guard.
  Result<GrowingCuckoo> alone() const {
    const std::lock_guard lock(writing_);
    return GrowingCuckoo::copy_of(filter_.base());
  }
  Result<GuardedGrowing> alone_guarded() const {
    const std::lock_guard lock(writing_);
    return GuardedGrowing::copy_of(filter_);
  }

  bool may_contain(Digest d) const noexcept { return filter_.base().may_contain(d) && !refused(d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    naysay::may_contain(filter_.base(), keys, out);
    if (guarded_.load(std::memory_order_acquire) == 0) return;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (out[i] != 0) out[i] = !refused(keys[i]);
  }

  bool insert(Digest d) noexcept {
    const std::lock_guard lock(writing_);
    if (filter_.pinned() == 0 && !filter_.refuses(d) && !filter_.guard_wants_growth()) return filter_.base().insert(d);
    return changing_the_guard([&] { return filter_.insert(d); });
  }
  bool erase(Digest d) noexcept {
    const std::lock_guard lock(writing_);
    return filter_.erase(d);
  }
  // True: d is refused from now on. False: the guard has no room for it. Requires that d is not a key.
  bool adapt(Digest d, float cost = 1) noexcept {
    const std::lock_guard lock(writing_);
    if (!filter_.base().may_contain(d)) return true;
    if (filter_.guard_room() == 0) return false;
    return changing_the_guard([&] { return filter_.adapt(d, cost); });
  }
  // As Guarded::pin and unpin. pin may allocate.
  bool pin(Digest d) {
    const std::lock_guard lock(writing_);
    if (filter_.guard_room() == 0) return false;
    return changing_the_guard([&] { return filter_.pin(d); });
  }
  bool unpin(Digest d) noexcept {
    const std::lock_guard lock(writing_);
    return changing_the_guard([&] { return filter_.unpin(d); });
  }
  bool reserve(std::uint64_t n) noexcept {
    const std::lock_guard lock(writing_);
    return filter_.base().reserve(n);
  }

  // Calls body(filter) while no other thread writes. The body must not change the guard.
  template <class Body>
  auto exclusively(Body&& body) {
    const std::lock_guard lock(writing_);
    return body(filter_);
  }

  std::uint64_t keys() const noexcept {
    return locked([this] { return filter_.base().keys(); });
  }
  std::uint64_t capacity() const noexcept {
    return locked([this] { return filter_.base().capacity(); });
  }
  std::size_t eras() const noexcept {
    return locked([this] { return filter_.base().eras(); });
  }
  double expected_fpr() const noexcept {
    return locked([this] { return filter_.base().expected_fpr(); });
  }
  std::uint64_t size_bits() const noexcept {
    return locked([this] { return filter_.size_bits(); });
  }
  std::uint64_t guarded() const noexcept { return guarded_.load(std::memory_order_acquire); }
  std::uint64_t guard_room() const noexcept {
    return locked([this] { return filter_.guard_room(); });
  }
  std::uint64_t pinned() const noexcept {
    return locked([this] { return filter_.pinned(); });
  }

  // Requires that no other thread uses either.
  SharedFilter(SharedFilter&& other) noexcept : filter_(std::move(other.filter_)), guarded_(filter_.guarded()) {}
  SharedFilter& operator=(SharedFilter&& other) noexcept {
    filter_ = std::move(other.filter_);
    guarded_ = filter_.guarded();
    return *this;
  }

 private:
  explicit SharedFilter(Filter filter) : filter_(std::move(filter)), guarded_(filter_.guarded()) {}

  bool refused(Digest d) const noexcept {
    if (guarded_.load(std::memory_order_acquire) == 0) return false;
    const live::detail::ReaderLock::Reading reading(guarding_);
    return filter_.refuses(d);
  }
  template <class Change>
  bool changing_the_guard(Change&& change) {
    const live::detail::ReaderLock::Writing alone_in_the_guard(guarding_);
    const bool changed = change();
    guarded_.store(filter_.guarded(), std::memory_order_release);
    return changed;
  }

  mutable std::mutex writing_;
  mutable live::detail::ReaderLock guarding_;  // readers of the guard
  Filter filter_;
  std::atomic<std::uint64_t> guarded_;  // entries of the guard
};

}  // namespace naysay
