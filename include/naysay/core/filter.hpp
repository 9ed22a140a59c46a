// Filter: what a filter is given, what it is, and how it is asked. Read this first.
//
// A filter says "no" with certainty or "maybe". It never says "no" to a key it was built from.
//
//   key        a member of the set, as a Digest
//   negative   a known non-member, with a cost: what one false "maybe" on it costs
//   stranger   neither; fpr is the rate of "maybe" on strangers
//
//   Workload --F::build(workload, params)--> F --may_contain(digest)--> no | maybe
//
// What the compiler can see is a concept (Filter and its refinements below); what it cannot see is a claim
// (F::kClaims), and the conformance tests hold every registered filter to its claims. No filter inherits from
// anything: templates inside, AnyFilter (any_filter.hpp) outside.
//
// To add a filter: write its header, its test, and its line in src/registry.cpp. classic/bloom.hpp is the example.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/archive.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

// Called now and then during a long build: what is being done, and how far it is. Called from one thread at a time.
using Progress = std::function<void(std::string_view stage, std::uint64_t done, std::uint64_t total)>;

// What a build has to say about itself, in its own words and order: "shards retried", "negatives taught", ...
// The tool prints it, the library never does.
struct Report {
  struct Line {
    std::string name;
    double value;
  };
  std::vector<Line> lines;
  void add(std::string_view name, double value) { lines.push_back({std::string(name), value}); }
};

struct NegativeSource;  // core/negatives.hpp

// A view of what a filter is built from. Use it during build; never keep it.
struct Workload {
  std::span<const Digest> keys = {};       // in any order; a key may come more than once
  std::span<const Digest> negatives = {};  // known negatives; one that is also a key is treated as a key
  std::span<const float> costs = {};       // of the negatives, finite and >= 0; empty: each costs 1

  // Known negatives that are too many to hold, for filters that claim streams_negatives; then negatives is empty.
  const NegativeSource* source = nullptr;

  // The keys' own bytes, parallel to keys and negatives; filled only for filters that claim reads_bytes.
  std::span<const std::string_view> key_bytes = {};
  std::span<const std::string_view> negative_bytes = {};

  std::uint64_t capacity = 0;    // keys that a dynamic filter must have room for; at least keys.size()
  double stranger_share = 0.01;  // the part of the negative queries that will be about strangers
  std::uint64_t seed = 0;        // same workload, params and seed: same bytes
  unsigned threads = 1;          // any number gives the same bytes
  Progress progress = {};        // may be empty
  Report* report = nullptr;      // may be null

  std::uint64_t room() const noexcept { return std::max<std::uint64_t>(capacity, keys.size()); }
  float cost(std::uint64_t i) const noexcept { return costs.empty() ? 1.0f : costs[i]; }
  void tell(std::string_view stage, std::uint64_t done, std::uint64_t total) const {
    if (progress) progress(stage, done, total);
  }
  void say(std::string_view name, double value) const {
    if (report) report->add(name, value);
  }
};

// What a filter says of itself that the compiler cannot check. The conformance tests do.
struct Claims {
  std::string_view about = {};      // one sentence for a newcomer who has to choose
  bool uses_negatives = false;      // build looks at Workload::negatives
  bool streams_negatives = false;   // build can read them from Workload::source
  bool exact_on_negatives = false;  // at its default budget and one negative per key, no known negative is accepted
  bool reads_bytes = false;         // build and queries need the key's bytes, not only its digest
  bool adapts_with_churn = false;   // adapt works as keys leave and others come, not at once
  double fpr_model_error = 0.02;    // |measured / expected_fpr() - 1| beyond statistical noise, at most
  std::uint64_t fixed_bits = 1024;  // size_bits() <= bits_per_key * room() + fixed_bits
};

template <class F>
concept Filter = std::movable<F> && std::default_initializable<F> && Described<F> && Described<typename F::Params> &&
    requires(const F& f, const Workload& w, const typename F::Params& p, Digest d) {
  { F::build(w, p) } -> std::same_as<Result<F>>;
  { F::kClaims } -> std::convertible_to<Claims>;
  { p.bits_per_key } -> std::convertible_to<double>;
  { f.may_contain(d) }
  noexcept->std::same_as<bool>;
  { f.expected_fpr() }
  noexcept->std::same_as<double>;  // on strangers, for the keys it holds now
  { f.size_bits() }
  noexcept->std::same_as<std::uint64_t>;
  { f.validate() } -> std::same_as<Result<Ok>>;
};

