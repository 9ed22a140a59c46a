// SPDX-License-Identifier: Apache-2.0
#include "parts/part_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>

#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

constexpr std::array<char, 8> kMagic = {'n', 'a', 'y', 's', 'a', 'y', 'p', '\n'};
constexpr std::uint32_t kVersion = 1;

struct PartHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t index = 0;
  std::uint32_t parts = 0;
  std::uint32_t plan_bytes = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(PartHeader) == 48);

std::uint64_t seed_of(PartHeader h) {
  h.checksum = 0;
  return checksum(std::as_bytes(std::span(&h, 1)));
}

Failure damaged(const std::string& path, const std::string& what) {
  return {fmt::format("{}: {}; build this part again", path, what)};
}

}  // namespace

PartNumber PartNumber::parse(const std::string& text) {
  PartNumber n;
  const char* end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, n.index);
  if (first == std::errc{} && slash != end && *slash == '/') {
    const auto [last, second] = std::from_chars(slash + 1, end, n.parts);
    if (second == std::errc{} && last == end && n.index >= 1 && n.index <= n.parts && n.parts <= kMostParts) return n;
  }
  throw Failure{
      fmt::format("--part is '{}'; it must be I/N, the I-th of N parts, such as 3/16, N at most {}", text, kMostParts)};
}

Hasher PartFile::hasher() const {
  return plan.hash.starts_with("siphash") ? Hasher{HashId::siphash, 0, secret} : Hasher{HashId::xxh3, plan.seed, {}};
}

bool PartFile::is_one(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, kMagic.size()> start{};
  return in.read(start.data(), start.size()) && start == kMagic;
}

PartFile PartFile::read(const std::string& path) {
  PartFile f;
  f.path = path;
  f.mapping = need(files::map(path));
  const std::span<const std::byte> bytes = f.mapping.bytes;
  PartHeader h;
  if (bytes.size() < sizeof h + sizeof(SipKey) || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    throw Failure{fmt::format("{}: it is no part of a filter; give files that naysay build --part wrote", path)};
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.version != kVersion)
    throw Failure{fmt::format("{}: its format version is {}; this naysay reads {}", path, h.version, kVersion)};
  if (h.size != bytes.size())
    throw damaged(path, fmt::format("it has {} bytes, and its header says {}", bytes.size(), h.size));
  if (h.checksum != checksum(bytes.subspan(sizeof h), seed_of(h)))
    throw damaged(path, "its checksum does not match; it was changed or damaged after it was written");
  std::memcpy(&f.secret, bytes.data() + sizeof h, sizeof f.secret);
  const std::size_t after = sizeof h + sizeof f.secret + h.plan_bytes;
  if (after > bytes.size() || h.index < 1 || h.index > h.parts || h.parts > kMostParts)
    throw damaged(path, "its header makes no sense");
  f.number = {h.index, h.parts};
  f.plan_text.assign(reinterpret_cast<const char*>(bytes.data()) + after - h.plan_bytes, h.plan_bytes);
  f.plan = PartPlan::parse(f.plan_text, path);
  FieldReader reader(bytes, after, kFileAlignment, FieldReader::Arrays::borrow);
  reader("part", f.part);
  if (!reader.ok() || reader.left() != 0) throw damaged(path, "its fields do not fill it");
  return f;
}

void write_part(const std::string& path, const PartNumber& number, const std::string& plan_text, const Hasher& hasher,
                const FilterPart& part) {
  PartHeader h;
  h.index = number.index;
  h.parts = number.parts;
  h.plan_bytes = static_cast<std::uint32_t>(plan_text.size());
  const SipKey secret = hasher.id == HashId::siphash ? hasher.secret : SipKey{};
  FieldPlan fields(sizeof h + sizeof secret + plan_text.size(), kFileAlignment);
  fields("part", part);
  h.size = fields.end();
  const std::array<std::span<const std::byte>, 2> front = {
      std::as_bytes(std::span(&secret, 1)), std::as_bytes(std::span(plan_text.data(), plan_text.size()))};
  Checksum sum(seed_of(h));
  for (const auto& bytes : front) sum.add(bytes);
  for (const FieldPlan::Piece& piece : fields.pieces()) sum.add(fields.bytes(piece));
  h.checksum = sum.value();

  files::AtomicFile file = need(
      files::AtomicFile::create(path, hasher.id == HashId::siphash ? files::Access::owner_only : files::Access::usual));
  need(file.append(std::as_bytes(std::span(&h, 1))));
  for (const auto& bytes : front) need(file.append(bytes));
  for (const FieldPlan::Piece& piece : fields.pieces()) need(file.append(fields.bytes(piece)));
  need(file.commit());
}

std::vector<PartFile> read_parts(const std::vector<std::string>& paths) {
  std::vector<PartFile> parts;
  for (const std::string& path : paths) parts.push_back(PartFile::read(path));
  const PartFile& first = parts.at(0);
  for (const PartFile& other : parts) {
    if (const std::string d = other.plan.difference(first.plan, true); !d.empty())
      throw Failure{fmt::format("{}: it was built under another plan than {}: with {}", other.path, first.path, d)};
    if (other.secret != first.secret)
      throw Failure{fmt::format("{}: it was built with another key of the hash than {}", other.path, first.path)};
    if (other.number.parts != first.number.parts)
      throw Failure{fmt::format("{}: it is part {}, and {} is part {}; join parts of one division", other.path,
                                other.number.text(), first.path, first.number.text())};
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartFile& a, const PartFile& b) { return a.number.index < b.number.index; });
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].number.index == parts[i - 1].number.index)
      throw Failure{fmt::format("{} and {} are both part {}; give each part once", parts[i - 1].path, parts[i].path,
                                parts[i].number.text())};
  if (parts.size() != parts[0].number.parts) {
    std::string missing;
    std::uint32_t count = 0, next = 1;
    const auto miss = [&](std::uint32_t index) {
      if (++count <= 8) missing += fmt::format("{}{}/{}", count == 1 ? "" : ", ", index, parts[0].number.parts);
    };
    for (const PartFile& part : parts)
      for (; next++ < part.number.index;) miss(next - 1);
    for (; next <= parts[0].number.parts; ++next) miss(next);
    throw Failure{fmt::format("{} of {} parts are missing: {}{}", count, parts[0].number.parts, missing,
                              count > 8 ? ", ..." : "")};
  }
  return parts;
}

}  // namespace naysay::cli
