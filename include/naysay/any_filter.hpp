// AnyFilter: one run-time type over all registered filters, and the way to files.
//
//   auto f = AnyFilter::build("bloom", {.keys = keys}, {{"bits_per_key", "12"}});
//   if (!f) return f.error();
//   f->may_contain("example.org");
//   f->save_file("set.nsy");
//   auto g = AnyFilter::map_file("set.nsy");       // queried in place, nothing is copied
//
// A filter's name, id, parameters and abilities stand in its FilterType, one row of filter_types().
//
// Threads: const members may be called from any number of threads at once; a filter that is to be replaced under
// running readers is put behind a std::shared_ptr<const AnyFilter> and swapped as a whole.
//
// Files: docs/format.md says what every byte means.
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

namespace naysay {

class AnyFilter;

namespace erased {
// Its address names a filter's type where there is no RTTI.
template <class F>
NAYSAY_EXPORT inline constexpr char kTag = 0;

// What AnyFilter calls. One class template in src/registry.cpp implements it for every filter.
struct Model {
  virtual ~Model() = default;
  virtual bool may_contain(Digest d) const noexcept = 0;
  virtual bool may_contain(Digest d, std::string_view bytes) const noexcept = 0;
  virtual void may_contain(std::span<const Digest> d, std::uint8_t* out) const noexcept = 0;
  virtual bool insert(Digest d) noexcept = 0;
  virtual bool erase(Digest d) noexcept = 0;
  virtual bool adapt(Digest d, float cost) noexcept = 0;
  virtual bool full() const noexcept = 0;
  virtual Result<Ok> warm(std::span<const Digest> keys) = 0;
  virtual double expected_fpr() const noexcept = 0;
  virtual std::uint64_t size_bits() const noexcept = 0;
  virtual std::uint64_t index_bits() const noexcept = 0;
  virtual void drop_index() noexcept = 0;
  virtual void own() = 0;
  virtual std::vector<Param> params() const = 0;
  virtual void write_params(FieldWriter& to) const = 0;
  virtual void write_fields(FieldWriter& to) const = 0;
  virtual std::unique_ptr<Model> clone() const = 0;
  virtual const void* filter(const void* tag) const noexcept = 0;  // null if tag is not &kTag of the filter's type
};
}  // namespace erased

// One row of the registry.
struct FilterType {
  std::string_view name;  // permanent, as the id is
  std::uint32_t id;
  Claims claims;
  bool dynamic, erasable, adaptive, warming, tunable, probed;
  std::vector<Param> (*defaults)();                                          // every parameter, with its default
  Result<Ok> (*check_params)(std::string_view who, std::span<const Param>);  // would build() understand them?
  double (*bits_per_key)(double fpr);                                        // null unless tunable
  std::vector<Param> (*params_for)(double fpr);                              // null unless tunable
  Result<std::unique_ptr<erased::Model>> (*build)(std::string_view who, const Workload&, std::span<const Param>,
                                                  const BuildOptions&);
  // Reads what write_params (if with_params) and write_fields wrote, and validates it.
  Result<std::unique_ptr<erased::Model>> (*read)(FieldReader& from, bool with_params);
};

// All filters, in the order in which they are listed to users.
NAYSAY_EXPORT std::span<const FilterType> filter_types() noexcept;

// Null if there is none of that name or id.
NAYSAY_EXPORT const FilterType* find_filter(std::string_view name) noexcept;
NAYSAY_EXPORT const FilterType* find_filter(std::uint32_t id) noexcept;

class NAYSAY_EXPORT AnyFilter {
 public:
  // Requires that the workload's digests were made by `hasher`, which is recorded. The first overload takes texts
  // such as {"bits_per_key", "12"}; what is not named has its default.
  static Result<AnyFilter> build(std::string_view filter, const Workload& workload, std::span<const Param> params,
                                 const BuildOptions& options = {});
  static Result<AnyFilter> build(std::string_view filter, const Workload& workload,
                                 std::initializer_list<Param> params = {}, const BuildOptions& options = {}) {
    return build(filter, workload, std::span<const Param>(params.begin(), params.size()), options);
  }

