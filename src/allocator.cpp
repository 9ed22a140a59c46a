// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/allocator.hpp"

#include <atomic>
#include <new>

namespace naysay {

namespace {

Allocator chosen;  // written only while no array exists
std::atomic<std::uint64_t> arrays{0}, array_bytes{0};

}  // namespace

bool set_allocator(const Allocator& allocator) noexcept {
  if ((allocator.allocate == nullptr) != (allocator.release == nullptr)) return false;
  if (arrays.load() != 0) return false;
  chosen = allocator;
  return true;
}

ArrayMemory array_memory() noexcept { return {arrays.load(), array_bytes.load()}; }

namespace memory_detail {

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* memory = chosen.allocate ? chosen.allocate(bytes, alignment, chosen.context)
                                 : ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr) return nullptr;
  arrays.fetch_add(1, std::memory_order_relaxed);
  array_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

void release(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (chosen.release)
    chosen.release(memory, bytes, alignment, chosen.context);
  else
    ::operator delete (memory, std::align_val_t{alignment});
  array_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  arrays.fetch_sub(1, std::memory_order_release);
}

void fail() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  for (;;) static_cast<void>(::operator new (~std::size_t{0} >> 1));  // which ends the program
#endif
}

}  // namespace memory_detail
}  // namespace naysay
