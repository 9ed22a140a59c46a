// SPDX-License-Identifier: Apache-2.0
// Allocator: where the arrays of all filters come from, for hosts that count or place their memory themselves.
//
//   naysay::set_allocator({.allocate = my_allocate, .release = my_release, .context = &pool});
//
// The arrays are what a filter consists of; from 2 MiB on they are asked for with an alignment of 2 MiB, and offered to
// the kernel as huge pages, whoever allocated them. The scratch memory of a build, strings and small tables come from
// operator new as before.
//
// Promises   every array is released by the allocator that made it, with the size and alignment it was asked for with.
//            An allocator that returns null is out of memory: an error (Errc::no_memory), as everywhere.
// Does not   change while arrays exist: set_allocator then fails. Call it before any other thread uses the library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "naysay/core/export.hpp"

namespace naysay {

// Both are called from any thread, and must not throw.
struct Allocator {
  // Null if there is no memory. `alignment` is a power of two, at least 64.
  void* (*allocate)(std::size_t bytes, std::size_t alignment, void* context) = nullptr;
  void (*release)(void* memory, std::size_t bytes, std::size_t alignment, void* context) = nullptr;
  void* context = nullptr;
};

// Null functions: operator new and delete again. False if an array exists, or if only one function is given; then
// nothing has changed.
NAYSAY_EXPORT bool set_allocator(const Allocator& allocator) noexcept;

// Of all arrays that exist: their number and their bytes.
struct ArrayMemory {
  std::uint64_t arrays = 0, bytes = 0;
};
NAYSAY_EXPORT ArrayMemory array_memory() noexcept;

namespace memory_detail {

NAYSAY_EXPORT void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
NAYSAY_EXPORT void release(void* memory, std::size_t bytes, std::size_t alignment) noexcept;
[[noreturn]] NAYSAY_EXPORT void fail();  // as operator new does

}  // namespace memory_detail
}  // namespace naysay
