// SPDX-License-Identifier: Apache-2.0
// Array<T>: a fixed-size, cache-line-aligned array that owns its elements or borrows them from a mapped file.
//
//   owned     64-byte aligned, zeroed; from kHugeFrom bytes on aligned to 2 MiB and offered to the kernel as huge
//             pages, so that a random read in a large filter misses the address cache less often.
//   borrowed  a view of memory that the caller keeps alive; read-only until own() makes a copy.
//
// Owned memory comes from the process's Allocator (core/allocator.hpp).
//
// Copying an Array copies the elements of an owned one and the view of a borrowed one.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "naysay/core/allocator.hpp"

namespace naysay {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;
inline constexpr std::size_t kHugeFrom = std::size_t{2} << 20;  // below that the page table fits the caches anyway

// Whether zeros are memory from the start, or only where they are written (make_sparse()).
enum class Zeros { dense, sparse };

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  explicit Array(std::uint64_t size) : data_(allocate(size)), size_(size), owned_(true) {
    if (size != 0) std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
  }
  static Array make_zeros(std::uint64_t size, Zeros zeros) {
    return zeros == Zeros::sparse ? make_sparse(size) : Array(size);
  }
  // Elements that are not initialised: for code that writes every element before it reads it.
  static Array make_raw(std::uint64_t size) {
    Array a;
    a.data_ = allocate(size);
    a.size_ = size;
    return a;
  }
  // The same, or no elements if there is no memory: for code that must not throw. Requires size > 0.
  static Array try_make_raw(std::uint64_t size) noexcept {
    Array a;
    const std::size_t bytes = bytes_of(size, true);  // whole pages, all of them huge
    void* memory = memory_detail::allocate(bytes, alignment(size));
    if (memory == nullptr) return a;
    a.data_ = static_cast<T*>(offer_huge(memory, bytes));
    a.size_ = size;
    a.whole_pages_ = true;
    return a;
  }
  // Zeros that cost no memory until they are written: for one of the parts of a filter, which writes a range of them and
  // leaves the rest to others. It comes from the system, not from an Allocator.
  static Array make_sparse(std::uint64_t size) {
#if defined(__linux__)
    if (size == 0) return {};
    if (size > kMostBytes / sizeof(T)) memory_detail::fail();
    void* memory =
        ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) memory_detail::fail();
    Array a;
    a.data_ = static_cast<T*>(memory);
    a.size_ = size;
    a.sparse_ = true;
    return a;
#else
    return Array(size);
#endif
  }
  static Array borrow(const T* data, std::uint64_t size) noexcept {
    Array a;
    a.data_ = const_cast<T*>(data);  // never written: mutable_data() requires owned()
    a.size_ = size;
    a.owned_ = false;
    return a;
  }
  Array(const Array& other) : data_(other.data_), size_(other.size_), owned_(other.owned_) {
    if (owned_) copy_from(other.data_);
  }
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        owned_(std::exchange(other.owned_, true)),
        whole_pages_(std::exchange(other.whole_pages_, false)),
        sparse_(std::exchange(other.sparse_, false)) {}
  Array& operator=(Array other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
    std::swap(whole_pages_, other.whole_pages_);
    std::swap(sparse_, other.sparse_);
    return *this;
  }
  ~Array() {
#if defined(__linux__)
    if (sparse_) ::munmap(data_, size_ * sizeof(T));
#endif
    if (owned_ && data_ && !sparse_) memory_detail::release(data_, bytes_of(size_, whole_pages_), alignment(size_));
  }

  bool owned() const noexcept { return owned_; }
  void own() {
    if (owned_) return;
    copy_from(data_);
    owned_ = true;
  }

  std::uint64_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const T* data() const noexcept { return data_; }
  const T& operator[](std::uint64_t i) const noexcept {
    assert(i < size_);
    return data_[i];
  }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }

  // Requires owned(): a borrowed array may lie in read-only memory.
  T* mutable_data() noexcept {
    assert(owned_);
    return data_;
  }
  T& at_mut(std::uint64_t i) noexcept {
    assert(owned_ && i < size_);
    return data_[i];
  }

  friend bool operator==(const Array& a, const Array& b) noexcept {
    return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_ * sizeof(T)) == 0);
  }

 private:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

  static std::size_t alignment(std::uint64_t size) noexcept {
    return size * sizeof(T) >= kHugeFrom ? kHugePage : kCacheLine;
  }
  static std::size_t bytes_of(std::uint64_t size, bool whole_pages) noexcept {
    const std::size_t bytes = size * sizeof(T);
    return whole_pages && bytes >= kHugeFrom ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
  }
  static T* allocate(std::uint64_t size) {
    if (size == 0) return nullptr;
    if (size > kMostBytes / sizeof(T)) memory_detail::fail();
    const std::size_t bytes = size * sizeof(T);
    void* memory = memory_detail::allocate(bytes, alignment(size));
    if (memory == nullptr) memory_detail::fail();
    return static_cast<T*>(offer_huge(memory, bytes));
  }
  static void* offer_huge(void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= kHugeFrom) ::madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
    return memory;
  }
  void copy_from(const T* source) {
    data_ = allocate(size_);
    if (size_ != 0) std::memcpy(static_cast<void*>(data_), source, size_ * sizeof(T));
  }

  T* data_ = nullptr;
  std::uint64_t size_ = 0;
  bool owned_ = true;
  bool whole_pages_ = false;  // as it was allocated
  bool sparse_ = false;       // made by make_sparse()
};

// An Array of positions and sizes that queries compute addresses from. Reading a file always copies it, so that queries
// use what validate() has seen, whatever becomes of the file. A small part of a filter.
template <class T>
class Directory : public Array<T> {
 public:
  using Array<T>::Array;
  Directory() = default;
  Directory(Array<T> array) noexcept : Array<T>(std::move(array)) {}
};

}  // namespace naysay
