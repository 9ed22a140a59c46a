// SPDX-License-Identifier: Apache-2.0
// FieldPlan: where the fields of an object will stand in its file, before anything is written.
//
// It walks a fields() list as FieldWriter (core/archive.hpp) does and notes for each array its place and its memory, and
// for all else the bytes themselves. So a file can be written in any order and without a copy of the arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "naysay/core/archive.hpp"

namespace naysay::live::detail {

class FieldPlan {
 public:
  struct Array {
    std::uint64_t at;       // in the file
    const std::byte* data;  // in memory
    std::uint64_t size;     // in bytes
  };
  struct Bytes {
    std::uint64_t at;
    std::vector<std::byte> bytes;
  };

  explicit FieldPlan(std::uint64_t at) : size_(at) {}

  std::uint64_t size() const noexcept { return size_; }
  const std::vector<Array>& arrays() const noexcept { return arrays_; }
  const std::vector<Bytes>& others() const noexcept { return others_; }

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (Scalar<T>) {
      put(&value, sizeof value);
    } else if constexpr (archive_detail::is_array<T>) {
      const std::uint64_t n = value.size(), bytes = n * sizeof(value[0]);
      put(&n, sizeof n);
      const std::vector<std::byte> zeros((kFileAlignment - size_ % kFileAlignment) % kFileAlignment);
      put(zeros.data(), zeros.size());
      if (bytes != 0) arrays_.push_back({size_, reinterpret_cast<const std::byte*>(value.data()), bytes});
      size_ += bytes;
    } else if constexpr (archive_detail::is_vector<T>) {
      const std::uint64_t n = value.size();
      put(&n, sizeof n);
      for (const auto& element : value) (*this)("", element);
    } else {
      static_assert(Described<T>, "a field is a scalar, an Array, a vector or a described type");
      T::fields(value, *this);
    }
  }

 private:
  void put(const void* p, std::size_t n) {
    if (n == 0) return;
    if (others_.empty() || others_.back().at + others_.back().bytes.size() != size_) others_.push_back({size_, {}});
    std::vector<std::byte>& to = others_.back().bytes;
    to.resize(to.size() + n);
    std::memcpy(to.data() + to.size() - n, p, n);
    size_ += n;
  }

  std::vector<Array> arrays_;
  std::vector<Bytes> others_;
  std::uint64_t size_;
};

}  // namespace naysay::live::detail
