// SPDX-License-Identifier: Apache-2.0
#include "parts/output.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "parts/failure.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

void mention_leftovers(const std::string& path) {
  for (const std::string& file : files::leftovers(path))
    note(fmt::format("{} was left there by a run that was killed; it can be removed", file));
}

Output::Output(const std::string& path) {
  if (path == "-") return;
  mention_leftovers(path);
  file_.emplace(need(files::AtomicFile::create(path)));
}

void Output::flush() {
  if (file_) {
    need(file_->append(std::as_bytes(std::span<const char>(buffer_))));
  } else {
    for (std::size_t done = 0; done < buffer_.size();) {
      const ssize_t n = ::write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw Failure{std::string("standard output: cannot write: ") + std::strerror(errno)};
      done += static_cast<std::size_t>(n);
    }
  }
  buffer_.clear();
}

void Output::finish() {
  flush();
  if (file_) need(file_->commit());
}

}  // namespace naysay::cli
