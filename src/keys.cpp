// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "naysay/workload/texts.hpp"
#include "text_source.hpp"

namespace naysay {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;  // what a LineReader begins with

Error at_line(const LineReader& reader, std::uint64_t line, const Error& e) {
  return {e.code, reader.name() + ":" + std::to_string(line) + ": " + e.message};
}

}  // namespace

LineReader::LineReader() : buffer_(kBufferBytes) { batch_.reserve(kBatch); }
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

std::uint64_t LineReader::bytes_done() const noexcept { return source_->raw->done; }
std::uint64_t LineReader::bytes_total() const noexcept { return source_->raw->total; }
const std::string& LineReader::name() const noexcept { return source_->raw->name; }

Result<LineReader> LineReader::open(const KeyFile& file) {
  LineReader reader;
  NAYSAY_TRY(reader.source_, open_text(file));
  reader.separator_ = static_cast<char>(file.separator);
  return reader;
}

Result<Ok> LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (end_ >= kMaxLineBytes)
      return at_line(*this, lines_ + 1,
                     {Errc::invalid_argument, "a key of more than " + std::to_string(kMaxLineBytes) +
                                                  " bytes; are the keys separated by something else?"});
    buffer_.resize(2 * buffer_.size());
  }
  NAYSAY_TRY(const std::size_t n, source_->read(std::span(buffer_).subspan(end_)));
  end_ += n;
  at_end_ = n == 0;
  return Ok{};
}

// Text may begin with a byte order mark, which belongs to no key. Keys between NUL bytes are no text.
Result<Ok> LineReader::skip_mark() {
  started_ = true;
  if (separator_ != '\n') return Ok{};
  const auto unread = [&] { return std::string_view(buffer_.data() + begin_, end_ - begin_); };
  const auto begins = [&](std::string_view mark) { return unread().starts_with(mark); };
  constexpr std::string_view kUtf8 = "\xef\xbb\xbf";
  while (unread().size() < kUtf8.size() && kUtf8.starts_with(unread()) && !at_end_) NAYSAY_CHECK(refill());
  while (unread().size() == 1 && (begins("\xff") || begins("\xfe")) && !at_end_) NAYSAY_CHECK(refill());
  if (begins("\xff\xfe") || begins("\xfe\xff")) return utf16_error(name());
  if (begins(kUtf8)) begin_ = searched_ = kUtf8.size();
  return Ok{};
}

Result<std::span<const Line>> LineReader::next() {
  batch_.clear();
  if (!started_) NAYSAY_CHECK(skip_mark());
  const auto take = [&](std::size_t end) {
    std::size_t length = end - begin_;
    ++lines_;
    if (separator_ == '\n' && length > 0 && buffer_[end - 1] == '\r') --length;
    if (length > 0) batch_.push_back({{buffer_.data() + begin_, length}, lines_});
  };
  while (batch_.empty()) {
    while (batch_.size() < kBatch && searched_ < end_) {
      const void* found = std::memchr(buffer_.data() + searched_, separator_, end_ - searched_);
      if (!found) {
        searched_ = end_;
        break;
      }
      const std::size_t at = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      take(at);
      begin_ = searched_ = at + 1;
    }
    if (!batch_.empty()) break;
    if (at_end_) {
      if (begin_ < end_) take(end_);
      begin_ = searched_ = end_;
      break;
    }
    NAYSAY_CHECK(refill());
  }
  return std::span<const Line>(batch_);
}

namespace {

// Whether only a number stands behind the last comma, semicolon or space. A number ends with a digit, a point, or as
// inf, nan, infinity and nan(...) do; and has no character but letters, digits and these.
bool ends_with_cost(std::string_view line) noexcept {
  static constexpr auto kKinds = [] {
    std::array<std::uint8_t, 256> kinds{};  // 1: within a number; 2: at its end, too; 4: before it
    for (int c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::size_t>(c)] = kinds[static_cast<std::size_t>(c - 32)] = 1;
    for (const char c : {'+', '-', '(', '_'}) kinds[static_cast<std::size_t>(c)] = 1;
    for (const char c : {'f', 'F', 'n', 'N', 'y', 'Y', ')', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'})
      kinds[static_cast<std::size_t>(c)] = 2;
    for (const char c : {',', ';', ' '}) kinds[static_cast<std::size_t>(c)] = 4;
    return kinds;
  }();
  const auto kind = [&](std::size_t i) { return kKinds[static_cast<unsigned char>(line[i])]; };
  std::size_t at = line.size();
  if (at == 0 || kind(at - 1) != 2) return false;
  while (at > 0 && kind(at - 1) < 3 && kind(at - 1) > 0) --at;
  if (at < 2 || kind(at - 1) != 4) return false;
  double cost = 0;
  const char* const last = line.data() + line.size();
  const auto [end, problem] = std::from_chars(line.data() + at, last, cost);
  return problem == std::errc{} && end == last;
}

Error no_memory(std::uint64_t keys) {
  return {Errc::no_memory, "no memory for more than " + std::to_string(keys) + " keys of 16 bytes each"};
}

Error bad_cost(std::string_view text, const char* right) {
  return {Errc::invalid_argument, "cost is '" + std::string(text.substr(0, 40)) + "'; it must be " + right};
}

Result<float> parse_cost(std::string_view text) {
  // A whole number of few digits is what most costs are, and a float of it needs no more than this.
  if (text.size() <= 15) {
    std::uint64_t whole = 0;
    std::size_t i = 0;
    for (unsigned digit; i < text.size() && (digit = static_cast<unsigned char>(text[i]) - unsigned{'0'}) < 10; ++i)
      whole = 10 * whole + digit;
    if (i == text.size() && i > 0) return static_cast<float>(static_cast<double>(whole));
  }
  double cost = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cost);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument || std::isnan(cost))
    return bad_cost(text, "a number of 0 or more");
  if (problem == std::errc::result_out_of_range || std::abs(cost) > std::numeric_limits<float>::max())
    return bad_cost(text, "0, or at least 1e-300 and at most 3.4e38");
  if (cost < 0) return bad_cost(text, "a number of 0 or more");
  return static_cast<float>(cost) + 0.0f;  // + 0: no negative zero
}

}  // namespace

