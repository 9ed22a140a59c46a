// SPDX-License-Identifier: Apache-2.0
// ReaderLock: many readers or one writer, for something that is read all the time and hardly ever written.
//
// A reader counts itself in on a cache line of its thread's own, so readers do not disturb one another. A writer raises a
// flag and waits until all counts are zero; a reader that sees the flag counts itself out and waits for the writer.
//
// Promises   while a writer is in, nobody else is.
// Does not   keep order: a reader that waits may see more than one writer pass.
// Cost       reading: two atomic additions on a cache line of the thread's own. Writing: a look at 32 cache lines.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "naysay/core/array.hpp"

namespace naysay::live::detail {

class ReaderLock {
 public:
  class Reading {
   public:
    explicit Reading(ReaderLock& lock) noexcept : readers_(lock.stripes_[stripe()].readers) {
      for (;;) {
        readers_.fetch_add(1);
        if (!lock.writing_.load()) return;
        readers_.fetch_sub(1);
        while (lock.writing_.load()) std::this_thread::yield();
      }
    }
    ~Reading() { readers_.fetch_sub(1); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<std::uint64_t>& readers_;
  };

  // Requires that there is one writer at a time.
  class Writing {
   public:
    explicit Writing(ReaderLock& lock) noexcept : lock_(lock) {
      lock_.writing_.store(true);
      for (const Stripe& s : lock_.stripes_)
        while (s.readers.load() != 0) std::this_thread::yield();
    }
    ~Writing() { lock_.writing_.store(false); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    ReaderLock& lock_;
  };

 private:
  static constexpr unsigned kStripes = 32;
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> readers{0};
  };
  static unsigned stripe() noexcept {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return mine;
  }

  std::array<Stripe, kStripes> stripes_;
  std::atomic<bool> writing_{false};
};

}  // namespace naysay::live::detail
