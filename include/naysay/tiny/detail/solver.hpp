// SPDX-License-Identifier: Apache-2.0
// Solver: finds the bits of a tiny filter, one seed at a time.
//
// Every key is an equation over GF(2), the same in all planes but for its right-hand side: the bits of the slots of its
// row add up to its fingerprint. take_keys() eliminates: each equation ends at a slot of its own, its pivot, and the
// slots that are nobody's pivot are free.
//
// Then plane after plane is solved. The known negatives that all planes before have accepted (the survivors) come
// first: a survivor whose row does not reduce to nothing gets a free slot of this plane, and with it the equation that
// refuses it. The slots are found from the last to the first; free ones that nobody needed are 0. Of the survivors that
// found no free slot, the plane refuses half by chance.
//
//   survivors of plane j:  N(j+1) = (N(j) - free) / 2
//
// So two free slots and 9 planes refuse about 1,000 negatives: 28 for each of 36 keys. No space is spent on them.
//
//   negatives --> plane 0 --N(1)--> plane 1 --N(2)--> ... --> partial plane (deep ones only) --> left over
//
// Cost       take_keys: about w/2 steps per key and seed. solve: two steps per slot and plane, and a step for every
//            survivor in every plane.
// Source     ribbon filters (Dillinger and Walzer, arXiv:2103.02515, section 2); teaching is our own, as in TaughtRibbon.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/tiny/detail/layout.hpp"

namespace naysay::tiny::detail {

class Solver {
 public:
  // Requires layout.valid().
  explicit Solver(const Layout& layout)
      : layout_(layout),
        rows_(layout.slots),
        values_(layout.slots),
        deep_(layout.slots),
        bits_(layout.slots / 64 + 2) {}

  // False: under this seed two equations contradict each other. Copies of a key do not; repeats() counts them.
  bool take_keys(std::span<const Digest> keys, std::uint32_t seed) {
    std::fill(rows_.begin(), rows_.end(), 0);
    std::fill(deep_.begin(), deep_.end(), 0);
    repeats_ = 0;
    seed_ = seed;
    // The deep keys first: so their equations are made of deep ones only, which hold in the partial plane.
    shallow_.clear();
    for (const Digest& d : keys) {
      const Row row = layout_.row(d, seed);
      if (!row.deep)
        shallow_.push_back(row);
      else if (!take(row))
        return false;
    }
    for (const Row& row : shallow_)
      if (!take(row)) return false;
    return true;
  }
  std::uint64_t repeats() const noexcept { return repeats_; }

  // Writes the planes to bytes. Requires that take_keys() was true, and zeros behind the header. left becomes the
  // indices of the negatives that the filter accepts. Negatives that come first are served first.
  void solve(std::span<const Digest> negatives, std::span<std::byte> bytes, std::vector<std::uint32_t>& left) {
    left.clear();
    survivors_.clear();
    for (std::uint32_t i = 0; i < negatives.size(); ++i) survivors_.push_back({layout_.row(negatives[i], seed_), i});
    for (std::uint32_t plane = 0; plane < layout_.planes; ++plane) {
      solve_plane(plane, layout_.slots, bytes);
      std::erase_if(survivors_, [&](const Survivor& x) { return !accepts(x.row, plane); });
    }
    if (layout_.deep_share() > 0) {
      for (std::uint32_t i = 0; i < layout_.extra; ++i)
        if (!deep_[i]) rows_[i] = 0;
      solve_plane(layout_.planes, layout_.extra, bytes);
      std::erase_if(survivors_, [&](const Survivor& x) { return x.row.deep && !accepts(x.row, layout_.planes); });
    }
    for (const Survivor& x : survivors_) left.push_back(x.index);
  }

 private:
  struct Survivor {
    Row row;
    std::uint32_t index;
  };

  bool take(const Row& row) {
    std::uint64_t slots = row.slots;
    std::uint32_t at = row.start, value = row.fingerprint;
    while (rows_[at] != 0) {
      slots ^= rows_[at];
      value ^= values_[at];
      if (slots == 0) {
        ++repeats_;
        return (value & low_bits(layout_.planes + row.deep)) == 0;
      }
      const auto skip = static_cast<std::uint32_t>(__builtin_ctzll(slots));
      slots >>= skip;
      at += skip;
    }
    rows_[at] = slots;
    values_[at] = value;
    deep_[at] = row.deep == 1;
    return true;
  }

