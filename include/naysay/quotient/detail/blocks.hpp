// SPDX-License-Identifier: Apache-2.0
// Blocks: the table of a quotient filter. Slots in blocks of 64, found by rank and select.
//
//   block   | offset, 2 bytes | occupied, 64 bits | runend, 64 bits | 64 remainders of `width` bits |
//
//   slot         0    1    2    3    4    5    6    7         runs, in the order of their quotients:
//             +----+----+----+----+----+----+----+----+         quotient 1: 5, 9
//   remainder |    |  5 |  9 |  2 |  7 |  3 |    |  4 |         quotient 2: 2, 7 with a counter digit 3
//             +----+----+----+----+----+----+----+----+         quotient 7: 4
//   occupied    0    1    1    0    0    0    0    1            a run has this quotient
//   runend      0    0    1    0    0    1    0    1            a run ends in this slot
//
// The i-th set bit of `occupied` belongs to the i-th set bit of `runend`. The offset of a block is the number of its
// slots that runs of earlier blocks use, so ranks are counted from the start of a block.
//
// A key's quotient is a region, by digest.hi, and a place in the region, by the high half of digest.lo. Its remainder
// is 1 .. 2^width - 1, from the low half of digest.lo.
//
// Cost       width + 2.25 bits per slot. Finding a run reads one or two neighbouring cache lines.
// Source     P. Pandey, M. Bender, R. Johnson, R. Patro: A General-Purpose Counting Filter, SIGMOD 2017.
#pragma once

#include <algorithm>
#include <cstring>

#include "naysay/core/cpu.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/core/filter.hpp"

#if NAYSAY_X86
#include <immintrin.h>
#endif

namespace naysay {
class Quotient;
}

namespace naysay::quotient {

class Blocks {
 public:
  static constexpr unsigned kMinWidth = 2, kMaxWidth = 32;
  static constexpr unsigned kMaxBits = 57;  // that load_bits and store_bits move in one step
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint64_t kRegionSlots = std::uint64_t{1} << 16;  // its keys are sorted in the L2 cache
  // Slots after the last quotient. The last cluster of a table of load 0.95 extends that far beyond its end with
  // probability e^(-2 * 0.05 * 256) < 1e-11.
  static constexpr std::uint64_t kSpill = 256;
  static constexpr std::uint64_t kMaxOffset = 0xffff;  // what two bytes hold; only hostile keys get near it
  // A block of 64 slots: 2 bytes of offset, 64 occupied bits, 64 runend bits, 64 remainders.
  static constexpr std::size_t kOccupiedAt = 2, kRunendAt = 10, kRemaindersAt = 18;

  struct Place {
    std::uint64_t quotient, remainder;
  };

  Blocks() = default;
  // Empty, with about this many quotients. Requires kMinWidth <= width <= kMaxWidth.
  Blocks(std::uint64_t quotients, unsigned width) : width_(width) {
    regions_ = divide_up(quotients, kRegionSlots);
    region_slots_ = quotients / regions_;
    derive();
    blocks_ = Array<std::uint8_t>(bytes_needed());
  }

  unsigned width() const noexcept { return width_; }
  std::uint64_t regions() const noexcept { return regions_; }
  std::uint64_t region_slots() const noexcept { return region_slots_; }
  // A multiple of regions(), so it may be a little less than was wanted.
  std::uint64_t quotients() const noexcept { return regions_ * region_slots_; }
  std::uint64_t block_count() const noexcept { return block_count_; }
  std::uint64_t slots() const noexcept { return 64 * block_count(); }
  std::uint64_t block_bytes() const noexcept { return kRemaindersAt + 8 * std::uint64_t{width_}; }
  std::uint64_t bytes_needed() const noexcept { return block_count() * block_bytes() + 8; }  // 8: for the last load

  // The high half of lo is the place in the region, the low half the remainder: 2^16 places and 32 bits need no more.
  std::uint64_t in_region(std::uint64_t lo) const noexcept { return ((lo >> 32) * region_slots_) >> 32; }
  std::uint64_t remainder_of(std::uint64_t lo) const noexcept {
    return (((lo & low_mask(32)) * low_mask(width_)) >> 32) + 1;
  }
  Place place(Digest d) const noexcept {
    return {shard_of(d, regions_) * region_slots_ + in_region(d.lo), remainder_of(d.lo)};
  }

  // ---- one slot
  const unsigned char* block(std::uint64_t b) const noexcept { return blocks_.data() + b * block_bytes(); }
  unsigned char* block(std::uint64_t b) noexcept { return blocks_.mutable_data() + b * block_bytes(); }
  std::uint64_t offset(std::uint64_t b) const noexcept { return load_u64(block(b)) & low_mask(16); }
  void set_offset(std::uint64_t b, std::uint64_t value) noexcept {
    const auto narrow = static_cast<std::uint16_t>(value);
    std::memcpy(block(b), &narrow, sizeof narrow);
  }
  bool bit(std::uint64_t i, std::size_t at) const noexcept { return (load_u64(block(i / 64) + at) >> (i % 64)) & 1; }
  void set_bit_at(std::uint64_t i, std::size_t at, bool value) noexcept {
    unsigned char* p = block(i / 64) + at;
    const std::uint64_t one = std::uint64_t{1} << (i % 64), word = load_u64(p);
    store_u64(p, value ? word | one : word & ~one);
  }
  bool occupied(std::uint64_t q) const noexcept { return bit(q, kOccupiedAt); }
  void set_occupied(std::uint64_t q, bool v) noexcept { set_bit_at(q, kOccupiedAt, v); }
  bool runend(std::uint64_t i) const noexcept { return bit(i, kRunendAt); }
  void set_runend(std::uint64_t i, bool v) noexcept { set_bit_at(i, kRunendAt, v); }
  std::uint64_t remainder(std::uint64_t i) const noexcept {
    return load_bits(block(i / 64) + kRemaindersAt, (i % 64) * width_, width_);
  }
  void set_remainder(std::uint64_t i, std::uint64_t value) noexcept {
    store_bits(block(i / 64) + kRemaindersAt, (i % 64) * width_, width_, value);
  }

