// SPDX-License-Identifier: Apache-2.0
// TaughtShard: one shard of a ribbon that is taught, plane by plane, to refuse known negatives.
//
//   keys --band--> rows, a few slots free
//
//   plane 0   negatives, costliest first: "your bit, negated" is one more equation for a free slot     solve, query
//             it finds a slot: refused for certain     it finds none: refused with probability 1/2
//   plane 1   the same with the negatives that plane 0 accepts; all slots are free again               solve, query
//   ...
//   the end   negatives that all planes accept are left over: try another seed, or leave them to the caller
//
// With x free slots a plane refuses x negatives for certain and half of the others, so p planes refuse the
// x * (2^p - 1) costliest negatives, or all of them if there are no more.
//
//   planner   here (taught_plan.hpp)
//   x         rows().free_slots() after band()
//   m_j       left_.size() before plane j
//
// Promises   Accepts every key. The same keys, negatives and first seed give the same blocks. Every key and every
//            negative is queried before a seed is kept.
// Does not   refuse a negative that is a key: it is left over, as negatives without a slot are.
// Cost       One elimination per key and per negative that finds a slot; one test per negative and plane.
// Source     our own; docs/taught_ribbon.md tells it as a story.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/ribbon/detail/ribbon_shard.hpp"

namespace naysay::ribbon::detail {

struct KnownNegative {
  Digest key;  // what SplitBoth leaves of it
  float cost;
};

template <unsigned w>
class TaughtShard {
 public:
  explicit TaughtShard(const RibbonLayout::Place& place) : shard_(place) {}

  // Requires negatives in the order of their importance. Tries seeds until no negative is left over, but at most
  // `patience` seeds that have a solution, and keeps the seed that leaves the smallest cost. False if no seed has a
  // solution for the keys.
  bool build(std::span<const Digest> keys, std::span<const KnownNegative> negatives, std::uint32_t first,
             unsigned patience) {
    std::vector<std::uint64_t> best;
    double best_cost = INFINITY;
    std::vector<std::uint32_t> best_left;
    unsigned solved = 0;
    for (unsigned i = 0; i < kRibbonSeeds && solved < patience; ++i) {
      ++tries_;
      if (!shard_.band(keys, {}, (first + i) % kRibbonSeeds) || !teach(negatives)) continue;
      if (!shard_.accepts_all(keys) || !answers_as_taught(negatives)) continue;
      ++solved;
      double cost = 0;
      for (std::uint32_t left : left_) cost += negatives[left].cost;
      if (cost < best_cost || best.empty()) {
        best.assign(shard_.blocks().begin(), shard_.blocks().end());
        best_cost = cost;
        best_left = left_;
        seed_ = shard_.seed();
      }
      if (left_.empty()) break;
    }
    blocks_ = std::move(best);
    left_ = std::move(best_left);
    return solved != 0;
  }

  std::uint32_t seed() const noexcept { return seed_; }
  unsigned tries() const noexcept { return tries_; }
  std::span<const std::uint64_t> blocks() const noexcept { return blocks_; }
  // Indices of the negatives that are still accepted, ascending.
  std::span<const std::uint32_t> left() const noexcept { return left_; }

 private:
  // Fills all planes. False if more negatives survive a plane than chance allows.
  bool teach(std::span<const KnownNegative> negatives) {
    left_.resize(negatives.size());
    equations_.resize(negatives.size());
    for (std::uint32_t i = 0; i < negatives.size(); ++i) {
      left_[i] = i;
      equations_[i] = shard_.equation(negatives[i].key);
    }
    Band<w>& rows = shard_.rows();
    for (unsigned plane = 0; plane < shard_.planes(); ++plane) {
      if (left_.empty()) {
        shard_.solve(plane, shard_.planes() - plane);
        break;
      }
      const std::size_t taught = take_slots(plane);
      shard_.solve(plane, 1);
      for (; !taken_.empty(); taken_.pop_back()) rows.take_back(taken_.back().slot, taken_.back().bits);
      const auto by_chance = static_cast<double>(left_.size() - taught);
      std::erase_if(left_, [&](std::uint32_t i) { return !shard_.accepts_in(plane, equations_[i]); });
      if (static_cast<double>(left_.size()) > by_chance / 2 + kDegenerate * std::sqrt(by_chance / 4 + 1)) return false;
    }
    return true;
  }

  // Adds the negated equations of survivors while there are free slots. Returns how many found one.
  //
  // Adding rows carries an equation to the right until it reaches a free slot; it skips each with probability 1/2. The
  // way is long if few slots are free. So only the most important survivors go all the way (all of them, if they are
  // few). The others are tried only if a free slot lies in their own window: while they are many more than the slots,
  // enough of them find one.
  std::size_t take_slots(unsigned plane) {
    Band<w>& rows = shard_.rows();
    free_.assign(words_for_bits(rows.slots()) + 1, 0);
    std::uint32_t free = 0, last = 0;
    for (std::uint32_t slot = 0; slot < rows.slots(); ++slot)
      if (rows.is_free(slot)) set_bit(free_.data(), last = slot), ++free;
    const std::size_t far = left_.size() <= kFew * free ? left_.size() : free;
    for (std::size_t i = 0; i < left_.size() && taken_.size() < free; ++i) {
      Equation<w> e = equations_[left_[i]];
      if (e.start > last || (i >= far && !reaches_free_slot(e.start))) continue;
      e.bits = ~e.bits;
      const auto added = rows.add(e, std::uint32_t{1} << plane);
      if (added.fate != Band<w>::Fate::placed) continue;
      taken_.push_back({added.slot, shard_.free_bits(added.slot)});
      clear_bit(free_.data(), added.slot);
      while (last > 0 && !test_bit(free_.data(), last)) --last;
    }
    return taken_.size();
  }
  bool reaches_free_slot(std::uint32_t start) const noexcept {
    std::uint64_t any = load_window(free_.data(), start);
    if constexpr (w == 128) any |= load_window(free_.data(), start + 64);
    return any != 0;
  }

  bool answers_as_taught(std::span<const KnownNegative> negatives) const noexcept {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < negatives.size(); ++i) {
      const bool is_left = next < left_.size() && left_[next] == i;
      next += is_left;
      if (shard_.accepts(negatives[i].key) != is_left) return false;
    }
    return true;
  }

  static constexpr std::size_t kFew = 4;  // survivors for each free slot
  // Standard deviations above the expected half; by chance a plane exceeds it about once in 10^9 times.
  static constexpr double kDegenerate = 6;

  struct Taken {
    std::uint32_t slot, bits;
  };

  RibbonShard<w> shard_;
  std::vector<Equation<w>> equations_;
  std::vector<std::uint64_t> free_;  // a bit for each slot
  std::vector<Taken> taken_;
  std::vector<std::uint32_t> left_;
  std::vector<std::uint64_t> blocks_;
  std::uint32_t seed_ = 0;
  unsigned tries_ = 0;
};

}  // namespace naysay::ribbon::detail
