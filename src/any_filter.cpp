#include "naysay/any_filter.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "files.hpp"

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
  std::uint32_t reserved = 0;
  std::uint64_t seed = 0;
  std::uint64_t secret_lo = 0;
  std::uint64_t secret_hi = 0;
  std::uint64_t reserved2 = 0;
};
static_assert(sizeof(FileHeader) == 80);

constexpr std::array<char, 2> kBareMagic = {'n', 's'};

struct BareHeader {
  std::array<char, 2> magic = kBareMagic;
  std::uint16_t version = kVersion;
  std::uint32_t filter = 0;
};
static_assert(sizeof(BareHeader) == 8);

std::uint64_t file_checksum(FileHeader header, std::span<const std::byte> bytes) {
  header.checksum = 0;
  const std::uint64_t seed = checksum(std::as_bytes(std::span(&header, 1)));
  return checksum(bytes.subspan(sizeof header), seed);
}

Error unknown_filter(std::string_view name) {
  std::string names;
  for (const FilterType& t : filter_types()) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return {Errc::invalid_argument, "no filter '" + std::string(name) + "'; there are " + names};
}

Result<Ok> check_workload(std::string_view who, const Workload& w) {
  const std::string start = std::string(who) + ": ";
  if (!w.costs.empty() && w.costs.size() != w.negatives.size())
    return Error{Errc::invalid_argument, start + std::to_string(w.costs.size()) + " costs for " +
                                             std::to_string(w.negatives.size()) + " negatives; give one each, or none"};
  for (std::size_t i = 0; i < w.costs.size(); ++i)
    if (!(w.costs[i] >= 0) || std::isinf(w.costs[i]))
      return Error{Errc::invalid_argument, start + "cost " + std::to_string(i) + " is " + to_text(w.costs[i]) +
                                               "; it must be finite and 0 or more"};
  if (!(w.stranger_share >= 0 && w.stranger_share <= 1))
    return Error{Errc::invalid_argument,
                 start + "stranger_share is " + to_text(w.stranger_share) + "; it must be in [0, 1]"};
  return Ok{};
}

}  // namespace

Result<AnyFilter> AnyFilter::build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                   const BuildOptions& options) {
  const FilterType* type = find_filter(filter);
  if (!type) return unknown_filter(filter);
  if (auto ok = check_workload(filter, workload); !ok) return ok.error();
  if (workload.source && type->claims.uses_negatives && !type->claims.streams_negatives)
    return Error{
        Errc::invalid_argument,
        std::string(filter) +
            ": it holds all known negatives in memory; a filter that reads them piece by piece is taught-ribbon"};
  auto model = type->build(type->name, workload, params, options);
  if (!model) return std::move(model).error();
  AnyFilter f;
  f.type_ = type;
  f.model_ = std::move(*model);
  f.hasher_ = options.hasher;
  f.keys_ = workload.keys.size();
  return f;
}

Result<AnyFilter> AnyFilter::from_fields(std::string_view name, std::span<const std::byte> fields, std::uint64_t keys,
                                         const Hasher& hasher) {
  const FilterType* type = find_filter(name);
  if (!type) return unknown_filter(name);
  FieldReader reader(fields, 0, kFileAlignment, FieldReader::Arrays::copy);
  auto model = type->read(reader, true);
  if (!model) return std::move(model).error();
  AnyFilter f;
  f.type_ = type;
  f.model_ = std::move(*model);
  f.hasher_ = hasher;
  f.keys_ = keys;
  return f;
}

std::vector<std::byte> AnyFilter::save() const {
  std::vector<std::byte> out(sizeof(FileHeader));
  FieldWriter writer(out, kFileAlignment);
  model_->write_params(writer);
  model_->write_fields(writer);
  FileHeader h;
  h.filter = type_->id;
  h.size = out.size();
  h.keys = keys_;
  h.hash = static_cast<std::uint32_t>(hasher_.id);
  h.seed = hasher_.seed;
  h.secret_lo = hasher_.secret.lo;
  h.secret_hi = hasher_.secret.hi;
  h.checksum = file_checksum(h, out);
  std::memcpy(out.data(), &h, sizeof h);
  return out;
}

