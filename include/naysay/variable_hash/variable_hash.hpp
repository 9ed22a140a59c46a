// VariableHash: for every slot of about two dozen keys, the numbers of hash functions that all its keys pass.
//
//   key --> region                hash
//             |   [number of the function that spreads the region's keys most evenly over its 8 sectors]
//           sector
//             |   [ ... the sector's keys over its 8 buckets]
//           bucket
//             |   [ ... the bucket's keys over its 8 slots]
//           slot  | 81 | 1f | 0 | c2 | 77 | ...     k numbers of r bits, each of a function that sends every key of the
//                                                   slot to odd. 0: none was found, accepts all.
//
//           "maybe" if all k functions send the key to odd; a stranger has an even chance at each.
//
//   paper          here
//   n, m           keys, slots()
//   r, k           function_bits_, k_ (the first extra_ slots have one more, so that a budget is used to the bit)
//   r_s, r_b       sector_bits, bucket_bits
//   H_i            family::accepts (function_family.hpp)
//   phase 1, 2     best_spread (spread.hpp), FunctionSearch (function_search.hpp)
//
// Known negatives: of the functions that a slot's keys pass, the one is taken that refuses most of the cost of the
// slot's known negatives still accepted. Most slots have about ten to choose from, so a few functions refuse nearly
// all of them.
//
// Promises   never denies a key it was built from; the same bytes for any number of threads and instruction set, and
//            from the CUDA builder (cuda/).
// Does not   insert or erase; refuse every known negative for certain. What it absorbs after the build, it absorbs with
//            a file of its keys beside it: adaptive_variable_hash.hpp.
// Cost       a query reads three small tables and one or two cache lines. A build counts 2^r_s + 2^r_b spread
//            functions a key, 512 at a time, and solves for the slot functions.
// Source     Deeds, 2020, chapter 3; regions, functions in parts, solving, mixed k and the choice by known negatives are
//            ours.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "naysay/variable_hash/detail/function_search.hpp"
#include "naysay/variable_hash/detail/spread.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"
#include "naysay/core/detail/shards.hpp"
#include "naysay/variable_hash/variable_hash_rates.hpp"

namespace naysay {

// How much time a build may take, for how few bits.
enum class Effort : std::uint32_t { fast, balanced, small };
inline std::span<const std::string_view> enum_names(Effort) noexcept {
  static constexpr std::string_view names[] = {"fast", "balanced", "small"};
  return names;
}

class VariableHash {
 public:
  struct Params {
    double bits_per_key = 10;
    Effort effort = Effort::balanced;
    double keys_per_slot = 0;         // 0: by effort
    std::uint32_t function_bits = 0;  // 0: the best for the budget; at most 55
    std::uint32_t functions = 0;      // of a slot; 0: as many as the budget pays for; at most 64
    std::uint32_t sector_bits = 0;    // log2 of the spread functions tried for a sector; 0: by effort; 9 to 16
    std::uint32_t bucket_bits = 0;    // ... for a bucket

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("effort", self.effort);
      visit("keys_per_slot", self.keys_per_slot);
      visit("function_bits", self.function_bits);
      visit("functions", self.functions);
      visit("sector_bits", self.sector_bits);
      visit("bucket_bits", self.bucket_bits);
    }
  };

  static constexpr Claims kClaims = {
      .about = "small slots of searched hash functions: refuses most known negatives, can absorb more with a key file",
      .uses_negatives = true,
      .fpr_model_error = 0.01,
      .fixed_bits = 2048,
  };

  using Shape = variable_hash::Shape;

