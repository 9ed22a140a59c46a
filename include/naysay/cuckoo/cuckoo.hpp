// SPDX-License-Identifier: Apache-2.0
// Cuckoo: a table of short fingerprints. A key has two buckets of four slots, and its fingerprint is in one of them. If
// both are full, other fingerprints are moved to their other bucket.
//
//   bucket    0             i1            i2            m - 1
//          +---------+   +---------+   +---------+   +---------+
//          | 7 . . . |   | 3 9 4 9 |   | 5 . . . |   | 2 8 . . |      4 slots of b bits, packed; . is an empty slot
//          +---------+   +---------+   +---------+   +---------+
//                              ^------------^
//                 i2 = (pairing(4) - i1) mod m,  i1 = (pairing(4) - i2) mod m
//
// Fan et al. use i2 = i1 xor hash(f), which needs a power of two. The difference above is an involution for any m. With
// m even and pairing(f) odd a key's two buckets always differ: one is even, the other odd.
//
//   paper       here
//   f, fp       fingerprint: 0 .. 2^b - 2, from the low half of digest.lo; the bucket comes from its high half
//   b (slots)   Buckets::kSlots = 4
//   m           the number of buckets: any even number
//   MaxNumKicks kMaxNodes (detail/chain.hpp): the path is found breadth first before anything moves, so an insert that fails
//               changes nothing
//
// Equal fingerprints in the same two buckets are *copies*: of one key, or of two keys that the filter cannot tell
// apart. Up to seven copies are counted. Eight fill both buckets and mean "eight or more": further inserts succeed and
// change nothing, and erase changes nothing either, because the number of keys is no longer known.
//
// Keys given to build() may repeat. It stores every copy if it can. A key has only two buckets, so a set in which every
// key comes three times does not fit at load 0.95. Then every distinct key is stored once, and from then on erase never
// removes the last copy of a fingerprint, because it may stand for a copy that was not stored. So there is no false
// negative, but a key that was erased may still be answered "maybe". keeps_last() says whether this is so.
//
// Promises   never denies a key that was built from or inserted and not erased as often. Has room for the capacity it
//            was built for if its keys are distinct, at load 0.95 and kSpareSlots (see there how surely). An insert
//            that returns false has changed nothing.
// Does not   count copies beyond seven; detect the erasure of a key that was never inserted (a false positive); that
//            may remove another key.
// Cost       Query and erase: two cache lines, independent of each other. Insert and build: the same, and the buckets
//            of a search if both are full. Refusing a key in a full table: kMaxNodes buckets.
// Source     B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher: Cuckoo Filter, 2014, sections 3 and 4.
#pragma once

#include <algorithm>

#include "naysay/core/filter.hpp"
#include "naysay/cuckoo/cuckoo_rates.hpp"
#include "naysay/cuckoo/detail/buckets.hpp"
#include "naysay/cuckoo/detail/fill.hpp"

namespace naysay {

class Cuckoo {
  using Buckets = cuckoo::Buckets;

 public:
  using Place = Buckets::Place;

  struct Params {
    double bits_per_key = 13;  // 12-bit fingerprints

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };

  static constexpr Claims kClaims = {
      .about = "insertions and deletions; two reads per query; best below a rate of 0.3 %",
      .fixed_bits = 2048,  // kSpareSlots and rounding to two buckets at 32 bits per slot, a spare word, the fields
  };

  static double bits_per_key(double fpr) { return cuckoo::bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Cuckoo> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    Cuckoo f;
    const unsigned b = cuckoo::width(p.bits_per_key);
    if (b == 0)
      return Error{Errc::out_of_budget, "cuckoo: bits_per_key is " + rounded_text(p.bits_per_key) +
                                            "; 4-bit fingerprints, the shortest, need " +
                                            rounded_up_text(cuckoo::kNarrowest / cuckoo::kLoad)};
    // What the width leaves of the budget becomes free slots: a lower rate and faster inserts.
    const double needed = static_cast<double>(o.room(w)) / cuckoo::kLoad + kSpareSlots;
    const double slots = std::max(needed, static_cast<double>(budget_bits(p.bits_per_key, o.room(w))) / b);
    if (slots > static_cast<double>(Buckets::kMaxBuckets) * Buckets::kSlots - 2 * Buckets::kSlots)
      return Error{Errc::invalid_argument, "cuckoo: " + to_text(o.room(w)) + " keys at " +
                                               rounded_text(p.bits_per_key) + " bits each need " + rounded_text(slots) +
                                               " slots; at most 2^34 can be told apart"};
    const std::uint64_t buckets = 2 * divide_up(static_cast<std::uint64_t>(std::ceil(slots)), 2 * Buckets::kSlots);
    f.buckets_ = Buckets(buckets, b, o.seed);
    if (cuckoo::insert_all(f, w, o, "cuckoo: placing fingerprints")) return f;
    for (std::uint64_t attempt = 1; attempt <= kAttempts; ++attempt) {
      NAYSAY_CHECK(o.go_on("cuckoo"));
      f.buckets_ = {};  // its memory first
      f.buckets_ = Buckets(buckets, b, o.seed + attempt);
      std::uint64_t repeated = 0;
      const bool placed = cuckoo::insert_distinct(f, w, o, "cuckoo: placing distinct fingerprints", repeated);
      f.keeps_last_ = repeated > 0;
      if (placed) return f;
    }
    NAYSAY_CHECK(o.go_on("cuckoo"));
    return Error{Errc::build_failed, "cuckoo: " + to_text(std::uint64_t{w.keys.size()}) + " keys found no place in " +
                                         to_text(buckets) + " buckets; more bits_per_key would help"};
  }

