// SPDX-License-Identifier: Apache-2.0
// Keyed<F>: a filter of a known type, joined with what its users need: keys of any kind, and files.
//
//   Keyed<Bloom> = Bloom + its parameters + how keys are digested + how many keys it holds
//
//   auto f = naysay::build<naysay::Bloom>(words, {.bits_per_key = 12});     // Result<Keyed<Bloom>>
//   f->may_contain("apple");
//   f->insert("pear");
//   f->save("words.nsy");
//   auto g = naysay::open<naysay::Bloom>("words.nsy");                      // fails if the file holds another filter
//
// What the type cannot do does not compile: a Keyed<Xor> has no insert. A Keyed<F> of a registered filter converts to
// AnyFilter (any_filter.hpp), which has its type at run time, and also warms, clones and drops indices.
//
// Threads and memory: the contract stands in naysay.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/export.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/key_set.hpp"
#include "naysay/file_image.hpp"
#include "naysay/key_front.hpp"

namespace naysay {

struct FilterType;  // any_filter.hpp

// What a file stores in addition to the fields of a filter, and what keeps its bytes alive.
struct FilterFacts {
  Hasher hasher = {};
  KeyKind key_kind = KeyKind::unknown;
  std::uint64_t keys = 0;                 // built from, plus inserted, less erased
  std::uint64_t capacity = 0;             // keys that it has room for as planned; 0: as many as it holds
  std::uint32_t key_set = 0;              // of a filter that warms: the sum of its keys (core/key_set.hpp)
  std::shared_ptr<const void> mapping{};  // of a file that is queried in place
  bool borrowed = false;                  // the arrays lie in memory that the caller owns

  // Of a filter of no keys as well: each is built with room for one.
  std::uint64_t room() const noexcept { return capacity != 0 ? capacity : keys != 0 ? keys : 1; }
  // A key was inserted, or one was erased.
  void insert(Digest d) noexcept {
    capacity = room();
    ++keys;
    if (key_set != kUnknownKeySet) key_set += key_set_part(d);
  }
  void erase() noexcept {
    capacity = room();
    keys -= keys > 0;  // a bare payload does not say how many there are
  }
};

namespace file_detail {

// The row of the registry for F. Defined for registered filters; another filter can be built and queried as Keyed<F>,
// but not saved.
template <Filter F>
NAYSAY_EXPORT const FilterType& type_of() noexcept;

// The header of a file of which everything else stands in its place already.
NAYSAY_EXPORT std::array<std::byte, kHeaderBytes> header_of(const FilterType& type, const FilterFacts& facts,
                                                            std::span<const std::byte> file);

// A file whose header and checksum are right, before its fields are read.
struct Opened {
  std::span<const std::byte> bytes;
  const FilterType* type = nullptr;
  FilterFacts facts;
  std::uint32_t version = 1;  // of the format of this filter's fields
};
enum class Bytes { map, copy };  // queried in place, or copied out of the file

NAYSAY_EXPORT Result<Opened> open(std::span<const std::byte> bytes);
NAYSAY_EXPORT Result<Opened> open_file(const std::string& path);
NAYSAY_EXPORT Error in_file(const std::string& path, Error error);
NAYSAY_EXPORT Error other_type(const FilterType& found, const FilterType& expected);

// Parameters and fields of F, validated, with nothing after them.
template <Filter F>
Result<Ok> read(FieldReader& from, bool with_params, typename F::Params& params, F& filter) {
  if (with_params) F::Params::fields(params, from);
  F::fields(filter, from);
  if (!from.ok()) return Error{Errc::corrupt, from.error()};
  NAYSAY_CHECK(filter.validate());
  if (from.left() != 0)
    return Error{Errc::corrupt, std::to_string(from.left()) + " bytes follow the last field; there must be none"};
  return Ok{};
}

}  // namespace file_detail

// What a build takes at most.
inline constexpr double kMaxBitsPerKey = 4096;                     // above this, storing the keys is smaller
inline constexpr std::uint64_t kMaxRoom = std::uint64_t{1} << 48;  // keys
inline constexpr unsigned kMaxThreads = 4096;

// The costs and shares of a workload, the bits per key, the room and the threads make sense. `who` begins the message.
NAYSAY_EXPORT Result<Ok> check_build(std::string_view who, const Workload& w, double bits_per_key,
                                     const BuildOptions& options);

// The error of a build, or Errc::chosen_keys if it failed because the keys' digests share bits, as those of keys do that
// somebody chose against a hash without a secret.
NAYSAY_EXPORT Error why_build_failed(std::string_view who, Error error, const Workload& w, const BuildOptions& options);

template <Filter F>
class Keyed : public KeyFront<Keyed<F>> {
 public:
  using Params = typename F::Params;

