// SPDX-License-Identifier: Apache-2.0
// AdaptiveCuckoo: a cuckoo filter that changes a fingerprint when a false positive is reported to it.
//
// A cuckoo table of the keys themselves lies next to the filter, slot for slot. Queries read only the filter.
//
//   filter   | 7.0  3.1  .  9.0 |     fingerprint.selector of b + s bits; . is an empty slot
//   keys     |  x    y   .   z  |     64 bits per slot, next to the filter; inserts, erasures and reports read them
//
//   adapt(d), d looks like y:   1. | 7.0  5.2  .  9.0 |   another selector: y's fingerprint by another function
//                               2. | 7.0  .  8.0  9.0 |   there is none that helps: y changes its slot, and each slot
//                                                         of a bucket has functions of its own
//
// A fingerprint depends on the key, on the slot's selector and on its place in the bucket. If a negative looks like a
// key by one function, it looks like that key by another one with probability 2^-b, so either step nearly always
// suffices. By default selector_bits is 0: there is only the second step, and all bits are fingerprint.
//
//   paper                                 here
//   s, the hash selector bits             selector_bits
//   cells of a bucket with own functions  the second step; the paper has one of the two steps, this filter both
//   the cuckoo hash table of elements     keys: digest.lo of each key, at the place of its fingerprint
//   the filter's two buckets              one of the even ones and one of the odd ones, both from digest.lo
//
// Copies of a key are counted as in a cuckoo filter (cuckoo.hpp): up to seven, eight mean "eight or more".
// Where not every copy of the keys of a build fits, each is stored once, and erase keeps the last one.
//
// Promises   Never denies a key that was built from or inserted and not erased as often: whenever a key gets another
//            slot or selector, its fingerprint is made again from the key. Never erases a key instead of another:
//            erase() of what is no key returns false and changes nothing. adapt() of a key changes nothing.
// Does not   remember what was reported. A negative that is refused may be accepted again when a key next to it is
//            inserted, moved or adapted, and has to be reported again.
// Cost       Query: two cache lines, independent of each other, and two multiplications per slot, five with a selector.
//            adapt, insert and erase: also two cache lines of the keys. Space: selector_bits of bits_per_key do not
//            lower the stranger FPR; index_bits() are 64 more per slot, 67 to 85 per key, in memory and in files.
// Source     M. Mitzenmacher, S. Pontarelli, P. Reviriego: Adaptive Cuckoo Filters, ALENEX 2018, sections 3 and 4.
#pragma once

#include <algorithm>
#include <cmath>

#include "naysay/core/filter.hpp"
#include "naysay/cuckoo/cuckoo_rates.hpp"
#include "naysay/cuckoo/detail/chain.hpp"
#include "naysay/cuckoo/detail/fill.hpp"

namespace naysay {

class AdaptiveCuckoo {
 public:
  // The two buckets of a digest, and its lo.
  struct Place {
    std::uint64_t first, second, lo;
  };

  struct Params {
    double bits_per_key = 13;
    std::uint32_t selector_bits = 0;  // of these, in each slot; at most 4. A bit doubles the stranger FPR.

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("selector_bits", self.selector_bits);
    }
  };

  static constexpr Claims kClaims = {
      .about = "a cuckoo filter with its keys next to it: a reported false positive gets another fingerprint",
      .fixed_bits = 2048,  // kSpareSlots and rounding to two buckets at 36 bits per slot, a spare word, the fields
      // 64 bits of each slot, at load 0.95 and what the width of a slot, at least 4, leaves of the budget: under a bit.
      .index_bits_per_key = 85,
      .index_fixed_bits = 64 * 40,
  };

  AdaptiveCuckoo() = default;

