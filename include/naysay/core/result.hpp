// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says in one sentence what is wrong and what would be right.
//
// A small relative of std::expected (C++23) that works without exceptions and RTTI.
//
//   Result<AnyFilter> f = open("set.nsy");
//   if (!f) return f.error();                 // an Error converts to any Result<U>
//   f->may_contain("example.org");
//
//   NAYSAY_TRY(AnyFilter f, open("set.nsy"));  // the same in one line: returns the error, or declares the value
//   NAYSAY_CHECK(f.save("copy.nsy"));          // for a Result<Ok>, whose value says nothing
//
//   open("set.nsy").value()                    // throws the message as std::runtime_error, where exceptions exist
//
// A message is one lower-case sentence: who, what is wrong with the value, what would be right.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

namespace naysay {

enum class Errc : std::uint8_t {
  invalid_argument = 1,  // a parameter, a key or a cost that makes no sense
  out_of_budget,         // no filter of this kind fits into the bits it was given
  build_failed,          // every seed was tried; the message says what could be changed
  corrupt,               // bytes that no naysay wrote, or that changed since
  unsupported,           // well formed, but of another version, filter or machine
  io,                    // the operating system refused
  no_memory,             // an allocation failed; nothing has changed
  cancelled,             // by a progress callback; nothing has changed
  chosen_keys,           // build_failed, and the digests share bits: with a secret hash key it would work
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
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // Anything that converts to T, such as a Keyed<Bloom> to a Result<AnyFilter>.
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Error>)
      Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Require has_value().
  T& operator*() & noexcept { return held(); }
  const T& operator*() const& noexcept { return held(); }
  T&& operator*() && noexcept { return std::move(held()); }
  T* operator->() noexcept { return &held(); }
  const T* operator->() const noexcept { return &held(); }

  // Require !has_value().
  const Error& error() const& noexcept {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && noexcept {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

  // The value, or `otherwise`.
  T value_or(T otherwise) const& { return has_value() ? held() : std::move(otherwise); }
  T value_or(T otherwise) && { return has_value() ? std::move(held()) : std::move(otherwise); }

  // The Result of next(value), or the error.
  template <class Next>
  auto and_then(Next&& next) && -> std::invoke_result_t<Next, T&&> {
    if (!has_value()) return std::move(*this).error();
    return std::forward<Next>(next)(std::move(held()));
  }
  template <class Next>
  auto and_then(Next&& next) & -> std::invoke_result_t<Next, T&> {
    if (!has_value()) return error();
    return std::forward<Next>(next)(held());
  }

#if defined(__cpp_exceptions)
  // The value; throws std::runtime_error with the message if there is none.
  T& value() & { return checked(), held(); }
  const T& value() const& { return checked(), held(); }
  T&& value() && { return checked(), std::move(held()); }
#endif

 private:
  T& held() noexcept {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& held() const noexcept {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
#if defined(__cpp_exceptions)
  void checked() const {
    if (!has_value()) throw std::runtime_error(error().message);
  }
#endif

  std::variant<T, Error> state_;
};

}  // namespace naysay

#define NAYSAY_JOIN_TOKENS_(a, b) a##b
#define NAYSAY_JOIN_TOKENS(a, b) NAYSAY_JOIN_TOKENS_(a, b)

// NAYSAY_TRY(declaration, result): returns the error of `result` from this function, or declares its value.
#define NAYSAY_TRY(declaration, ...) \
  NAYSAY_TRY_AS(NAYSAY_JOIN_TOKENS(naysay_result_, __LINE__), declaration, __VA_ARGS__)
#define NAYSAY_TRY_AS(result, declaration, ...)  \
  auto result = (__VA_ARGS__);                   \
  if (!result) return std::move(result).error(); \
  declaration = *std::move(result)

// NAYSAY_CHECK(result): returns the error of `result` from this function, if it has one.
#define NAYSAY_CHECK(...) \
  if (auto naysay_checked = (__VA_ARGS__); !naysay_checked) return std::move(naysay_checked).error()