  // A filter that is already built, from this many keys whose digests this hasher made.
  Keyed(F filter, Params params, FilterFacts facts)
      : filter_(std::move(filter)),
        params_(std::move(params)),
        facts_(std::move(facts)),
        integer_way_(facts_.hasher, facts_.key_kind) {}

  // From digests. `who` begins a message. naysay::build (naysay.hpp) takes strings and integers too.
  static Result<Keyed> build(std::string_view who, const Workload& w, const Params& params, const BuildOptions& options,
                             KeyKind kind = KeyKind::unknown) {
    return no_memory_is_an_error(who, [&]() -> Result<Keyed> {
      NAYSAY_CHECK(check_build(who, w, params.bits_per_key, options));
      auto built = F::build(w, params, options);
      if (!built) return why_build_failed(who, std::move(built).error(), w, options);
      return Keyed(std::move(*built), params,
                   {.hasher = options.hasher,
                    .key_kind = kind,
                    .keys = w.keys.size(),
                    .capacity = DynamicFilter<F> && options.capacity > w.keys.size() ? options.capacity : 0,
                    .key_set = WarmingFilter<F> ? key_set_of(w.keys) : kUnknownKeySet});
    });
  }

  // ---- files ----

  // To a file: whole, by rename, or not at all. To a sink: in pieces of at most `most` bytes.
  Result<Ok> save(const std::string& path) const {
    return no_memory_is_an_error(path, [&] { return image().save(path); });
  }
  Result<Ok> save(const ByteSink& to, std::size_t most = kPieceBytes) const {
    return no_memory_is_an_error("save", [&] { return image().write(to, most); });
  }
  std::vector<std::byte> to_bytes() const { return image().to_bytes(); }
  FileImage image() const {
    FieldPlan plan(file_detail::kHeaderBytes, kFileAlignment);
    Params::fields(params_, plan);
    F::fields(filter_, plan);
    return FileImage(file_detail::type_of<F>(), facts_, std::move(plan));
  }
  static Result<Keyed> open(const std::string& path, file_detail::Bytes how) {
    return no_memory_is_an_error(path, [&]() -> Result<Keyed> {
      NAYSAY_TRY(file_detail::Opened file, file_detail::open_file(path));
      if (file.type != &file_detail::type_of<F>())
        return file_detail::in_file(path, file_detail::other_type(*file.type, file_detail::type_of<F>()));
      const bool map = how == file_detail::Bytes::map;
      FieldReader reader(file.bytes, file_detail::kHeaderBytes, kFileAlignment,
                         map ? FieldReader::Arrays::borrow : FieldReader::Arrays::copy, file.version);
      Params params;
      F filter;
      if (auto ok = file_detail::read<F>(reader, true, params, filter); !ok)
        return file_detail::in_file(path, std::move(ok).error());
      file.facts.borrowed = map;
      if (!map) file.facts.mapping.reset();
      return Keyed(std::move(filter), std::move(params), std::move(file.facts));
    });
  }

  // ---- what it is ----

