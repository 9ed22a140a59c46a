// SPDX-License-Identifier: Apache-2.0
// tiny: a filter for one block of a storage engine: a few dozen keys, a header of 2 bytes, known negatives refused.
//
// A registered filter begins with a description of itself: that is nothing for a million keys and too much for the 36
// keys of a LevelDB block, whose filter may use 46 bytes. A tiny filter is bytes and two functions. Queries read the
// bytes where they lie, at any alignment: nothing is parsed, copied or allocated.
//
//   keys, known negatives --build--> |seed|shape| bits ...... |        may_contain(bytes, digest) --> no | maybe
//
// It is a ribbon filter with as few spare slots as can be solved (2 for up to 64 keys): a key is an equation over the
// bits of a window of 57 slots, and as many planes of such equations as the budget allows. A budget between p and p + 1
// planes gives some keys p + 1 (detail/layout.hpp). The spare slots are put to use: they hold the equations that refuse
// known negatives (detail/solver.hpp). If some are left over, other seeds are tried, while that is worth it.
//
//   n keys, m slots, p planes: a stranger passes with probability 2^-p or 2^-(p+1), and m p is about the bits
//
//   std::string block;
//   tiny::build(keys, negatives, costs, tiny::Budget{.bits_per_key = 10}, block);      // appends to it
//   if (!tiny::may_contain(std::as_bytes(std::span(block)), digest("example.org"))) ...  // certainly absent
//
// Promises   never denies a key it was built from, whatever the number of keys, also if keys repeat and if keys are
//            given as negatives. Refuses all known negatives up to 20 per key at 10 bits per key, and the costliest of
//            more. Same keys, negatives, costs and budget: same bytes. Bytes that cannot be a tiny filter, such as
//            truncated ones, get the answer "maybe"; no bytes make a query read outside of them.
// Does not   detect changed bits: it has no checksum, the engine's block has. It records no hash function: the same
//            digest() must be used for building and querying.
// Cost       at 36 keys and 10 bits per key, compared with LevelDB's own Bloom filter in the same process: queries of
//            strangers x0.95, of keys x2; builds x7 at one negative for five keys (./dev bench leveldb).
// Source     our own; equations as in ribbon filters (Dillinger and Walzer, arXiv:2103.02515).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/tiny/detail/layout.hpp"
#include "naysay/tiny/detail/solver.hpp"

namespace naysay::tiny {

// Beyond it, an engine's block is no block any more. A window of 57 slots needs ever more spare slots as keys are added:
// 3 % at 2,000 keys, 5 % at 20,000.
inline constexpr std::uint64_t kMaxKeys = 1 << 20;

struct Budget {
  double bits_per_key = 10;
  double enough = 0;  // stop searching when the negatives that are still accepted cost no more than this together
};

// What a build reports.
struct Built {
  std::uint32_t seeds = 0;           // tried
  std::uint64_t left = 0;            // known negatives that the filter accepts; those that are keys are not counted
  double left_cost = 0;              // of them
  std::uint64_t contradictions = 0;  // negatives that are keys; 0 unless the search met them
};

// As many bytes as LevelDB's own Bloom filter uses for n keys, but never fewer than 10, whatever n is.
inline std::uint64_t bytes_for(std::uint64_t n, double bits_per_key) noexcept {
  const double bits = std::clamp(bits_per_key, 0.0, 64.0) * static_cast<double>(n);
  return std::max<std::uint64_t>(detail::kMinBytes, static_cast<std::uint64_t>(std::ceil(bits / 8)) + 1);
}

inline bool may_contain(std::span<const std::byte> bytes, Digest d) noexcept {
  if (bytes.size() < detail::kMinBytes) return true;
  const auto l = detail::Layout::of(bytes.size(), std::to_integer<std::uint32_t>(bytes[1]));
  if (!l.valid()) return true;
  const auto row = l.row(d, std::to_integer<std::uint32_t>(bytes[0]));
  std::uint32_t at = detail::kHeaderBytes * 8 + row.start, fingerprint = row.fingerprint;
  std::uint32_t planes = l.planes + row.deep;
  // Four planes together: of 16 strangers 15 leave in the first round, so that the branch is predicted nearly always.
  for (; planes >= 4; planes -= 4, at += 4 * l.slots, fingerprint >>= 4)
    if (detail::four_parities(bytes, at, l.slots, row.slots) != detail::spread4(fingerprint)) return false;
  for (; planes > 0; --planes, at += l.slots, fingerprint >>= 1)
    if (detail::parity(detail::load_bits(bytes, at) & row.slots) != (fingerprint & 1)) return false;
  return true;
}

// The rate of "maybe" on strangers; 1 if these are not the bytes of a tiny filter.
inline double expected_fpr(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < detail::kMinBytes) return 1;
  const auto l = detail::Layout::of(bytes.size(), std::to_integer<std::uint32_t>(bytes[1]));
  return l.valid() ? std::exp2(-static_cast<double>(l.planes)) * (1 - l.deep_share() / 2) : 1;
}

