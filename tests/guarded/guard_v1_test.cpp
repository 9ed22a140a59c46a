// SPDX-License-Identifier: Apache-2.0
// Files of format version 1, whose guard had another layout: everything in it is still refused.
#include <gtest/gtest.h>

#include "naysay/any_filter.hpp"
#include "naysay/guarded/guarded.hpp"

namespace naysay {
namespace {

// Built by the tool from key-0 to key-199 and negative-0 to negative-299, with a guard of 100 entries.
AnyFilter of_version_1(const char* name) {
  auto f = naysay::load(NAYSAY_SOURCE_DIR "/tests/golden/" + std::string(name) + ".strings.v1.nsy");
  EXPECT_TRUE(f) << f.error().message;
  return std::move(*f);
}

template <class F>
void refuses_what_it_guarded(const AnyFilter& any) {
  const F* f = any.as<F>();
  ASSERT_TRUE(f);
  std::uint64_t guarded = 0;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(any.may_contain("key-" + std::to_string(i))) << i;
  for (int i = 0; i < 300; ++i) {
    const std::string negative = "negative-" + std::to_string(i);
    ASSERT_FALSE(any.may_contain(negative)) << i;
    guarded += f->base().may_contain(any.hasher()(negative));
  }
  EXPECT_GT(guarded, 5u) << "or the guard was not needed";
  EXPECT_EQ(f->guarded(), guarded);
}

TEST(GuardV1, IsReadWithEveryEntry) {
  refuses_what_it_guarded<GuardedCuckoo>(of_version_1("guarded"));
  refuses_what_it_guarded<GuardedCountingBloom>(of_version_1("guarded-counting-bloom"));
}

TEST(GuardV1, KeepsPinnedNegativesPinned) {
  AnyFilter f = of_version_1("guarded");
  EXPECT_EQ(f.as<GuardedCuckoo>()->pinned(), 300u);
  int inserted = 0;
  for (int i = 1000; i < 1045; ++i) inserted += static_cast<bool>(f.insert("key-" + std::to_string(i)));
  EXPECT_GT(inserted, 40);
  for (int i = 0; i < 300; ++i) ASSERT_FALSE(f.may_contain("negative-" + std::to_string(i))) << i;
  const auto again = AnyFilter::load(f.to_bytes());
  ASSERT_TRUE(again) << again.error().message;
  refuses_what_it_guarded<GuardedCuckoo>(*again);
}

}  // namespace
}  // namespace naysay
