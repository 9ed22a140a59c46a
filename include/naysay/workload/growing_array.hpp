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

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <shared_mutex>
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
  // The same for elements that are written later, through writable(). Until then they are arbitrary.
  [[nodiscard]] bool extend(std::uint64_t count) noexcept {
    while (capacity_ - size_ < count)
      if (!grow()) return false;
    size_ += count;
    return true;
  }
  T* writable() noexcept { return data_; }
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

// Appends to a GrowingArray in two steps: one thread gives out places, in order, and any threads fill them.
//
//   place(3) --> 0      |. . .|
//   place(2) --> 3      |. . .|. .|         fill(3, ..) may come before fill(0, ..)
//
// The first write to a page makes the system clear it, so that is done by all threads, too.
//
// Promises   The elements stand in the order of their places, for any number of threads. The array may be read after
//            wait(), or when all threads that fill have ended; until then it belongs to this class, which outlives them.
// Does not   wake wait() if a place is never filled: do not wait after an error.
template <class T>
class PlacedAppend {
 public:
  explicit PlacedAppend(GrowingArray<T>& array) : array_(array) {}

  // The first of `count` places after all others. Nothing: there is no memory. One thread at a time.
  std::optional<std::uint64_t> place(std::uint64_t count) {
    const std::uint64_t first = array_.size();
    if (array_.capacity() - first < count) {
      const std::unique_lock alone(growing_);  // the elements may move
      if (!array_.extend(count)) return {};
    } else {
      (void)array_.extend(count);
    }
    unfilled_.fetch_add(count, std::memory_order_relaxed);
    return first;
  }
  // On any thread, once for each place.
  void fill(std::uint64_t first, std::span<const T> elements) {
    if (elements.empty()) return;
    {
      const std::shared_lock written(growing_);
      std::memcpy(array_.writable() + first, elements.data(), elements.size_bytes());
    }
    if (unfilled_.fetch_sub(elements.size(), std::memory_order_release) == elements.size()) unfilled_.notify_all();
  }
  // Until all places are filled; then the array may be read.
  void wait() const noexcept {
    for (std::uint64_t left; (left = unfilled_.load(std::memory_order_acquire)) != 0;) unfilled_.wait(left);
  }

 private:
  GrowingArray<T>& array_;
  std::shared_mutex growing_;
  std::atomic<std::uint64_t> unfilled_{0};
};

}  // namespace naysay
