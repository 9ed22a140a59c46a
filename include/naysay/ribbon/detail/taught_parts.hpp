// SPDX-License-Identifier: Apache-2.0
// TaughtParts: the steps of a taught ribbon that is built in parts (core/parts.hpp), around TaughtRibbonBuilder.
//
//   build   counts of all shards --> the shape of the main planes; own shards taught; own shards of the exact plane
//           solved, if their sizes are known or can be assumed
//   limit   what is left over in all parts --> which of it the exact plane refuses
//   join    words and seeds of all parts --> the planes
//
// The exact plane of a part begins with slot 0: where it will lie is known when all parts have their sizes. It has one
// plane, so join() only shifts its bits.
//
//   table   one number for each
//   0       shard                  its keys
//   1       shard                  its seed in the main planes; no numbers if there are no main planes
//   2, 3    shard of the exact     its slots; its seed; no numbers if there is none, or the part is not complete
//   4       shard of the exact     its keys
//   5       shard                  how many negatives the main planes leave over; 4 to 6 are empty if the limit is known
//   6       negative left over     its part of the shard: SplitBoth's; costs[] are parallel, the costliest of a shard first
//   words   0: main planes, 1: exact plane
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/detail/part_checks.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/ribbon/detail/taught_ribbon_build.hpp"

namespace naysay::ribbon::detail {

template <unsigned width>
class TaughtParts {
 public:
  TaughtParts(const Workload& w, double bits_per_key, const BuildOptions& o, const NegativeSource& negatives,
              const CostCurve& costs, const TaughtPlan& plan, const TaughtShare& share)
      : share_(share), b_(w, bits_per_key, o, negatives, costs, plan, &share_) {}

  std::uint64_t shards() const noexcept { return b_.shards_; }

  Result<FilterPart> build() {
    FilterPart part;
    NAYSAY_CHECK(agreed(no_memory_is_an_error("taught-ribbon", [&] { return teach(part); })));
    const bool open = share_.limit.kind == CostLimit::Kind::open && !share_.peers;
    if (b_.plan_.exact) {
      if (open) keep_left_over(part);
      if (open && !b_.plan_.complete) return part;  // its guess that all of them fit would be wrong
      if (open) share_.limit.kind = CostLimit::Kind::all;
      NAYSAY_CHECK(agreed(b_.place_exact()));
      NAYSAY_CHECK(agreed(no_memory_is_an_error("taught-ribbon", [&] { return solve(part); })));
    }
    part.left_over = b_.left_over();
    part.complete = true;
    return part;
  }

  Result<CostLimit> limit(std::span<const FilterPart> parts) {
    NAYSAY_CHECK(shape(parts));
    b_.left_.resize(b_.shards_);
    for (const FilterPart& part : parts) {
      const auto &counts = part.tables[4].values, &left = part.tables[5].values, &where = part.tables[6].values;
      std::uint64_t all = 0;
      for (std::uint32_t n : left) all += n;
      if (counts.size() != (part.last - part.first) * b_.parts_ || left.size() != part.last - part.first ||
          where.size() != all || part.costs.size() != all)
        return damaged(part);
      b_.part_counts_.insert(b_.part_counts_.end(), counts.begin(), counts.end());
      std::uint64_t next = 0;
      for (std::uint64_t s = part.first; s < part.last; ++s)
        for (std::uint32_t i = 0; i < left[s - part.first]; ++i, ++next) {
          if (where[next] >= b_.parts_ || !(part.costs[next] >= 0)) return damaged(part);
          const auto hi = static_cast<std::uint64_t>(first_hi_of(where[next], b_.parts_));
          b_.left_[s].push_back({{0, hi}, part.costs[next]});
        }
    }
    return b_.find_limit();
  }

  Result<TaughtPlanes> join(std::span<const FilterPart> parts) {
    NAYSAY_CHECK(shape(parts));
    TaughtPlanes& f = b_.f_;
    for (const FilterPart& part : parts) {
      if (!part.complete) return second_round();
      if (!b_.has_main() || part.first == part.last) continue;
      const auto& seeds = part.tables[1].values;
      const PartWords& words = part.words[0];
      if (seeds.size() != part.last - part.first || !put_main(part, words)) return damaged(part);
      for (std::uint64_t i = 0; i < seeds.size(); ++i) {
        if (seeds[i] >= kRibbonSeeds) return damaged(part);
        f.main.set_seed(part.first + i, seeds[i]);
      }
    }
    if (b_.plan_.exact) NAYSAY_CHECK(join_exact(parts));
    return std::move(f);
  }

 private:
  using Builder = TaughtRibbonBuilder<width>;

  Result<Ok> agreed(Result<Ok> own) { return share_.peers ? share_.peers->agree(std::move(own)) : own; }

  static Error damaged(const FilterPart& part) { return damaged_part("taught-ribbon", part); }
  static Error second_round() {
    return {Errc::out_of_budget,
            "taught-ribbon: the budget has no room for all known negatives that are left over; which of them it has "
            "room for must be planned from all parts, and the parts built again"};
  }

