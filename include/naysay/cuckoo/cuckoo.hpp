// Cuckoo: a table of short fingerprints. Each key has two buckets of four slots and its fingerprint is in one of them;
// when both are full, others are moved to their other bucket.
//
//   bucket    0             i1            i2            m - 1
//          +---------+   +---------+   +---------+   +---------+
//          | 7 . . . |   | 3 9 4 9 |   | 5 . . . |   | 2 8 . . |      4 slots of b bits, packed; . is an empty slot
//          +---------+   +---------+   +---------+   +---------+
//                              ^------------^
//                 i2 = (pairing(4) - i1) mod m,  i1 = (pairing(4) - i2) mod m
//
// Fan et al. take i2 = i1 xor hash(f), which needs a power of two. The difference above is an involution for any m.
// With m even and pairing(f) odd a key's two buckets always differ: one is even, the other odd.
//
//   paper       here
//   f, fp       fingerprint: 0 .. 2^b - 2, from the low half of digest.lo; the bucket comes from its high half
//   b (slots)   kSlots = 4
//   m           buckets_: any even number
//   MaxNumKicks kMaxNodes: the path is found breadth first before anything moves, so a refused insert changes nothing
//
// Equal fingerprints in the same two buckets are *copies*: of one key, or of two keys that the filter cannot tell
// apart. Seven copies are counted. Eight fill both buckets and mean "eight or more": further inserts succeed and change
// nothing, and erase changes nothing either, because nobody knows how many keys the eight stand for.
//
// build() takes keys that repeat. It stores every copy if it can. If the copies cannot all be placed (a key has only
// two buckets, so a set in which every key comes three times does not pack to 0.95), every distinct key is stored once,
// and from then on erase leaves the last copy of anything where it is: it may stand for a copy that was not
// stored. So there is no false negative, but what was erased may still be answered "maybe". keeps_last() tells.
//
// Promises   never denies a key that was built from or inserted and not erased as often as that. Takes the capacity it
//            was built for if its keys are distinct, at load 0.95 and kSpareSlots (see there how surely). An insert
//            that returns false has changed nothing.
// Does not   count copies beyond seven; notice that a key which was never inserted is erased, if it takes it for one.
// Cost       query and erase: two cache lines, independent of each other. Insert and build: the same, and the buckets
//            of a search once both are full. Refusing a key in a full table: kMaxNodes buckets.
// Source     B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher: Cuckoo Filter, 2014, sections 3 and 4.
#pragma once

#include <algorithm>
#include <array>

#include "naysay/core/filter.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/cuckoo/cuckoo_rates.hpp"

namespace naysay {

class Cuckoo {
 public:
  struct Params {
    double bits_per_key = 13;  // 12-bit fingerprints

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };

  static constexpr Claims kClaims = {
      .about = "keys may come and go; two reads a query; best below a rate of 0.3 %",
      .fixed_bits = 2048,  // kSpareSlots and the rounding to two buckets at 32 bits a slot, one spare word, the fields
  };

  static double bits_per_key(double fpr) { return cuckoo::bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Cuckoo> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    Cuckoo f;
    f.b_ = cuckoo::width(p.bits_per_key);
    if (f.b_ == 0)
      return Error{Errc::out_of_budget, "cuckoo: bits_per_key is " + rounded_text(p.bits_per_key) +
                                            "; 4-bit fingerprints, the shortest, need " +
                                            rounded_up_text(cuckoo::kNarrowest / cuckoo::kLoad)};
    // What the width leaves of the budget becomes free slots: a lower rate and quicker inserts.
    const double needed = static_cast<double>(o.room(w)) / cuckoo::kLoad + kSpareSlots;
    const double slots = std::max(needed, static_cast<double>(budget_bits(p.bits_per_key, o.room(w))) / f.b_);
    if (slots > static_cast<double>(kMaxBuckets) * kSlots - 2 * kSlots)
      return Error{Errc::invalid_argument, "cuckoo: " + to_text(o.room(w)) + " keys at " + rounded_text(p.bits_per_key) +
                                               " bits each need " + to_text(slots) +
                                               " slots; at most 2^34 can be told apart"};
    f.buckets_ = 2 * divide_up(static_cast<std::uint64_t>(std::ceil(slots)), 2 * kSlots);
    f.restart(o.seed);
    if (f.insert_all(w, o)) return f;
    for (std::uint64_t attempt = 1; attempt <= kAttempts; ++attempt) {
      f.restart(o.seed + attempt);
      if (f.insert_distinct(w, o)) return f;
    }
    return Error{Errc::build_failed, "cuckoo: " + to_text(std::uint64_t{w.keys.size()}) + " keys found no place in " +
                                         to_text(f.buckets_) + " buckets; more bits_per_key would help"};
  }