void LineTally::see(std::string_view line) noexcept {
  ++lines;
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) {
    other_costs += ends_with_cost(line);
    return;
  }
  ++tabs;
  if (tab == 0 || tab + 1 == line.size()) return;
  double cost = 0;
  const char *first = line.data() + tab + 1, *last = line.data() + line.size();
  const auto [end, problem] = std::from_chars(first, last, cost);
  tab_costs += problem == std::errc{} && end == last;
}

LineTally& LineTally::operator+=(const LineTally& other) noexcept {
  lines += other.lines;
  tabs += other.tabs;
  tab_costs += other.tab_costs;
  other_costs += other.other_costs;
  return *this;
}

Result<CostedKey> parse_negative(std::string_view line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return CostedKey{line, 1};
  const std::string_view key = line.substr(0, tab), text = line.substr(tab + 1);
  const auto refuse = [](const char* what) { return Error{Errc::invalid_argument, what}; };
  if (key.empty()) return refuse("the key is empty; a line is key<TAB>cost");
  if (text.find('\t') != std::string_view::npos) return refuse("there are two tabs; a line is key<TAB>cost");
  if (text.empty()) return CostedKey{key, 1};
  NAYSAY_TRY(const float cost, parse_cost(text));
  return CostedKey{key, cost};
}

void tally_negative(LineTally& tally, std::string_view line, const CostedKey& parsed) noexcept {
  ++tally.lines;
  if (parsed.key.size() == line.size()) {
    tally.other_costs += ends_with_cost(line);
    return;
  }
  ++tally.tabs;
  tally.tab_costs += parsed.key.size() + 1 < line.size();  // it was a number, or there is no parsed
}

namespace {

// What a thread makes of a piece of keys or of negatives.
struct Digested {
  GrowingArray<Digest> digests;
  GrowingArray<float> costs;
  std::string text;                   // of the keys, one behind the other
  GrowingArray<std::uint32_t> sizes;  // of each; a piece has no longer ones
  LineTally tally;

  void clear() noexcept {
    digests.clear();
    costs.clear();
    text.clear();
    sizes.clear();
    tally = {};
  }
  // False: see said so.
  bool see_keys(const SeeKey& see) const {
    std::size_t at = 0;
    for (const std::uint32_t size : sizes) {
      if (!see(std::string_view(text).substr(at, size))) return false;
      at += size;
    }
    return true;
  }
  std::uint64_t bytes() const noexcept {
    return digests.size() * sizeof(Digest) + costs.size() * sizeof(float) + text.size() +
           sizes.size() * sizeof(std::uint32_t);
  }
};

// The keys of a piece. With texts, also their bytes.
template <bool kTexts>
std::optional<LineFault> digest_keys(PieceLines& lines, const Hasher& hasher, Digested& out) {
  std::optional<LineFault> fault;
  // Most pieces have none of these bytes, which is quicker to see for all lines together than for each.
  const auto has = [&](char byte) { return lines.text().find(byte) != std::string_view::npos; };
  const bool tabs = has('\t'), separated = has(',') || has(';') || has(' ');
  const auto each = [&](auto&& digest_of) {
    lines.for_each([&](std::string_view line, std::uint64_t number) {
      if (tabs) {
        out.tally.see(line);
      } else {
        ++out.tally.lines;
        out.tally.other_costs += separated && ends_with_cost(line);
      }
      bool pushed = out.digests.push(digest_of(line));
      if constexpr (kTexts) {
        out.text += line;
        pushed = pushed && out.sizes.push(static_cast<std::uint32_t>(line.size()));
      }
      if (!pushed) fault = LineFault{no_memory(out.digests.size()), number};
      return pushed;
    });
  };
  if (hasher.id == HashId::xxh3)
    each([seed = hasher.seed](std::string_view line) { return digest(line, seed); });
  else
    each(hasher);
  return fault;
}

template <bool kTexts>
std::optional<LineFault> digest_negatives(PieceLines& lines, const Hasher& hasher, Digested& out) {
  std::optional<LineFault> fault;
  lines.for_each([&](std::string_view line, std::uint64_t number) {
    auto parsed = parse_negative(line);
    if (!parsed) {
      fault = LineFault{std::move(parsed).error(), number};
      return false;
    }
    tally_negative(out.tally, line, *parsed);
    bool pushed = out.digests.push(hasher(parsed->key)) && out.costs.push(parsed->cost);
    if constexpr (kTexts) {
      out.text += parsed->key;
      pushed = pushed && out.sizes.push(static_cast<std::uint32_t>(parsed->key.size()));
    }
    if (!pushed) fault = LineFault{no_memory(out.digests.size()), number};
    return pushed;
  });
  return fault;
}

}  // namespace

