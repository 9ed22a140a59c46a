// SPDX-License-Identifier: Apache-2.0
// Prices of layers: what a layer of a base filter costs, for the planner of stacks.
//
//   price_list<Base>()     bits per key for every useful rate, from Base::bits_per_key
//   layer_extra<Base>()    what a real layer uses more than n * bits_per_key: headers, rounding, spare slots
//
// Both are made on first use, once per base and program.
//
// Promises   The same numbers on every machine: the extra is measured by building layers, not by the clock.
// Cost       1536 calls of Base::bits_per_key; nine builds of at most 16384 keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/stacked/stacked_plan.hpp"

namespace naysay::stacked {

// The price list of a base, made once.
template <TunableFilter Base>
const PriceList& price_list() {
  static const PriceList list([](double fpr) { return Base::bits_per_key(fpr); });
  return list;
}

// What a layer of a base costs more than the price of its keys: some bits, and the price of some more keys.
struct LayerExtra {
  double bits = 0, keys = 0;

  double at(double price) const noexcept { return bits + keys * price; }
};

// Measured once, on layers of three sizes at three rates.
template <TunableFilter Base>
const LayerExtra& layer_extra() {
  static const LayerExtra extra = [] {
    static constexpr std::array<std::size_t, 3> kSizes = {64, 1024, 16384};
    static constexpr std::array<double, 3> kRates = {0.1, 1e-3, 1e-5};
    std::vector<Digest> keys(kSizes.back());
    for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = digest(i);
    const auto price = [](std::size_t rate) { return Base::bits_per_key(kRates[rate]); };
    double more[kSizes.size()][kRates.size()];
    for (std::size_t size = 0; size < kSizes.size(); ++size)
      for (std::size_t rate = 0; rate < kRates.size(); ++rate) {
        const auto layer = Base::build({.keys = std::span(keys).first(kSizes[size])}, Base::params_for(kRates[rate]));
        const double bits = layer ? static_cast<double>(layer->size_bits()) : 0;
        more[size][rate] = bits - static_cast<double>(kSizes[size]) * price(rate);
      }
    LayerExtra e;
    e.keys = std::max(0.0, (more[2][2] - more[2][0]) / (price(2) - price(0)));
    for (const auto& of_size : more)
      for (std::size_t rate = 0; rate < kRates.size(); ++rate)
        e.bits = std::max(e.bits, of_size[rate] - e.keys * price(rate));
    return e;
  }();
  return extra;
}

}  // namespace naysay::stacked