  // The shape that build() gives to that many keys.
  static Result<Shape> plan(std::uint64_t keys, const Params& p) {
    const auto wrong = [](const std::string& what) { return Error{Errc::invalid_argument, "variable-hash: " + what}; };
    if (p.function_bits > family::kMaxFunctionBits)
      return wrong("function_bits is " + std::to_string(p.function_bits) +
                   "; it must be at most 55, or 0 for the best");
    if (p.functions > family::kMaxFunctions)
      return wrong("functions is " + std::to_string(p.functions) +
                   "; it must be at most 64, or 0 for what the budget pays for");
    if (!(p.keys_per_slot >= 0 && p.keys_per_slot <= kMaxKeysPerSlot))
      return wrong("keys_per_slot is " + to_text(p.keys_per_slot) + "; it must be at most 48, or 0 for the best");
    for (std::uint32_t bits : {p.sector_bits, p.bucket_bits})
      if (bits != 0 && (bits < family::kMinSpreadBits || bits > family::kMaxSpreadBits))
        return wrong("sector_bits or bucket_bits is " + std::to_string(bits) +
                     "; it must be 9 to 16, or 0 for the best");
    const Defaults& d = kDefaults[static_cast<std::size_t>(p.effort)];
    Shape s = variable_hash::place(keys, p.keys_per_slot > 0 ? p.keys_per_slot : d.keys_per_slot);
    s.tries_log[1] = p.sector_bits != 0 ? p.sector_bits : d.spread_bits;
    s.tries_log[2] = p.bucket_bits != 0 ? p.bucket_bits : d.spread_bits;
    const std::uint64_t budget = budget_bits(p.bits_per_key, keys);
    variable_hash::choose_functions(s, keys, budget, p.function_bits, p.functions);
    const std::uint64_t needed =
        s.spread_size_bits() + std::max(s.functions, s.slots()) * std::max(s.function_bits, 1u);
    if (s.functions < s.slots() || needed > budget)
      return Error{Errc::out_of_budget, "variable-hash: " + std::to_string(s.slots()) + " slots need at least " +
                                            std::to_string(needed) + " bits; bits_per_key pays for " +
                                            std::to_string(budget)};
    return s;
  }

  static double bits_per_key(double rate) {
    double low = 0.5, high = 2 * std::log2(1 / rate) + 8;
    for (int i = 0; i < 30; ++i) {
      const double middle = (low + high) / 2;
      const auto s = plan(kPricedKeys, {.bits_per_key = middle});
      (!s || variable_hash::fpr(*s, static_cast<double>(kPricedKeys)) * kPriceMargin > rate ? low : high) = middle;
    }
    return high;
  }
  static Params params_for(double rate) { return {.bits_per_key = bits_per_key(rate)}; }

  static Result<VariableHash> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const auto shape = plan(w.keys.size(), p);
    if (!shape) return shape.error();
    return search(w, o, *shape, VariableHash(*shape, o.seed), Spreads::wanted);
  }

  // Whether the spread functions are to be found, or were found by somebody else (cuda/).
  enum class Spreads { wanted, given };

  // Finds the functions of a filter of that shape, whose slot functions are all 0.
  static VariableHash search(const Workload& w, const BuildOptions& o, const Shape& shape, VariableHash f,
                             Spreads spreads) {
    const Negatives negatives(w, f);
    std::atomic<std::uint64_t> done{0}, still_accepted{0};
    for_each_shard(w.keys, f.regions_, o.threads, [&](std::uint64_t region, std::span<std::uint64_t> los) {
      Worker(f, shape, spreads, negatives, still_accepted).build(region, los);
      const std::uint64_t so_far = done.fetch_add(1, std::memory_order_relaxed);
      if (o.threads <= 1 && so_far % kTellRegions == 0)
        o.tell("variable-hash: searching functions", so_far, f.regions_);
    });
    f.say(w, o, still_accepted.load());
    return f;
  }

  bool may_contain(Digest d) const noexcept {
#if NAYSAY_X86
    switch (simd()) {
      case Simd::avx512:
        return ask_avx512(*this, d);
      case Simd::avx2:
        return ask_avx2(*this, d);
      case Simd::scalar:
        break;
    }
#endif
    return ask<Plain>(*this, d);
  }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
#if NAYSAY_X86
    switch (simd()) {
      case Simd::avx512:
        return ask_all_avx512(*this, keys, out);
      case Simd::avx2:
        return ask_all_avx2(*this, keys, out);
      case Simd::scalar:
        break;
    }
