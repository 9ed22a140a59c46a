// SPDX-License-Identifier: Apache-2.0
// Archive: everything that walks a fields() list. Members are named once; saving, loading, sizing, owning, printing
// and parsing are visitors of that one list.
//
//   template <class Self, class V>
//   static void fields(Self& self, V& visit) {
//     visit("k", self.k_);              a scalar: integers, bool, float, double, named enums
//     visit("words", self.words_);      an Array<T>, or a Directory<T>, which has the same bytes
//     visit("base", self.base_);        another described type
//     visit("layers", self.layers_);    a std::vector of described types
//   }
//
// Bytes:  scalar      its little-endian bytes
//         Array<T>    u64 length, zero padding up to a multiple of the alignment, the elements
//         described   its fields, one after the other
//         vector      u64 length, its elements
//
// The alignment is 64 in files (a mapped file is queried in place) and alignof(T) in bare payloads. Padding counts
// from the start of the buffer the writer was given.
//
// A named enum is one for which `std::span<const std::string_view> enum_names(E)` is found; its values are 0, 1, ...
//
// Promises   loading never allocates more than the bytes present can fill, whatever the lengths say; a field that
//            does not fit is named in the error.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "naysay/core/array.hpp"
#include "naysay/core/byte_stream.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

namespace archive_detail {
struct AnyVisitor {
  template <class T>
  void operator()(std::string_view, T&) {}
};
template <class T>
inline constexpr bool is_array = false;
template <class T>
inline constexpr bool is_array<Array<T>> = true;
template <class T>
inline constexpr bool is_array<Directory<T>> = true;
template <class T>
inline constexpr bool is_directory = false;
template <class T>
inline constexpr bool is_directory<Directory<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
}  // namespace archive_detail

// A type whose members are named once, in fields().
template <class T>
concept Described = requires(T& t, const T& c, archive_detail::AnyVisitor& v) {
  T::fields(t, v);
  T::fields(c, v);
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T t) {
  { enum_names(t) } -> std::convertible_to<std::span<const std::string_view>>;
};

template <class T>
concept Scalar = std::is_arithmetic_v<T> || NamedEnum<T>;

inline constexpr std::size_t kFileAlignment = kCacheLine;

// Where the fields of an object will stand in its file, before anything is written. It has the bytes of all that is
// small, and of each array its place and its memory. So a file is written in pieces, in any order, and without a copy
// of its arrays. Requires that the object does not change while the plan is used.
class FieldPlan {
 public:
  struct Piece {
    std::uint64_t at;       // in the file
    std::uint64_t size;     // in bytes
    const std::byte* data;  // of an array; null: of the small bytes, from `offset` on
    std::uint64_t offset;
  };

