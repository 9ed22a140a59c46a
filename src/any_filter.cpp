// SPDX-License-Identifier: Apache-2.0
#include "naysay/any_filter.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <tuple>

#include "naysay/core/files.hpp"

namespace naysay {

namespace {

// docs/format.md describes both headers byte by byte.
constexpr std::array<char, 8> kMagic = {'n', 'a', 'y', 's', 'a', 'y', '\r', '\n'};
constexpr std::uint32_t kVersion = 1;

struct FileHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t filter = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
  std::uint64_t keys = 0;
  std::uint32_t hash = 0;
  std::uint32_t key_kind = 0;
  std::uint64_t seed = 0;
  std::uint64_t secret_lo = 0;
  std::uint64_t secret_hi = 0;
  std::uint64_t reserved = 0;
};
static_assert(sizeof(FileHeader) == file_detail::kHeaderBytes);

constexpr std::array<char, 2> kBareMagic = {'n', 's'};

struct BareHeader {
  std::array<char, 2> magic = kBareMagic;
  std::uint16_t version = kVersion;
  std::uint32_t filter = 0;
};
static_assert(sizeof(BareHeader) == 8);

constexpr double kMaxBitsPerKey = 4096;          // above this, storing the keys is smaller
constexpr double kMaxBits = 9007199254740992.0;  // 2^53 bits, a petabyte: more than any address space holds

std::uint64_t file_checksum(FileHeader header, std::span<const std::byte> bytes) {
  header.checksum = 0;
  const std::uint64_t seed = checksum(std::as_bytes(std::span(&header, 1)));
  return checksum(bytes.subspan(sizeof header), seed);
}

Error unknown_filter(std::string_view name) {
  return {Errc::invalid_argument, "no filter has the name '" + std::string(name) + "'; there are " +
                                      names_of_filters([](const FilterType&) { return true; })};
}

Result<const FilterType*> type_with_id(std::uint32_t id) {
  const FilterType* type = find_filter(id);
  if (!type) return Error{Errc::unsupported, "filter id " + std::to_string(id) + " is unknown to this naysay"};
  return type;
}

}  // namespace

Result<Ok> check_build(std::string_view who, const Workload& w, double bits_per_key, const BuildOptions& options) {
  const std::string start = std::string(who) + ": ";
  if (!(bits_per_key > 0 && bits_per_key <= kMaxBitsPerKey))
    return Error{Errc::invalid_argument, start + "bits_per_key is " + rounded_text(bits_per_key) +
                                             "; it must be more than 0 and at most " + to_text(kMaxBitsPerKey)};
  if (const double bits = bits_per_key * static_cast<double>(options.room(w)); bits > kMaxBits)
    return Error{Errc::out_of_budget, start + to_text(options.room(w)) + " keys at " + rounded_text(bits_per_key) +
                                          " bits each are more than " + rounded_text(kMaxBits) + " bits"};
  if (!w.costs.empty() && w.costs.size() != w.negatives.size())
    return Error{Errc::invalid_argument, start + std::to_string(w.costs.size()) + " costs for " +
                                             std::to_string(w.negatives.size()) + " negatives; give one each, or none"};
  for (std::size_t i = 0; i < w.costs.size(); ++i)
    if (!(w.costs[i] >= 0) || std::isinf(w.costs[i]))
      return Error{Errc::invalid_argument, start + "cost " + std::to_string(i) + " is " + to_text(w.costs[i]) +
                                               "; it must be finite and 0 or more"};
  for (const auto& [bytes, digests, what] : {std::tuple(w.key_bytes.size(), w.keys.size(), " keys"),
                                             std::tuple(w.negative_bytes.size(), w.negatives.size(), " negatives")})
    if (bytes != 0 && bytes != digests)
      return Error{Errc::invalid_argument, start + "the bytes of " + std::to_string(bytes) + what + " for " +
                                               std::to_string(digests) + " digests; give one each, or none"};
  if (!(w.stranger_share >= 0 && w.stranger_share <= 1))
    return Error{Errc::invalid_argument,
                 start + "stranger_share is " + to_text(w.stranger_share) + "; it must be in [0, 1]"};
  return Ok{};
}

// ---- files ----------------------------------------------------------------------------------------------------------

