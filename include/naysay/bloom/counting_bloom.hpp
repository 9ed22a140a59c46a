// SPDX-License-Identifier: Apache-2.0
// CountingBloom: a Bloom filter with a small counter in place of each bit, so that keys can be erased.
//
//   key --> h0 h1 h2         counter   0 2 0 0 1 0 15 0 1 0 ...    insert: k counters up; erase: k counters down
//            |  |  +---------------------------------^             "maybe" if all k are above 0
//            |  +--------------------------^
//            +--------------------^             ^ sticky: full, it never moves again
//
//   paper     here
//   m         counters_.size(): any number; whole words of them, 16 each, if they have 4 bits
//   c         counter_bits: 4 in the paper, 2 to 16 here
//   k         k_: by default the best for bits_per_key / counter_bits counters per key
//   h_i       the i-th value of HashWalk, reduced to [0, m); with 4 bits its high bits give the word, its low four the
//             counter in it. Both are uniform and independent, so every counter is equally likely.
//
// Promises   never denies a key that was inserted more often than erased, as long as only keys of the set are erased. A
//            counter at its maximum is sticky: it stays there, because the number of keys it stands for is no longer
//            known. Erasing what may_contain denies returns false and changes nothing.
// Does not   detect the erasure of a key that was never inserted (a false positive); that may remove other keys. It
//            never refuses an insert, but every insert raises the false-positive rate.
// Cost       counter_bits times the space of a Bloom filter; k random cache lines per operation.
// Source     L. Fan, P. Cao, J. Almeida, A. Broder: Summary Cache, IEEE/ACM Transactions on Networking 8(3), 2000: four
//            bits suffice, as one of m counters reaches 16 with probability at most 1.37e-15 m.
#pragma once

#include <cmath>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/bloom/detail/scatter.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

