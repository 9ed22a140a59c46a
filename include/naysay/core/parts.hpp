// SPDX-License-Identifier: Apache-2.0
// Parts: a filter of shards, built by many machines, with the bytes that one machine would have built.
//
// A shard holds the keys of one range of digest.hi, so ranges of shards can be built apart from each other. Four steps:
//
//   facts of all keys and negatives --> Whole            their number, the costs, the seed: what a plan is made from
//   Whole --> shards()                                   how many shards the filter will have, and where each begins
//   Whole, keys of shards first .. last - 1 --> build()  a FilterPart
//   Whole, all FilterParts --> join()                    the filter
//
//   whole    |    0    |    1    |    2    |    3    |   ranges of shards, and so of digest.hi
//   parts    [ words ..........]                         each has the words of its shards, and a number or two for
//                      [ words .........]                each of them; neighbours may share a word, so join() ORs
//
// PartsOf<F> has these steps as functions; a family specialises it for each filter that can be built in parts. Outside
// of a family they are reached through FilterType::parted.
//
// Two filters have to know more in the middle. The keys that a ribbon bumps go into shards of a second ribbon, wherever
// they come from. Builders that can talk (PartPeers) exchange them and solve a range of these shards each; builders that
// cannot hand them over in their parts, and join() solves the shards. If a taught ribbon has an exact plane, which of the
// negatives that are still accepted get a slot in it depends on those of all parts. Then there are three ways:
//   - builders that can talk agree on the CostLimit while they build;
//   - builders that cannot assume that all of them get one; join() sees whether that was right;
//   - if it was not, limit() finds the CostLimit from the parts, and they are built again, with it in the Whole.
//
// Promises   join() gives the filter that F::build gives for all keys and negatives together, field by field.
// Cost       A part: the work of its shards, and small tables of the whole filter: 4 to 8 bytes for each of its shards; a
//            band of a ribbon 512 bytes for every 2^18 slots; a variable hash 146 bytes for every region.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/cost_curve.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

// Which of the known negatives that the first planes accept get a slot in the last: the costliest of them.
struct CostLimit {
  enum class Kind : std::uint32_t { open, all, none, some };  // open: nobody knows yet
  Kind kind = Kind::open;
  float least = 0;   // some: those that cost more,
  double share = 0;  // and in each shard this share, rounded down, of those that cost exactly this
};

// What every part must know of all of them.
struct Whole {
  std::uint64_t keys = 0;  // copies counted
  CostCounts costs = {};   // of all known negatives
  float most_cost = 0;     // the highest of them
  double stranger_share = Workload{}.stranger_share;
  std::uint64_t seed = 0;  // BuildOptions::seed
  CostLimit limit = {};
};

// What one part is built from. It is refused unless first <= last <= shards(), and the counts are those of its keys.
struct PartInput {
  Workload workload = {};  // keys and negatives of its range; others are ignored
  std::uint64_t first = 0, last = 0;
  std::span<const std::uint32_t> counts = {};  // keys of each shard of the whole filter, copies counted
};

// Which shards the part with this index builds, of `parts` parts.
struct ShardRange {
  std::uint64_t first = 0, last = 0;
};
constexpr ShardRange shard_range(std::uint64_t shards, std::uint64_t index, std::uint64_t parts) noexcept {
  const auto cut = [&](std::uint64_t i) { return static_cast<std::uint64_t>(Uint128{shards} * i / parts); };
  return {cut(index), cut(index + 1)};
}
// The smallest digest.hi that falls into a shard; 2^64 for shard == shards.
constexpr Uint128 first_hi_of(std::uint64_t shard, std::uint64_t shards) noexcept {
  return ((Uint128{shard} << 64) + shards - 1) / shards;
}
// A range of digest.hi: first .. last - 1, last at most 2^64.
struct HiRange {
  Uint128 first = 0, last = 0;
  bool has(Digest d) const noexcept { return d.hi >= first && d.hi < last; }
};

// The shards of a filter: ranges of digest.hi, one after the other.
class ShardMap {
 public:
  // Equal ranges. Requires shards >= 1.
  explicit ShardMap(std::uint64_t shards) : size_(shards) {}
  // Ranges that begin with these. Requires that they ascend from 0.
  explicit ShardMap(std::vector<std::uint64_t> begins) : size_(begins.size()), begins_(std::move(begins)) {}

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t of(Digest d) const noexcept {
    std::uint64_t s = fast_range(d.hi, size_);
    if (begins_.empty()) return s;
    while (d.hi < begins_[s]) --s;  // the ranges are almost equal, so it is a neighbour
    while (s + 1 < size_ && d.hi >= begins_[s + 1]) ++s;
    return s;
  }
  HiRange range(ShardRange shards) const noexcept { return {begin(shards.first), begin(shards.last)}; }