  bool insert(Digest d) noexcept {
    return buckets_.for_width([this, d](auto width) { return buckets_.insert<width>(d); });
  }

  bool erase(Digest d) noexcept {
    return buckets_.for_width([this, d](auto width) { return buckets_.erase<width>(d, keeps_last_); });
  }

  // True if build() could not store every copy of the keys, so that erase keeps last copies (see the top of the file).
  bool keeps_last() const noexcept { return keeps_last_; }
  unsigned width() const noexcept { return buckets_.width(); }
  std::uint64_t slots() const noexcept { return buckets_.size() * Buckets::kSlots; }

  // The same for exactly those digests that have the same two buckets and the same fingerprint: moving a fingerprint to
  // its other bucket changes nothing. The lower bucket names the pair.
  std::uint64_t address(Digest d) const noexcept {
    const Place at = buckets_.place(d);
    return (std::min(at.first, at.second) << 32) | at.fingerprint;
  }

  // Arithmetic and two prefetches.
  Place probe(Digest d) const noexcept {
    const Place at = buckets_.place(d);
    buckets_.prefetch(at);
    return at;
  }
  bool test(Place at) const noexcept { return buckets_.test(at); }
  [[gnu::always_inline]] bool may_contain(Digest d) const noexcept {  // it reads half of the digest
    return buckets_.for_width([&](auto width) { return buckets_.test<width>(buckets_.place<width>(d)); });
  }

  // Exact: a stranger is a bucket and a fingerprint, all pairs equally likely; this counts the pairs that are accepted.
  // A fingerprint in a bucket makes two pairs accepted, unless its copy in the other bucket already does. In a table
  // of more than kSample buckets, evenly spaced ones are looked at.
  double expected_fpr() const noexcept {
    const std::uint64_t count = buckets_.size();
    if (count == 0) return 0;
    const std::uint64_t step = count <= kSample ? 1 : (count / kSample) | 1;
    std::uint64_t looked_at = 0, accepted = 0;
    for (std::uint64_t bucket = 0; bucket < count; bucket += step, ++looked_at) {
      std::uint32_t seen[Buckets::kSlots];
      for (unsigned slot = 0; slot < Buckets::kSlots; ++slot) {
        const std::uint32_t f = seen[slot] = buckets_.get(bucket, static_cast<int>(slot * width()));
        if (f == buckets_.empty() || std::find(seen, seen + slot, f) != seen + slot) continue;
        accepted += buckets_.find(buckets_.partner(bucket, f), f) >= 0 ? 1 : 2;
      }
    }
    return static_cast<double>(accepted) / (static_cast<double>(looked_at) * static_cast<double>(low_mask(width())));
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("b", self.buckets_.b_);
    visit("keeps_last", self.keeps_last_);
    visit("buckets", self.buckets_.buckets_);
    visit("pairing", self.buckets_.pairing_);
    visit("words", self.buckets_.words_);
  }
  Result<Ok> validate() const { return buckets_.validate(); }

 private:
  // Small tables fill unevenly. With 32 slots more than load 0.95 needs, none of 100,000 tables of 8 bits and 60 keys
  // was full before its capacity, and 3 of 360,000 of 4 bits and 10 to 300 keys were; with 16 more, 9 of 180,000.
  static constexpr unsigned kSpareSlots = 32;
  static constexpr std::uint64_t kAttempts = 16;
  static constexpr std::uint64_t kSample = std::uint64_t{1} << 16;

  Buckets buckets_;
  bool keeps_last_ = false;
};

static_assert(ErasableFilter<Cuckoo> && TunableFilter<Cuckoo> && ProbedFilter<Cuckoo> && AddressedFilter<Cuckoo>);

}  // namespace naysay
