// SPDX-License-Identifier: Apache-2.0
// Buckets: the table of a cuckoo filter. Buckets of four slots, each slot a fingerprint of b bits, packed.
//
//   bucket    0             i1            i2            m - 1
//          +---------+   +---------+   +---------+   +---------+
//          | 7 . . . |   | 3 9 4 9 |   | 5 . . . |   | 2 8 . . |      . is an empty slot
//          +---------+   +---------+   +---------+   +---------+
//                              ^------------^
//                 i2 = (pairing(4) - i1) mod m,  i1 = (pairing(4) - i2) mod m
//
// Up to 16 bits a bucket fits a word, and its four slots are compared in one step (PackedFields).
//
// Promises   An insert that returns false has changed nothing: the chain of moves is found before anything moves.
// Cost       A query reads the two buckets of a key, independent of each other. An insert reads more buckets only if
//            both are full, at most kMaxNodes.
// Source     B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher: Cuckoo Filter, 2014, sections 3 and 4.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "naysay/core/filter.hpp"
#include "naysay/cuckoo/cuckoo_rates.hpp"
#include "naysay/cuckoo/detail/chain.hpp"

namespace naysay {
class Cuckoo;
}

namespace naysay::cuckoo {

class Buckets {
 public:
  static constexpr unsigned kSlots = 4;
  static constexpr unsigned kNarrow = 16;  // up to here a bucket fits a word; beyond, half a bucket does
  // Bucket and fingerprint share the 64 bits of lo.
  static constexpr std::uint64_t kMaxBuckets = std::uint64_t{1} << 32;

  // The two buckets of a key, and its fingerprint.
  struct Place {
    std::uint64_t first, second;
    std::uint32_t fingerprint;
  };

  Buckets() = default;
  // Empty. Requires an even number of buckets, and kNarrowest <= b <= kWidest.
  Buckets(std::uint64_t buckets, unsigned b, std::uint64_t seed) : buckets_(buckets), b_(b) {
    choose_pairing(seed);
    words_ = Array<std::uint64_t>(words_for(buckets_, b_));
  }

  unsigned width() const noexcept { return b_; }
  std::uint64_t size() const noexcept { return buckets_; }

  // Calls body with the width as a constant: those whose buckets have 4, 6 or 8 whole bytes, the usual one first, and 0
  // for all others (B = 0: the width is b_). Inlined, so that a digest stays in registers.
  template <class Body>
  [[gnu::always_inline]] bool for_width(Body body) const noexcept {
    if (b_ == 12) [[likely]]
      return body(std::integral_constant<unsigned, 12>{});
    if (b_ == 8) [[likely]]
      return body(std::integral_constant<unsigned, 8>{});
    if (b_ == 16) [[likely]]
      return body(std::integral_constant<unsigned, 16>{});
    return body(std::integral_constant<unsigned, 0>{});
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
      // Returning two constants lets the compiler merge a caller's branch with this one.
      if ((lanes.matches(four<B>(at.first), f) | lanes.matches(four<B>(at.second), f)) == 0) return false;
      return true;
    }
    std::uint64_t found = 0;
    for (std::uint64_t bucket : {at.first, at.second})
      for (unsigned half : {0u, 1u}) found |= lanes.matches(two(bucket, half), f);
    return found != 0;
  }
  // The other bucket of a fingerprint. pairing(f) is an odd number less than buckets_. From kOneProduct bits on it is
  // the f-th multiple of one step, so that two moves from a bucket reach 2^b others, more than a search looks at.
  // Narrow fingerprints need a second product, by which they reach 4^b: with one, their tables are full below a load
  // of 0.95.
  template <unsigned B = 0>
  std::uint64_t partner(std::uint64_t bucket, std::uint32_t f) const noexcept {
    const std::uint64_t x = f * pairing_;
    const std::uint64_t y = width_or<B>() >= kOneProduct ? static_cast<std::uint32_t>(x) : x * (x >> 32) >> 32;
    const std::uint64_t sum = (y * buckets_ >> 32) | 1;
    const auto other = static_cast<std::int64_t>(sum - bucket);
    return static_cast<std::uint64_t>(other < 0 ? other + static_cast<std::int64_t>(buckets_) : other);
  }

  // A bucket that straddles two cache lines is prefetched by its first byte.
  void prefetch(const Place& at) const noexcept {
    __builtin_prefetch(bytes(at.first));
    __builtin_prefetch(bytes(at.second));
  }
  bool test(Place at) const noexcept {
    return for_width([&](auto width) { return test<width>(at); });
  }

  // The fingerprint that no key has. A slot holds the complement of its fingerprint, so that a slot of zeros is empty,
  // and so that comparing needs one instruction less (PackedFields::matches).
  template <unsigned B = 0>
  std::uint32_t empty() const noexcept {
    return static_cast<std::uint32_t>(low_mask(B != 0 ? B : b_));
  }

