// SPDX-License-Identifier: Apache-2.0
#include "naysay/file_image.hpp"

#include <algorithm>
#include <cstring>

#include "file_header.hpp"
#include "naysay/core/files.hpp"

namespace naysay {

FileImage::FileImage(const FilterType& type, const FilterFacts& facts, FieldPlan plan, Seal when)
    : plan_(std::move(plan)) {
  const file_detail::FileHeader h = file_detail::unsealed_header(type, facts, plan_.end());
  std::memcpy(header_.data(), &h, sizeof h);
  if (when == Seal::later) return;
  Checksum sum(checksum_seed());
  for (const FieldPlan::Piece& piece : plan_.pieces()) sum.add(plan_.bytes(piece));
  seal(sum.value());
}

std::uint64_t FileImage::checksum_seed() const noexcept {
  file_detail::FileHeader h;
  std::memcpy(&h, header_.data(), sizeof h);
  return file_detail::checksum_seed(h);
}

void FileImage::seal(std::uint64_t checksum) noexcept {
  file_detail::FileHeader h;
  std::memcpy(&h, header_.data(), sizeof h);
  h.checksum = checksum;
  std::memcpy(header_.data(), &h, sizeof h);
}

void FileImage::copy(std::uint64_t at, std::span<std::byte> out) const noexcept {
  if (at < header_.size()) {
    const std::size_t n = std::min<std::size_t>(header_.size() - at, out.size());
    std::memcpy(out.data(), header_.data() + at, n);
    at += n;
    out = out.subspan(n);
  }
  if (!out.empty()) plan_.copy(at, out);
}

Result<Ok> FileImage::write(const ByteSink& to, std::size_t most) const {
  constexpr std::size_t kSmall = 4096;  // what is shorter is gathered; the rest is given as it lies in memory
  std::vector<std::byte> gathered;
  gathered.reserve(std::min(2 * kSmall, most));
  const auto flush = [&]() -> Result<Ok> {
    if (gathered.empty()) return Ok{};
    NAYSAY_CHECK(to(gathered));
    gathered.clear();
    return Ok{};
  };
  const auto give = [&](std::span<const std::byte> bytes) -> Result<Ok> {
    if (gathered.size() + bytes.size() > gathered.capacity() || bytes.size() > kSmall) NAYSAY_CHECK(flush());
    if (bytes.size() <= std::min(kSmall, gathered.capacity())) {
      gathered.insert(gathered.end(), bytes.begin(), bytes.end());
      return Ok{};
    }
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size())))
      NAYSAY_CHECK(to(bytes.first(std::min(most, bytes.size()))));
    return Ok{};
  };
  NAYSAY_CHECK(give(header_));
  for (const FieldPlan::Piece& piece : plan_.pieces()) NAYSAY_CHECK(give(plan_.bytes(piece)));
  return flush();
}

namespace {

// Whether these bytes begin as a file that holds a key of SipHash does.
bool holds_secret(std::span<const std::byte> file) {
  file_detail::FileHeader h;
  if (file.size() < sizeof h) return false;
  std::memcpy(&h, file.data(), sizeof h);
  return h.magic == file_detail::kMagic && h.hash == static_cast<std::uint32_t>(HashId::siphash);
}

}  // namespace

// A secret is for the owner alone, until the owner gives others access to the file: then it stays so.
Result<Ok> FileImage::save(const std::string& path) const {
  files::Access access = files::Access::usual;
  if (holds_secret(header_)) {
    const auto before = files::map(path);
    if (!before || !holds_secret(before->bytes)) access = files::Access::owner_only;
  }
  NAYSAY_TRY(files::AtomicFile file, files::AtomicFile::create(path, access));
  NAYSAY_CHECK(write([&](std::span<const std::byte> piece) { return file.append(piece); }));
  return file.commit();
}

std::vector<std::byte> FileImage::to_bytes() const {
  std::vector<std::byte> bytes(size());
  copy(0, bytes);
  return bytes;
}

}  // namespace naysay