 private:
  Uint128 begin(std::uint64_t shard) const noexcept {
    if (begins_.empty()) return first_hi_of(shard, size_);
    return shard == size_ ? Uint128{1} << 64 : Uint128{begins_[shard]};
  }

  std::uint64_t size_;
  std::vector<std::uint64_t> begins_;
};
// Whether a digest falls into these of equal shards.
constexpr bool falls_into(Digest d, ShardRange range, std::uint64_t shards) noexcept {
  return fast_range(d.hi, shards) - range.first < range.last - range.first;  // wraps for shards before the first
}

// A range of the words of one array of the filter.
struct PartWords {
  std::uint64_t first = 0;
  Array<std::uint64_t> words = {};

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("first", self.first);
    visit("words", self.words);
  }
};
// Where PartWords lie in a filter: words first .. last - 1 of this array. Neighbours may share the last and the first.
struct PartPlace {
  std::span<const std::uint64_t> array = {};
  std::uint64_t first = 0, last = 0;
};
// A column of numbers, one for each shard (or piece of a shard) of the part.
struct PartTable {
  Array<std::uint32_t> values = {};

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("values", self.values);
  }
};

// One part of a filter. What the tables, words and costs hold is the business of its family.
struct FilterPart {
  std::uint64_t first = 0, last = 0;  // its shards
  std::uint64_t keys = 0;             // copies counted
  std::uint64_t contradictions = 0;   // negatives that are keys
  std::uint64_t left_over = 0;        // negatives that it accepts
  bool complete = false;              // false: it waits for a CostLimit, and a taught ribbon's join() refuses it
  std::vector<PartTable> tables = {};
  std::vector<PartWords> words = {};
  Array<float> costs = {};

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("first", self.first);
    visit("last", self.last);
    visit("keys", self.keys);
    visit("contradictions", self.contradictions);
    visit("left_over", self.left_over);
    visit("complete", self.complete);
    visit("tables", self.tables);
    visit("words", self.words);
    visit("costs", self.costs);
  }
};

// Builders of the parts of one filter that can talk to each other while they build. All call the same functions in the
// same order.
class PartPeers {
 public:
  virtual ~PartPeers() = default;
  // Each number becomes the sum of what all peers give.
  virtual Result<Ok> add_up(std::span<std::uint64_t> numbers) = 0;
  // Ok if all peers give Ok; else the same error for all of them.
  virtual Result<Ok> agree(Result<Ok> own) = 0;
  // Gives each digest to the peer in whose range it is. The ranges of all peers, in their order, are all of digest.hi.
  virtual Result<Ok> exchange(std::vector<Digest>& digests, HiRange own) = 0;
};

template <class F>
struct PartsOf;  // not defined for filters that cannot be built in parts

// clang-format 14 cannot format concepts.
// clang-format off
template <class F>
concept PartedFilter = Filter<F> && requires(const Whole& whole, const PartInput& input, const typename F::Params& p,
                                             const BuildOptions& o, PartPeers* peers, std::span<const FilterPart> parts) {
  // Only parameters that make no sense are an error: whether the budget buys anything is for build().
  { PartsOf<F>::shards(whole, p) } -> std::same_as<Result<ShardMap>>;
  { PartsOf<F>::build(whole, input, p, o, peers) } -> std::same_as<Result<FilterPart>>;
  // The parts in the order of their shards. Those that have no words leave zeros, which cost no memory.
  { PartsOf<F>::join(whole, parts, p, o) } -> std::same_as<Result<F>>;
  { PartsOf<F>::limit(whole, parts, p, o) } -> std::same_as<Result<CostLimit>>;
} && requires(const F& f, ShardRange range, std::span<const FilterPart> parts) {
  { PartsOf<F>::places(f, range) } -> std::same_as<std::vector<PartPlace>>;  // in the order of the filter's file
  // Of the filter that join() made of the parts, even if it did not have the words of all of them.
  { PartsOf<F>::expected_fpr(f, parts) } -> std::same_as<double>;
};
// clang-format on

}  // namespace naysay
