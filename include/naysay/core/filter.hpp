// SPDX-License-Identifier: Apache-2.0
// Filter: what a filter is and how it is queried. Read this first.
//
// A filter answers "no" with certainty or "maybe". It never answers "no" for a key it was built from.
//
//   key        a member of the set, as a Digest (core/hash.hpp)
//   negative   a known non-member, with a cost: what one false "maybe" about it costs
//   stranger   neither; fpr, the false-positive rate, is the rate of "maybe" on strangers
//
//   Workload --F::build(workload, params, options)--> F --may_contain(digest)--> no | maybe
//
// What the compiler can check is a concept: Filter, and the refinements below for optional abilities.
// What it cannot check is a claim (F::kClaims), and the conformance tests hold every registered filter to its claims.
// No filter inherits from anything. Inside the library filters are template parameters; outside, AnyFilter
// (any_filter.hpp) holds any of them, and Keyed<F> (keyed.hpp) adds the hashing of keys and files.
//
// To add a filter, write its header, its test, and its line in src/registry.cpp. bloom/bloom.hpp is the example.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "naysay/core/archive.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/core/workload.hpp"

namespace naysay {

// What a filter says of itself that the compiler cannot check. The conformance tests do.
struct Claims {
  std::string_view about = {};      // one sentence for a newcomer who has to choose
  bool uses_negatives = false;      // build reads Workload::negatives
  bool streams_negatives = false;   // build can read them from Workload::source
  bool exact_on_negatives = false;  // at its default budget and one negative per key, no known negative is accepted
  bool reads_bytes = false;         // build and queries need the bytes of a key, not only its digest
  bool bounds_strangers = false;    // reads bytes, and still accepts no kind of stranger more often than expected_fpr()
  bool adapts_with_churn = false;   // adapt takes effect as keys are erased and inserted, not immediately
  double fpr_model_error = 0.02;    // |measured / expected_fpr() - 1| beyond statistical noise, at most
  std::uint64_t fixed_bits = 1024;  // size_bits() <= bits_per_key * room + fixed_bits
  std::uint64_t most_arrays = 24;   // in a file, but for one in each MiB; each has a length and padding
  double index_bits_per_key = 0;  // index_bits() <= index_bits_per_key * room + index_fixed_bits, unless negatives are
  std::uint64_t index_fixed_bits = 0;  // pinned
};

// What a filter expects of itself for a workload, before it is built.
struct ExpectedRates {
  double stranger_fpr = 1;
  double known_cost = 1;  // the share of the known negatives' cost that is accepted; NaN: no negatives are known
  double cost = 1;        // the share of the cost of all negative queries that is accepted
};
struct Outlook;  // core/negatives.hpp

// How far a WarmingFilter is: it learns up to `room` negatives, cold, until warm() puts them to use.
struct Warmth {
  std::uint64_t learned = 0;
  std::uint64_t room = 0;  // 0: at its size there is nothing to learn
  bool warm = false;
};

// clang-format 14 cannot format concepts.
// clang-format off

template <class F>
concept Filter = std::movable<F> && std::default_initializable<F> && Described<F> && Described<typename F::Params> &&
    requires(const F& f, const Workload& w, const typename F::Params& p, const BuildOptions& o, Digest d) {
      { F::build(w, p, o) } -> std::same_as<Result<F>>;
      { F::kClaims } -> std::convertible_to<Claims>;
      { p.bits_per_key } -> std::convertible_to<double>;
      { f.may_contain(d) } noexcept -> std::same_as<bool>;
      // On strangers, for the keys it holds now. A dynamic filter looks at a bounded part of itself, however large it is.
      { f.expected_fpr() } noexcept -> std::same_as<double>;
      { f.size_bits() } noexcept -> std::same_as<std::uint64_t>;
      { f.validate() } -> std::same_as<Result<Ok>>;
    };

// Keys can be inserted later. insert returns false when there is no room, and then nothing has changed.
template <class F>
concept DynamicFilter = Filter<F> && requires(F& f, Digest d) {
  { f.insert(d) } noexcept -> std::same_as<bool>;
};

// Keys can be erased. erase requires that the key is in the set: erasing a key that was never inserted, but that the
// filter accepts, may remove another key. Erasing what may_contain() denies returns false and changes nothing.
template <class F>
concept ErasableFilter = DynamicFilter<F> && requires(F& f, Digest d) {
  { f.erase(d) } noexcept -> std::same_as<bool>;
};

// Given a false positive and its cost, the filter stops accepting it: immediately, or (Claims::adapts_with_churn) as
// keys are erased and inserted. Returns true if the negative is refused from now on, false if it is not refused yet.
// Requires that d is not a key.
template <class F>
concept AdaptiveFilter = Filter<F> && requires(F& f, Digest d, float cost) {
  { f.adapt(d, cost) } noexcept -> std::same_as<bool>;
};

// Collects reported negatives until full(); warm(), given the keys of its build again, puts them to use. An error
// leaves a filter that denies no key. Requires that no key of the build is missing: one that is may be denied.
template <class F>
concept WarmingFilter = AdaptiveFilter<F> && requires(F& f, const F& c, std::span<const Digest> keys) {
  { c.full() } noexcept -> std::same_as<bool>;
  { c.warmth() } noexcept -> std::same_as<Warmth>;
  { f.warm(keys) } -> std::same_as<Result<Ok>>;
};

// Has addresses: two digests with the same address always get the same answer, and insert(d) changes no answer except
// those at d's address.
template <class F>
concept AddressedFilter = DynamicFilter<F> && requires(const F& f, Digest d) {
  { f.address(d) } noexcept -> std::same_as<std::uint64_t>;
};

// May keep something next to the filter that only changes read, and no query: an index, or its keys. size_bits() does
// not count it.
template <class F>
concept IndexedFilter = DynamicFilter<F> && requires(const F& c) {
  { c.index_bits() } noexcept -> std::same_as<std::uint64_t>;
};

// Can do without it: then the filter answers, erases and adapts as before, but accepts no more keys if negatives are
// pinned.
template <class F>
concept IndexDroppingFilter = IndexedFilter<F> && requires(F& f) {
  { f.drop_index() } noexcept -> std::same_as<void>;
};

// Negatives can be pinned while it lives: a pinned negative is refused, whatever is inserted, until it is inserted as a
// key or unpinned. Both return false if that cannot be, and then nothing has changed. pin may allocate. pin requires that d
// is not a key.
template <class F>
concept PinningFilter = DynamicFilter<F> && requires(F& f, Digest d) {
  { f.pin(d) } -> std::same_as<bool>;
  { f.unpin(d) } noexcept -> std::same_as<bool>;
};

// Takes in another filter of its type, as if the other's keys had been inserted. An error leaves it as it was.
template <class F>
concept MergingFilter = DynamicFilter<F> && requires(F& f, const F& other) {
  { f.merge(other) } -> std::same_as<Result<Ok>>;
};

// Knows its price before it is built: the bits per key for a false-positive rate in (0, 1), and the parameters that
// give this rate.
template <class F>
concept TunableFilter = Filter<F> && requires(double fpr) {
  { F::bits_per_key(fpr) } -> std::same_as<double>;
  { F::params_for(fpr) } -> std::same_as<typename F::Params>;
};

// Predicts what it will accept of a workload that it learns from.
template <class F>
concept PredictingFilter = Filter<F> && requires(const Outlook& o) {
  { F::predict(o) } -> std::same_as<ExpectedRates>;
};

// Adapts as an AdaptiveFilter does, but only with a file of its keys next to it. F::WithKeyFile is the two together: its
// KeyFile has create(path, filter, keys), keys() and sync(); attach(path, filter) opens one and applies what it has
// recorded; adapt(filter, file, d, cost) changes the filter and records it. An AnyFilter holds both (attach_key_file).
template <class F>
concept KeyFileFilter = Filter<F> && requires { typename F::WithKeyFile; };

// Computes the address first and reads memory second, so that a batch can overlap its cache misses.
// may_contain(d) == test(probe(d)).
template <class F>
concept ProbedFilter = Filter<F> && requires(const F& f, Digest d) {
  { f.test(f.probe(d)) } noexcept -> std::same_as<bool>;
};

// Has a batch loop of its own (vectorised across keys). out[i] becomes 0 or 1.
template <class F>
concept BatchFilter = Filter<F> && requires(const F& f, std::span<const Digest> d, std::uint8_t* out) {
  { f.may_contain(d, out) } noexcept -> std::same_as<void>;
};

// Reads the bytes of a key as well as its digest (a learned filter). may_contain(d) without the bytes answers as well
// as it can, and never "no" for a key.
template <class F>
concept ByteFilter = Filter<F> && requires(const F& f, Digest d, std::string_view bytes) {
  { f.may_contain(d, bytes) } noexcept -> std::same_as<bool>;
};

// Has more to say about itself than its size and rate; naysay inspect prints it.
template <class F>
concept DescribingFilter = Filter<F> && requires(const F& f, Report& to) {
  { f.describe(to) } -> std::same_as<void>;
};
// clang-format on

inline constexpr std::size_t kAhead = 16;  // probes in flight: about as many misses as a core can have open

// The batch loop. out[i] becomes 1 if keys[i] may be in the set, else 0. Requires keys.size() bytes at out.
template <Filter F>
void may_contain(const F& f, std::span<const Digest> keys, std::uint8_t* out) noexcept {
  if constexpr (BatchFilter<F>) {
    f.may_contain(keys, out);
  } else if constexpr (ProbedFilter<F>) {
    using Probe = decltype(f.probe(Digest{}));
    Probe ring[kAhead];
    const std::size_t n = keys.size(), lead = std::min(n, kAhead);
    for (std::size_t i = 0; i < lead; ++i) ring[i] = f.probe(keys[i]);
    std::size_t i = 0;
    for (; i + kAhead < n; ++i) {
      out[i] = f.test(ring[i % kAhead]);
      ring[i % kAhead] = f.probe(keys[i + kAhead]);
    }
    for (; i < n; ++i) out[i] = f.test(ring[i % kAhead]);
  } else {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = f.may_contain(keys[i]);
  }
}

// The bits a build may use: bits_per_key for each key it must have room for. At least one word, so that a filter of no
// keys exists; at most 2^62, which no memory holds, so that a product too large for a word cannot become a small one.
inline std::uint64_t budget_bits(double bits_per_key, std::uint64_t keys) noexcept {
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  const double bits = bits_per_key * static_cast<double>(std::max<std::uint64_t>(keys, 1));
  return bits <= 64 ? 64 : static_cast<std::uint64_t>(std::min(bits, kMost));
}

}  // namespace naysay
