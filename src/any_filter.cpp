// SPDX-License-Identifier: Apache-2.0
#include "naysay/any_filter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "file_header.hpp"
#include "naysay/core/files.hpp"

namespace naysay {

namespace {

// docs/format.md describes it byte by byte.
constexpr std::array<char, 2> kBareMagic = {'n', 's'};

struct BareHeader {
  std::array<char, 2> magic = kBareMagic;
  std::uint16_t version = file_detail::kVersion;
  std::uint32_t filter = 0;
};
static_assert(sizeof(BareHeader) == 8);

constexpr double kMaxBits = 9007199254740992.0;  // 2^53 bits, a petabyte: more than any address space holds

constexpr float kMaxCapacity = 0x1p63f;

bool is_zero(float x) { return std::bit_cast<std::uint32_t>(x) == 0; }

// The smallest float that is no less.
float capacity_code(std::uint64_t capacity) {
  if (capacity >= std::uint64_t{1} << 62) return 0x1p62f;
  const auto near = static_cast<float>(capacity);
  return static_cast<std::uint64_t>(near) >= capacity ? near : std::nextafter(near, kMaxCapacity);
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

// Of a file or payload (`what`) that holds the filter with this id, which may be unknown.
Result<Ok> check_version(const char* what, std::uint32_t version, std::uint32_t id) {
  const FilterType* type = find_filter(id);
  const std::uint32_t newest = type ? type->format : file_detail::kVersion;
  if (version >= file_detail::kVersion && version <= newest) return Ok{};
  return Error{Errc::unsupported,
               std::string("the ") + what + " has format version " + std::to_string(version) + "; this naysay reads " +
                   (newest == file_detail::kVersion ? "version " : "versions up to ") + std::to_string(newest)};
}

}  // namespace

Result<Ok> check_build(std::string_view who, const Workload& w, double bits_per_key, const BuildOptions& options) {
  const std::string start = std::string(who) + ": ";
  if (!(bits_per_key > 0 && bits_per_key <= kMaxBitsPerKey))
    return Error{Errc::invalid_argument, start + "bits_per_key is " + rounded_text(bits_per_key) +
                                             "; it must be more than 0 and at most " + to_text(kMaxBitsPerKey)};
  if (options.room(w) > kMaxRoom)
    return Error{Errc::invalid_argument, start + "room for " + to_text(options.room(w)) +
                                             " keys is wanted; it must be from 0 to " + to_text(kMaxRoom)};
  if (options.threads > kMaxThreads)
    return Error{Errc::invalid_argument,
                 start + "threads is " + to_text(options.threads) + "; it must be from 0 to " + to_text(kMaxThreads)};
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

Result<std::uint64_t> bytes_for(std::string_view filter, std::uint64_t keys, std::span<const Param> params) {
  return no_memory_is_an_error(filter, [&]() -> Result<std::uint64_t> {
    const FilterType* type = find_filter(filter);
    if (!type) return unknown_filter(filter);
    NAYSAY_CHECK(type->check_params(filter, params));
    std::vector<Param> all = type->defaults();
    all.insert(all.end(), params.begin(), params.end());
    double bits_per_key = 0;
    std::string right;
    for (const Param& p : all)
      if (p.name == "bits_per_key") from_text(p.value, bits_per_key, right);
    NAYSAY_CHECK(check_build(filter, {}, bits_per_key, {.capacity = keys}));
    // The filter's claim, and what a file has more: lengths and padding of arrays, parameters, the header.
    const Claims& c = type->claims;
    const double bits = (bits_per_key + c.index_bits_per_key) * static_cast<double>(keys) +
                        static_cast<double>(c.fixed_bits + c.index_fixed_bits);
    const std::uint64_t frame = type->claims.most_arrays * (kFileAlignment + 7) + 16 * all.size();
    return static_cast<std::uint64_t>(std::ceil(bits / 8 * (1 + 0x1p-16))) + frame + file_detail::kHeaderBytes;
  });
}

namespace {

// The most distinct keys that have the same byte at the same place of their digests, if these are too many for chance:
// eight standard deviations more than the mean. Else 0. Sharing ten bits in a row means sharing five bits of a byte.
std::uint64_t keys_that_share_bits(std::span<const Digest> keys) {
  std::vector<Digest> distinct(keys.begin(), keys.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const double mean = static_cast<double>(distinct.size()) / 256;
  std::uint64_t most = 0;
  for (unsigned place = 0; place < 128; place += 8) {
    std::array<std::uint64_t, 256> count{};
    for (const Digest& d : distinct) ++count[((place < 64 ? d.lo : d.hi) >> place % 64) & 0xff];
    most = std::max(most, *std::max_element(count.begin(), count.end()));
  }
  return static_cast<double>(most) > mean + 8 * std::sqrt(mean) + 8 ? most : 0;
}

}  // namespace

Error why_build_failed(std::string_view who, Error error, const Workload& w, const BuildOptions& options) {
  if (error.code != Errc::build_failed || options.hasher.id != HashId::xxh3) return error;
  const std::uint64_t sharing = keys_that_share_bits(w.keys);
  if (sharing == 0) return error;
  return {Errc::chosen_keys,
          std::string(who) + ": " + to_text(sharing) + " of " + to_text(std::uint64_t{w.keys.size()}) +
              " keys share bits of their digests, and no seed helps; the keys look chosen, and a hash "
              "with a secret key would be right"};
}

// ---- files ----------------------------------------------------------------------------------------------------------

namespace file_detail {

FileHeader unsealed_header(const FilterType& type, const FilterFacts& facts, std::uint64_t size) noexcept {
  FileHeader h;
  h.version = type.format;
  h.filter = type.id;
  h.size = size;
  h.keys = facts.keys;
  h.hash = static_cast<std::uint32_t>(facts.hasher.id);
  h.key_kind = static_cast<std::uint32_t>(facts.key_kind);
  h.seed = facts.hasher.seed;
  h.secret_lo = facts.hasher.secret.lo;
  h.secret_hi = facts.hasher.secret.hi;
  h.key_set = facts.key_set;
  h.capacity = capacity_code(facts.capacity);
  return h;
}

std::uint64_t checksum_seed(FileHeader header) noexcept {
  header.checksum = 0;
  return checksum(std::as_bytes(std::span(&header, 1)));
}

std::array<std::byte, kHeaderBytes> header_of(const FilterType& type, const FilterFacts& facts,
                                              std::span<const std::byte> file) {
  FileHeader h = unsealed_header(type, facts, file.size());
  h.checksum = checksum(file.subspan(sizeof h), checksum_seed(h));
  std::array<std::byte, kHeaderBytes> bytes;
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

namespace {

Error wrong_checksum() {
  return {Errc::corrupt, "the checksum does not match; the file was changed or damaged after it was written"};
}

// The magic bytes, version and size of a header.
Result<FileHeader> begin_of(std::span<const std::byte> front) {
  FileHeader h;
  if (front.size() < sizeof h.magic || std::memcmp(front.data(), kMagic.data(), kMagic.size()) != 0)
    return Error{Errc::corrupt, "not a naysay file; it must begin with 'naysay'"};
  if (front.size() < sizeof h)
    return Error{Errc::corrupt, "the header needs " + std::to_string(sizeof h) + " bytes; the file has " +
                                    std::to_string(front.size())};
  std::memcpy(&h, front.data(), sizeof h);
  NAYSAY_CHECK(check_version("file", h.version, h.filter));
  return h;
}

// What the rest of a header says.
Result<FilterFacts> facts_of(const FileHeader& h, const FilterType& type) {
  if (h.key_kind > static_cast<std::uint32_t>(KeyKind::integer) || (h.key_set != kUnknownKeySet && !type.warming) ||
      (!is_zero(h.capacity) && !type.dynamic))
    return Error{Errc::unsupported, "reserved header bytes are not zero; the file needs a newer naysay"};
  if (h.hash != static_cast<std::uint32_t>(HashId::xxh3) && h.hash != static_cast<std::uint32_t>(HashId::siphash))
    return Error{Errc::unsupported, "hash id " + std::to_string(h.hash) + " is unknown to this naysay"};
  if (!is_zero(h.capacity) && !(h.capacity >= 1 && h.capacity < kMaxCapacity))
    return Error{Errc::corrupt, "the capacity is " + to_text(h.capacity) + "; it must be 0, or at least 1 and below " +
                                    to_text(kMaxCapacity)};
  return FilterFacts{.hasher = {static_cast<HashId>(h.hash), h.seed, {h.secret_lo, h.secret_hi}},
                     .key_kind = static_cast<KeyKind>(h.key_kind),
                     .keys = h.keys,
                     .capacity = static_cast<std::uint64_t>(h.capacity),
                     .key_set = h.key_set};
}

}  // namespace

Result<Opened> open(std::span<const std::byte> bytes) {
  NAYSAY_TRY(const FileHeader h, begin_of(bytes));
  if (h.size != bytes.size())
    return Error{Errc::corrupt,
                 "the header says " + std::to_string(h.size) + " bytes; the file has " + std::to_string(bytes.size())};
  if (h.checksum != checksum(bytes.subspan(sizeof h), checksum_seed(h))) return wrong_checksum();
  NAYSAY_TRY(const FilterType* type, type_with_id(h.filter));
  NAYSAY_TRY(FilterFacts facts, facts_of(h, *type));
  return Opened{bytes, type, std::move(facts), h.version};
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
                     map ? FieldReader::Arrays::borrow : FieldReader::Arrays::copy, file.version);
  AnyFilter f;
  f.type_ = file.type;
  NAYSAY_TRY(f.model_, file.type->read(reader, true));
  f.set_facts(std::move(file.facts));
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

Result<AnyFilter> AnyFilter::load(const ByteSource& from, std::uint64_t most) {
  using namespace file_detail;
  return no_memory_is_an_error("load", [&]() -> Result<AnyFilter> {
    ByteStream stream(from);
    const auto ended = [&] {
      return stream.failure() ? *stream.failure() : Error{Errc::corrupt, "the bytes end before the filter does"};
    };
    std::array<std::byte, kHeaderBytes> front;
    if (!stream.read(front)) return ended();
    NAYSAY_TRY(const FileHeader h, begin_of(front));
    if (h.size < kHeaderBytes || h.size > std::min(most, static_cast<std::uint64_t>(kMaxBits / 8)))
      return Error{Errc::corrupt, "the header says " + std::to_string(h.size) + " bytes; it must be " +
                                      std::to_string(kHeaderBytes) + " to " + std::to_string(most)};
    AnyFilter f;
    NAYSAY_TRY(f.type_, type_with_id(h.filter));
    NAYSAY_TRY(FilterFacts facts, facts_of(h, *f.type_));
    stream.begin_checksum(checksum_seed(h));
    FieldReader reader(stream, kHeaderBytes, h.size, kFileAlignment, h.version);
    auto model = f.type_->read(reader, true);
    // Damaged bytes may look like a field that is too long; the checksum of all of them says that they are damaged.
    if (!stream.ended()) stream.skip(reader.left());
    if (stream.ended()) return ended();
    if (stream.checksum() != h.checksum) return wrong_checksum();
    if (!model) return std::move(model).error();
    f.model_ = std::move(*model);
    f.set_facts(std::move(facts));
    return f;
  });
}

FileImage AnyFilter::image(FileImage::Seal seal) const {
  FieldPlan plan(file_detail::kHeaderBytes, kFileAlignment);
  model_->plan_params(plan);
  model_->plan_fields(plan);
  return FileImage(*type_, facts_, std::move(plan), seal);
}

std::vector<std::byte> AnyFilter::to_bytes() const { return image().to_bytes(); }

Result<Ok> AnyFilter::save(const std::string& path) const {
  return no_memory_is_an_error(path, [&] { return image().save(path); });
}

Result<Ok> AnyFilter::save(const ByteSink& to, std::size_t most) const {
  return no_memory_is_an_error("save", [&] { return image().write(to, most); });
}

std::vector<std::byte> AnyFilter::to_bare() const {
  BareHeader h;
  h.version = static_cast<std::uint16_t>(type_->format);
  h.filter = type_->id;
  FieldPlan plan(sizeof h);
  model_->plan_fields(plan);
  std::vector<std::byte> out(plan.end());
  std::memcpy(out.data(), &h, sizeof h);
  plan.copy(sizeof h, std::span(out).subspan(sizeof h));
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
    NAYSAY_CHECK(check_version("payload", h.version, h.filter));
    AnyFilter f;
    NAYSAY_TRY(f.type_, type_with_id(h.filter));
    FieldReader reader(bytes, sizeof h, 0, FieldReader::Arrays::borrow, h.version);
    NAYSAY_TRY(f.model_, f.type_->read(reader, false));
    f.set_facts(facts);
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

AnyFilter::AnyFilter(const FilterType& type, void* keyed, FilterFacts facts) : type_(&type), model_(type.adopt(keyed)) {
  set_facts(std::move(facts));
}

Result<Ok> AnyFilter::own() {
  if (!facts_.borrowed) return Ok{};
  return no_memory_is_an_error(type_->name, [&]() -> Result<Ok> {
    model_->own();
    NAYSAY_CHECK(model_->validate());  // again: a mapped file may have been overwritten since it was opened
    facts_.mapping.reset();
    facts_.borrowed = false;
    return Ok{};
  });
}
Outcome AnyFilter::owned() noexcept {
  const auto ok = own();
  return ok ? Outcome::done : ok.error().code == Errc::no_memory ? Outcome::no_memory : Outcome::damaged;
}

Outcome AnyFilter::insert_digest(Digest d) noexcept {
  if (!type_->dynamic) return Outcome::unsupported;
  if (const Outcome ready = owned(); !ready) return ready;
  if (!model_->insert(d)) return Outcome::no_room;
  facts_.insert(d);
  return Outcome::done;
}

Outcome AnyFilter::erase_digest(Digest d) noexcept {
  if (!type_->erasable) return Outcome::unsupported;
  if (const Outcome ready = owned(); !ready) return ready;
  if (!model_->erase(d)) return Outcome::absent;
  facts_.erase();
  return Outcome::done;
}

Outcome AnyFilter::adapt_digest(Digest d, float cost) noexcept {
  if (!type_->adaptive) return Outcome::unsupported;
  if (!adapts()) return Outcome::no_key_file;
  if (const Outcome ready = owned(); !ready) return ready;
  return model_->adapt(d, cost) ? Outcome::done : Outcome::no_room;
}

static Result<Ok> need_key_file(const FilterType& type) {
  if (type.write_key_file) return Ok{};
  return Error{Errc::unsupported,
               std::string(type.name) + ": it has no file of its keys; filters with one are " +
                   names_of_filters([](const FilterType& t) { return t.write_key_file != nullptr; })};
}
Result<Ok> AnyFilter::write_key_file(const std::string& path, std::span<const Digest> keys) const {
  NAYSAY_CHECK(need_key_file(*type_));
  if (facts_.keys != 0 && keys.size() != facts_.keys)  // a bare payload does not say how many there are
    return Error{Errc::invalid_argument, path + ": " + std::to_string(keys.size()) +
                                             " keys are given; the filter was " + "built from " +
                                             std::to_string(facts_.keys)};
  for (const Digest& d : keys)
    if (!may_contain(d))
      return Error{Errc::invalid_argument,
                   path + ": a given key is not in the filter; give exactly the keys that it was built from"};
  return no_memory_is_an_error(type_->name, [&] { return type_->write_key_file(path, *this, keys); });
}
Result<Ok> AnyFilter::attach_key_file(const std::string& path) {
  NAYSAY_CHECK(need_key_file(*type_));
  NAYSAY_CHECK(own());
  return no_memory_is_an_error(type_->name, [&] { return model_->attach_key_file(path, facts_.keys); });
}

Outcome AnyFilter::pin_digest(Digest d) noexcept {
  if (!type_->pinning) return Outcome::unsupported;
  if (const Outcome ready = owned(); !ready) return ready;
  bool pinned = false;
  const auto tried = no_memory_is_an_error(type_->name, [&]() -> Result<Ok> {
    pinned = model_->pin(d);
    return Ok{};
  });
  return !tried ? Outcome::no_memory : pinned ? Outcome::done : Outcome::no_room;
}

Outcome AnyFilter::unpin_digest(Digest d) noexcept {
  if (!type_->pinning) return Outcome::unsupported;
  if (const Outcome ready = owned(); !ready) return ready;
  return model_->unpin(d) ? Outcome::done : Outcome::absent;
}

Result<Ok> AnyFilter::merge(const AnyFilter& other) {
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::invalid_argument, std::string(type_->name) + ": " + what};
  };
  if (!type_->merging)
    return Error{Errc::unsupported, std::string(type_->name) + ": it cannot be merged; filters that can are " +
                                        names_of_filters([](const FilterType& t) { return t.merging; })};
  if (other.type_ != type_) return wrong("the other is a filter " + std::string(other.type_->name));
  if (!(other.facts_.hasher == facts_.hasher)) return wrong("the other filter digests keys with another hash or seed");
  if (other.facts_.key_kind != facts_.key_kind) return wrong("one filter was built from text, the other from integers");
  NAYSAY_CHECK(own());
  const std::uint64_t more = other.facts_.keys;
  NAYSAY_CHECK(no_memory_is_an_error(type_->name, [&] { return model_->merge(*other.model_); }));
  facts_.capacity = facts_.room();
  facts_.keys += more;
  facts_.key_set = kUnknownKeySet;
  return Ok{};
}

Result<Ok> AnyFilter::warm(std::span<const Digest> keys) {
  if (!type_->warming)
    return Error{Errc::unsupported, std::string(type_->name) + ": it does not warm; filters that do are " +
                                        names_of_filters([](const FilterType& t) { return t.warming; })};
  const std::string given = std::string(type_->name) + ": " + to_text(std::uint64_t{keys.size()});
  if (keys.size() != facts_.keys)
    return Error{Errc::invalid_argument, given + " keys are given to warm it and it holds " + to_text(facts_.keys) +
                                             "; give exactly the keys that it holds, or it would deny others"};
  const bool others = facts_.key_set != kUnknownKeySet
                          ? facts_.key_set != key_set_of(keys)
                          : std::any_of(keys.begin(), keys.end(), [&](const Digest& d) { return !query(d); });
  if (others)
    return Error{Errc::invalid_argument, given +
                                             " keys are given to warm it, as many as it holds, but others; give "
                                             "exactly the keys that it holds, or it would deny some of them"};
  NAYSAY_CHECK(own());
  return no_memory_is_an_error(type_->name, [&] { return model_->warm(keys); });
}

Result<AnyFilter> AnyFilter::clone() const {
  return no_memory_is_an_error(type_->name, [&]() -> Result<AnyFilter> {
    AnyFilter f;
    f.type_ = type_;
    f.model_ = model_->clone();
    if (facts_.borrowed) NAYSAY_CHECK(f.model_->validate());  // as in own()
    f.set_facts(facts_);
    f.facts_.mapping.reset();
    f.facts_.borrowed = false;
    return f;
  });
}

}  // namespace naysay
