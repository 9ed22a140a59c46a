// SPDX-License-Identifier: Apache-2.0
// Peel: finds cell values such that the xor of the cells of every key is its fingerprint. Xor and BinaryFuse differ
// only in which cells a key has (their Geometry); the rest of both is here.
//
//   keys a b c           cell   0   1   2   3   4          Cell 0 has only a: a is peeled. Cell 0 will give a its
//   a: cells 0 2 3             a   b   a   a   c           fingerprint, whatever 2 and 3 become. Without a, cell 3 has
//   b: cells 1 2 4                     b   c   b           only c, and so on until no key is left. Then the cells are
//   c: cells 2 3 4                     c                   set in the reverse order.
//
// Keys are split into shards (core/detail/shards.hpp). Each shard is peeled on its own with its own seed, so a build
// runs on any number of threads, in little memory, and if the keys of a shard do not peel, only that shard is repeated.
//
//   digest.lo --> shard, word     (word ^ shard.seed) * odd = h --> cells (by the Geometry), fingerprint
//
// While a shard is peeled, a slot is one word, so that it lies in one cache line:
//
//   | xor of the h of its keys, 56 bits | how many, 6 bits | xor of which cell this slot is of each, 2 bits |
//
// A Geometry says where a key's cells are:
//   static constexpr unsigned kArity;                    the number of cells of a key, at most 4
//   static constexpr bool kLocal;                        keys with near h have near cells
//   std::uint64_t slots(std::uint32_t range) const;      the number of cells of a shard of that range
//   void place(std::uint64_t h, std::uint64_t first, std::uint32_t range, std::uint64_t (&at)[kArity]) const;
//                                                        all different, in [first, first + slots(range)), from the
//                                                        high 56 bits of h
//
// Promises   the cells of every key give its fingerprint. A key that comes more than once counts once.
// Cost       A shard needs 13 bytes of scratch per key, 17 if it is local and large. An attempt succeeds with a
//            probability that the caller chooses by the number of slots.
// Source     F. Botelho, R. Pagh, N. Ziviani: Simple and Space-Efficient Minimal Perfect Hash Functions, 2007.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "naysay/core/detail/shards.hpp"

namespace naysay::fuse {

class PeeledCells {
 public:
  // One shard: where its cells begin, how many there are, and the seed with which its keys peeled.
  struct Shard {
    std::uint64_t seed = 0;
    std::uint32_t first = 0;  // in units of kUnit cells
    std::uint32_t range = 0;  // what the Geometry makes of it
  };

  // What a build will need: the shards, without their seeds, and the cells of all together.
  struct Plan {
    std::vector<std::uint64_t> counts;  // the keys of each shard, copies counted
    Array<Shard> shards;
    std::uint64_t cells = 0;

    // The widest cell, 1 to 32 bits, with which the whole stays within bits_per_key for each of n keys plus fixed_bits,
    // and no wider than bits_per_key, so that a handful of keys does not use up the fixed bits. 0 if there is none.
    unsigned widest(double bits_per_key, std::uint64_t n, std::uint64_t fixed_bits) const noexcept {
      const double other = static_cast<double>(128 * shards.size() + 224);  // two words and the n and b of Cells
      const double bits = bits_per_key * static_cast<double>(n) + static_cast<double>(fixed_bits) - other;
      return static_cast<unsigned>(std::clamp(std::min(bits / static_cast<double>(cells), bits_per_key), 0.0, 32.0));
    }
  };

  // range_for(n) is the range of a shard of n keys.
  template <class Geometry, class RangeFor>
  static Plan plan(const Workload& w, std::uint64_t shards, const Geometry& geometry, RangeFor range_for) {
    Plan p;
    p.shards = Array<Shard>(shards);
    p.counts = shard_counts(w.keys, shards, SplitByLo{});
    for (std::uint64_t s = 0; s < shards; ++s) {
      Shard& shard = p.shards.at_mut(s);
      shard.first = static_cast<std::uint32_t>(p.cells / kUnit);
      shard.range = range_for(p.counts[s]);
      p.cells = (p.cells / kUnit + divide_up(geometry.slots(shard.range), kUnit)) * kUnit;
    }
    // The last shard ends where its cells do, so that a small filter is small.
    const Shard& last = p.shards[shards - 1];
    p.cells = last.first * kUnit + geometry.slots(last.range);
    return p;
  }

