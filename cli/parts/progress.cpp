// SPDX-License-Identifier: Apache-2.0
#include "parts/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

constexpr std::string_view kRemoveLine = "\r\x1b[K";

// ---- signals: what a handler may read ----

std::atomic<bool> line_is_there{false};
static_assert(std::atomic<bool>::is_always_lock_free);
constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before[std::size(kEndings)];  // what each did before us

// Removes the line, and does what would have been done without us.
void end_line(int signal) {
  if (line_is_there.exchange(false)) (void)!::write(STDERR_FILENO, kRemoveLine.data(), kRemoveLine.size());
  for (std::size_t i = 0; i < std::size(kEndings); ++i)
    if (kEndings[i] == signal) ::sigaction(signal, &before[i], nullptr);
  ::raise(signal);
}

// A signal that is ignored stays ignored.
void watch_signals() {
  static const bool once = [] {
    for (std::size_t i = 0; i < std::size(kEndings); ++i) {
      struct sigaction ours {};
      ours.sa_handler = end_line;
      if (::sigaction(kEndings[i], nullptr, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
        ::sigaction(kEndings[i], &ours, nullptr);
    }
    return true;
  }();
  (void)once;
}

// A terminal that cannot remove a line shows none.
bool can_remove_lines() {
  const char* kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) != "dumb" && *kind != '\0';
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1 && can_remove_lines()), next_(Clock::now()) {}

std::string ProgressBar::text(std::string_view stage, std::uint64_t done, std::uint64_t total, std::size_t columns) {
  constexpr std::uint64_t kWidth = 24;
  constexpr std::size_t kLeastStage = 12;                                // fewer columns say nothing
  const std::size_t room = columns - std::min<std::size_t>(columns, 1);  // a full line would begin the next one
  std::string bar, amount;
  if (total > 0) {
    const std::uint64_t part = std::min(done, total);
    const auto share = static_cast<double>(part) / static_cast<double>(total);
    const auto filled = static_cast<std::uint64_t>(share * kWidth);
    bar = fmt::format(" [{:#>{}}{:.>{}}]", "", filled, "", kWidth - filled);
    amount = fmt::format(" {:3} %", static_cast<int>(share * 100));
  } else {
    amount = fmt::format(" {:.0f} MB", static_cast<double>(done) / 1e6);
  }
  if (room < amount.size() + bar.size() + kLeastStage) bar.clear();
  const std::size_t left = room - std::min(room, amount.size() + bar.size());
  return cut(cut(escaped(stage), left) + bar + amount, room);
}

void ProgressBar::show(std::string_view stage, std::uint64_t done, std::uint64_t total) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (stage == stage_ && now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  stage_ = stage;
  watch_signals();
  line_is_there = shown_ = true;
  fmt::print(stderr, "{}{}", kRemoveLine, text(stage, done, total, columns_of(STDERR_FILENO)));
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (shown_) fmt::print(stderr, "{}", kRemoveLine);
  line_is_there = shown_ = false;
}

Progress ProgressBar::callback() {
  if (!terminal_) return {};
  return [this](std::string_view stage, std::uint64_t done, std::uint64_t total) { show(stage, done, total); };
}

}  // namespace naysay::cli
