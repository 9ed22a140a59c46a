// SPDX-License-Identifier: Apache-2.0
// Guard::grow: the same entries in twice as many lines, without their whole digests.
//
//   hi * lines = |   first line   |      29 bits: the name      | not kept |
//   twice        |   first line    |     28 bits of it          |               one bit goes from the name to the line
//
// So what distinguishes two digests stays the same: one bit of the name less, and twice the lines. Names of a guard that
// has grown g times have 29 - g bits.
//
// In a guard of up to 32 lines an entry keeps the top 30 bits of hi, and may be in any line. When it grows beyond, it
// has lines as others do, but made from these 30 bits alone, for new entries too (`cut`).
#pragma once

#include "naysay/guarded/detail/guard.hpp"
#include "naysay/guarded/guard_plan.hpp"

namespace naysay::guarded::detail {

inline bool Guard::grow() noexcept {
  if (lines_ == 0 || lines_ > kMaxLines / 2 || lost_ == kMostLost) return false;
  Guard more;
  more.lines_ = 2 * lines_;
  more.hints_ = Array<std::uint64_t>::try_make_raw(hints_for(more.lines_));
  more.words_ = Array<std::uint64_t>::try_make_raw(more.lines_ * kWords);
  if (more.hints_.empty() || more.words_.empty()) return false;
  std::fill_n(more.hints_.mutable_data(), more.hints_.size(), std::uint64_t{0});
  std::fill_n(more.words_.mutable_data(), more.words_.size(), std::uint64_t{0});
  more.cut_ = cut_ != 0 || few() ? 1 : 0;
  more.lost_ = few() ? 0 : lost_ + 1;
  for (std::uint64_t slot = 0; slot < slots(); ++slot) {
    const std::uint64_t line = slot / kSlots, bits = tail(line, slot % kSlots), name = bits >> 8, p = bits & 0xff;
    if (p == 0) continue;
    const std::uint64_t lo = lo_at(slot);
    const std::uint64_t first = few() || (name & 1) == 0 ? line : other(line, lo);
    const Home home = {2 * first + (name >> 29 & 1), (name & low_mask(29)) >> 1 << 2};
    if (!(few() ? more.place({lo, name << 34}, p) : more.place(lo, home, p))) return false;
  }
  more.evictions_ = evictions_;
  more.since_ = since_;
  more.clock_ = clock_;
  more.floor_ = floor_;
  more.unit_ = unit_;
  more.held_per_key_ = held_per_key_;
  *this = std::move(more);
  return true;
}

inline bool Guard::wants_growth(std::uint64_t keys) const noexcept {
  return held_per_key_ > 0 && full() &&
         static_cast<double>(room()) < entries_for(held_per_key_ * static_cast<double>(keys));
}

}  // namespace naysay::guarded::detail
