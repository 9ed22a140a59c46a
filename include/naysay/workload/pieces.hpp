// SPDX-License-Identifier: Apache-2.0
// Pieces: the lines of files and pipes, read and worked on by many threads, and taken in their order.
//
//   files     |a.................|b.....|c.gz......|
//   pieces    | a0 | a1 | a2 | a3 |b0|b1 |c0|c1|c2  |        256 KiB of text each, cut anywhere
//                |    |    |
//              work work work                               any thread: read or unpack, split at separators, digest
//                |    |    |
//              take(a0), take(a1), take(a2), ...            in the order of the input, one at a time
//                |    |    |
//              later later later                            any thread: what take() leaves to be done, if anything
//
// A cut falls into the middle of a line. Each thread leaves out what stands before the first separator of its piece and
// after the last one; where pieces are taken the two halves are put together, and worked on as a piece of one line:
//
//   ... \nabc|def\n ghi\n ...       abcdef is the line across the cut
//
// Plain files are read with pread, each piece on its own. A pipe and a file of gzip have one reader at a time: whoever
// is free reads a piece, and works on it while another thread reads the next one. A zstd file of many frames that say
// how much text they hold is unpacked by all threads; one of a single frame is read as gzip is.
//
// Promises   What is taken, and in which order, does not depend on the number of threads, on how a pipe delivers its
//            bytes, or on how files are packed. Line numbers and the first error are those of reading line by line.
// Cost       Memory: 3 * threads + 2 pieces and what work() made of them, and the longest line. Files that are unpacked
//            before their turn hold what was made of them, up to ReadingOptions::ahead_bytes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/progress.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

enum class Separator : char { newline = '\n', nul = '\0' };

struct KeyFile {
  std::string path;  // "-" is the standard input
  Separator separator = Separator::newline;

  std::string name() const { return path == "-" ? "standard input" : path; }
};

inline constexpr std::uint64_t kMaxLineBytes = std::uint64_t{1} << 30;  // longer lines mean that the separator is wrong

// How files are read.
struct ReadingOptions {
  unsigned threads = 1;
  Progress progress = {};
  // What may be held of gzip and zstd files that are unpacked before their turn. Without it, several such files are
  // unpacked one after the other.
  std::uint64_t ahead_bytes = 0;
};

// The lines of one piece.
class PieceLines {
 public:
  PieceLines(std::string_view text, Separator separator) : text_(text), separator_(static_cast<char>(separator)) {}

  std::string_view text() const noexcept { return text_; }  // whole lines, with their separators

  // Calls body(line, number) for every line that is not blank, until it returns false; numbers count from 1 in this
  // piece, blank lines included.
  template <class Body>
  void for_each(Body&& body) {
    const char* at = text_.data();
    const char* const end = at + text_.size();
    const bool text_lines = separator_ == '\n';
    while (at < end) {
      const void* found = std::memchr(at, separator_, static_cast<std::size_t>(end - at));
      const char* const stop = found ? static_cast<const char*>(found) : end;
      ++count_;
      auto length = static_cast<std::size_t>(stop - at);
      if (text_lines && length > 0 && stop[-1] == '\r') --length;
      if (length > 0 && !body(std::string_view(at, length), count_)) return;
      at = stop + 1;
    }
  }
  std::uint64_t count() const noexcept { return count_; }  // lines that for_each went through

 private:
  std::string_view text_;
  char separator_;
  std::uint64_t count_ = 0;
};

// What is wrong with a line of a piece; the message names neither file nor line.
struct LineFault {
  Error error;
  std::uint64_t line;  // its number in the piece
};

// What is left to do for a piece that was taken: on any thread, while others are taken. Empty: nothing.
using Later = std::function<void()>;

// Where a piece stands.
struct PiecePlace {
  const KeyFile& file;
  std::uint64_t lines_before;  // in its file
};

namespace pieces_detail {

struct Worked {
  std::shared_ptr<void> made;
  std::uint64_t bytes = 0;  // that it holds
  std::optional<LineFault> fault = {};
};
using WorkOn = std::function<Worked(PieceLines&)>;
using TakeMade = std::function<Result<Later>(std::shared_ptr<void>, const PiecePlace&)>;

NAYSAY_EXPORT Result<Ok> run(std::span<const KeyFile> files, const ReadingOptions& options, const WorkOn& work,
                             const TakeMade& take);

}  // namespace pieces_detail

// Calls work(lines, made) for every piece, on any thread, with a Made that is empty or was cleared; it goes through all
// lines, or returns what is wrong with one of them. Then take(made, place), in order. Stops at the first fault or error:
// what work() made of the lines before a fault is taken first. Made has clear() and bytes(), the memory that it holds.
// take returns a Result<Ok>, or a Result<Later> that may use the Made. for_each_piece returns after the last Later is done;
// after an error some are left out. No thread calls take before it has done what it left of an earlier piece.
template <class Made, class Work, class Take>
Result<Ok> for_each_piece(std::span<const KeyFile> files, const ReadingOptions& options, Work&& work, Take&& take) {
  // What was taken is used again: fresh memory costs a page fault for every 4 KiB.
  std::mutex mutex;
  std::vector<std::shared_ptr<Made>> spare;
  const std::size_t most = 2 * static_cast<std::size_t>(options.threads) + 2;
  const auto next = [&]() -> std::shared_ptr<Made> {
    const std::lock_guard lock(mutex);
    if (spare.empty()) return nullptr;
    auto made = std::move(spare.back());
    spare.pop_back();
    return made;
  };
  return pieces_detail::run(
      files, options,
      [&](PieceLines& lines) -> pieces_detail::Worked {
        std::shared_ptr<Made> made = next();
        if (!made) made = std::make_shared<Made>();
        std::optional<LineFault> fault = work(lines, *made);
        const std::uint64_t bytes = made->bytes();
        return {std::move(made), bytes, std::move(fault)};
      },
      [&](std::shared_ptr<void> held, const PiecePlace& place) -> Result<Later> {
        auto made = std::static_pointer_cast<Made>(std::move(held));
        const auto use_again = [&](std::shared_ptr<Made> used) {
          used->clear();
          const std::lock_guard lock(mutex);
          if (spare.size() < most) spare.push_back(std::move(used));
        };
        if constexpr (std::is_same_v<decltype(take(*made, place)), Result<Later>>) {
          NAYSAY_TRY(Later later, take(*made, place));
          if (later)
            return Later([use_again, later = std::move(later), made]() mutable {
              later();
              use_again(std::move(made));
            });
        } else {
          NAYSAY_CHECK(take(*made, place));
        }
        use_again(std::move(made));
        return Later();
      });
}

}  // namespace naysay
