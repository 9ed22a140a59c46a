// SPDX-License-Identifier: Apache-2.0
// AnyFilter: one run-time type over all registered filters, and the registry that lists them.
//
//   auto f = naysay::build("taught-ribbon", blocked, allowed, {{"bits_per_key", 10}});   // Result<AnyFilter>
//   f->may_contain("example.org");
//   f->save("set.nsy");
//   auto g = naysay::open("set.nsy");        // queried in place, nothing is copied
//
// The name, id, parameters and abilities of a filter stand in its FilterType, one row of filter_types(). docs/format.md
// says what every byte of a file means. The contract for threads and memory stands in naysay.hpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/key_front.hpp"
#include "naysay/keyed.hpp"

namespace naysay {

class AnyFilter;

namespace erased {

// What AnyFilter calls. One class template, src/holder.hpp, implements it for every filter.
struct HeldFilter {
  virtual ~HeldFilter() = default;
  virtual bool may_contain(Digest d) const noexcept = 0;
  // Of salts(key). A filter that reads half of the digest computes half of it, which the caller cannot know.
  virtual bool may_contain(std::uint64_t key, const IntegerSalts& salts) const noexcept = 0;
  virtual bool may_contain(Digest d, std::string_view bytes) const noexcept = 0;
  virtual void may_contain(std::span<const Digest> d, std::uint8_t* out) const noexcept = 0;
  virtual bool insert(Digest d) noexcept = 0;
  virtual bool erase(Digest d) noexcept = 0;
  virtual bool adapt(Digest d, float cost) noexcept = 0;
  virtual bool pin(Digest d) = 0;
  virtual bool unpin(Digest d) noexcept = 0;
  virtual Result<Ok> merge(const HeldFilter& other) = 0;  // of the same type
  virtual bool full() const noexcept = 0;
  virtual Warmth warmth() const noexcept = 0;
  virtual Result<Ok> warm(std::span<const Digest> keys) = 0;
  virtual double expected_fpr() const noexcept = 0;
  virtual std::uint64_t size_bits() const noexcept = 0;
  virtual std::uint64_t index_bits() const noexcept = 0;
  virtual void drop_index() noexcept = 0;
  virtual Result<Ok> attach_key_file(const std::string& path, std::uint64_t keys) = 0;  // 0: their number is unknown
  virtual bool has_key_file() const noexcept = 0;
  virtual Result<Ok> sync_key_file() const = 0;
  virtual void describe(Report& to) const = 0;
  virtual void own() = 0;
  virtual Result<Ok> validate() const = 0;
  virtual std::vector<Param> params() const = 0;
  virtual void plan_params(FieldPlan& to) const = 0;
  virtual void plan_fields(FieldPlan& to) const = 0;
  virtual std::unique_ptr<HeldFilter> clone() const = 0;  // with memory of its own
  virtual const void* filter() const noexcept = 0;
};

}  // namespace erased

// The steps of a build in parts (core/parts.hpp), of a filter whose type is known at run time.
struct PartedType {
  using Parts = std::span<const FilterPart>;
  Result<ShardMap> (*shards)(const Whole&, std::span<const Param>);
  Result<FilterPart> (*build)(const Whole&, const PartInput&, std::span<const Param>, const BuildOptions&, PartPeers*);
  Result<AnyFilter> (*join)(const Whole&, Parts, std::span<const Param>, const BuildOptions&, KeyKind);
  Result<CostLimit> (*limit)(const Whole&, Parts, std::span<const Param>, const BuildOptions&);
  std::vector<PartPlace> (*places)(const AnyFilter&, ShardRange);
  double (*expected_fpr)(const AnyFilter&, Parts);
};

// One row of the registry.
struct FilterType {
  std::string_view name;  // permanent, as the id is
  std::uint32_t id;
  Claims claims;
  bool dynamic, erasable, warming, tunable, probed, pinning, merging;
  bool adaptive;                     // by itself, or, where there is a write_key_file, with a file of its keys
  std::uint32_t format;              // version of its fields in files that are written; every version from 1 on is read
  std::vector<Param> (*defaults)();  // every parameter, with its default
  Result<Ok> (*check_params)(std::string_view who, std::span<const Param>);  // would build() understand them?
  double (*bits_per_key)(double fpr);                                        // null unless tunable
  std::vector<Param> (*params_for)(double fpr);                              // null unless tunable
  Result<AnyFilter> (*build)(const Workload&, std::span<const Param>, const BuildOptions&, KeyKind);
  // Reads what plan_params (if with_params) and plan_fields planned, and validates it.
  Result<std::unique_ptr<erased::HeldFilter>> (*read)(FieldReader& from, bool with_params);
  std::unique_ptr<erased::HeldFilter> (*adopt)(void* keyed);  // a Keyed<F> of this type, moved from
  ExpectedRates (*predict)(const Outlook&);                   // null unless a PredictingFilter
  // Writes the file of the keys that f was built from, for AnyFilter::attach_key_file. Null unless a KeyFileFilter.
  Result<Ok> (*write_key_file)(const std::string& path, const AnyFilter& f, std::span<const Digest> keys);
  const PartedType* parted;  // null unless a PartedFilter
};

// All filters, in the order in which they are listed to users.
NAYSAY_EXPORT std::span<const FilterType> filter_types() noexcept;

// Null if no filter has this name or id.
NAYSAY_EXPORT const FilterType* find_filter(std::string_view name) noexcept;
NAYSAY_EXPORT const FilterType* find_filter(std::uint32_t id) noexcept;

// At most this many bytes has a filter that is built with room for `keys` keys, in memory and as a file, before it is
// built. What pinned negatives add to AnyFilter::index_bits() is not counted. Fails as build() would, if no filter has
// this name, or a parameter makes no sense.
NAYSAY_EXPORT Result<std::uint64_t> bytes_for(std::string_view filter, std::uint64_t keys,
                                              std::span<const Param> params = {});
inline Result<std::uint64_t> bytes_for(std::string_view filter, std::uint64_t keys,
                                       std::initializer_list<Param> params) {
  return bytes_for(filter, keys, std::span<const Param>(params.begin(), params.size()));
}

// The names of the filters for which which(type) holds, for messages: "bloom, cuckoo".
template <class Which>
std::string names_of_filters(Which&& which) {
  std::string names;
  for (const FilterType& t : filter_types())
    if (which(t)) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return names;
}

class NAYSAY_EXPORT AnyFilter : public KeyFront<AnyFilter> {
 public:
  // From digests, which options.hasher made. What `params` does not name has its default. naysay::build (naysay.hpp)
  // takes strings and integers.
  static Result<AnyFilter> build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                 const BuildOptions& options = {}, KeyKind kind = KeyKind::unknown);
  static Result<AnyFilter> build(std::string_view filter, const Workload& workload,
                                 std::initializer_list<Param> params = {}, const BuildOptions& options = {},
                                 KeyKind kind = KeyKind::unknown) {
    return build(filter, workload, std::span<const Param>(params.begin(), params.size()), options, kind);
  }