  // A filter that was built elsewhere, such as on a GPU, from so many keys: as build() gives it.
  template <Filter F>
  static Result<AnyFilter> hold(std::string_view name, const F& filter, const typename F::Params& params,
                                std::uint64_t keys, const Hasher& hasher = {}) {
    std::vector<std::byte> fields;
    FieldWriter writer(fields, kFileAlignment);
    F::Params::fields(params, writer);
    F::fields(filter, writer);
    return from_fields(name, fields, keys, hasher);
  }

  // From the bytes of a .nsy file. load copies; view borrows, and requires that the bytes outlive the filter.
  static Result<AnyFilter> load(std::span<const std::byte> bytes);
  static Result<AnyFilter> view(std::span<const std::byte> bytes);
  static Result<AnyFilter> load_file(const std::string& path);
  static Result<AnyFilter> map_file(const std::string& path);
  std::vector<std::byte> save() const;
  Result<Ok> save_file(const std::string& path) const;  // appears whole, by rename, or not at all

  // A bare payload: 8 bytes of header and the fields, for hosts with tiny blocks of their own checksum and options.
  // It does not say how keys are digested: the host gives the same hasher again.
  std::vector<std::byte> save_bare() const;
  static Result<AnyFilter> view_bare(std::span<const std::byte> bytes, const Hasher& hasher = {});

  // The question.
  bool may_contain(Digest d) const noexcept { return model_->may_contain(d); }
  bool may_contain(std::string_view key) const noexcept { return model_->may_contain(hasher_(key), key); }
  bool may_contain(const char* key) const noexcept { return may_contain(std::string_view(key)); }
  bool may_contain(std::uint64_t key) const noexcept { return model_->may_contain(hasher_(key)); }
  // out[i] becomes 0 or 1. Requires keys.size() bytes at out.
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept { model_->may_contain(keys, out); }

  // Require type().dynamic, .erasable, .adaptive, .warming. The contracts stand at the concepts in core/filter.hpp. A
  // filter that borrows its bytes makes them its own at the first call.
  bool insert(Digest d) noexcept;
  bool erase(Digest d) noexcept;
  bool adapt(Digest d, float cost) noexcept;
  bool full() const noexcept { return model_->full(); }
  Result<Ok> warm(std::span<const Digest> keys);

  const FilterType& type() const noexcept { return *type_; }
  const Hasher& hasher() const noexcept { return hasher_; }
  std::uint64_t keys() const noexcept { return keys_; }  // built from, plus inserted, less erased
  std::uint64_t size_bits() const noexcept { return model_->size_bits(); }
  double expected_fpr() const noexcept { return model_->expected_fpr(); }
  // Of what lies beside the filter for insert alone (IndexedFilter), not counted in size_bits(); 0 for most filters.
  // Without it, a smaller file answers the same and takes no more keys.
  std::uint64_t index_bits() const noexcept { return model_->index_bits(); }
  void drop_index() noexcept { model_->drop_index(); }
  std::vector<Param> params() const { return model_->params(); }

  // The filter itself, null if it is not an F. What it borrows, it borrows from this AnyFilter's bytes.
  template <Filter F>
  const F* as() const noexcept {
    return static_cast<const F*>(model_->filter(&erased::kTag<F>));
  }
  template <Filter F>
  F* as() noexcept {
    return const_cast<F*>(std::as_const(*this).as<F>());
  }

  AnyFilter(AnyFilter&&) noexcept = default;
  AnyFilter& operator=(AnyFilter&&) noexcept = default;
  AnyFilter clone() const;

 private:
  AnyFilter() = default;
  static Result<AnyFilter> from_fields(std::string_view name, std::span<const std::byte> fields, std::uint64_t keys,
                                       const Hasher& hasher);
  static Result<AnyFilter> read(std::span<const std::byte> bytes, FieldReader::Arrays arrays);
  // Of what stands behind a header: the filter of that id, and nothing after it.
  static Result<AnyFilter> read_fields(std::uint32_t id, FieldReader& reader, bool with_params);
  void make_own();

  const FilterType* type_ = nullptr;
  std::unique_ptr<erased::Model> model_;
  std::shared_ptr<const void> mapping_;  // keeps a mapped file alive
  Hasher hasher_;
  std::uint64_t keys_ = 0;
  bool borrowed_ = false;
};

}  // namespace naysay
