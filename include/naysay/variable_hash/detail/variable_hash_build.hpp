// SPDX-License-Identifier: Apache-2.0
// Builds a VariableHashTable: finds the spread functions, then the slot functions.
//
//   keys --digest.hi--> regions, each on its own thread
//                         |
//                         +-- best_spread: region --> sectors --> buckets --> slots
//                         |
//                         +-- FunctionSearch: k functions that all keys of the slot pass; of the possible ones the one
//                             that refuses most of the cost of the slot's known negatives that are still accepted
//
// The CUDA builder (cuda/) finds the spread functions, and without negatives the slot functions, on a device; it leaves
// the rest to search().
//
// Promises   The same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"
#include "naysay/variable_hash/detail/function_search.hpp"
#include "naysay/variable_hash/detail/spread.hpp"
#include "naysay/variable_hash/detail/variable_hash_table.hpp"

namespace naysay::variable_hash::detail {

// Whether the spread functions must be found, or have been found (by cuda/).
enum class Spreads { wanted, given };

// A known negative. Its cost is a whole number, so that sums do not depend on their order.
struct WeightedNegative {
  std::uint64_t x;
  std::uint64_t weight;
};
// The highest cost of the known negatives.
inline float most_cost(const Workload& w) noexcept {
  float most = 0;
  for (std::uint64_t i = 0; i < w.negatives.size(); ++i) most = std::max(most, w.cost(i));
  return most;
}
// The known negatives of some regions.
class RegionNegatives {
 public:
  // Of `regions` regions from `first` on. Weights are shares of the highest cost of all negatives, `most`.
  RegionNegatives(const Workload& w, const VariableHashTable& f, std::uint64_t first, std::uint64_t regions, float most)
      : first_(first) {
    if (w.negatives.empty()) return;
    const auto region_of = [&](const Digest& d) { return shard_of(d, f.regions()) - first; };  // wraps before the first
    start_.resize(regions + 1);
    for (const Digest& d : w.negatives)
      if (const std::uint64_t s = region_of(d); s < regions) ++start_[s + 1];
    for (std::uint64_t s = 0; s < regions; ++s) start_[s + 1] += start_[s];
    const double scale = most > 0 ? kUnits / static_cast<double>(most) : 0;
    all_.resize(start_.back());
    std::vector<std::uint64_t> fill(start_.begin(), start_.end() - 1);
    for (std::uint64_t i = 0; i < w.negatives.size(); ++i) {
      const Digest& d = w.negatives[i];
      if (const std::uint64_t s = region_of(d); s < regions)
        all_[fill[s]++] = {d.lo + f.seed(), 1 + static_cast<std::uint64_t>(
                                                    std::min<double>(kUnits, scale * static_cast<double>(w.cost(i))))};
    }
  }
  // The negatives of a region. Call it once per region: the list belongs to the caller, which may reorder it.
  std::span<WeightedNegative> of(std::uint64_t region) const noexcept {
    if (all_.empty()) return {};
    return {all_.data() + start_[region - first_], all_.data() + start_[region - first_ + 1]};
  }

 private:
  static constexpr double kUnits = 1099511627776.0;  // 2^40: sums of 16 million costs fit a word

  std::uint64_t first_;
  std::vector<std::uint64_t> start_;
  mutable std::vector<WeightedNegative> all_;
};
// What becomes of the known negatives.
struct NegativeCounts {
  std::atomic<std::uint64_t> accepted{0}, keys{0};  // still accepted; keys as well
};

// Builds one region.
class RegionBuilder {
 public:
  RegionBuilder(VariableHashTable& f, const VariableHashShape& shape, Spreads spreads, const RegionNegatives& negatives,
                NegativeCounts& found)
      : f_(f), shape_(shape), spreads_(spreads), negatives_(negatives), found_(found) {}

  void build(std::uint64_t region, std::span<std::uint64_t> xs) {
    for (std::uint64_t& x : xs) x += f_.seed();
    std::sort(xs.begin(), xs.end());
    xs = xs.first(static_cast<std::size_t>(std::unique(xs.begin(), xs.end()) - xs.begin()));
    spread_out(0, region, xs, negatives_.of(region));
  }