  // A filter of a known type. It must be registered, or this does not link.
  template <Filter F>
  AnyFilter(Keyed<F> keyed) : AnyFilter(file_detail::type_of<F>(), &keyed, std::move(keyed).take_facts()) {}

  // ---- files ----

  // From the bytes of a .nsy file. load copies; view borrows, and requires that the bytes outlive the filter.
  static Result<AnyFilter> load(std::span<const std::byte> bytes);
  static Result<AnyFilter> view(std::span<const std::byte> bytes);
  static Result<AnyFilter> open(const std::string& path, file_detail::Bytes how);
  Result<Ok> save(const std::string& path) const;  // whole, by rename, or not at all
  std::vector<std::byte> to_bytes() const;

  // The same bytes in pieces, without a second copy of the filter in memory. save gives the sink pieces of at most `most`
  // bytes and returns its error, if it has one. load reads exactly the bytes of one filter and nothing after them; a
  // header that says it has more than `most` bytes is refused. image() gives any part of the bytes, and their number.
  Result<Ok> save(const ByteSink& to, std::size_t most = kPieceBytes) const;
  static Result<AnyFilter> load(const ByteSource& from, std::uint64_t most = ~std::uint64_t{0});
  FileImage image(FileImage::Seal seal = FileImage::Seal::now) const;

  // A bare payload: 8 bytes of header and the fields, for hosts whose blocks have a checksum and options of their own.
  // It says neither how keys are digested nor how many there are: the host gives both again.
  std::vector<std::byte> to_bare() const;
  static Result<AnyFilter> view_bare(std::span<const std::byte> bytes, const FilterFacts& facts = {});

  // ---- changes ----

  // may_contain, insert, erase, adapt, pin and unpin come from KeyFront. Requires type().warming:
  bool full() const noexcept { return model_->full(); }
  Warmth warmth() const noexcept { return model_->warmth(); }
  // The keys that are in the filter now, each as often as it was given, in any order. Others are refused as far as the
  // filter can tell (a file of an earlier naysay knows only their number), and nothing changes.
  Result<Ok> warm(std::span<const Digest> keys);
  // As if the other's keys had been inserted. Requires type().merging. Both must be of one type, digest keys alike and
  // have been planned alike; otherwise there is an error, and nothing changes.
  Result<Ok> merge(const AnyFilter& other);
  // Removes what only insert needs (IndexDroppingFilter): a smaller file answers the same. If negatives are pinned, it
  // accepts no more keys.
  void drop_index() noexcept { model_->drop_index(); }

