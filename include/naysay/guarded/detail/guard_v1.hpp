// SPDX-License-Identifier: Apache-2.0
// GuardV1: the guard as files of format version 1 hold it. It is read, and its entries are put into a Guard.
//
//   hints     32 bits per slot        not needed any more
//   tags      16 bytes per group of 15 slots: the low byte of hi of each entry, and how many passed
//   rests     15 bytes per slot: lo, and the other 7 bytes of hi
//   costs     a float per slot; infinity: empty; the largest float: pinned
//   minima    a tree over the costs   not needed any more
//
// Promises   after validate(), for_each() gives every entry that the file had.
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "naysay/core/bits.hpp"
#include "naysay/core/filter.hpp"

namespace naysay::guarded::detail {

class GuardV1 {
 public:
  static constexpr float kPinned = std::numeric_limits<float>::max();

  std::uint64_t room() const noexcept { return groups_ * kSlots * 19 / 20; }

  // Calls body(digest, cost) for every entry.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::uint64_t slot = 0; slot < costs_.size(); ++slot)
      if (taken(slot)) body(digest_at(slot), costs_[slot]);
  }

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
  static constexpr std::uint64_t kSlots = 15, kLine = 16, kRest = 15, kFan = 16;
  static constexpr std::uint64_t kMaxGroups = std::uint64_t{1} << 40;
  static constexpr float kEmpty = std::numeric_limits<float>::infinity();

  static constexpr std::uint64_t hints_for(std::uint64_t groups) noexcept {
    return std::max<std::uint64_t>(1, divide_up(groups * kSlots, 2));
  }
  static constexpr std::uint64_t nodes_for(std::uint64_t groups) noexcept {
    std::uint64_t nodes = groups;
    for (; groups > kFan; nodes += groups) groups = divide_up(groups, kFan);
    return nodes;
  }
  bool taken(std::uint64_t slot) const noexcept { return costs_[slot] < kEmpty; }
  Digest digest_at(std::uint64_t slot) const noexcept {
    const unsigned char* rest = rests_.data() + slot * kRest;
    return {load_u64(rest), (load_u64(rest + 7) & ~std::uint64_t{0xff}) | tags_[slot + slot / kSlots]};
  }

  std::uint64_t groups_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t hand_ = 0;
  [[maybe_unused]] std::uint64_t removed_ = 0;
  Array<std::uint64_t> hints_;
  Array<unsigned char> tags_;
  Array<unsigned char> rests_;
  Array<float> costs_;
  Array<float> minima_;
};

}  // namespace naysay::guarded::detail
