// SPDX-License-Identifier: Apache-2.0
// Ribbon: the smallest of the plain filters. Each key is one linear equation; the filter is a solution of all of them.
//
// The keys are divided into shards of 2000 or 3000. A shard has slightly more slots than keys, and every slot holds one
// bit in each of r planes. A key's equation covers w neighbouring slots: the parity of its coefficients AND these slots
// must be a given bit, in every plane. A stranger passes a plane with probability 1/2, so the FPR is 2^-r.
//
//   keys --digest.hi--> shards --RibbonShard--> planes of bits (detail/ribbon_layout.hpp draws them)
//
//   query: digest --> shard --> w / 64 + 1 blocks --> parity in every plane right? --> "maybe" | "no"
//
//   paper     here
//   n         keys
//   m         slots of all shards: 1.024 n for w = 64, 1.008 n for w = 128 (ribbon_sizes.hpp)
//   r         planes
//   w         Params::width: 64 for speed, 128 for space
//
// Budgets and rates may be any real numbers: some shards have one plane more than the others.
//
// Promises   Never denies a key it was built from. Uses the whole budget, up to one plane of one shard; if that would
//            give a ninth plane to less than 1/64 of the shards, all have eight.
// Does not   insert or erase keys after the build.
// Cost       Space: with w = 128 within 1 % of the limit log2(1/fpr) if that is a whole number, otherwise up to 0.086
//            bits per key more. Build: one elimination per key, shards on any number of threads, 2 to 16 bytes per key
//            next to the digests. Query: w / 64 + 1 neighbouring blocks of 8 * planes bytes.
// Source     Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and Xor, 2021. Shards with seeds instead
//            of one large band: section 4 (each shard has its own size, so balanced allocation is not needed).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"

namespace naysay {

class Ribbon {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t width = 128;  // 64: queries read less; 128: fewer slots

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("width", self.width);
    }
  };

  static constexpr Claims kClaims = {
      .about = "the smallest plain filter: within 1 % of the limit; static",
      .fixed_bits = 5312,  // one window of 128 slots with kMaxPlanes planes, its table and the header
  };

  static double bits_per_key(double fpr) {
    return sizes_for(Params{}.width).bits_per_key(ribbon::RibbonSizes::planes_for(fpr));
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Ribbon> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.width != 64 && p.width != 128)
      return Error{Errc::invalid_argument, "ribbon: width is " + std::to_string(p.width) + "; it must be 64 or 128"};
    return p.width == 64 ? build_as<64>(w, p, o) : build_as<128>(w, p, o);
  }

  bool may_contain(Digest d) const noexcept { return ribbon::detail::may_contain(layout_, d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    ribbon::detail::may_contain(layout_, keys, out);
  }
  double expected_fpr() const noexcept { return layout_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("ribbon", self.layout_);
  }
  Result<Ok> validate() const {
    if (layout_.is_absent()) return Error{Errc::corrupt, "ribbon: it has no shards; there must be at least one"};
    return layout_.validate("ribbon");
  }

 private:
  using Layout = ribbon::detail::RibbonLayout;

  static constexpr ribbon::RibbonSizes sizes_for(unsigned width) noexcept { return {width, ribbon::RibbonFit::quick}; }

  template <unsigned width>
  static Result<Ribbon> build_as(const Workload& w, const Params& p, const BuildOptions& o) {
    const auto counts = shard_counts(w.keys, sizes_for(width).shards(w.keys.size()));
    const std::uint64_t shards = counts.size();
    std::vector<std::uint32_t> sizes(shards);
    for (std::uint64_t s = 0; s < shards; ++s)
      sizes[s] = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(sizes_for(width).slots(counts[s]), Layout::kMaxSlots - 64));

    const auto mix = Layout::fit(sizes, p.bits_per_key * static_cast<double>(w.keys.size()), double{kClaims.fixed_bits},
                                 sizes_for(width).planes_within(p.bits_per_key));
    if (mix == Layout::Mix{})
      return Error{Errc::out_of_budget, "ribbon: " + rounded_text(p.bits_per_key) +
                                            " bits per key buy no plane; give at least " +
                                            rounded_up_text(sizes_for(width).bits_per_key(1))};

    if (!Layout::fits(sizes))
      return Error{Errc::build_failed, "ribbon: the shards differ too much in size; are the digests well mixed?"};

    Ribbon f;
    f.layout_ = Layout(width, mix, sizes);
    std::vector<std::uint8_t> seeds(shards);
    std::atomic<std::uint64_t> retried{0}, failed{0};
    ShardsDone done(o, "ribbon: solving shards", shards);
    for_each_shard(
        w.keys, counts, o.threads,
        [&](std::uint64_t s, std::span<const Digest> keys) {
          if (o.cancelled()) return;
          ribbon::detail::RibbonShard<width> shard(f.layout_.place(s));
          if (shard.build(keys, {}, static_cast<std::uint32_t>(mix64(o.seed ^ s) % ribbon::detail::kRibbonSeeds))) {
            f.layout_.put(s, shard.blocks());
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
    for (std::uint64_t s = 0; s < shards; ++s) f.layout_.set_seed(s, seeds[s]);
    o.say("shards", static_cast<double>(shards));
    o.say("shards retried", static_cast<double>(retried));
    return f;
  }

  Layout layout_;
};

static_assert(TunableFilter<Ribbon> && BatchFilter<Ribbon>);

}  // namespace naysay