#endif
    ask_all<Plain>(*this, keys, out);
  }

  // The average over the slots, which strangers meet equally often, of 2^-(functions found).
  double expected_fpr() const noexcept {
    double sum = 0;
    for (std::uint64_t slot = 0; slot < slots(); ++slot) sum += std::ldexp(1.0, -static_cast<int>(found(slot)));
    return sum / static_cast<double>(slots());
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  // The slots, their functions, and the digests' way to them. Slots are numbered from 0, functions of a slot too.
  std::uint64_t slots() const noexcept { return regions_ << (log_[0] + log_[1] + log_[2]); }
  std::uint64_t seed() const noexcept { return seed_; }
  unsigned function_bits() const noexcept { return function_bits_; }
  [[gnu::always_inline]] std::uint64_t slot_of(Digest d) const noexcept {
    const family::SpreadWords words = family::spread_words(d.lo + seed_);
    std::uint64_t at = fast_range(d.hi, regions_);
    if (log_[0] == family::kChildLog) {  // then all levels are full
      for (const Array<std::uint16_t>& numbers : spread_)
        at = at << family::kChildLog | family::spread_child(words, numbers[at]);
      return at;
    }
    for (unsigned level = 0; level < variable_hash::kLevels; ++level)
      if (log_[level] != 0)
        at = at << log_[level] | (family::spread_child(words, spread_[level][at]) & low_mask(log_[level]));
    return at;
  }
  std::uint32_t functions_of(std::uint64_t slot) const noexcept { return k_ + (slot < extra_); }
  std::uint64_t function(std::uint64_t slot, unsigned f) const noexcept {
    return load_bits(functions_.data(), (first_function(slot) + f) * function_bits_, function_bits_);
  }
  // Requires that the functions are the filter's own and that every key of the slot passes the new one.
  void set_function(std::uint64_t slot, unsigned f, std::uint64_t number) noexcept {
    store_bits(functions_.mutable_data(), (first_function(slot) + f) * function_bits_, function_bits_, number);
  }
  // How many of its functions a slot has found.
  unsigned found(std::uint64_t slot) const noexcept {
    unsigned count = 0;
    for (unsigned f = 0; f < functions_of(slot); ++f) count += function(slot, f) != 0;
    return count;
  }
  double share_not_found() const noexcept {
    std::uint64_t missing = 0, all = 0;
    for (std::uint64_t slot = 0; slot < slots(); ++slot)
      missing += functions_of(slot) - found(slot), all += functions_of(slot);
    return static_cast<double>(missing) / static_cast<double>(all);
  }

  // A filter of that shape whose functions are all 0, for builders to fill.
  VariableHash(const Shape& s, std::uint64_t seed)
      : seed_(seed * 0xd6e8feb86659fd93u),
        regions_(s.regions),
        extra_(s.functions % s.slots()),
        k_(static_cast<std::uint32_t>(s.functions / s.slots())),
        function_bits_(s.function_bits) {
    for (unsigned level = 0; level < variable_hash::kLevels; ++level) {
      log_[level] = s.log[level];
      spread_[level] = Array<std::uint16_t>(s.stored(level));
    }
    functions_ = Array<std::uint64_t>(words_for_bits(s.functions * s.function_bits) + kSpareWords);
  }
  VariableHash() = default;
  std::span<std::uint16_t> mutable_spread(unsigned level) noexcept {
    return {spread_[level].mutable_data(), spread_[level].size()};
  }
  std::span<std::uint64_t> mutable_functions() noexcept { return {functions_.mutable_data(), functions_.size()}; }
  // What a builder has to say about itself when it is done.
  void say(const Workload& w, const BuildOptions& o, std::uint64_t still_accepted) const {
    if (!o.report) return;
    o.say("slots", static_cast<double>(slots()));
    o.say("keys per slot", static_cast<double>(w.keys.size()) / static_cast<double>(slots()));
    o.say("bits per function", function_bits_);
    o.say("functions per slot", k_ + static_cast<double>(extra_) / static_cast<double>(slots()));
    o.say("functions not found (share)", share_not_found());
    if (!w.negatives.empty()) o.say("known negatives still accepted", static_cast<double>(still_accepted));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("seed", self.seed_);
    visit("regions", self.regions_);
    visit("extra", self.extra_);
    visit("sector_log", self.log_[0]);
    visit("bucket_log", self.log_[1]);
    visit("slot_log", self.log_[2]);
    visit("k", self.k_);
    visit("function_bits", self.function_bits_);
    visit("region_functions", self.spread_[0]);
    visit("sector_functions", self.spread_[1]);
    visit("bucket_functions", self.spread_[2]);
    visit("functions", self.functions_);
  }
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "variable-hash: " + what}; };
    if (regions_ < 1 || regions_ > (std::uint64_t{1} << 40))
      return wrong(std::to_string(regions_) + " regions; there must be 1 to 2^40");
    if (log_[0] != 0 && (log_[1] != family::kChildLog || log_[2] != family::kChildLog))
      return wrong("regions have sectors, but sectors and buckets are not full");
    std::uint64_t nodes = regions_;
    for (unsigned level = 0; level < variable_hash::kLevels; nodes <<= log_[level], ++level) {
      if (log_[level] > family::kChildLog)
        return wrong("a node has 2^" + std::to_string(log_[level]) + " children; it must have at most 2^3");
      if (spread_[level].size() != (log_[level] != 0 ? nodes : 0))
        return wrong(std::to_string(spread_[level].size()) + " spread functions for " + std::to_string(nodes) +
                     " nodes");
    }
    if (function_bits_ < 1 || function_bits_ > family::kMaxFunctionBits)
      return wrong("a function has " + std::to_string(function_bits_) + " bits; it must have 1 to 55");
    if (k_ < 1 || k_ > family::kMaxFunctions || extra_ >= slots())
      return wrong("slots of " + std::to_string(k_) + " functions, " + std::to_string(extra_) +
                   " with one more, do not exist");
    if (functions_.size() != words_for_bits((slots() * k_ + extra_) * function_bits_) + kSpareWords)
      return wrong(std::to_string(functions_.size()) + " words do not hold the functions of " +
                   std::to_string(slots()) + " slots");
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kSpareWords = 8;  // so that 64 bytes can be loaded at the last function
  static constexpr double kMaxKeysPerSlot = 48;    // a slot may get a few more; past 64 nothing is searched
  static constexpr std::uint64_t kPricedKeys = 1 << 20;
  static constexpr double kPriceMargin = 1.02;  // of the rate: what the model may be off
  static constexpr std::uint64_t kTellRegions = 16;

  struct Defaults {
    double keys_per_slot;
    unsigned spread_bits;
  };
  static constexpr Defaults kDefaults[] = {{16, 9}, {24, 12}, {40, 15}};  // by Effort

  std::uint64_t first_function(std::uint64_t slot) const noexcept { return slot * k_ + std::min(slot, extra_); }

  // ---- queries -------------------------------------------------------------------------------------------------

  // What a query computes before it looks at a slot: where its functions lie, and the key.
  struct Probe {
    const std::uint32_t* words;  // the first function begins in this word,
    unsigned shift;              // at this bit
    unsigned k;
    std::uint64_t x;
  };
  [[gnu::always_inline]] Probe probe(Digest d) const noexcept {
    const std::uint64_t slot = slot_of(d), at = first_function(slot) * function_bits_;
    return {reinterpret_cast<const std::uint32_t*>(functions_.data()) + (at >> 5), static_cast<unsigned>(at & 31),
            functions_of(slot), d.lo + seed_};
  }
  // Slots have k_ functions or one more; the vector loops run as often for both, so that their end is predictable.
  unsigned most_functions() const noexcept { return k_ + (extra_ != 0); }

  template <class T>
  [[gnu::always_inline]] static bool ask(const VariableHash& self, Digest d) noexcept {
    return T::test(self, self.probe(d));
  }
  // The slots of the next keys are on their way while one is looked at.
  template <class T>
  [[gnu::always_inline]] static void ask_all(const VariableHash& self, std::span<const Digest> keys,
                                             std::uint8_t* out) noexcept {
    Probe ring[kAhead];
    const std::uint64_t last_word = std::uint64_t{self.most_functions()} * self.function_bits_ >> 5;
    for (std::size_t i = 0; i < keys.size() + kAhead; ++i) {
      if (i >= kAhead) out[i - kAhead] = T::test(self, ring[i % kAhead]);
      if (i >= keys.size()) continue;
      ring[i % kAhead] = self.probe(keys[i]);
      __builtin_prefetch(ring[i % kAhead].words);
      __builtin_prefetch(ring[i % kAhead].words + last_word);
    }
  }

  // Four functions at a time: a stranger passes all four once in 16 times, so that the branch is well predicted.
  struct Plain {
    [[gnu::always_inline]] static bool test(const VariableHash& self, const Probe& p) noexcept {
      const unsigned r = self.function_bits_;
      const std::uint64_t mask_word = family::mask_word(p.x);
      const auto one = [&](unsigned f) __attribute__((always_inline))->unsigned {
        const std::uint64_t at = p.shift + std::uint64_t{f} * r;
        const std::uint64_t number =
            load_u64(reinterpret_cast<const unsigned char*>(p.words) + (at >> 3)) >> (at & 7) & low_mask(r);
        return family::accepts(number, family::pick_word(p.x, f), mask_word);
      };
      unsigned f = 0;
      for (; f + 4 <= p.k; f += 4)
        if ((one(f) & one(f + 1) & one(f + 2) & one(f + 3)) == 0) return false;
      for (; f < p.k; ++f)
        if (!one(f)) return false;
      return true;
    }
  };

  // Numbers of up to 28 bits, a register of them at a time: number l begins at bit o = shift + l * r of the words, so
  // it lies in word o / 32 and, shifted in, in the one behind it.
  template <class V>
  [[gnu::always_inline]] static bool test_narrow(const VariableHash& self, const Probe& p) noexcept {
    using Lanes = typename V::Lanes;
    constexpr unsigned kCount = sizeof(Lanes) / 4, kPlaces = (1u << family::kPlaceLog) - 1;
    const Lanes one = (V::kLanes & 0) + 1;
    const unsigned r = self.function_bits_, most = self.most_functions();
    const auto low = static_cast<std::uint32_t>(p.x), high = static_cast<std::uint32_t>(p.x >> 32);
    const auto mask_word = static_cast<std::uint32_t>(family::mask_word(p.x));
    const auto group = [&](unsigned f) __attribute__((always_inline)) {
      Lanes loaded, first, second;
      const unsigned at = p.shift + f * r;
      V::load(loaded, p.words + (at >> 5), most * r + 31 <= 256);
      const Lanes bit = V::kLanes * r + (at & 31), shift = bit & 31;
      V::pick_words(first, loaded, bit >> 5);
      V::pick_words(second, loaded, (bit >> 5) + 1);
      const Lanes number = ((first >> shift) | (second << 1) << (31 - shift)) & ((1u << r) - 1);
      Lanes z = low + (V::kLanes + 1 + f) * family::kStep;  // as family::pick_word
      z = (z ^ z >> 16) * family::kFirstRound;
      z = ((z ^ z >> 15) + high) * family::kSecondRound;
      z = (z ^ z >> 16) >> (number & 31);
      const Lanes masked = ((number & ~kPlaces) | one << (number >> family::kPickLog & 7)) & mask_word;
      const std::uint64_t asked = p.k > f ? (std::uint64_t{1} << std::min(p.k - f, kCount)) - 1 : 0;
      return (asked & ~std::uint64_t{V::passes(z, masked, number)}) == 0;
    };
    if (!group(0)) return false;  // most often all there is: what depends on f is known here when it is compiled
    for (unsigned f = kCount; f < most; f += kCount)
      if (!group(f)) return false;
    return true;
  }

