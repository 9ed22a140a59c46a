// SPDX-License-Identifier: Apache-2.0
#include "naysay/ribbon/detail/slot_sums.hpp"

#include <gtest/gtest.h>

#include "levels.hpp"
#include "naysay/ribbon/detail/free_choice.hpp"
#include "sample.hpp"

namespace naysay::ribbon::detail {
namespace {

template <class T>
class SlotSumsOf : public ::testing::Test {};
using Widths = ::testing::Types<std::integral_constant<unsigned, 64>, std::integral_constant<unsigned, 128>>;
TYPED_TEST_SUITE(SlotSumsOf, Widths);

template <unsigned w>
Equation<w> random_equation(sample::Words& random, std::uint32_t slots) {
  Equation<w> e;
  for (auto& word : e.coefficients.word) word = random();
  e.coefficients.word[0] |= 1;
  e.start = static_cast<std::uint32_t>(random.below(slots - w + 1));
  e.bits = static_cast<std::uint32_t>(random());
  return e;
}

// A band of `slots` slots of which `free` are free.
template <unsigned w>
Band<w> random_band(sample::Words& random, std::uint32_t slots, std::uint32_t free) {
  Band<w> band;
  band.reset(slots);
  for (std::uint32_t left = slots - free; left > 0;)
    left -= band.add(random_equation<w>(random, slots), 0xffffffff).fate == Band<w>::Fate::placed;
  return band;
}

template <unsigned w, class Sum>
Sum sum_of(const SlotSums<w>& sums, const Equation<w>& e, unsigned planes) {
  Sum out;
  sums.add_up(std::span(&e, 1), planes, &out);
  return out;
}

// Whether plane `plane` of the solution satisfies e: bit by bit, with nothing of the code that is tested.
template <unsigned w>
bool holds(const Equation<w>& e, const std::vector<std::uint64_t>& words, unsigned planes, unsigned plane) {
  bool sum = e.bits >> plane & 1;
  for (unsigned i = 0; i < w; ++i)
    sum ^= test_bit(e.coefficients.word.data(), i) &&
           test_bit(words.data() + (e.start + i) / 64 * planes + plane, (e.start + i) % 64);
  return !sum;
}

template <unsigned w, class Sum>
void says_which_planes_hold(std::uint32_t slots, std::uint32_t free, unsigned planes) {
  SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(free) + " free, " + std::to_string(planes));
  sample::Words random(slots + free);
  Band<w> band = random_band<w>(random, slots, free);
  SlotSums<w> sums;
  sums.solve(band, planes);
  std::vector<Sum> values(planes, 0);  // of the free slots in each plane
  for (std::uint32_t slot = 0, k = 0; slot < slots; ++slot) {
    if (!band.is_free(slot)) continue;
    band.set_free(slot, static_cast<std::uint32_t>(random()));
    for (unsigned j = 0; j < planes; ++j) values[j] |= static_cast<Sum>(band.bits(slot) >> j & 1) << k;
    ++k;
  }
  std::vector<std::uint64_t> words(words_for_bits(slots) * planes);
  band.solve(0, planes, 0, planes, words.data());
  for (int i = 0; i < 200; ++i) {
    const auto e = random_equation<w>(random, slots);
    const Sum sum = sum_of<w, Sum>(sums, e, planes);
    for (unsigned j = 0; j < planes; ++j)
      ASSERT_EQ(!FreeChoice<Sum>::is_odd(sum & (values[j] << planes | Sum{1} << j)), holds(e, words, planes, j));
  }
}

TYPED_TEST(SlotSumsOf, SaysInWhichPlanesAnEquationHoldsWhateverTheFreeSlotsAre) {
  constexpr unsigned w = TypeParam::value;
  for (std::uint32_t slots : {w, w + 1, w + 7, 500u, 1003u})
    for (const auto& [free, planes] : {std::pair{0u, 8u}, {1u, 1u}, {24u, 9u}, {32u, 32u}, {55u, 9u}}) {
      says_which_planes_hold<w, std::uint64_t>(slots, free, planes);
      says_which_planes_hold<w, Uint128>(slots, free, planes);
    }
  for (const auto& [free, planes] : {std::pair{64u, 1u}, {60u, 8u}, {100u, 8u}, {96u, 32u}, {127u, 1u}})
    says_which_planes_hold<w, Uint128>(1000, free, planes);
}

template <unsigned w>
std::vector<Uint128> sums_at(Simd level) {
  const ScopedSimd lowered(level);
  sample::Words random(7);
  const Band<w> band = random_band<w>(random, 777, 90);
  std::vector<Equation<w>> equations;
  for (std::size_t i = 0; i < SlotSums<w>::kSome; ++i) equations.push_back(random_equation<w>(random, 777));
  SlotSums<w> sums;
  sums.solve(band, 9);
  std::vector<Uint128> out(equations.size());
  sums.add_up(std::span<const Equation<w>>(equations), 9, out.data());
  return out;
}
class SlotSumsAtLevel : public levels::Test {};
TEST_P(SlotSumsAtLevel, GivesTheWordsOfItsScalarCode) {
  EXPECT_TRUE(sums_at<64>(GetParam()) == sums_at<64>(Simd::scalar));
  EXPECT_TRUE(sums_at<128>(GetParam()) == sums_at<128>(Simd::scalar));
}
NAYSAY_FOR_LEVELS(SlotSumsAtLevel);

TYPED_TEST(SlotSumsOf, ChoosesTheSlotsThatTheBandItselfWouldUse) {
  constexpr unsigned w = TypeParam::value;
  for (std::uint32_t free : {1u, 20u, 55u, 110u}) {
    sample::Words random(free);
    Band<w> band = random_band<w>(random, 1500, free);
    SlotSums<w> sums;
    sums.solve(band, 8);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t slot = 0; slot < band.slots(); ++slot)
      if (band.is_free(slot)) slots.push_back(slot);
    FreeChoice<Uint128> choice;
    choice.reset(free, 0);
    std::vector<Equation<w>> chosen;
    constexpr unsigned kPlane = 5;
    for (std::uint32_t i = 0; i < 2 * free; ++i) {
      Equation<w> e = random_equation<w>(random, band.slots());
      const Uint128 sum = sum_of<w, Uint128>(sums, e, 8);
      const unsigned k = choice.choose(sum >> 8, sum >> kPlane & 1);
      const auto added = band.add(e, 1u << kPlane);
      ASSERT_EQ(k != free, added.fate == Band<w>::Fate::placed);
      if (k == free) continue;
      ASSERT_EQ(slots[k], added.slot);
      chosen.push_back(e);
    }
    const Uint128 bits = choice.bits();
    for (const auto& e : chosen) {
      const Uint128 sum = sum_of<w, Uint128>(sums, e, 8);
      EXPECT_FALSE(FreeChoice<Uint128>::is_odd(sum & (bits << 8 | Uint128{1} << kPlane)));
    }
    for (std::uint32_t k = 0; k < free; ++k)
      if (band.is_free(slots[k])) {
        EXPECT_EQ(static_cast<unsigned>(bits >> k & 1), 0u);
      }
  }
}

}  // namespace
}  // namespace naysay::ribbon::detail
