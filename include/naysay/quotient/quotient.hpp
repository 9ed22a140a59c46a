// SPDX-License-Identifier: Apache-2.0
// Quotient: a counting quotient filter. A key is divided into a quotient, which says where it belongs, and a remainder,
// which is stored there.
//
// Remainders with the same quotient form a run. A run begins at the slot of its quotient, or further right if the slots
// are in use.
//
//   slot         0    1    2    3    4    5    6    7         runs, in the order of their quotients:
//             +----+----+----+----+----+----+----+----+         quotient 1: 5, 9
//   remainder |    |  5 |  9 |  2 |  7 |  3 |    |  4 |         quotient 2: 2, 7 with a counter digit 3
//             +----+----+----+----+----+----+----+----+         quotient 7: 4
//   occupied    0    1    1    0    0    0    0    1            a run has this quotient
//   runend      0    0    1    0    0    1    0    1            a run ends in this slot
//
// The i-th set bit of `occupied` belongs to the i-th set bit of `runend`, so a run is found by rank and select
// (detail/blocks.hpp). detail/run_writer.hpp builds the table.
//
//   paper        here
//   q, h0        quotient: region by digest.hi, place in the region by the high half of digest.lo
//   r, h1        remainder: 1 .. 2^r - 1, from the low half of digest.lo
//   x, [digits]  an entry: the remainder x, then count - 1 in digits of base x + 1
//
// Counts. The remainders of a run rise, so a value that follows x and is not larger than x cannot be the next
// remainder: it is a digit of the counter of x. The digits are bijective (1 .. base, stored as 0 .. base - 1), least
// significant first, so that every count has one spelling, and a key that came once needs no digit. The paper puts
// digits between two copies of x and treats x = 0 separately. Leaving out the remainder 0 is simpler, and raises the
// rate by only 1 / (2^r - 1) of itself.
//
// Promises   never denies a key that was built from or inserted and not erased as often. count() is never less than the
//            true count. An insert that returns false has changed nothing.
// Does not   detect the erasure of a key that was never inserted (a false positive); that may remove another key.
// Cost       r + 2.25 bits per slot, load at most 0.95. A query reads one or two neighbouring cache lines. An insert
//            moves the slots up to the next empty one: about 1 / (2 (1 - load)^2) of them. build() sorts and moves
//            nothing.
// Source     P. Pandey, M. Bender, R. Johnson, R. Patro: A General-Purpose Counting Filter, SIGMOD 2017.
#pragma once

#include <algorithm>
#include <cmath>

#include "naysay/core/cpu.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/quotient/detail/blocks.hpp"
#include "naysay/quotient/detail/run_writer.hpp"
#include "naysay/quotient/quotient_rates.hpp"

namespace naysay {

class Quotient {
  using Blocks = quotient::Blocks;

 public:
  struct Params {
    double bits_per_key = 12;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };

  static constexpr Claims kClaims = {
      .about = "insertions, deletions and counts of keys; neighbouring reads only",
      .fixed_bits = 16384,  // kSpill slots of up to 34.25 bits after the last quotient, a block's rounding, the fields
  };

  static double bits_per_key(double fpr) { return quotient::bits_per_key(fpr, Blocks::kMinWidth, Blocks::kMaxWidth); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Quotient> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const std::uint64_t room = std::max<std::uint64_t>(o.room(w), 1);
    Quotient f;
    const unsigned width = quotient::width(p.bits_per_key, Blocks::kMinWidth, Blocks::kMaxWidth);
    if (width == 0)
      return Error{Errc::out_of_budget, "quotient: bits_per_key is " + rounded_text(p.bits_per_key) +
                                            "; remainders of " + to_text(Blocks::kMinWidth) + " bits need " +
                                            rounded_up_text((Blocks::kMinWidth + quotient::kExtra) / quotient::kLoad)};
    const double slots = p.bits_per_key * static_cast<double>(room) / (width + quotient::kExtra);
    const auto needed = static_cast<std::uint64_t>(std::ceil(static_cast<double>(room) / quotient::kLoad));
    f.table_ = Blocks(std::max(static_cast<std::uint64_t>(slots), needed + 1), width);
    quotient::RunWriter writer(f.table_);
    const bool fits = writer.fill(w, o);
    NAYSAY_CHECK(o.go_on("quotient"));
    if (!fits)
      return Error{Errc::build_failed, "quotient: " + to_text(w.keys.size()) +
                                           " keys ran over the end of the table; another hash seed would be right"};
    f.used_ = writer.used();
    f.entries_ = writer.entries();
    return f;
  }

