// SPDX-License-Identifier: Apache-2.0
// Watched: the list in a folder that `naysay fetch --into` keeps, swapped while threads query it.
//
//   auto list = naysay::open_watched("lists/phishing");       // Result<std::unique_ptr<Watched>>
//   (*list)->may_contain("evil.example");                     // any thread, any time
//
//   fetch --> folder/current.nst, by rename --> a thread looks every second --> opens, checks --> Swapped::swap
//
// Promises   A query sees one whole state, the old or the new. A new state that cannot be opened, or fails a check, is
//            left alone: the list stays as it is, and last_error() says why.
// Cost       a query: two atomic additions more than the stack's. A look at the folder: one stat.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/live/swapped.hpp"
#include "naysay/updates/stack.hpp"

namespace naysay {

inline constexpr const char* kCurrentState = "current.nst";  // of a folder that fetch keeps
inline constexpr const char* kPreviousState = "previous.nst";

struct WatchOptions {
  std::chrono::milliseconds every{1000};  // 0: only refresh() looks
  StackChecks checks = {};
};

class NAYSAY_EXPORT Watched {
 public:
  // Calls use(const std::vector<Partition>&), whose reference must not be kept.
  template <class Use>
  auto read(Use&& use) const {
    return list_.read(std::forward<Use>(use));
  }
  // Whether any partition accepts the key.
  template <Key T>
  bool may_contain(const T& key) const noexcept {
    return read([&](const std::vector<Partition>& parts) {
      for (const Partition& p : parts)
        if (p.stack.may_contain(key)) return true;
      return false;
    });
  }

  // Looks now. True if there was a new state and it is in use.
  Result<bool> refresh();
  std::uint64_t swaps() const noexcept { return swaps_.load(); }
  std::string last_error() const;  // empty: the last look went well

  ~Watched();

 private:
  friend Result<std::unique_ptr<Watched>> open_watched(const std::string& folder, const WatchOptions& options);
  struct Stamp {  // which file it is
    std::uint64_t device = 0, node = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  Watched(std::string path, Stamp stamp, std::vector<Partition> first, WatchOptions options);
  static Result<Stamp> stamp_of(const std::string& path);
  void watch();

  const std::string path_;
  const WatchOptions options_;
  Swapped<std::vector<Partition>> list_;
  std::atomic<std::uint64_t> swaps_{0};
  mutable std::mutex looking_;  // protects stamp_ and error_
  Stamp stamp_;
  std::string error_;
  std::mutex ending_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread watcher_;
};

// Fails if the folder holds no state, or one that fails a check.
NAYSAY_EXPORT Result<std::unique_ptr<Watched>> open_watched(const std::string& folder,
                                                            const WatchOptions& options = {});

}  // namespace naysay
