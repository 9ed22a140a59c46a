// SPDX-License-Identifier: Apache-2.0
// Ribbon: the smallest of the plain filters. Each key is one linear equation; the filter is a solution of all of them.
//
// There are about as many slots as keys, and every slot holds one bit in each of r planes. A key's equation covers w
// neighbouring slots: the parity of its coefficients AND these slots must be a given bit, in every plane. A stranger
// passes a plane with probability 1/2, so the FPR is 2^-r.
//
// A small set is divided into shards of 2000 or 3000 keys. A shard has slightly more slots than keys; if its equations
// contradict each other, it tries another seed. From 50,000 keys on one band holds all keys, and has fewer slots than
// keys: it "bumps" 4 % of them, by groups that do not fit, into a second ribbon of shards.
//
//   keys --digest.hi--> shards --RibbonShard--> planes of bits           (detail/ribbon_layout.hpp draws them)
//
//   keys --digest.hi--> buckets --BumpedSegment--> planes of bits, and two bits per bucket    (detail/bumped_layout.hpp)
//                          |
//                          +-- 4 % are bumped --> shards --RibbonShard--> planes of bits
//
//   query: digest --> bucket --> bumped? -- no, 96 % --> 2 blocks --> parity in every plane right? --> "maybe" | "no"
//                                   |
//                                   +-- yes --> shard --> w / 64 + 1 blocks --> parity in every plane right? ...
//
//   paper     here
//   n         keys
//   m         slots: of shards 1.024 n for w = 64, 1.008 n for w = 128; with bumping 1.002 n, both ribbons together
//   r         planes
//   w         with bumping 64; of shards Params::width
//
// Budgets and rates may be any real numbers: some slots have one plane more than the others.
//
// Promises   Never denies a key it was built from. Uses the whole budget, up to one plane of one shard; if that would
//            give a ninth plane to less than 1/64 of the slots, all have eight.
// Does not   insert or erase keys after the build.
// Cost       Space: from a million keys on within 0.5 % of the limit log2(1/fpr) if that is 8 or more and a whole number
//            (50,000 keys: 0.8 %; shards of width 128: 1 %), otherwise up to 0.086 bits per key more. Fewer
//            planes: 0.015 bits per key for the thresholds. Build: one elimination per key, on any number of
//            threads; next to the digests 2 to 16 bytes per key, and with bumping up to 12 MB per thread. Query: two
//            neighbouring blocks of 8 * planes bytes (of shards: w / 64 + 1).
// Source     Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and Xor, 2021. Shards with seeds instead
//            of one large band: section 4 (each shard has its own size, so balanced allocation is not needed).
//            Bumping: Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate
//            membership using ribbon, 2022; the layout is ours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/ribbon/detail/bumped_layout.hpp"
#include "naysay/ribbon/detail/bumped_query.hpp"
#include "naysay/ribbon/detail/bumped_segment.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"
#include "naysay/ribbon/detail/ribbon_solver.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"

