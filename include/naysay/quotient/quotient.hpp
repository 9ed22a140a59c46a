// Quotient: a counting quotient filter. A key is a quotient (where it belongs) and a remainder (what is stored there);
// remainders that belong to the same place stand together, pushed to the right as far as others need the room.
//
//   slot         0    1    2    3    4    5    6    7         runs, in the order of their quotients:
//             +----+----+----+----+----+----+----+----+         quotient 1: 5, 9
//   remainder |    |  5 |  9 |  2 |  7 |  3 |    |  4 |         quotient 2: 2, 7 with a counter digit 3
//             +----+----+----+----+----+----+----+----+         quotient 7: 4
//   occupied    0    1    1    0    0    0    0    1            a run has this quotient
//   runend      0    0    1    0    0    1    0    1            a run ends in this slot
//
// The i-th set bit of `occupied` belongs to the i-th set bit of `runend`. So a run is found by rank and select, counted
// from the start of its block of 64 slots, which stores how many of its slots earlier blocks have taken (offset).
//
//   paper        here
//   q, h0        quotient: region by digest.hi, place in the region by the high half of digest.lo
//   r, h1        remainder: 1 .. 2^r - 1, from the low half of digest.lo
//   x, [digits]  an entry: the remainder x, then count - 1 in digits of base x + 1
//
// Counts. Remainders of a run rise, so what follows x and is not larger than x cannot be the next remainder: it is a
// digit of x's counter. The digits are bijective (1 .. base, stored as 0 .. base - 1), least significant first, so that
// every count has one spelling and no digit is needed for a key that came once. The paper fences digits between two
// copies of x and treats x = 0 apart; leaving out the remainder 0 costs 1 / (2^r - 1) in rate instead, and is simpler.
//
// Promises   never denies a key that was built from or inserted and not erased as often. count() never says less than
//            is true. An insert that returns false has changed nothing.
// Does not   notice that a key which was never inserted is erased, if it takes it for one.
// Cost       r + 2.25 bits a slot, load at most 0.95. A query reads one or two neighbouring cache lines. An insert
// moves
//            the slots up to the next empty one: about 1 / (2 (1 - load)^2) of them. build() sorts and moves nothing.
// Source     Pandey, Bender, Johnson, Patro: A General-Purpose Counting Filter, SIGMOD 2017.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "naysay/core/cpu.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/quotient/quotient_rates.hpp"

#if NAYSAY_X86
#include <immintrin.h>
#endif

namespace naysay {

class Quotient {
 public:
  struct Params {
    double bits_per_key = 12;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };

  static constexpr Claims kClaims = {
      .about = "keys may come, go and be counted; neighbouring reads only",
      .fixed_bits = 16384,  // kSpill slots of up to 34.25 bits behind the last quotient, a block's rounding, the fields
  };

  static double bits_per_key(double fpr) { return quotient::bits_per_key(fpr, kMinWidth, kMaxWidth); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Quotient> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const std::uint64_t room = std::max<std::uint64_t>(o.room(w), 1);
    Quotient f;
    f.width_ = quotient::width(p.bits_per_key, kMinWidth, kMaxWidth);
    if (f.width_ == 0)
      return Error{Errc::out_of_budget, "quotient: bits_per_key is " + rounded_text(p.bits_per_key) + "; remainders of " +
                                            to_text(kMinWidth) + " bits need " +
                                            rounded_up_text((kMinWidth + quotient::kExtra) / quotient::kLoad)};
    const double slots = p.bits_per_key * static_cast<double>(room) / (f.width_ + quotient::kExtra);
    const auto needed = static_cast<std::uint64_t>(std::ceil(static_cast<double>(room) / quotient::kLoad));
    f.shape(std::max(static_cast<std::uint64_t>(slots), needed + 1));
    f.blocks_ = Array<std::uint8_t>(f.bytes_needed());
    if (!f.fill(w, o))
      return Error{Errc::build_failed, "quotient: " + to_text(w.keys.size()) +
                                           " keys ran over the end of the table; another hash seed would be right"};
    return f;
  }

