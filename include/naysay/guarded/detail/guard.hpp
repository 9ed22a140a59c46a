// SPDX-License-Identifier: Apache-2.0
// Guard: a small exact table of digests with costs, from which the entry with the smallest cost can be evicted.
//
//   hints     32 bits per slot, one of them set for each entry: for most digests they show that it is not here
//                |
//   group        v    tags (15)                 passed     rests (15 x 15 bytes)     costs (15)
//           +----------------------------------+---+   +------------------------+  +-----------------+
//     g     | a1 3c 07 .. .. .. .. .. .. .. .. | 2 |   | the other 120 bits ... |  | 4.0 1.5 9.0 ... |
//           +----------------------------------+---+   +------------------------+  +-----------------+
//              ^ tag = low byte of hi            |                                          | smallest of each group,
//     g = fast_range(hi)                         +-> number of entries that belong          v of 16 groups, of 256 ...
//                                                    here or before and lie after g   tree of minima
//
// Every query of a key in a guarded filter reads the guard, and no key is in it. The hints answer such a query with one
// word and one branch that is nearly always the same. (With tags alone the branch would be harder to predict: one of
// the 15 tags of a group often matches by chance.) The hint bit of a removed entry stays; when a quarter of the slots
// has been removed, all hints are written again.
//
// A search reads one group of tags, and the next one as long as `passed` is not 0. Tag and rest are the whole digest.
// An empty slot has the cost infinity, so it is never the cheapest.
//
// Promises   holds() is true exactly for the digests that were put in and not removed. cheapest() is an entry of the
//            smallest cost in the table; pinned entries come last. A put that has room always succeeds.
// Does not   distinguish two keys that share all 128 bits.
// Cost       For a digest that is not here: one word. Put and remove: a group or two of tags, one group of costs and a
//            node of 16 per level of the tree. bits_for(entries): 206 bits per entry, with 19/20 of the slots in use.
// Source     groups with a count of passed entries: F14 of Facebook's folly (2019), 14 slots there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "naysay/core/bits.hpp"
#include "naysay/core/filter.hpp"

namespace naysay::guarded::detail {

class Guard {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr float kPinned = std::numeric_limits<float>::max();  // is evicted for no other entry
  static constexpr float kMaxCost = 1e38f;                             // sums stop here, below kPinned

  Guard() = default;
  // Room for at least `entries` entries; 0: always empty.
  explicit Guard(std::uint64_t entries)
      : groups_(groups_for(entries)),
        hints_(hints_for(groups_)),
        tags_(groups_ * kLine),
        rests_(groups_ * kSlots * kRest),
        costs_(groups_ * kSlots),
        minima_(nodes_for(groups_)) {
    std::fill_n(costs_.mutable_data(), costs_.size(), kEmpty);
    std::fill_n(minima_.mutable_data(), minima_.size(), kEmpty);
  }
  static constexpr std::uint64_t bits_for(std::uint64_t entries) noexcept {
    const std::uint64_t groups = groups_for(entries);
    return 64 * hints_for(groups) + 8 * groups * (kLine + kSlots * (kRest + sizeof(float))) +
           8 * sizeof(float) * nodes_for(groups);
  }

  std::uint64_t room() const noexcept { return groups_ * kSlots * 19 / 20; }
  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t pinned() const noexcept { return pinned_; }
  bool full() const noexcept { return used_ >= room(); }

  bool holds(Digest d) const noexcept {
    if (!hinted(d)) [[likely]]
      return false;
    return is_here(d.lo, d.hi);
  }