  static double bits_per_key(double fpr) { return cuckoo::bits_per_key(fpr, Params{}.selector_bits); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<AdaptiveCuckoo> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.selector_bits > kMaxSelectorBits)
      return Error{Errc::invalid_argument, "adaptive-cuckoo: selector_bits is " + to_text(p.selector_bits) +
                                               "; it must be at most " + to_text(kMaxSelectorBits)};
    const unsigned b = cuckoo::width(p.bits_per_key, p.selector_bits), slot_bits = b + p.selector_bits;
    if (b == 0)
      return Error{Errc::out_of_budget, "adaptive-cuckoo: bits_per_key is " + rounded_text(p.bits_per_key) +
                                            "; 4-bit fingerprints, the shortest, and their selectors need " +
                                            rounded_up_text((cuckoo::kNarrowest + p.selector_bits) / cuckoo::kLoad)};
    const double needed = static_cast<double>(o.room(w)) / cuckoo::kLoad + kSpareSlots;
    // What the width leaves of the budget becomes free slots, unless the fingerprints are as wide as they can be.
    const double slots =
        b == cuckoo::kWidest
            ? needed
            : std::max(needed, static_cast<double>(budget_bits(p.bits_per_key, o.room(w))) / slot_bits);
    if (slots > static_cast<double>(kMaxBuckets) * kSlots - 2 * kSlots)
      return Error{Errc::invalid_argument, "adaptive-cuckoo: " + to_text(o.room(w)) + " keys need " +
                                               rounded_text(slots) + " slots; at most 2^34 can be told apart"};
    const std::uint64_t buckets = 2 * divide_up(static_cast<std::uint64_t>(std::ceil(slots)), 2 * kSlots);
    AdaptiveCuckoo f(buckets, b, p.selector_bits, o.seed);
    if (cuckoo::insert_all(f, w, o, "adaptive-cuckoo: placing keys")) return f;
    for (std::uint64_t attempt = 1; attempt <= kAttempts; ++attempt) {
      NAYSAY_CHECK(o.go_on("adaptive-cuckoo"));
      f = {};  // its memory first
      f = AdaptiveCuckoo(buckets, b, p.selector_bits, o.seed + attempt);
      std::uint64_t repeated = 0;
      const bool placed = cuckoo::insert_distinct(f, w, o, "adaptive-cuckoo: placing distinct keys", repeated);
      f.keeps_last_ = repeated > 0;
      if (placed) return f;
    }
    NAYSAY_CHECK(o.go_on("adaptive-cuckoo"));
    return Error{Errc::build_failed, "adaptive-cuckoo: " + to_text(std::uint64_t{w.keys.size()}) +
                                         " keys found no place in " + to_text(buckets) +
                                         " buckets; more bits_per_key would help"};
  }

  // Arithmetic and two prefetches.
  Place probe(Digest d) const noexcept {
    const Place at = place(d.lo);
    for (const std::uint64_t bucket : {at.first, at.second})
      __builtin_prefetch(reinterpret_cast<const unsigned char*>(words_.data()) + bucket * kSlots * slot_bits() / 8);
    return at;
  }
  bool test(const Place& at) const noexcept {
    const Functions of(*this, at.lo);
    return find_match(of, at.first) >= 0 || find_match(of, at.second) >= 0;
  }
  bool may_contain(Digest d) const noexcept { return test(place(d.lo)); }

  // False: there is no room, and nothing has changed.
  bool insert(Digest d) noexcept {
    const Place at = place(d.lo);
    for (const std::uint64_t bucket : {at.first, at.second})
      if (const int gap = find_gap(bucket); gap >= 0) return put(bucket, gap, d.lo), true;
    if (copies(at) == 2 * kSlots) return true;
    const cuckoo::FreeSlot free = cuckoo::free_a_slot<kSlots>(
        at.first, at.second, buckets_,
        [this](std::uint64_t bucket, int slot) { return other(bucket, keys_[index(bucket, slot)]); },
        [this](std::uint64_t bucket) { return find_gap(bucket); },
        [this](std::uint64_t from, int slot, std::uint64_t to, int gap) { put(to, gap, keys_[index(from, slot)]); });
    if (free.slot < 0) return false;
    put(free.bucket, free.slot, d.lo);
    return true;
  }

  // False: it is no key, and nothing has changed.
  bool erase(Digest d) noexcept {
    const Place at = place(d.lo);
    const unsigned count = copies(at);
    if (count == 0) return false;
    if (count == 2 * kSlots || (count == 1 && keeps_last_)) return true;
    for (const std::uint64_t bucket : {at.first, at.second})
      if (const int slot = find_key(bucket, d.lo); slot >= 0) return clear(bucket, slot), true;
    return false;
  }

  // True: d is refused. False: it is a key, or neither a selector nor a slot refuses it; then it is still accepted.
  bool adapt(Digest d, float /*cost*/) noexcept {
    const Place at = place(d.lo);
    if (copies(at) > 0) return false;
    const Functions of(*this, d.lo);
    for (const std::uint64_t bucket : {at.first, at.second})
      for (unsigned tries = 0; tries < 2 * kSlots; ++tries) {
        const int slot = find_match(of, bucket);
        if (slot < 0) break;
        if (!select(of, bucket, slot) && !change_place(of, bucket, slot)) return false;
      }
    return !test(at);
  }

  unsigned width() const noexcept { return b_; }
  unsigned selector_bits() const noexcept { return s_; }
  std::uint64_t slots() const noexcept { return buckets_ * kSlots; }
  // True if build() could not store every copy of the keys, so that erase keeps last copies (see the top of the file).
  bool keeps_last() const noexcept { return keeps_last_; }

  // A stranger meets an even and an odd bucket, and looks like each of their keys with probability 1 / (2^b - 1). In a
  // table of more than kSample buckets, evenly spaced ones are looked at.
  double expected_fpr() const noexcept {
    if (buckets_ == 0) return 0;
    const std::uint64_t step = buckets_ <= kSample ? 1 : (buckets_ / kSample) | 1;
    const double pass = 1 - 1 / static_cast<double>(low_mask(b_));
    double refused[2] = {0, 0}, looked_at[2] = {0, 0};
    for (std::uint64_t bucket = 0; bucket < buckets_; bucket += step) {
      int held = 0;
      for (int slot = 0; slot < static_cast<int>(kSlots); ++slot) held += get(bucket, slot) != 0;
      refused[bucket % 2] += std::pow(pass, held);
      looked_at[bucket % 2] += 1;
    }
    return 1 - refused[0] / looked_at[0] * (refused[1] / looked_at[1]);
  }

  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this) - index_bits(); }
  std::uint64_t index_bits() const noexcept { return 64 * keys_.size(); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("b", self.b_);
    visit("selector_bits", self.s_);
    visit("keeps_last", self.keeps_last_);
    visit("buckets", self.buckets_);
    visit("seed", self.seed_);
    visit("words", self.words_);
    visit("keys", self.keys_);
  }

  Result<Ok> validate() const {
    if (b_ < cuckoo::kNarrowest || b_ > cuckoo::kWidest || s_ > kMaxSelectorBits)
      return Error{Errc::corrupt, "adaptive-cuckoo: a slot has " + to_text(b_) + " bits of fingerprint and " +
                                      to_text(s_) + " of selector; it must have 4 to 32, and at most " +
                                      to_text(kMaxSelectorBits)};
    if (buckets_ < 2 || buckets_ % 2 != 0 || buckets_ > kMaxBuckets ||
        words_.size() != words_for(buckets_, slot_bits()))
      return Error{Errc::corrupt, "adaptive-cuckoo: " + to_text(words_.size()) + " words do not hold " +
                                      to_text(buckets_) + " buckets of " + to_text(kSlots * slot_bits()) +
                                      " bits, an even number of them"};
    if (keys_.size() != slots())
      return Error{Errc::corrupt, "adaptive-cuckoo: there are " + to_text(std::uint64_t{keys_.size()}) +
                                      " keys; each of the " + to_text(slots()) + " slots must have a place for one"};
    return Ok{};
  }

 private:
  static constexpr unsigned kSlots = 4;
  static constexpr unsigned kMaxSelectorBits = 4;
  static constexpr std::uint64_t kMaxBuckets = std::uint64_t{1} << 32;  // a search numbers them with 32 bits
  static constexpr unsigned kSpareSlots = 32;  // as in a cuckoo filter: small tables fill unevenly
  static constexpr std::uint64_t kAttempts = 16;
  static constexpr std::uint64_t kSample = std::uint64_t{1} << 16;

  // The fingerprints of a digest: by selector and place in a bucket, 1 .. 2^b - 1; 0 is an empty slot.
  class Functions {
   public:
    Functions(const AdaptiveCuckoo& f, std::uint64_t lo) noexcept
        : base_(lo + f.seed_), most_(low_mask(f.b_)), word_(mix64(base_)) {}
    std::uint64_t operator()(std::uint64_t selector, int slot) const noexcept {
      // Multiples of a well-mixed word by unrelated odd numbers: their high halves agree for two keys independently.
      constexpr std::uint64_t kOdd[kSlots] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0xd6e8feb86659fd93u,
                                              0xa0761d6478bd642fu};
      const std::uint64_t word = selector == 0 ? word_ : mix64(base_ + selector * 0x8ebc6af09c88c6e3u);
      return 1 + ((word * kOdd[slot] >> 32) * most_ >> 32);
    }

   private:
    std::uint64_t base_, most_, word_;
  };

  AdaptiveCuckoo(std::uint64_t buckets, unsigned b, unsigned s, std::uint64_t seed)
      : buckets_(buckets), seed_(mix64(seed + 1)), b_(b), s_(s) {
    words_ = Array<std::uint64_t>(words_for(buckets_, slot_bits()));
    keys_ = Array<std::uint64_t>(slots());
  }

  unsigned slot_bits() const noexcept { return b_ + s_; }
  // One spare word, so that the 8 bytes from the start of the last slot can be read.
  static std::uint64_t words_for(std::uint64_t buckets, unsigned slot_bits) noexcept {
    return words_for_bits(buckets * kSlots * slot_bits) + 1;
  }

  std::uint64_t even(std::uint64_t lo) const noexcept { return 2 * fast_range(lo, buckets_ / 2); }
  std::uint64_t odd(std::uint64_t lo) const noexcept { return 2 * fast_range(mix64(lo ^ seed_), buckets_ / 2) + 1; }
  std::uint64_t other(std::uint64_t bucket, std::uint64_t lo) const noexcept {
    return bucket % 2 == 0 ? odd(lo) : even(lo);
  }
  Place place(std::uint64_t lo) const noexcept { return {even(lo), odd(lo), lo}; }

  static std::uint64_t index(std::uint64_t bucket, int slot) noexcept {
    return bucket * kSlots + static_cast<unsigned>(slot);
  }
  // Fingerprint and selector; 0: empty.
  std::uint64_t get(std::uint64_t bucket, int slot) const noexcept {
    return load_bits(words_.data(), index(bucket, slot) * slot_bits(), slot_bits());
  }
  void set(std::uint64_t bucket, int slot, std::uint64_t value) noexcept {
    store_bits(words_.mutable_data(), index(bucket, slot) * slot_bits(), slot_bits(), value);
  }
  void put(std::uint64_t bucket, int slot, std::uint64_t lo) noexcept {
    keys_.mutable_data()[index(bucket, slot)] = lo;
    set(bucket, slot, Functions(*this, lo)(0, slot) << s_);
  }
  void clear(std::uint64_t bucket, int slot) noexcept {
    keys_.mutable_data()[index(bucket, slot)] = 0;
    set(bucket, slot, 0);
  }

  int find_gap(std::uint64_t bucket) const noexcept {
    for (int slot = 0; slot < static_cast<int>(kSlots); ++slot)
      if (get(bucket, slot) == 0) return slot;
    return -1;
  }
  int find_key(std::uint64_t bucket, std::uint64_t lo) const noexcept {
    for (int slot = 0; slot < static_cast<int>(kSlots); ++slot)
      if (keys_[index(bucket, slot)] == lo && get(bucket, slot) != 0) return slot;
    return -1;
  }
  unsigned copies(const Place& at) const noexcept {
    unsigned count = 0;
    for (const std::uint64_t bucket : {at.first, at.second})
      for (int slot = 0; slot < static_cast<int>(kSlots); ++slot)
        count += keys_[index(bucket, slot)] == at.lo && get(bucket, slot) != 0;
    return count;
  }
  bool matches(const Functions& of, std::uint64_t value, int slot) const noexcept {
    return value != 0 && value >> s_ == of(value & low_mask(s_), slot);
  }
  int find_match(const Functions& of, std::uint64_t bucket) const noexcept {
    for (int slot = 0; slot < static_cast<int>(kSlots); ++slot)
      if (matches(of, get(bucket, slot), slot)) return slot;
    return -1;
  }

  // The slot's key by the next selector that refuses the negative.
  bool select(const Functions& negative, std::uint64_t bucket, int slot) noexcept {
    const Functions key(*this, keys_[index(bucket, slot)]);
    const std::uint64_t now = get(bucket, slot) & low_mask(s_);
    for (std::uint64_t i = 1; i <= low_mask(s_); ++i) {
      const std::uint64_t next = (now + i) & low_mask(s_), f = key(next, slot);
      if (f == negative(next, slot)) continue;
      set(bucket, slot, f << s_ | next);
      return true;
    }
    return false;
  }
  // The slot's key in another slot of the bucket, and what that one holds, if it holds a key, in this one, so that both
  // refuse the negative.
  bool change_place(const Functions& negative, std::uint64_t bucket, int slot) noexcept {
    const std::uint64_t lo = keys_[index(bucket, slot)];
    for (int i = 1; i < static_cast<int>(kSlots); ++i) {
      const int to = (slot + i) % static_cast<int>(kSlots);
      if (Functions(*this, lo)(0, to) == negative(0, to)) continue;
      const std::uint64_t there = keys_[index(bucket, to)];
      if (get(bucket, to) == 0) {
        clear(bucket, slot);
      } else {
        if (Functions(*this, there)(0, slot) == negative(0, slot)) continue;
        put(bucket, slot, there);
      }
      put(bucket, to, lo);
      return true;
    }
    return false;
  }

  Array<std::uint64_t> words_;
  Array<std::uint64_t> keys_;  // by slot; 0 where it is empty
  std::uint64_t buckets_ = 0;
  std::uint64_t seed_ = 0;
  std::uint32_t b_ = 0;  // bits of a fingerprint
  std::uint32_t s_ = 0;  // bits of a selector
  bool keeps_last_ = false;
};

static_assert(ErasableFilter<AdaptiveCuckoo> && AdaptiveFilter<AdaptiveCuckoo> && TunableFilter<AdaptiveCuckoo> &&
              ProbedFilter<AdaptiveCuckoo> && IndexedFilter<AdaptiveCuckoo>);

}  // namespace naysay
