// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/pieces.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <deque>

#include "naysay/core/detail/parallel.hpp"
#include "text_source.hpp"

namespace naysay::pieces_detail {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

// A piece of an input, from the moment that its text is being read until it is taken.
struct Piece {
  bool ready = false;               // the rest is filled in, and nobody writes it any more
  bool last = false;                // of its input
  bool ahead = false;               // counts among what is unpacked before its turn
  bool cut = false;                 // a separator ends head
  std::uint64_t bytes_done = 0;     // of the input, as it lies on the disk
  std::string head, tail;           // what stands before and after whole lines; without a separator all is head
  Worked worked;                    // of the lines between them
  std::uint64_t lines = 0;          // that those are
  std::optional<Error> error = {};  // it could not be read
};

struct Input {
  const KeyFile* file = nullptr;
  std::unique_ptr<TextSource> source = {};
  bool opened = false, busy = false;        // busy: a thread opens it, or reads from it
  bool by_position = false, ended = false;  // by_position: any number of threads may read
  bool packed = false;
  std::uint64_t size = 0, next = 0;  // by position
  std::deque<Piece> pieces = {};     // not taken yet
};

// What one thread reads into.
struct Buffers {
  std::vector<char> text = {}, packed = {};
};

class Reading {
 public:
  Reading(std::span<const KeyFile> files, const ReadingOptions& options, const WorkOn& work, const TakeMade& take)
      : options_(options), work_(work), take_(take), window_(2 * std::size_t{std::max(options.threads, 1u)} + 2) {
    for (const KeyFile& file : files) inputs_.emplace_back().file = &file;
  }

  Result<Ok> run() {
    const unsigned threads = useful_threads();
    parallel_for(threads, threads, [&](std::uint64_t) { work_until_done(); });
    if (error_) return std::move(*error_);
    return Ok{};
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // A few small files are read before a second thread has started.
  unsigned useful_threads() const {
    std::uint64_t pieces = 0;
    for (const Input& input : inputs_) {
      struct stat info {};
      const bool known = input.file->path != "-" && ::stat(input.file->path.c_str(), &info) == 0;
      pieces += known && S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) / (kPiece / 4) + 1
                                               : std::uint64_t{options_.threads};
      if (pieces >= options_.threads) break;
    }
    return static_cast<unsigned>(std::clamp<std::uint64_t>(pieces, 1, std::max(options_.threads, 1u)));
  }

  // If work or take throws, the other threads must not wait for what this one had begun.
  struct StopOthers {
    Reading& reading;
    bool clean = false;
    ~StopOthers() {
      if (clean) return;
      const std::lock_guard lock(reading.mutex_);
      reading.stopped_ = true;
      reading.changed_.notify_all();
    }
  };

  void work_until_done() {
    StopOthers guard{*this};
    Buffers buffers;
    {
      Lock lock(mutex_);
      while (!stopped_ && current_ < inputs_.size()) {
        if (!taking_ && !inputs_[current_].pieces.empty() && inputs_[current_].pieces.front().ready)
          take_next(lock);
        else if (Input* input = next_input())
          make_piece(*input, buffers, lock);
        else
          changed_.wait(lock);
      }
    }
    guard.clean = true;
  }

  // An input from which a piece may be read now. The one that is taken from next never has to wait for room.
  Input* next_input() {
    for (std::size_t i = current_; i < inputs_.size(); ++i) {
      Input& input = inputs_[i];
      const bool in_turn = i == current_ && input.pieces.empty();
      const bool may_be_ahead = input.packed && i != current_ && ahead_bytes_ < options_.ahead_bytes;
      const bool room = out_ < window_;
      if (!input.ended && !input.busy && (room || in_turn || may_be_ahead)) return &input;
      if (!room && options_.ahead_bytes == 0) return nullptr;  // no other one may be read
    }
    return nullptr;
  }

