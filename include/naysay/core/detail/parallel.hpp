// parallel_for: calls body(i) for every i in [0, n), on up to `threads` threads, the caller's among them.
//
// Promises   every i exactly once; returns after the last. Which thread takes which i is not fixed, so a body that
//            must give the same bytes for any number of threads writes only what belongs to its i.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace naysay {

template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, Body&& body) {
  const std::uint64_t workers = std::min<std::uint64_t>(std::max(threads, 1u), n);
  if (workers <= 1) {
    for (std::uint64_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::atomic<std::uint64_t> next{0};
  auto work = [&] {
    for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) body(i);
  };
  std::vector<std::thread> helpers;
  for (std::uint64_t t = 1; t < workers; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
}

}  // namespace naysay
