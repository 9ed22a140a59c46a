// SPDX-License-Identifier: Apache-2.0
// Guarded::merge: as if the other's keys had been inserted. Neither refuses what the other may contain: such entries and
// pins are gone. Other pins stay, those of both. What was reported to the other is forgotten.
//
//   this    keys A, refuses x, y          merged    keys A and B
//   other   keys B, may contain y                   refuses x; not y, which may be a key of B
//
// A guard entry has lo of a digest and a part of hi. The base reads lo alone, so it tells of every entry whether it
// accepts it; pins are in the index with their whole digests.
#pragma once

#include "naysay/guarded/guarded.hpp"

namespace naysay::guarded::detail {

template <class F>
struct GuardedMerge {
  static Result<Ok> run(F& f, const F& other) {
    if ((f.pins_ != 0 && f.index_.empty()) || (other.pins_ != 0 && other.index_.empty()))
      return Error{Errc::invalid_argument, "guarded: a filter without its index of pinned negatives cannot be merged"};
    NAYSAY_TRY(F merged, F::copy_of(f));
    NAYSAY_CHECK(merged.base_.merge(other.base_));
    merged.guard_.remove_if([&](std::uint64_t lo) { return other.base_.may_contain({lo, 0}); });
    std::vector<Digest> pins;
    f.index_.for_each([&](Digest d) {
      if (!other.may_contain(d)) pins.push_back(d);
    });
    other.index_.for_each([&](Digest d) {
      if (!f.may_contain(d)) pins.push_back(d);
    });
    merged.index_ = {};
    merged.pins_ = 0;
    for (const Digest& d : pins)
      while (!merged.pin(d))
        if (!merged.guard_.grow())
          return Error{Errc::out_of_budget, "guarded: the guard has no room for " +
                                                to_text(std::uint64_t{pins.size()}) + " pinned negatives"};
    f = std::move(merged);
    return Ok{};
  }
};

}  // namespace naysay::guarded::detail