Result<AnyFilter> AnyFilter::read_fields(std::uint32_t id, FieldReader& reader, bool with_params) {
  const FilterType* type = find_filter(id);
  if (!type) return Error{Errc::unsupported, "filter id " + std::to_string(id) + " is unknown to this naysay"};
  auto model = type->read(reader, with_params);
  if (!model) return std::move(model).error();
  if (reader.left() != 0)
    return Error{Errc::corrupt, std::to_string(reader.left()) + " bytes follow the last field; there must be none"};
  AnyFilter f;
  f.type_ = type;
  f.model_ = std::move(*model);
  return f;
}

Result<AnyFilter> AnyFilter::read(std::span<const std::byte> bytes, FieldReader::Arrays arrays) {
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
  if (h.reserved != 0 || h.reserved2 != 0)
    return Error{Errc::unsupported, "reserved header bytes are not zero; the file needs a newer naysay"};
  if (h.hash != static_cast<std::uint32_t>(HashId::xxh3) && h.hash != static_cast<std::uint32_t>(HashId::siphash))
    return Error{Errc::unsupported, "hash id " + std::to_string(h.hash) + " is unknown to this naysay"};
  FieldReader reader(bytes, sizeof h, kFileAlignment, arrays);
  auto f = read_fields(h.filter, reader, true);
  if (!f) return f;
  f->hasher_ = {static_cast<HashId>(h.hash), h.seed, {h.secret_lo, h.secret_hi}};
  f->keys_ = h.keys;
  f->borrowed_ = arrays == FieldReader::Arrays::borrow;
  return f;
}

Result<AnyFilter> AnyFilter::load(std::span<const std::byte> bytes) { return read(bytes, FieldReader::Arrays::copy); }
Result<AnyFilter> AnyFilter::view(std::span<const std::byte> bytes) { return read(bytes, FieldReader::Arrays::borrow); }

Result<AnyFilter> AnyFilter::map_file(const std::string& path) {
  auto mapping = files::map(path);
  if (!mapping) return std::move(mapping).error();
  auto f = view(mapping->bytes);
  if (!f) return Error{f.error().code, path + ": " + f.error().message};
  f->mapping_ = mapping->keeper;
  return f;
}

Result<AnyFilter> AnyFilter::load_file(const std::string& path) {
  auto mapping = files::map(path);
  if (!mapping) return std::move(mapping).error();
  auto f = load(mapping->bytes);
  if (!f) return Error{f.error().code, path + ": " + f.error().message};
  return f;
}

Result<Ok> AnyFilter::save_file(const std::string& path) const { return files::write_atomically(path, save()); }

std::vector<std::byte> AnyFilter::save_bare() const {
  std::vector<std::byte> out(sizeof(BareHeader));
  BareHeader h;
  h.filter = type_->id;
  std::memcpy(out.data(), &h, sizeof h);
  FieldWriter writer(out);
  model_->write_fields(writer);
  return out;
}

Result<AnyFilter> AnyFilter::view_bare(std::span<const std::byte> bytes, const Hasher& hasher) {
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
  auto f = read_fields(h.filter, reader, false);
  if (!f) return f;
  f->hasher_ = hasher;
  f->borrowed_ = true;
  return f;
}

bool AnyFilter::insert(Digest d) noexcept {
  assert(type_->dynamic);
  make_own();
  const bool done = model_->insert(d);
  keys_ += done;
  return done;
}

bool AnyFilter::erase(Digest d) noexcept {
  assert(type_->erasable);
  make_own();
  const bool done = model_->erase(d);
  keys_ -= done;
  return done;
}

bool AnyFilter::adapt(Digest d, float cost) noexcept {
  assert(type_->adaptive);
  make_own();
  return model_->adapt(d, cost);
}

Result<Ok> AnyFilter::warm(std::span<const Digest> keys) {
  assert(type_->warming);
  make_own();
  return model_->warm(keys);
}

AnyFilter AnyFilter::clone() const {
  AnyFilter f;
  f.type_ = type_;
  f.model_ = model_->clone();
  f.mapping_ = mapping_;
  f.hasher_ = hasher_;
  f.keys_ = keys_;
  f.borrowed_ = borrowed_;
  return f;
}

void AnyFilter::make_own() {
  if (!borrowed_) return;
  model_->own();
  mapping_.reset();
  borrowed_ = false;
}

}  // namespace naysay
