// TaughtShard: one shard of a ribbon that is taught, plane by plane, to refuse known negatives.
//
//   keys --band--> rows, a few slots free
//
//   plane 0   negatives, costliest first: "your bit, negated" is one more equation for a free slot     solve, ask
//             taken: refused for certain        not taken: refused with chance 1/2
//   plane 1   the same with those that plane 0 accepts, in a fresh copy of the free slots              solve, ask
//   ...
//   plane p   what is accepted by all planes is left over: another seed, or the caller's matter
//
// With x free slots a plane refuses x negatives for certain and half of the others, so p planes refuse the
// x * (2^p - 1) costliest, and all of them if there are no more.
//
//   paper     here (the planner's symbols, theory/teach.hpp)
//   x         rows().free_slots() after band()
//   m_j       survivors before plane j
//
// Promises   accepts every key; the same keys, negatives and first seed give the same blocks. Every key and every
//            negative is asked again by the query itself before a seed is taken.
// Does not   refuse a negative that is a key: it is left over, like all that found no slot.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/ribbon/detail/ribbon_shard.hpp"

namespace naysay {

struct KnownNegative {
  Digest key;  // what SplitBoth leaves of it
  float cost;
};

// The keys of a shard, to find the negatives that are keys.
class KeySet {
 public:
  explicit KeySet(std::span<const Digest> keys)
      : cells_(std::bit_ceil(2 * keys.size() + 1)), shift_(static_cast<unsigned>(std::countl_zero(cells_.size()) + 1)) {
    for (const Digest& d : keys) {
      if (d.lo == 0) has_zero_ = true;
      if (d.lo != 0) cells_[find(d.lo)] = d.lo;
    }
  }
  bool contains(std::uint64_t key) const noexcept { return key == 0 ? has_zero_ : cells_[find(key)] == key; }

 private:
  // Its cell, or the empty one where it would be.
  std::size_t find(std::uint64_t key) const noexcept {
    std::size_t i = shift_ < 64 ? key >> shift_ : 0;
    while (cells_[i] != 0 && cells_[i] != key) i = (i + 1) & (cells_.size() - 1);
    return i;
  }

  std::vector<std::uint64_t> cells_;  // 0: empty
  unsigned shift_;
  bool has_zero_ = false;
};

template <unsigned w>
class TaughtShard {
 public:
  explicit TaughtShard(const RibbonPlanes::Place& place) : shard_(place) {}

  // Requires negatives in the order of their importance. Tries seeds until none is left over, `patience` seeds with a
  // solution at most, and keeps the one that leaves the smallest cost. False if no seed has a solution for the keys.
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
  // Fills all planes. False if more survive a plane than chance allows.
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

  // One more equation for survivors, while there are free slots. Returns how many found one.
  //
  // Adding rows carries an equation to the right until it meets a free slot, half of which it misses. That is far if
  // few are free, so only the most important survivors go all the way (all, when they are few); the others try if a
  // free slot lies in their own window, which serves as well while there are many more of them than slots.
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
  // Standard deviations above the expected half. A fair plane passes it once in 10^9 times.
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

}  // namespace naysay
