// SPDX-License-Identifier: Apache-2.0
// Holder<F>: any filter as an erased::HeldFilter, and entry<F>(): its row of the registry.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "naysay/any_filter.hpp"

namespace naysay::erased {

// The file that is attached to a KeyFileFilter; nothing for other filters.
template <class F>
struct AttachedKeyFile {};
template <KeyFileFilter F>
struct AttachedKeyFile<F> {
  std::optional<typename F::WithKeyFile::KeyFile> file;
};

template <Filter F>
class Holder final : public HeldFilter {
 public:
  using Params = typename F::Params;

  Holder(F filter, Params params) : filter_(std::move(filter)), params_(std::move(params)) {}

  bool may_contain(Digest d) const noexcept override { return filter_.may_contain(d); }
  bool may_contain(std::uint64_t key, const IntegerSalts& salts) const noexcept override {
    return filter_.may_contain(salts(key));
  }
  bool may_contain(Digest d, [[maybe_unused]] std::string_view bytes) const noexcept override {
    if constexpr (ByteFilter<F>)
      return filter_.may_contain(d, bytes);
    else
      return filter_.may_contain(d);
  }
  void may_contain(std::span<const Digest> d, std::uint8_t* out) const noexcept override {
    naysay::may_contain(filter_, d, out);
  }
  bool insert([[maybe_unused]] Digest d) noexcept override {
    if constexpr (DynamicFilter<F>) return filter_.insert(d);
    return false;
  }
  bool erase([[maybe_unused]] Digest d) noexcept override {
    if constexpr (ErasableFilter<F>) return filter_.erase(d);
    return false;
  }
  bool adapt([[maybe_unused]] Digest d, [[maybe_unused]] float cost) noexcept override {
    if constexpr (AdaptiveFilter<F>) return filter_.adapt(d, cost);
    if constexpr (KeyFileFilter<F>) return attached_.file && F::WithKeyFile::adapt(filter_, *attached_.file, d, cost);
    return false;
  }
  bool pin([[maybe_unused]] Digest d) override {
    if constexpr (PinningFilter<F>) return filter_.pin(d);
    return false;
  }
  bool unpin([[maybe_unused]] Digest d) noexcept override {
    if constexpr (PinningFilter<F>) return filter_.unpin(d);
    return false;
  }
  Result<Ok> merge([[maybe_unused]] const HeldFilter& other) override {
    if constexpr (MergingFilter<F>) return filter_.merge(*static_cast<const F*>(other.filter()));
    return Ok{};
  }
  bool full() const noexcept override {
    if constexpr (WarmingFilter<F>) return filter_.full();
    return false;
  }
  Warmth warmth() const noexcept override {
    if constexpr (WarmingFilter<F>) return filter_.warmth();
    return {};
  }
  Result<Ok> warm([[maybe_unused]] std::span<const Digest> keys) override {
    if constexpr (WarmingFilter<F>) return filter_.warm(keys);
    return Ok{};
  }
  double expected_fpr() const noexcept override { return filter_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept override { return filter_.size_bits(); }
  std::uint64_t index_bits() const noexcept override {
    if constexpr (IndexedFilter<F>) return filter_.index_bits();
    return 0;
  }
  void drop_index() noexcept override {
    if constexpr (IndexDroppingFilter<F>) filter_.drop_index();
  }
  Result<Ok> attach_key_file([[maybe_unused]] const std::string& path, [[maybe_unused]] std::uint64_t keys) override {
    if constexpr (KeyFileFilter<F>) {
      F changed = filter_;
      own(changed);
      NAYSAY_TRY(auto file, F::WithKeyFile::attach(path, changed));
      if (keys != 0 && file.keys() != keys)  // a bare payload does not say how many there are
        return Error{Errc::corrupt, path + ": holds " + std::to_string(file.keys()) +
                                        " keys; the filter was built from " + std::to_string(keys)};
      filter_ = std::move(changed);
      attached_.file.emplace(std::move(file));
    }
    return Ok{};
  }
  bool has_key_file() const noexcept override {
    if constexpr (KeyFileFilter<F>) return attached_.file.has_value();
    return false;
  }
  Result<Ok> sync_key_file() const override {
    if constexpr (KeyFileFilter<F>)
      if (attached_.file) return attached_.file->sync();
    return Ok{};
  }
  void describe([[maybe_unused]] Report& to) const override {
    if constexpr (DescribingFilter<F>) filter_.describe(to);
  }
  void own() override { own(filter_); }
  Result<Ok> validate() const override { return filter_.validate(); }
  std::vector<Param> params() const override { return params_to_text(params_); }
  void plan_params(FieldPlan& to) const override { Params::fields(params_, to); }
  void plan_fields(FieldPlan& to) const override { F::fields(filter_, to); }
  std::unique_ptr<HeldFilter> clone() const override {
    F copy = filter_;
    own(copy);
    return std::make_unique<Holder>(std::move(copy), params_);
  }
  const void* filter() const noexcept override { return &filter_; }

 private:
  static void own(F& filter) {
    FieldOwner owner;
    F::fields(filter, owner);
  }

  F filter_;
  Params params_;
  [[no_unique_address]] AttachedKeyFile<F> attached_;
};

template <PartedFilter F>
Result<typename F::Params> part_params(const Whole& whole, std::span<const Param> texts) {
  const std::string_view who = file_detail::type_of<F>().name;
  typename F::Params params;
  NAYSAY_CHECK(params_from_text(who, texts, params));
  Workload all;
  all.stranger_share = whole.stranger_share;
  NAYSAY_CHECK(check_build(who, all, params.bits_per_key, {.capacity = whole.keys}));
  return params;
}

template <PartedFilter F>
inline constexpr PartedType kParted = {
    .shards = [](const Whole& whole, std::span<const Param> texts) -> Result<ShardMap> {
      NAYSAY_TRY(const typename F::Params params, part_params<F>(whole, texts));
      return no_memory_is_an_error(file_detail::type_of<F>().name, [&] { return PartsOf<F>::shards(whole, params); });
    },
    .build = [](const Whole& whole, const PartInput& input, std::span<const Param> texts, const BuildOptions& o,
                PartPeers* peers) -> Result<FilterPart> {
      NAYSAY_TRY(const typename F::Params params, part_params<F>(whole, texts));
      const auto build = [&] { return PartsOf<F>::build(whole, input, params, o, peers); };
      // Between two steps that peers agree on, they would wait for one that came back: the exception must end them all.
      return peers ? build() : no_memory_is_an_error(file_detail::type_of<F>().name, build);
    },
    .join = [](const Whole& whole, std::span<const FilterPart> parts, std::span<const Param> texts,
               const BuildOptions& o, KeyKind kind) -> Result<AnyFilter> {
      NAYSAY_TRY(typename F::Params params, part_params<F>(whole, texts));
      return no_memory_is_an_error(file_detail::type_of<F>().name, [&]() -> Result<AnyFilter> {
        NAYSAY_TRY(F filter, PartsOf<F>::join(whole, parts, params, o));
        return AnyFilter(
            Keyed<F>(std::move(filter), std::move(params), {.hasher = o.hasher, .key_kind = kind, .keys = whole.keys}));
      });
    },
    .limit = [](const Whole& whole, std::span<const FilterPart> parts, std::span<const Param> texts,
                const BuildOptions& o) -> Result<CostLimit> {
      NAYSAY_TRY(const typename F::Params params, part_params<F>(whole, texts));
      return no_memory_is_an_error(file_detail::type_of<F>().name,
                                   [&] { return PartsOf<F>::limit(whole, parts, params, o); });
    },
    .places = [](const AnyFilter& f, ShardRange range) { return PartsOf<F>::places(*f.as<F>(), range); },
    .expected_fpr = [](const AnyFilter& f,
                       std::span<const FilterPart> parts) { return PartsOf<F>::expected_fpr(*f.as<F>(), parts); },
};

template <Filter F>
constexpr FilterType entry(std::string_view name, std::uint32_t id) {
  using Params = typename F::Params;
  FilterType t{};
  t.name = name;
  t.id = id;
  t.claims = F::kClaims;
  t.dynamic = DynamicFilter<F>;
  t.erasable = ErasableFilter<F>;
  t.adaptive = AdaptiveFilter<F> || KeyFileFilter<F>;
  t.warming = WarmingFilter<F>;
  t.tunable = TunableFilter<F>;
  t.probed = ProbedFilter<F> || BatchFilter<F>;
  t.pinning = PinningFilter<F>;
  t.merging = MergingFilter<F>;
  t.format = 1;
  if constexpr (requires { F::kFormat; }) t.format = F::kFormat;
  t.defaults = [] { return params_to_text(Params{}); };
  t.check_params = [](std::string_view who, std::span<const Param> texts) -> Result<Ok> {
    Params params;
    return params_from_text(who, texts, params);
  };
  t.build = [](const Workload& w, std::span<const Param> texts, const BuildOptions& o,
               KeyKind kind) -> Result<AnyFilter> {
    const std::string_view who = file_detail::type_of<F>().name;
    Params params;
    NAYSAY_CHECK(params_from_text(who, texts, params));
    NAYSAY_TRY(Keyed<F> keyed, Keyed<F>::build(who, w, params, o, kind));
    return AnyFilter(std::move(keyed));
  };
  t.read = [](FieldReader& from, bool with_params) -> Result<std::unique_ptr<HeldFilter>> {
    Params params;
    F filter;
    NAYSAY_CHECK(file_detail::read<F>(from, with_params, params, filter));
    return std::unique_ptr<HeldFilter>(std::make_unique<Holder<F>>(std::move(filter), std::move(params)));
  };
  t.adopt = [](void* p) -> std::unique_ptr<HeldFilter> {
    auto& keyed = *static_cast<Keyed<F>*>(p);
    return std::make_unique<Holder<F>>(std::move(keyed).take_filter(), std::move(keyed).take_params());
  };
  if constexpr (TunableFilter<F>) {
    t.bits_per_key = [](double fpr) { return F::bits_per_key(fpr); };
    t.params_for = [](double fpr) { return params_to_text(F::params_for(fpr)); };
  }
  if constexpr (PartedFilter<F>) t.parted = &kParted<F>;
  if constexpr (PredictingFilter<F>) t.predict = [](const Outlook& o) { return F::predict(o); };
  if constexpr (KeyFileFilter<F>)
    t.write_key_file = [](const std::string& path, const AnyFilter& f, std::span<const Digest> keys) {
      return F::WithKeyFile::KeyFile::create(path, *f.as<F>(), keys);
    };
  return t;
}

}  // namespace naysay::erased
