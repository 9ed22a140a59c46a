// SPDX-License-Identifier: Apache-2.0
// HashModulator: the lock on an index.
#include "naysay/seesaw/detail/hash_modulator.hpp"

#include <gtest/gtest.h>

namespace naysay::seesaw::detail {
namespace {

TEST(HashModulator, ChangesAnIndexOnlyWhileItsCountIsZero) {
  for (unsigned backups : {1u, 2u, 3u, 12u, 256u}) {
    HashModulator m(10, 3, backups);
    const std::uint32_t first = backups - 1, other = 0;
    m.take(4, m.at(4), first);
    m.take(4, m.at(4), other);
    EXPECT_EQ(m.at(4).count, 2u);
    EXPECT_EQ(m.at(4).index, first);
    m.release(4, m.at(4));
    EXPECT_EQ(m.at(4).index, first);
    m.release(4, m.at(4));
    EXPECT_EQ(m.at(4).count, 0u);
    m.take(4, m.at(4), other);
    EXPECT_EQ(m.at(4).index, other);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(m.at(i).count, i == 4);
    EXPECT_EQ(m.used(), 1u);
  }
}

TEST(HashModulator, KeepsAFullCellAndItsIndexPermanently) {
  HashModulator m(3, 2, 2);
  for (int i = 0; i < 5; ++i) m.take(1, m.at(1), 1);
  EXPECT_EQ(m.at(1).count, 3u);
  for (int i = 0; i < 10; ++i) m.release(1, m.at(1));
  EXPECT_EQ(m.at(1).count, 3u);
  EXPECT_EQ(m.at(1).index, 1u);
}

TEST(HashModulator, LeavesAnEmptyCellAloneWhenItIsReleased) {
  HashModulator m(3, 3, 2);
  m.release(2, m.at(2));
  EXPECT_EQ(m.used(), 0u);
}

}  // namespace
}  // namespace naysay::seesaw::detail
