// SPDX-License-Identifier: Apache-2.0
#include "parts/heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace naysay::cli::heap {

namespace {

std::atomic<std::uint64_t> now{0}, most{0};

// Null stays null.
void* count(void* block) noexcept {
  if (!block) return nullptr;
  const std::uint64_t size = ::malloc_usable_size(block);
  const std::uint64_t held_now = now.fetch_add(size, std::memory_order_relaxed) + size;
  std::uint64_t before = most.load(std::memory_order_relaxed);
  while (before < held_now && !most.compare_exchange_weak(before, held_now, std::memory_order_relaxed)) {
  }
  return block;
}

void release(void* block) noexcept {
  if (block) now.fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}

void* take(std::size_t size) noexcept { return count(std::malloc(std::max<std::size_t>(size, 1))); }

void* take(std::size_t size, std::align_val_t alignment) noexcept {
  const std::size_t a = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  void* block = nullptr;
  return ::posix_memalign(&block, a, std::max<std::size_t>(size, 1)) == 0 ? count(block) : nullptr;
}

void* or_throw(void* block) {
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

std::uint64_t held() noexcept { return now.load(std::memory_order_relaxed); }
std::uint64_t peak() noexcept { return most.load(std::memory_order_relaxed); }
void forget_peak() noexcept { most.store(held(), std::memory_order_relaxed); }

}  // namespace naysay::cli::heap

// Every form, because a sanitizer brings its own of those that are missing.
namespace heap = naysay::cli::heap;
using Alignment = std::align_val_t;
void* operator new(std::size_t n) { return heap::or_throw(heap::take(n)); }
void* operator new[](std::size_t n) { return heap::or_throw(heap::take(n)); }
void* operator new(std::size_t n, Alignment a) { return heap::or_throw(heap::take(n, a)); }
void* operator new[](std::size_t n, Alignment a) { return heap::or_throw(heap::take(n, a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return heap::take(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return heap::take(n); }
void* operator new(std::size_t n, Alignment a, const std::nothrow_t&) noexcept { return heap::take(n, a); }
void* operator new[](std::size_t n, Alignment a, const std::nothrow_t&) noexcept { return heap::take(n, a); }
void operator delete(void* block) noexcept { heap::release(block); }
void operator delete[](void* block) noexcept { heap::release(block); }
void operator delete(void* block, std::size_t) noexcept { heap::release(block); }
void operator delete[](void* block, std::size_t) noexcept { heap::release(block); }
void operator delete(void* block, Alignment) noexcept { heap::release(block); }
void operator delete[](void* block, Alignment) noexcept { heap::release(block); }
void operator delete(void* block, std::size_t, Alignment) noexcept { heap::release(block); }
void operator delete[](void* block, std::size_t, Alignment) noexcept { heap::release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { heap::release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { heap::release(block); }
void operator delete(void* block, Alignment, const std::nothrow_t&) noexcept { heap::release(block); }
void operator delete[](void* block, Alignment, const std::nothrow_t&) noexcept { heap::release(block); }
