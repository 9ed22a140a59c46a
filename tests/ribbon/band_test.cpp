// SPDX-License-Identifier: Apache-2.0
#include "naysay/ribbon/detail/band.hpp"

#include <gtest/gtest.h>

#include "levels.hpp"
#include "naysay/core/hash.hpp"
#include "sample.hpp"

namespace naysay::ribbon::detail {
namespace {

template <class T>
class Bands : public ::testing::Test {};
using Widths = ::testing::Types<std::integral_constant<unsigned, 64>, std::integral_constant<unsigned, 128>>;
TYPED_TEST_SUITE(Bands, Widths);

template <unsigned w>
std::vector<Equation<w>> random_equations(std::uint64_t seed, std::uint32_t count, std::uint32_t slots) {
  sample::Words random(seed);
  std::vector<Equation<w>> out(count);
  for (auto& e : out) {
    for (auto& word : e.coefficients.word) word = random();
    e.coefficients.word[0] |= 1;
    e.start = static_cast<std::uint32_t>(random.below(slots - w + 1));
    e.bits = static_cast<std::uint32_t>(random());
  }
  return out;
}

bool slot_of(const std::vector<std::uint64_t>& words, unsigned stride, unsigned plane, std::uint64_t bit) {
  return test_bit(words.data() + bit / 64 * stride + plane, bit % 64);
}

// Bit by bit, with nothing of the code that is tested.
template <unsigned w>
bool holds(const Equation<w>& e, const std::vector<std::uint64_t>& words, unsigned phase, unsigned stride,
           unsigned plane) {
  bool sum = (e.bits >> plane) & 1;
  for (unsigned i = 0; i < w; ++i)
    sum ^= test_bit(e.coefficients.word.data(), i) && slot_of(words, stride, plane, phase + e.start + i);
  return !sum;
}

TYPED_TEST(Bands, EverySolutionSatisfiesEveryEquationThatWasPlacedOrImplied) {
  constexpr unsigned w = TypeParam::value;
  for (std::uint32_t slots : {w, w + 1, 200u, 1000u}) {
    Band<w> band;
    band.reset(slots);
    std::vector<Equation<w>> in;
    std::uint32_t placed = 0;
    for (const auto& e : random_equations<w>(slots, slots, slots)) {
      const auto added = band.add(e, 0xffffffff);
      placed += added.fate == Band<w>::Fate::placed;
      if (added.fate != Band<w>::Fate::refused) in.push_back(e);
    }
    EXPECT_EQ(band.free_slots(), slots - placed);
    EXPECT_GT(placed, slots * 8 / 10);
    for (unsigned phase : {0u, 1u, 40u, 63u}) {
      for (unsigned planes : {1u, 3u, 8u, 9u, 32u}) {
        const unsigned stride = planes + 2;
        std::vector<std::uint64_t> words(words_for_bits(phase + slots) * stride, 0);
        band.solve(0, planes, phase, stride, words.data());
        for (const auto& e : in)
          for (unsigned j = 0; j < planes; ++j)
            ASSERT_TRUE(holds(e, words, phase, stride, j)) << slots << " slots, plane " << j;
        for (std::uint64_t bit = 0; bit < words.size() / stride * 64; ++bit)
          for (unsigned j = 0; j < stride; ++j) {
            const bool mine = bit >= phase && bit < phase + slots && j < planes;
            ASSERT_TRUE(mine || !slot_of(words, stride, j, bit)) << "wrote outside its slots and planes";
          }
      }
    }
  }
}

// A system of 1500 slots, its equations added in this order, solved for 13 planes.
template <unsigned w, class Order>
std::vector<std::uint64_t> solved(const Order& order) {
  const std::uint32_t slots = 1500, count = 1440;
  const auto equations = random_equations<w>(3, count, slots);
  Band<w> band;
  band.reset(slots);
  EXPECT_TRUE(band.add_all(count, 0, [&](std::uint32_t i) { return equations[order(i, count)]; }));
  for (std::uint32_t i = 0; i < slots; ++i)
    if (band.is_free(i)) band.set_free(i, static_cast<std::uint32_t>(mix64(i)));
  std::vector<std::uint64_t> words(words_for_bits(5 + slots) * 13);
  band.solve(0, 13, 5, 13, words.data());
  return words;
}
constexpr auto kAsGiven = [](std::uint32_t i, std::uint32_t) { return i; };
constexpr auto kBackwards = [](std::uint32_t i, std::uint32_t count) { return count - 1 - i; };

TYPED_TEST(Bands, TheOrderOfEquationsChangesNeitherTheFreeSlotsNorTheSolution) {
  EXPECT_EQ(solved<TypeParam::value>(kBackwards), solved<TypeParam::value>(kAsGiven));
}

class BandsAtLevel : public levels::Test {
 protected:
  template <unsigned w>
  static void solves_as_scalar_code() {
    std::vector<std::uint64_t> plain;
    {
      const ScopedSimd scalar(Simd::scalar);
      plain = solved<w>(kAsGiven);
    }
    const ScopedSimd simd(GetParam());
    EXPECT_EQ(solved<w>(kAsGiven), plain) << w;
  }
};

TEST_P(BandsAtLevel, SolvesAsItsScalarCode) {
  solves_as_scalar_code<64>();
  solves_as_scalar_code<128>();
}
NAYSAY_FOR_LEVELS(BandsAtLevel);

TYPED_TEST(Bands, ARepeatedEquationIsImpliedAndItsOppositeIsRefused) {
  constexpr unsigned w = TypeParam::value;
  using Fate = typename Band<w>::Fate;
  Band<w> band;
  band.reset(300);
  const auto equations = random_equations<w>(4, 150, 300);
  ASSERT_TRUE(band.add_all(150, 0xffffffff, [&](std::uint32_t i) { return equations[i]; }));
  const std::uint32_t before = band.free_slots();
  for (auto e : equations) {
    EXPECT_EQ(band.add(e, 0xffffffff).fate, Fate::implied);
    e.bits ^= 4;
    EXPECT_EQ(band.add(e, 0xffffffff).fate, Fate::refused);
    EXPECT_EQ(band.add(e, 3).fate, Fate::implied) << "plane 2 was not asked about";
  }
  EXPECT_EQ(band.free_slots(), before);
  EXPECT_FALSE(band.add_all(150, 4, [&](std::uint32_t i) {
    auto e = equations[i];
    e.bits ^= i == 149 ? 4 : 0;
    return e;
  }));
}

TYPED_TEST(Bands, TakingBackAnEquationLeavesNoTrace) {
  constexpr unsigned w = TypeParam::value;
  Band<w> band;
  band.reset(400);
  for (const auto& e : random_equations<w>(5, 300, 400)) (void)band.add(e, 0);
  const auto solve = [&] {
    std::vector<std::uint64_t> words(words_for_bits(400) * 2);
    band.solve(0, 2, 0, 2, words.data());
    return words;
  };
  const auto before = solve();
  std::vector<std::uint32_t> taken;
  for (const auto& e : random_equations<w>(6, 100, 400))
    if (const auto added = band.add(e, 0); added.fate == Band<w>::Fate::placed) taken.push_back(added.slot);
  ASSERT_GT(taken.size(), 50u);
  EXPECT_NE(solve(), before);
  for (std::uint32_t slot : taken) band.take_back(slot, 0);
  EXPECT_EQ(solve(), before);
}

}  // namespace
}  // namespace naysay::ribbon::detail