  // With N survivors and `after` planes still to come, these refuse up to free (2^after - 1): see N(j) above. Half of that
  // is sure enough; the last plane always teaches.
  bool later_planes_will_do(std::uint32_t plane, std::uint32_t slots) {
    free_ = 0;
    for (std::uint32_t i = 0; i < slots; ++i) free_ += rows_[i] == 0;
    if (plane >= layout_.planes - 1) return false;
    const double after = layout_.planes - 1 - plane, n = static_cast<double>(survivors_.size());
    return n + 3 * std::sqrt(n) <= free_ * (std::exp2(after) - 1) / 2;
  }

  void teach_survivors(std::uint32_t plane) {
    std::uint32_t vain = 0;  // a survivor whose free slots are all taken finds none in this plane; then few others do
    for (const Survivor& x : survivors_) {
      if (taught_.size() == free_ || vain > kVain) return;
      if (plane < layout_.planes || x.row.deep) vain += !teach(x.row, plane);
    }
  }

  // A free slot for a survivor, so that the plane refuses it. False: it has none.
  bool teach(const Row& row, std::uint32_t plane) {
    std::uint64_t slots = row.slots;
    std::uint32_t at = row.start, value = row.fingerprint >> plane ^ 1;
    while (rows_[at] != 0) {
      slots ^= rows_[at];
      value ^= values_[at] >> plane;
      if (slots == 0) return false;
      const auto skip = static_cast<std::uint32_t>(__builtin_ctzll(slots));
      slots >>= skip;
      at += skip;
    }
    rows_[at] = slots;
    values_[at] = (value & 1) << plane;
    taught_.push_back(at);
    return true;
  }

  // The first `slots` slots of a plane, into bits_ and into the bytes.
  void solve_plane(std::uint32_t plane, std::uint32_t slots, std::span<std::byte> bytes) {
    taught_.clear();
    if (!survivors_.empty() && !later_planes_will_do(plane, slots)) teach_survivors(plane);
    std::fill(bits_.begin(), bits_.end(), 0);
    std::uint64_t after = 0;  // bit i: of the slot that is i + 1 behind this one
    for (std::uint32_t i = slots; i-- > 0;) {
      std::uint64_t bit = 0;
      if (rows_[i] != 0) bit = parity(rows_[i] >> 1 & after) ^ (values_[i] >> plane & 1);
      after = after << 1 | bit;
      bits_[i / 64] |= bit << (i % 64);
    }
    for (std::uint32_t at : taught_) rows_[at] = 0;
    const std::uint32_t first = kHeaderBytes * 8 + plane * layout_.slots;
    for (std::uint32_t i = 0; i < slots; i += 8) {
      const std::uint32_t eight = static_cast<std::uint32_t>(bits_[i / 64] >> (i % 64) & 255) << ((first + i) % 8);
      bytes[(first + i) / 8] |= static_cast<std::byte>(eight);
      if (eight > 255) bytes[(first + i) / 8 + 1] |= static_cast<std::byte>(eight >> 8);
    }
  }

  // Would the plane that was solved last say yes?
  bool accepts(const Row& row, std::uint32_t plane) const noexcept {
    const std::uint32_t word = row.start / 64, shift = row.start % 64;
    const std::uint64_t window = bits_[word] >> shift | bits_[word + 1] << 1 << (63 - shift);
    return parity(window & row.slots) == (row.fingerprint >> plane & 1);
  }

  static constexpr std::uint32_t kVain = 16;

  Layout layout_;
  std::vector<std::uint64_t> rows_;    // by pivot: bit i is slot pivot + i; 0: a free slot
  std::vector<std::uint32_t> values_;  // bit j: what they add up to in plane j
  std::vector<std::uint8_t> deep_;     // the equation holds in the partial plane
  std::vector<std::uint64_t> bits_;    // the plane that was solved last
  std::vector<Row> shallow_;
  std::vector<Survivor> survivors_;
  std::vector<std::uint32_t> taught_;  // pivots of this plane's negatives
  std::uint64_t repeats_ = 0;
  std::uint32_t seed_ = 0, free_ = 0;
};

}  // namespace naysay::tiny::detail