namespace file_detail {

std::array<std::byte, kHeaderBytes> header_of(const FilterType& type, const FilterFacts& facts,
                                              std::span<const std::byte> file) {
  FileHeader h;
  h.filter = type.id;
  h.size = file.size();
  h.keys = facts.keys;
  h.hash = static_cast<std::uint32_t>(facts.hasher.id);
  h.key_kind = static_cast<std::uint32_t>(facts.key_kind);
  h.seed = facts.hasher.seed;
  h.secret_lo = facts.hasher.secret.lo;
  h.secret_hi = facts.hasher.secret.hi;
  h.checksum = file_checksum(h, file);
  std::array<std::byte, kHeaderBytes> bytes;
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}
void seal(const FilterType& type, const FilterFacts& facts, std::vector<std::byte>& file) {
  const auto header = header_of(type, facts, file);
  std::memcpy(file.data(), header.data(), header.size());
}

Result<Ok> write(const std::string& path, std::span<const std::byte> file) {
  return files::write_atomically(path, file);
}

Result<Opened> open(std::span<const std::byte> bytes) {
  FileHeader h;
  if (bytes.size() < sizeof h.magic || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return Error{Errc::corrupt, "not a naysay file; it must begin with 'naysay'"};
  if (bytes.size() < sizeof h)
    return Error{Errc::corrupt, "the header needs " + std::to_string(sizeof h) + " bytes; the file has " +
                                    std::to_string(bytes.size())};
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.version != kVersion)
    return Error{Errc::unsupported, "the file has format version " + std::to_string(h.version) +
                                        "; this naysay reads version " + std::to_string(kVersion)};
  if (h.size != bytes.size())
    return Error{Errc::corrupt,
                 "the header says " + std::to_string(h.size) + " bytes; the file has " + std::to_string(bytes.size())};
  if (h.checksum != file_checksum(h, bytes))
    return Error{Errc::corrupt, "the checksum does not match; the file was changed or damaged after it was written"};
  if (h.reserved != 0 || h.key_kind > static_cast<std::uint32_t>(KeyKind::integer))
    return Error{Errc::unsupported, "reserved header bytes are not zero; the file needs a newer naysay"};
  if (h.hash != static_cast<std::uint32_t>(HashId::xxh3) && h.hash != static_cast<std::uint32_t>(HashId::siphash))
    return Error{Errc::unsupported, "hash id " + std::to_string(h.hash) + " is unknown to this naysay"};
  NAYSAY_TRY(const FilterType* type, type_with_id(h.filter));
  return Opened{bytes,
                type,
                {.hasher = {static_cast<HashId>(h.hash), h.seed, {h.secret_lo, h.secret_hi}},
                 .key_kind = static_cast<KeyKind>(h.key_kind),
                 .keys = h.keys}};
}

Result<Opened> open_file(const std::string& path) {
  NAYSAY_TRY(files::Mapping mapping, files::map(path));
  auto file = open(mapping.bytes);
  if (!file) return in_file(path, std::move(file).error());
  file->facts.mapping = std::move(mapping.keeper);
  return file;
}

Error in_file(const std::string& path, Error error) { return {error.code, path + ": " + error.message}; }

Error other_type(const FilterType& found, const FilterType& expected) {
  return {Errc::unsupported,
          "the file holds a " + std::string(found.name) + " filter; it was opened as " + std::string(expected.name)};
}

}  // namespace file_detail

Result<AnyFilter> AnyFilter::read(file_detail::Opened file, file_detail::Bytes how) {
  const bool map = how == file_detail::Bytes::map;
  FieldReader reader(file.bytes, file_detail::kHeaderBytes, kFileAlignment,
                     map ? FieldReader::Arrays::borrow : FieldReader::Arrays::copy);
  AnyFilter f;
  f.type_ = file.type;
  NAYSAY_TRY(f.model_, file.type->read(reader, true));
  f.facts_ = std::move(file.facts);
  f.facts_.borrowed = map;
  if (!map) f.facts_.mapping.reset();
  return f;
}

Result<AnyFilter> AnyFilter::load(std::span<const std::byte> bytes) {
  return no_memory_is_an_error("load", [&]() -> Result<AnyFilter> {
    NAYSAY_TRY(file_detail::Opened file, file_detail::open(bytes));
    return read(std::move(file), file_detail::Bytes::copy);
  });
}

Result<AnyFilter> AnyFilter::view(std::span<const std::byte> bytes) {
  return no_memory_is_an_error("view", [&]() -> Result<AnyFilter> {
    NAYSAY_TRY(file_detail::Opened file, file_detail::open(bytes));
    return read(std::move(file), file_detail::Bytes::map);
  });
}

Result<AnyFilter> AnyFilter::open(const std::string& path, file_detail::Bytes how) {
  return no_memory_is_an_error(path, [&]() -> Result<AnyFilter> {
    NAYSAY_TRY(file_detail::Opened file, file_detail::open_file(path));
    auto f = read(std::move(file), how);
    if (!f) return file_detail::in_file(path, std::move(f).error());
    return f;
  });
}

std::vector<std::byte> AnyFilter::to_bytes() const {
  std::vector<std::byte> file(file_detail::kHeaderBytes);
  FieldWriter writer(file, kFileAlignment);
  model_->write_params(writer);
  model_->write_fields(writer);
  file_detail::seal(*type_, facts_, file);
  return file;
}

