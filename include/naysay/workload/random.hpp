// SPDX-License-Identifier: Apache-2.0
// Random: a sequence of 64-bit words from a seed, the same on every machine.
//
//   seed --> state += golden ratio --mix64--> word, word, word, ...
//
// Does not   resist an attacker; it is for workloads, shuffles and samples.
// Source     SplitMix64: Steele, Lea and Flood, 2014.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "naysay/core/hash.hpp"

namespace naysay {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  // In [0, n); the bias is below n / 2^64. Requires n > 0.
  std::uint64_t below(std::uint64_t n) noexcept { return fast_range((*this)(), n); }

  // Every order is as likely as any other (Fisher and Yates).
  template <class T>
  void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace naysay