  // ---- rank and select
  template <bool kBmi2>
  [[gnu::always_inline]] static unsigned select_in_word(std::uint64_t word, unsigned rank) noexcept {
#if NAYSAY_X86
    if constexpr (kBmi2) return select_pdep(word, rank);
#endif
    return select64(word, rank);
  }
#if NAYSAY_X86
  NAYSAY_TARGET(NAYSAY_AVX2) static unsigned select_pdep(std::uint64_t word, unsigned rank) noexcept {
    return static_cast<unsigned>(std::countr_zero(_pdep_u64(std::uint64_t{1} << rank, word)));
  }
#endif

  // The slot after the last one that the runs of quotients before q use, or up to q if `through`. At most slots(). Reads
  // no other memory and ends also if the bytes are not those that validate() has seen; then any number may come out.
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t end_of_runs(std::uint64_t q, bool through) const noexcept {
    const std::uint64_t b = q / 64, at = 64 * b + offset(b);
    const std::uint64_t runs = load_u64(block(b) + kOccupiedAt) & low_mask(static_cast<unsigned>(q % 64) + through);
    if (runs == 0) return at;
    auto rank = static_cast<unsigned>(std::popcount(runs)) - 1;  // of the runend to be found, from `at` on
    std::uint64_t w = at / 64;
    if (w >= block_count_) [[unlikely]]
      return slots();
    std::uint64_t word = load_u64(block(w) + kRunendAt) & ~low_mask(static_cast<unsigned>(at % 64));
    for (;;) {
      const auto ones = static_cast<unsigned>(std::popcount(word));
      if (rank < ones) return 64 * w + select_in_word<kBmi2>(word, rank) + 1;
      rank -= ones;
      // Runs that begin in a block end at most kMaxOffset slots after it.
      if (++w >= std::min(b + 2 + kMaxOffset / 64, block_count_)) return slots();
      word = load_u64(block(w) + kRunendAt);
    }
  }
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t run_start(std::uint64_t q) const noexcept {
    return std::max(q, end_of_runs<kBmi2>(q, false));
  }

  // The last slot of the entry that begins at `at`: its digits are not larger than its remainder.
  std::uint64_t entry_end(std::uint64_t at) const noexcept {
    const std::uint64_t x = remainder(at);
    for (const std::uint64_t last = slots() - 1; at < last && !runend(at) && remainder(at + 1) <= x;) ++at;
    return at;
  }

  // The slot of the entry of remainder x in the run of q, or kNone.
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t find(std::uint64_t q, std::uint64_t x) const noexcept {
    if (!occupied(q)) return kNone;
    const std::uint64_t last = slots() - 1;
    std::uint64_t entry = 0;  // the slots after it are its digits
    for (std::uint64_t at = std::min(run_start<kBmi2>(q), last);; ++at) {
      const std::uint64_t value = remainder(at);
      if (value > entry) {
        if (value >= x) return value == x ? at : kNone;
        entry = value;
      }
      if (runend(at)) return kNone;
      // No run goes further: these bytes are not those that validate() has seen. Maybe.
      if (at >= last || at - q >= 64 + kMaxOffset) return last;
    }
  }

#if NAYSAY_X86
  NAYSAY_TARGET(NAYSAY_AVX2) bool contains_bmi2(Digest d) const noexcept {
    const auto [q, x] = place(d);
    return find<true>(q, x) != kNone;
  }
#endif

  // A slot is empty if the runs of all quotients up to its own number end before it.
  std::uint64_t first_empty(std::uint64_t at) const noexcept {
    while (at < slots()) {
      const std::uint64_t end = end_of_runs(at, true);
      if (end <= at) return at;
      at = end;
    }
    return slots();
  }

  Result<Ok> validate() const {
    if (width_ < kMinWidth || width_ > kMaxWidth)
      return Error{Errc::corrupt, "quotient: width is " + to_text(width_) + "; it must be 2 to 32"};
    if (regions_ == 0 || region_slots_ == 0 || region_slots_ > kRegionSlots || regions_ > (std::uint64_t{1} << 40) ||
        blocks_.size() != bytes_needed())
      return Error{Errc::corrupt, "quotient: " + to_text(blocks_.size()) + " bytes do not hold " + to_text(regions_) +
                                      " regions of " + to_text(region_slots_) + " slots"};
    return Ok{};
  }

 private:
  friend class naysay::Quotient;  // its fields() names the members

  // What is not in a file.
  void derive() noexcept { block_count_ = divide_up(quotients() + std::min(kSpill, quotients()), 64); }

  Array<std::uint8_t> blocks_;
  std::uint64_t regions_ = 0, region_slots_ = 0;
  std::uint64_t block_count_ = 0;
  std::uint32_t width_ = 0;
};

}  // namespace naysay::quotient
