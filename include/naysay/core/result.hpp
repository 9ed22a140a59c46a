// Result<T>: a value, or an Error that says in one sentence what is wrong and what would be right.
//
// A small look-alike of std::expected (C++23) that works without exceptions and RTTI.
//
//   Result<Bloom> f = Bloom::build(workload, params);
//   if (!f) return f.error();        // an Error converts to any Result<U>
//   f->may_contain(digest);
//
// Message = who: what is wrong, with the value; what would be right. One lower-case sentence, units included.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace naysay {

enum class Errc : std::uint8_t {
  invalid_argument = 1,  // a parameter, a key or a cost that makes no sense
  out_of_budget,         // no filter of this kind fits into the bits it was given
  build_failed,          // every seed was tried; the message says what could be changed
  corrupt,               // bytes that no naysay wrote, or that changed since
  unsupported,           // well formed, but of another version, filter or machine
  io,                    // the operating system said no
};

struct Error {
  Errc code = Errc::invalid_argument;
  std::string message;
};

// The value of a Result that has nothing to say but "it worked".
struct Ok {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Requires has_value().
  T& operator*() & noexcept { return value(); }
  const T& operator*() const& noexcept { return value(); }
  T&& operator*() && noexcept { return std::move(value()); }
  T* operator->() noexcept { return &value(); }
  const T* operator->() const noexcept { return &value(); }

  // Requires !has_value().
  const Error& error() const& noexcept {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && noexcept {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  T& value() noexcept {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const noexcept {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

}  // namespace naysay
