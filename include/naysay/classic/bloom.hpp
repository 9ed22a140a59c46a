// Bloom: the filter that all others are measured by. k bits of one large array are set for every key.
//
//   key --> h0 h1 h2         bit   0 1 0 0 1 0 0 0 1 0 ...     "maybe" if all k are set,
//            |  |  +-------------------------------^           "no" at the first that is not
//            |  +------------------------^
//            +------------------^
//
//   paper     here
//   m         bits_: any number, no power-of-two waste
//   k         k_: by default the best for bits_per_key, about bits_per_key * ln 2
//   h_i       double_hash(d, i): lo + i * hi
//
// Promises   never denies a key it was built from or given by insert.
// Does not   erase; refuse to grow full: every insert raises the rate.
// Cost       build and query touch k cache lines at random; a stranger is denied after about two.
// Source     B. Bloom, 1970; double hashing: Kirsch and Mitzenmacher, 2006.
#pragma once

#include <cmath>

#include "naysay/core/filter.hpp"
#include "naysay/theory/rates.hpp"

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

  static double bits_per_key(double fpr) { return rates::bloom_bits_per_key(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Bloom> build(const Workload& w, const Params& p) {
    if (p.k > kMaxK)
      return Error{Errc::invalid_argument, "bloom: k is " + std::to_string(p.k) + "; it must be at most 64, or 0 for the best"};
    Bloom f;
    f.bits_ = budget_bits(p.bits_per_key, w.room());
    f.k_ = p.k != 0 ? p.k : rates::bloom_best_k(p.bits_per_key);
    f.words_ = Array<std::uint64_t>(words_for_bits(f.bits_));
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0) w.tell("bloom: setting bits", i, w.keys.size());
      f.insert(w.keys[i]);
    }
    return f;
  }

  bool insert(Digest d) noexcept {
    std::uint64_t* words = words_.mutable_data();
    for (std::uint32_t i = 0; i < k_; ++i) set_bit(words, position(d, i));
    return true;
  }

  bool may_contain(Digest d) const noexcept {
    for (std::uint32_t i = 0; i < k_; ++i)
      if (!test_bit(words_.data(), position(d, i))) return false;
    return true;
  }

  // From the bits that are set, so that duplicates and later inserts are counted as they are.
  double expected_fpr() const noexcept {
    std::uint64_t ones = 0;
    for (std::uint64_t word : words_) ones += static_cast<std::uint64_t>(std::popcount(word));
    return bits_ == 0 ? 0.0 : std::pow(static_cast<double>(ones) / static_cast<double>(bits_), k_);
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits", self.bits_);
    visit("k", self.k_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    if (k_ < 1 || k_ > kMaxK) return Error{Errc::corrupt, "bloom: k is " + std::to_string(k_) + "; it must be 1 to 64"};
    if (bits_ == 0 || words_.size() != words_for_bits(bits_))
      return Error{Errc::corrupt, "bloom: " + std::to_string(words_.size()) + " words do not hold " + std::to_string(bits_) + " bits"};
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kMaxK = 64;

  std::uint64_t position(Digest d, std::uint32_t i) const noexcept { return fast_range(double_hash(d, i), bits_); }

  Array<std::uint64_t> words_;
  std::uint64_t bits_ = 0;
  std::uint32_t k_ = 0;
};

static_assert(DynamicFilter<Bloom> && TunableFilter<Bloom>);

}  // namespace naysay