  Result<Ok> teach(FilterPart& part) {
    NAYSAY_CHECK(check_part_input("taught-ribbon", ShardMap(b_.shards_),
                                  {.workload = b_.w_, .first = b_.first_, .last = b_.last_, .counts = share_.counts}));
    part.first = b_.first_, part.last = b_.last_;
    part.tables.resize(7);
    part.words.resize(2);
    b_.counts_.assign(share_.counts.begin(), share_.counts.end());
    b_.left_.resize(b_.last_ - b_.first_);
    if (b_.has_main()) NAYSAY_CHECK(b_.place_main());
    NAYSAY_CHECK(b_.teach_main());
    NAYSAY_CHECK(solved());
    part.contradictions = b_.contradictions_;
    part.tables[0].values =
        column(part.last - part.first, [&](std::uint64_t i) { return share_.counts[part.first + i]; });
    for (std::uint32_t n : part.tables[0].values) part.keys += n;
    if (b_.has_main() && part.first != part.last) {
      const RibbonLayout& main = b_.f_.main;
      part.tables[1].values =
          column(part.last - part.first, [&](std::uint64_t i) { return main.place(part.first + i).seed; });
      const auto range = main.word_range(part.first, part.last);
      part.words[0] = copied_words(main.words(), range.first, range.last);
      b_.f_.main = RibbonLayout();
      NAYSAY_CHECK(b_.place_main());  // the shape again, without its words: they are in the part
    }
    if (b_.plan_.exact) b_.count_parts();
    return Ok{};
  }
  Result<Ok> solve(FilterPart& part) {
    b_.solve_exact();
    NAYSAY_CHECK(b_.o_.go_on("taught-ribbon"));
    NAYSAY_CHECK(solved());
    const RibbonLayout& exact = b_.f_.exact;
    const std::uint64_t n = b_.part_counts_.size();
    part.tables[2].values = column(n, [&](std::uint64_t i) { return exact.place(i).slots; });
    part.tables[3].values = column(n, [&](std::uint64_t i) { return exact.place(i).seed; });
    if (n != 0) {
      const auto range = exact.word_range(0, n);
      part.words[1] = copied_words(exact.words(), 0, range.last);
    }
    return Ok{};
  }
  Result<Ok> solved() const {
    if (b_.failed_ == 0) return Ok{};
    return Error{Errc::build_failed, "taught-ribbon: " + std::to_string(b_.failed_) +
                                         " shards have no solution; are the digests well mixed?"};
  }

  // For limit(): what the main planes leave over.
  void keep_left_over(FilterPart& part) {
    std::vector<const KnownNegative*> all;
    all.reserve(b_.left_over());
    for (const auto& left : b_.left_)
      for (const KnownNegative& x : left) all.push_back(&x);
    part.tables[4].values = column(b_.part_counts_.size(), [&](std::uint64_t i) { return b_.part_counts_[i]; });
    part.tables[5].values = column(b_.left_.size(), [&](std::uint64_t s) { return b_.left_[s].size(); });
    part.tables[6].values = column(all.size(), [&](std::uint64_t i) { return b_.part_of(*all[i]); });
    part.costs = Array<float>::make_raw(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) part.costs.at_mut(i) = all[i]->cost;
  }

  // The main planes of the whole filter, empty. Requires the parts in order, and that they hold all shards.
  Result<Ok> shape(std::span<const FilterPart> parts) {
    NAYSAY_TRY(b_.counts_, joined_counts("taught-ribbon", parts, b_.shards_, share_.keys, 7, 2));
    return b_.has_main() ? b_.place_main() : Result<Ok>(Ok{});
  }
  // A part may come without its words; then others have them.
  bool put_main(const FilterPart& part, const PartWords& words) {
    if (words.words.empty()) return true;
    const auto range = b_.f_.main.word_range(part.first, part.last);
    if (words.first != range.first || words.words.size() != range.last - range.first) return false;
    return b_.f_.main.put_words(words.first, {words.words.data(), words.words.size()});
  }
  Result<Ok> join_exact(std::span<const FilterPart> parts) {
    std::vector<std::uint32_t> sizes;
    std::uint64_t slots = 0;
    for (const FilterPart& part : parts) {
      const auto& own = part.tables[2].values;
      if (own.size() != (part.last - part.first) * b_.parts_ || part.tables[3].values.size() != own.size())
        return damaged(part);
      for (std::uint32_t size : own) {
        if (size < width || size > RibbonLayout::kMaxSlots - 64) return damaged(part);
        slots += size;
      }
      sizes.insert(sizes.end(), own.begin(), own.end());
    }
    if (static_cast<double>(slots) > b_.exact_room()) return second_round();
    if (!RibbonLayout::fits(sizes)) return Builder::unhashed();
    RibbonLayout exact(width, {1, 0}, sizes, Zeros::sparse);
    for (const FilterPart& part : parts) {
      const std::uint64_t first = part.first * b_.parts_, last = part.last * b_.parts_;
      const auto& words = part.words[1].words;
      if (first == last) continue;
      if (!words.empty() && !exact.put_slots(first, last, {words.data(), words.size()})) return damaged(part);
      for (std::uint64_t i = first; i < last; ++i) {
        if (part.tables[3].values[i - first] >= kRibbonSeeds) return damaged(part);
        exact.set_seed(i, part.tables[3].values[i - first]);
      }
    }
    b_.f_.exact = std::move(exact);
    return Ok{};
  }

  TaughtShare share_;
  Builder b_;
};

}  // namespace naysay::ribbon::detail
