// SPDX-License-Identifier: Apache-2.0
// DigestSet: finds equal digests in a list, by their places in it.
//
//   list    d0  d1  d2  d3                d3 equals d1
//   cells   | .  1  . | 3  2 | .  . |     1 + place in the list; 0: empty. A digest is looked for from the cell that
//              d0       d2 d1             the top bits of its lo name, to the right, until it or an empty cell is found
//
// The list belongs to the caller and must outlive the set. Only places are stored: 4 bytes per cell.
//
// Promises   add(i) returns the place of the first digest added that equals list[i]; that is i if it is the first.
// Does not   erase, or notice that the list has changed.
// Cost       8 to 16 bytes per digest of the list; at most half of the cells are in use.
// Source     linear probing: D. Knuth, The Art of Computer Programming, volume 3, section 6.4.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/hash.hpp"

namespace naysay {

class DigestSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // An empty set, with room for all digests of the list. Requires fewer than 2^32 - 1 of them.
  explicit DigestSet(std::span<const Digest> list)
      : list_(list),
        cells_(std::bit_ceil(2 * list.size() + 2)),
        shift_(static_cast<unsigned>(std::countl_zero(cells_.size()) + 1)) {
    assert(list.size() < kNone);
  }
  // The set of all digests of the list.
  static DigestSet of(std::span<const Digest> list) {
    DigestSet set(list);
    for (std::uint32_t i = 0; i < list.size(); ++i) set.add(i);
    return set;
  }

  // Adds list[i] unless an equal digest is there. Returns the place of the one that is there now.
  std::uint32_t add(std::uint32_t i) noexcept {
    std::uint32_t& cell = cells_[cell_of(list_[i])];
    if (cell == 0) cell = i + 1;
    return cell - 1;
  }
  // The place of the digest that was added and equals d, or kNone.
  std::uint32_t find(Digest d) const noexcept { return cells_[cell_of(d)] - 1; }
  bool contains(Digest d) const noexcept { return cells_[cell_of(d)] != 0; }

 private:
  // The cell of d, or the empty one where it would be.
  std::size_t cell_of(Digest d) const noexcept {
    std::size_t i = d.lo >> shift_;
    while (cells_[i] != 0 && list_[cells_[i] - 1] != d) i = (i + 1) & (cells_.size() - 1);
    return i;
  }

  std::span<const Digest> list_;
  std::vector<std::uint32_t> cells_;
  unsigned shift_;  // 63 at most: there are two cells or more
};

}  // namespace naysay
