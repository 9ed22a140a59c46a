// SPDX-License-Identifier: Apache-2.0
#include "parts/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace naysay::cli {

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1), next_(Clock::now()) {}

void ProgressBar::show(std::string_view stage, std::uint64_t done, std::uint64_t total) {
  constexpr std::uint64_t kWidth = 24;
  if (!terminal_) return;
  const auto now = Clock::now();
  if (stage == stage_ && now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  stage_ = stage;
  if (total > 0) {
    const std::uint64_t part = std::min(done, total);
    const std::uint64_t filled = part * kWidth / total;
    fmt::print(stderr, "\r\x1b[K{} [{:#>{}}{:.>{}}] {:3} %", stage, "", filled, "", kWidth - filled,
               part * 100 / total);
  } else {
    fmt::print(stderr, "\r\x1b[K{} {:.0f} MB", stage, static_cast<double>(done) / 1e6);
  }
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

Progress ProgressBar::callback() {
  if (!terminal_) return {};
  return [this](std::string_view stage, std::uint64_t done, std::uint64_t total) { show(stage, done, total); };
}

}  // namespace naysay::cli