class CountingBloom {
 public:
  struct Params {
    double bits_per_key = 40;
    std::uint32_t counter_bits = 4;
    std::uint32_t k = 0;  // 0: the best for bits_per_key / counter_bits

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("counter_bits", self.counter_bits);
      visit("k", self.k);
    }
  };

  static constexpr Claims kClaims = {
      .about = "a Bloom filter that can erase: simple and fast, at four times the space",
  };

  static double bits_per_key(double fpr) { return bloom::bits_per_key(fpr) * Params{}.counter_bits; }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<CountingBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument,
                   "counting-bloom: k is " + std::to_string(p.k) + "; it must be at most 64, or 0 for the best"};
    if (p.counter_bits < kMinBits || p.counter_bits > kMaxBits)
      return Error{Errc::invalid_argument,
                   "counting-bloom: counter_bits is " + std::to_string(p.counter_bits) + "; it must be 2 to 16"};
    CountingBloom f;
    const std::uint64_t counters = budget_bits(p.bits_per_key, o.room(w)) / p.counter_bits;
    f.counters_ = Cells(p.counter_bits == kUsualBits ? counters - counters % kPerWord : counters, p.counter_bits);
    f.k_ = p.k != 0 ? p.k : bloom::best_k(p.bits_per_key / p.counter_bits);
    if (!f.usual())
      f.fill(w, o, [&f](std::uint64_t i) { f.counters_.increment(i); });
    else
      simd() >= Simd::avx2 ? f.fill_bmi2(w, o) : f.fill_usual(w, o);
    NAYSAY_CHECK(o.go_on("counting-bloom"));
    return f;
  }

  bool insert(Digest d) noexcept {
    if (usual())
      move<nibble_up>(d);
    else
      for_each(d, [this](std::uint64_t i) { counters_.increment(i); });
    return true;
  }
  bool erase(Digest d) noexcept {
    if (!may_contain(d)) return false;
    if (usual())
      move<nibble_down>(d);
    else
      for_each(d, [this](std::uint64_t i) { counters_.decrement(i); });
    return true;
  }
  bool may_contain(Digest d) const noexcept {
    HashWalk walk(d);
    if (!usual()) return all_above_zero([&] { return counters_.nonzero(fast_range(walk.next(), counters_.size())); });
    const std::uint64_t* words = counters_.words();
    const std::uint64_t size = counters_.size() / kPerWord;
    return all_above_zero([&] {
      const Nibble at(walk.next(), size);
      return nibble_is_set(words[at.word], at.shift);
    });
  }

  // Computed from the counters above 0, so duplicates, later inserts and erasures are taken into account.
  double expected_fpr() const noexcept {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 18;
    std::uint64_t used = 0, seen = counters_.size();
    if (seen <= kMost)
      used = counters_.count_nonzero();
    else
      seen = for_each_sampled(seen, kMost, 64, [&](std::uint64_t i) { used += counters_.get(i) != 0; });
    return seen == 0 ? 0.0 : std::pow(static_cast<double>(used) / static_cast<double>(seen), k_);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("k", self.k_);
    visit("counters", self.counters_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK)
      return Error{Errc::corrupt, "counting-bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    if (counters_.size() == 0 || counters_.width() < kMinBits || counters_.width() > kMaxBits)
      return Error{Errc::corrupt, "counting-bloom: there are " + std::to_string(counters_.size()) + " counters of " +
                                      std::to_string(counters_.width()) + " bits; some of 2 to 16 bits are needed"};
    if (usual() && counters_.size() % kPerWord != 0)
      return Error{Errc::corrupt, "counting-bloom: there are " + std::to_string(counters_.size()) +
                                      " counters of 4 bits; they must fill their words, 16 each"};
    return counters_.validate();
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;
  static constexpr std::uint32_t kMinBits = 2, kMaxBits = 16;  // one bit would be sticky after one key
  static constexpr std::uint32_t kGroup = 3;                   // as in Bloom

  static constexpr std::uint32_t kUsualBits = 4, kPerWord = 64 / kUsualBits;

  bool usual() const noexcept { return counters_.width() == kUsualBits; }

  // The word and the bit of the counter that a hash selects, if counters have the usual width.
  struct Nibble {
    std::uint64_t word;
    unsigned shift;
    Nibble(std::uint64_t hash, std::uint64_t words) noexcept
        : word(fast_range(hash, words)), shift(static_cast<unsigned>(hash % kPerWord) * kUsualBits) {}
  };

  // Requires usual(). The locals keep the compiler from reading the members again after each store to a counter.
  template <std::uint64_t step(std::uint64_t, unsigned) noexcept>
  void move(Digest d) noexcept {
    std::uint64_t* words = counters_.mutable_words();
    const std::uint64_t size = counters_.size() / kPerWord;
    HashWalk walk(d);
    for (std::uint32_t left = k_; left > 0; --left) {
      const Nibble at(walk.next(), size);
      words[at.word] = step(words[at.word], at.shift);
    }
  }
  // Calls visit with the number of each of d's counters.
  template <class Visit>
  [[gnu::always_inline]] void for_each(Digest d, Visit&& visit) const {
    const bool by_word = usual();
    const std::uint64_t size = by_word ? counters_.size() / kPerWord : counters_.size();
    HashWalk walk(d);
    for (std::uint32_t left = k_; left > 0; --left) {
      const std::uint64_t hash = walk.next(), i = fast_range(hash, size);
      visit(by_word ? i * kPerWord + hash % kPerWord : i);
    }
  }
  // next() says whether the next counter is above 0.
  template <class Next>
  bool all_above_zero(Next next) const noexcept {
    std::uint32_t left = k_;
    if (left >= kGroup) {
      bool all = true;
      for (std::uint32_t i = 0; i < kGroup; ++i) all &= next();
      if (!all) return false;
      left -= kGroup;
    }
    for (; left > 0; --left)
      if (!next()) return false;
    return true;
  }

  template <class Up>
  [[gnu::always_inline]] void fill(const Workload& w, const BuildOptions& o, Up up) {
    bloom::Scatter count(counters_.size(), counters_.width(), up);
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("counting-bloom: counting", i, w.keys.size())) return;
      if (count.pays())
        for_each(w.keys[i], count);
      else
        insert(w.keys[i]);
    }
    count.finish();
  }
  [[gnu::always_inline]] void fill_usual(const Workload& w, const BuildOptions& o) {
    fill(w, o, [words = counters_.mutable_words()](std::uint64_t i) {
      std::uint64_t& word = words[i / kPerWord];
      word = nibble_up(word, static_cast<unsigned>(i % kPerWord) * kUsualBits);
    });
  }
  // One body, compiled again: a variable shift is three operations on a plain x86-64 and one with BMI2.
  NAYSAY_TARGET(NAYSAY_AVX2) void fill_bmi2(const Workload& w, const BuildOptions& o) { fill_usual(w, o); }

  Cells counters_;
  std::uint32_t k_ = 0;
};

static_assert(ErasableFilter<CountingBloom> && TunableFilter<CountingBloom>);

}  // namespace naysay
