// SPDX-License-Identifier: Apache-2.0
// no_memory_is_an_error: runs a body that returns a Result, and turns a failed allocation in it into an Error.
//
// Without exceptions a failed allocation ends the program in the standard library, and nothing can be done here.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "naysay/core/result.hpp"

namespace naysay {

inline Error no_memory(std::string_view who) {
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
    return no_memory(who);
  } catch (const std::length_error&) {  // a container was asked for more than can exist
    return no_memory(who);
  }
#else
  (void)who;
  return body();
#endif
}

}  // namespace naysay
