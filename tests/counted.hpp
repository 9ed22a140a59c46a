// SPDX-License-Identifier: Apache-2.0
// Counted<Base>: a base filter that counts its calls, for the cost formulas of composed filters.
#pragma once

#include "naysay/core/filter.hpp"

namespace naysay::sample {

struct Counts {
  std::uint64_t inserts = 0;  // keys given to build
  std::uint64_t queries = 0;
};

template <TunableFilter Base>
class Counted {
 public:
  using Params = typename Base::Params;
  static constexpr Claims kClaims = Base::kClaims;
  static inline Counts counts;  // of all filters of this type; tests build one at a time
  static inline std::uint64_t builds_left = ~std::uint64_t{0};  // a build after these fails as a full table would

  static void reset(std::uint64_t builds = ~std::uint64_t{0}) {
    counts = {};
    builds_left = builds;
  }
  static double bits_per_key(double fpr) { return Base::bits_per_key(fpr); }
  static Params params_for(double fpr) { return Base::params_for(fpr); }
  static Result<Counted> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (builds_left == 0) return Error{Errc::build_failed, "counted: no builds are left"};
    --builds_left;
    counts.inserts += w.keys.size();
    auto base = Base::build(w, p, o);
    if (!base) return std::move(base).error();
    Counted f;
    f.base_ = std::move(*base);
    return f;
  }
  bool may_contain(Digest d) const noexcept {
    ++counts.queries;
    return base_.may_contain(d);
  }
  double expected_fpr() const noexcept { return base_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return base_.size_bits(); }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    Base::fields(self.base_, visit);
  }
  Result<Ok> validate() const { return base_.validate(); }

 private:
  Base base_;
};

}  // namespace naysay::sample