  bool insert(Digest d) noexcept {
    return for_width([this, d](auto width) { return insert_as<width>(d); });
  }

  bool erase(Digest d) noexcept {
    return for_width([this, d](auto width) { return erase_as<width>(d); });
  }

  // True if build() could not store every copy of the keys, so that erase leaves last copies (see the top of the file).
  bool keeps_last() const noexcept { return keeps_last_; }
  unsigned width() const noexcept { return b_; }
  std::uint64_t slots() const noexcept { return buckets_ * kSlots; }

  // The same for exactly those digests that have the same two buckets and the same fingerprint: moving a fingerprint to
  // its other bucket changes nothing. The lower bucket names the pair.
  std::uint64_t address(Digest d) const noexcept {
    const Place at = place(d);
    return (std::min(at.first, at.second) << 32) | at.fingerprint;
  }

  struct Place {
    std::uint64_t first, second;
    std::uint32_t fingerprint;
  };
  // Arithmetic and two prefetches; a bucket that straddles two cache lines is prefetched by its first byte.
  Place probe(Digest d) const noexcept {
    const Place at = place(d);
    __builtin_prefetch(bytes(at.first));
    __builtin_prefetch(bytes(at.second));
    return at;
  }
  bool test(Place at) const noexcept {
    return for_width([&](auto width) { return test<width>(at); });
  }
  bool may_contain(Digest d) const noexcept {
    return for_width([&](auto width) { return test<width>(place<width>(d)); });
  }

  // Exact: a stranger is a bucket and a fingerprint, each as likely as any other; this counts those that are accepted.
  // A fingerprint in a bucket makes two of them so, unless its copy in the other bucket does already. Of more than
  // kSample buckets, every so many are looked at.
  double expected_fpr() const noexcept {
    if (buckets_ == 0) return 0;
    const std::uint64_t step = buckets_ <= kSample ? 1 : (buckets_ / kSample) | 1;
    std::uint64_t asked = 0, accepted = 0;
    for (std::uint64_t bucket = 0; bucket < buckets_; bucket += step, ++asked) {
      std::uint32_t seen[kSlots];
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        const std::uint32_t f = seen[slot] = get(bucket, static_cast<int>(slot * b_));
        if (f == empty() || std::find(seen, seen + slot, f) != seen + slot) continue;
        accepted += find(partner(bucket, f), f) >= 0 ? 1 : 2;
      }
    }
    return static_cast<double>(accepted) / (static_cast<double>(asked) * static_cast<double>(low_mask(b_)));
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("b", self.b_);
    visit("keeps_last", self.keeps_last_);
    visit("buckets", self.buckets_);
    visit("pairing", self.pairing_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    if (b_ < cuckoo::kNarrowest || b_ > cuckoo::kWidest)
      return Error{Errc::corrupt, "cuckoo: the fingerprint has " + to_text(b_) + " bits; it must have 4 to 32"};
    if (buckets_ < 2 || buckets_ % 2 != 0 || buckets_ > kMaxBuckets || words_.size() != words_for(buckets_, b_))
      return Error{Errc::corrupt, "cuckoo: " + to_text(words_.size()) + " words do not hold " + to_text(buckets_) +
                                      " buckets of " + to_text(4 * b_) + " bits, an even number of them"};
    return Ok{};
  }

