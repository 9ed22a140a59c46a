// SPDX-License-Identifier: Apache-2.0
// Out of memory. no_memory_is_an_error: runs a body that returns a Result, and turns a failed allocation in it into an
// Error. grow_to: the same for a vector, where only a bool can be returned.
//
// Without exceptions a failed allocation ends the program in the standard library, and nothing can be done here.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "naysay/core/result.hpp"

namespace naysay {

inline Error out_of_memory(std::string_view who) {
  Error e{Errc::no_memory, {}};
#if defined(__cpp_exceptions)
  try {
#endif
    e.message = std::string(who) + ": not enough memory; nothing has changed";
#if defined(__cpp_exceptions)
  } catch (...) {  // not even for a sentence
  }
#endif
  return e;
}

template <class Body>
auto no_memory_is_an_error(std::string_view who, Body&& body) -> std::invoke_result_t<Body> {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory(who);
  } catch (const std::length_error&) {  // a container was asked for more than can exist
    return out_of_memory(who);
  }
#else
  (void)who;
  return body();
#endif
}

// Makes a vector at least this long. False, and nothing changed, if there is no memory for it.
template <class Vector>
bool grow_to(Vector& vector, std::size_t size) noexcept {
#if defined(__cpp_exceptions)
  try {
#endif
    if (vector.size() < size) vector.resize(size);
#if defined(__cpp_exceptions)
  } catch (...) {
    return false;
  }
#endif
  return true;
}

// Makes room for `size` elements in a vector. False, and nothing changed, if there is no memory for it.
template <class Vector>
bool reserve_for(Vector& vector, std::size_t size) noexcept {
#if defined(__cpp_exceptions)
  try {
#endif
    vector.reserve(size);
#if defined(__cpp_exceptions)
  } catch (...) {
    return false;
  }
#endif
  return true;
}

}  // namespace naysay