#if NAYSAY_X86
  struct Avx2 {
    typedef std::uint32_t Lanes __attribute__((vector_size(32), may_alias));
    static constexpr Lanes kLanes = {0, 1, 2, 3, 4, 5, 6, 7};
    NAYSAY_TARGET(NAYSAY_AVX2) static void load(Lanes& to, const std::uint32_t* from, bool) noexcept {
      std::memcpy(&to, from, sizeof to);
    }
    NAYSAY_TARGET(NAYSAY_AVX2) static void pick_words(Lanes& to, const Lanes& from, const Lanes& which) noexcept {
      to = reinterpret_cast<Lanes>(
          _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(from), reinterpret_cast<__m256i>(which)));
    }
    NAYSAY_TARGET(NAYSAY_AVX2)
    static unsigned passes(const Lanes& z, const Lanes& masked, const Lanes& number) noexcept {
      Lanes odd = masked ^ masked >> 16;
      for (unsigned half = 8; half > 0; half /= 2) odd ^= odd >> half;
      odd = (odd ^ z) << 31 | reinterpret_cast<Lanes>(number == 0);
      return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(odd)));
    }
    NAYSAY_TARGET(NAYSAY_AVX2) static bool test(const VariableHash& self, const Probe& p) noexcept {
      return self.function_bits_ <= family::kNarrowBits ? test_narrow<Avx2>(self, p) : Plain::test(self, p);
    }
  };
  [[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX2) static bool ask_avx2(const VariableHash& self, Digest d) noexcept {
    return ask<Avx2>(self, d);
  }
  [[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX2) static void ask_all_avx2(const VariableHash& self,
                                                                       std::span<const Digest> keys,
                                                                       std::uint8_t* out) noexcept {
    ask_all<Avx2>(self, keys, out);
  }

  struct Avx512 {
    typedef std::uint32_t Lanes __attribute__((vector_size(64), may_alias));
    static constexpr Lanes kLanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    // half a line, where it is enough, crosses into another line half as often
    NAYSAY_TARGET(NAYSAY_AVX512) static void load(Lanes& to, const std::uint32_t* from, bool half) noexcept {
      to = half ? reinterpret_cast<Lanes>(
                      _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))))
                : reinterpret_cast<Lanes>(_mm512_loadu_si512(from));
    }
    NAYSAY_TARGET(NAYSAY_AVX512) static void pick_words(Lanes& to, const Lanes& from, const Lanes& which) noexcept {
      constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the form without a mask
      to = reinterpret_cast<Lanes>(
          _mm512_maskz_permutexvar_epi32(kAll, reinterpret_cast<__m512i>(which), reinterpret_cast<__m512i>(from)));
    }
    NAYSAY_TARGET(NAYSAY_AVX512)
    static unsigned passes(const Lanes& z, const Lanes& masked, const Lanes& number) noexcept {
      const __m512i odd =
          _mm512_xor_si512(reinterpret_cast<__m512i>(z), _mm512_popcnt_epi32(reinterpret_cast<__m512i>(masked)));
      return _mm512_test_epi32_mask(odd, _mm512_set1_epi32(1)) |
             _mm512_testn_epi32_mask(reinterpret_cast<__m512i>(number), reinterpret_cast<__m512i>(number));
    }
    NAYSAY_TARGET(NAYSAY_AVX512) static bool test(const VariableHash& self, const Probe& p) noexcept {
      return self.function_bits_ <= family::kNarrowBits ? test_narrow<Avx512>(self, p) : Plain::test(self, p);
    }
  };
  [[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX512) static bool ask_avx512(const VariableHash& self, Digest d) noexcept {
    return ask<Avx512>(self, d);
  }
  [[gnu::flatten]] NAYSAY_TARGET(NAYSAY_AVX512) static void ask_all_avx512(const VariableHash& self,
                                                                           std::span<const Digest> keys,
                                                                           std::uint8_t* out) noexcept {
    ask_all<Avx512>(self, keys, out);
  }
#endif

  // ---- building ------------------------------------------------------------------------------------------------

  // The known negatives, by region. Costs become whole numbers, so that sums do not depend on their order.
  struct Negative {
    std::uint64_t x;
    std::uint64_t weight;
  };
  class Negatives {
   public:
    Negatives(const Workload& w, const VariableHash& f) {
      if (w.negatives.empty()) return;
      start_.resize(f.regions_ + 1);
      for (const Digest& d : w.negatives) ++start_[shard_of(d, f.regions_) + 1];
      for (std::uint64_t s = 0; s < f.regions_; ++s) start_[s + 1] += start_[s];
      float most = 0;
      for (std::uint64_t i = 0; i < w.negatives.size(); ++i) most = std::max(most, w.cost(i));
      const double scale = most > 0 ? kUnits / static_cast<double>(most) : 0;
      all_.resize(w.negatives.size());
      std::vector<std::uint64_t> fill(start_.begin(), start_.end() - 1);
      for (std::uint64_t i = 0; i < w.negatives.size(); ++i) {
        const Digest& d = w.negatives[i];
        all_[fill[shard_of(d, f.regions_)]++] = {
            d.lo + f.seed_, 1 + static_cast<std::uint64_t>(scale * static_cast<double>(w.cost(i)))};
      }
    }
    // Each region is asked for once, and its list may be reordered.
    std::span<Negative> of(std::uint64_t region) const noexcept {
      if (all_.empty()) return {};
      return {all_.data() + start_[region], all_.data() + start_[region + 1]};
    }

   private:
    static constexpr double kUnits = 1099511627776.0;  // 2^40: sums of 16 million costs fit a word

    std::vector<std::uint64_t> start_;
    mutable std::vector<Negative> all_;
  };

  // Builds one region.
  class Worker {
   public:
    Worker(VariableHash& f, const Shape& shape, Spreads spreads, const Negatives& negatives,
           std::atomic<std::uint64_t>& still_accepted)
        : f_(f), shape_(shape), spreads_(spreads), negatives_(negatives), still_accepted_(still_accepted) {}

    void build(std::uint64_t region, std::span<std::uint64_t> xs) {
      for (std::uint64_t& x : xs) x += f_.seed_;
      std::sort(xs.begin(), xs.end());
      xs = xs.first(static_cast<std::size_t>(std::unique(xs.begin(), xs.end()) - xs.begin()));
      spread_out(0, region, xs, negatives_.of(region));
    }

   private:
    // Finds the function of node `at`, stores it, and goes on with each of its children.
    void spread_out(unsigned level, std::uint64_t at, std::span<std::uint64_t> xs, std::span<Negative> negatives) {
      if (level == variable_hash::kLevels) return search(at, xs, negatives);
      const unsigned log = f_.log_[level];
      if (log == 0) return spread_out(level + 1, at, xs, negatives);
      if (spreads_ == Spreads::wanted) {
        static thread_local SpreadScratch scratch;
        f_.spread_[level].at_mut(at) =
            static_cast<std::uint16_t>(best_spread(xs, log, shape_.tries_log[level], scratch));
      }
      const std::uint32_t number = f_.spread_[level][at];
      const auto child = [&](std::uint64_t x) {
        return family::spread_child(family::spread_words(x), number) & low_mask(log);
      };
      for (std::uint64_t c = 0; c < std::uint64_t{1} << log; ++c) {
        const auto keys = static_cast<std::size_t>(
            std::partition(xs.begin(), xs.end(), [&](std::uint64_t x) { return child(x) == c; }) - xs.begin());
        const auto others = static_cast<std::size_t>(
            std::partition(negatives.begin(), negatives.end(), [&](const Negative& y) { return child(y.x) == c; }) -
            negatives.begin());
        spread_out(level + 1, at << log | c, xs.first(keys), negatives.first(others));
        xs = xs.subspan(keys), negatives = negatives.subspan(others);
      }
    }

    void search(std::uint64_t slot, std::span<const std::uint64_t> xs, std::span<Negative> negatives) {
      const auto keep = [&](auto&& stays) {
        negatives = negatives.first(
            static_cast<std::size_t>(std::partition(negatives.begin(), negatives.end(), stays) - negatives.begin()));
      };
      // a negative that is a key cannot be refused
      keep([&](const Negative& y) { return std::find(xs.begin(), xs.end(), y.x) == xs.end(); });
      FunctionSearch search(xs, f_.function_bits_);
      for (unsigned f = 0; f < f_.functions_of(slot); ++f) {
        search.turn_to(f);
        std::uint64_t number = search.first(0);
        if (number == 0) continue;
        if (!negatives.empty()) {
          std::uint64_t most = 0;
          for (std::uint64_t other = number; other != 0; other = search.first(family::place(other) + 1)) {
            std::uint64_t refused = 0;
            for (const Negative& y : negatives)
              if (!family::accepts(other, family::pick_word(y.x, f), family::mask_word(y.x))) refused += y.weight;
            if (refused > most) most = refused, number = other;
          }
          keep([&](const Negative& y) {
            return family::accepts(number, family::pick_word(y.x, f), family::mask_word(y.x));
          });
        }
        or_bits(f_.functions_.mutable_data(), (f_.first_function(slot) + f) * f_.function_bits_, number);
      }
      if (!negatives.empty()) still_accepted_.fetch_add(negatives.size(), std::memory_order_relaxed);
    }

    VariableHash& f_;
    const Shape& shape_;
    Spreads spreads_;
    const Negatives& negatives_;
    std::atomic<std::uint64_t>& still_accepted_;
  };

  std::uint64_t seed_ = 0;
  std::uint64_t regions_ = 1;
  std::uint64_t extra_ = 0;
  std::uint32_t log_[variable_hash::kLevels] = {};
  std::uint32_t k_ = 0;
  std::uint32_t function_bits_ = 0;
  Array<std::uint16_t> spread_[variable_hash::kLevels];
  Array<std::uint64_t> functions_;
};

static_assert(TunableFilter<VariableHash> && BatchFilter<VariableHash> && !DynamicFilter<VariableHash> &&
              !AdaptiveFilter<VariableHash>);

}  // namespace naysay
