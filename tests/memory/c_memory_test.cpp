// SPDX-License-Identifier: Apache-2.0
// Out of memory through the C API is NAYSAY_NO_MEMORY: every allocation of a build, a load, a save and a first insert
// fails in turn, and nothing is thrown or ends the program.
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.hpp"
#include "memory/failing_new.hpp"
#include "naysay/naysay.h"

namespace naysay {
namespace {

constexpr std::int64_t kMostTries = 100;

// body returns a naysay_code.
template <class Body>
void fails_with_a_code(Body body) {
  allocations_made = 0;
  ASSERT_EQ(body(), NAYSAY_OK) << "there is memory";
  const std::int64_t all = allocations_made;
  std::int64_t refused = 0;
  for (std::int64_t n = 0; n < all; n += std::max<std::int64_t>(1, all / kMostTries)) {
    naysay_code code = NAYSAY_OK;
    {
      const AllowAllocations some(n);
      code = body();
    }
    if (code == NAYSAY_OK) continue;
    ++refused;
    EXPECT_EQ(code, NAYSAY_NO_MEMORY) << "allocation " << n << " of " << all;
  }
  EXPECT_GT(refused, 0);
}

int ignore(void*, const void*, std::size_t) { return 0; }

class EveryFilterThroughCWithoutMemory : public ::testing::TestWithParam<FilterType> {};

TEST_P(EveryFilterThroughCWithoutMemory, ReturnsACodeAndLeavesTheFilterAsItWas) {
  const std::string name(GetParam().name);
  std::vector<std::uint64_t> keys(1000), negatives(1000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i, negatives[i] = i + (1 << 20);
  naysay_error error;
  const auto build = [&](naysay_filter** f) {
    return naysay_build(name.c_str(), naysay_integers(keys.data(), keys.size()),
                        naysay_integers(negatives.data(), negatives.size()), nullptr, nullptr, f, &error);
  };
  fails_with_a_code([&] {
    naysay_filter* f = nullptr;
    const naysay_code code = build(&f);
    EXPECT_EQ(f == nullptr, code != NAYSAY_OK);
    naysay_free(f);
    return code;
  });
  naysay_filter* f = nullptr;
  ASSERT_EQ(build(&f), NAYSAY_OK) << error.message;
  fails_with_a_code([&] { return naysay_save_to(f, ignore, nullptr, &error); });
  fails_with_a_code([&] {
    naysay_filter* copy = nullptr;
    const naysay_code code = naysay_clone(f, &copy, &error);
    naysay_free(copy);
    return code;
  });
  for (const std::uint64_t key : keys) ASSERT_EQ(naysay_contains_integer(f, key), 1);
  naysay_free(f);
}

NAYSAY_FOR_FILTERS(EveryFilterThroughCWithoutMemory, true);

}  // namespace
}  // namespace naysay