  void make_piece(Input& input, Buffers& buffers, Lock& lock) {
    const bool ahead = input.packed && &input != &inputs_[current_] && ahead_bytes_ < options_.ahead_bytes;
    if (input.by_position) {
      Piece& piece = add_piece(input, ahead);
      const std::uint64_t offset = input.next;
      input.next += kPiece;
      piece.last = input.ended = input.next >= input.size;
      piece.bytes_done = std::min(input.next, input.size);
      lock.unlock();
      buffers.text.resize(kPiece);
      const auto wanted = static_cast<std::size_t>(piece.bytes_done - offset);
      auto got = input.source->raw->read_at(offset, std::span(buffers.text).first(wanted));
      if (got)
        work_on(piece, {buffers.text.data(), *got}, input.file->separator);
      else
        piece.error = std::move(got).error();
      lock.lock();
      finish(piece);
      return;
    }
    input.busy = true;
    lock.unlock();
    std::optional<Error> error;
    if (!input.opened) {
      auto source = open_text(*input.file);
      if (source)
        input.source = *std::move(source);
      else
        error = std::move(source).error();
    }
    const bool by_position = !input.opened && !error && can_read_by_position(input);
    TextSource::Frames frames;
    std::size_t size = 0;
    if (!by_position && !error) error = read_text(*input.source, buffers, frames, size);
    lock.lock();
    input.busy = false;
    input.opened = true;
    input.by_position = by_position;
    if (by_position) {
      input.size = input.source->raw->total;
      changed_.notify_all();
      return;
    }
    Piece& piece = add_piece(input, ahead);
    if (input.source) {
      input.packed = input.source->packed();
      piece.bytes_done = input.source->raw->done;
    }
    piece.last = input.ended = error || (frames.count == 0 && size == 0);
    piece.error = std::move(error);
    changed_.notify_one();  // another thread may read on
    lock.unlock();
    if (frames.count > 0) {
      buffers.text.resize(std::max(kPiece, frames.text));
      auto unpacked = unpack_frames(input.file->name(), buffers.packed, std::span(buffers.text).first(frames.text));
      if (unpacked)
        size = frames.text;
      else
        piece.error = std::move(unpacked).error();
    }
    work_on(piece, {buffers.text.data(), size}, input.file->separator);
    lock.lock();
    finish(piece);
  }

  Piece& add_piece(Input& input, bool ahead) {
    Piece& piece = input.pieces.emplace_back();
    piece.ahead = ahead;
    if (!ahead) ++out_;
    return piece;
  }

  void finish(Piece& piece) {
    piece.ready = true;  // if it is its turn, this thread or the one that takes another now takes it next
    if (piece.ahead) ahead_bytes_ += piece.worked.bytes;
  }

  // A file that is a single piece is as well read from its start.
  static bool can_read_by_position(const Input& input) {
    const RawBytes& raw = *input.source->raw;
    return raw.regular && !input.source->packed() && input.file->path != "-" && raw.total > kPiece;
  }

  // Fills buffers.packed with frames, or buffers.text with `size` bytes; 0: the end. Of a pipe, what is there.
  static std::optional<Error> read_text(TextSource& source, Buffers& buffers, TextSource::Frames& frames,
                                        std::size_t& size) {
    auto taken = source.take_frames(buffers.packed);
    if (!taken) return std::move(taken).error();
    frames = *taken;
    if (frames.count > 0) return {};
    buffers.text.resize(kPiece);
    while (size < kPiece) {
      const auto n = source.read(std::span(buffers.text).subspan(size));
      if (!n) return n.error();
      size += *n;
      if (*n == 0 || (!source.raw->regular && !(source.raw->unread().empty() && source.raw->more_is_there()))) break;
    }
    return {};
  }

  void work_on(Piece& piece, std::string_view text, Separator separator) const {
    const auto byte = static_cast<char>(separator);
    const std::size_t first = text.find(byte);
    piece.cut = first != std::string_view::npos;
    if (!piece.cut) {
      piece.head = text;
      return;
    }
    const std::size_t last = text.rfind(byte);
    piece.head = text.substr(0, first + 1);
    piece.tail = text.substr(last + 1);
    if (last == first) return;
    PieceLines lines(text.substr(first + 1, last - first), separator);
    piece.worked = work_(lines);
    piece.lines = lines.count();
  }

  // ---- one thread at a time ----