  // Filters with type().write_key_file adapt with a file of their keys. Until one is attached, adapt() is
  // Outcome::no_key_file.
  // write_key_file makes the file; an old one is replaced with its records, unless a filter has it attached. Requires
  // exactly the keys of the build: with a wrong one in the place of a key, a later adapt() may deny this key. It
  // refuses another number of keys, and keys that the filter denies.
  Result<Ok> write_key_file(const std::string& path, std::span<const Digest> keys) const;
  // attach_key_file applies what the file has recorded. From then on each adapt() that is done is recorded in it, and
  // it is locked while the filter lives; a clone has none, and a child process does not adapt. Fails if the file is
  // another filter's or damaged; then the filter answers as before.
  Result<Ok> attach_key_file(const std::string& path);
  Result<Ok> sync_key_file() const { return model_->sync_key_file(); }  // returns when the records are on the disk
  // Whether adapt() can do anything at present.
  bool adapts() const noexcept { return type_->adaptive && (!type_->write_key_file || model_->has_key_file()); }

  // ---- what it is ----

  const FilterType& type() const noexcept { return *type_; }
  const FilterFacts& facts() const noexcept { return facts_; }
  const Hasher& hasher() const noexcept { return facts_.hasher; }
  KeyKind key_kind() const noexcept { return facts_.key_kind; }
  std::uint64_t keys() const noexcept { return facts_.keys; }
  std::uint64_t size_bits() const noexcept { return model_->size_bits(); }
  std::uint64_t index_bits() const noexcept { return model_->index_bits(); }  // not part of size_bits()
  double expected_fpr() const noexcept { return model_->expected_fpr(); }
  std::vector<Param> params() const { return model_->params(); }
  // What the filter has to say about itself (DescribingFilter); nothing for most filters.
  Report describe() const {
    Report lines;
    model_->describe(lines);
    return lines;
  }

  // The filter itself, null if it is not an F. It can be read only: a filter that is mapped lies in read-only memory.
  template <Filter F>
  const F* as() const noexcept {
    return type_->id == file_detail::type_of<F>().id ? static_cast<const F*>(model_->filter()) : nullptr;
  }
  // The same to change, after the filter has copied what it borrows. Key counts are then up to the caller.
  template <Filter F>
  Result<F*> change() {
    if (!as<F>()) return Error{Errc::unsupported, "the filter is of another type"};
    NAYSAY_CHECK(own());
    return const_cast<F*>(as<F>());
  }

  AnyFilter(AnyFilter&&) noexcept = default;
  AnyFilter& operator=(AnyFilter&&) noexcept = default;
  // A copy with memory of its own, whatever this one borrows.
  Result<AnyFilter> clone() const;

 private:
  friend KeyFront<AnyFilter>;

  AnyFilter() = default;
  AnyFilter(const FilterType& type, void* keyed, FilterFacts facts);
  static Result<AnyFilter> read(file_detail::Opened file, file_detail::Bytes how);

  bool reads_bytes() const noexcept { return type_->claims.reads_bytes; }
  bool query(Digest d) const noexcept { return model_->may_contain(d); }
  bool query_integer(std::uint64_t key) const noexcept {
    return integer_way_.is_plain() ? model_->may_contain(key, integer_way_.salts()) : may_contain_integer(key);
  }
  bool query(Digest d, std::string_view bytes) const noexcept { return model_->may_contain(d, bytes); }
  void query(std::span<const Digest> d, std::uint8_t* out) const noexcept { model_->may_contain(d, out); }
  Outcome insert_digest(Digest d) noexcept;
  Outcome erase_digest(Digest d) noexcept;
  Outcome adapt_digest(Digest d, float cost) noexcept;
  Outcome pin_digest(Digest d) noexcept;
  Outcome unpin_digest(Digest d) noexcept;
  Result<Ok> own();
  Outcome owned() noexcept;  // own(), and what a change comes to if that fails

  void set_facts(FilterFacts facts) noexcept {
    facts_ = std::move(facts);
    integer_way_ = IntegerWay(facts_.hasher, facts_.key_kind);
  }

  const FilterType* type_ = nullptr;
  std::unique_ptr<erased::HeldFilter> model_;
  IntegerWay integer_way_;  // of facts_; next to what else a query reads
  FilterFacts facts_;
};

// A filter from a file: open queries it in place, load copies it.
inline Result<AnyFilter> open(const std::string& path) { return AnyFilter::open(path, file_detail::Bytes::map); }
inline Result<AnyFilter> load(const std::string& path) { return AnyFilter::open(path, file_detail::Bytes::copy); }

}  // namespace naysay
