// SPDX-License-Identifier: Apache-2.0
// Cases: the registered filters as parameters of a test suite, and their names as gtest wants them.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "naysay/any_filter.hpp"

namespace naysay {

inline std::ostream& operator<<(std::ostream& out, const FilterType& t) { return out << t.name; }

namespace cases {

inline std::string name(const ::testing::TestParamInfo<FilterType>& filter) {
  std::string out(filter.param.name);
  for (char& c : out)
    if (c == '-') c = '_';
  return out;
}

inline auto filters_that(bool (*can)(const FilterType&)) {
  std::vector<FilterType> out;
  for (const FilterType& t : filter_types())
    if (can(t)) out.push_back(t);
  return ::testing::ValuesIn(out);
}

}  // namespace cases
}  // namespace naysay

// Runs the suite once for every filter of which `ability`, an expression over `filter`, is true.
#define NAYSAY_FOR_FILTERS(suite, ability)                                                                           \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                                                              \
  INSTANTIATE_TEST_SUITE_P(Registry, suite,                                                                          \
                           ::naysay::cases::filters_that(                                                            \
                               []([[maybe_unused]] const ::naysay::FilterType& filter) -> bool { return ability; }), \
                           ::naysay::cases::name)