  // The first field stands at `at`. Alignment 0: each array is aligned to its element only.
  explicit FieldPlan(std::uint64_t at = 0, std::size_t alignment = 0) : first_(at), end_(at), alignment_(alignment) {}

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (Scalar<T>) {
      put(&value, sizeof value);
    } else if constexpr (archive_detail::is_array<T>) {
      using E = std::remove_cvref_t<decltype(value[0])>;
      const std::uint64_t n = value.size();
      put(&n, sizeof n);
      pad(alignment_ ? alignment_ : alignof(E));
      if (n != 0) pieces_.push_back({end_, n * sizeof(E), reinterpret_cast<const std::byte*>(value.data()), 0});
      end_ += n * sizeof(E);
    } else if constexpr (archive_detail::is_vector<T>) {
      const std::uint64_t n = value.size();
      put(&n, sizeof n);
      for (const auto& element : value) (*this)("", element);
    } else {
      static_assert(Described<T>, "a field is a scalar, an Array, a vector or a described type");
      T::fields(value, *this);
    }
  }

  std::uint64_t begin() const noexcept { return first_; }
  std::uint64_t end() const noexcept { return end_; }
  const std::vector<Piece>& pieces() const noexcept { return pieces_; }  // in their order, without gaps
  std::span<const std::byte> bytes(const Piece& piece) const noexcept {
    return {piece.data ? piece.data : small_.data() + piece.offset, piece.size};
  }
  // The bytes at file offset `at`. Requires begin() <= at and at + out.size() <= end().
  void copy(std::uint64_t at, std::span<std::byte> out) const noexcept {
    auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                  [](std::uint64_t x, const Piece& p) { return x < p.at + p.size; });
    for (; !out.empty(); ++piece) {
      const std::uint64_t skip = at - piece->at, n = std::min<std::uint64_t>(piece->size - skip, out.size());
      std::memcpy(out.data(), bytes(*piece).data() + skip, n);
      at += n;
      out = out.subspan(n);
    }
  }

 private:
  void put(const void* p, std::size_t n) {
    const std::size_t offset = grow(n);
    if (n != 0) std::memcpy(small_.data() + offset, p, n);
  }
  void pad(std::size_t alignment) { grow((alignment - end_ % alignment) % alignment); }
  // Room for n small bytes, zeros.
  std::size_t grow(std::size_t n) {
    const std::size_t offset = small_.size();
    if (n == 0) return offset;
    if (pieces_.empty() || pieces_.back().data) pieces_.push_back({end_, 0, nullptr, offset});
    small_.resize(offset + n);
    pieces_.back().size += n;
    end_ += n;
    return offset;
  }

  std::vector<Piece> pieces_;
  std::vector<std::byte> small_;
  std::uint64_t first_, end_;
  std::size_t alignment_;
};

// Appends fields to a buffer.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out, std::size_t alignment = 0) : out_(out), alignment_(alignment) {}

  template <class T>
  void operator()(std::string_view name, const T& value) {
    FieldPlan plan(out_.size(), alignment_);
    plan(name, value);
    out_.resize(plan.end());
    plan.copy(plan.begin(), std::span(out_).subspan(plan.begin()));
  }

 private:
  std::vector<std::byte>& out_;
  std::size_t alignment_;
};

// Reads fields back. After the first field that does not fit, nothing more is read and error() says which it was.
class FieldReader {
 public:
  enum class Arrays { copy, borrow };

