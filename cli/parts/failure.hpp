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

// The value, or a Failure with the library's own sentence.
template <class T>
T need(Result<T> result) {
  if (!result) throw Failure{std::move(result).error().message};
  return std::move(*result);
}

}  // namespace naysay::cli
