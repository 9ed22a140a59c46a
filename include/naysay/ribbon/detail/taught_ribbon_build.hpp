// SPDX-License-Identifier: Apache-2.0
// TaughtRibbonBuilder: builds the planes of a taught ribbon from a plan.
//
//   place_main     sizes of the shards --> empty main planes
//   teach_main     for each group of shards: read its negatives, gather its keys, TaughtShard::build, put
//                    left_[s]: the negatives of shard s that are still accepted, costliest first
//   place_exact    how many of left_ fit into the rest of the budget --> an empty exact plane
//   solve_exact    keys and chosen negatives of each shard --> RibbonShard::build, put
//   report         what is left over, and how the size compares with the limit
//
// A builder builds all shards, or a range of them (TaughtShare; taught_parts.hpp). Then the main planes are those of the
// whole filter, empty but for its own shards; the exact plane has its own shards only; and what is left over in all
// shards together is added up with its peers.
//
// Promises   The same workload, parameters and seed give the same planes for any number of threads and of parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/detail/bucket_places.hpp"
#include "naysay/core/detail/digest_set.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/negatives.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/ribbon/detail/taught_shard.hpp"
#include "naysay/ribbon/taught_plan.hpp"

namespace naysay::ribbon::detail {

inline constexpr unsigned kTaughtFixedBits = 5312 + 384;  // Ribbon's fixed_bits, and the header of the exact plane

struct TaughtPlanes {
  RibbonLayout main, exact;  // either may be absent, not both

  double expected_fpr() const noexcept { return main.expected_fpr() * exact.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("main", self.main);
    visit("exact", self.exact);
  }
};

// The shards of one builder among several, and what it knows of the others.
struct TaughtShare {
  std::uint64_t keys = 0;  // of all shards together
  std::uint64_t first = 0, last = 0;
  std::span<const std::uint32_t> counts = {};  // keys of every shard
  CostLimit limit = {};
  PartPeers* peers = nullptr;
};

template <unsigned width>
class TaughtRibbonBuilder {
 public:
  // The share, if there is one, must outlive the builder.
  TaughtRibbonBuilder(const Workload& w, double bits_per_key, const BuildOptions& o, const NegativeSource& negatives,
                      const CostCurve& costs, const TaughtPlan& plan, const TaughtShare* share = nullptr)
      : w_(w),
        o_(o),
        negatives_(negatives),
        costs_(costs),
        plan_(plan),
        share_(share),
        bits_per_key_(bits_per_key),
        keys_(static_cast<double>(share ? share->keys : w.keys.size())) {
    const double equations = 1 + plan_.exact_slots;  // of the exact plane, for each key
    if (has_main()) {
      shards_ = sizes_.shards(static_cast<std::uint64_t>(keys_));
      if (plan_.exact)
        parts_ = plan_.sized ? sizes_.parts(equations * keys_ / static_cast<double>(shards_))
                             : static_cast<std::uint64_t>(std::max(1.0, std::round(equations)));
    } else {
      shards_ = sizes_.shards(static_cast<std::uint64_t>(keys_ * equations));
    }
    first_ = share ? share->first : 0;
    last_ = share ? share->last : shards_;
  }

  Result<TaughtPlanes> build() {
    counts_ = shard_counts(w_.keys, shards_, SplitByHi{}, o_.threads);
    left_.resize(shards_);
    if (has_main()) NAYSAY_CHECK(place_main());
    NAYSAY_CHECK(teach_main());
    if (plan_.exact) {
      count_parts();
      NAYSAY_CHECK(place_exact());
      solve_exact();
      NAYSAY_CHECK(o_.go_on("taught-ribbon"));
    }
    if (failed_ != 0)
      return Error{Errc::build_failed, "taught-ribbon: " + std::to_string(failed_) +
                                           " shards have no solution; are the digests well mixed?"};
    report();
    return std::move(f_);
  }
  // Known negatives that the planes accept. After build().
  std::uint64_t left_over() const noexcept {
    std::uint64_t left = 0;
    for (const auto& shard : left_) left += shard.size();
    return left;
  }

 private:
  template <unsigned>
  friend class TaughtParts;  // taught_parts.hpp

  static constexpr unsigned kPatience = 16;  // seeds to try for a shard that should refuse all of its negatives
  // ... if the build fails otherwise.
  static constexpr unsigned kLongPatience = 64;

