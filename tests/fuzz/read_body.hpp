// SPDX-License-Identifier: Apache-2.0
// Bytes as a file of keys and of negatives: plain, and packed with gzip and zstd. What comes out is what a few lines of
// plain code make of the same bytes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/bodies.hpp"
#include "naysay/workload/keys.hpp"

namespace naysay::fuzz {

// A file without a name, read through /proc.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("keys", MFD_CLOEXEC)) {
    require(file_ >= 0);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(file_, bytes.data() + done, bytes.size() - done);
      require(n > 0);
      done += static_cast<std::size_t>(n);
    }
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

inline std::string gzipped(std::string_view bytes) {
  z_stream z{};
  require(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, static_cast<uLong>(bytes.size())) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  require(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}
inline std::string zstd_packed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
  require(!ZSTD_isError(n));
  out.resize(n);
  return out;
}

// The keys of plain text, by the letter of workload/keys.hpp.
inline std::vector<Digest> plain_keys(std::string_view text, Separator separator, const Hasher& hasher) {
  std::vector<Digest> keys;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(static_cast<char>(separator)), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (separator == Separator::newline && line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) keys.push_back(hasher(line));
  }
  return keys;
}

inline void read_lines(std::span<const std::uint8_t> data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  // Not a file that is recognised by its first bytes: packed ones, and a byte order mark.
  const bool plain = text.empty() || (static_cast<unsigned char>(text[0]) < 0x80 && text[0] != 0x1f && text[0] != 'B' &&
                                      text[0] != '(');
  const Hasher hasher;
  for (const Separator separator : {Separator::newline, Separator::nul})
    for (int how = 0; how < 3; ++how) {
      const MemoryFile file(how == 0 ? std::string(text) : how == 1 ? gzipped(text) : zstd_packed(text));
      const auto keys = read_keys({file.path(), separator}, hasher);
      if (!plain) continue;
      require(keys.has_value());
      const auto expected = plain_keys(text, separator, hasher);
      require(std::equal(keys->begin(), keys->end(), expected.begin(), expected.end()));
    }
  const MemoryFile file(text);
  const auto negatives = read_negatives({file.path()}, hasher);
  if (negatives) {
    require(negatives->digests.size() == negatives->costs.size());
    for (const float cost : negatives->costs) require(cost >= 0 && cost - cost == 0);
    if (plain && text.find('\t') == text.npos) {
      const auto expected = plain_keys(text, Separator::newline, hasher);
      require(std::equal(negatives->digests.begin(), negatives->digests.end(), expected.begin(), expected.end()));
    }
  } else {
    require(!negatives.error().message.empty());
  }
  if (const auto one = parse_negative(text.substr(0, text.find('\n'))))
    require(one->cost >= 0 && one->key.size() <= text.size());
}

}  // namespace naysay::fuzz
