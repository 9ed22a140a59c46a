// SPDX-License-Identifier: Apache-2.0
#include "naysay/workload/keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "naysay/workload/texts.hpp"

namespace naysay {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 17;    // read(2) gains nothing from more
constexpr std::size_t kBufferBytes = std::size_t{1} << 18;  // what a LineReader begins with

// What a file is by its first bytes; '?' stands for any byte.
struct Magic {
  std::string_view bytes, name;
  const char* how_to_read;  // null: we read it
};
using namespace std::string_view_literals;
constexpr std::string_view kGzip = "gzip", kZstd = "zstd";
constexpr Magic kMagics[] = {
    {"\x1f\x8b", kGzip, nullptr},          // RFC 1952
    {"\x28\xb5\x2f\xfd", kZstd, nullptr},  // RFC 8878
    {"?\x2a\x4d\x18", kZstd, nullptr},     // a skippable frame comes first; its first byte is 0x50 to 0x5f
    {"\xfd\x37zXZ\0"sv, "xz data", "unpack it first, for example with xz -dc"},
    {"BZh?1AY&SY", "bzip2 data", "unpack it first, for example with bzip2 -dc"},
    {"BZh?\x17\x72\x45\x38\x50\x90", "bzip2 data", "unpack it first, for example with bzip2 -dc"},
    {"\x04\x22\x4d\x18", "lz4 data", "unpack it first, for example with lz4 -dc"},
    {"LZIP\x01", "lzip data", "unpack it first, for example with lzip -dc"},
    {"\x1f\x9d", "compress data", "unpack it first, for example with uncompress -c"},
    {"PK\x03\x04", "a zip archive", "unpack it first, for example with unzip -p"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"},
    {"naysay\r\n", "a filter that naysay wrote", "give the file of keys"},
};

// Whether the bytes, or what there is of them, are those of the magic.
bool agrees(std::span<const char> bytes, const Magic& magic) {
  const auto any = [&](std::size_t i, char byte) {
    return magic.bytes[i] == '?' && (magic.name != kZstd || (static_cast<unsigned char>(byte) & 0xf0) == 0x50);
  };
  for (std::size_t i = 0; i < std::min(bytes.size(), magic.bytes.size()); ++i)
    if (bytes[i] != magic.bytes[i] && !any(i, bytes[i])) return false;
  return true;
}

// Whether more bytes are needed to say what this is.
bool may_become_packed(std::span<const char> bytes) {
  return std::any_of(std::begin(kMagics), std::end(kMagics),
                     [&](const Magic& m) { return bytes.size() < m.bytes.size() && agrees(bytes, m); });
}

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
    if (S_ISREG(info.st_mode)) total = static_cast<std::uint64_t>(info.st_size);
    buffer_.resize(kReadBytes);
    // A pipe may deliver the bytes that say what a file is one by one; text is known as such by its first letter or two.
    while (may_become_packed(unread()) && !at_end_) NAYSAY_CHECK(fill_more());
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

  std::string name;
  std::uint64_t done = 0, total = 0;

 private:
  Result<Ok> fill_more() {
    NAYSAY_TRY(const std::size_t n, read_into(std::span(buffer_).subspan(end_)));
    end_ += n;
    return Ok{};
  }
  Error os_error(const char* what) const { return {Errc::io, name + ": cannot " + what + ": " + std::strerror(errno)}; }

  int fd_ = -1;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace

struct LineReader::Source {
  explicit Source(std::unique_ptr<RawBytes> bytes) : raw(std::move(bytes)) {}
  virtual ~Source() = default;
  // Writes some bytes of text to `to`, which has room; 0: the end.
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  std::unique_ptr<RawBytes> raw;
};

namespace {

struct PlainSource final : LineReader::Source {
  using Source::Source;
  Result<std::size_t> read(std::span<char> to) override {
    const auto ready = raw->unread();
    if (ready.empty()) return raw->read_into(to);
    const std::size_t n = std::min(ready.size(), to.size());
    std::memcpy(to.data(), ready.data(), n);
    raw->drop(n);
    return n;
  }
};

struct GzipSource final : LineReader::Source {
  ~GzipSource() override { ::inflateEnd(&stream_); }
  explicit GzipSource(std::unique_ptr<RawBytes> bytes) : Source(std::move(bytes)) {
    ready_ = ::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK;  // + 16: gzip, not zlib
  }

  Result<std::size_t> read(std::span<char> to) override {
    if (!ready_) return Error{Errc::io, raw->name + ": cannot read gzip: there is no memory for it"};
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(to.size());
    while (stream_.avail_out == to.size()) {
      NAYSAY_CHECK(raw->fill());
      const auto packed = raw->unread();
      if (packed.empty()) {
        if (within_) return Error{Errc::corrupt, raw->name + ": the gzip data ends too early; the file was cut off"};
        return std::size_t{0};
      }
      if (!within_ && ::inflateReset(&stream_) != Z_OK) return damaged();  // the first, or a further, member
      within_ = true;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream_.avail_in = static_cast<uInt>(packed.size());
      const int state = ::inflate(&stream_, Z_NO_FLUSH);
      raw->drop(packed.size() - stream_.avail_in);
      if (state == Z_STREAM_END) {
        within_ = false;
      } else if (state != Z_OK && state != Z_BUF_ERROR) {
        return damaged();
      }
    }
    return to.size() - stream_.avail_out;
  }

 private:
  Error damaged() const {
    return {Errc::corrupt, raw->name + ": damaged gzip data: " + (stream_.msg ? stream_.msg : "unknown reason")};
  }

  z_stream stream_{};
  bool ready_ = false, within_ = false;
};

struct ZstdSource final : LineReader::Source {
  ~ZstdSource() override { ::ZSTD_freeDCtx(stream_); }
  // 31: files of `zstd --ultra --long=31` open too, and only they need that much memory.
  explicit ZstdSource(std::unique_ptr<RawBytes> bytes) : Source(std::move(bytes)), stream_(::ZSTD_createDCtx()) {
    ready_ = stream_ && !::ZSTD_isError(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 31));
  }

  Result<std::size_t> read(std::span<char> to) override {
    if (!ready_) return Error{Errc::io, raw->name + ": cannot read zstd: there is no memory for it"};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0) {
      NAYSAY_CHECK(raw->fill());
      const auto packed = raw->unread();
      if (packed.empty() && !within_) return std::size_t{0};
      ZSTD_inBuffer in{packed.data(), packed.size(), 0};
      const std::size_t left = ::ZSTD_decompressStream(stream_, &out, &in);
      raw->drop(in.pos);
      if (::ZSTD_isError(left))
        return Error{Errc::corrupt, raw->name + ": damaged zstd data: " + ::ZSTD_getErrorName(left)};
      within_ = left != 0;
      if (packed.empty() && out.pos == 0)  // nothing more to give, and it wants more
        return Error{Errc::corrupt, raw->name + ": the zstd data ends too early; the file was cut off"};
    }
    return out.pos;
  }

 private:
  ZSTD_DCtx* stream_;
  bool ready_ = false, within_ = false;
};

Error at_line(const LineReader& reader, std::uint64_t line, const Error& e) {
  return {e.code, reader.name() + ":" + std::to_string(line) + ": " + e.message};
}

Error no_memory(std::uint64_t keys) {
  return {Errc::no_memory, "no memory for more than " + std::to_string(keys) + " keys of 16 bytes each"};
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
  auto raw = std::make_unique<RawBytes>();
  NAYSAY_CHECK(raw->open(file));
  LineReader reader;
  reader.separator_ = static_cast<char>(file.separator);
  const auto start = raw->unread();
  const auto* magic = std::find_if(std::begin(kMagics), std::end(kMagics),
                                   [&](const Magic& m) { return start.size() >= m.bytes.size() && agrees(start, m); });
  if (magic == std::end(kMagics)) {
    reader.source_ = std::make_unique<PlainSource>(std::move(raw));
  } else if (magic->how_to_read) {
    return Error{Errc::unsupported, raw->name + ": this is " + std::string(magic->name) +
                                        ", which is not read as keys; " + magic->how_to_read};
  } else if (magic->name == kGzip) {
    reader.source_ = std::make_unique<GzipSource>(std::move(raw));
  } else {
    reader.source_ = std::make_unique<ZstdSource>(std::move(raw));
  }
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
  if (begins("\xff\xfe") || begins("\xfe\xff"))
    return Error{Errc::unsupported, name() +
                                        ": this is UTF-16 text, and keys are compared byte by byte; convert it to "
                                        "UTF-8 first, for example with iconv -f UTF-16 -t UTF-8"};
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

void LineTally::see(std::string_view line) noexcept {
  ++lines;
  const std::size_t tab = line.rfind('\t');
  tabs += tab != std::string_view::npos;
  const std::size_t at = tab != std::string_view::npos ? tab : line.find_last_of(",; ");
  if (at == std::string_view::npos || at == 0 || at + 1 == line.size()) return;
  double cost = 0;
  const char *first = line.data() + at + 1, *last = line.data() + line.size();
  if (const auto [end, problem] = std::from_chars(first, last, cost); problem != std::errc{} || end != last) return;
  (tab != std::string_view::npos ? tab_costs : other_costs) += 1;
}

Result<CostedKey> parse_negative(std::string_view line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return CostedKey{line, 1};
  const std::string_view key = line.substr(0, tab), text = line.substr(tab + 1);
  const auto refuse = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (key.empty()) return refuse("the key is empty; a line is key<TAB>cost");
  if (text.find('\t') != std::string_view::npos) return refuse("there are two tabs; a line is key<TAB>cost");
  if (text.empty()) return CostedKey{key, 1};
  const auto bad = [&](const char* right) {
    return refuse("cost is '" + std::string(text.substr(0, 40)) + "'; it must be " + right);
  };
  double cost = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cost);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument || std::isnan(cost))
    return bad("a number of 0 or more");
  if (problem == std::errc::result_out_of_range || std::abs(cost) > std::numeric_limits<float>::max())
    return bad("0, or at least 1e-300 and at most 3.4e38");
  if (cost < 0) return bad("a number of 0 or more");
  return CostedKey{key, static_cast<float>(cost) + 0.0f};  // + 0: no negative zero
}

