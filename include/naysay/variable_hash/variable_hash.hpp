// SPDX-License-Identifier: Apache-2.0
// VariableHash: stores, for every slot of about two dozen keys, the numbers of hash functions that all its keys pass.
//
//   key --> region                hash
//             |   [number of the function that spreads the region's keys most evenly over its 8 sectors]
//           sector
//             |   [ ... the sector's keys over its 8 buckets]
//           bucket
//             |   [ ... the bucket's keys over its 8 slots]
//           slot  | 81 | 1f | 0 | c2 | 77 | ...     k numbers of r bits. Each is a function that sends every key of the
//                                                   slot to odd. 0: none was found; it accepts every key.
//
//           "maybe" if all k functions send the key to odd; a stranger passes each with probability 1/2.
//
//   paper          here
//   n, m           keys, slots()
//   r, k           function_bits, functions per slot (the first slots have one more, so that the whole budget is used)
//   r_s, r_b       sector_bits, bucket_bits
//   H_i            family::accepts (detail/function_family.hpp)
//   phase 1, 2     best_spread (detail/spread.hpp), FunctionSearch (detail/function_search.hpp)
//
// Known negatives: of the functions that a slot's keys pass, the builder chooses the one that refuses most of the cost
// of the slot's known negatives that are still accepted. Most slots have several to choose from, so a few functions
// refuse nearly all of them.
//
// Promises   Never denies a key it was built from. The same bytes for any number of threads and instruction set, and
//            from the CUDA builder (cuda/).
// Does not   insert or erase; refuse every known negative for certain. To absorb negatives after the build it needs a
//            file of its keys: adaptive_variable_hash.hpp.
// Cost       Query: three small tables and one or two cache lines. Build: 2^r_s + 2^r_b spread functions counted per
//            key, 512 at a time, and linear systems solved for the slot functions.
// Source     Deeds, 2020, chapter 3. Regions, functions in parts, solving, mixed k and the choice by known negatives
//            are our own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "naysay/core/filter.hpp"
#include "naysay/variable_hash/detail/variable_hash_build.hpp"
#include "naysay/variable_hash/detail/variable_hash_query.hpp"
#include "naysay/variable_hash/detail/variable_hash_table.hpp"
#include "naysay/variable_hash/variable_hash_rates.hpp"

namespace naysay {

namespace variable_hash::detail {
struct VariableHashAccess;
}  // namespace variable_hash::detail

// How much time a build may use to save bits.
enum class Effort : std::uint32_t { fast, balanced, small };
inline std::span<const std::string_view> enum_names(Effort) noexcept {
  static constexpr std::string_view names[] = {"fast", "balanced", "small"};
  return names;
}

class AdaptiveVariableHash;

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

  using WithKeyFile = AdaptiveVariableHash;  // adaptive_variable_hash.hpp

  // The shape that build() gives a filter of `keys` keys, but for its functions, which depend on the budget.
  static Result<variable_hash::VariableHashShape> place(std::uint64_t keys, const Params& p) {
    using namespace variable_hash::detail;
    const auto wrong = [](const std::string& what) { return Error{Errc::invalid_argument, "variable-hash: " + what}; };
    if (p.function_bits > family::kMaxFunctionBits)
      return wrong("function_bits is " + std::to_string(p.function_bits) +
                   "; it must be at most 55, or 0 for the best");
    if (p.functions > family::kMaxFunctions)
      return wrong("functions is " + std::to_string(p.functions) +
                   "; it must be at most 64, or 0 for what the budget pays for");
    if (!(p.keys_per_slot >= 0 && p.keys_per_slot <= kMaxKeysPerSlot))
      return wrong("keys_per_slot is " + rounded_text(p.keys_per_slot) + "; it must be at most 48, or 0 for the best");
    for (std::uint32_t bits : {p.sector_bits, p.bucket_bits})
      if (bits != 0 && (bits < family::kMinSpreadBits || bits > family::kMaxSpreadBits))
        return wrong("sector_bits or bucket_bits is " + std::to_string(bits) +
                     "; it must be 9 to 16, or 0 for the best");
    const Defaults& d = kDefaults[static_cast<std::size_t>(p.effort)];
    variable_hash::VariableHashShape s =
        variable_hash::place(keys, p.keys_per_slot > 0 ? p.keys_per_slot : d.keys_per_slot);
    s.tries_log[1] = p.sector_bits != 0 ? p.sector_bits : d.spread_bits;
    s.tries_log[2] = p.bucket_bits != 0 ? p.bucket_bits : d.spread_bits;
    return s;
  }

