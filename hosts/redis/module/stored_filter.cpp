// SPDX-License-Identifier: Apache-2.0
#include "stored_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "naysay/guarded/guarded.hpp"
#include "settings.hpp"

namespace naysay::redis {

namespace {

// Where docs/format.md puts them in the header of a file.
constexpr std::size_t kHeaderBytes = 80, kSizeAt = 16, kChecksumAt = 24;
constexpr std::string_view kMagic{"naysay\r\n", 8};

std::uint64_t word_at(std::string_view bytes, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// More keys than a growing filter can tell apart are not planned for, unless the user asks for them.
constexpr double kMostPlanned = 1.5e10;

struct Recipe {
  const FilterType* type;
  std::vector<Param> params;
  double bits_per_key;
};

bool has_param(const FilterType& type, std::string_view name) {
  for (const Param& p : type.defaults())
    if (p.name == name) return true;
  return false;
}

Result<Recipe> recipe_of(const Shape& s) {
  const std::string name = s.nonscaling && s.filter.empty() ? "guarded" : s.filter;
  Recipe r{find_filter(name), {}, 0};
  if (r.type == nullptr || !r.type->dynamic || !r.type->tunable)
    return Error{Errc::invalid_argument,
                 "FILTER is '" + name + "'; it must be one of " +
                     names_of_filters([](const FilterType& t) { return t.dynamic && t.tunable; })};
  const bool grows = has_param(*r.type, "growth");
  if (s.expansion_given && !grows)
    return Error{Errc::invalid_argument, "EXPANSION is given, but the filter " + name + " does not grow"};
  if (s.nonscaling && grows)
    return Error{Errc::invalid_argument,
                 "NONSCALING is given, but the filter " + name + " grows; use guarded or cuckoo"};
  if (s.pinned && !has_param(*r.type, "pinned"))
    return Error{Errc::invalid_argument, "PINNED is given, but the filter " + name + " cannot pin"};
  r.params = r.type->params_for(s.error_rate);
  r.bits_per_key = r.type->bits_per_key(s.error_rate);
  const auto set = [&](std::string_view param, auto value) {
    std::erase_if(r.params, [&](const Param& p) { return p.name == param; });
    r.params.push_back(Param(std::string(param), value));
  };
  if (grows) {
    const double most = kMostPlanned / static_cast<double>(std::max<std::uint64_t>(s.capacity, 1));
    const double growth = s.expansion_given ? s.expansion : std::max(1.0, std::min(s.expansion, most));
    // The guard's share of the bits does not depend on the growth.
    r.bits_per_key *= GrowingCuckoo::bits_per_key(s.error_rate, growth) / GrowingCuckoo::bits_per_key(s.error_rate);
    set("growth", growth);
    set("bits_per_key", r.bits_per_key);
  }
  if (s.pinned) set("pinned", true);
  return r;
}

}  // namespace

std::size_t StoredFilter::bytes() const noexcept {
  std::size_t n = sizeof *this + path.capacity() + trouble.capacity() + incoming.capacity();
  if (filter && !mapped()) n += (filter->size_bits() + filter->index_bits()) / 8;
  if (dump) n += dump->capacity();
  return n;
}

Result<std::unique_ptr<StoredFilter>> StoredFilter::copy() const {
  auto to = std::make_unique<StoredFilter>();
  if (mapped()) {
    if (!map_into(*to, path, checksum)) to->filter.reset();  // it is in the same trouble
  } else if (filter) {
    NAYSAY_TRY(to->filter, filter->clone());
  }
  to->incoming = incoming;
  return to;
}

Result<AnyFilter> make_filter(const Shape& shape) {
  NAYSAY_TRY(const Recipe r, recipe_of(shape));
  return AnyFilter::build(r.type->name, Workload{}, r.params, {.capacity = shape.capacity}, KeyKind::text);
}

Result<std::uint64_t> bytes_of(const Shape& shape) {
  NAYSAY_TRY(const Recipe r, recipe_of(shape));
  return bytes_for(r.type->name, shape.capacity, r.params);
}

Result<AnyFilter> of_text(Result<AnyFilter> filter) {
  if (filter && filter->key_kind() == KeyKind::integer)
    return Error{Errc::unsupported, "the filter was built from integers; items are text, so build it from text"};
  return filter;
}

Result<std::string> real_path(const std::string& path) {
  char* found = ::realpath(path.c_str(), nullptr);
  if (found == nullptr) return Error{Errc::io, path + ": there is no such file"};
  std::string text = found;
  std::free(found);
  return text;
}

Result<Ok> map_into(StoredFilter& stored, const std::string& path, std::uint64_t checksum) {
  stored.path = path;
  stored.checksum = checksum;
  stored.filter.reset();
  const auto fail = [&](Error e) {
    stored.trouble = e.message;
    return e;
  };
  if (!settings.load_directory.empty()) {
    const auto folder = real_path(settings.load_directory), file = real_path(path);
    if (!folder || !file || !file->starts_with(*folder + "/"))
      return fail({Errc::io, path + " is not below naysay.load-directory, " + settings.load_directory});
  }
  char header[kHeaderBytes];
  std::ifstream in(path, std::ios::binary);
  if (!in.read(header, sizeof header)) return fail({Errc::io, path + ": cannot read it; it must be a .nsy file"});
  const std::uint64_t found = word_at({header, sizeof header}, kChecksumAt);
  if (checksum != 0 && found != checksum)
    return fail({Errc::corrupt, path + ": it is another file than the one that was loaded; its checksum differs"});
  auto f = of_text(naysay::open(path));
  if (!f) return fail(std::move(f).error());
  stored.checksum = found;
  stored.filter = std::move(*f);
  stored.trouble.clear();
  return Ok{};
}

Result<bool> take_chunk(StoredFilter& stored, std::uint64_t end, std::string_view bytes, std::uint64_t most) {
  const auto wrong = [](std::string what) { return Error{Errc::invalid_argument, std::move(what)}; };
  if (bytes.empty()) return wrong("the chunk has no bytes");
  if (end < bytes.size()) return wrong("the iterator is less than the chunk is long; give the one that came with it");
  const std::uint64_t at = end - bytes.size(), have = at == 0 ? 0 : stored.incoming.size();
  if (at != have)
    return wrong("the chunk begins at byte " + std::to_string(at) + ", but " + std::to_string(have) +
                 " are here; chunks come in their order, from the first");
  // The header stands in the first chunk.
  const std::string_view head = at == 0 ? bytes : std::string_view(stored.incoming);
  if (head.size() < kHeaderBytes || !head.starts_with(kMagic))
    return wrong("the first chunk does not begin with the header of a naysay file");
  const std::uint64_t size = word_at(head, kSizeAt);
  if (end > size) return wrong("the chunk ends at byte " + std::to_string(end) + " of " + std::to_string(size));
  if (most != 0 && size > most)
    return Error{Errc::out_of_budget, "the filter has " + std::to_string(size) +
                                          " bytes, and naysay.max-memory-per-key allows " + std::to_string(most)};
  if (end < size) {
    if (at == 0) stored.incoming.clear();
    stored.incoming.append(bytes);
    return false;
  }
  std::string whole;
  std::string_view all = bytes;
  if (at != 0) {
    whole.reserve(size);
    whole.append(stored.incoming).append(bytes);
    all = whole;
  }
  NAYSAY_TRY(AnyFilter f, of_text(AnyFilter::load(std::as_bytes(std::span(all.data(), all.size())))));
  stored.filter = std::move(f);
  stored.path.clear();
  stored.checksum = 0;
  stored.trouble.clear();
  stored.incoming = {};
  return true;
}

}  // namespace naysay::redis