  // Requires the plan of the same workload and geometry. `who` begins an error message.
  template <class Geometry>
  static Result<PeeledCells> build(std::string_view who, const Workload& w, const BuildOptions& o, Plan plan,
                                   unsigned width, const Geometry& geometry) {
    PeeledCells f;
    f.shards_ = std::move(plan.shards);
    f.cells_ = Cells(plan.cells, width);
    std::atomic<bool> failed{false};
    std::atomic<std::uint64_t> repeated{0};
    std::uint64_t done = 0;
    std::mutex telling;
    const std::string stage = std::string(who) + ": peeling";
    for_each_shard(
        w.keys, std::span<const std::uint64_t>(plan.counts), o.threads,
        [&](std::uint64_t s, std::span<std::uint64_t> keys) {
          if (o.cancelled()) return;
          Shard& shard = f.shards_.at_mut(s);
          const std::uint64_t slots = geometry.slots(shard.range);
          Array<std::uint64_t> words(slots);
          const auto scratch = std::make_unique_for_overwrite<std::uint64_t[]>(
              std::max<std::uint64_t>(slots / 2 + 1, sorts(geometry, slots) ? keys.size() : 0));
          bool peeled = false;
          for (std::uint64_t attempt = 0; attempt < kAttempts && !peeled; ++attempt) {
            if (attempt == 1) {  // a key may come twice; checked only now, because most first attempts succeed
              std::sort(keys.begin(), keys.end());
              keys = keys.first(static_cast<std::size_t>(std::unique(keys.begin(), keys.end()) - keys.begin()));
            }
            if (attempt > 0) std::fill(words.mutable_data(), words.mutable_data() + slots, 0);
            shard.seed = mix64(o.seed + attempt * 0x9e3779b97f4a7c15u);
            peeled = peel(keys, shard, geometry, words.mutable_data(), slots, scratch.get());
            if (!peeled) repeated.fetch_add(1, std::memory_order_relaxed);
          }
          if (peeled)
            f.cells_.write(shard.first * kUnit, words.data(), slots);
          else
            failed.store(true, std::memory_order_relaxed);
          if (o.progress) {
            const std::lock_guard<std::mutex> one_at_a_time(telling);
            o.tell(stage, ++done, f.shards_.size());
          }
        },
        SplitByLo{});
    NAYSAY_CHECK(o.go_on(who));
    o.say("shards", static_cast<double>(f.shards_.size()));
    o.say("attempts repeated", static_cast<double>(repeated.load()));
    if (failed.load())
      return Error{Errc::build_failed, std::string(who) + ": a shard did not peel with any of " +
                                           std::to_string(kAttempts) + " seeds; another seed may help"};
    return f;
  }

  unsigned width() const noexcept { return cells_.width(); }

