// SPDX-License-Identifier: Apache-2.0
// parallel_for: calls body(i) for every i in [0, n), on up to `threads` threads, including the caller's.
//
// Promises   Every i exactly once; returns after the last. Which thread takes which i is not fixed, so a body that must
//            give the same bytes for any number of threads writes only what belongs to its i. If the system cannot
//            start a thread, the others do its work. If a body throws (out of memory), the remaining calls are left
//            out, all threads are joined, and the exception is thrown again in the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__cpp_exceptions)
#include <exception>
#include <mutex>
#include <system_error>
#endif

namespace naysay {

template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, Body&& body) {
  const std::uint64_t workers = std::min<std::uint64_t>(std::max(threads, 1u), n);
  if (workers <= 1) {
    for (std::uint64_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::atomic<std::uint64_t> next{0};
  const auto take_turns = [&] {
    for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) body(i);
  };
  std::vector<std::thread> helpers;
  helpers.reserve(workers - 1);
#if defined(__cpp_exceptions)
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&]() noexcept {
    try {
      take_turns();
    } catch (...) {
      next.store(n, std::memory_order_relaxed);
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
    }
  };
  try {
    for (std::uint64_t t = 1; t < workers; ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads are to be had: those that run do the work
  } catch (const std::bad_alloc&) {
  }
  work();
  for (std::thread& t : helpers) t.join();
  if (failure) std::rethrow_exception(failure);
#else
  for (std::uint64_t t = 1; t < workers; ++t) helpers.emplace_back(take_turns);
  take_turns();
  for (std::thread& t : helpers) t.join();
#endif
}

}  // namespace naysay
