// SPDX-License-Identifier: Apache-2.0
// Guarded over a base that grows: pins, reports and keys keep their promises while it does.
#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

#include "naysay/guarded/guarded.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using sample::numbers;

TEST(GuardedGrowing, KeepsEveryPromiseOverGrowthErasAndChurn) {
  constexpr std::uint64_t kPinned = std::uint64_t{1} << 32, kReported = std::uint64_t{1} << 33;
  const auto pinned = numbers(kPinned, 2000);
  const double guard_bits = static_cast<double>(guarded::detail::Guard::bits_for(1500));
  const double bits = 11 + guard_bits / 400;
  GuardedGrowing f = must_build<GuardedGrowing>(
      {.negatives = pinned}, {.bits_per_key = bits, .guard = 1500, .pinned = Pinning::all, .growth = 8},
      {.capacity = 400});
  sample::Words random(9);
  std::vector<std::uint64_t> in;
  std::unordered_set<std::uint64_t> made_keys;  // pinned or reported once, keys now
  std::vector<std::uint64_t> reported;
  std::uint64_t next = 0, most = 0;
  std::size_t eras = 0;
  for (int i = 0; i < 120'000; ++i) {
    const std::uint64_t what = random.below(1000);
    if (what < (i < 60'000 ? 650u : 450u) || in.empty()) {
      std::uint64_t key = next++;
      if (what < 2) {
        key = kPinned + random.below(pinned.size());
        made_keys.insert(key);
      } else if (what < 4 && !reported.empty()) {
        key = reported[random.below(reported.size())];
        made_keys.insert(key);
      } else if (what < 30 && !in.empty()) {
        key = in[random.below(in.size())];
      }
      ASSERT_TRUE(f.insert(digest(key))) << "operation " << i;
      in.push_back(key);
    } else {
      const std::uint64_t at = random.below(in.size());
      ASSERT_TRUE(f.erase(digest(in[at]))) << "operation " << i;
      in[at] = in.back();
      in.pop_back();
    }
    if (i % 10 == 0)
      if (const std::uint64_t x = kReported + random.below(100'000);
          f.may_contain(digest(x)) && !made_keys.contains(x)) {
        ASSERT_TRUE(f.adapt(digest(x), 1));
        reported.push_back(x);
      }
    most = std::max<std::uint64_t>(most, in.size());
    eras = std::max(eras, f.base().eras());
    if (i % 10'000 != 9999) continue;
    for (std::uint64_t key : in) ASSERT_TRUE(f.may_contain(digest(key))) << "operation " << i;
    for (std::uint64_t k = 0; k < pinned.size(); ++k)
      if (!made_keys.contains(kPinned + k)) {
        ASSERT_FALSE(f.may_contain(pinned[k])) << "pinned " << k << ", operation " << i;
      }
    for (std::uint64_t x : reported)
      if (!made_keys.contains(x)) {
        ASSERT_FALSE(f.may_contain(digest(x))) << "reported, operation " << i;
      }
  }
  EXPECT_GE(most, 40u * 400u);
  EXPECT_GE(eras, 2u);
  EXPECT_GT(reported.size(), 20u);
  EXPECT_GT(made_keys.size(), 100u);
}

}  // namespace
}  // namespace naysay
