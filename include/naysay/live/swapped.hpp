// SPDX-License-Identifier: Apache-2.0
// Swapped<T>: a value that is replaced as a whole while threads read it, such as a static filter and its next version.
//
//   Swapped<AnyFilter> live(*naysay::open("set.nsy"));
//   live.read([&](const AnyFilter& f) { return f.may_contain(key); });        any thread, any time
//   live.swap(*naysay::open("set.next.nsy"));                                 destroys the old one when its readers left
//
// A reader counts itself in, reads the pointer, uses the value, and counts itself out. The counters are striped by
// thread, so readers on different cores hardly ever write to one cache line, and each stripe has two, of which readers
// take the one that `turn` names. swap() exchanges the pointer, then turns twice and waits each time until the counters
// of the old turn are zero. Readers that come later are counted in the other, so the wait ends.
//
// Promises   read() never waits and sees one whole value. The old value is destroyed before swap() returns, and no
//            reader uses it then.
// Does not   let a reader call swap(): it would wait for itself.
// Cost       read: two atomic additions to a cache line of the thread's own.
// Source     the counters of sleepable RCU (P. McKenney, 2006).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "naysay/core/array.hpp"

namespace naysay {

template <class T>
class Swapped {
 public:
  explicit Swapped(T first) : value_(new T(std::move(first))) {}
  ~Swapped() { delete value_.load(); }
  Swapped(const Swapped&) = delete;
  Swapped& operator=(const Swapped&) = delete;

  // Calls use(const T&), whose reference must not be kept.
  template <class Use>
  auto read(Use&& use) const {
    const Reading reading(counters_[stripe()].in[turn_.load(std::memory_order_relaxed) & 1]);
    return use(std::as_const(*value_.load(std::memory_order_seq_cst)));
  }

  void swap(T next) {
    auto fresh = std::make_unique<T>(std::move(next));
    const std::lock_guard lock(swapping_);
    const std::unique_ptr<T> old(value_.exchange(fresh.release(), std::memory_order_seq_cst));
    for (int phase = 0; phase < 2; ++phase) {
      const std::uint64_t left = turn_.fetch_add(1, std::memory_order_seq_cst) & 1;
      for (Counter& c : counters_)
        while (c.in[left].load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }

 private:
  static constexpr unsigned kStripes = 64;
  struct alignas(kCacheLine) Counter {
    mutable std::array<std::atomic<std::uint64_t>, 2> in{};
  };
  struct Reading {
    explicit Reading(std::atomic<std::uint64_t>& c) : count(c) { count.fetch_add(1, std::memory_order_seq_cst); }
    ~Reading() { count.fetch_sub(1, std::memory_order_release); }
    Reading(const Reading&) = delete;
    std::atomic<std::uint64_t>& count;
  };
  static unsigned stripe() noexcept {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return mine;
  }

  std::array<Counter, kStripes> counters_;
  std::atomic<std::uint64_t> turn_{0};
  std::atomic<T*> value_;
  std::mutex swapping_;
};

}  // namespace naysay
