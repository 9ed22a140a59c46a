// Ribbon: the smallest of the plain filters, within 1 % of the limit, and fast: one equation per key, solved in shards.
//
//   keys --digest.hi--> shards of 2000 or 3000 --RibbonShard--> planes of bits     (classic/ribbon_planes.hpp draws
//   them)
//
//   paper     here
//   n, m, r   keys, slots of all shards, planes
//   w         Params::width: 64 for speed, 128 for space
//   overhead  m / n - 1: 2.4 % for w = 64, 0.8 % for w = 128, and 36.6 bits a shard for the table
//
// Budgets and rates are any real numbers: a part of the shards has one plane more than the rest.
//
// Promises   never denies a key it was built from; uses the whole budget, up to one shard's plane, or up to 1/64 of a
//            plane where that leaves eight planes for all.
// Does not   take keys later, or forget them.
// Cost       build: one elimination a key, shards on any number of threads, under 3 bytes a key beside the digests.
//            query: w / 64 + 1 neighbouring blocks of 8 * planes bytes.
// Source     Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and Xor, 2021; shards with seeds instead
//            of one large band: same, section 4 (balanced allocation is not needed, since each shard has its own size).
#pragma once

#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "naysay/ribbon/detail/ribbon_planes.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/detail/shards.hpp"
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
      .about = "the smallest plain filter: within 1 % of the limit, static, queries at the speed of binary fuse",
      .fixed_bits = 5312,  // one window of 128 slots at RibbonPlanes::kMaxPlanes, its table and the header
  };

  static double bits_per_key(double fpr) {
    return sizes_for(Params{}.width).bits_per_key(RibbonSizes::planes_for(fpr));
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Ribbon> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.width != 64 && p.width != 128)
      return Error{Errc::invalid_argument, "ribbon: width is " + std::to_string(p.width) + "; it must be 64 or 128"};
    return p.width == 64 ? build_as<64>(w, p, o) : build_as<128>(w, p, o);
  }

  bool may_contain(Digest d) const noexcept { return planes_.may_contain(d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept { planes_.may_contain(keys, out); }
  double expected_fpr() const noexcept { return planes_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("ribbon", self.planes_);
  }
  Result<Ok> validate() const {
    if (planes_.is_absent()) return Error{Errc::corrupt, "ribbon: it has no shards; there must be at least one"};
    return planes_.validate("ribbon");
  }

 private:
  static constexpr RibbonSizes sizes_for(unsigned width) noexcept { return {width, RibbonFit::quick}; }

  template <unsigned width>
  static Result<Ribbon> build_as(const Workload& w, const Params& p, const BuildOptions& o) {
    const auto counts = shard_counts(w.keys, sizes_for(width).shards(w.keys.size()));
    const std::uint64_t shards = counts.size();
    std::vector<std::uint32_t> sizes(shards);
    for (std::uint64_t s = 0; s < shards; ++s)
      sizes[s] = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(sizes_for(width).slots(counts[s]), RibbonPlanes::kMaxSlots - 64));

    const auto mix = RibbonPlanes::fit(sizes, p.bits_per_key * static_cast<double>(w.keys.size()),
                                       double{kClaims.fixed_bits}, sizes_for(width).planes_within(p.bits_per_key));
    if (mix == RibbonPlanes::Mix{})
      return Error{Errc::out_of_budget, "ribbon: " + to_text(p.bits_per_key) +
                                            " bits per key buy no plane; give at least " +
                                            to_text(sizes_for(width).bits_per_key(1))};

    if (!RibbonPlanes::fits(sizes))
      return Error{Errc::build_failed, "ribbon: the shards differ too much in size; are the digests well mixed?"};

    Ribbon f;
    f.planes_ = RibbonPlanes(width, mix, sizes);
    std::vector<std::uint8_t> seeds(shards);
    std::atomic<std::uint64_t> retried{0}, failed{0};
    ShardsDone done(o, "ribbon: solving shards", shards);
    for_each_shard(
        w.keys, counts, o.threads,
        [&](std::uint64_t s, std::span<const Digest> keys) {
          RibbonShard<width> shard(f.planes_.place(s));
          if (shard.build(keys, {}, static_cast<std::uint32_t>(mix64(o.seed ^ s) % kRibbonSeeds))) {
            f.planes_.put(s, shard.blocks());
            seeds[s] = static_cast<std::uint8_t>(shard.seed());
            retried.fetch_add(shard.tries() - 1, std::memory_order_relaxed);
          } else {
            failed.fetch_add(1, std::memory_order_relaxed);
          }
          done.one_more();
        },
        SplitBoth{});
    if (failed != 0)
      return Error{Errc::build_failed, "ribbon: " + std::to_string(failed) + " of " + std::to_string(shards) +
                                           " shards have no solution; are the digests well mixed?"};
    for (std::uint64_t s = 0; s < shards; ++s) f.planes_.set_seed(s, seeds[s]);
    o.say("shards", static_cast<double>(shards));
    o.say("shards retried", static_cast<double>(retried));
    return f;
  }

  RibbonPlanes planes_;
};

static_assert(TunableFilter<Ribbon> && BatchFilter<Ribbon>);

}  // namespace naysay