namespace naysay {

template <class F>
struct PartsOf;

class Ribbon {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t width = 0;  // 0: with bumping from 50,000 keys on, else shards of width 128. 64, 128: always shards

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("width", self.width);
    }
  };

  static constexpr Claims kClaims = {
      .about = "the smallest plain filter: within 0.5 % of the limit, and quick; static",
      .fixed_bits = 10240,  // a bucket of 128 slots with kMaxPlanes planes, the table of a small second ribbon, headers
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 had shards only

  static double bits_per_key(double fpr) {
    return ribbon::BumpedSizes::bits_per_key(ribbon::RibbonSizes::planes_for(fpr));
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Ribbon> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    NAYSAY_CHECK(check(p));
    return bumps(w.keys.size(), p) ? build_bumped(w, p, o) : build_shards(w, p, o);
  }
  // Whether the parameters but for the budget make sense.
  static Result<Ok> check(const Params& p) {
    if (p.width == 0 || p.width == 64 || p.width == 128) return Ok{};
    return Error{Errc::invalid_argument,
                 "ribbon: width is " + std::to_string(p.width) + "; it must be 64, 128, or 0 for the best"};
  }

  bool may_contain(Digest d) const noexcept {
    if (both_.band.is_absent()) [[unlikely]]
      return ribbon::detail::may_contain(both_.second, d);
    return ribbon::detail::may_contain(both_, d);
  }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    if (both_.band.is_absent()) return ribbon::detail::may_contain(both_.second, keys, out);
    ribbon::detail::may_contain(both_, keys, out);
  }
  double expected_fpr() const noexcept {
    const double shards = both_.second.expected_fpr();
    return both_.band.is_absent() ? shards : both_.band.expected_fpr(shards);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  bool is_bumped() const noexcept { return !both_.band.is_absent(); }
  void describe(Report& to) const {
    if (is_bumped()) {
      to.add("slots", static_cast<double>(both_.band.slots()));
      to.add("planes, on average", both_.band.mean_planes());
      to.add("bumped share of the slots", both_.band.bumped_share());
    }
    if (both_.second.is_absent()) return;
    const std::string of = is_bumped() ? " of the second ribbon" : "";
    to.add("shards" + of, static_cast<double>(both_.second.shards()));
    to.add("planes, on average" + of, both_.second.mean_planes());
    to.add("width" + of, both_.second.width());
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("ribbon", self.both_.second);
    if constexpr (requires { visit.version(); } && !std::is_const_v<Self>)
      if (visit.version() < 2) return;
    visit("bumped", self.both_.band);
  }
  Result<Ok> validate() const {
    if (both_.second.is_absent()) return Error{Errc::corrupt, "ribbon: it has no shards; there must be at least one"};
    if (is_bumped()) NAYSAY_CHECK(both_.band.validate("ribbon"));
    return both_.second.validate("ribbon");
  }

 private:
  friend struct PartsOf<Ribbon>;  // ribbon_parts.hpp

  using Layout = ribbon::detail::RibbonLayout;
  using Bumped = ribbon::detail::BumpedLayout;
  template <unsigned width>
  using Solver = ribbon::detail::RibbonSolver<width>;

  // Whether a filter of this many keys has a band that bumps some of them.
  static bool bumps(std::uint64_t keys, const Params& p) noexcept {
    return p.width == 0 && keys >= ribbon::BumpedSizes::kFewest && keys <= ribbon::BumpedSizes::kMost;
  }
  static constexpr ribbon::RibbonSizes sizes_for(unsigned width) noexcept { return {width, ribbon::RibbonFit::quick}; }

  static Error buys_no_plane(const Params& p, double least) {
    return {Errc::out_of_budget, "ribbon: " + rounded_text(p.bits_per_key) +
                                     " bits per key buy no plane; give at least " + rounded_up_text(least)};
  }

  // Calls body(Solver<w>) with the width of the shards, which are all there is.
  template <class Body>
  static auto with_width(const Params& p, Body body) {
    return p.width == 64 ? body(Solver<64>{}) : body(Solver<128>{});
  }
  // A small set is given the planes that its budget would buy in a large one, if they fit (Layout::fit).
  static ribbon::detail::RibbonRoom room(std::uint64_t keys, const Params& p) noexcept {
    const double bits = p.bits_per_key * static_cast<double>(keys) - static_cast<double>(bits_of_fields(Bumped{}));
    return {bits, double{kClaims.fixed_bits},
            p.width == 0 ? ribbon::BumpedSizes::planes_within(p.bits_per_key)
                         : sizes_for(p.width).planes_within(p.bits_per_key)};
  }

  static Result<Ribbon> build_shards(const Workload& w, const Params& p, const BuildOptions& o) {
    return with_width(p, [&](auto solver) -> Result<Ribbon> {
      Ribbon f;
      NAYSAY_TRY(f.both_.second, solver.build(w.keys, room(w.keys.size(), p), o));
      if (f.both_.second.is_absent()) return buys_no_plane(p, solver.sizes().bits_per_key(1));
      return f;
    });
  }

  static Result<Ribbon> build_bumped(const Workload& w, const Params& p, const BuildOptions& o) {
    const auto shape = fit(w.keys.size(), p.bits_per_key);
    if (shape.planes == 0 && shape.rich == 0) return buys_no_band(p);
    Ribbon f;
    f.both_.band = Bumped(shape);
    const ribbon::detail::BumpedSegments segments(shape);
    const auto bumped =
        fill_bumped(f.both_.band, segments, w.keys, shard_counts(w.keys, segments.size(), segments, o.threads), 0, o);
    NAYSAY_CHECK(o.go_on("ribbon"));
    f.both_.band.count_kept();
    if (bumps_too_many(bumped.size(), w.keys.size())) {
      f.both_.band = {};
      return build_shards(w, p, o);
    }
    NAYSAY_TRY(f.both_.second, Solver<128>::build(bumped, second_room(w.keys.size(), p, shape), o));
    if (f.both_.second.is_absent()) return buys_no_band(p);
    o.say("slots", static_cast<double>(shape.slots));
    o.say("bumped keys", static_cast<double>(bumped.size()));
    return f;
  }

  static Error buys_no_band(const Params& p) { return buys_no_plane(p, ribbon::BumpedSizes::bits_per_key(1)); }
  // Hashed keys are nowhere near that. Shards depend less on how they are mixed.
  static bool bumps_too_many(std::uint64_t bumped, std::uint64_t keys) noexcept {
    return static_cast<double>(bumped) > 2 * ribbon::BumpedSizes::kShare * static_cast<double>(keys);
  }
  // For the second ribbon. What the bumped keys need is known now; they are given all that is left.
  static ribbon::detail::RibbonRoom second_room(std::uint64_t keys, const Params& p,
                                                const Bumped::Shape& shape) noexcept {
    return {p.bits_per_key * static_cast<double>(keys) - static_cast<double>(shape.bits()), double{kClaims.fixed_bits},
            shape.mean_planes()};
  }

  // The most planes for a budget, if as many keys are bumped as usual and both ribbons have the same planes. As in
  // Layout::fit, smaller sets get the planes of a large one if they fit, and eight planes are preferred to a few more.
  static Bumped::Shape fit(std::uint64_t keys, double bits_per_key) noexcept {
    using ribbon::BumpedSizes;
    const double budget = bits_per_key * static_cast<double>(keys);
    Bumped::Shape shape{.slots = BumpedSizes::slots(keys)};
    const auto bumped = static_cast<std::uint64_t>(BumpedSizes::kShare * static_cast<double>(keys));
    const std::uint64_t shards = BumpedSizes::second().shards(bumped),
                        second = shards * BumpedSizes::second().slots(bumped / shards);
    const auto planes_for = [&](double bits) {
      const std::uint64_t fixed = shape.bits() + bits_of_fields(Layout{}) + Layout::table_bits(shards);
      return std::clamp((bits - static_cast<double>(fixed)) / static_cast<double>(shape.slots + second + 128), 0.0,
                        double{Bumped::kMaxPlanes});
    };
    const double planes = std::max(planes_for(budget), std::min(BumpedSizes::planes_within(bits_per_key),
                                                                planes_for(budget + double{kClaims.fixed_bits})));
    const double whole = std::floor(planes);
    const auto steps =
        static_cast<std::uint64_t>(std::ceil((planes - whole) * static_cast<double>(shape.slots) / Bumped::kStep));
    shape.planes = static_cast<unsigned>(whole);
    shape.rich = steps * Bumped::kStep;
    if (shape.rich >= shape.slots) {
      ++shape.planes;
      shape.rich = 0;
    }
    if (shape.planes == 8 && shape.rich < shape.slots / Layout::kFew) shape.rich = 0;
    return shape;
  }

  ribbon::detail::BumpedPair both_;  // without a band the second ribbon holds all keys
};

static_assert(TunableFilter<Ribbon> && BatchFilter<Ribbon>);

}  // namespace naysay