  // The slot of d, or kNone.
  std::uint64_t find(Digest d) const noexcept {
    std::uint64_t g = home(d);
    for (std::uint64_t step = 0; step < groups_; ++step, g = next(g)) {
      const unsigned char* line = tags_.data() + g * kLine;
      const std::uint64_t wanted = kTags.repeat(~d.hi & 0xff);
      for (unsigned half = 0; half < 2; ++half) {
        std::uint64_t found = kTags.matches(load_u64(line + 8 * half), wanted);
        for (; found != 0; found &= found - 1) {
          const unsigned i = 8 * half + static_cast<unsigned>(std::countr_zero(found)) / 8;
          if (i < kSlots && taken(g * kSlots + i) && same(g * kSlots + i, d)) return g * kSlots + i;
        }
      }
      if (line[kSlots] == 0) return kNone;
    }
    return kNone;
  }

  // Requires !full() and !holds(d). cost is 0 to kMaxCost, or kPinned.
  void put(Digest d, float cost) noexcept {
    std::uint64_t g = home(d);
    for (std::uint64_t step = 0; step < groups_; ++step, g = next(g)) {
      for (std::uint64_t slot = g * kSlots; slot < (g + 1) * kSlots; ++slot) {
        if (taken(slot)) continue;
        tags_.at_mut(slot + g) = static_cast<unsigned char>(d.hi & 0xff);
        unsigned char* rest = rests_.mutable_data() + slot * kRest;
        store_u64(rest + 7, d.hi);  // its lowest byte, which is the tag, is overwritten by the next line
        store_u64(rest, d.lo);
        hint(d);
        used_ += 1;
        pinned_ += cost == kPinned;
        set_cost(slot, cost);
        return;
      }
      unsigned char& passed = tags_.at_mut(g * kLine + kSlots);
      if (passed != kManyPassed) ++passed;
    }
  }

  // Requires a slot in use. Costs add up, to kMaxCost at most; a pinned entry stays pinned.
  void raise(std::uint64_t slot, float cost) noexcept {
    if (costs_[slot] == kPinned) return;
    pinned_ += cost == kPinned;
    set_cost(slot, cost == kPinned ? kPinned : std::min(costs_[slot] + cost, kMaxCost));
  }

  // Requires a slot in use.
  void remove(std::uint64_t slot) noexcept {
    const std::uint64_t at = slot / kSlots;
    std::uint64_t g = home(digest_at(slot));
    for (std::uint64_t step = 0; g != at && step < groups_; ++step, g = next(g)) {
      unsigned char& passed = tags_.at_mut(g * kLine + kSlots);
      if (passed != kManyPassed && passed != 0) --passed;
    }
    used_ -= 1;
    pinned_ -= costs_[slot] == kPinned;
    set_cost(slot, kEmpty);
    if (++removed_ > costs_.size() / 4) write_hints_again();
  }
  void remove(Digest d) noexcept {
    if (hinted(d)) [[unlikely]]
      take_out(d.lo, d.hi);
  }

  // The slot of the smallest cost, or kNone if the table is empty. `luck` decides evenly between several: if one part of
  // the table lost more entries than the others, these would fill up, and a put would search far for a free slot. So
  // slots are drawn first. If the smallest cost is so rare that no draw finds it, the tree is searched.
  std::uint64_t cheapest(std::uint64_t luck) const noexcept {
    if (groups_ == 0) return kNone;
    const Level top = level_at(levels(groups_) - 1);
    const float least = *std::min_element(minima_.data() + top.first, minima_.data() + top.first + top.size);
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      const std::uint64_t slot = fast_range(mix64(luck + draw), costs_.size());
      if (costs_[slot] == least && taken(slot)) return slot;
    }
    std::uint64_t node = 0;
    for (unsigned level = levels(groups_); level-- > 0;) {
      const Level children = level_at(level);
      const std::uint64_t first = level + 1 == levels(groups_) ? 0 : node * kFan;
      node = first + smallest(minima_.data() + children.first + first, std::min(kFan, children.size - first), luck);
      luck /= kFan;
    }
    const std::uint64_t slot = node * kSlots + smallest(costs_.data() + node * kSlots, kSlots, luck);
    return taken(slot) ? slot : kNone;
  }