 private:
  // Finds the function of node `at`, stores it, and goes on with each of its children.
  void spread_out(unsigned level, std::uint64_t at, std::span<std::uint64_t> xs,
                  std::span<WeightedNegative> negatives) {
    if (level == kLevels) return search(at, xs, negatives);
    const unsigned log = f_.log(level);
    if (log == 0) return spread_out(level + 1, at, xs, negatives);
    if (spreads_ == Spreads::wanted) {
      static thread_local SpreadScratch scratch;
      f_.mutable_spread(level)[at] = static_cast<std::uint16_t>(best_spread(xs, log, shape_.tries_log[level], scratch));
    }
    const std::uint32_t number = f_.spread(level)[at];
    const auto child = [&](std::uint64_t x) {
      return family::spread_child(family::spread_words(x), number) & low_mask(log);
    };
    for (std::uint64_t c = 0; c < std::uint64_t{1} << log; ++c) {
      const auto keys = static_cast<std::size_t>(
          std::partition(xs.begin(), xs.end(), [&](std::uint64_t x) { return child(x) == c; }) - xs.begin());
      const auto others =
          static_cast<std::size_t>(std::partition(negatives.begin(), negatives.end(),
                                                  [&](const WeightedNegative& y) { return child(y.x) == c; }) -
                                   negatives.begin());
      spread_out(level + 1, at << log | c, xs.first(keys), negatives.first(others));
      xs = xs.subspan(keys), negatives = negatives.subspan(others);
    }
  }

  void search(std::uint64_t slot, std::span<const std::uint64_t> xs, std::span<WeightedNegative> negatives) {
    const auto keep = [&](auto&& stays) {
      negatives = negatives.first(
          static_cast<std::size_t>(std::partition(negatives.begin(), negatives.end(), stays) - negatives.begin()));
    };
    // A negative that is a key cannot be refused.
    const std::size_t given = negatives.size();
    keep([&](const WeightedNegative& y) { return std::find(xs.begin(), xs.end(), y.x) == xs.end(); });
    if (negatives.size() != given) found_.keys.fetch_add(given - negatives.size(), std::memory_order_relaxed);
    FunctionSearch search(xs, f_.function_bits());
    for (unsigned f = 0; f < f_.functions_of(slot); ++f) {
      search.turn_to(f);
      std::uint64_t number = search.first(0);
      if (number == 0) continue;
      if (!negatives.empty()) {
        std::uint64_t most = 0;
        for (std::uint64_t other = number; other != 0; other = search.first(family::place(other) + 1)) {
          std::uint64_t refused = 0;
          for (const WeightedNegative& y : negatives)
            if (!family::accepts(other, family::pick_word(y.x, f), family::mask_word(y.x))) refused += y.weight;
          if (refused > most) most = refused, number = other;
        }
        keep([&](const WeightedNegative& y) {
          return family::accepts(number, family::pick_word(y.x, f), family::mask_word(y.x));
        });
      }
      or_bits(f_.mutable_functions().data(), (f_.first_function(slot) + f) * f_.function_bits(), number);
    }
    if (!negatives.empty()) found_.accepted.fetch_add(negatives.size(), std::memory_order_relaxed);
  }

  VariableHashTable& f_;
  const VariableHashShape& shape_;
  Spreads spreads_;
  const RegionNegatives& negatives_;
  NegativeCounts& found_;
};

// What a build reports about itself.
inline void report(const VariableHashTable& f, const Workload& w, const BuildOptions& o, std::uint64_t still_accepted) {
  if (!o.report) return;
  o.say("slots", static_cast<double>(f.slots()));
  o.say("keys per slot", static_cast<double>(w.keys.size()) / static_cast<double>(f.slots()));
  o.say("bits per function", f.function_bits());
  o.say("functions per slot", f.mean_functions());
  o.say("functions not found (share)", f.share_not_found());
  if (!w.negatives.empty()) o.say("known negatives still accepted", static_cast<double>(still_accepted));
}

// Finds the functions of the regions from `first` on that have this many keys each. Other keys and negatives are ignored.
inline void search_regions(const Workload& w, std::span<const std::uint64_t> counts, std::uint64_t first, float most,
                           const BuildOptions& o, const VariableHashShape& shape, VariableHashTable& f, Spreads spreads,
                           NegativeCounts& found) {
  const RegionNegatives negatives(w, f, first, counts.size(), most);
  ShardsDone done(o, "variable-hash: searching functions", counts.size());
  for_each_shard(
      w.keys, counts, o.threads,
      [&](std::uint64_t i, std::span<std::uint64_t> los) {
        if (o.cancelled()) return;
        RegionBuilder(f, shape, spreads, negatives, found).build(first + i, los);
        done.one_more();
      },
      SplitFrom<SplitByHi>{{}, f.regions(), first});
}

// Finds the functions of a table of that shape, whose slot functions are all 0.
inline void search(const Workload& w, const BuildOptions& o, const VariableHashShape& shape, VariableHashTable& f,
                   Spreads spreads) {
  NegativeCounts found;
  search_regions(w, shard_counts(w.keys, f.regions(), SplitByHi{}, o.threads), 0, most_cost(w), o, shape, f, spreads,
                 found);
  report(f, w, o, found.accepted.load());
}

}  // namespace naysay::variable_hash::detail