Result<GrowingArray<Digest>> read_keys(std::span<const KeyFile> files, const Hasher& hasher,
                                       const ReadingOptions& options, LineTally* tally) {
  GrowingArray<Digest> keys;
  PlacedAppend append(keys);
  const auto work = [&](PieceLines& lines, Digested& out) { return digest_keys<false>(lines, hasher, out); };
  const auto take = [&](const Digested& piece, const PiecePlace&) -> Result<Later> {
    if (tally) *tally += piece.tally;
    const auto first = append.place(piece.digests.size());
    if (!first) return no_memory(keys.size());
    return Later([&append, digests = std::span<const Digest>(piece.digests), first] { append.fill(*first, digests); });
  };
  NAYSAY_CHECK(for_each_piece<Digested>(files, options, work, take));
  return keys;
}

Result<Ok> for_each_key(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& options,
                        const TakeKeys& take, LineTally* tally) {
  const auto work = [&](PieceLines& lines, Digested& out) { return digest_keys<false>(lines, hasher, out); };
  return for_each_piece<Digested>(files, options, work, [&](const Digested& piece, const PiecePlace&) -> Result<Ok> {
    if (tally) *tally += piece.tally;
    return take(piece.digests);
  });
}

namespace {

template <class Take>
Result<Ok> each_negative(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& options,
                         Take& take, LineTally* tally) {
  const auto work = [&](PieceLines& lines, Digested& out) { return digest_negatives<false>(lines, hasher, out); };
  return for_each_piece<Digested>(files, options, work, [&](const Digested& piece, const PiecePlace&) {
    if (tally) *tally += piece.tally;
    return take(piece.digests, piece.costs);
  });
}

}  // namespace

Result<Ok> for_each_negative(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& options,
                             const TakeNegatives& take, LineTally* tally) {
  return each_negative(files, hasher, options, take, tally);
}
Result<Ok> for_each_negative(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& options,
                             const PlaceNegatives& take, LineTally* tally) {
  return each_negative(files, hasher, options, take, tally);
}

Result<Later> NegativesAppend::operator()(std::span<const Digest> digests, std::span<const float> costs) {
  const auto first = digests_.place(digests.size());
  const auto first_cost = first ? costs_.place(costs.size()) : first;
  if (!first_cost) return no_memory(all_.digests.size());
  return Later([this, digests, costs, first, first_cost] {
    digests_.fill(*first, digests);
    costs_.fill(*first_cost, costs);
  });
}

Result<Negatives> read_negatives(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& options,
                                 LineTally* tally, const SeeKey& see) {
  Negatives all;
  NegativesAppend append(all);
  if (!see) {
    NAYSAY_CHECK(each_negative(files, hasher, options, append, tally));
    return all;
  }
  const auto work = [&](PieceLines& lines, Digested& out) { return digest_negatives<true>(lines, hasher, out); };
  const auto take = [&](const Digested& piece, const PiecePlace&) -> Result<Ok> {
    if (tally) *tally += piece.tally;
    if (!all.digests.append(piece.digests) || !all.costs.append(piece.costs) || !piece.see_keys(see))
      return no_memory(all.digests.size());
    return Ok{};
  };
  NAYSAY_CHECK(for_each_piece<Digested>(files, options, work, take));
  return all;
}

Result<TextKeys> read_texts(std::span<const KeyFile> files, Lines kind, const Hasher& hasher,
                            const ReadingOptions& options, LineTally* tally) {
  TextKeys all;
  const SeeKey keep = [&](std::string_view key) { return all.texts.push(key); };
  if (kind == Lines::costed_keys) {
    NAYSAY_TRY(Negatives read, read_negatives(files, hasher, options, tally, keep));
    all.digests = std::move(read.digests);
    all.costs = std::move(read.costs);
    return all;
  }
  const auto work = [&](PieceLines& lines, Digested& out) { return digest_keys<true>(lines, hasher, out); };
  const auto take = [&](const Digested& piece, const PiecePlace&) -> Result<Ok> {
    if (tally) *tally += piece.tally;
    if (!all.digests.append(piece.digests) || !piece.see_keys(keep)) return no_memory(all.digests.size());
    return Ok{};
  };
  NAYSAY_CHECK(for_each_piece<Digested>(files, options, work, take));
  return all;
}

}  // namespace naysay