namespace detail {

// Slots with which two seeds of three are solvable, by trial for up to 20,000 keys.
inline std::uint64_t slots_for(std::uint64_t keys) noexcept {
  std::uint64_t slots = keys + 2;
  if (keys > 64) slots += (keys - 64) * 3 / 100;
  if (keys > 4000) slots += (keys - 4000) / 50;
  return slots;
}

class Search {
 public:
  Search(std::span<const Digest> keys, std::span<const Digest> negatives, std::span<const float> costs, double enough)
      : keys_(keys),
        costs_(costs),
        order_(negatives.size()),
        negatives_(negatives.begin(), negatives.end()),
        enough_(std::max(enough, kEnoughShare * std::accumulate(costs.begin(), costs.end(), 0.0))) {
    if (costs.empty()) enough_ = std::max(enough, kEnoughShare * static_cast<double>(negatives.size()));
    if (costs.empty()) {
      std::iota(order_.begin(), order_.end(), 0u);
      return;
    }
    std::vector<std::pair<float, std::uint32_t>> sorted;
    sorted.reserve(costs.size());
    for (std::uint32_t i = 0; i < costs.size(); ++i) sorted.emplace_back(-costs[i], i);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = sorted[i].second;
    for (std::size_t i = 0; i < order_.size(); ++i) negatives_[i] = negatives[order_[i]];
  }

  Result<Built> fill(std::span<std::byte> out) {
    std::uint64_t keys = keys_.size();
    const std::uint64_t bits = (out.size() - kHeaderBytes) * 8;
    for (std::uint32_t shape = shape_for(bits, keys);;) {
      if (shape < kMinShape)
        return Error{Errc::out_of_budget, "tiny: " + std::to_string(out.size()) + " bytes are too few for " +
                                              std::to_string(keys) + " keys; about 10 bits per key would do"};
      Solver solver(Layout::of(out.size(), shape));
      std::uint32_t solved = 0;
      for (std::uint32_t tried = 0; tried < kSeeds && (solved > 0 || tried < kSeedsPerShape); ++tried) {
        const std::uint32_t seed = (built_.seeds++) % kSeeds;
        if (!solver.take_keys(keys_, seed)) continue;
        if (solved == 0 && solver.repeats() > 0 && keys == keys_.size()) {  // fewer keys than it seemed: plan again
          keys -= solver.repeats();
          if (const std::uint32_t better = shape_for(bits, keys); better > shape) {
            shape = better;
            solver = Solver(Layout::of(out.size(), shape));
            tried = 0;
            continue;
          }
        }
        solve(solver, seed, shape, out, solved++ == 0);
        if (built_.left_cost <= enough_ || built_.left == 0 || !worth_another(solved)) return built_;
      }
      if (solved > 0) return built_;
      --shape;
    }
  }

