// SPDX-License-Identifier: Apache-2.0
#include "parts/reasons.hpp"

#include <fmt/core.h>

#include "naysay/live/metrics.hpp"

namespace naysay::cli {

std::string why_no_room(const AnyFilter& f) {
  const Metrics m = metrics_of(f);
  if (m.pinned > 0 && f.index_bits() == 0)
    return fmt::format(
        "it has {} pinned negatives and not the index of them that inserts need; insert into the file that naysay "
        "build -o wrote, and not into the one of --without-index",
        m.pinned);
  if (m.pinned > 0 && m.guard_entries >= m.guard_room)
    return fmt::format(
        "its guard is full: {} of {} entries, and the key would make it accept a pinned negative; build it again with "
        "more bits per key",
        m.guard_entries, m.guard_room);
  return "it is full; build it again with a larger --capacity";
}

std::string why_not_refused(const AnyFilter& f) {
  if (f.type().claims.adapts_with_churn) return "yet; they will be after more insertions and deletions";
  if (f.type().write_key_file) return "they are keys, or no function of their slots is left that refuses them";
  if (f.type().claims.index_bits_per_key > 0)
    return "they are keys, or a later report made the filter accept them again; report those again";
  if (f.type().warming) {
    const Warmth w = f.warmth();
    if (w.room == 0) return "at its size it has one layer and learns nothing; build it again with more keys or bits";
    if (w.warm) return "it is warm and learns no more; build it again to learn others";
    return fmt::format(
        "it is cold: it has learned {} of the {} negatives it has room for; --warm with its keys puts "
        "them to use",
        w.learned, w.room);
  }
  const Metrics m = metrics_of(f);
  if (m.guard_room == 0) return "it has no guard; build it again with --param guard=N";
  if (m.guard_entries >= m.guard_room)
    return fmt::format("its guard is full: {} of {} entries, and newer reports take the place of older ones",
                       m.guard_entries, m.guard_room);
  return "there is no room for them";
}

std::string warmth_text(const AnyFilter& f) {
  if (!f.type().warming) return "";
  const Warmth w = f.warmth();
  if (w.room == 0) return "one layer, which learns nothing";
  if (w.warm) return fmt::format("warm, {} negatives learned", w.learned);
  return fmt::format("cold, {} of {} negatives learned{}", w.learned, w.room,
                     w.learned == 0 ? ""
                     : f.full()     ? "; it is full, and naysay update --warm with its keys puts them to use"
                                    : "; naysay update --warm with its keys puts them to use");
}

}  // namespace naysay::cli