  // Calls body(slot, digest) for the entries of the hand's group, and moves the hand to the next. body may remove.
  template <class Body>
  void sweep(Body&& body) noexcept {
    if (groups_ == 0) return;
    for (std::uint64_t slot = hand_ * kSlots; slot < (hand_ + 1) * kSlots; ++slot)
      if (taken(slot)) body(slot, digest_at(slot));
    hand_ = next(hand_);
  }
  // The number of entries that satisfy test(digest, cost), counted from the hand on, up to `enough`.
  template <class Test>
  std::uint64_t count(std::uint64_t enough, Test&& test) const noexcept {
    std::uint64_t found = 0, slot = hand_ * kSlots;
    for (std::uint64_t i = 0; i < costs_.size() && found < enough; ++i, slot = slot + 1 < costs_.size() ? slot + 1 : 0)
      found += taken(slot) && test(digest_at(slot), costs_[slot]);
    return found;
  }
  std::uint64_t groups() const noexcept { return groups_; }

  // Calls body(digest, cost) for every entry.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::uint64_t slot = 0; slot < costs_.size(); ++slot)
      if (taken(slot)) body(digest_at(slot), costs_[slot]);
  }

  float cost(std::uint64_t slot) const noexcept { return costs_[slot]; }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("groups", self.groups_);
    visit("used", self.used_);
    visit("pinned", self.pinned_);
    visit("hand", self.hand_);
    visit("removed", self.removed_);
    visit("hints", self.hints_);
    visit("tags", self.tags_);
    visit("rests", self.rests_);
    visit("costs", self.costs_);
    visit("minima", self.minima_);
  }
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "guard: " + what}; };
    if (groups_ > kMaxGroups || hints_.size() != hints_for(groups_) || tags_.size() != groups_ * kLine ||
        rests_.size() != groups_ * kSlots * kRest || costs_.size() != groups_ * kSlots ||
        minima_.size() != nodes_for(groups_))
      return wrong("the arrays do not make " + std::to_string(groups_) + " groups");
    if (hand_ != 0 && hand_ >= groups_)
      return wrong("the hand is at group " + std::to_string(hand_) + "; there are " + std::to_string(groups_));
    std::uint64_t used = 0, pinned = 0;
    for (std::uint64_t slot = 0; slot < costs_.size(); ++slot) used += taken(slot), pinned += costs_[slot] == kPinned;
    if (used != used_ || pinned != pinned_)
      return wrong("it counts " + std::to_string(used_) + " entries, " + std::to_string(pinned_) +
                   " pinned; there are " + std::to_string(used) + ", " + std::to_string(pinned) + " pinned");
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kSlots = 15, kLine = 16;  // the tags of a group and its `passed`: two words
  static constexpr std::uint64_t kRest = 15;               // bytes of a digest without its tag
  static constexpr std::uint64_t kFan = 16;                // floats in a cache line
  static constexpr std::uint64_t kMaxGroups = std::uint64_t{1} << 40;
  static constexpr unsigned char kManyPassed = 255;  // too many to count: it never goes down
  static constexpr std::uint64_t kDraws = 32;
  static constexpr float kEmpty = std::numeric_limits<float>::infinity();
  static constexpr PackedFields kTags{8, 8};

  static constexpr std::uint64_t groups_for(std::uint64_t entries) noexcept {
    return std::min(kMaxGroups, divide_up(entries * 20, kSlots * 19));
  }
  static constexpr std::uint64_t hints_for(std::uint64_t groups) noexcept {
    return std::max<std::uint64_t>(1, divide_up(groups * kSlots, 2));  // 32 bits per slot
  }

  // One bit per digest. Of the 32 bits per slot at most about one is set, so other digests seldom find theirs set.
  // Only lo is read, because the base reads it too: for an integer key hi need not be computed. The bit is chosen by
  // the lowest bits of lo, which the base hardly uses, so that a key that collides with an entry in the base seldom
  // collides here as well.
  std::uint64_t hint_word(Digest d) const noexcept { return fast_range(d.lo, hints_.size()); }
  bool hinted(Digest d) const noexcept { return (hints_[hint_word(d)] >> (d.lo & 63)) & 1; }
  void hint(Digest d) noexcept { hints_.at_mut(hint_word(d)) |= std::uint64_t{1} << (d.lo & 63); }

  // Two numbers instead of a Digest: otherwise GCC computes hi before it is known to be needed.
  [[gnu::noinline]] bool is_here(std::uint64_t lo, std::uint64_t hi) const noexcept { return find({lo, hi}) != kNone; }
  [[gnu::noinline]] void take_out(std::uint64_t lo, std::uint64_t hi) noexcept {
    if (const std::uint64_t slot = find({lo, hi}); slot != kNone) remove(slot);
  }
  void write_hints_again() noexcept {
    removed_ = 0;
    std::fill_n(hints_.mutable_data(), hints_.size(), std::uint64_t{0});
    for_each([this](Digest d, float) { hint(d); });
  }

  std::uint64_t home(Digest d) const noexcept { return fast_range(d.hi, groups_); }
  std::uint64_t next(std::uint64_t g) const noexcept { return g + 1 < groups_ ? g + 1 : 0; }
  bool taken(std::uint64_t slot) const noexcept { return costs_[slot] < kEmpty; }
  bool same(std::uint64_t slot, Digest d) const noexcept {
    const unsigned char* rest = rests_.data() + slot * kRest;
    return ((load_u64(rest) ^ d.lo) | ((load_u64(rest + 7) ^ d.hi) >> 8)) == 0;
  }
  Digest digest_at(std::uint64_t slot) const noexcept {
    const unsigned char* rest = rests_.data() + slot * kRest;
    return {load_u64(rest), (load_u64(rest + 7) & ~std::uint64_t{0xff}) | tags_[slot + slot / kSlots]};
  }

  // Level 0 has one minimum for each group, each further level one for kFan of the level below; the last has at most
  // kFan. They lie one after the other.
  struct Level {
    std::uint64_t first, size;
  };
  static unsigned levels(std::uint64_t groups) noexcept {
    unsigned n = 1;
    for (; groups > kFan; groups = divide_up(groups, kFan)) ++n;
    return n;
  }
  static constexpr std::uint64_t nodes_for(std::uint64_t groups) noexcept {
    std::uint64_t nodes = groups;
    for (; groups > kFan; nodes += groups) groups = divide_up(groups, kFan);
    return nodes;
  }
  Level level_at(unsigned level) const noexcept {
    Level at{0, groups_};
    for (; level > 0; --level) at = {at.first + at.size, divide_up(at.size, kFan)};
    return at;
  }
  static std::uint64_t smallest(const float* values, std::uint64_t count, std::uint64_t luck) noexcept {
    std::uint64_t best = luck % count;
    for (std::uint64_t i = 0, at = best; i < count; ++i, at = at + 1 < count ? at + 1 : 0)
      if (values[at] < values[best]) best = at;
    return best;
  }
  void set_cost(std::uint64_t slot, float cost) noexcept {
    costs_.at_mut(slot) = cost;
    std::uint64_t i = slot / kSlots;
    float least = *std::min_element(costs_.data() + i * kSlots, costs_.data() + (i + 1) * kSlots);
    for (Level at{0, groups_};; at = {at.first + at.size, divide_up(at.size, kFan)}) {
      if (minima_[at.first + i] == least) return;
      minima_.at_mut(at.first + i) = least;
      if (at.size <= kFan) return;
      i /= kFan;
      const float* children = minima_.data() + at.first;
      least = *std::min_element(children + i * kFan, children + std::min((i + 1) * kFan, at.size));
    }
  }

  std::uint64_t groups_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t hand_ = 0;     // the group at which the next sweep begins
  std::uint64_t removed_ = 0;  // since the hints were last written
  Array<std::uint64_t> hints_;
  Array<unsigned char> tags_;
  Array<unsigned char> rests_;
  Array<float> costs_;
  Array<float> minima_;
};

}  // namespace naysay::guarded::detail