 private:
  static std::uint32_t shape_for(std::uint64_t bits, std::uint64_t keys) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(kMaxShape, bits * kShapePerPlane / slots_for(keys)));
  }

  // What is left over differs from seed to seed by about its square root. So the more there is, the less another seed
  // helps: with one negative left 16 more seeds are tried, with 16 one more.
  bool worth_another(std::uint32_t solved) const noexcept { return solved * built_.left <= kWorth; }

  // Keeps the seed if it is the first, or better than those before.
  void solve(Solver& solver, std::uint32_t seed, std::uint32_t shape, std::span<std::byte> out, bool first) {
    trial_.assign(out.size(), std::byte{0});
    trial_[0] = static_cast<std::byte>(seed);
    trial_[1] = static_cast<std::byte>(shape);
    solver.solve(negatives_, trial_, left_);
    double cost = 0;
    std::uint64_t left = 0, contradictions = 0;
    for (std::uint32_t i : left_) {
      if (is_key(negatives_[i])) {
        ++contradictions;
        continue;
      }
      ++left;
      cost += costs_.empty() ? 1 : costs_[order_[i]];
    }
    if (!first && cost >= built_.left_cost) return;
    std::copy(trial_.begin(), trial_.end(), out.begin());
    built_.left = left;
    built_.left_cost = cost;
    built_.contradictions = contradictions;
  }

  bool is_key(Digest d) {
    if (keys_.size() <= 64) return std::find(keys_.begin(), keys_.end(), d) != keys_.end();
    if (sorted_.empty()) {
      sorted_.assign(keys_.begin(), keys_.end());
      std::sort(sorted_.begin(), sorted_.end());
    }
    return std::binary_search(sorted_.begin(), sorted_.end(), d);
  }

  static constexpr std::uint32_t kSeedsPerShape = 24;  // at two in three, all of them fail once in 10^11 builds
  static constexpr std::uint64_t kWorth = 16;
  static constexpr double kEnoughShare = 1e-6;  // of the cost of all negatives: not worth another seed

  std::span<const Digest> keys_;
  std::span<const float> costs_;
  std::vector<std::uint32_t> order_;  // negatives_[i] was given at order_[i]
  std::vector<Digest> negatives_;     // the costliest first
  double enough_;
  Built built_;
  std::vector<std::byte> trial_;
  std::vector<std::uint32_t> left_;
  std::vector<Digest> sorted_;
};

}  // namespace detail

// Fills all of `out`, which must have at least 10 bytes. costs may be empty: each negative costs 1. On an error out is
// unchanged.
inline Result<Built> build(std::span<const Digest> keys, std::span<const Digest> negatives,
                           std::span<const float> costs, std::span<std::byte> out, double enough = 0) {
  if (!costs.empty() && costs.size() != negatives.size())
    return Error{Errc::invalid_argument, "tiny: there are " + std::to_string(costs.size()) + " costs for " +
                                             std::to_string(negatives.size()) + " negatives; it must be one each"};
  for (float cost : costs)
    if (!(cost >= 0) || !std::isfinite(cost))
      return Error{Errc::invalid_argument,
                   "tiny: a cost is " + std::to_string(cost) + "; it must be finite and not negative"};
  if (negatives.size() > 0xffffffffu)
    return Error{Errc::invalid_argument, "tiny: there are " + std::to_string(negatives.size()) +
                                             " negatives; 4294967295 at most can be numbered"};
  if (keys.size() > kMaxKeys)
    return Error{Errc::invalid_argument, "tiny: there are " + std::to_string(keys.size()) + " keys; " +
                                             std::to_string(kMaxKeys) + " at most are what a tiny filter can hold"};
  if (out.size() < detail::kMinBytes || out.size() > detail::kMaxBytes)
    return Error{Errc::out_of_budget, "tiny: " + std::to_string(out.size()) + " bytes were given; it must be " +
                                          std::to_string(detail::kMinBytes) + " to " +
                                          std::to_string(detail::kMaxBytes)};
  return detail::Search(keys, negatives, costs, enough).fill(out);
}

// Appends bytes_for(keys.size(), budget.bits_per_key) bytes to `out`, a std::string or a std::vector of bytes. Copies of
// a key count; leave them out where it is easy. On an error out is unchanged.
template <class Bytes>
requires requires(Bytes& b) {
  b.resize(b.size());
  b.data();
}
Result<Built> build(std::span<const Digest> keys, std::span<const Digest> negatives, std::span<const float> costs,
                    const Budget& budget, Bytes& out) {
  const std::size_t before = out.size();
  out.resize(before + bytes_for(keys.size(), budget.bits_per_key));
  auto built = build(keys, negatives, costs, std::as_writable_bytes(std::span(out)).subspan(before), budget.enough);
  if (!built) out.resize(before);
  return built;
}

}  // namespace naysay::tiny
