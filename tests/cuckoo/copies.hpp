// SPDX-License-Identifier: Apache-2.0
// How cuckoo filters count copies of a key: up to seven; eight stay.
#pragma once

#include <gtest/gtest.h>

#include "sample.hpp"

namespace naysay::sample {

// f is empty and has room.
template <class F>
void expect_seven_copies_counted(F& f) {
  const Digest d = digest(1u);
  for (int copies = 1; copies <= 7; ++copies) {
    for (int i = 0; i < copies; ++i) ASSERT_TRUE(f.insert(d));
    for (int i = 0; i < copies; ++i) {
      ASSERT_TRUE(f.may_contain(d)) << copies << " copies, " << i << " erased";
      ASSERT_TRUE(f.erase(d));
    }
    ASSERT_FALSE(f.may_contain(d));
    ASSERT_FALSE(f.erase(d));
  }
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(f.insert(d));
  const auto eight = bytes_of(f);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(f.erase(d));
  EXPECT_TRUE(f.may_contain(d)) << "how many keys the eight stand for is not known";
  EXPECT_EQ(bytes_of(f), eight);
}

}  // namespace naysay::sample
