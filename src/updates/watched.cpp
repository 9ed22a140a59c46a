// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/watched.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "naysay/core/detail/memory.hpp"

namespace naysay {

Result<Watched::Stamp> Watched::stamp_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return Error{Errc::io, path + ": cannot stat: " + std::strerror(errno)};
  return Stamp{static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
               static_cast<std::uint64_t>(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

Watched::Watched(std::string path, Stamp stamp, std::vector<Partition> first, WatchOptions options)
    : path_(std::move(path)), options_(std::move(options)), list_(std::move(first)), stamp_(stamp) {}

Result<bool> Watched::refresh() {
  const std::lock_guard lock(looking_);
  auto looked = no_memory_is_an_error(path_, [&]() -> Result<bool> {
    NAYSAY_TRY(const Stamp now, stamp_of(path_));
    if (now == stamp_) return false;
    NAYSAY_TRY(std::vector<Partition> next, open_partitions(path_, options_.checks));
    list_.swap(std::move(next));
    stamp_ = now;
    swaps_.fetch_add(1);
    return true;
  });
  error_ = looked ? std::string() : looked.error().message;
  return looked;
}

std::string Watched::last_error() const {
  const std::lock_guard lock(looking_);
  return error_;
}

void Watched::watch() {
  std::unique_lock lock(ending_);
  while (!end_.wait_for(lock, options_.every, [&] { return ended_; })) {
    lock.unlock();
    (void)refresh();
    lock.lock();
  }
}

Watched::~Watched() {
  {
    const std::lock_guard lock(ending_);
    ended_ = true;
  }
  end_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

Result<std::unique_ptr<Watched>> open_watched(const std::string& folder, const WatchOptions& options) {
  return no_memory_is_an_error(folder, [&]() -> Result<std::unique_ptr<Watched>> {
    const std::string path = folder + "/" + kCurrentState;
    // The stamp first: a state that comes in between is found at the first look.
    NAYSAY_TRY(const Watched::Stamp stamp, Watched::stamp_of(path));
    NAYSAY_TRY(std::vector<Partition> first, open_partitions(path, options.checks));
    std::unique_ptr<Watched> list(new Watched(path, stamp, std::move(first), options));
    if (options.every.count() > 0) list->watcher_ = std::thread([watched = list.get()] { watched->watch(); });
    return list;
  });
}

}  // namespace naysay
