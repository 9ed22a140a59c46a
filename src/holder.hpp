// Holder<F>: any filter behind erased::Model, and entry<F>(): its row of the registry.
#pragma once

#include <cassert>
#include <memory>
#include <utility>

#include "naysay/any_filter.hpp"

namespace naysay::erased {

inline constexpr double kMaxBitsPerKey = 4096;  // beyond, storing the keys themselves is smaller

template <Filter F>
class Holder final : public Model {
 public:
  using Params = typename F::Params;

  Holder(F filter, Params params) : filter_(std::move(filter)), params_(std::move(params)) {}

  bool may_contain(Digest d) const noexcept override { return filter_.may_contain(d); }
  bool may_contain(Digest d, std::string_view bytes) const noexcept override {
    if constexpr (ByteFilter<F>) return filter_.may_contain(d, bytes);
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
    return false;
  }
  bool full() const noexcept override {
    if constexpr (WarmingFilter<F>) return filter_.full();
    return false;
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
    if constexpr (IndexedFilter<F>) filter_.drop_index();
  }
  void own() override {
    FieldOwner owner;
    F::fields(filter_, owner);
  }
  std::vector<Param> params() const override { return params_to_text(params_); }
  void write_params(FieldWriter& to) const override { Params::fields(params_, to); }
  void write_fields(FieldWriter& to) const override { F::fields(filter_, to); }
  std::unique_ptr<Model> clone() const override { return std::make_unique<Holder>(filter_, params_); }
  const void* filter(const void* tag) const noexcept override { return tag == &kTag<F> ? &filter_ : nullptr; }

 private:
  F filter_;
  Params params_;
};

template <Filter F>
constexpr FilterType entry(std::string_view name, std::uint32_t id) {
  using Params = typename F::Params;
  using Made = Result<std::unique_ptr<Model>>;
  FilterType t{};
  t.name = name;
  t.id = id;
  t.claims = F::kClaims;
  t.dynamic = DynamicFilter<F>;
  t.erasable = ErasableFilter<F>;
  t.adaptive = AdaptiveFilter<F>;
  t.warming = WarmingFilter<F>;
  t.tunable = TunableFilter<F>;
  t.probed = ProbedFilter<F> || BatchFilter<F>;
  t.defaults = [] { return params_to_text(Params{}); };
  t.check_params = [](std::string_view who, std::span<const Param> texts) -> Result<Ok> {
    Params params;
    return params_from_text(who, texts, params);
  };
  t.build = [](std::string_view who, const Workload& w, std::span<const Param> texts,
               const BuildOptions& o) -> Made {
    Params params;
    if (auto ok = params_from_text(who, texts, params); !ok) return ok.error();
    if (!(params.bits_per_key > 0 && params.bits_per_key <= kMaxBitsPerKey))
      return Error{Errc::invalid_argument, std::string(who) + ": bits_per_key is " +
                                               to_text(double{params.bits_per_key}) +
                                               "; it must be more than 0 and at most " + to_text(kMaxBitsPerKey)};
    auto filter = F::build(w, params, o);
    if (!filter) return std::move(filter).error();
    return Made(std::make_unique<Holder<F>>(std::move(*filter), params));
  };
  t.read = [](FieldReader& from, bool with_params) -> Made {
    Params params;
    F filter;
    if (with_params) Params::fields(params, from);
    F::fields(filter, from);
    if (!from.ok()) return Error{Errc::corrupt, from.error()};
    if (auto ok = filter.validate(); !ok) return std::move(ok).error();
    return Made(std::make_unique<Holder<F>>(std::move(filter), params));
  };
  if constexpr (TunableFilter<F>) {
    t.bits_per_key = [](double fpr) { return F::bits_per_key(fpr); };
    t.params_for = [](double fpr) { return params_to_text(F::params_for(fpr)); };
  }
  return t;
}

}  // namespace naysay::erased
