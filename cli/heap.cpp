#include "heap.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace naysay::cli::heap {

namespace {

std::atomic<std::uint64_t> now{0}, most{0};

void* count(void* block) {
  if (!block) throw std::bad_alloc();
  const std::uint64_t held_now =
      now.fetch_add(::malloc_usable_size(block), std::memory_order_relaxed) + ::malloc_usable_size(block);
  std::uint64_t before = most.load(std::memory_order_relaxed);
  while (before < held_now && !most.compare_exchange_weak(before, held_now, std::memory_order_relaxed)) {
  }
  return block;
}

void release(void* block) noexcept {
  if (block) now.fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}

void* aligned(std::size_t size, std::align_val_t alignment) {
  const std::size_t a = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  void* block = nullptr;
  return ::posix_memalign(&block, a, std::max<std::size_t>(size, 1)) == 0 ? count(block) : count(nullptr);
}

}  // namespace

std::uint64_t held() noexcept { return now.load(std::memory_order_relaxed); }
std::uint64_t peak() noexcept { return most.load(std::memory_order_relaxed); }
void forget_peak() noexcept { most.store(held(), std::memory_order_relaxed); }

}  // namespace naysay::cli::heap

// The array and nothrow forms of the standard library call these.
void* operator new(std::size_t size) { return naysay::cli::heap::count(std::malloc(std::max<std::size_t>(size, 1))); }
void* operator new(std::size_t size, std::align_val_t alignment) { return naysay::cli::heap::aligned(size, alignment); }
void operator delete(void* block) noexcept { naysay::cli::heap::release(block); }
void operator delete(void* block, std::size_t) noexcept { naysay::cli::heap::release(block); }
void operator delete(void* block, std::align_val_t) noexcept { naysay::cli::heap::release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { naysay::cli::heap::release(block); }