  // False: the table is full, and nothing has changed.
  bool insert(Digest d) noexcept {
    const auto [q, x] = table_.place(d);
    std::uint64_t at = table_.run_start(q);
    const bool first = !table_.occupied(q);
    bool last = first;  // the new slot ends its run
    while (!last) {     // over the entries of the run
      const std::uint64_t entry = table_.remainder(at), end = table_.entry_end(at);
      if (entry == x) return add_one(q, at, end);
      if (entry > x) break;
      last = table_.runend(end);
      at = end + 1;
    }
    if (!make_room(q, at, x)) return false;
    if (last) table_.set_runend(at, true);
    if (last && !first) table_.set_runend(at - 1, false);
    table_.set_occupied(q, true);
    ++entries_;
    return true;
  }

  // Requires that the key is in the set, as ErasableFilter says. False: it is denied, and nothing has changed.
  bool erase(Digest d) noexcept {
    const auto [q, x] = table_.place(d);
    const std::uint64_t at = table_.find(q, x);
    if (at == Blocks::kNone) return false;
    const std::uint64_t end = table_.entry_end(at);
    for (std::uint64_t i = at + 1; i <= end; ++i) {
      if (const std::uint64_t digit = table_.remainder(i); digit > 0) return table_.set_remainder(i, digit - 1), true;
      if (i == end) return close_gap(q, i), true;
      table_.set_remainder(i, x);  // borrow one from the next digit
    }
    close_gap(q, at);
    --entries_;
    return true;
  }

  template <Simd known = kCompiledFor>
  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    if (simd<known>() != Simd::scalar) return table_.contains_bmi2(d);
#endif
    const auto [q, x] = table_.place(d);
    return table_.find<false>(q, x) != Blocks::kNone;
  }

  // How often the key was inserted; 0 if it is denied. Keys that share quotient and remainder are counted together.
  std::uint64_t count(Digest d) const noexcept {
    const auto [q, x] = table_.place(d);
    const std::uint64_t at = table_.find(q, x);
    if (at == Blocks::kNone) return 0;
    std::uint64_t value = 0, power = 1;
    for (std::uint64_t i = at + 1, end = table_.entry_end(at); i <= end; ++i, power *= x + 1)
      value += (table_.remainder(i) + 1) * power;
    return value + 1;
  }

  struct Probe {
    Digest d;
  };
  Probe probe(Digest d) const noexcept {
    const unsigned char* p = table_.block(table_.place(d).quotient / 64);
    __builtin_prefetch(p);
    __builtin_prefetch(p + kCacheLine);
    return {d};
  }
  bool test(Probe p) const noexcept { return may_contain(p.d); }

  // The share of all pairs of quotient and remainder that are in use.
  double expected_fpr() const noexcept {
    const double remainders = static_cast<double>(low_mask(table_.width()));
    return static_cast<double>(entries_) / (static_cast<double>(table_.quotients()) * remainders);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("width", self.table_.width_);
    visit("regions", self.table_.regions_);
    visit("region_slots", self.table_.region_slots_);
    visit("used", self.used_);
    visit("entries", self.entries_);
    visit("blocks", self.table_.blocks_);
    if constexpr (!std::is_const_v<Self>) self.table_.derive();
  }

  // Walks the whole table once, so that afterwards every rank has its select and every loop its end.
  Result<Ok> validate() const {
    NAYSAY_CHECK(table_.validate());
    const auto broken = [](const char* what) { return Error{Errc::corrupt, std::string("quotient: ") + what}; };
    std::uint64_t cursor = 0, used = 0, entries = 0;
    for (std::uint64_t b = 0; b < table_.block_count(); ++b) {
      if (table_.offset(b) != (cursor > 64 * b ? cursor - 64 * b : 0))
        return broken("an offset does not match its runs");
      for (std::uint64_t runs = load_u64(table_.block(b) + Blocks::kOccupiedAt); runs != 0; runs &= runs - 1) {
        const std::uint64_t q = 64 * b + static_cast<unsigned>(std::countr_zero(runs));
        if (q >= table_.quotients()) return broken("a quotient lies after the last one");
        std::uint64_t at = std::max(q, cursor), x = 0;
        for (bool last = false; !last; ++at) {
          if (at >= table_.slots()) return broken("a run has no end");
          const std::uint64_t value = table_.remainder(at);
          if (value > x || x == 0) {
            if (value == 0) return broken("a remainder is 0");
            x = value;
            ++entries;
          }
          ++used;
          last = table_.runend(at);
        }
        cursor = at;
      }
    }
    std::uint64_t ends = 0, runs = 0;
    for (std::uint64_t b = 0; b < table_.block_count(); ++b) {
      ends += static_cast<std::uint64_t>(std::popcount(load_u64(table_.block(b) + Blocks::kRunendAt)));
      runs += static_cast<std::uint64_t>(std::popcount(load_u64(table_.block(b) + Blocks::kOccupiedAt)));
    }
    if (ends != runs) return broken("there are not as many ends as runs");
    if (used != used_ || entries != entries_) return broken("its slots are miscounted");
    return Ok{};
  }