  // Reads `bytes` from offset `at` on. With Arrays::borrow an array whose elements are aligned in memory is a view,
  // unless it is a Directory. `version` is the format version of the file, for fields() that differ between versions.
  FieldReader(std::span<const std::byte> bytes, std::size_t at, std::size_t alignment, Arrays arrays,
              std::uint32_t version = UINT32_MAX)
      : bytes_(bytes), at_(at), end_(bytes.size()), alignment_(alignment), arrays_(arrays), version_(version) {}
  // Reads what comes from a stream that is at offset `at` of a file of `end` bytes.
  FieldReader(ByteStream& stream, std::uint64_t at, std::uint64_t end, std::size_t alignment,
              std::uint32_t version = UINT32_MAX)
      : stream_(&stream), at_(at), end_(end), alignment_(alignment), arrays_(Arrays::copy), version_(version) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    if (!ok()) return;
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t raw = 0;
      if (!take(name, &raw, 1)) return;
      if (raw > 1) return fail("field '" + std::string(name) + "' is " + std::to_string(raw) + "; it must be 0 or 1");
      value = raw == 1;
    } else if constexpr (NamedEnum<T>) {
      std::underlying_type_t<T> raw{};
      if (!take(name, &raw, sizeof raw)) return;
      const std::uint64_t count = enum_names(T{}).size();
      if (static_cast<std::uint64_t>(raw) >= count)
        return fail("field '" + std::string(name) + "' is " + std::to_string(raw) + "; it must be less than " +
                    std::to_string(count));
      value = static_cast<T>(raw);
    } else if constexpr (Scalar<T>) {
      take(name, &value, sizeof value);
    } else if constexpr (archive_detail::is_array<T>) {
      read_array(name, value, archive_detail::is_directory<T> ? Arrays::copy : arrays_);
    } else if constexpr (archive_detail::is_vector<T>) {
      std::uint64_t n = 0;
      if (!take(name, &n, sizeof n)) return;
      value.clear();
      for (std::uint64_t i = 0; i < n && ok(); ++i) {  // grows with the bytes that are really there
        if (left() == 0) return fail_short(name, n - i);
        (*this)(name, value.emplace_back());
      }
    } else {
      static_assert(Described<T>, "a field is a scalar, an Array, a vector or a described type");
      T::fields(value, *this);
    }
  }

  bool ok() const noexcept { return error_.empty(); }
  const std::string& error() const noexcept { return error_; }
  std::size_t position() const noexcept { return at_; }
  std::size_t left() const noexcept { return end_ - at_; }
  std::uint32_t version() const noexcept { return version_; }

  // For a type that finds what it read to be wrong.
  void fail(std::string message) { error_ = std::move(message); }

 private:
  template <class E>
  void read_array(std::string_view name, Array<E>& value, Arrays how) {
    std::uint64_t n = 0;
    if (!take(name, &n, sizeof n)) return;
    const std::size_t alignment = alignment_ ? alignment_ : alignof(E);
    const std::size_t padding = (alignment - at_ % alignment) % alignment;
    if (padding > left()) return fail_short(name, padding);
    if (stream_ && !stream_->skip(padding)) return fail_ended(name);
    at_ += padding;
    if (n > left() / sizeof(E)) return fail_short(name, n <= UINT64_MAX / sizeof(E) ? n * sizeof(E) : UINT64_MAX);
    if (stream_) {
      value = Array<E>::make_raw(n);  // not touched before its bytes come: a length that lies costs no memory
      if (!stream_->read(std::as_writable_bytes(std::span(value.mutable_data(), n)))) return fail_ended(name);
      at_ += n * sizeof(E);
      return;
    }
    const std::byte* p = bytes_.data() + at_;
    if (how == Arrays::borrow && reinterpret_cast<std::uintptr_t>(p) % alignof(E) == 0) {
      value = Array<E>::borrow(reinterpret_cast<const E*>(p), n);
    } else {
      value = Array<E>(n);
      if (n != 0) std::memcpy(value.mutable_data(), p, n * sizeof(E));
    }
    at_ += n * sizeof(E);
  }
  bool take(std::string_view name, void* to, std::size_t n) {
    if (n > left()) {
      fail_short(name, n);
      return false;
    }
    if (stream_) {
      if (!stream_->read({static_cast<std::byte*>(to), n})) {
        fail_ended(name);
        return false;
      }
    } else {
      std::memcpy(to, bytes_.data() + at_, n);
    }
    at_ += n;
    return true;
  }
  void fail_short(std::string_view name, std::uint64_t needed) {
    fail("field '" + std::string(name) + "' needs " + std::to_string(needed) + " bytes; " + std::to_string(left()) +
         " are left");
  }

  void fail_ended(std::string_view name) { fail("the bytes end within field '" + std::string(name) + "'"); }

  std::span<const std::byte> bytes_;
  ByteStream* stream_ = nullptr;
  std::size_t at_, end_;
  std::size_t alignment_;
  Arrays arrays_;
  std::uint32_t version_;
  std::string error_;
};

// Adds up the bits of all fields: what a query needs, without padding and lengths.
class FieldSizer {
 public:
  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (Scalar<T>) {
      bits_ += 8 * sizeof value;
    } else if constexpr (archive_detail::is_array<T>) {
      bits_ += 8 * sizeof(value[0]) * value.size();
    } else if constexpr (archive_detail::is_vector<T>) {
      for (const auto& element : value) (*this)("", element);
    } else {
      T::fields(value, *this);
    }
  }
  std::uint64_t bits() const noexcept { return bits_; }

 private:
  std::uint64_t bits_ = 0;
};

// Makes every array of a filter owned, so that it can be changed. Arrays that are owned stay as they are.
class FieldOwner {
 public:
  template <class T>
  void operator()(std::string_view, T& value) {
    if constexpr (archive_detail::is_array<T>) {
      value.own();
    } else if constexpr (archive_detail::is_vector<T>) {
      for (auto& element : value) (*this)("", element);
    } else if constexpr (!Scalar<T>) {
      T::fields(value, *this);
    }
  }
};