  // The shape that build() gives a filter of `keys` keys.
  static Result<variable_hash::VariableHashShape> plan(std::uint64_t keys, const Params& p) {
    NAYSAY_TRY(variable_hash::VariableHashShape s, place(keys, p));
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
    NAYSAY_TRY(const variable_hash::VariableHashShape shape, plan(w.keys.size(), p));
    VariableHash f;
    f.table_ = Table(shape, o.seed);
    variable_hash::detail::search(w, o, shape, f.table_, variable_hash::detail::Spreads::wanted);
    NAYSAY_CHECK(o.go_on("variable-hash"));
    return f;
  }

  bool may_contain(Digest d) const noexcept { return variable_hash::detail::may_contain(table_, d); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    variable_hash::detail::may_contain(table_, keys, out);
  }

  // The average over the slots, which strangers meet equally often, of 2^-(functions found).
  double expected_fpr() const noexcept {
    double sum = 0;
    for (std::uint64_t slot = 0; slot < slots(); ++slot) sum += std::ldexp(1.0, -static_cast<int>(found(slot)));
    return sum / static_cast<double>(slots());
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  // The slots and their functions, both numbered from 0, and a digest's way to its slot.
  std::uint64_t slots() const noexcept { return table_.slots(); }
  std::uint64_t slot_of(Digest d) const noexcept { return table_.slot_of(d); }
  std::uint64_t seed() const noexcept { return table_.seed(); }
  unsigned function_bits() const noexcept { return table_.function_bits(); }
  std::uint32_t functions_of(std::uint64_t slot) const noexcept { return table_.functions_of(slot); }
  std::uint64_t function(std::uint64_t slot, unsigned f) const noexcept { return table_.function(slot, f); }
  unsigned found(std::uint64_t slot) const noexcept {
    return table_.found(slot);
  }  // how many functions of it are not 0
  double share_not_found() const noexcept { return table_.share_not_found(); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    Table::fields(self.table_, visit);
  }
  Result<Ok> validate() const { return table_.validate(); }

 private:
  friend struct variable_hash::detail::VariableHashAccess;
  using Table = variable_hash::detail::VariableHashTable;

  static constexpr double kMaxKeysPerSlot = 48;  // a slot may get a few more; slots of more than 64 are not searched
  static constexpr std::uint64_t kPricedKeys = 1 << 20;
  static constexpr double kPriceMargin = 1.02;  // by this factor the model of the rate may be wrong

  struct Defaults {
    double keys_per_slot;
    unsigned spread_bits;
  };
  static constexpr Defaults kDefaults[] = {{16, 9}, {24, 12}, {40, 15}};  // by Effort

  Table table_;
};

static_assert(TunableFilter<VariableHash> && BatchFilter<VariableHash> && !DynamicFilter<VariableHash> &&
              !AdaptiveFilter<VariableHash>);

// For builders outside this header (cuda/) and for AdaptiveVariableHash: the table of a filter.
struct variable_hash::detail::VariableHashAccess {
  static VariableHash filter(VariableHashTable table) {
    VariableHash f;
    f.table_ = std::move(table);
    return f;
  }
  static VariableHashTable& table(VariableHash& f) noexcept { return f.table_; }
  static const VariableHashTable& table(const VariableHash& f) noexcept { return f.table_; }
};

}  // namespace naysay
