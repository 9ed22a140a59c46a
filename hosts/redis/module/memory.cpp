// SPDX-License-Identifier: Apache-2.0
// operator new of this module: all its memory comes from the server.
//
// So used_memory, maxmemory, eviction and deny-oom see it. The standard library is linked into the module statically and
// no symbol but RedisModule_OnLoad leaves it, so nothing is allocated here and freed elsewhere, or the other way round.
// If there is no memory, operator new throws as usual (and the library returns an error); the server goes on.
//
//   server's block   |.....|offset|  aligned memory ...   |      the 8 bytes before the memory say where the block began
//
// A filter wants arrays of 2 MiB and more at multiples of 2 MiB, for huge pages. A server does not: after a fork each
// first write would copy 2 MiB. Alignments above a page are therefore those of a page.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "server_api.hpp"

namespace {

using naysay::redis::server::Free;
using naysay::redis::server::TryAlloc;

constexpr std::size_t kPage = 4096;

void* plain(std::size_t bytes) noexcept { return TryAlloc(std::max<std::size_t>(bytes, 1)); }

void* aligned(std::size_t bytes, std::align_val_t alignment) noexcept {
  const std::size_t to = std::clamp<std::size_t>(static_cast<std::size_t>(alignment), 16, kPage);
  if (bytes > SIZE_MAX - to - 8) return nullptr;
  auto* block = static_cast<unsigned char*>(TryAlloc(bytes + to + 8));
  if (block == nullptr) return nullptr;
  const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(block) + 8 + to - 1) / to * to;
  const std::uint64_t offset = at - reinterpret_cast<std::uintptr_t>(block);
  std::memcpy(block + offset - 8, &offset, 8);
  return block + offset;
}

void release(void* memory) noexcept {
  if (memory != nullptr) Free(memory);
}
void release_aligned(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* at = static_cast<unsigned char*>(memory);
  std::uint64_t offset;
  std::memcpy(&offset, at - 8, 8);
  Free(at - offset);
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t n) { return or_throw(plain(n)); }
void* operator new[](std::size_t n) { return or_throw(plain(n)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return plain(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return plain(n); }
void* operator new(std::size_t n, std::align_val_t a) { return or_throw(aligned(n, a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return or_throw(aligned(n, a)); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return aligned(n, a); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return aligned(n, a); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release_aligned(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release_aligned(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release_aligned(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release_aligned(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release_aligned(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release_aligned(p); }
