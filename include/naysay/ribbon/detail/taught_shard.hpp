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
// Few slots are free, so what the equation of a negative says is a short sum of them (slot_sums.hpp): it is made once per
// seed, and then giving a slot and testing are operations on one word (free_choice.hpp). With many free slots (slack) a
// negative reaches one after a few rows, and the equations themselves are added and tested. Both ways give the same
// blocks.
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
// Cost       One elimination per key; one sum of w words per slot and per negative; for each plane an AND and a parity
//            per negative that is left. Memory: 8 bytes per slot, 16 per negative; twice and 24 if planes and free
//            slots are more than 64.
// Source     our own; docs/taught_ribbon.md tells it as a story.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "naysay/ribbon/detail/free_choice.hpp"
#include "naysay/ribbon/detail/ribbon_shard.hpp"
#include "naysay/ribbon/detail/slot_sums.hpp"

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
    std::iota(left_.begin(), left_.end(), 0u);
    const unsigned bits = shard_.planes() + shard_.rows().free_slots();
    if (left_.empty() || bits > SlotSums<w>::kMostBits) return teach_by_rows(negatives);
    return bits <= 64 ? teach_by_sums<std::uint64_t>(negatives) : teach_by_sums<Uint128>(negatives);
  }

  // With few free slots: what a negative says is known in terms of them (SlotSums), for all planes together.
  template <class Sum>
  bool teach_by_sums(std::span<const KnownNegative> negatives) {
    Band<w>& rows = shard_.rows();
    const unsigned planes = shard_.planes();
    std::vector<std::uint32_t> free_slots, free_bits;
    for (std::uint32_t slot = 0; slot < rows.slots(); ++slot)
      if (rows.is_free(slot)) free_slots.push_back(slot), free_bits.push_back(rows.bits(slot));
    const auto free = static_cast<unsigned>(free_slots.size());
    sums_.solve(rows, planes);

    std::vector<Sum> sums(negatives.size());
    std::vector<std::uint32_t> starts(negatives.size());
    std::array<Equation<w>, SlotSums<w>::kSome> some;
    for (std::size_t first = 0, count; first < negatives.size(); first += count) {
      count = std::min(negatives.size() - first, some.size());
      for (std::size_t i = 0; i < count; ++i) {
        some[i] = shard_.equation(negatives[first + i].key);
        starts[first + i] = some[i].start;
      }
      sums_.add_up(std::span(some).first(count), planes, sums.data() + first);
    }

    FreeChoice<Sum> choice;
    for (unsigned plane = 0; plane < planes && !left_.empty(); ++plane) {
      Sum bits = 0;
      for (unsigned k = 0; k < free; ++k) bits |= static_cast<Sum>(free_bits[k] >> plane & 1) << k;
      choice.reset(free, bits);
      const std::size_t taught = take_slots(
          free_slots, [&](std::uint32_t i) { return starts[i]; },
          [&](std::uint32_t i) {
            const unsigned k = choice.choose(sums[i] >> planes, (sums[i] >> plane & 1) == 0);
            return k == free ? kNoSlot : free_slots[k];
          });
      bits = choice.bits();
      for (unsigned k = 0; k < free; ++k)
        free_bits[k] = (free_bits[k] & ~(std::uint32_t{1} << plane)) | static_cast<std::uint32_t>(bits >> k & 1)
                                                                           << plane;
      const Sum mask = bits << planes | Sum{1} << plane;
      if (!keep(left_.size() - taught, [&](std::uint32_t i) { return !FreeChoice<Sum>::is_odd(sums[i] & mask); }))
        return false;
    }
    for (unsigned k = 0; k < free; ++k) rows.set_free(free_slots[k], free_bits[k]);
    shard_.solve(0, planes);
    return true;
  }

  // With many, an equation reaches one after a few rows.
  bool teach_by_rows(std::span<const KnownNegative> negatives) {
    equations_.resize(negatives.size());
    for (std::uint32_t i = 0; i < negatives.size(); ++i) equations_[i] = shard_.equation(negatives[i].key);
    Band<w>& rows = shard_.rows();
    std::vector<std::uint32_t> free_slots;
    for (std::uint32_t slot = 0; slot < rows.slots(); ++slot)
      if (rows.is_free(slot)) free_slots.push_back(slot);
    for (unsigned plane = 0; plane < shard_.planes(); ++plane) {
      if (left_.empty()) {
        shard_.solve(plane, shard_.planes() - plane);
        break;
      }
      const std::size_t taught = take_slots(
          free_slots, [&](std::uint32_t i) { return equations_[i].start; },
          [&](std::uint32_t i) {
            Equation<w> e = equations_[i];
            e.bits = ~e.bits;
            const auto added = rows.add(e, std::uint32_t{1} << plane);
            if (added.fate != Band<w>::Fate::placed) return kNoSlot;
            taken_.push_back({added.slot, shard_.free_bits(added.slot)});
            return added.slot;
          });
      shard_.solve(plane, 1);
      for (; !taken_.empty(); taken_.pop_back()) rows.take_back(taken_.back().slot, taken_.back().bits);
      if (!keep(left_.size() - taught, [&](std::uint32_t i) { return shard_.accepts_in(plane, equations_[i]); }))
        return false;
    }
    return true;
  }

  // Keeps the survivors that a plane accepts. False if they are more than chance allows, if it had to refuse all but
  // `by_chance`.
  template <class Accepts>
  bool keep(std::size_t by_chance, const Accepts& accepts) {
    std::size_t count = 0;
    for (std::uint32_t i : left_) {
      left_[count] = i;
      count += accepts(i);
    }
    left_.resize(count);
    const auto chance = static_cast<double>(by_chance);
    return static_cast<double>(count) <= chance / 2 + kDegenerate * std::sqrt(chance / 4 + 1);
  }

  // Gives free slots to survivors while there are any. start(i) is where the window of negative i begins, take(i) gives
  // it a slot, or returns kNoSlot. Returns how many found one.
  //
  // Adding rows carries an equation to the right until it reaches a free slot; it skips each with probability 1/2. The
  // way is long if few slots are free. So only the most important survivors go all the way (all of them, if they are
  // few). The others are tried only if a free slot lies in their own window: while they are many more than the slots,
  // enough of them find one.
  template <class Start, class Take>
  std::size_t take_slots(std::span<const std::uint32_t> slots, const Start& start, const Take& take) {
    free_.assign(words_for_bits(shard_.rows().slots()) + 1, 0);
    for (std::uint32_t slot : slots) set_bit(free_.data(), slot);
    const std::size_t free = slots.size(), far = left_.size() <= kFew * free ? left_.size() : free;
    std::size_t taken = 0;
    std::uint32_t last = free == 0 ? 0 : slots.back();
    for (std::size_t i = 0; i < left_.size() && taken < free; ++i) {
      const std::uint32_t from = start(left_[i]);
      if (from > last || (i >= far && !reaches_free_slot(from))) continue;
      const std::uint32_t slot = take(left_[i]);
      if (slot == kNoSlot) continue;
      ++taken;
      clear_bit(free_.data(), slot);
      while (last > 0 && !test_bit(free_.data(), last)) --last;
    }
    return taken;
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

  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  static constexpr std::size_t kFew = 4;  // survivors for each free slot
  // Standard deviations above the expected half; by chance a plane exceeds it about once in 10^9 times.
  static constexpr double kDegenerate = 6;

  struct Taken {
    std::uint32_t slot, bits;
  };

  RibbonShard<w> shard_;
  SlotSums<w> sums_;
  std::vector<Equation<w>> equations_;
  std::vector<std::uint64_t> free_;  // a bit for each slot
  std::vector<Taken> taken_;
  std::vector<std::uint32_t> left_;
  std::vector<std::uint64_t> blocks_;
  std::uint32_t seed_ = 0;
  unsigned tries_ = 0;
};

}  // namespace naysay::ribbon::detail