Result<GrowingArray<Digest>> read_keys(const KeyFile& file, const Hasher& hasher, const Progress& progress,
                                       LineTally* tally) {
  GrowingArray<Digest> keys;
  NAYSAY_CHECK(for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
    if (tally) tally->see(line.text);
    if (!keys.push(hasher(line.text))) return no_memory(keys.size());
    return Ok{};
  }));
  return keys;
}

Result<Ok> for_each_negative(const KeyFile& file, const Hasher& hasher, const Progress& progress,
                             const TakeNegative& take, LineTally* tally) {
  std::optional<Error> other;  // not the line's fault
  auto ok = for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
    if (tally) tally->see(line.text);
    NAYSAY_TRY(const CostedKey parsed, parse_negative(line.text));
    auto taken = take(hasher(parsed.key), parsed.cost);
    if (!taken) other = taken.error();
    return taken;
  });
  if (!ok && other) return *other;
  return ok;
}

Result<TextKeys> read_texts(const KeyFile& file, Lines lines, const Hasher& hasher, const Progress& progress,
                            LineTally* tally) {
  TextKeys out;
  auto ok = for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
    if (tally) tally->see(line.text);
    CostedKey key{line.text, 1};
    if (lines == Lines::costed_keys) {
      auto parsed = parse_negative(line.text);
      if (!parsed) return std::move(parsed).error();
      key = *parsed;
      if (!out.costs.push(key.cost)) return no_memory(out.digests.size());
    }
    if (!out.digests.push(hasher(key.key)) || !out.texts.push(key.key)) return no_memory(out.digests.size());
    return Ok{};
  });
  if (!ok) return std::move(ok).error();
  return out;
}

Result<Negatives> read_negatives(const KeyFile& file, const Hasher& hasher, const Progress& progress,
                                 LineTally* tally) {
  Negatives negatives;
  const auto take = [&](Digest d, float cost) -> Result<Ok> {
    if (!negatives.digests.push(d) || !negatives.costs.push(cost)) return no_memory(negatives.digests.size());
    return Ok{};
  };
  NAYSAY_CHECK(for_each_negative(file, hasher, progress, take, tally));
  return negatives;
}

}  // namespace naysay