  bool has_main() const noexcept { return !plan_.exact || plan_.planes > 0; }
  double budget() const noexcept { return bits_per_key_ * keys_; }
  std::uint32_t first_seed(std::uint64_t shard) const noexcept {
    return static_cast<std::uint32_t>(mix64(o_.seed ^ shard) % kRibbonSeeds);
  }
  static std::uint32_t capped(double slots) noexcept {
    return static_cast<std::uint32_t>(std::min(slots, double{RibbonLayout::kMaxSlots - 64}));
  }
  Error out_of_budget() const {
    return {Errc::out_of_budget, "taught-ribbon: " + rounded_text(bits_per_key_) +
                                     " bits per key buy no plane; give at least " +
                                     rounded_up_text(sizes_.bits_per_key(1))};
  }

  static Error unhashed() {
    return {Errc::build_failed, "taught-ribbon: the shards differ too much in size; are the digests well mixed?"};
  }

  Result<Ok> place_main() {
    std::vector<std::uint32_t> sizes(shards_);
    for (std::uint64_t s = 0; s < shards_; ++s) {
      const auto slack = std::ceil(plan_.slack * static_cast<double>(counts_[s]));
      sizes[s] = capped(static_cast<double>(sizes_.slots(counts_[s])) + slack);
    }
    // The last block is used whole: a free slot more refuses some negatives more.
    if (plan_.sized && shards_ == 1) sizes[0] = capped(static_cast<double>(sizes[0] | 63));
    auto mix =
        plan_.sized ? RibbonLayout::Mix{} : RibbonLayout::fit(sizes, budget(), double{kTaughtFixedBits}, plan_.planes);
    if (plan_.exact || plan_.sized) {
      mix.planes = static_cast<unsigned>(plan_.planes);
      const double rich = (plan_.planes - mix.planes) * static_cast<double>(shards_);  // up where the rate must hold
      mix.rich = static_cast<std::uint64_t>(plan_.sized ? std::ceil(rich - 1e-6) : rich + 1e-6);
    }
    if (mix == RibbonLayout::Mix{}) return out_of_budget();
    if (!RibbonLayout::fits(sizes)) return unhashed();
    f_.main = RibbonLayout(width, mix, sizes, share_ ? Zeros::sparse : Zeros::dense);
    return Ok{};
  }

  // For each group of shards: reads its negatives, gathers its keys, teaches its shards.
  Result<Ok> teach_main() {
    const double group = std::min(1.0, group_size(keys_, costs_.count()) / std::max(1.0, keys_ + costs_.count()));
    const auto step = static_cast<std::uint64_t>(group * static_cast<double>(shards_));
    ShardsDone done(o_, "taught-ribbon: teaching shards", last_ - first_);
    std::vector<std::uint8_t> seeds(last_ - first_);
    GatheredShards<Digest> keys;
    for (std::uint64_t first = first_, last; first < last_; first = last) {
      last = std::min(last_, first + std::max<std::uint64_t>(step, 1));
      const auto expected = static_cast<std::size_t>(1.05 * costs_.count() / static_cast<double>(shards_));
      for (std::uint64_t s = first; s < last; ++s) left_[s - first_].reserve(expected);
      NAYSAY_CHECK(negatives_.read(static_cast<std::uint64_t>(first_hi_of(first, shards_)),
                                   static_cast<std::uint64_t>(first_hi_of(last, shards_) - 1),
                                   [&](std::span<const Digest> some, std::span<const float> costs) {
                                     add_negatives(first, last, some, costs);
                                   }));
      keys.gather(w_.keys, counts_, first, last, SplitBoth{}, o_.threads);
      parallel_for(last - first, o_.threads, [&](std::uint64_t i) {
        if (o_.cancelled()) return;
        seeds[first + i - first_] = teach_shard(first + i, keys[first + i]);
        done.one_more();
      });
      NAYSAY_CHECK(o_.go_on("taught-ribbon"));
    }
    if (!f_.main.is_absent())
      for (std::uint64_t s = first_; s < last_; ++s) f_.main.set_seed(s, seeds[s - first_]);
    return Ok{};
  }

