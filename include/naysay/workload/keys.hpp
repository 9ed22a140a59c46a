// Keys: from files and pipes into digests, as they stream in. The strings are never all held.
//
//   file or -                      LineReader                      read_keys, read_negatives
//   +--------------+   inflate   +------------+   a batch of   +---------------------------+
//   | plain        | ----------> | one buffer | -------------> | 16 bytes a key, 20 a      |
//   | gzip, zstd   |             |            |   views of it  | negative with its cost    |
//   +--------------+             +------------+                +---------------------------+
//
// Lines: one key a line, or NUL-separated. A line is ended by "\n" or "\r\n"; the last one needs no end. Blank lines
// are no keys. Every other byte belongs to the key, spaces included. NUL-separated keys are taken byte for byte, a "\r"
// and a "\n" included; empty ones are no keys.
//
// Negatives: key<TAB>cost. A cost that is missing is 1. A cost that is negative, no number, or beyond a float is
// refused with file and line; so is a line with two tabs, because it cannot be known which part is the cost.
//
// gzip and zstd are known by their first bytes, not by the name of the file, and work through pipes; files of several
// members or frames are read to their end.
//
// Promises   a message names the file and, where there is one, the line. Memory beside the result: buffers of 384 KiB
//            (or three times the longest line, while it grows), and what the decompressor needs.
// Cost       one pass; a line is searched once, however long it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/workload/growing_array.hpp"

namespace naysay {

enum class Separator : char { newline = '\n', nul = '\0' };

struct KeyFile {
  std::string path;  // "-" is the standard input
  Separator separator = Separator::newline;

  std::string name() const { return path == "-" ? "standard input" : path; }
};

struct Line {
  std::string_view text;  // never empty
  std::uint64_t number;   // counted from 1, blank lines included
};

inline constexpr std::uint64_t kMaxLineBytes = std::uint64_t{1} << 30;  // longer: surely the separator is another

class NAYSAY_EXPORT LineReader {
 public:
  static Result<LineReader> open(const KeyFile& file);

  // The next lines, at least one and at most kBatch; none: the end. They are valid until the next call.
  Result<std::span<const Line>> next();

  // How far it is, in bytes of the file as it lies on the disk; total is 0 for a pipe.
  std::uint64_t bytes_done() const noexcept;
  std::uint64_t bytes_total() const noexcept;
  // The path, or "standard input".
  const std::string& name() const noexcept;

  static constexpr std::size_t kBatch = 1024;  // enough to overlap the misses of a batch query

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  struct Source;  // plain bytes, whatever the file is packed in: src/keys.cpp

 private:
  LineReader();
  Result<Ok> refill();

  std::unique_ptr<Source> source_;
  char separator_ = '\n';
  std::vector<char> buffer_;
  std::size_t begin_ = 0, searched_ = 0, end_ = 0;  // buffer_[begin_, end_) is unread; no separator before searched_
  bool at_end_ = false;
  std::uint64_t lines_ = 0;
  std::vector<Line> batch_;
};

// Calls body(lines) for one batch of lines after the other, each valid during the call. Stops at the first error.
template <class Body>
Result<Ok> for_each_batch(const KeyFile& file, const Progress& progress, Body&& body) {
  NAYSAY_TRY(LineReader reader, LineReader::open(file));
  const std::string stage = "reading " + file.name();
  for (;;) {
    NAYSAY_TRY(const std::span<const Line> lines, reader.next());
    if (lines.empty()) return Ok{};
    if (progress) progress(stage, reader.bytes_done(), reader.bytes_total());
    NAYSAY_CHECK(body(lines));
  }
}

// Calls body(line) for every line. Stops at the first error, and puts file and line number in front of its message.
template <class Body>
Result<Ok> for_each_line(const KeyFile& file, const Progress& progress, Body&& body) {
  return for_each_batch(file, progress, [&](std::span<const Line> lines) -> Result<Ok> {
    for (const Line& line : lines)
      if (Result<Ok> ok = body(line); !ok)
        return Error{ok.error().code, file.name() + ":" + std::to_string(line.number) + ": " + ok.error().message};
    return Ok{};
  });
}

NAYSAY_EXPORT Result<GrowingArray<Digest>> read_keys(const KeyFile& file, const Hasher& hasher,
                                                     const Progress& progress = {});

struct Negatives {
  GrowingArray<Digest> digests;
  GrowingArray<float> costs;  // one each
};

NAYSAY_EXPORT Result<Negatives> read_negatives(const KeyFile& file, const Hasher& hasher,
                                               const Progress& progress = {});

// Calls take for one negative after the other, and holds none. Stops at the first error of take.
using TakeNegative = std::function<Result<Ok>(Digest negative, float cost)>;
NAYSAY_EXPORT Result<Ok> for_each_negative(const KeyFile& file, const Hasher& hasher, const Progress& progress,
                                           const TakeNegative& take);

// A line of a file of negatives, taken apart. The message of an error does not name the file.
struct CostedKey {
  std::string_view key;
  float cost = 1;
};
NAYSAY_EXPORT Result<CostedKey> parse_negative(std::string_view line);

}  // namespace naysay
