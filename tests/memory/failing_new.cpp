// SPDX-License-Identifier: Apache-2.0
#include "memory/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

std::atomic<std::int64_t> allocations_left{-1};
std::atomic<std::int64_t> allocations_made{0};
std::atomic<std::uint64_t> largest_allocation{0};

namespace {

bool fails() noexcept {
  allocations_made.fetch_add(1, std::memory_order_relaxed);
  std::int64_t now = allocations_left.load(std::memory_order_relaxed);
  while (now > 0)
    if (allocations_left.compare_exchange_weak(now, now - 1, std::memory_order_relaxed)) return false;
  return now == 0;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  if (bytes > largest_allocation.load(std::memory_order_relaxed))
    largest_allocation.store(bytes, std::memory_order_relaxed);
  bytes = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* p = take(bytes, alignof(std::max_align_t))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* p = take(bytes, static_cast<std::size_t>(alignment))) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
