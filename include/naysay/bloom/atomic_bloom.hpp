// SPDX-License-Identifier: Apache-2.0
// AtomicBloom: a Bloom filter that any number of threads may insert into and query at the same time.
//
// Bloom::insert reads a word, sets a bit and writes the word back. If two threads do that to one word, one of the two
// bits is lost, and with it a key. Here a bit is set by an atomic "or", which loses nothing.
//
//   thread A  or 0001 ---+
//                        v
//   word      0100 -> 0101 -> 0111
//                                ^
//   thread B  or 0010 -----------+
//
// It is a part of hosts that must know which keys are on their way (hosts/rocksdb), not a registered filter: it is
// never saved.
//
//   n   capacity        k   probes of a key        m   bits
//
// Promises   a key is never denied to a thread that knows (by any synchronisation) that insert() of it has returned.
// Cost       query and insert: k words, of which a stranger reads two on the average. Inserting a key that is in already
//            writes nothing.
// Source     Bloom, 1970; probes as in Bloom (core/hash.hpp, HashWalk).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>

#include "naysay/core/hash.hpp"

namespace naysay {

class AtomicBloom {
 public:
  // With `capacity` keys in it, a stranger passes as often as in a Bloom filter of that many bits per key.
  explicit AtomicBloom(std::uint64_t capacity, double bits_per_key = 10)
      : words_((static_cast<std::uint64_t>(bits_per_key * static_cast<double>(std::max<std::uint64_t>(capacity, 1))) +
                63) /
               64),
        probes_(static_cast<unsigned>(std::clamp(std::round(bits_per_key * 0.6931), 1.0, 30.0))),
        bits_(new std::atomic<std::uint64_t>[words_]()) {}

  void insert(Digest d) noexcept {
    HashWalk walk(d);
    for (unsigned i = 0; i < probes_; ++i) {
      const std::uint64_t at = fast_range(walk.next(), words_ * 64), bit = std::uint64_t{1} << (at % 64);
      std::atomic<std::uint64_t>& word = bits_[at / 64];
      if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  bool may_contain(Digest d) const noexcept {
    HashWalk walk(d);
    for (unsigned i = 0; i < probes_; ++i) {
      const std::uint64_t at = fast_range(walk.next(), words_ * 64);
      if ((bits_[at / 64].load(std::memory_order_relaxed) >> (at % 64) & 1) == 0) return false;
    }
    return true;
  }
  std::uint64_t size_bits() const noexcept { return words_ * 64; }

 private:
  std::uint64_t words_;
  unsigned probes_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> bits_;
};

}  // namespace naysay
