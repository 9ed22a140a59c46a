// SPDX-License-Identifier: Apache-2.0
#include "naysay/habf/habf_rates.hpp"

#include <gtest/gtest.h>

#include "naysay/habf/habf.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;

TEST(HabfTheory, SetBitsHaveASingleOwnerAsOftenAsEquation3Says) {
  const auto keys = numbers(0, 20'000);
  for (unsigned k : {2u, 3u, 6u, 10u})
    for (std::uint64_t b : {4u, 8u, 13u}) {
      std::vector<unsigned> owners(b * 20'000);
      for (const Digest& d : keys)
        for (unsigned i = 1; i <= k; ++i) ++owners[fast_range(habf::nth_function(d, i), owners.size())];
      double set = 0, single = 0;
      for (unsigned n : owners) set += n > 0, single += n == 1;
      EXPECT_NEAR(single / set, habf::single_owner(k, static_cast<double>(b)), 0.012) << "k " << k << ", b " << b;
    }
}

TEST(HabfTheory, AKeyFindsAWayOutAsOftenAsItSays) {
  const auto keys = numbers(0, 10'000), negatives = numbers(1 << 30, 30'000);
  for (std::uint64_t b : {4u, 6u, 9u}) {
    const std::uint64_t m = b * 10'000;
    constexpr unsigned k = 3, family = 4;
    std::vector<bool> set(m), critical(m);
    const auto position = [&](Digest d, unsigned i) { return fast_range(habf::nth_function(d, i), m); };
    for (const Digest& d : keys)
      for (unsigned i = 1; i <= k; ++i) set[position(d, i)] = true;
    for (const Digest& d : negatives)
      for (unsigned i = 1; i <= k; ++i) {
        bool others = true;
        for (unsigned j = 1; j <= k; ++j) others &= j == i || set[position(d, j)];
        if (others) critical[position(d, i)] = true;
      }
    double ways = 0;
    for (const Digest& d : keys) {
      bool any = false;
      for (unsigned c = k + 1; c <= family; ++c) any |= set[position(d, c)] || !critical[position(d, c)];
      ways += any;
    }
    const habf::HabfShape shape{10'000, 30'000, static_cast<double>(m), 1000, k, family};
    EXPECT_NEAR(ways / 10'000, habf::move_exists(shape), 0.02) << b << " bits per key";
  }
}

TEST(HabfTheory, TotalRateIsThatOfTheTwoLooks) {
  for (double f : {0.001, 0.1, 0.5})
    for (double h : {0.0, 0.01, 1.0}) EXPECT_NEAR(habf::total(f, h), 1 - (1 - f) * (1 - h + h * (1 - f)), 1e-12);
}

TEST(HabfTheory, SecondLookCountsChainsOfDifferentFunctions) {
  const double at[] = {0, 0.1, 0.2, 0.3, 0.05}, end[] = {0, 0.05, 0.1, 0.15, 0.01}, ones = 0.4;
  // H0 = {1, 2, 3}: the chains are the ordered triples of different functions, the last at an end.
  double sum = 0;
  for (int i = 1; i <= 4; ++i)
    for (int j = 1; j <= 4; ++j)
      for (int l = 1; l <= 4; ++l) {
        if (i == j || j == l || i == l) continue;
        const bool moved = i == 4 || j == 4 || l == 4;  // then one function of H0 is not in the chain
        sum += at[i] * at[j] * end[l] * ones * ones * ones * (moved ? 1 - ones : 0);
      }
  EXPECT_NEAR(habf::second_look(at, end, 3, ones), sum, 1e-12);
}

struct Measured {
  double bloom, total, resolved;  // known negatives that pass the first look; either look; collisions resolved
  habf::HabfShape shape;
};

// Builds at `bits_per_key` in all, HashExpressor and Bloom filter 1 : 4, with 5-bit cells so that k = 10 has other
// functions.
Measured measure(unsigned k, double bits_per_key) {
  constexpr std::uint64_t kKeys = 20'000;
  const auto keys = numbers(0, kKeys), negatives = numbers(1 << 30, kKeys);
  const auto m = static_cast<std::uint64_t>(0.8 * bits_per_key * kKeys);
  Array<std::uint64_t> words(words_for_bits(m));
  habf::HashExpressor expressor(m / 20, 5);
  const Workload w{.keys = keys, .negatives = negatives};
  const habf::TpjoOutcome o = habf::Tpjo<true>(w, {}, k, expressor.family(), m, words.mutable_data(), expressor).run();
  std::uint64_t first = 0;
  for (const Digest& d : negatives) {
    bool all = true;
    for (unsigned i = 1; i <= k; ++i) all &= test_bit(words.data(), fast_range(habf::nth_function(d, i), m));
    first += all;
  }
  const Habf f = *Habf::build(w, {.bits_per_key = bits_per_key, .k = k, .cell_bits = 5});
  std::uint64_t either = 0;
  for (const Digest& d : negatives) either += f.may_contain(d);
  return {static_cast<double>(first) / kKeys,
          static_cast<double>(either) / kKeys,
          static_cast<double>(o.moved + o.in_passing),
          {kKeys, kKeys, static_cast<double>(m), static_cast<double>(expressor.cells()), k, expressor.family()}};
}

void expect_bounds_hold(unsigned k, double bits_per_key) {
  const Measured real = measure(k, bits_per_key);
  const double bound = habf::bloom_bound(real.shape), collisions = habf::collisions(real.shape);
  const double resolved = habf::resolved(collisions, habf::move_exists(real.shape), real.shape.cells, k);
  EXPECT_GT(bound, real.bloom) << "Eq. 19, k " << k << ", " << bits_per_key << " bits per key";
  EXPECT_LT(resolved, real.resolved * 1.1 + 5) << "Eq. 12, k " << k << ", " << bits_per_key << " bits per key";
  EXPECT_GT(habf::total(bound, habf::chain_bound(real.resolved, real.shape.cells)), real.total)
      << "Eq. 2, k " << k << ", " << bits_per_key << " bits per key";
}

TEST(HabfTheory, BoundLiesAboveTheMeasuredRateForAnyK) {
  for (unsigned k = 2; k <= 10; ++k) expect_bounds_hold(k, 10);
}

TEST(HabfTheory, BoundLiesAboveTheMeasuredRateAtAnySize) {
  for (unsigned b = 4; b <= 13; ++b) expect_bounds_hold(4, b);
}

}  // namespace
}  // namespace naysay
