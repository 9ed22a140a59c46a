// SPDX-License-Identifier: Apache-2.0
// Progress: called now and then during a long build, and the way to cancel it.
//
//   options.progress = [&](std::string_view stage, std::uint64_t done, std::uint64_t total) {
//     show(stage, done, total);
//     return !interrupted;          // false cancels the build; a function that returns nothing never does
//   };
//
// Promises   called from one thread at a time, which may be a worker of the build. After it returned false it is not
//            called again, and the build returns Errc::cancelled as soon as its threads notice: each looks once in
//            kTellEvery keys, or once for each shard.
// Does not   forget: a Progress that cancelled once cancels every build that is given it or a copy of it.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "naysay/core/result.hpp"

namespace naysay {

class Progress {
 public:
  Progress() = default;
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, Progress> &&
           std::invocable<Function&, std::string_view, std::uint64_t, std::uint64_t>) Progress(Function&& function)
      : state_(std::make_shared<State>()) {
    using Answer = std::invoke_result_t<Function&, std::string_view, std::uint64_t, std::uint64_t>;
    if constexpr (std::is_void_v<Answer>)
      state_->function = [f = std::forward<Function>(function)](std::string_view stage, std::uint64_t done,
                                                                std::uint64_t total) mutable {
        f(stage, done, total);
        return true;
      };
    else
      state_->function = std::forward<Function>(function);
  }

  // Is there a function to call?
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // False: the work is cancelled.
  bool operator()(std::string_view stage, std::uint64_t done, std::uint64_t total) const {
    if (!state_) return true;
    if (!cancelled() && !state_->function(stage, done, total)) state_->cancelled.store(true);
    return !cancelled();
  }
  bool cancelled() const noexcept { return state_ && state_->cancelled.load(std::memory_order_relaxed); }

 private:
  struct State {
    std::function<bool(std::string_view, std::uint64_t, std::uint64_t)> function;
    std::atomic<bool> cancelled{false};
  };
  std::shared_ptr<State> state_;
};

// A loop over keys calls progress once in this many.
inline constexpr std::uint64_t kTellEvery = std::uint64_t{1} << 16;

inline Error cancelled_error(std::string_view who) {
  return {Errc::cancelled, std::string(who) + ": cancelled by its progress callback; nothing was built"};
}

}  // namespace naysay
