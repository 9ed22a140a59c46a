// SPDX-License-Identifier: Apache-2.0
// Observer: learns from a service's traffic which negatives are costly.
//
//   threads that serve            missed(key, cost)         a key turned out to be absent after the filter said "maybe"
//        |                             |
//        v                             v
//   +--------------------------------------+   collect()    +-------------+   costliest(n)
//   | mailbox: slots that are empty or full| -------------> | HeavyCosts  | ---------------> build, adapt
//   +--------------------------------------+  now and then  +-------------+
//
// missed() draws a number, looks at one slot, and writes there if it is empty. It never waits and never retries; if the
// slot is full the report is dropped and counted. A traffic of repeated costly keys needs no more: what is dropped once
// comes again.
//
// Promises   missed() is wait-free: a bounded number of steps, whatever other threads do. The estimates are those of
//            HeavyCosts for the reports that were not dropped.
// Cost       missed(): one atomic addition, one compare-and-exchange, three stores. 32 bytes a slot.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "naysay/core/array.hpp"
#include "naysay/live/heavy_costs.hpp"

namespace naysay {

class Observer {
 public:
  struct Options {
    std::uint64_t capacity = 100'000;  // keys kept
    double half_life = 0;              // in the units of collect()'s `now`; 0: nothing ages
    std::uint64_t mailbox = 1 << 14;   // reports between two calls of collect(); rounded up to a power of two
  };

  explicit Observer(const Options& o)
      : slots_(std::bit_ceil(std::max<std::uint64_t>(o.mailbox, 2))),
        mailbox_(new Slot[slots_]),
        costs_(o.capacity, o.half_life) {}

  // From any thread. False if the report was dropped.
  bool missed(Digest key, float cost = 1) noexcept {
    Slot& slot = mailbox_[next_.fetch_add(1, std::memory_order_relaxed) & (slots_ - 1)];
    std::uint32_t expected = kEmpty;
    if (!slot.state.compare_exchange_strong(expected, kWriting, std::memory_order_acquire, std::memory_order_relaxed)) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    slot.key = key;
    slot.cost = cost;
    slot.state.store(kFull, std::memory_order_release);
    return true;
  }

  // Takes what has been reported. From any thread; one at a time works. Returns how many reports there were.
  std::uint64_t collect(double now = 0) {
    const std::lock_guard lock(collecting_);
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < slots_; ++i) {
      Slot& slot = mailbox_[i];
      if (slot.state.load(std::memory_order_acquire) != kFull) continue;
      const Digest key = slot.key;
      const float cost = slot.cost;
      slot.state.store(kEmpty, std::memory_order_release);
      costs_.add(key, cost, now);
      ++taken;
    }
    collected_ += taken;
    return taken;
  }

  // Of what was collected.
  std::vector<HeavyCosts::Entry> costliest(std::uint64_t n, double now = 0) const {
    const std::lock_guard lock(collecting_);
    return costs_.costliest(n, now);
  }
  double total_cost(double now = 0) const {
    const std::lock_guard lock(collecting_);
    return costs_.total(now);
  }
  std::uint64_t collected() const {
    const std::lock_guard lock(collecting_);
    return collected_;
  }
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kEmpty = 0, kWriting = 1, kFull = 2;
  struct Slot {
    std::atomic<std::uint32_t> state{kEmpty};
    float cost = 0;
    Digest key;
  };

  std::uint64_t slots_;
  std::unique_ptr<Slot[]> mailbox_;
  alignas(kCacheLine) std::atomic<std::uint64_t> next_{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> dropped_{0};
  mutable std::mutex collecting_;
  HeavyCosts costs_;
  std::uint64_t collected_ = 0;
};

}  // namespace naysay