 private:
  static constexpr unsigned kSlots = 4;
  static constexpr unsigned kNarrow = 16;      // up to here a bucket fits a word; beyond, half a bucket does
  static constexpr unsigned kOneProduct = 12;  // see partner()
  // Bucket and fingerprint share the 64 bits of lo.
  static constexpr std::uint64_t kMaxBuckets = std::uint64_t{1} << 32;
  // Small tables are uneven. With 32 slots more than 0.95 asks for, key by key, none of 100,000 tables of 8 bits and 60
  // keys stopped short of its capacity, and 3 of 360,000 of 4 bits and 10 to 300 keys; with 16 more, 9 of 180,000 did.
  static constexpr unsigned kSpareSlots = 32;
  static constexpr unsigned kMaxNodes = 2048;  // with 1024, 4-bit tables of 1e6 keys reached 0.965; with 8192, 0.975
  static constexpr std::uint64_t kAttempts = 16;
  static constexpr std::uint64_t kSample = std::uint64_t{1} << 18;
  static constexpr auto kLanes = [] {
    std::array<PackedFields, cuckoo::kWidest + 1> lanes{};
    for (unsigned b = cuckoo::kNarrowest; b <= cuckoo::kWidest; ++b)
      lanes[b] = PackedFields(b, b <= kNarrow ? 4 : 2);
    return lanes;
  }();

  // The fingerprint that no key has. A slot holds the complement of its fingerprint, so that a slot of zeros is empty,
  // and so that comparing needs one instruction less (PackedFields::matches).
  template <unsigned B = 0>
  std::uint32_t empty() const noexcept {
    return static_cast<std::uint32_t>(low_mask(B != 0 ? B : b_));
  }

  // One spare word, so that the 8 bytes from the start of the last bucket, or of its second half, can be read.
  static std::uint64_t words_for(std::uint64_t buckets, unsigned b) noexcept {
    return words_for_bits(buckets * kSlots * b) + 1;
  }