// Keys may come later. insert is false when there is no room, and then nothing has changed.
template <class F>
concept DynamicFilter = Filter<F> && requires(F& f, Digest d) {
  { f.insert(d) }
  noexcept->std::same_as<bool>;
};

// Keys may leave. erase requires that the key is in: erasing a key that was never inserted, but which the filter
// takes for one, may remove another key. Erasing what may_contain() denies returns false and changes nothing.
template <class F>
concept ErasableFilter = DynamicFilter<F> && requires(F& f, Digest d) {
  { f.erase(d) }
  noexcept->std::same_as<bool>;
};

// Told of a false positive and its cost, it stops making it, at once or (Claims::adapts_with_churn) by and by. True:
// the negative is refused from now on, and false if it is not refused yet. Requires that d is not a key.
template <class F>
concept AdaptiveFilter = Filter<F> && requires(F& f, Digest d, float cost) {
  { f.adapt(d, cost) }
  noexcept->std::same_as<bool>;
};

// Learns from what it is told until full(); shown the keys of its build once more, warm() makes use of it. An error
// leaves a filter that denies no key.
template <class F>
concept WarmingFilter = AdaptiveFilter<F> && requires(F& f, const F& c, std::span<const Digest> keys) {
  { c.full() }
  noexcept->std::same_as<bool>;
  { f.warm(keys) } -> std::same_as<Result<Ok>>;
};

// Has addresses: two digests of one address are always answered alike, and insert(d) changes no answer but those at
// d's address.
template <class F>
concept AddressedFilter = DynamicFilter<F> && requires(const F& f, Digest d) {
  { f.address(d) }
  noexcept->std::same_as<std::uint64_t>;
};

// May keep an index beside the filter that insert alone uses. size_bits() does not count it. Without it the filter
// answers, erases and adapts as before, and takes no more keys.
template <class F>
concept IndexedFilter = DynamicFilter<F> && requires(F& f, const F& c) {
  { c.index_bits() }
  noexcept->std::same_as<std::uint64_t>;
  { f.drop_index() }
  noexcept->std::same_as<void>;
};

// Can price a rate before building: bits per key at a false-positive rate in (0, 1), and the params that give it.
template <class F>
concept TunableFilter = Filter<F> && requires(double fpr) {
  { F::bits_per_key(fpr) } -> std::same_as<double>;
  { F::params_for(fpr) } -> std::same_as<typename F::Params>;
};

// Address first, look-up second, so that a batch overlaps its cache misses. may_contain(d) == test(probe(d)).
template <class F>
concept ProbedFilter = Filter<F> && requires(const F& f, Digest d) {
  { f.test(f.probe(d)) }
  noexcept->std::same_as<bool>;
};

// Has a batch loop of its own (vectorised across keys). out[i] is 0 or 1.
template <class F>
concept BatchFilter = Filter<F> && requires(const F& f, std::span<const Digest> d, std::uint8_t* out) {
  { f.may_contain(d, out) }
  noexcept->std::same_as<void>;
};

// Looks at the key's bytes beside its digest (a learned filter). may_contain(d) alone then answers as well as it can
// without them, and never "no" for a key.
template <class F>
concept ByteFilter = Filter<F> && requires(const F& f, Digest d, std::string_view bytes) {
  { f.may_contain(d, bytes) }
  noexcept->std::same_as<bool>;
};

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

// How often a loop over keys tells how far it is.
inline constexpr std::uint64_t kTellEvery = std::uint64_t{1} << 20;

// The bits a build may spend: params.bits_per_key for each key it must have room for. At least one word, so that
// a filter of no keys exists.
inline std::uint64_t budget_bits(double bits_per_key, std::uint64_t keys) noexcept {
  const double bits = bits_per_key * static_cast<double>(std::max<std::uint64_t>(keys, 1));
  return std::max<std::uint64_t>(64, static_cast<std::uint64_t>(bits));
}

}  // namespace naysay
