// SPDX-License-Identifier: Apache-2.0
#include "text_source.hpp"

#include <zlib.h>
#include <zstd.h>

#include <string_view>

namespace naysay {

namespace {

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

struct PlainSource final : TextSource {
  using TextSource::TextSource;
  bool packed() const noexcept override { return false; }
  Result<std::size_t> read(std::span<char> to) override {
    const auto ready = raw->unread();
    if (ready.empty()) return raw->read_into(to);
    const std::size_t n = std::min(ready.size(), to.size());
    std::memcpy(to.data(), ready.data(), n);
    raw->drop(n);
    return n;
  }
};

struct GzipSource final : TextSource {
  ~GzipSource() override { ::inflateEnd(&stream_); }
  explicit GzipSource(std::unique_ptr<RawBytes> bytes) : TextSource(std::move(bytes)) {
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

Error damaged_zstd(const std::string& name, std::size_t problem) {
  return {Errc::corrupt, name + ": damaged zstd data: " + ::ZSTD_getErrorName(problem)};
}

struct ZstdSource final : TextSource {
  ~ZstdSource() override { ::ZSTD_freeDCtx(stream_); }
  // 31: files of `zstd --ultra --long=31` open too, and only they need that much memory.
  explicit ZstdSource(std::unique_ptr<RawBytes> bytes) : TextSource(std::move(bytes)), stream_(::ZSTD_createDCtx()) {
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
      if (::ZSTD_isError(left)) return damaged_zstd(raw->name, left);
      within_ = left != 0;
      if (packed.empty() && out.pos == 0)  // nothing more to give, and it wants more
        return Error{Errc::corrupt, raw->name + ": the zstd data ends too early; the file was cut off"};
    }
    return out.pos;
  }

  // Frames that say how much text they hold. What is wrong with the bytes is left to read().
  Result<Frames> take_frames(std::vector<char>& packed) override {
    Frames taken;
    packed.clear();
    if (within_ || !raw->regular) return taken;
    std::size_t known = 1;
    while (taken.text < kEnoughText) {
      NAYSAY_CHECK(raw->fill_to(known));
      const auto ready = raw->unread();
      const std::size_t size = ::ZSTD_findFrameCompressedSize(ready.data(), ready.size());
      if (::ZSTD_isError(size)) {
        if (raw->at_end() || known >= kMostFrame) break;
        known = std::min(kMostFrame, 2 * std::max(known, ready.size()));
        continue;
      }
      const unsigned long long text = ::ZSTD_getFrameContentSize(ready.data(), ready.size());
      if (text > kMostFrameText) break;  // also what stands for "not known"
      packed.insert(packed.end(), ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(size));
      raw->drop(size);
      ++taken.count;
      taken.text += static_cast<std::size_t>(text);
      known = 1;
    }
    return taken;
  }

 private:
  static constexpr std::size_t kMostFrame = std::size_t{1} << 22;
  static constexpr unsigned long long kMostFrameText = 1 << 23;
  static constexpr std::size_t kEnoughText = std::size_t{1} << 18;  // of small frames, many are taken

  ZSTD_DCtx* stream_;
  bool ready_ = false, within_ = false;
};

}  // namespace

Result<std::unique_ptr<TextSource>> open_text(const KeyFile& file) {
  using Opened = std::unique_ptr<TextSource>;
  auto raw = std::make_unique<RawBytes>();
  NAYSAY_CHECK(raw->open(file));
  // A pipe may deliver the bytes that say what a file is one by one; text is known as such by its first letter or two.
  while (may_become_packed(raw->unread()) && !raw->at_end()) NAYSAY_CHECK(raw->fill_more());
  const auto start = raw->unread();
  const auto* magic = std::find_if(std::begin(kMagics), std::end(kMagics),
                                   [&](const Magic& m) { return start.size() >= m.bytes.size() && agrees(start, m); });
  if (magic == std::end(kMagics)) return Opened(std::make_unique<PlainSource>(std::move(raw)));
  if (magic->how_to_read)
    return Error{Errc::unsupported, raw->name + ": this is " + std::string(magic->name) +
                                        ", which is not read as keys; " + magic->how_to_read};
  if (magic->name == kGzip) return Opened(std::make_unique<GzipSource>(std::move(raw)));
  return Opened(std::make_unique<ZstdSource>(std::move(raw)));
}

Error utf16_error(const std::string& name) {
  return {Errc::unsupported,
          name +
              ": this is UTF-16 text, and keys are compared byte by byte; convert it to UTF-8 first, "
              "for example with iconv -f UTF-16 -t UTF-8"};
}

Result<Ok> unpack_frames(const std::string& name, std::span<const char> packed, std::span<char> text) {
  const std::size_t n = ::ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (::ZSTD_isError(n)) return damaged_zstd(name, n);
  if (n != text.size()) return Error{Errc::corrupt, name + ": damaged zstd data: it holds less text than it says"};
  return Ok{};
}

}  // namespace naysay
