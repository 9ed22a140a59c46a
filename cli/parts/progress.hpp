// SPDX-License-Identifier: Apache-2.0
// ProgressBar: one line on the standard error that says what is being done and how far it is, only if that is a
// terminal. It fits the terminal's width, and it removes itself: at its end, and when a signal ends the tool.
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

  // The line, shorter than `columns`: the stage is cut first, then the bar left out. A total of 0 shows megabytes.
  static std::string text(std::string_view stage, std::uint64_t done, std::uint64_t total, std::size_t columns);

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  Clock::time_point next_;
};

}  // namespace naysay::cli