  // False: the table is full, and nothing has changed.
  bool insert(Digest d) noexcept {
    const auto [q, x] = place(d);
    std::uint64_t at = run_start(q);
    const bool first = !occupied(q);
    bool last = first;  // the new slot ends its run
    while (!last) {     // over the entries of the run
      const std::uint64_t entry = remainder(at), end = entry_end(at);
      if (entry == x) return add_one(q, at, end);
      if (entry > x) break;
      last = runend(end);
      at = end + 1;
    }
    if (!make_room(q, at, x)) return false;
    if (last) set_runend(at, true);
    if (last && !first) set_runend(at - 1, false);
    set_occupied(q, true);
    ++entries_;
    return true;
  }

  // Requires that the key is in, as ErasableFilter says. False: it is denied, and nothing has changed.
  bool erase(Digest d) noexcept {
    const auto [q, x] = place(d);
    const std::uint64_t at = find(q, x);
    if (at == kNone) return false;
    const std::uint64_t end = entry_end(at);
    for (std::uint64_t i = at + 1; i <= end; ++i) {
      if (const std::uint64_t digit = remainder(i); digit > 0) return set_remainder(i, digit - 1), true;
      if (i == end) return close_gap(q, i), true;
      set_remainder(i, x);  // borrow one from the next digit
    }
    close_gap(q, at);
    --entries_;
    return true;
  }

  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    if (simd() != Simd::scalar) return contains_bmi2(d);
#endif
    const auto [q, x] = place(d);
    return find<false>(q, x) != kNone;
  }

  // How often the key is in; 0 if it is denied. Never less than is true: keys that share quotient and remainder add up.
  std::uint64_t count(Digest d) const noexcept {
    const auto [q, x] = place(d);
    const std::uint64_t at = find(q, x);
    if (at == kNone) return 0;
    std::uint64_t value = 0, power = 1;
    for (std::uint64_t i = at + 1, end = entry_end(at); i <= end; ++i, power *= x + 1)
      value += (remainder(i) + 1) * power;
    return value + 1;
  }

  struct Probe {
    Digest d;
  };
  Probe probe(Digest d) const noexcept {
    const unsigned char* p = block(place(d).quotient / 64);
    __builtin_prefetch(p);
    __builtin_prefetch(p + kCacheLine);
    return {d};
  }
  bool test(Probe p) const noexcept { return may_contain(p.d); }

  // The share of all pairs of quotient and remainder that are taken.
  double expected_fpr() const noexcept {
    return static_cast<double>(entries_) / (static_cast<double>(quotients()) * static_cast<double>(low_mask(width_)));
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("width", self.width_);
    visit("regions", self.regions_);
    visit("region_slots", self.region_slots_);
    visit("used", self.used_);
    visit("entries", self.entries_);
    visit("blocks", self.blocks_);
  }

  // Walks the whole table once, so that afterwards every rank has its select and every loop its end.
  Result<Ok> validate() const {
    if (width_ < kMinWidth || width_ > kMaxWidth)
      return Error{Errc::corrupt, "quotient: width is " + to_text(width_) + "; it must be 2 to 32"};
    if (regions_ == 0 || region_slots_ == 0 || region_slots_ > kRegionSlots || regions_ > (std::uint64_t{1} << 40) ||
        blocks_.size() != bytes_needed())
      return Error{Errc::corrupt, "quotient: " + to_text(blocks_.size()) + " bytes do not hold " + to_text(regions_) +
                                      " regions of " + to_text(region_slots_) + " slots"};
    const auto broken = [](const char* what) { return Error{Errc::corrupt, std::string("quotient: ") + what}; };
    std::uint64_t cursor = 0, used = 0, entries = 0;
    for (std::uint64_t b = 0; b < block_count(); ++b) {
      if (offset(b) != (cursor > 64 * b ? cursor - 64 * b : 0)) return broken("an offset does not match its runs");
      for (std::uint64_t runs = load_u64(block(b) + kOccupiedAt); runs != 0; runs &= runs - 1) {
        const std::uint64_t q = 64 * b + static_cast<unsigned>(std::countr_zero(runs));
        if (q >= quotients()) return broken("a quotient lies behind the last one");
        std::uint64_t at = std::max(q, cursor), x = 0;
        for (bool last = false; !last; ++at) {
          if (at >= slots()) return broken("a run has no end");
          const std::uint64_t value = remainder(at);
          if (value > x || x == 0) {
            if (value == 0) return broken("a remainder is 0");
            x = value;
            ++entries;
          }
          ++used;
          last = runend(at);
        }
        cursor = at;
      }
    }
    std::uint64_t ends = 0, runs = 0;
    for (std::uint64_t b = 0; b < block_count(); ++b) {
      ends += static_cast<std::uint64_t>(std::popcount(load_u64(block(b) + kRunendAt)));
      runs += static_cast<std::uint64_t>(std::popcount(load_u64(block(b) + kOccupiedAt)));
    }
    if (ends != runs) return broken("there are not as many ends as runs");
    if (used != used_ || entries != entries_) return broken("its slots are miscounted");
    return Ok{};
  }

