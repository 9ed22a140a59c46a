// SPDX-License-Identifier: Apache-2.0
// Failure: the one way a command gives up. main prints its sentence and exits with 2.
#pragma once

#include <string>
#include <utility>

#include "naysay/core/result.hpp"

namespace naysay::cli {

struct Failure {
  std::string message;
};

// The library's own sentence, and the option that would help where there is one.
inline Failure failure(Error error) {
  if (error.code == Errc::chosen_keys) error.message += ": use --hash siphash";
  return {std::move(error.message)};
}

// The value, or a Failure.
template <class T>
T need(Result<T> result) {
  if (!result) throw failure(std::move(result).error());
  return std::move(*result);
}

}  // namespace naysay::cli
