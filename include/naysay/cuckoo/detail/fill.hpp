// SPDX-License-Identifier: Apache-2.0
// Fill: puts the keys of a build into a cuckoo table, with all their copies or each once.
#pragma once

#include <algorithm>

#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"

namespace naysay::cuckoo {

// Every copy of every key. False: one found no room, or the caller wants the build to end.
template <ProbedFilter F>
bool insert_all(F& f, const Workload& w, const BuildOptions& o, std::string_view phase) {
  for (std::size_t i = 0; i < w.keys.size(); ++i) {
    if (i % kTellEvery == 0 && !o.tell(phase, i, w.keys.size())) return false;
    if (i + kAhead < w.keys.size()) f.probe(w.keys[i + kAhead]);
    if (!f.insert(w.keys[i])) return false;
  }
  return true;
}

// Each key once. False as above; otherwise `repeated` becomes the number of copies that were left out. Shards are used
// only to find keys that repeat: the keys of a shard are sorted. Only lo is needed to insert a key.
template <class F>
bool insert_distinct(F& f, const Workload& w, const BuildOptions& o, std::string_view phase, std::uint64_t& repeated) {
  constexpr std::uint64_t kShardKeys = 1 << 14;  // 128 KiB: sorted within the second-level cache
  bool placed = true;
  std::uint64_t distinct = 0;
  for_each_shard(w.keys, divide_up(w.keys.size(), kShardKeys), 1, [&](std::uint64_t, std::span<std::uint64_t> los) {
    placed = placed && o.tell(phase, distinct, w.keys.size());
    if (!placed) return;
    std::sort(los.begin(), los.end());
    const auto end = std::unique(los.begin(), los.end());
    distinct += static_cast<std::uint64_t>(end - los.begin());
    for (auto lo = los.begin(); placed && lo != end; ++lo) placed = f.insert({*lo, 0});
  });
  repeated = w.keys.size() - distinct;
  if (placed && repeated > 0) o.say("repeated keys stored once", static_cast<double>(repeated));
  return placed;
}

}  // namespace naysay::cuckoo