  void restart(std::uint64_t seed) {
    choose_pairing(seed);
    keeps_last_ = false;
    words_ = Array<std::uint64_t>(words_for(buckets_, b_));
  }
  // With a multiplier by which fingerprints share their partners a table may stop short of 0.95: one of 700 did at 4
  // bits and 1000 keys, one of 10,000 at 12 bits and 200 keys. Of 16 multipliers the first with most partners is taken;
  // then none of 200,000 did at 12 bits and 200 keys. Between 6 bits and kOneProduct any will do.
  void choose_pairing(std::uint64_t seed) {
    constexpr unsigned kFew = 6;
    const std::uint64_t tried = b_ <= kFew || b_ >= kOneProduct ? 16 : 1;
    const std::size_t many = std::min<std::size_t>(empty(), 1 << kFew);
    std::uint64_t best = 0;
    std::size_t most = 0;
    for (std::uint64_t i = 1; i <= tried && most < many; ++i) {
      pairing_ = mix64(16 * seed + i) | 1;
      std::uint64_t partners[1 << kFew];
      for (std::uint32_t f = 0; f < many; ++f) partners[f] = partner(0, f);
      std::sort(partners, partners + many);
      const auto distinct = static_cast<std::size_t>(std::unique(partners, partners + many) - partners);
      if (distinct > most) most = distinct, best = pairing_;
    }
    pairing_ = best;
  }
  bool insert_all(const Workload& w, const BuildOptions& o) {
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0) o.tell("cuckoo: placing fingerprints", i, w.keys.size());
      if (i + kAhead < w.keys.size()) probe(w.keys[i + kAhead]);
      if (!insert(w.keys[i])) return false;
    }
    return true;
  }
  // Shards only to find the keys that repeat: a shard's are sorted. Only lo is needed to insert a key.
  bool insert_distinct(const Workload& w, const BuildOptions& o) {
    bool placed = true;
    std::uint64_t distinct = 0;
    for_each_shard(w.keys, divide_up(w.keys.size(), kShardKeys), 1, [&](std::uint64_t, std::span<std::uint64_t> los) {
      std::sort(los.begin(), los.end());
      const auto end = std::unique(los.begin(), los.end());
      distinct += static_cast<std::uint64_t>(end - los.begin());
      for (auto lo = los.begin(); placed && lo != end; ++lo) placed = insert({*lo, 0});
    });
    keeps_last_ = distinct < w.keys.size();
    if (placed && keeps_last_) o.say("repeated keys stored once", static_cast<double>(w.keys.size() - distinct));
    return placed;
  }
  static constexpr std::uint64_t kShardKeys = 1 << 14;  // 128 KiB: sorted within the second-level cache

  // Compiled for the widths whose buckets begin at 4, 6 or 8 whole bytes, the usual one first, and once for all others
  // (B = 0: the width is b_).
  template <class Ask>
  bool for_width(Ask ask) const noexcept {
    if (b_ == 12) [[likely]]
      return ask(std::integral_constant<unsigned, 12>{});
    if (b_ == 8) [[likely]]
      return ask(std::integral_constant<unsigned, 8>{});
    if (b_ == 16) [[likely]]
      return ask(std::integral_constant<unsigned, 16>{});
    return ask(std::integral_constant<unsigned, 0>{});
  }
  template <unsigned B>
  std::uint64_t width_or() const noexcept {
    return B != 0 ? B : b_;
  }
  template <unsigned B = 0>
  Place place(Digest d) const noexcept {
    const auto low = static_cast<std::uint32_t>(d.lo);
    const auto f = static_cast<std::uint32_t>((low * ((std::uint64_t{1} << width_or<B>()) - 1)) >> 32);
    const std::uint64_t first = fast_range(d.lo, buckets_);
    return {first, partner<B>(first, f), f};
  }
  template <unsigned B>
  bool test(Place at) const noexcept {
    const PackedFields& lanes = kLanes[width_or<B>()];
    const std::uint64_t f = opaque(lanes.ones) * at.fingerprint;
    if (width_or<B>() <= kNarrow) {
      // Two constants, to which a caller's branch can be joined, in place of a value that it would test again.
      if ((lanes.matches(four<B>(at.first), f) | lanes.matches(four<B>(at.second), f)) == 0) return false;
      return true;
    }
    std::uint64_t found = 0;
    for (std::uint64_t bucket : {at.first, at.second})
      for (unsigned half : {0u, 1u}) found |= lanes.matches(two(bucket, half), f);
    return found != 0;
  }
  // pairing(f) is an odd number less than buckets_. From kOneProduct bits on it is the f-th multiple of one step, so
  // that two moves from a bucket reach 2^b others, more than a search looks at. Narrow fingerprints need a second
  // product, by which they reach 4^b: with one their tables stop short of 0.95.
  template <unsigned B = 0>
  std::uint64_t partner(std::uint64_t bucket, std::uint32_t f) const noexcept {
    const std::uint64_t x = f * pairing_;
    const std::uint64_t y = width_or<B>() >= kOneProduct ? static_cast<std::uint32_t>(x) : x * (x >> 32) >> 32;
    const std::uint64_t sum = (y * buckets_ >> 32) | 1;
    const auto other = static_cast<std::int64_t>(sum - bucket);
    return static_cast<std::uint64_t>(other < 0 ? other + static_cast<std::int64_t>(buckets_) : other);
  }

  // A bucket is 4 b bits: it begins at a whole byte, or, every other one if b is odd, in the middle of one.
  template <unsigned B = 0>
  const unsigned char* bytes(std::uint64_t bucket) const noexcept {
    return reinterpret_cast<const unsigned char*>(words_.data()) + (B != 0 ? bucket * (B / 2) : bucket * b_ / 2);
  }
  // The four slots of a bucket, from bit 0 on. Requires b_ <= kNarrow.
  template <unsigned B = 0>
  std::uint64_t four(std::uint64_t bucket) const noexcept {
    static_assert(B % 2 == 0);
    return B != 0 ? load_u64(bytes<B>(bucket)) : load_u64(bytes(bucket)) >> (bucket * b_ % 2 * 4);
  }
  // Two slots of a bucket, from bit 0 on.
  std::uint64_t two(std::uint64_t bucket, unsigned half) const noexcept {
    return load_window(words_.data(), (bucket * kSlots + 2 * half) * b_);
  }
  // The first bit, within its bucket, of the first slot that holds f, or -1.
  int find(std::uint64_t bucket, std::uint32_t f) const noexcept {
    const PackedFields& lanes = kLanes[b_];
    const std::uint64_t all = lanes.repeat(f);
    const int top = static_cast<int>(b_) - 1;
    if (b_ <= kNarrow) {
      const std::uint64_t found = lanes.matches(four(bucket), all);
      return found == 0 ? -1 : std::countr_zero(found) - top;
    }
    for (unsigned half : {0u, 1u})
      if (const std::uint64_t found = lanes.matches(two(bucket, half), all); found != 0)
        return static_cast<int>(2 * half * b_) + std::countr_zero(found) - top;
    return -1;
  }
  std::uint32_t get(std::uint64_t bucket, int bit) const noexcept {
    return empty() ^
           static_cast<std::uint32_t>(load_bits(words_.data(), bucket * kSlots * b_ + static_cast<unsigned>(bit), b_));
  }
  template <unsigned B = 0>
  void put(std::uint64_t bucket, int bit, std::uint32_t f) noexcept {
    const auto from = static_cast<unsigned>(bit);
    if constexpr (B == 0) {
      store_bits(words_.mutable_data(), bucket * kSlots * b_ + from, b_, f ^ empty());
    } else {
      unsigned char* to = reinterpret_cast<unsigned char*>(words_.mutable_data()) + bucket * (B / 2);
      store_u64(to, (load_u64(to) & ~(low_mask(B) << from)) | (std::uint64_t{f ^ empty<B>()} << from));
    }
  }
  // Both buckets are compared before either is chosen, so that their cache misses overlap. For insert the choice is
  // arithmetic, because it is a coin toss. erase branches: its store need not wait for both buckets then.
  template <unsigned B>
  bool insert_as(Digest d) noexcept {
    const Place at = place<B>(d);
    if (width_or<B>() > kNarrow) {
      for (std::uint64_t bucket : {at.first, at.second})
        if (const int slot = find(bucket, empty()); slot >= 0) {
          put(bucket, slot, at.fingerprint);
          return true;
        }
    } else {
      const PackedFields& lanes = kLanes[width_or<B>()];
      const std::uint64_t none = lanes.repeat(empty<B>());
      const std::uint64_t in_first = lanes.matches(four<B>(at.first), none);
      const std::uint64_t in_second = lanes.matches(four<B>(at.second), none);
      if ((in_first | in_second) != 0) [[likely]] {
        const std::uint64_t pick = all_ones_if(in_first != 0);
        put<B>(choose(pick, at.first, at.second), slot_of<B>(choose(pick, in_first, in_second)), at.fingerprint);
        return true;
      }
    }
    return saturated(at) || make_room(at);
  }
  // By arithmetic, or the compiler would make it the branch that it must not be.
  static std::uint64_t all_ones_if(bool yes) noexcept { return 0 - std::uint64_t{yes}; }
  static std::uint64_t choose(std::uint64_t pick, std::uint64_t a, std::uint64_t b) noexcept {
    return (a & pick) | (b & ~pick);
  }
  template <unsigned B>
  bool erase_as(Digest d) noexcept {
    const Place at = place<B>(d);
    if (width_or<B>() > kNarrow || keeps_last_) [[unlikely]]
      return erase_with_care(d.lo);
    const PackedFields& lanes = kLanes[width_or<B>()];
    const std::uint64_t wanted = opaque(lanes.ones) * at.fingerprint;
    const std::uint64_t in_first = lanes.matches(four<B>(at.first), wanted);
    const std::uint64_t in_second = lanes.matches(four<B>(at.second), wanted);
    if (in_first != 0) {
      if (in_second != 0) [[unlikely]]
        return erase_with_care(d.lo);
      put<B>(at.first, slot_of<B>(in_first), empty<B>());
      return true;
    }
    if (in_second == 0) return false;
    put<B>(at.second, slot_of<B>(in_second), empty<B>());
    return true;
  }
  [[gnu::noinline]] bool erase_with_care(std::uint64_t lo) noexcept {
    const Place at = place({lo, 0});
    if (saturated(at)) return true;
    for (std::uint64_t bucket : {at.first, at.second})
      if (const int slot = find(bucket, at.fingerprint); slot >= 0) {
        put(bucket, slot, empty());
        if (keeps_last_ && !test(at)) put(bucket, slot, at.fingerprint);
        return true;
      }
    return false;
  }
  template <unsigned B>
  int slot_of(std::uint64_t found) const noexcept {
    return std::countr_zero(found) - static_cast<int>(width_or<B>()) + 1;
  }
  bool saturated(Place at) const noexcept {
    for (std::uint64_t bucket : {at.first, at.second})
      for (unsigned slot = 0; slot < kSlots; ++slot)
        if (get(bucket, static_cast<int>(slot * b_)) != at.fingerprint) return false;
    return true;
  }

  // Both buckets are full: finds the shortest chain of moves that ends in an empty slot, then moves along it from its
  // end. No bucket is on a shortest chain twice, so that no move disturbs an earlier one. A random walk would move
  // before it knows, and takes longer chains. False, and nothing moved, if the first kMaxNodes buckets reached are
  // full.
  bool make_room(Place at) noexcept {
    struct Node {
      std::uint32_t bucket;
      std::uint16_t parent;
      std::uint16_t bit;  // of the slot in the parent bucket whose fingerprint has this as its other bucket
    };
    Node nodes[kMaxNodes];
    nodes[0] = {static_cast<std::uint32_t>(at.first), 0, 0};
    nodes[1] = {static_cast<std::uint32_t>(at.second), 1, 0};
    unsigned reached = 2;
    // In a small table, full, the same buckets would come again and again; in a large one hardly any does.
    const bool small = buckets_ <= kMaxNodes;
    std::uint64_t seen[kMaxNodes / 64];
    if (small) {
      std::fill(std::begin(seen), std::end(seen), 0);
      set_bit(seen, at.first);
      set_bit(seen, at.second);
    }
    for (unsigned i = 0; i < reached; ++i) {
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        int bit = static_cast<int>(slot * b_);
        const std::uint32_t f = get(nodes[i].bucket, bit);
        std::uint64_t to = partner(nodes[i].bucket, f);
        int gap = find(to, empty());
        if (gap < 0) {
          if (reached == kMaxNodes || (small ? test_bit(seen, to) : to == nodes[nodes[i].parent].bucket)) continue;
          nodes[reached++] = {static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(i),
                              static_cast<std::uint16_t>(bit)};
          if (small) set_bit(seen, to);
          continue;
        }
        for (unsigned j = i;; j = nodes[j].parent) {
          put(to, gap, get(nodes[j].bucket, bit));
          to = nodes[j].bucket;
          gap = bit;
          if (nodes[j].parent == j) break;
          bit = nodes[j].bit;
        }
        put(to, gap, at.fingerprint);
        return true;
      }
    }
    return false;
  }

  Array<std::uint64_t> words_;
  std::uint64_t buckets_ = 0;
  std::uint64_t pairing_ = 0;  // the multiplier behind partner(); another one is another table
  std::uint32_t b_ = 0;        // bits of a fingerprint
  bool keeps_last_ = false;
};

static_assert(ErasableFilter<Cuckoo> && TunableFilter<Cuckoo> && ProbedFilter<Cuckoo> && AddressedFilter<Cuckoo>);

}  // namespace naysay