  // Adds those of some negatives that are of the shards first .. last - 1 to left_.
  void add_negatives(std::uint64_t first, std::uint64_t last, std::span<const Digest> some,
                     std::span<const float> costs) {
    const auto left = [&](std::uint64_t s) -> auto& { return left_[first - first_ + s]; };
    const auto split = [&](std::uint64_t i) { return SplitBoth{}(some[i], shards_); };
    const auto negative = [&](std::uint64_t i) {
      return KnownNegative{split(i).word, costs.empty() ? 1.0f : costs[i]};
    };
    const auto shard_in_group = [&](std::uint64_t i) { return split(i).shard - first; };  // wraps before the first
    if (o_.threads <= 1) {
      for (std::uint64_t i = 0; i < some.size(); ++i)
        if (const std::uint64_t s = shard_in_group(i); s < last - first) left(s).push_back(negative(i));
      return;
    }
    BucketPlaces places(some.size(), last - first, o_.threads, shard_in_group);
    std::vector<std::uint64_t> begin(last - first);
    parallel_for(last - first, o_.threads, [&](std::uint64_t s) {
      begin[s] = left(s).size();
      left(s).resize(begin[s] + places.counts()[s]);
    });
    places.run([&](std::uint64_t i, std::uint64_t s, std::uint64_t place) { left(s)[begin[s] + place] = negative(i); });
  }

  // Teaches left_[s] to the shard and keeps, costliest first, the negatives that it still accepts. Returns the seed.
  std::uint8_t teach_shard(std::uint64_t s, std::span<const Digest> keys) {
    auto& left = left_[s - first_];
    if (!left.empty()) {
      const DigestSet set = DigestSet::of(keys);
      contradictions_ += std::erase_if(left, [&](const KnownNegative& x) { return set.contains(x.key); });
      sort(left);
    }
    if (f_.main.is_absent()) return 0;
    TaughtShard<width> shard(f_.main.place(s));
    const unsigned patience = !plan_.complete || plan_.exact ? 1 : plan_.sized ? kLongPatience : kPatience;
    if (!shard.build(keys, left, first_seed(s), patience)) {
      ++failed_;
      return 0;
    }
    retried_ += shard.tries() - 1;
    f_.main.put(s, shard.blocks());
    std::vector<KnownNegative> kept;
    kept.reserve(shard.left().size());
    for (std::uint32_t i : shard.left()) kept.push_back(left[i]);
    left.swap(kept);
    return static_cast<std::uint8_t>(shard.seed());
  }
  static bool costlier(const KnownNegative& a, const KnownNegative& b) noexcept { return a.cost > b.cost; }

