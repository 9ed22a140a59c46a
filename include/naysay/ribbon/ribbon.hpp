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
#include <atomic>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/ribbon/detail/bumped_layout.hpp"
#include "naysay/ribbon/detail/bumped_query.hpp"
#include "naysay/ribbon/detail/bumped_segment.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"

namespace naysay {

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
    using ribbon::BumpedSizes;
    if (p.width != 0 && p.width != 64 && p.width != 128)
      return Error{Errc::invalid_argument,
                   "ribbon: width is " + std::to_string(p.width) + "; it must be 64, 128, or 0 for the best"};
    if (p.width == 0 && w.keys.size() >= BumpedSizes::kFewest && w.keys.size() <= BumpedSizes::kMost)
      return build_bumped(w, p, o);
    return build_shards(w, p, o);
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
  using Layout = ribbon::detail::RibbonLayout;
  using Bumped = ribbon::detail::BumpedLayout;

  static constexpr ribbon::RibbonSizes sizes_for(unsigned width) noexcept { return {width, ribbon::RibbonFit::quick}; }

  static Error buys_no_plane(const Params& p, double least) {
    return {Errc::out_of_budget, "ribbon: " + rounded_text(p.bits_per_key) +
                                     " bits per key buy no plane; give at least " + rounded_up_text(least)};
  }

  static Result<Ribbon> build_shards(const Workload& w, const Params& p, const BuildOptions& o) {
    // A small set is given the planes that its budget would buy in a large one, if they fit (Layout::fit).
    const double planes = p.width == 0 ? ribbon::BumpedSizes::planes_within(p.bits_per_key)
                                       : sizes_for(p.width).planes_within(p.bits_per_key);
    const double bits =
        p.bits_per_key * static_cast<double>(w.keys.size()) - static_cast<double>(bits_of_fields(Bumped{}));
    Ribbon f;
    auto layout =
        p.width == 64 ? solve_shards<64>(w.keys, bits, planes, o) : solve_shards<128>(w.keys, bits, planes, o);
    if (!layout) return std::move(layout).error();
    f.both_.second = std::move(*layout);
    if (f.both_.second.is_absent()) return buys_no_plane(p, sizes_for(p.width == 64 ? 64 : 128).bits_per_key(1));
    return f;
  }

  static Result<Ribbon> build_bumped(const Workload& w, const Params& p, const BuildOptions& o) {
    using ribbon::BumpedSizes;
    const auto keys = static_cast<double>(w.keys.size()), bits = p.bits_per_key * keys;
    const auto shape = fit(w.keys.size(), p.bits_per_key);
    if (shape.planes == 0 && shape.rich == 0) return buys_no_plane(p, BumpedSizes::bits_per_key(1));
    Ribbon f;
    f.both_.band = Bumped(shape);
    const auto bumped = fill_bumped(f.both_.band, shape, w.keys, o);
    NAYSAY_CHECK(o.go_on("ribbon"));
    // Hashed keys are nowhere near that. Shards depend less on how they are mixed.
    if (static_cast<double>(bumped.size()) > 2 * BumpedSizes::kShare * keys) {
      f.both_.band = {};
      return build_shards(w, p, o);
    }
    // What the bumped keys need is known now; they are given all that is left.
    NAYSAY_TRY(f.both_.second,
               solve_shards<128>(bumped, bits - static_cast<double>(shape.bits()), f.both_.band.mean_planes(), o));
    if (f.both_.second.is_absent()) return buys_no_plane(p, BumpedSizes::bits_per_key(1));
    o.say("slots", static_cast<double>(shape.slots));
    o.say("bumped keys", static_cast<double>(bumped.size()));
    return f;
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

  // Shards of these keys in so many bits, or kClaims.fixed_bits more (Layout::fit); absent if no planes fit.
  template <unsigned width>
  static Result<Layout> solve_shards(std::span<const Digest> keys, double bits, double planes, const BuildOptions& o) {
    const auto counts = shard_counts(keys, sizes_for(width).shards(keys.size()));
    const std::uint64_t shards = counts.size();
    std::vector<std::uint32_t> sizes(shards);
    for (std::uint64_t s = 0; s < shards; ++s)
      sizes[s] = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(sizes_for(width).slots(counts[s]), Layout::kMaxSlots - 64));

    const auto mix = Layout::fit(sizes, bits, double{kClaims.fixed_bits}, planes);
    if (mix == Layout::Mix{}) return Layout{};
    if (!Layout::fits(sizes))
      return Error{Errc::build_failed, "ribbon: the shards differ too much in size; are the digests well mixed?"};

    Layout layout(width, mix, sizes);
    std::vector<std::uint8_t> seeds(shards);
    std::atomic<std::uint64_t> retried{0}, failed{0};
    ShardsDone done(o, "ribbon: solving shards", shards);
    for_each_shard(
        keys, counts, o.threads,
        [&](std::uint64_t s, std::span<const Digest> own) {
          if (o.cancelled()) return;
          ribbon::detail::RibbonShard<width> shard(layout.place(s));
          if (shard.build(own, {}, static_cast<std::uint32_t>(mix64(o.seed ^ s) % ribbon::detail::kRibbonSeeds))) {
            layout.put(s, shard.blocks());
            seeds[s] = static_cast<std::uint8_t>(shard.seed());
            retried.fetch_add(shard.tries() - 1, std::memory_order_relaxed);
          } else {
            failed.fetch_add(1, std::memory_order_relaxed);
          }
          done.one_more();
        },
        SplitBoth{});
    NAYSAY_CHECK(o.go_on("ribbon"));
    if (failed != 0)
      return Error{Errc::build_failed, "ribbon: " + std::to_string(failed) + " of " + std::to_string(shards) +
                                           " shards have no solution; are the digests well mixed?"};
    for (std::uint64_t s = 0; s < shards; ++s) layout.set_seed(s, seeds[s]);
    o.say("shards", static_cast<double>(shards));
    o.say("shards retried", static_cast<double>(retried));
    return layout;
  }

  ribbon::detail::BumpedPair both_;  // without a band the second ribbon holds all keys
};

static_assert(TunableFilter<Ribbon> && BatchFilter<Ribbon>);

}  // namespace naysay
