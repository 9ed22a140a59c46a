// SPDX-License-Identifier: Apache-2.0
// Own lines: a rank's share of the lines of a file.
//
//   bytes   |aaaaaaa\nbbbb|bb\ncccc\nddd|ddd\n....|      cut into equal ranges, one for each rank
//   rank     a, b          c, d          ...             a line belongs to the range in which it begins
//
// Each thread of a rank has a range of its own. A file that cannot be cut (gzip, zstd, a pipe) is read whole by one thread;
// several such files by different ranks, and then by different threads of them. Lines are what LineReader (workload/keys.hpp)
// says: blank ones are left out, "\r\n" ends a line as "\n" does, a byte order mark belongs to no key.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/workload/keys.hpp"

namespace naysay::mpi {

class OwnLines {
 public:
  // The share of one thread; all ranks have as many threads.
  OwnLines(unsigned rank, unsigned ranks, unsigned thread, unsigned threads)
      : rank_(rank), ranks_(ranks), thread_(thread), threads_(threads) {}

  // Calls body(text) for each own line of the index-th file. Stops at the first error, and puts file and line in front
  // of it.
  template <class Body>
  Result<Ok> for_each(const KeyFile& file, std::size_t index, Body body) {
    const bool first = rank_ == 0 && thread_ == 0,
               own = file.path == "-" ? first : index % ranks_ == rank_ && index / ranks_ % threads_ == thread_;
    const int fd = file.path == "-" ? -1 : ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file.path != "-" && fd < 0) return os_error(file, "open");
    const Closed closed{fd};
    struct stat info {};
    if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || is_packed(fd))
      return own ? whole(file, body) : Ok{};
    if (own) {  // what is no text at all is refused as everywhere
      NAYSAY_TRY(LineReader probe, LineReader::open(file));
      NAYSAY_TRY(const auto lines, probe.next());
      (void)lines;
    }
    const auto size = static_cast<std::uint64_t>(info.st_size);
    const std::uint64_t share = std::uint64_t{rank_} * threads_ + thread_, shares = std::uint64_t{ranks_} * threads_;
    const auto cut = [&](std::uint64_t i) { return static_cast<std::uint64_t>(Uint128{size} * i / shares); };
    return range(file, fd, cut(share), cut(share + 1), body);
  }

 private:
  struct Closed {
    int fd;
    ~Closed() {
      if (fd >= 0) ::close(fd);
    }
  };
  static Error os_error(const KeyFile& file, const char* what) {
    return {Errc::io, file.name() + ": cannot " + what + ": " + std::strerror(errno)};
  }
  static bool is_packed(int fd) {
    std::array<unsigned char, 4> b{};
    if (::pread(fd, b.data(), b.size(), 0) < 2) return false;
    const bool gzip = b[0] == 0x1f && b[1] == 0x8b, zstd = b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd,
               skippable = (b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18;
    return gzip || zstd || skippable;
  }

  template <class Body>
  static Result<Ok> whole(const KeyFile& file, Body& body) {
    return for_each_line(file, {}, [&](const Line& line) { return body(line.text); });
  }

  template <class Body>
  static Result<Ok> range(const KeyFile& file, int fd, std::uint64_t begin, std::uint64_t end, Body& body) {
    if (begin == end) return Ok{};
    const char separator = static_cast<char>(file.separator);
    const bool text = separator == '\n';
    std::vector<char> buffer(std::size_t{1} << 20);
    std::uint64_t at = begin > 0 ? begin - 1 : 0;  // of buffer[0] in the file
    std::size_t have = 0, searched = 0;
    bool skipping = begin > 0;  // what begins in the range before
    for (;;) {
      const ssize_t n = ::pread(fd, buffer.data() + have, buffer.size() - have, static_cast<off_t>(at + have));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return os_error(file, "read");
      have += static_cast<std::size_t>(n);
      std::size_t from = 0;
      const auto take = [&](std::size_t stop) -> Result<Ok> {
        std::string_view line(buffer.data() + from, stop - from);
        if (text && at + from == 0 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
        if (text && !line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty()) return Ok{};
        auto ok = body(line);
        if (ok) return ok;
        return Error{ok.error().code, file.name() + ":" + std::to_string(line_number(fd, at + from, separator)) + ": " +
                                          ok.error().message};
      };
      while (searched < have) {
        const void* found = std::memchr(buffer.data() + searched, separator, have - searched);
        if (!found) break;
        const auto stop = static_cast<std::size_t>(static_cast<const char*>(found) - buffer.data());
        if (!skipping) NAYSAY_CHECK(take(stop));
        skipping = false;
        from = searched = stop + 1;
        if (at + from >= end) return Ok{};
      }
      searched = have;
      if (skipping) from = have;
      if (n == 0) {
        if (!skipping && from < have) return take(have);
        return Ok{};
      }
      std::memmove(buffer.data(), buffer.data() + from, have - from);
      at += from, have -= from, searched -= from;
      if (have == buffer.size()) {
        if (have >= kMaxLineBytes)
          return Error{Errc::invalid_argument, file.name() + ": a key of more than " + std::to_string(kMaxLineBytes) +
                                                   " bytes; are the keys separated by something else?"};
        buffer.resize(2 * buffer.size());
      }
    }
  }

  // Of the line that begins at this offset, counted from 1: only a message needs it.
  static std::uint64_t line_number(int fd, std::uint64_t offset, char separator) {
    std::vector<char> buffer(std::size_t{1} << 20);
    std::uint64_t lines = 1;
    for (std::uint64_t at = 0; at < offset;) {
      const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), offset - at));
      const ssize_t n = ::pread(fd, buffer.data(), want, static_cast<off_t>(at));
      if (n <= 0) break;
      lines += static_cast<std::uint64_t>(std::count(buffer.begin(), buffer.begin() + n, separator));
      at += static_cast<std::uint64_t>(n);
    }
    return lines;
  }

  unsigned rank_, ranks_, thread_, threads_;
};

}  // namespace naysay::mpi