template <Described T>
std::uint64_t bits_of_fields(const T& value) noexcept {
  FieldSizer size;
  T::fields(value, size);
  return size.bits();
}

// ---- text: parameters on a command line ------------------------------------------------------------------------

// The shortest text that reads back as the same value.
template <Scalar T>
std::string to_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (NamedEnum<T>) {
    return std::string(enum_names(value)[static_cast<std::size_t>(value)]);
  } else {
    char buffer[64];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  }
}

// A number for a message: at most four significant digits, and no digit of a whole number lost.
inline std::string rounded_text(double value) {
  char buffer[64];
  const auto end = std::abs(value) < 1e4 || std::abs(value) > 1e15
                       ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 4)
                       : std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 0);
  return std::string(buffer, end.ptr);
}
// The same, rounded up: for the least value that would do.
inline std::string rounded_up_text(double value) {
  if (!(value > 0) || value >= 1e4) return rounded_text(value);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 3);
  return rounded_text(std::ceil(value / unit - 1e-6) * unit);
}

// False, and value unchanged, if text is no value of this type. `what_is_right` then says what it should have been.
template <Scalar T>
bool from_text(std::string_view text, T& value, std::string& what_is_right) {
  if constexpr (std::is_same_v<T, bool>) {
    what_is_right = "true or false";
    if (text != "true" && text != "false" && text != "1" && text != "0") return false;
    value = text == "true" || text == "1";
    return true;
  } else if constexpr (NamedEnum<T>) {
    what_is_right.clear();
    std::size_t i = 0;
    for (std::string_view name : enum_names(T{})) {
      if (text == name) {
        value = static_cast<T>(i);
        return true;
      }
      what_is_right += (i++ == 0 ? "" : ", ") + std::string(name);
    }
    what_is_right = "one of " + what_is_right;
    return false;
  } else {
    what_is_right = std::is_integral_v<T> ? "a whole number" : "a number";
    if constexpr (std::is_integral_v<T>)
      what_is_right += " from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                       std::to_string(std::numeric_limits<T>::max());
    T parsed{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (ec != std::errc{} || end != text.data() + text.size()) return false;
    if constexpr (std::is_floating_point_v<T>) {
      if (parsed != parsed || parsed - parsed != 0) return false;  // NaN, infinity
    }
    value = parsed;
    return true;
  }
}

// A parameter by name: {"bits_per_key", "12"}, or with its value as it is, {"bits_per_key", 12}.
struct Param {
  std::string name;
  std::string value;

  Param(std::string parameter, std::string text) : name(std::move(parameter)), value(std::move(text)) {}
  Param(std::string parameter, std::string_view text) : name(std::move(parameter)), value(text) {}
  Param(std::string parameter, const char* text) : name(std::move(parameter)), value(text) {}
  template <Scalar T>
  Param(std::string parameter, T number) : name(std::move(parameter)), value(to_text(number)) {}
};

// All fields as text, in their order. For flat structs of scalars, as Params are.
template <Described T>
std::vector<Param> params_to_text(const T& params) {
  std::vector<Param> out;
  auto visit = [&](std::string_view name, const auto& value) { out.push_back({std::string(name), to_text(value)}); };
  T::fields(params, visit);
  return out;
}

// Sets the named fields. `who` begins the error message.
template <Described T>
Result<Ok> params_from_text(std::string_view who, std::span<const Param> texts, T& params) {
  for (const Param& text : texts) {
    bool found = false;
    std::string wrong, names;
    auto visit = [&](std::string_view name, auto& value) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      if (name != text.name) return;
      found = true;
      std::string right;
      if (!from_text(text.value, value, right)) wrong = right;
    };
    T::fields(params, visit);
    const std::string start = std::string(who) + ": ";
    if (!found) return Error{Errc::invalid_argument, start + "no parameter '" + text.name + "'; it accepts " + names};
    if (!wrong.empty())
      return Error{Errc::invalid_argument, start + text.name + " is '" + text.value + "'; it must be " + wrong};
  }
  return Ok{};
}

}  // namespace naysay