  // Costliest first, and then by lo, so that the order of the input does not matter.
  static void sort(std::vector<KnownNegative>& left) {
    const auto before = [](const KnownNegative& a, const KnownNegative& b) {
      return a.cost != b.cost ? a.cost > b.cost : a.key.lo < b.key.lo;
    };
    const bool same = std::all_of(left.begin(), left.end(), [&](const auto& x) { return x.cost == left[0].cost; });
    if (!same || left.size() < 2) return std::sort(left.begin(), left.end(), before);
    // Digests are uniform: one pass puts each next to its place.
    const auto shift = static_cast<unsigned>(std::countl_zero(left.size() - 1));
    std::vector<std::uint32_t> begin((std::size_t{1} << (64 - shift)) + 1, 0);
    for (const KnownNegative& x : left) ++begin[(x.key.lo >> shift) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<KnownNegative> sorted(left.size());
    for (const KnownNegative& x : left) {
      std::size_t to = begin[x.key.lo >> shift]++;
      for (; to > 0 && (sorted[to - 1].key.lo >> shift) == (x.key.lo >> shift) && before(x, sorted[to - 1]); --to)
        sorted[to] = sorted[to - 1];
      sorted[to] = x;
    }
    left.swap(sorted);
  }

  // The sum of a number of all builders.
  Result<std::uint64_t> added_up(std::uint64_t own) const {
    if (share_ && share_->peers) NAYSAY_CHECK(share_->peers->add_up({&own, 1}));
    return own;
  }

  // The pieces of a shard that are shards of the exact plane; its own ones are numbered from 0.
  void count_parts() {
    part_counts_ = BucketPlaces(w_.keys.size(), (last_ - first_) * parts_, o_.threads, [&](std::uint64_t i) {
                     return split_own()(w_.keys[i], 0).shard;
                   }).counts();
  }
  SplitFrom<SplitBoth> split_own() const noexcept { return {{}, shards_ * parts_, first_ * parts_}; }

  // Sizes the exact plane for all negatives that are left, or for the costliest of them that fit.
  Result<Ok> place_exact() {
    NAYSAY_TRY(const CostLimit limit, find_limit());
    choose(limit);
    const auto sizes = exact_sizes();
    if (!RibbonLayout::fits(sizes)) return unhashed();
    f_.exact = RibbonLayout(width, {1, 0}, sizes);
    return Ok{};
  }

  // What the main planes, the tables and the header leave of the budget.
  double exact_room() const noexcept {
    return plan_.sized
               ? INFINITY
               : budget() - static_cast<double>(f_.size_bits() + RibbonLayout::table_bits(shards_ * parts_) + 64);
  }
  Result<CostLimit> find_limit() {
    if (share_ && share_->limit.kind != CostLimit::Kind::open) return share_->limit;
    const double room = exact_room();
    NAYSAY_TRY(const std::uint64_t all, added_up(left_over()));
    double wanted = static_cast<double>(all);
    for (;;) {
      NAYSAY_TRY(const CostLimit limit, limit_of(static_cast<std::uint64_t>(wanted), all));
      choose(limit);
      std::uint64_t own = 0;
      for (std::uint32_t size : exact_sizes()) own += size;
      NAYSAY_TRY(const std::uint64_t total, added_up(own));
      const auto slots = static_cast<double>(total);
      if (slots <= room) return limit;
      if (wanted < 1) return out_of_budget();
      wanted = std::max(0.0, wanted - std::max(1.0, (slots - room) / sizes_.slots_per_key()));
    }
  }

  // The limit of the `count` costliest of `all`, which are spread over the builders. Costs are ordered as their bits are;
  // so the bits of the costliest that is left out are found digit by digit, from sums of how many have each digit.
  Result<CostLimit> limit_of(std::uint64_t count, std::uint64_t all) const {
    if (count == 0) return CostLimit{CostLimit::Kind::none};
    if (count >= all) return CostLimit{CostLimit::Kind::all};
    constexpr unsigned kDigit = 11;
    std::uint32_t bits = 0;                 // the digits that are known
    std::uint64_t above = 0, rank = count;  // of all; rank: among those that have these digits
    std::vector<std::uint64_t> with(std::size_t{1} << kDigit);
    for (unsigned shift : {22u, 11u, 0u}) {
      std::fill(with.begin(), with.end(), 0);
      for (const auto& left : left_)
        for (const KnownNegative& x : left) {
          const auto cost = std::bit_cast<std::uint32_t>(x.cost + 0.0f);
          if (shift == 22 || cost >> (shift + kDigit) == bits >> (shift + kDigit))
            ++with[(cost >> shift) & ((1u << kDigit) - 1)];
        }
      if (share_ && share_->peers) NAYSAY_CHECK(share_->peers->add_up(with));
      std::size_t digit = with.size() - 1;
      for (; rank >= with[digit]; --digit) above += with[digit], rank -= with[digit];
      bits |= static_cast<std::uint32_t>(digit) << shift;
      if (shift == 0)
        return CostLimit{CostLimit::Kind::some, std::bit_cast<float>(bits),
                         static_cast<double>(count - above) / static_cast<double>(with[digit])};
    }
    return CostLimit{};
  }

  // Sets chosen_[s]: how many of left_[s], which is sorted, are within the limit. Of the negatives that cost exactly the
  // limit, every shard chooses the same share, rounded down; a share beyond 0 to 1 is taken as the next of the two.
  void choose(const CostLimit& limit) {
    const double share = limit.share > 0 ? std::min(limit.share, 1.0) : 0;
    chosen_.resize(left_.size());
    for (std::uint64_t s = 0; s < left_.size(); ++s) {
      chosen_[s] = limit.kind == CostLimit::Kind::none ? 0 : left_[s].size();
      if (limit.kind != CostLimit::Kind::some) continue;
      const auto [from, to] =
          std::equal_range(left_[s].begin(), left_[s].end(), KnownNegative{{}, limit.least}, costlier);
      chosen_[s] = static_cast<std::uint64_t>(from - left_[s].begin()) +
                   static_cast<std::uint64_t>(share * static_cast<double>(to - from));
    }
  }
  // The part of its shard: SplitBoth into shards_ * parts_ shards gives shard * parts_ + part_of().
  std::uint64_t part_of(const KnownNegative& x) const noexcept { return fast_range(x.key.hi, parts_); }
  std::vector<std::uint32_t> exact_sizes() const {
    std::vector<std::uint64_t> equations(part_counts_);
    for (std::uint64_t s = 0; s < left_.size(); ++s)
      for (std::uint64_t i = 0; i < chosen_[s]; ++i) ++equations[s * parts_ + part_of(left_[s][i])];
    std::vector<std::uint32_t> sizes(equations.size());
    for (std::uint64_t i = 0; i < sizes.size(); ++i) sizes[i] = capped(static_cast<double>(sizes_.slots(equations[i])));
    return sizes;
  }

  void solve_exact() {
    std::vector<std::uint8_t> seeds(part_counts_.size());
    std::vector<std::vector<KnownNegative>> still(part_counts_.size());
    ShardsDone done(o_, "taught-ribbon: solving the exact plane", part_counts_.size());
    for_each_shard(
        w_.keys, part_counts_, o_.threads,
        [&](std::uint64_t i, std::span<const Digest> keys) {
          if (o_.cancelled()) return;
          const std::uint64_t s = i / parts_, part = i % parts_;
          const auto inside = [&](const KnownNegative& x) { return Digest{x.key.lo, x.key.hi * parts_}; };
          std::vector<Digest> others;
          for (std::uint64_t j = 0; j < chosen_[s]; ++j)
            if (part_of(left_[s][j]) == part) others.push_back(inside(left_[s][j]));
          RibbonShard<width> shard(f_.exact.place(i));
          while (!shard.build(keys, others, first_seed(~(first_ * parts_ + i)))) {
            retried_ += shard.tries();
            if (others.empty() || plan_.sized) return void(++failed_);
            others.resize(others.size() - divide_up(others.size(), 4));  // no seed works: leave out the cheapest
          }
          retried_ += shard.tries() - 1;
          f_.exact.put(i, shard.blocks());
          seeds[i] = static_cast<std::uint8_t>(shard.seed());
          for (const KnownNegative& x : left_[s])
            if (part_of(x) == part && shard.accepts(inside(x))) still[i].push_back(x);
          done.one_more();
        },
        split_own());
    for (std::uint64_t i = 0; i < seeds.size(); ++i) f_.exact.set_seed(i, seeds[i]);
    left_ = std::move(still);
  }

  void report() const {
    const auto left = static_cast<double>(left_over());
    double cost = 0;
    for (const auto& shard : left_)
      for (const KnownNegative& x : shard) cost += x.cost;
    const auto contradictions = static_cast<double>(contradictions_);
    const double known = costs_.count() - contradictions;
    o_.say("width", width);
    o_.say("shards", static_cast<double>(shards_));
    o_.say("shards retried", static_cast<double>(retried_));
    o_.say("planes", f_.main.is_absent() ? 0 : f_.main.mean_planes());
    o_.say("exact plane", plan_.exact);
    o_.say("known negatives", known);
    o_.say("known negatives refused", known - left);
    o_.say("left over", left);
    o_.say("left over cost share", costs_.weight() > 0 ? cost / costs_.weight() : 0);
    o_.say("contradictions", contradictions);
    o_.say("planned known cost share", plan_.known);
    o_.say("planned stranger fpr", plan_.stranger_fpr);
    o_.say("planned wfpr", plan_.wfpr);
    o_.say("planned build seconds", plan_.build_ns / 1e9);
    o_.say("planned build bytes", plan_.build_bytes);
    const double limit = keys_ * limit_bits_per_key(keys_, known, f_.expected_fpr());
    o_.say("space over the limit", limit > 0 ? static_cast<double>(f_.size_bits()) / limit : 0);
  }

  const Workload& w_;
  const BuildOptions& o_;
  const NegativeSource& negatives_;
  const CostCurve& costs_;
  const TaughtPlan plan_;
  const TaughtShare* const share_;  // null: all shards
  const RibbonSizes sizes_ = plan_.sizes();
  const double bits_per_key_;
  const double keys_;

  TaughtPlanes f_;
  std::uint64_t shards_ = 1, parts_ = 1;  // the exact plane has parts_ shards for each shard of the main planes
  std::uint64_t first_ = 0, last_ = 0;    // its own shards
  std::vector<std::uint64_t> counts_;     // keys of every shard
  // Of its own shards, numbered from 0:
  std::vector<std::uint64_t> part_counts_;        // keys
  std::vector<std::vector<KnownNegative>> left_;  // negatives that are not refused yet
  std::vector<std::uint64_t> chosen_;             // how many of them the exact plane refuses
  std::atomic<std::uint64_t> retried_{0}, failed_{0}, contradictions_{0};
};

}  // namespace naysay::ribbon::detail
