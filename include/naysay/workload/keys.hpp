// SPDX-License-Identifier: Apache-2.0
// Keys: reads keys from files and pipes and digests them as they stream in. The strings are never all in memory.
//
//   files or -                   for_each_piece                   read_keys, read_negatives
//   +--------------+   inflate   +------------+   digests in   +---------------------------+
//   | plain        | ----------> | pieces, by | -------------> | 16 bytes per key, 20 per  |
//   | gzip, zstd   |             | all threads|   their order  | negative with its cost    |
//   +--------------+             +------------+                +---------------------------+
//
// LineReader and for_each_line give the lines of one file to one thread instead.
//
// Keys are lines, or separated by NUL. A line ends with "\n" or "\r\n"; the last one needs no end. Blank lines are
// left out. Every other byte belongs to the key, spaces included. With NUL every byte between two separators belongs to
// the key, "\r" and "\n" included; empty keys are left out.
//
// Negatives are key<TAB>cost. A missing cost is 1. A cost that is negative, not a number, or too large for a float is
// an error with file and line. So is a line with two tabs, because either part could be the cost.
//
// gzip and zstd are recognised by their first bytes, not by the name of the file, so they also work through pipes.
// Files of several members or frames are read to their end. Other packed files (xz, bzip2, zip, ...) are refused in the
// same way, and so is UTF-16. A byte order mark at the start of lines is left out.
//
// Promises   a message names the file and, if there is one, the line.
//            Several files are read as if they were one after the other; any number of threads gives the same result.
// Cost       One pass; the bytes of a line are searched once, however long it is. Memory in addition to the result: that
//            of the pieces (pieces.hpp), and what the decompressor needs. LineReader: buffers of 384 KiB, or three times
//            the longest line, while it grows.
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
#include "naysay/workload/pieces.hpp"

namespace naysay {

struct Line {
  std::string_view text;  // never empty
  std::uint64_t number;   // counted from 1, blank lines included
};

class TextSource;  // the text, whatever the file is packed in: src/text_source.hpp

class NAYSAY_EXPORT LineReader {
 public:
  static Result<LineReader> open(const KeyFile& file);

  // The next lines, at least one and at most kBatch; none: the end. They are valid until the next call.
  Result<std::span<const Line>> next();

  // How much was read, in bytes of the file on disk; the total is 0 for a pipe.
  std::uint64_t bytes_done() const noexcept;
  std::uint64_t bytes_total() const noexcept;
  // The path, or "standard input".
  const std::string& name() const noexcept;

  static constexpr std::size_t kBatch = 1024;  // enough to overlap the misses of a batch query

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

 private:
  LineReader();
  Result<Ok> refill();
  Result<Ok> skip_mark();

  std::unique_ptr<TextSource> source_;
  char separator_ = '\n';
  std::vector<char> buffer_;
  std::size_t begin_ = 0, searched_ = 0, end_ = 0;  // buffer_[begin_, end_) is unread; no separator before searched_
  bool at_end_ = false, started_ = false;
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
    if (!progress(stage, reader.bytes_done(), reader.bytes_total()))
      return Error{Errc::cancelled, file.name() + ": cancelled by its progress callback while it was read"};
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

// What lines look like, counted while they are read: so that a caller can say that keys look like negatives with costs,
// or that costs are separated by something else than a tab.
struct NAYSAY_EXPORT LineTally {
  std::uint64_t lines = 0;
  std::uint64_t tabs = 0;         // lines with a tab
  std::uint64_t tab_costs = 0;    // ... and only a number after the last one
  std::uint64_t other_costs = 0;  // lines without a tab, and only a number after the last comma, semicolon or space

  void see(std::string_view line) noexcept;
  LineTally& operator+=(const LineTally& other) noexcept;
};

NAYSAY_EXPORT Result<GrowingArray<Digest>> read_keys(std::span<const KeyFile> files, const Hasher& hasher,
                                                     const ReadingOptions& options, LineTally* tally = nullptr);
inline Result<GrowingArray<Digest>> read_keys(const KeyFile& file, const Hasher& hasher, const Progress& progress = {},
                                              LineTally* tally = nullptr) {
  return read_keys({&file, 1}, hasher, {.progress = progress}, tally);
}

// Calls take for one key after the other, many at a time, and keeps none in memory. Stops at the first error of take.
using TakeKeys = std::function<Result<Ok>(std::span<const Digest> keys)>;
NAYSAY_EXPORT Result<Ok> for_each_key(std::span<const KeyFile> files, const Hasher& hasher,
                                      const ReadingOptions& options, const TakeKeys& take, LineTally* tally = nullptr);

struct Negatives {
  GrowingArray<Digest> digests;
  GrowingArray<float> costs;  // one each
};

// Appends to Negatives, as a take of for_each_negative: gives out places in turn, and any thread fills them.
class NAYSAY_EXPORT NegativesAppend {
 public:
  explicit NegativesAppend(Negatives& all) : all_(all), digests_(all.digests), costs_(all.costs) {}

  Result<Later> operator()(std::span<const Digest> digests, std::span<const float> costs);
  // Until all places are filled; then the negatives may be read.
  void wait() const noexcept { digests_.wait(), costs_.wait(); }

 private:
  Negatives& all_;
  PlacedAppend<Digest> digests_;
  PlacedAppend<float> costs_;
};

// see, if it is given, is called with the bytes of one key after the other, on one thread at a time; false: there is no
// memory.
using SeeKey = std::function<bool(std::string_view key)>;
NAYSAY_EXPORT Result<Negatives> read_negatives(std::span<const KeyFile> files, const Hasher& hasher,
                                               const ReadingOptions& options, LineTally* tally = nullptr,
                                               const SeeKey& see = {});
inline Result<Negatives> read_negatives(const KeyFile& file, const Hasher& hasher, const Progress& progress = {},
                                        LineTally* tally = nullptr) {
  return read_negatives({&file, 1}, hasher, {.progress = progress}, tally);
}

// Calls take for one negative after the other, as for_each_key does for keys.
using TakeNegatives = std::function<Result<Ok>(std::span<const Digest> negatives, std::span<const float> costs)>;
NAYSAY_EXPORT Result<Ok> for_each_negative(std::span<const KeyFile> files, const Hasher& hasher,
                                           const ReadingOptions& options, const TakeNegatives& take,
                                           LineTally* tally = nullptr);
// The same for a take that leaves something to any thread (pieces.hpp). Both spans live until that is done.
using PlaceNegatives = std::function<Result<Later>(std::span<const Digest> negatives, std::span<const float> costs)>;
NAYSAY_EXPORT Result<Ok> for_each_negative(std::span<const KeyFile> files, const Hasher& hasher,
                                           const ReadingOptions& options, const PlaceNegatives& take,
                                           LineTally* tally = nullptr);

// A line of a file of negatives, parsed. The message of an error does not name the file.
struct CostedKey {
  std::string_view key;
  float cost = 1;
};
NAYSAY_EXPORT Result<CostedKey> parse_negative(std::string_view line);
// The same as tally.see(line), for a line that is parsed already.
NAYSAY_EXPORT void tally_negative(LineTally& tally, std::string_view line, const CostedKey& parsed) noexcept;

}  // namespace naysay
