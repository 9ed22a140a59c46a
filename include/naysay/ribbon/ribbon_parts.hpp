// SPDX-License-Identifier: Apache-2.0
// PartsOf<TaughtRibbon>: a taught ribbon built in parts, each from one range of digests (core/parts.hpp).
//
//   facts of all --TaughtPlan--> shards --> parts --> TaughtRibbon, with the bytes of TaughtRibbon::build
//
// Does not   build with exact=true: the fewest bits are found by building several plans and comparing them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "naysay/core/negatives.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/ribbon/detail/taught_parts.hpp"
#include "naysay/ribbon/taught_ribbon.hpp"

namespace naysay {

template <>
struct PartsOf<TaughtRibbon> {
  using Params = TaughtRibbon::Params;

  static Result<std::uint64_t> shards(const Whole& whole, const Params& p) {
    return with_parts(whole, {}, p, {}, nullptr, [](auto& parts) -> Result<std::uint64_t> { return parts.shards(); });
  }
  static Result<FilterPart> build(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                                  PartPeers* peers) {
    return with_parts(whole, input, p, o, peers, [](auto& parts) { return parts.build(); });
  }
  static Result<TaughtRibbon> join(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                   const BuildOptions& o) {
    return with_parts(whole, {}, p, o, nullptr, [&](auto& parts) -> Result<TaughtRibbon> {
      NAYSAY_TRY(ribbon::detail::TaughtPlanes planes, parts.join(all));
      TaughtRibbon f(std::move(planes));
      NAYSAY_CHECK(f.validate());
      return f;
    });
  }
  static Result<CostLimit> limit(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                 const BuildOptions& o) {
    Whole open = whole;
    open.limit = {};
    return with_parts(open, {}, p, o, nullptr, [&](auto& parts) { return parts.limit(all); });
  }
  static std::vector<PartPlace> places(const TaughtRibbon& f, ShardRange range) {
    const auto& [main, exact] = f.planes_;
    const std::uint64_t parts = main.is_absent() || exact.is_absent() ? 1 : exact.shards() / main.shards();
    std::vector<PartPlace> places;
    for (const auto& [layout, factor] : {std::pair(&main, std::uint64_t{1}), std::pair(&exact, parts)}) {
      if (layout->is_absent()) continue;
      const auto words = layout->word_range(range.first * factor, range.last * factor);
      places.push_back({{layout->words(), layout->word_count()}, words.first, words.last});
    }
    return places;
  }

 private:
  template <class Body>
  static auto with_parts(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                         PartPeers* peers, Body body)
      -> decltype(body(std::declval<ribbon::detail::TaughtParts<64>&>())) {
    NAYSAY_CHECK(TaughtRibbon::check(p));
    if (p.exact)
      return Error{Errc::unsupported,
                   "taught-ribbon: with exact=true it cannot be built in parts, because the fewest bits are found by "
                   "building several times; give bits_per_key without it"};
    BuildOptions options = o;
    options.seed = whole.seed;
    const NegativeSource held = input.workload.source ? NegativeSource{} : NegativeSource::of(input.workload);
    const NegativeSource& negatives = input.workload.source ? *input.workload.source : held;
    const CostCurve costs(whole.costs);
    const auto plan = ribbon::plan({.keys = static_cast<double>(whole.keys),
                                    .bits_per_key = p.bits_per_key,
                                    .stranger_share = whole.stranger_share,
                                    .width = p.width},
                                   costs);
    const ribbon::detail::TaughtShare share{whole.keys, input.first, input.last, input.counts, whole.limit, peers};
    const auto run = [&](auto width) {
      ribbon::detail::TaughtParts<width()> parts(input.workload, p.bits_per_key, options, negatives, costs, plan,
                                                 share);
      return body(parts);
    };
    return plan.width == 64 ? run(std::integral_constant<unsigned, 64>{})
                            : run(std::integral_constant<unsigned, 128>{});
  }
};

}  // namespace naysay
