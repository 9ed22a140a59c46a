// SPDX-License-Identifier: Apache-2.0
// free_a_slot: makes room in one of two full buckets of a cuckoo table, by the shortest chain of moves.
//
//   first --slot 2--> bucket 17 --slot 0--> bucket 5, which has an empty slot:   moved from the end, 17 to 5, then
//                                                                               first to 17; first's slot 2 is free
//
// A shortest chain has no bucket twice, so no move disturbs an earlier one. A random walk would move before it knows
// whether it succeeds, and has longer chains.
//
// Cost       Reads at most four times kMaxNodes buckets, which a table that is full comes to; 16 KiB of stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "naysay/core/bits.hpp"

namespace naysay::cuckoo {

inline constexpr unsigned kMaxNodes = 2048;  // with 1024, 4-bit tables of 1e6 keys reached 0.965; with 8192, 0.975

struct FreeSlot {
  std::uint64_t bucket = 0;
  int slot = -1;  // below 0: the first kMaxNodes buckets reached are full, and nothing has moved
};

// other(bucket, slot) is the other bucket of what the slot holds; gap(bucket) an empty slot of it, or -1; and
// move(from, slot, to, gap) copies what a slot holds to another bucket.
template <unsigned Slots, class Other, class Gap, class Move>
FreeSlot free_a_slot(std::uint64_t first, std::uint64_t second, std::uint64_t buckets, Other other, Gap gap_of,
                     Move move) noexcept {
  struct Node {
    std::uint32_t bucket;
    std::uint16_t parent;
    std::uint16_t slot;  // in the parent bucket: what it holds has this as its other bucket
  };
  Node nodes[kMaxNodes];
  nodes[0] = {static_cast<std::uint32_t>(first), 0, 0};
  nodes[1] = {static_cast<std::uint32_t>(second), 1, 0};
  unsigned reached = 2;
  // In a small table that is full the same buckets would be reached again and again; in a large one hardly any.
  const bool small = buckets <= kMaxNodes;
  std::uint64_t seen[kMaxNodes / 64];
  if (small) {
    std::fill(std::begin(seen), std::end(seen), 0);
    set_bit(seen, first);
    set_bit(seen, second);
  }
  for (unsigned i = 0; i < reached; ++i) {
    for (unsigned slot = 0; slot < Slots; ++slot) {
      std::uint64_t to = other(nodes[i].bucket, static_cast<int>(slot));
      int gap = gap_of(to);
      if (gap < 0) {
        if (reached == kMaxNodes || (small ? test_bit(seen, to) : to == nodes[nodes[i].parent].bucket)) continue;
        nodes[reached++] = {static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(i),
                            static_cast<std::uint16_t>(slot)};
        if (small) set_bit(seen, to);
        continue;
      }
      int from = static_cast<int>(slot);
      for (unsigned j = i;; j = nodes[j].parent) {
        move(nodes[j].bucket, from, to, gap);
        to = nodes[j].bucket;
        gap = from;
        if (nodes[j].parent == j) return {to, gap};
        from = nodes[j].slot;
      }
    }
  }
  return {};
}

}  // namespace naysay::cuckoo