  // False: there is no room, and nothing has changed. Both buckets are compared before either is chosen, so that their
  // cache misses overlap. For insert the choice is arithmetic, because it is a coin toss. erase branches, so that its
  // store need not wait for both buckets.
  template <unsigned B>
  bool insert(Digest d) noexcept {
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
  // With keep_last the last copy of a fingerprint stays.
  template <unsigned B>
  bool erase(Digest d, bool keep_last) noexcept {
    const Place at = place<B>(d);
    if (width_or<B>() > kNarrow || keep_last) [[unlikely]]
      return erase_with_care(d.lo, keep_last);
    const PackedFields& lanes = kLanes[width_or<B>()];
    const std::uint64_t wanted = opaque(lanes.ones) * at.fingerprint;
    const std::uint64_t in_first = lanes.matches(four<B>(at.first), wanted);
    const std::uint64_t in_second = lanes.matches(four<B>(at.second), wanted);
    if (in_first != 0) {
      if (in_second != 0) [[unlikely]]
        return erase_with_care(d.lo, keep_last);
      put<B>(at.first, slot_of<B>(in_first), empty<B>());
      return true;
    }
    if (in_second == 0) return false;
    put<B>(at.second, slot_of<B>(in_second), empty<B>());
    return true;
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

  Result<Ok> validate() const {
    if (b_ < kNarrowest || b_ > kWidest)
      return Error{Errc::corrupt, "cuckoo: the fingerprint has " + to_text(b_) + " bits; it must have 4 to 32"};
    if (buckets_ < 2 || buckets_ % 2 != 0 || buckets_ > kMaxBuckets || words_.size() != words_for(buckets_, b_))
      return Error{Errc::corrupt, "cuckoo: " + to_text(words_.size()) + " words do not hold " + to_text(buckets_) +
                                      " buckets of " + to_text(4 * b_) + " bits, an even number of them"};
    return Ok{};
  }

 private:
  friend class naysay::Cuckoo;  // its fields() names the members

  static constexpr unsigned kOneProduct = 12;  // see partner()
  static constexpr auto kLanes = [] {
    std::array<PackedFields, kWidest + 1> lanes{};
    for (unsigned b = kNarrowest; b <= kWidest; ++b) lanes[b] = PackedFields(b, b <= kNarrow ? 4 : 2);
    return lanes;
  }();

  // One spare word, so that the 8 bytes from the start of the last bucket, or of its second half, can be read.
  static std::uint64_t words_for(std::uint64_t buckets, unsigned b) noexcept {
    return words_for_bits(buckets * kSlots * b) + 1;
  }

  // If many fingerprints share their partners, a table may be full below a load of 0.95. With a random multiplier that
  // happened to one of 700 tables of 4 bits and 1000 keys, and to one of 10,000 of 12 bits and 200 keys. So the first
  // of 16 multipliers with the most partners is used; then it happened to none of 200,000 of 12 bits and 200 keys.
  // Between 6 bits and kOneProduct any multiplier will do.
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
  // Written as arithmetic, because the compiler would turn a conditional into a branch.
  static std::uint64_t all_ones_if(bool yes) noexcept { return 0 - std::uint64_t{yes}; }
  static std::uint64_t choose(std::uint64_t pick, std::uint64_t a, std::uint64_t b) noexcept {
    return (a & pick) | (b & ~pick);
  }
  [[gnu::noinline]] bool erase_with_care(std::uint64_t lo, bool keep_last) noexcept {
    const Place at = place({lo, 0});
    if (saturated(at)) return true;
    for (std::uint64_t bucket : {at.first, at.second})
      if (const int slot = find(bucket, at.fingerprint); slot >= 0) {
        put(bucket, slot, empty());
        if (keep_last && !test(at)) put(bucket, slot, at.fingerprint);
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

  // Both buckets are full. False, and nothing moved, if the first kMaxNodes buckets reached are full.
  bool make_room(Place at) noexcept {
    const auto bit = [this](int slot) { return slot * static_cast<int>(b_); };
    const FreeSlot free = free_a_slot<kSlots>(
        at.first, at.second, buckets_,
        [&](std::uint64_t bucket, int slot) { return partner(bucket, get(bucket, bit(slot))); },
        [&](std::uint64_t bucket) {
          const int gap = find(bucket, empty());
          return gap < 0 ? -1 : gap / static_cast<int>(b_);
        },
        [&](std::uint64_t from, int slot, std::uint64_t to, int gap) { put(to, bit(gap), get(from, bit(slot))); });
    if (free.slot < 0) return false;
    put(free.bucket, bit(free.slot), at.fingerprint);
    return true;
  }

  Array<std::uint64_t> words_;
  std::uint64_t buckets_ = 0;
  std::uint64_t pairing_ = 0;  // the multiplier of partner(); another one is another table
  std::uint32_t b_ = 0;        // bits of a fingerprint
};

}  // namespace naysay::cuckoo
