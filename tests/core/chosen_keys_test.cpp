// SPDX-License-Identifier: Apache-2.0
// Keys that somebody chose: their digests share bits, every seed fails, and the message says what would help.
#include <gtest/gtest.h>

#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

constexpr std::uint64_t kShared = std::uint64_t{0x3ff} << 54;  // the highest ten bits

std::vector<Digest> chosen(std::uint64_t count, std::uint64_t in_lo, std::uint64_t in_hi) {
  std::vector<Digest> keys = sample::numbers(0, count);
  for (Digest& d : keys) d.lo |= in_lo, d.hi |= in_hi;
  return keys;
}

void expect_named(const char* filter, const std::vector<Digest>& keys) {
  const auto f = AnyFilter::build(filter, {.keys = keys});
  EXPECT_TRUE(sample::refused(f, Errc::chosen_keys, {filter, "look chosen", "secret key"}));
}

TEST(ChosenKeys, AreNamedAsTheReasonWhenNoSeedHelps) {
  expect_named("cuckoo", chosen(40'000, kShared, 0));
  expect_named("quotient", chosen(20'000, kShared, 0));
}
// A shard of a ribbon has room for 2^17 keys, and all its seeds are tried.
TEST(ChosenKeysSlow, AreNamedAsTheReasonByRibbonsToo) {
  expect_named("ribbon", chosen(200'000, 0, kShared));
  expect_named("taught-ribbon", chosen(200'000, 0, kShared));
}

TEST(ChosenKeys, AreNotSuspectedWhenTheHashHasASecret) {
  const auto keys = chosen(20'000, kShared, 0);
  const auto f = AnyFilter::build("quotient", {.keys = keys}, {}, {.hasher = {.id = HashId::siphash}});
  EXPECT_TRUE(sample::refused(f, Errc::build_failed, {"quotient"}));
}

// One key that comes often shares all bits with itself, and was not chosen.
TEST(ChosenKeys, AreNotSuspectedWhenTheyOnlyRepeat) {
  const BuildOptions options;
  std::vector<Digest> keys(50'000, digest("again"));
  for (const Digest& d : sample::numbers(0, 50'000)) keys.push_back(d);
  const Error failed{Errc::build_failed, "quotient: no room"};
  EXPECT_EQ(why_build_failed("quotient", failed, {.keys = keys}, options).code, Errc::build_failed);
  EXPECT_EQ(why_build_failed("quotient", failed, {}, options).message, failed.message);
  // A quarter that shares ten bits is suspected.
  for (std::size_t i = 75'000; i < keys.size(); ++i) keys[i].hi |= kShared;
  EXPECT_EQ(why_build_failed("quotient", failed, {.keys = keys}, options).code, Errc::chosen_keys);
  const Error budget{Errc::out_of_budget, "quotient: too few bits"};
  EXPECT_EQ(why_build_failed("quotient", budget, {.keys = keys}, options).code, Errc::out_of_budget);
}

}  // namespace
}  // namespace naysay
