// SPDX-License-Identifier: Apache-2.0
#include "naysay/habf/detail/hash_expressor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "naysay/habf/detail/habf_hashes.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using habf::HashExpressor;

using Functions = std::vector<std::uint8_t>;

// What a key with those cells (by function, 0 the entry) finds; empty if it finds no chain.
template <class CellOf>
Functions find(const HashExpressor& e, unsigned k, CellOf&& cell_of) {
  Functions found;
  const bool whole = e.follow(k, cell_of(0), [&](unsigned function) {
    found.push_back(static_cast<std::uint8_t>(function));
    return cell_of(function);
  });
  return whole ? found : Functions{};
}

template <class CellOf>
bool store(HashExpressor& e, const Functions& functions, CellOf&& cell_of, HashExpressor::Plan* made = nullptr) {
  HashExpressor::Plan plan;
  if (!e.plan(functions, cell_of, 0, plan)) return false;
  e.write(plan);
  if (made) *made = plan;
  return true;
}

Functions sorted(Functions f) {
  std::sort(f.begin(), f.end());
  return f;
}

// A key whose cells are laid out by hand.
auto by_hand(std::map<unsigned, std::uint64_t> cells) {
  return [cells](unsigned function) { return cells.at(function); };
}

TEST(HashExpressor, StoresTheExampleOfThePapersFigure2) {
  HashExpressor e(16, 5);
  ASSERT_TRUE(store(e, {2, 1, 9}, by_hand({{0, 4}, {2, 10}, {1, 11}, {9, 12}})));  // leaves <0, h2> in cell 4
  ASSERT_EQ(e.cell(4).function, 2u);
  ASSERT_FALSE(e.cell(4).end);

  const auto key = by_hand({{0, 1}, {4, 4}, {2, 6}, {7, 13}});
  HashExpressor::Plan plan;
  ASSERT_TRUE(
      store(e, {4, 7, 2}, key, &plan));  // where the paper draws h4 at random, we take the first that shares most
  EXPECT_EQ(plan.shared, 1u) << "the cell with h2 is there already";
  EXPECT_EQ(find(e, 3, key), (Functions{4, 2, 7}));
  EXPECT_EQ(e.cell(1).function, 4u);
  EXPECT_FALSE(e.cell(1).end);
  EXPECT_FALSE(e.cell(4).end);
  EXPECT_EQ(e.cell(6).function, 7u);
  EXPECT_TRUE(e.cell(6).end);

  // The dotted line: h9 leads to an empty cell.
  EXPECT_EQ(find(e, 3, by_hand({{0, 11}, {9, 14}})), Functions{});
}

TEST(HashExpressor, AStoredKeyGetsExactlyItsFunctionsBack) {
  for (unsigned cell_bits : {3u, 4u, 5u, 6u})
    for (unsigned k = 1; k <= std::min(8u, HashExpressor::family_of(cell_bits)); ++k) {
      HashExpressor e(2000, cell_bits);
      sample::Words random(cell_bits * 100 + k);
      std::vector<std::pair<Digest, Functions>> stored;
      for (const Digest& d : sample::numbers(0, 600)) {
        Functions all(e.family());
        for (unsigned i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i + 1);
        for (unsigned i = 0; i < k; ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
        all.resize(k);
        const auto cell_of = [&](unsigned i) { return habf::DoubleHashes::cell(nth_hash(d, i), e.cells()); };
        if (store(e, all, cell_of)) stored.emplace_back(d, all);
      }
      ASSERT_GT(stored.size(), 100u);
      for (const auto& [d, functions] : stored) {
        const Digest key = d;
        ASSERT_EQ(sorted(find(e, k, [&](unsigned i) { return habf::DoubleHashes::cell(nth_hash(key, i), e.cells()); })),
                  sorted(functions))
            << "k = " << k << ", cells of " << cell_bits << " bits";
      }
    }
}

TEST(HashExpressor, TakesTheOrderThatSharesMostCells) {
  HashExpressor e(16, 4);
  ASSERT_TRUE(store(e, {3, 1, 2}, by_hand({{0, 0}, {3, 1}, {1, 2}, {2, 3}})));  // 0: h3, 1: h1, 2: h2 end
  // Entering at an empty cell, h3 first leads to a cell with h1 that leads to a cell with h2; no other order shares
  // two.
  const auto key = by_hand({{0, 8}, {3, 1}, {1, 2}, {2, 9}});
  HashExpressor::Plan plan;
  ASSERT_TRUE(e.plan(Functions{1, 2, 3}, key, 0, plan));
  EXPECT_EQ(plan.shared, 2u);
  EXPECT_FALSE(e.plan(Functions{1, 2, 3}, key, 3, plan)) << "at least three were required";
  e.write(plan);
  EXPECT_EQ(find(e, 3, key), (Functions{3, 1, 2}));
}

TEST(HashExpressor, RefusesAChainThatFitsInNoOrder) {
  HashExpressor e(16, 4);
  ASSERT_TRUE(store(e, {3, 1}, by_hand({{0, 0}, {3, 1}, {1, 2}})));
  HashExpressor::Plan plan;
  EXPECT_FALSE(e.plan(Functions{1, 2}, by_hand({{0, 0}, {1, 5}, {2, 6}}), 0, plan))
      << "the entry holds another function";
  EXPECT_TRUE(e.plan(Functions{3, 2}, by_hand({{0, 0}, {3, 5}, {2, 6}}), 0, plan)) << "the entry holds one of them";
  EXPECT_FALSE(e.plan(Functions{3, 2}, by_hand({{0, 0}, {3, 1}, {2, 6}}), 0, plan)) << "the second cell holds another";
}

TEST(HashExpressor, KnowsWhenTwoFunctionsOfAKeyLeadToOneCell) {
  HashExpressor e(16, 4);
  // The entry and h1 share cell 0, so a chain may not go through h1 before its end.
  const auto key = by_hand({{0, 0}, {1, 0}, {2, 5}, {3, 6}});
  ASSERT_TRUE(store(e, {1, 2, 3}, key));
  EXPECT_EQ(find(e, 3, key).back(), 1);
  EXPECT_EQ(sorted(find(e, 3, key)), (Functions{1, 2, 3}));
  HashExpressor::Plan plan;
  EXPECT_FALSE(HashExpressor(16, 4).plan(
      Functions{1, 2}, [](unsigned) { return 3u; }, 0, plan))
      << "all in one cell";
}

TEST(HashExpressor, RefusesAChainThatNamesAFunctionTwice) {
  HashExpressor e(16, 4);
  ASSERT_TRUE(store(e, {3, 1}, by_hand({{0, 0}, {3, 1}, {1, 2}})));  // 0: h3
  ASSERT_TRUE(store(e, {1, 3}, by_hand({{0, 4}, {1, 5}, {3, 6}})));  // 5: h3, an end
  ASSERT_EQ(e.cell(5).function, 3u);
  ASSERT_TRUE(e.cell(5).end);
  EXPECT_EQ(find(e, 2, by_hand({{0, 0}, {3, 5}})), Functions{}) << "h3, then h3 again";
}

TEST(HashExpressor, RefusesCellsOfAnImpossibleWidth) {
  std::vector<std::byte> bytes;
  FieldWriter writer(bytes);
  const Cells wide(10, 9);
  Cells::fields(wide, writer);
  FieldReader reader(bytes, 0, 0, FieldReader::Arrays::copy);
  HashExpressor e;
  HashExpressor::fields(e, reader);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(sample::refused(e.validate(), Errc::corrupt, {"9", "3", "6"}));
}

}  // namespace
}  // namespace naysay