  template <class Geometry>
  [[gnu::always_inline]] bool may_contain(Digest d, const Geometry& geometry) const noexcept {
    // Cells are usually bytes, and where the shards are large, a filter that fits a cache is one shard. There every
    // instruction counts. A loop of queries keeps in registers what is read before the branch. The other case is a call,
    // because it would need the same registers.
    const std::uint64_t* words = cells_.words();
    if constexpr (Geometry::kLocal) {
      const Shard only = shards_[0];
      if (((shards_.size() ^ 1) | (cells_.width() ^ 8)) == 0) [[likely]]
        return bytes_match(words, only, 0, d.lo, geometry);  // SplitByLo of one shard; it begins at cell 0
    } else if (cells_.width() == 8) [[likely]] {
      const ShardSplit to = SplitByLo{}(d, shards_.size());
      const Shard& shard = shards_[to.shard];
      return bytes_match(words, shard, std::uint64_t{shard.first} * kUnit, to.word, geometry);
    }
    return may_contain_any(d, geometry);
  }
  // The batch loop of core/filter.hpp, for a geometry that is known only here.
  template <class Geometry>
  void may_contain(std::span<const Digest> keys, std::uint8_t* out, const Geometry& geometry) const noexcept {
    const std::size_t n = keys.size();
    if (cells_.size() / 8 * cells_.width() < kPrefetchFrom) {
      for (std::size_t i = 0; i < n; ++i) out[i] = may_contain(keys[i], geometry);
      return;
    }
    Probe<Geometry> ring[kAhead];
    for (std::size_t i = 0; i < n + kAhead; ++i) {
      if (i >= kAhead) out[i - kAhead] = test(ring[i % kAhead]);
      if (i < n) prefetch(ring[i % kAhead] = probe(keys[i], geometry));
    }
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("shards", self.shards_);
    visit("cells", self.cells_);
  }
  // fits(first, range): the geometry keeps every h within the slots(range) cells from `first` on.
  template <class Geometry, class Fits>
  Result<Ok> validate(std::string_view who, const Geometry& geometry, Fits fits) const {
    NAYSAY_CHECK(cells_.validate());
    if (shards_.empty()) return Error{Errc::corrupt, std::string(who) + ": there are 0 shards; it needs at least 1"};
    if (shards_[0].first != 0)
      return Error{Errc::corrupt, std::string(who) + ": the first shard begins at cell " +
                                      std::to_string(shards_[0].first * kUnit) + "; it must begin at cell 0"};
    for (const Shard& shard : shards_) {
      const std::uint64_t first = shard.first * kUnit, end = first + geometry.slots(shard.range);
      if (!fits(first, shard.range) || end > cells_.size())
        return Error{Errc::corrupt, std::string(who) + ": a shard has range " + std::to_string(shard.range) +
                                        " from cell " + std::to_string(first) + " on; whole segments within " +
                                        std::to_string(cells_.size()) + " cells are needed"};
    }
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kUnit = 64;  // cells: a whole number of words, whatever the width (Cells::write)
  static constexpr std::uint64_t kPrefetchFrom = std::uint64_t{2} << 20;  // bytes: about a second-level cache
  // An attempt fails with probability 1/2 at worst (tiny sets), so 2^-256 for all of them.
  static constexpr std::uint64_t kAttempts = 256;

  // The low eight bits of h are not used, so that a slot can count in them.
  static std::uint64_t hash(std::uint64_t key, std::uint64_t seed) noexcept {
    return (key ^ seed) * opaque(0xe7037ed1a0b428dbu);
  }
  static std::uint64_t fingerprint(std::uint64_t h) noexcept { return (h >> 8) ^ (h >> 32); }

  template <class Geometry>
  struct Probe {
    std::uint64_t at[Geometry::kArity];
    std::uint64_t fingerprint;
  };
  template <class Geometry>
  Probe<Geometry> probe(Digest d, const Geometry& geometry) const noexcept {
    const ShardSplit to = SplitByLo{}(d, shards_.size());
    const Shard& shard = shards_[to.shard];
    const std::uint64_t h = hash(to.word, shard.seed);
    Probe<Geometry> p;
    geometry.place(h, std::uint64_t{shard.first} * kUnit, shard.range, p.at);
    p.fingerprint = fingerprint(h);
    return p;
  }
  template <class Geometry>
  void prefetch(const Probe<Geometry>& p) const noexcept {
    for (std::uint64_t at : p.at) cells_.prefetch(at);
  }
  template <class Geometry>
  bool test(const Probe<Geometry>& p) const noexcept {
    if (cells_.width() == 8) return matches<8>(p);
    if (cells_.width() == 16) return matches<16>(p);
    return matches<0>(p);
  }
  template <unsigned B, class Geometry>
  bool matches(const Probe<Geometry>& p) const noexcept {
    std::uint64_t x = p.fingerprint;
    for (std::uint64_t at : p.at) x ^= cells_.peek<B>(at);
    return (x & (B == 0 ? cells_.max() : low_mask(B))) == 0;
  }

  template <class Geometry>
  [[gnu::noinline, gnu::pure]] bool may_contain_any(Digest d, Geometry geometry) const noexcept {
    return test(probe(d, geometry));
  }

  // matches<8>(probe()) in the fewest instructions. Requires that the shard's cells begin at `first`.
  template <class Geometry>
  [[gnu::always_inline]] static bool bytes_match(const std::uint64_t* words, const Shard& shard, std::uint64_t first,
                                                 std::uint64_t word, const Geometry& geometry) noexcept {
    const std::uint64_t h = hash(word, shard.seed);
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(words) + first;
    std::uint64_t at[Geometry::kArity];
    geometry.place(h, 0, shard.range, at);
    std::uint64_t x = fingerprint(h);
    for (std::uint64_t i : at) x ^= bytes[i];
    return static_cast<std::uint8_t>(x) == 0;
  }

  // Whether the keys of a shard are sorted by their cells first: if the cells exceed about a second-level cache.
  template <class Geometry>
  static bool sorts(const Geometry&, std::uint64_t slots) noexcept {
    return Geometry::kLocal && slots >= (std::uint64_t{1} << 17);
  }

  // Writes the h of all keys to `to`, those with the same high eight bits side by side.
  static void sort_by_place(std::span<const std::uint64_t> keys, std::uint64_t seed, std::uint64_t* to) noexcept {
    std::uint64_t start[257] = {};
    for (std::uint64_t key : keys) ++start[(hash(key, seed) >> 56) + 1];
    for (unsigned i = 0; i < 256; ++i) start[i + 1] += start[i];
    for (std::uint64_t key : keys) {
      const std::uint64_t h = hash(key, seed);
      to[start[h >> 56]++] = h;
    }
  }

  // True, and words holds the cell values, if all keys peel. Requires words all zero, and in scratch room for the keys
  // if sorts(), and for slots + 1 numbers of 32 bits: the peeled slots from the left end on, and those to look at next
  // from the right end on. A slot is left with a single key at most once, so the two never meet.
  template <class Geometry>
  static bool peel(std::span<const std::uint64_t> keys, const Shard& shard, const Geometry& geometry,
                   std::uint64_t* words, std::uint64_t slots, std::uint64_t* scratch) noexcept {
    constexpr unsigned k = Geometry::kArity;
    constexpr std::uint64_t kOne = 4, kCount = 0xfc, kMany = 0x80;  // a slot has 32 keys only if keys repeat
    std::uint64_t at[k], seen = 0;
    const auto add = [&](std::uint64_t hash_of_key) {
      const std::uint64_t h = hash_of_key & ~std::uint64_t{0xff};
      geometry.place(h, 0, shard.range, at);
      for (unsigned i = 0; i < k; ++i) seen |= words[at[i]] = (words[at[i]] + kOne) ^ (h | i);
    };
    if (sorts(geometry, slots)) {
      sort_by_place(keys, shard.seed, scratch);
      for (std::size_t i = 0; i < keys.size(); ++i) add(scratch[i]);
    } else {
      for (std::uint64_t key : keys) add(hash(key, shard.seed));
    }
    if ((seen & kMany) != 0) return false;

    using Slot [[gnu::may_alias]] = std::uint32_t;  // the sorted keys were there as 64-bit words
    Slot* stack = reinterpret_cast<Slot*>(scratch);
    std::uint64_t top = slots + 1, peeled = 0;
    for (std::uint64_t i = 0; i < slots; ++i) {
      stack[top - 1] = static_cast<std::uint32_t>(i);
      top -= (words[i] & kCount) == kOne;
    }
    while (top <= slots) {
      const std::uint32_t slot = stack[top++];
      const std::uint64_t word = words[slot];
      if ((word & kCount) != kOne) continue;
      const std::uint64_t h = word & ~std::uint64_t{0xff};
      stack[peeled++] = slot;
      geometry.place(h, 0, shard.range, at);
      for (unsigned i = 0; i < k; ++i) {
        const std::uint64_t left = (words[at[i]] - kOne) ^ (h | i);
        words[at[i]] = left;
        stack[top - 1] = static_cast<std::uint32_t>(at[i]);
        top -= (left & kCount) == kOne;
      }
      words[slot] = word;  // keeps h for the way back
    }
    if (peeled != keys.size()) return false;

    while (peeled > 0) {
      const std::uint32_t slot = stack[--peeled];
      const std::uint64_t word = words[slot], h = word & ~std::uint64_t{0xff};
      geometry.place(h, 0, shard.range, at);
      std::uint64_t value = fingerprint(h) ^ word;  // the slot itself is one of those below
      for (unsigned i = 0; i < k; ++i) value ^= words[at[i]];
      words[slot] = value & low_mask(32);
    }
    return true;
  }

  Directory<Shard> shards_;
  Cells cells_;
};

}  // namespace naysay::fuse
