// SPDX-License-Identifier: Apache-2.0
// Properties: random workloads against std::set, shrunk by rapidcheck to the smallest that fails.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "cases.hpp"
#include "naysay/any_filter.hpp"

namespace naysay {
namespace {

struct Sets {
  std::vector<std::uint16_t> keys, negatives;  // from a small range: repeats and contradictions are common
};

rc::Gen<Sets> any_sets() {
  return rc::gen::map(rc::gen::tuple(rc::gen::arbitrary<std::vector<std::uint16_t>>(),
                                     rc::gen::arbitrary<std::vector<std::uint16_t>>()),
                      [](auto sets) {
                        return Sets{std::get<0>(sets), std::get<1>(sets)};
                      });
}

std::vector<Digest> digests(const std::vector<std::uint16_t>& numbers) {
  std::vector<Digest> out;
  for (std::uint16_t x : numbers) out.push_back(digest(std::uint64_t{x}));
  return out;
}

class EveryFiltersProperties : public ::testing::TestWithParam<FilterType> {};

TEST_P(EveryFiltersProperties, WhateverItIsBuiltFromItDeniesNoKeyAndComesBackFromItsFile) {
  EXPECT_TRUE(rc::check([&] {
    const Sets sets = *any_sets();
    const auto keys = digests(sets.keys), negatives = digests(sets.negatives);
    std::vector<float> costs;
    for (std::size_t i = 0; i < negatives.size(); ++i) costs.push_back(*rc::gen::element(0.0f, 0.5f, 1.0f, 1e30f));
    const auto bits = *rc::gen::inRange(2, 33);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    auto f = AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives, .costs = costs},
                              {{"bits_per_key", std::to_string(bits)}}, {.seed = seed});
    if (!f) {
      RC_ASSERT(f.error().code == Errc::out_of_budget);
      return;
    }
    const std::set<std::uint16_t> model(sets.keys.begin(), sets.keys.end());
    for (std::uint16_t x : model) RC_ASSERT(f->may_contain(std::uint64_t{x}));
    const auto bytes = f->to_bytes();
    const auto again = AnyFilter::load(bytes);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->to_bytes() == bytes);
    for (std::uint16_t x : sets.negatives)
      RC_ASSERT(f->may_contain(std::uint64_t{x}) == again->may_contain(std::uint64_t{x}));
  }));
}

NAYSAY_FOR_FILTERS(EveryFiltersProperties, true);

}  // namespace
}  // namespace naysay
