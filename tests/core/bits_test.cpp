// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/bits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "naysay/core/archive.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(Bits, CellsOfEveryWidthKeepWhatIsWrittenAndNothingElseChanges) {
  for (unsigned b = 1; b <= 32; ++b)
    for (std::uint64_t n : {1, 2, 63, 64, 65, 200}) {
      sample::Words random(b * 1000 + n);
      Cells cells(n, b);
      std::vector<std::uint32_t> model(n, 0);
      for (int step = 0; step < 2000; ++step) {
        const std::uint64_t i = random.below(n);
        model[i] = static_cast<std::uint32_t>(random() & low_mask(b));
        cells.set(i, model[i]);
        const std::uint64_t j = random.below(n);
        ASSERT_EQ(cells.get(j), model[j]) << b << " bits, cell " << j;
      }
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(cells.get(i), model[i]);
    }
}

TEST(Bits, ACounterAtItsMaximumIsStickyAndZeroDoesNotGoDown) {
  Cells counters(3, 4);
  EXPECT_FALSE(counters.decrement(1));
  EXPECT_EQ(counters.get(1), 0u);
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(counters.increment(1));
  EXPECT_FALSE(counters.increment(1));
  EXPECT_FALSE(counters.decrement(1));
  EXPECT_EQ(counters.get(1), 15u);
  EXPECT_TRUE(counters.increment(2));
  EXPECT_TRUE(counters.decrement(2));
  EXPECT_EQ(counters.get(0), 0u);
  EXPECT_EQ(counters.get(2), 0u);
}

TEST(Bits, CellsWrittenAtOnceAreThoseWrittenOneByOne) {
  for (unsigned b = 1; b <= 32; ++b)
    for (std::uint64_t n : {1, 63, 64, 65, 200}) {
      sample::Words random(b * 100 + n);
      Cells cells(64 + n, b);
      cells.set(63, cells.max());
      std::vector<std::uint64_t> values(n);
      for (auto& v : values) v = random();
      cells.write(64, values.data(), n);
      EXPECT_EQ(cells.get(63), cells.max()) << "the cell before the first changed";
      std::uint64_t not_zero = 1;
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t cell = values[i] & low_mask(b);
        ASSERT_EQ(cells.get(64 + i), cell) << b << " bits, cell " << i;
        ASSERT_EQ(cells.peek(64 + i) & cells.max(), cell);
        if (b == 8) ASSERT_EQ(cells.peek<8>(64 + i), cell);
        if (b == 16) ASSERT_EQ(cells.peek<16>(64 + i), cell);
        ASSERT_EQ(cells.nonzero(64 + i), cell != 0);
        not_zero += cell != 0;
      }
      EXPECT_EQ(cells.count_nonzero(), not_zero) << b << " bits";
    }
}

TEST(Bits, CountersOfEveryWidthCountAndLeaveTheirNeighboursAlone) {
  for (unsigned b = 1; b <= 8; ++b) {
    sample::Words random(b);
    Cells counters(40, b);
    std::vector<std::uint32_t> model(40, 0);
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t i = random.below(40);
      if (random.below(5) < 3) {
        ASSERT_EQ(counters.increment(i), model[i] < counters.max());
        model[i] += model[i] < counters.max();
      } else {
        const bool moves = model[i] != 0 && model[i] < counters.max();
        ASSERT_EQ(counters.decrement(i), moves);
        model[i] -= moves;
      }
      for (std::uint64_t j = 0; j < 40; ++j) ASSERT_EQ(counters.get(j), model[j]);
    }
  }
}

TEST(Bits, NibblesCountAsCellsOfFourBitsDo) {
  sample::Words random(4);
  Cells counters(16, 4);
  std::uint64_t word = 0;
  for (int step = 0; step < 10'000; ++step) {
    const std::uint64_t i = random.below(16);
    const unsigned shift = static_cast<unsigned>(i) * 4;
    if (random.below(2) == 0) {
      counters.increment(i);
      word = nibble_up(word, shift);
    } else {
      counters.decrement(i);
      word = nibble_down(word, shift);
    }
    ASSERT_EQ(word, counters.words()[0]) << "step " << step;
    ASSERT_EQ(nibble_is_set(word, shift), counters.nonzero(i));
  }
}