  void take_next(Lock& lock) {
    taking_ = true;
    Input& input = inputs_[current_];
    Piece& piece = input.pieces.front();
    Later later;
    lock.unlock();
    auto ok = take_piece(*input.file, input.source.get(), piece, later);
    lock.lock();
    taking_ = false;
    if (!ok) {
      error_ = std::move(ok).error();
      stopped_ = true;
    }
    if (piece.ahead)
      ahead_bytes_ -= piece.worked.bytes;
    else
      --out_;
    const bool last = piece.last;
    input.pieces.pop_front();
    if (last) {
      input.source.reset();
      ++current_;
    }
    // There is room for one more piece. Waking all threads for it costs more than the piece, if there are many.
    if (last || stopped_)
      changed_.notify_all();
    else
      changed_.notify_one();
    if (!later) return;
    lock.unlock();
    later();
    lock.lock();
  }

  Result<Ok> take_piece(const KeyFile& file, const TextSource* source, Piece& piece, Later& later) {
    if (options_.progress && source &&
        !options_.progress("reading " + file.name(), piece.bytes_done, source->raw->total))
      return Error{Errc::cancelled, file.name() + ": cancelled by its progress callback while it was read"};
    across_ += piece.head;
    NAYSAY_CHECK(skip_mark(file, piece.cut || piece.last));
    if (across_.size() - piece.cut >= kMaxLineBytes)
      return at_line(file, lines_ + 1,
                     {Errc::invalid_argument, "a key of more than " + std::to_string(kMaxLineBytes) +
                                                  " bytes; are the keys separated by something else?"});
    if (piece.cut) {
      NAYSAY_CHECK(take_line_across(file));
      if (piece.worked.made) NAYSAY_CHECK(take_worked(file, std::move(piece.worked), piece.lines, later));
      across_ = std::move(piece.tail);
    }
    if (piece.error) return std::move(*piece.error);  // behind the lines that could be read
    if (!piece.last) return Ok{};
    if (later) std::exchange(later, {})();  // what is taken next may wait for it
    if (!across_.empty()) NAYSAY_CHECK(take_line_across(file));
    lines_ = 0;
    started_ = false;
    return Ok{};
  }

  Result<Ok> take_line_across(const KeyFile& file) {
    PieceLines line(across_, file.separator);
    Worked worked = work_(line);
    Later later;
    NAYSAY_CHECK(take_worked(file, std::move(worked), 1, later));
    if (later) later();
    across_.clear();
    return Ok{};
  }

  Result<Ok> take_worked(const KeyFile& file, Worked worked, std::uint64_t lines, Later& later) {
    NAYSAY_TRY(later, take_(std::move(worked.made), PiecePlace{file, lines_}));
    if (worked.fault) return at_line(file, lines_ + worked.fault->line, worked.fault->error);
    lines_ += lines;
    return Ok{};
  }

  // Text may begin with a byte order mark, which belongs to no key. Keys between NUL bytes are no text.
  Result<Ok> skip_mark(const KeyFile& file, bool whole_line) {
    constexpr std::string_view kUtf8 = "\xef\xbb\xbf";
    if (started_ || (across_.size() < kUtf8.size() && !whole_line)) return Ok{};
    started_ = true;
    if (file.separator != Separator::newline) return Ok{};
    const std::string_view start = across_;
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) return utf16_error(file.name());
    if (start.starts_with(kUtf8)) across_.erase(0, kUtf8.size());
    return Ok{};
  }

  static Error at_line(const KeyFile& file, std::uint64_t line, const Error& e) {
    return {e.code, file.name() + ":" + std::to_string(line) + ": " + e.message};
  }

  const ReadingOptions& options_;
  const WorkOn& work_;
  const TakeMade& take_;
  const std::size_t window_;  // pieces that may be there at a time

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Input> inputs_;
  std::size_t current_ = 0;        // the input that is taken from
  std::size_t out_ = 0;            // pieces that are there, without those ahead
  std::uint64_t ahead_bytes_ = 0;  // held by those
  bool taking_ = false, stopped_ = false;
  std::optional<Error> error_;

  // Of the thread that takes.
  std::string across_;       // the line across the last cut, as far as it is known
  std::uint64_t lines_ = 0;  // of the current input, before across_
  bool started_ = false;     // its first bytes have been looked at
};

}  // namespace

Result<Ok> run(std::span<const KeyFile> files, const ReadingOptions& options, const WorkOn& work,
               const TakeMade& take) {
  return Reading(files, options, work, take).run();
}

}  // namespace naysay::pieces_detail