Result<Ok> AnyFilter::save(const std::string& path) const {
  return no_memory_is_an_error(path, [&] { return file_detail::write(path, to_bytes()); });
}

std::vector<std::byte> AnyFilter::to_bare() const {
  std::vector<std::byte> out(sizeof(BareHeader));
  BareHeader h;
  h.filter = type_->id;
  std::memcpy(out.data(), &h, sizeof h);
  FieldWriter writer(out);
  model_->write_fields(writer);
  return out;
}

Result<AnyFilter> AnyFilter::view_bare(std::span<const std::byte> bytes, const FilterFacts& facts) {
  return no_memory_is_an_error("view_bare", [&]() -> Result<AnyFilter> {
    BareHeader h;
    if (bytes.size() < sizeof h)
      return Error{Errc::corrupt, "the bare header needs " + std::to_string(sizeof h) + " bytes; " +
                                      std::to_string(bytes.size()) + " are left"};
    std::memcpy(&h, bytes.data(), sizeof h);
    if (h.magic != kBareMagic) return Error{Errc::corrupt, "not a bare naysay payload; it must begin with 'ns'"};
    if (h.version != kVersion)
      return Error{Errc::unsupported, "the payload has format version " + std::to_string(h.version) +
                                          "; this naysay reads version " + std::to_string(kVersion)};
    FieldReader reader(bytes, sizeof h, 0, FieldReader::Arrays::borrow);
    AnyFilter f;
    NAYSAY_TRY(f.type_, type_with_id(h.filter));
    NAYSAY_TRY(f.model_, f.type_->read(reader, false));
    f.facts_ = facts;
    f.facts_.borrowed = true;
    return f;
  });
}

// ---- building and changing ------------------------------------------------------------------------------------------

Result<AnyFilter> AnyFilter::build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                   const BuildOptions& options, KeyKind kind) {
  return no_memory_is_an_error(filter, [&]() -> Result<AnyFilter> {
    const FilterType* type = find_filter(filter);
    if (!type) return unknown_filter(filter);
    if (workload.source && type->claims.uses_negatives && !type->claims.streams_negatives)
      return Error{Errc::invalid_argument,
                   std::string(filter) +
                       ": it holds all known negatives in memory; filters that read them piece by "
                       "piece are " +
                       names_of_filters([](const FilterType& t) { return t.claims.streams_negatives; })};
    return type->build(workload, params, options, kind);
  });
}

AnyFilter::AnyFilter(const FilterType& type, void* keyed, FilterFacts facts)
    : type_(&type), model_(type.adopt(keyed)), facts_(std::move(facts)) {}

Result<Ok> AnyFilter::own() {
  if (!facts_.borrowed) return Ok{};
  return no_memory_is_an_error(type_->name, [&]() -> Result<Ok> {
    model_->own();
    facts_.mapping.reset();
    facts_.borrowed = false;
    return Ok{};
  });
}

Outcome AnyFilter::insert_digest(Digest d) noexcept {
  if (!type_->dynamic) return Outcome::unsupported;
  if (!own()) return Outcome::no_memory;
  if (!model_->insert(d)) return Outcome::no_room;
  ++facts_.keys;
  return Outcome::done;
}

Outcome AnyFilter::erase_digest(Digest d) noexcept {
  if (!type_->erasable) return Outcome::unsupported;
  if (!own()) return Outcome::no_memory;
  if (!model_->erase(d)) return Outcome::absent;
  facts_.keys -= facts_.keys > 0;  // a bare payload does not say how many there are
  return Outcome::done;
}

Outcome AnyFilter::adapt_digest(Digest d, float cost) noexcept {
  if (!type_->adaptive) return Outcome::unsupported;
  if (!own()) return Outcome::no_memory;
  return model_->adapt(d, cost) ? Outcome::done : Outcome::no_room;
}

Result<Ok> AnyFilter::warm(std::span<const Digest> keys) {
  if (!type_->warming)
    return Error{Errc::unsupported, std::string(type_->name) + ": it does not warm; filters that do are " +
                                        names_of_filters([](const FilterType& t) { return t.warming; })};
  NAYSAY_CHECK(own());
  return no_memory_is_an_error(type_->name, [&] { return model_->warm(keys); });
}

Result<AnyFilter> AnyFilter::clone() const {
  return no_memory_is_an_error(type_->name, [&]() -> Result<AnyFilter> {
    AnyFilter f;
    f.type_ = type_;
    f.model_ = model_->clone();
    f.facts_ = {.hasher = facts_.hasher, .key_kind = facts_.key_kind, .keys = facts_.keys};
    return f;
  });
}

}  // namespace naysay
