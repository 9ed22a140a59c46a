// SPDX-License-Identifier: Apache-2.0
// GrowingArray<T>: collects elements whose number is not known in advance, without ever holding two copies of them.
//
//   |d d d d d d d . . .|           When it is full, realloc makes it half as large again. From a few hundred kB on the
//            |                      C library moves pages, not bytes, so the old and the new array never exist at the
//   |d d d d d d d d d d . . . . .| same time, and pages that were never written use no memory.
//
// Promises   at most sizeof(T) bytes of memory per element and a few pages, at any moment of its growth (with a C
//            library whose realloc remaps, as glibc and musl do). std::vector needs three times that.
//            tests/cli/slow_test.cpp measures the memory of a build of ten million keys.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace naysay {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~GrowingArray() { std::free(data_); }

  // False: there is no memory, and nothing has changed.
  [[nodiscard]] bool push(const T& element) noexcept {
    if (size_ == capacity_ && !grow()) return false;
    data_[size_++] = element;
    return true;
  }

  // The same for many.
  [[nodiscard]] bool append(std::span<const T> elements) noexcept {
    while (capacity_ - size_ < elements.size())
      if (!grow()) return false;
    if (!elements.empty()) std::memcpy(data_ + size_, elements.data(), elements.size_bytes());
    size_ += elements.size();
    return true;
  }
  void clear() noexcept { size_ = 0; }  // keeps the memory

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  const T* begin() const noexcept { return data_; }  // a contiguous range: it converts to std::span<const T>
  const T* end() const noexcept { return data_ + size_; }
  const T& operator[](std::uint64_t i) const noexcept {
    assert(i < size_);
    return data_[i];
  }

 private:
  static constexpr std::uint64_t kFirst = 1024;

  bool grow() noexcept {
    const std::uint64_t capacity = capacity_ == 0 ? kFirst : capacity_ + capacity_ / 2;
    void* moved = std::realloc(data_, capacity * sizeof(T));
    if (!moved) return false;
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
    return true;
  }

  T* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace naysay
