// SPDX-License-Identifier: Apache-2.0
// ProgressBar: one line on the standard error that says what is being done and how far it is, only if that is a
// terminal. It removes itself.
//
//   reading keys.txt [##########..............]  42 %
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "naysay/core/filter.hpp"

namespace naysay::cli {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::string_view stage, std::uint64_t done, std::uint64_t total);
  void clear();
  // Empty where there is no terminal, so that it costs nothing. Must not outlive this.
  Progress callback();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  Clock::time_point next_;
};

}  // namespace naysay::cli
