// SPDX-License-Identifier: Apache-2.0
// Bloom: the classic Bloom filter, the baseline for all others. Every key sets k bits of one large array.
//
//   key --> h0 h1 h2         bit   0 1 0 0 1 0 0 0 1 0 ...     "maybe" if all k are set,
//            |  |  +-------------------------------^           "no" as soon as one is not
//            |  +------------------------^
//            +------------------^
//
//   paper     here
//   m         64 * words_.size(): any number of words, no power-of-two waste
//   k         k_: by default the best for bits_per_key, about bits_per_key * ln 2
//   h_i       the i-th value of HashWalk: its high bits choose the word, its low six the bit
//
// Promises   never denies a key it was built from or given by insert.
// Does not   erase keys. It never refuses an insert, but every insert raises the false-positive rate.
// Cost       Build and query touch k cache lines at random. A query tests the first kGroup bits together: half of all
//            bits are set, so a branch per bit would be a coin toss that the processor loses once per stranger.
// Source     B. Bloom, 1970; hashing: Kirsch and Mitzenmacher, 2006, and the third term of core/hash.hpp.
#pragma once

#include <cmath>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/bloom/detail/scatter.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

class Bloom {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t k = 0;  // 0: the best for bits_per_key

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
    }
  };

  static constexpr Claims kClaims = {
      .about = "the baseline: simple, dynamic, 1.44 times the optimal space",
  };

  static double bits_per_key(double fpr) { return bloom::bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Bloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument,
                   "bloom: k is " + std::to_string(p.k) + "; it must be at most 64, or 0 for the best"};
    Bloom f;
    f.k_ = p.k != 0 ? p.k : bloom::best_k(p.bits_per_key);
    f.words_ = Array<std::uint64_t>(words_for_bits(budget_bits(p.bits_per_key, o.room(w))));
    simd() >= Simd::avx2 ? f.fill_bmi2(w, o) : f.fill(w, o);
    NAYSAY_CHECK(o.go_on("bloom"));
    return f;
  }

  bool insert(Digest d) noexcept {
    std::uint64_t* words = words_.mutable_data();
    const std::uint64_t n = words_.size();
    HashWalk walk(d);
    for (std::uint32_t i = 0; i < k_; ++i) {
      const std::uint64_t h = walk.next();
      words[fast_range(h, n)] |= std::uint64_t{1} << (h & 63);
    }
    return true;
  }

  bool may_contain(Digest d) const noexcept {
    const std::uint64_t* words = words_.data();
    const std::uint64_t n = words_.size();
    HashWalk walk(d);
    std::uint32_t left = k_;
    if (left >= kGroup) {
      std::uint64_t all = 1;
      for (std::uint32_t i = 0; i < kGroup; ++i) {
        const std::uint64_t h = walk.next();
        all &= words[fast_range(h, n)] >> (h & 63);
      }
      if (all == 0) return false;
      left -= kGroup;
    }
    for (; left > 0; --left) {
      const std::uint64_t h = walk.next();
      if (((words[fast_range(h, n)] >> (h & 63)) & 1) == 0) return false;
    }
    return true;
  }

  // Computed from the bits that are set, so duplicates and later inserts are taken into account.
  double expected_fpr() const noexcept {
    std::uint64_t ones = 0;
    const std::uint64_t seen = for_each_sampled(words_.size(), std::uint64_t{1} << 16, 8, [&](std::uint64_t i) {
      ones += static_cast<std::uint64_t>(std::popcount(words_[i]));
    });
    return seen == 0 ? 0.0 : std::pow(static_cast<double>(ones) / (64 * static_cast<double>(seen)), k_);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("k", self.k_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK) return Error{Errc::corrupt, "bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    if (words_.empty()) return Error{Errc::corrupt, "bloom: there are 0 words; it needs at least 1"};
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;
  static constexpr std::uint32_t kGroup = 3;  // of 1 to 3, the fastest on strangers in cache, and as fast as 1 outside

  // One body, compiled twice: a variable shift is three operations on a plain x86-64 and one with BMI2.
  [[gnu::always_inline]] void fill(const Workload& w, const BuildOptions& o) {
    std::uint64_t* words = words_.mutable_data();
    const std::uint64_t n = words_.size();
    bloom::Scatter set(64 * n, 1, [words](std::uint64_t bit) { set_bit(words, bit); });
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("bloom: setting bits", i, w.keys.size())) return;
      if (!set.pays()) {
        insert(w.keys[i]);
        continue;
      }
      HashWalk walk(w.keys[i]);
      for (std::uint32_t j = 0; j < k_; ++j) {
        const std::uint64_t h = walk.next();
        set(64 * fast_range(h, n) + (h & 63));
      }
    }
    set.finish();
  }
  NAYSAY_TARGET(NAYSAY_AVX2) void fill_bmi2(const Workload& w, const BuildOptions& o) { fill(w, o); }

  Array<std::uint64_t> words_;
  std::uint32_t k_ = 0;
};

static_assert(DynamicFilter<Bloom> && TunableFilter<Bloom>);

}  // namespace naysay