 private:
  std::uint64_t limit() const noexcept {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(table_.quotients()) * kFullest));
  }
  static constexpr double kFullest = 0.96;  // a little over the load it is built for, so that capacity always fits

  // Moves the slots from `at` up to the next empty one by one to the right, and puts `value` into slot `at`, for the
  // run of q. The new slot has no runend bit. False: there is no room, and nothing has changed.
  bool make_room(std::uint64_t q, std::uint64_t at, std::uint64_t value) noexcept {
    if (used_ >= limit()) return false;
    const unsigned width = table_.width();
    const std::uint64_t empty = table_.first_empty(at);
    if (empty >= table_.slots()) return false;
    for (std::uint64_t b = q / 64 + 1; b <= empty / 64; ++b)
      if (table_.offset(b) == Blocks::kMaxOffset) return false;
    for (std::uint64_t b = q / 64 + 1; b <= empty / 64; ++b) table_.set_offset(b, table_.offset(b) + 1);
    for (std::uint64_t b = empty / 64;; --b) {
      const unsigned first = b == at / 64 ? at % 64 : 0, last = b == empty / 64 ? empty % 64 : 63;
      unsigned char* remainders = table_.block(b) + Blocks::kRemaindersAt;
      for (unsigned s = last; s > first;) {  // a few slots at a time, from the right
        const unsigned count = std::min(s - first, Blocks::kMaxBits / width);
        s -= count;
        const std::uint64_t bits = load_bits(remainders, s * width, count * width);
        store_bits(remainders, (s + 1) * width, count * width, bits);
      }
      const bool end_before = b > at / 64 && table_.runend(64 * b - 1);
      unsigned char* ends = table_.block(b) + Blocks::kRunendAt;
      store_u64(ends, move_bits_up(load_u64(ends), first, last, end_before));
      if (b == at / 64) break;
      table_.set_remainder(64 * b, table_.remainder(64 * b - 1));
    }
    table_.set_remainder(at, value);
    ++used_;
    return true;
  }

  // Counts the entry at `at`, whose digits end with slot `end`, once more.
  bool add_one(std::uint64_t q, std::uint64_t at, std::uint64_t end) noexcept {
    const std::uint64_t x = table_.remainder(at);
    std::uint64_t i = at + 1;
    while (i <= end && table_.remainder(i) == x) ++i;  // digits that carry
    if (i <= end) {
      table_.set_remainder(i, table_.remainder(i) + 1);
    } else {
      const bool last = table_.runend(end);
      if (!make_room(q, i, 0)) return false;
      if (last) table_.set_runend(end, false), table_.set_runend(i, true);
    }
    while (--i > at) table_.set_remainder(i, 0);
    return true;
  }

  // Removes slot `at` from the run of q, and the run if that was its only slot. The slots to the right that are not in
  // their own place move one to the left.
  void close_gap(std::uint64_t q, std::uint64_t at) noexcept {
    const unsigned width = table_.width();
    std::uint64_t end = at;  // the last slot that moves: the next one is empty, or in its place
    for (std::uint64_t next; (next = table_.end_of_runs(end, true)) > end + 1;) end = next - 1;
    if (table_.runend(at)) {
      if (at == table_.run_start(q))
        table_.set_occupied(q, false);
      else
        table_.set_runend(at - 1, true);
    }
    for (std::uint64_t b = at / 64; b <= end / 64; ++b) {
      const unsigned first = b == at / 64 ? at % 64 : 0, last = b == end / 64 ? end % 64 : 63;
      unsigned char* remainders = table_.block(b) + Blocks::kRemaindersAt;
      for (unsigned s = first; s < last;) {  // a few slots at a time, from the left
        const unsigned count = std::min(last - s, Blocks::kMaxBits / width);
        const std::uint64_t bits = load_bits(remainders, (s + 1) * width, count * width);
        store_bits(remainders, s * width, count * width, bits);
        s += count;
      }
      const bool more = b < end / 64;
      const bool end_after = more && table_.runend(64 * b + 64);
      unsigned char* ends = table_.block(b) + Blocks::kRunendAt;
      store_u64(ends, move_bits_down(load_u64(ends), first, last, end_after));
      table_.set_remainder(64 * b + last, more ? table_.remainder(64 * b + 64) : 0);
    }
    for (std::uint64_t b = q / 64 + 1; b <= end / 64; ++b) table_.set_offset(b, table_.offset(b) - 1);
    --used_;
  }

  Blocks table_;
  std::uint64_t used_ = 0, entries_ = 0;  // slots; entries among them
};

static_assert(ErasableFilter<Quotient> && TunableFilter<Quotient> && ProbedFilter<Quotient>);

}  // namespace naysay