 private:
  static constexpr unsigned kMinWidth = 2, kMaxWidth = 32;
  static constexpr unsigned kMaxBits = 57;  // that load_bits and store_bits move at once
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint64_t kRegionSlots = std::uint64_t{1} << 16;  // its keys are sorted in the L2 cache
  // Slots behind the last quotient. The last cluster of a table of load 0.95 reaches that far beyond its end with
  // probability e^(-2 * 0.05 * 256) < 1e-11.
  static constexpr std::uint64_t kSpill = 256;
  static constexpr std::uint64_t kMaxOffset = 0xffff;  // what two bytes hold; only hostile keys come near it
  // A block of 64 slots: 2 bytes of offset, 64 occupied bits, 64 runend bits, 64 remainders.
  static constexpr std::size_t kOccupiedAt = 2, kRunendAt = 10, kRemaindersAt = 18;

  struct Place {
    std::uint64_t quotient, remainder;
  };

  void shape(std::uint64_t quotients) noexcept {
    regions_ = divide_up(quotients, kRegionSlots);
    region_slots_ = quotients / regions_;
  }
  std::uint64_t quotients() const noexcept { return regions_ * region_slots_; }
  std::uint64_t block_count() const noexcept { return divide_up(quotients() + std::min(kSpill, quotients()), 64); }
  std::uint64_t slots() const noexcept { return 64 * block_count(); }
  std::uint64_t block_bytes() const noexcept { return kRemaindersAt + 8 * std::uint64_t{width_}; }
  std::uint64_t bytes_needed() const noexcept { return block_count() * block_bytes() + 8; }  // 8: the last load's
  std::uint64_t limit() const noexcept {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(quotients()) * kFullest));
  }
  static constexpr double kFullest = 0.96;  // a little over the load it is built for, so that capacity always fits

  // The high half of lo is the place in the region, the low half the remainder: 2^16 places and 32 bits need no more.
  std::uint64_t in_region(std::uint64_t lo) const noexcept { return ((lo >> 32) * region_slots_) >> 32; }
  std::uint64_t remainder_of(std::uint64_t lo) const noexcept {
    return (((lo & low_mask(32)) * low_mask(width_)) >> 32) + 1;
  }
  Place place(Digest d) const noexcept {
    return {shard_of(d, regions_) * region_slots_ + in_region(d.lo), remainder_of(d.lo)};
  }

  // ---- blocks
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
  NAYSAY_TARGET(NAYSAY_AVX2) bool contains_bmi2(Digest d) const noexcept {
    const auto [q, x] = place(d);
    return find<true>(q, x) != kNone;
  }
