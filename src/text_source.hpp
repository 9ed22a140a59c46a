// SPDX-License-Identifier: Apache-2.0
// TextSource: the text of a file of keys, whatever it is packed in. LineReader and for_each_piece read from it.
//
//   file or pipe --> RawBytes --> PlainSource, GzipSource or ZstdSource, chosen by the first bytes --> text
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/result.hpp"
#include "naysay/workload/keys.hpp"

namespace naysay {

// The bytes of the file as they lie on the disk, through a buffer that can be looked at before it is used.
class RawBytes {
 public:
  ~RawBytes() {
    if (fd_ > 0) ::close(fd_);
  }
  RawBytes() = default;
  RawBytes(const RawBytes&) = delete;
  RawBytes& operator=(const RawBytes&) = delete;

  Result<Ok> open(const KeyFile& file) {
    name = file.name();
    fd_ = file.path == "-" ? 0 : ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return os_error("open");
    struct stat info {};
    if (::fstat(fd_, &info) != 0) return os_error("stat");
    if (S_ISDIR(info.st_mode))
      return Error{Errc::io, name + ": is a directory; give a file of keys, or - for the standard input"};
    regular = S_ISREG(info.st_mode);
    if (regular) total = static_cast<std::uint64_t>(info.st_size);
    buffer_.resize(kReadBytes);
    return Ok{};
  }

  std::span<const char> unread() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  void drop(std::size_t n) noexcept { begin_ += n; }

  // Makes unread() non-empty, unless the file is at its end.
  Result<Ok> fill() {
    if (begin_ < end_ || at_end_) return Ok{};
    begin_ = end_ = 0;
    return fill_more();
  }

  // Makes unread() hold this many bytes, unless the file is at its end.
  Result<Ok> fill_to(std::size_t count) {
    if (end_ - begin_ >= count) return Ok{};
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() < count) buffer_.resize(count);
    while (end_ < count && !at_end_) NAYSAY_CHECK(fill_more());
    return Ok{};
  }
  // One more read(2) behind what is unread, which must leave room in the buffer.
  Result<Ok> fill_more() {
    NAYSAY_TRY(const std::size_t n, read_into(std::span(buffer_).subspan(end_)));
    end_ += n;
    return Ok{};
  }

  // Past the buffer, once that is used up. 0: the end.
  Result<std::size_t> read_into(std::span<char> to) {
    for (;;) {
      const ssize_t n = ::read(fd_, to.data(), to.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_error("read");
      at_end_ = n == 0;
      done += static_cast<std::uint64_t>(n);
      return static_cast<std::size_t>(n);
    }
  }

  // The bytes from `offset` on, as many as there are and fit. Any number of threads may call it. Requires `regular`.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> to) const {
    std::size_t got = 0;
    while (got < to.size()) {
      const ssize_t n = ::pread(fd_, to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_error("read");
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }
  // Whether a read would return at once.
  bool more_is_there() const noexcept {
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
  }

  bool at_end() const noexcept { return at_end_; }

  std::string name;
  std::uint64_t done = 0, total = 0;
  bool regular = false;

 private:
  static constexpr std::size_t kReadBytes = std::size_t{1} << 17;  // read(2) gains nothing from more

  Error os_error(const char* what) const { return {Errc::io, name + ": cannot " + what + ": " + std::strerror(errno)}; }

  int fd_ = -1;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

class TextSource {
 public:
  explicit TextSource(std::unique_ptr<RawBytes> bytes) : raw(std::move(bytes)) {}
  virtual ~TextSource() = default;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  // Writes some bytes of text to `to`, which has room; 0: the end.
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  virtual bool packed() const noexcept { return true; }
  // Takes the next parts of a packed file that can be unpacked without the rest, for unpack_frames. Of no count: there
  // is none of a moderate size, and read() goes on.
  struct Frames {
    std::size_t count = 0, text = 0;  // text: their bytes, once unpacked
  };
  virtual Result<Frames> take_frames(std::vector<char>&) { return Frames{}; }

  std::unique_ptr<RawBytes> raw;
};

// Refuses packed files that we do not read, and filters.
Result<std::unique_ptr<TextSource>> open_text(const KeyFile& file);

Error utf16_error(const std::string& name);

// The text of what take_frames took, which is as long as that said. Any number of threads may call it.
Result<Ok> unpack_frames(const std::string& name, std::span<const char> packed, std::span<char> text);

}  // namespace naysay
