// SPDX-License-Identifier: Apache-2.0
// Stacked<Base>: layers of keys and layers of known negatives in turn. Each layer holds only what the layers before it
// got wrong.
//
//   layer      1          2          3
//           +------+   +------+   +------+
//   holds   | keys |-->| negs |-->| keys |-->  maybe         layer 2 holds the known negatives that layer 1 accepts
//           +------+   +------+   +------+                   layer 3 holds the keys that layer 2 accepts
//   "no" of    |          |          |
//   a layer    no       maybe        no
//
// A query goes from layer to layer until one says "no". If that is a layer of keys, the answer is "no"; if it is a
// layer of negatives, or if no layer says "no", the answer is "maybe". A key is in every layer of keys that it
// reaches, so it is never denied. A known negative is in every layer of negatives that it reaches, so it is accepted
// only if all layers of keys err.
//
//   paper        here
//   L_1, L_i     layer(0), layer(i - 1)
//   S_P, S_Nk    Workload::keys, the costliest of ::negatives
//   T_L          at most Params::layers; stacked::plan_stack chooses
//   psi          1 - Workload::stranger_share, times the cost share of the negatives stored
//   x at L_i     layer_digest(x, i): layers must err independently, so each has its own digest of x
//
// The base is any filter that can state its price (bits_per_key, params_for). After every layer the rest of the stack
// is planned again from what really passed (detail/stacked_builder.hpp), so the bits are used up and never exceeded.
//
// With capacity for more keys than are given, negatives are stored even if layer 1 does not accept them yet: a later
// key may make it do so. That costs more bits per negative, and such a stack has at most three layers.
//
// rates = equal builds three layers of the same rate, without planning, and stores all chosen negatives: the baseline
// "SF" of M. Li et al., Seesaw Counting Filter, WWW 2022, 4.1.1. It is for comparisons; tuned rates err less.
//
// Promises   Never denies a key it was built from or that was inserted. By the planner's formulas the weighted FPR is
//            never higher than that of the base with the same bits, because one layer is always tried.
// Does not   accept new negatives after the build: that could send a key to a layer it is not in. Insertions raise the
//            FPR of the layers of keys, as in the base. A base that cannot erase must never refuse an insert (Bloom
//            does not), because the insert could not be undone.
// Cost       Build: one query per negative, two operations per key, and the planning. Query: that of the base for a
//            negative; for a key one more query, of a layer that is small enough for the cache.
// Source     Deeds, 2020, chapter 2, Algorithms 1 to 4.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "naysay/core/filter.hpp"
#include "naysay/core/since.hpp"
#include "naysay/stacked/detail/stacked_builder.hpp"
#include "naysay/stacked/detail/stacked_layers.hpp"
#include "naysay/stacked/stacked_plan.hpp"
#include "naysay/stacked/stacked_rates.hpp"

namespace naysay {

template <TunableFilter Base, std::size_t kMostLayers = stacked::kMaxLayers>
class Stacked {
  static_assert(kMostLayers % 2 == 1 && kMostLayers <= stacked::kMaxLayers);

 public:
  struct Params {
    double bits_per_key = typename Base::Params{}.bits_per_key;
    std::uint32_t layers = kMostLayers;  // at most; odd
    double wfpr = 0;                     // 0: the lowest for the bits; else the fewest bits that reach it
    double max_fpr = 0;                  // for strangers, the worst case; 0: no bound
    double max_fpr_times = 0;  // the same, as a multiple (1 or more) of the FPR of one layer of these bits; 0: no bound
    double known = 0;          // the share of the negatives to store, costliest first; 0: the best
    StackedRates rates = StackedRates::tuned;  // equal: three layers of one rate; `known` 0 then stores all

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("layers", self.layers);
      visit("wfpr", self.wfpr);
      visit("max_fpr", self.max_fpr);
      visit("max_fpr_times", self.max_fpr_times);
      visit("known", self.known);
      if (since(visit, 2)) visit("rates", self.rates);
    }
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 did not have the parameter rates

  static constexpr Claims kClaims = {
      .about = "layers of keys and of costly negatives in turn: lower weighted rate than its base, for skewed costs",
      .uses_negatives = true,
      .fpr_model_error = Base::kClaims.fpr_model_error,
      .fixed_bits = Base::kClaims.fixed_bits,
      .most_arrays = 4 * Base::kClaims.most_arrays,
  };