  const F& filter() const noexcept { return filter_; }
  const Params& params() const noexcept { return params_; }
  const FilterFacts& facts() const noexcept { return facts_; }
  const Hasher& hasher() const noexcept { return facts_.hasher; }
  KeyKind key_kind() const noexcept { return facts_.key_kind; }
  std::uint64_t keys() const noexcept { return facts_.keys; }
  double expected_fpr() const noexcept { return filter_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return filter_.size_bits(); }

  // Takes the parts out again, as AnyFilter does.
  F&& take_filter() && noexcept { return std::move(filter_); }
  Params&& take_params() && noexcept { return std::move(params_); }
  FilterFacts&& take_facts() && noexcept { return std::move(facts_); }

 private:
  friend KeyFront<Keyed<F>>;

  static constexpr bool reads_bytes() noexcept { return F::kClaims.reads_bytes; }
  bool query(Digest d) const noexcept { return filter_.may_contain(d); }
  // The branch comes after the query: what the compiler reads of a filter only in some rounds of a loop, it reads again in
  // every round.
  bool query_integer(std::uint64_t key) const noexcept {
    const bool answer = filter_.may_contain(integer_way_.salts()(key));
    return integer_way_.is_plain() ? answer : this->may_contain_integer(key);
  }
  bool query(Digest d, [[maybe_unused]] std::string_view bytes) const noexcept {
    if constexpr (ByteFilter<F>)
      return filter_.may_contain(d, bytes);
    else
      return filter_.may_contain(d);
  }
  void query(std::span<const Digest> d, std::uint8_t* out) const noexcept { naysay::may_contain(filter_, d, out); }

  Outcome insert_digest(Digest d) noexcept requires DynamicFilter<F> {
    if (const Outcome ready = own(); !ready) return ready;
    if (!filter_.insert(d)) return Outcome::no_room;
    facts_.insert(d);
    return Outcome::done;
  }
  Outcome erase_digest(Digest d) noexcept requires ErasableFilter<F> {
    if (const Outcome ready = own(); !ready) return ready;
    if (!filter_.erase(d)) return Outcome::absent;
    facts_.erase();
    return Outcome::done;
  }
  Outcome adapt_digest(Digest d, float cost) noexcept requires AdaptiveFilter<F> {
    if (const Outcome ready = own(); !ready) return ready;
    return filter_.adapt(d, cost) ? Outcome::done : Outcome::no_room;
  }

  Outcome pin_digest(Digest d) noexcept requires PinningFilter<F> {
    if (const Outcome owned = own(); !owned) return owned;
    bool pinned = false;
    const auto tried = no_memory_is_an_error("", [&]() -> Result<Ok> {
      pinned = filter_.pin(d);
      return Ok{};
    });
    return !tried ? Outcome::no_memory : pinned ? Outcome::done : Outcome::no_room;
  }
  Outcome unpin_digest(Digest d) noexcept requires PinningFilter<F> {
    if (const Outcome owned = own(); !owned) return owned;
    return filter_.unpin(d) ? Outcome::done : Outcome::absent;
  }

  // Copies what the filter borrows, so that it can be changed, and checks it again: a mapped file may have been
  // overwritten since it was opened.
  Outcome own() noexcept {
    if (!facts_.borrowed) return Outcome::done;
    const auto owned = no_memory_is_an_error("", [&]() -> Result<Ok> {
      FieldOwner owner;
      F::fields(filter_, owner);
      return filter_.validate();
    });
    if (!owned) return owned.error().code == Errc::no_memory ? Outcome::no_memory : Outcome::damaged;
    facts_.mapping.reset();
    facts_.borrowed = false;
    return Outcome::done;
  }

  F filter_;
  Params params_;
  FilterFacts facts_;
  IntegerWay integer_way_;
};

// A filter of a known type from a file: open queries it in place, load copies it. Both fail if the file holds another
// type of filter.
template <Filter F>
Result<Keyed<F>> open(const std::string& path) {
  return Keyed<F>::open(path, file_detail::Bytes::map);
}
template <Filter F>
Result<Keyed<F>> load(const std::string& path) {
  return Keyed<F>::open(path, file_detail::Bytes::copy);
}

}  // namespace naysay