TEST(Bits, CellsThatDoNotFitTheirWordsAreRefused) {
  Cells cells(100, 5);
  EXPECT_TRUE(cells.validate());
  std::vector<std::byte> bytes;
  FieldWriter writer(bytes);
  Cells::fields(std::as_const(cells), writer);
  bytes[0] = std::byte{101 + 64};  // n
  Cells lied;
  FieldReader reader(bytes, 0, 0, FieldReader::Arrays::copy);
  Cells::fields(lied, reader);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(lied.validate());
}

TEST(Bits, SelectFindsTheOneOfEveryRank) {
  sample::Words random(3);
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t x = random() & random() & (step % 2 ? ~0u : ~std::uint64_t{0});
    unsigned rank = 0;
    for (unsigned i = 0; i < 64; ++i) {
      if (((x >> i) & 1) == 0) continue;
      ASSERT_EQ(select64(x, rank++), i) << x;
    }
  }
}

TEST(Bits, AWindowIsTheBitsFromItsStart) {
  std::vector<std::uint64_t> words(4);
  sample::Words random(5);
  for (auto& w : words) w = random();
  for (std::uint64_t at = 0; at < 128; ++at) {
    const std::uint64_t window = load_window(words.data(), at);
    for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ((window >> i) & 1, test_bit(words.data(), at + i));
  }
}

TEST(Bits, RankedBitsNumberTheirOnes) {
  sample::Words random(6);
  for (std::uint64_t bits : {1u, 63u, 64u, 65u, 256u, 257u, 5000u}) {
    RankedBits ranked(bits);
    std::vector<bool> model(bits);
    for (std::uint64_t i = 0; i < bits; ++i)
      if (random.below(3) == 0) ranked.set(i), model[i] = true;
    std::uint64_t ones = 0;
    const std::uint64_t sealed = ranked.seal();
    for (std::uint64_t i = 0; i < bits; ++i) {
      ASSERT_EQ(ranked.test(i), model[i]);
      if (model[i]) ASSERT_EQ(ranked.slot(i), ones++) << "bit " << i << " of " << bits;
    }
    EXPECT_EQ(sealed, ones);
  }
}

TEST(Bits, PackedFieldsFindTheLowestFieldThatMatches) {
  sample::Words random(7);
  for (unsigned b = 1; b <= 32; ++b) {
    const unsigned count = 64 / b;
    const PackedFields lanes(b, count);
    for (int step = 0; step < 500; ++step) {
      // few different values, so that fields match; garbage above the fields
      std::uint64_t word = b * count == 64 ? 0 : random() << (b * count);
      unsigned first = count;
      const std::uint64_t v = random.below(3) == 0 ? low_mask(b) : random.below(2) & low_mask(b);
      for (unsigned i = count; i-- > 0;) {
        const std::uint64_t field = random.below(4) == 0 ? v : random() & low_mask(b);
        word |= field << (i * b);
        if (field == v) first = i;
      }
      const std::uint64_t found = lanes.matches(word, lanes.repeat(low_mask(b) ^ v));
      ASSERT_EQ(found != 0, first < count) << b << " bits";
      if (first < count) {
        ASSERT_EQ(static_cast<unsigned>(std::countr_zero(found)), first * b + b - 1) << b << " bits";
      }
    }
  }
}

TEST(Bits, AnArrayOwnsOrBorrows) {
  Array<std::uint64_t> owned(3);
  owned.at_mut(1) = 7;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(owned.data()) % kCacheLine, 0u);
  auto view = Array<std::uint64_t>::borrow(owned.data(), owned.size());
  EXPECT_FALSE(view.owned());
  EXPECT_EQ(view, owned);
  Array<std::uint64_t> copy = owned;
  EXPECT_NE(copy.data(), owned.data());
  view.own();
  view.at_mut(1) = 8;
  EXPECT_EQ(owned[1], 7u) << "a view that became its own must not write through";
  Array<std::uint64_t> huge(kHugeFrom / 8 + 5);
  for (std::uint64_t word : huge) ASSERT_EQ(word, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(huge.data()) % kHugePage, 0u);
}

}  // namespace
}  // namespace naysay