  // Those of the base: without known negatives a stack has one layer.
  static double bits_per_key(double fpr) { return Base::bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Stacked> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.layers % 2 == 0 || p.layers > kMostLayers)
      return Error{Errc::invalid_argument, "stacked: layers is " + std::to_string(p.layers) +
                                               "; it must be odd and at most " + std::to_string(kMostLayers)};
    for (auto [name, value] : {std::pair{"wfpr", p.wfpr}, {"max_fpr", p.max_fpr}, {"known", p.known}})
      if (!(value >= 0 && value <= 1))
        return Error{Errc::invalid_argument,
                     std::string("stacked: ") + name + " is " + rounded_text(value) + "; it must be in [0, 1]"};
    if (p.max_fpr_times != 0 && !(p.max_fpr_times >= 1))
      return Error{Errc::invalid_argument,
                   "stacked: max_fpr_times is " + rounded_text(p.max_fpr_times) + "; it must be 0 or at least 1"};
    if (p.rates == StackedRates::equal && p.layers < 3)
      return Error{Errc::invalid_argument,
                   "stacked: layers is " + std::to_string(p.layers) + "; with rates=equal it must be 3 or more"};
    Stacked f;
    NAYSAY_TRY(f.layers_, stacked::detail::StackedBuilder<Base, Params>(w, p, o).build());
    return f;
  }

  bool may_contain(Digest d) const noexcept {
    return layers_.first.may_contain(d) && (layers_.rest.empty() || deeper(d));
  }

  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    for (std::size_t at = 0; at < keys.size(); at += kBatch) {
      const auto part = keys.subspan(at, std::min(kBatch, keys.size() - at));
      naysay::may_contain(layers_.first, part, out + at);
      if (!layers_.rest.empty()) deeper(part, out + at);
    }
  }

  // Algorithm 3.
  bool insert(Digest d) noexcept requires DynamicFilter<Base> {
    if (!layers_.first.insert(d)) return false;
    for (std::size_t i = 0; i < layers_.rest.size(); i += 2) {
      if (!layers_.rest[i].may_contain(stacked::detail::layer_digest(d, i + 1))) break;
      if (layers_.rest[i + 1].insert(stacked::detail::layer_digest(d, i + 2))) continue;
      if constexpr (ErasableFilter<Base>) {
        layers_.first.erase(d);
        for (std::size_t j = 0; j < i; j += 2) layers_.rest[j + 1].erase(stacked::detail::layer_digest(d, j + 2));
      }
      return false;
    }
    return true;
  }

  // Algorithm 4. A digest that may_contain() accepts is in every layer of keys that it reaches.
  bool erase(Digest d) noexcept requires ErasableFilter<Base> {
    if (!may_contain(d)) return false;
    bool erased = layers_.first.erase(d);
    for (std::size_t i = 0;
         i < layers_.rest.size() && layers_.rest[i].may_contain(stacked::detail::layer_digest(d, i + 1)); i += 2)
      erased &= layers_.rest[i + 1].erase(stacked::detail::layer_digest(d, i + 2));
    return erased;
  }

  double expected_fpr() const noexcept {
    std::array<double, kMostLayers> rates;
    rates[0] = layers_.first.expected_fpr();
    for (std::size_t i = 0; i < layers_.rest.size(); ++i) rates[i + 1] = layers_.rest[i].expected_fpr();
    return stacked::stranger({rates.data(), layers()});
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }
  std::size_t layers() const noexcept { return layers_.size(); }
  const Base& layer(std::size_t i) const noexcept { return i == 0 ? layers_.first : layers_.rest[i - 1]; }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("first", self.layers_.first);
    visit("rest", self.layers_.rest);
  }
  Result<Ok> validate() const {
    if (layers_.rest.size() % 2 != 0 || layers_.rest.size() >= kMostLayers)
      return Error{Errc::corrupt, "stacked: " + std::to_string(layers()) +
                                      " layers; the number must be odd and at most " + std::to_string(kMostLayers)};
    NAYSAY_CHECK(layers_.first.validate());
    for (const Base& layer : layers_.rest) NAYSAY_CHECK(layer.validate());
    return Ok{};
  }

 private:
  static constexpr std::size_t kBatch = 256;  // digests, indices and answers of a batch stay in the first-level cache

  // The answer for a digest that layer 1 accepts (Algorithm 2).
  bool deeper(Digest d) const noexcept {
    for (std::size_t i = 0; i < layers_.rest.size(); ++i)
      if (!layers_.rest[i].may_contain(stacked::detail::layer_digest(d, i + 1))) return i % 2 == 0;
    return true;
  }

  // The same for a batch of at most kBatch; out holds the answers of layer 1.
  void deeper(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    std::array<std::uint16_t, kBatch> open;
    std::array<Digest, kBatch> digests;
    std::array<std::uint8_t, kBatch> answers;
    std::size_t n = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      open[n] = static_cast<std::uint16_t>(i);
      n += out[i];
    }
    for (std::size_t i = 0; i < layers_.rest.size() && n != 0; ++i) {
      for (std::size_t j = 0; j < n; ++j) digests[j] = stacked::detail::layer_digest(keys[open[j]], i + 1);
      naysay::may_contain(layers_.rest[i], {digests.data(), n}, answers.data());
      std::size_t left = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const std::uint16_t at = open[j];
        out[at] = answers[j] | (i % 2 == 0);
        open[left] = at;
        left += answers[j];
      }
      n = left;
    }
  }

  stacked::detail::StackedLayers<Base> layers_;
};

}  // namespace naysay