#endif

  // The slot behind the last one that quotients up to q have taken, q itself only if `through`. At most slots().
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t end_of_runs(std::uint64_t q, bool through) const noexcept {
    const std::uint64_t b = q / 64, at = 64 * b + offset(b);
    const std::uint64_t runs = load_u64(block(b) + kOccupiedAt) & low_mask(static_cast<unsigned>(q % 64) + through);
    if (runs == 0) return at;
    auto rank = static_cast<unsigned>(std::popcount(runs)) - 1;  // of the runend to be found, from `at` on
    std::uint64_t w = at / 64, word = load_u64(block(w) + kRunendAt) & ~low_mask(static_cast<unsigned>(at % 64));
    for (;;) {
      const auto ones = static_cast<unsigned>(std::popcount(word));
      if (rank < ones) return 64 * w + select_in_word<kBmi2>(word, rank) + 1;
      rank -= ones;
      word = load_u64(block(++w) + kRunendAt);
    }
  }
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t run_start(std::uint64_t q) const noexcept {
    return std::max(q, end_of_runs<kBmi2>(q, false));
  }

  // The last slot of the entry that begins at `at`: its digits are not larger than its remainder.
  std::uint64_t entry_end(std::uint64_t at) const noexcept {
    const std::uint64_t x = remainder(at);
    while (!runend(at) && remainder(at + 1) <= x) ++at;
    return at;
  }

  // The slot of the entry of remainder x in the run of q, or kNone.
  template <bool kBmi2 = false>
  [[gnu::always_inline]] std::uint64_t find(std::uint64_t q, std::uint64_t x) const noexcept {
    if (!occupied(q)) return kNone;
    std::uint64_t entry = 0;  // of which the slots are the digits
    for (std::uint64_t at = run_start<kBmi2>(q);; ++at) {
      const std::uint64_t value = remainder(at);
      if (value > entry) {
        if (value >= x) return value == x ? at : kNone;
        entry = value;
      }
      if (runend(at)) return kNone;
    }
  }

  // ---- moving
  // A slot is empty if the runs of all quotients up to its own number end before it.
  std::uint64_t first_empty(std::uint64_t at) const noexcept {
    while (at < slots()) {
      const std::uint64_t end = end_of_runs(at, true);
      if (end <= at) return at;
      at = end;
    }
    return slots();
  }

  // Moves what stands from `at` on one slot to the right, into the next empty one, and puts `value` there, for the run
  // of q. The new slot has no runend bit. False: there is no room, and nothing has changed.
  bool make_room(std::uint64_t q, std::uint64_t at, std::uint64_t value) noexcept {
    if (used_ >= limit()) return false;
    const std::uint64_t empty = first_empty(at);
    if (empty >= slots()) return false;
    for (std::uint64_t b = q / 64 + 1; b <= empty / 64; ++b)
      if (offset(b) == kMaxOffset) return false;
    for (std::uint64_t b = q / 64 + 1; b <= empty / 64; ++b) set_offset(b, offset(b) + 1);
    for (std::uint64_t b = empty / 64;; --b) {
      const unsigned first = b == at / 64 ? at % 64 : 0, last = b == empty / 64 ? empty % 64 : 63;
      unsigned char* remainders = block(b) + kRemaindersAt;
      for (unsigned s = last; s > first;) {  // a few slots at a time, from the right
        const unsigned count = std::min(s - first, kMaxBits / width_);
        s -= count;
        const std::uint64_t bits = load_bits(remainders, s * width_, count * width_);
        store_bits(remainders, (s + 1) * width_, count * width_, bits);
      }
      const bool end_before = b > at / 64 && runend(64 * b - 1);
      store_u64(block(b) + kRunendAt, move_bits_up(load_u64(block(b) + kRunendAt), first, last, end_before));
      if (b == at / 64) break;
      set_remainder(64 * b, remainder(64 * b - 1));
    }
    set_remainder(at, value);
    ++used_;
    return true;
  }

  // Counts the entry at `at`, whose digits end with slot `end`, once more.
  bool add_one(std::uint64_t q, std::uint64_t at, std::uint64_t end) noexcept {
    const std::uint64_t x = remainder(at);
    std::uint64_t i = at + 1;
    while (i <= end && remainder(i) == x) ++i;  // digits that carry
    if (i <= end) {
      set_remainder(i, remainder(i) + 1);
    } else {
      const bool last = runend(end);
      if (!make_room(q, i, 0)) return false;
      if (last) set_runend(end, false), set_runend(i, true);
    }
    while (--i > at) set_remainder(i, 0);
    return true;
  }

  // Takes slot `at` out of the run of q, and the run away if that was its only slot; then what stands to the right of
  // its place comes nearer by one.
  void close_gap(std::uint64_t q, std::uint64_t at) noexcept {
    std::uint64_t end = at;  // the last slot that moves: the next one is empty, or in its place
    for (std::uint64_t next; (next = end_of_runs(end, true)) > end + 1;) end = next - 1;
    if (runend(at)) {
      if (at == run_start(q))
        set_occupied(q, false);
      else
        set_runend(at - 1, true);
    }
    for (std::uint64_t b = at / 64; b <= end / 64; ++b) {
      const unsigned first = b == at / 64 ? at % 64 : 0, last = b == end / 64 ? end % 64 : 63;
      unsigned char* remainders = block(b) + kRemaindersAt;
      for (unsigned s = first; s < last;) {  // a few slots at a time, from the left
        const unsigned count = std::min(last - s, kMaxBits / width_);
        const std::uint64_t bits = load_bits(remainders, (s + 1) * width_, count * width_);
        store_bits(remainders, s * width_, count * width_, bits);
        s += count;
      }
      const bool more = b < end / 64;
      const bool end_behind = more && runend(64 * b + 64);
      store_u64(block(b) + kRunendAt, move_bits_down(load_u64(block(b) + kRunendAt), first, last, end_behind));
      set_remainder(64 * b + last, more ? remainder(64 * b + 64) : 0);
    }
    for (std::uint64_t b = q / 64 + 1; b <= end / 64; ++b) set_offset(b, offset(b) - 1);
    --used_;
  }

  // ---- building: sort the remainders of each region by quotient, and write the runs from left to right
  bool fill(const Workload& w, const BuildOptions& o) {
    std::uint64_t cursor = 0, next_block = 0;  // the first free slot; the first block whose offset is not known
    bool fits = true;
    const auto settle_offsets = [&](std::uint64_t up_to) {
      for (; next_block < block_count() && 64 * next_block <= up_to; ++next_block) {
        const std::uint64_t spill = cursor > 64 * next_block ? cursor - 64 * next_block : 0;
        fits = fits && spill <= kMaxOffset;
        set_offset(next_block, spill);
      }
    };
    std::vector<std::uint32_t> first(region_slots_ + 1), sorted;
    for_each_shard(w.keys, regions_, 1, [&](std::uint64_t region, std::span<std::uint64_t> los) {
      o.tell("quotient: writing runs", region, regions_);
      std::fill(first.begin(), first.end(), 0);
      for (std::uint64_t lo : los) ++first[in_region(lo) + 1];
      for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
      sorted.resize(los.size());
      for (std::uint64_t lo : los) sorted[first[in_region(lo)]++] = static_cast<std::uint32_t>(remainder_of(lo));
      std::uint32_t begin = 0;  // first[i] now is where the run of i ends
      for (std::uint64_t i = 0; i < region_slots_ && fits; begin = first[i++]) {
        const std::span<std::uint32_t> run(sorted.data() + begin, sorted.data() + first[i]);
        if (run.empty()) continue;
        const std::uint64_t q = region * region_slots_ + i;
        settle_offsets(q);
        std::sort(run.begin(), run.end());
        cursor = write_run(std::max(q, cursor), run);
        fits = fits && cursor <= slots();
        if (fits) set_runend(cursor - 1, true), set_occupied(q, true);
      }
    });
    settle_offsets(slots());
    return fits;
  }

  // Writes the entries of a sorted run from slot `at` on and returns the slot behind them; writes none behind slots().
  std::uint64_t write_run(std::uint64_t at, std::span<const std::uint32_t> run) noexcept {
    const auto put = [&](std::uint64_t value) {
      if (at < slots()) set_remainder(at, value), ++used_;
      ++at;
    };
    for (std::size_t i = 0; i < run.size();) {
      const std::uint64_t x = run[i], base = x + 1;
      std::size_t same = i;
      while (same < run.size() && run[same] == x) ++same;
      put(x);
      for (std::uint64_t rest = same - i - 1; rest > 0; rest = (rest - 1) / base) put((rest - 1) % base);
      ++entries_;
      i = same;
    }
    return at;
  }

  Array<std::uint8_t> blocks_;
  std::uint64_t regions_ = 0, region_slots_ = 0;
  std::uint64_t used_ = 0, entries_ = 0;  // slots; entries among them
  std::uint32_t width_ = 0;
};

static_assert(ErasableFilter<Quotient> && TunableFilter<Quotient> && ProbedFilter<Quotient>);

}  // namespace naysay
