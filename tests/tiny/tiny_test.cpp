// SPDX-License-Identifier: Apache-2.0
#include "naysay/tiny/tiny.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sample.hpp"

namespace naysay {
namespace {

using sample::numbers;
using sample::rate_matches;

std::span<const std::byte> bytes_in(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string must_build(std::span<const Digest> keys, std::span<const Digest> negatives = {},
                       std::span<const float> costs = {}, double bits_per_key = 10) {
  std::string out;
  const auto built = tiny::build(keys, negatives, costs, tiny::Budget{.bits_per_key = bits_per_key}, out);
  EXPECT_TRUE(built) << built.error().message;
  return out;
}

// A copy of its own, so that ASan sees a read outside of it; at any distance from an aligned address.
struct Alone {
  explicit Alone(std::span<const std::byte> bytes, std::size_t shift = 0)
      : memory(new std::byte[bytes.size() + shift]), view(memory.get() + shift, bytes.size()) {
    if (!bytes.empty()) std::memcpy(memory.get() + shift, bytes.data(), bytes.size());
  }
  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> view;
};

TEST(Tiny, NeverDeniesAKeyOfAnyNumberOfKeysThatRepeatAndAreGivenAsNegatives) {
  for (std::uint64_t n = 0; n <= 300; ++n)
    for (const double bits : {2.5, 8.0, 10.0, 13.3, 30.0, 60.0}) {
      auto keys = numbers(n * 1000, n);
      const auto once = keys;
      const Alone plain(bytes_in(must_build(keys, {}, {}, bits)));
      for (const Digest& d : once) ASSERT_TRUE(tiny::may_contain(plain.view, d)) << n << " keys at " << bits;
      keys.insert(keys.end(), once.begin(), once.begin() + static_cast<std::ptrdiff_t>(n / 2));
      if (n > 0) keys.insert(keys.end(), 7, once[n / 2]);
      const auto negatives = numbers(n * 1000 + n / 2, n + 1);  // half of them are keys
      const Alone repeated(bytes_in(must_build(keys, negatives, {}, bits)));
      for (const Digest& d : once) ASSERT_TRUE(tiny::may_contain(repeated.view, d)) << n << " keys at " << bits;
    }
}

TEST(Tiny, NeverDeniesAKeyOfThousands) {
  for (const std::uint64_t n : {577, 2308, 9250, 40'000}) {
    const auto keys = numbers(5, n), negatives = numbers(1 << 30, n / 5);
    const std::string f = must_build(keys, negatives);
    for (const Digest& d : keys) ASSERT_TRUE(tiny::may_contain(bytes_in(f), d)) << n;
  }
}

TEST(Tiny, ManyCopiesOfOneKeyAreOneKey) {
  const std::vector<Digest> copies(1000, digest(7));
  const std::string f = must_build(copies);
  EXPECT_TRUE(tiny::may_contain(bytes_in(f), digest(7)));
  EXPECT_LT(tiny::expected_fpr(bytes_in(f)), 1e-8) << "the bits of 1000 keys were not used for the one that there is";
}

TEST(Tiny, UsesAsManyBytesAsTheBloomFilterOfLevelDb) {
  for (std::uint64_t n = 8; n <= 3000; ++n) ASSERT_EQ(tiny::bytes_for(n, 10), (n * 10 + 7) / 8 + 1);
  EXPECT_EQ(tiny::bytes_for(0, 10), 10u);
  EXPECT_EQ(tiny::bytes_for(1, 10), 10u);
  EXPECT_EQ(must_build(numbers(0, 36)).size(), 46u);
}

TEST(Tiny, ErrsOnStrangersAsOftenAsItSays) {
  for (const std::uint64_t n : {5, 17, 36, 57, 64, 80, 100, 144, 300, 577})
    for (const double bits : {8.0, 9.3, 10.0, 10.5}) {
      double expected = 0;
      std::uint64_t hits = 0, queries = 0;
      const int filters = n > 200 ? 10 : 40;
      for (int f = 0; f < filters; ++f) {
        const auto keys = numbers(static_cast<std::uint64_t>(f) << 32, n),
                   negatives = numbers(std::uint64_t{1} << 50, n);
        const std::string bytes = must_build(keys, negatives, {}, bits);
        expected += tiny::expected_fpr(bytes_in(bytes));
        for (const Digest& d : numbers(std::uint64_t{1} << 60, 10'000)) hits += tiny::may_contain(bytes_in(bytes), d);
        queries += 10'000;
      }
      EXPECT_TRUE(rate_matches(hits, queries, expected / filters, 0.03)) << n << " keys at " << bits;
    }
}

TEST(Tiny, AcceptsAtMostTwoStrangersInAThousandAtThirtySixKeysAndTenBits) {
  const auto keys = numbers(0, 36);
  EXPECT_LE(tiny::expected_fpr(bytes_in(must_build(keys))), 0.002);
}

TEST(Tiny, HasRatesThatDoNotStepWithTheBudget) {
  for (const std::uint64_t n : {20, 36, 60, 90, 144}) {
    const auto keys = numbers(0, n);
    double last = 0;
    for (std::uint64_t bytes = n; bytes <= 2 * n; ++bytes) {
      std::vector<std::byte> out(bytes);
      ASSERT_TRUE(tiny::build(keys, {}, {}, out));
      const double fpr = tiny::expected_fpr(out);
      const double step = 8 / static_cast<double>(n);  // planes that a byte is worth
      EXPECT_GE(fpr, last * std::exp2(-step) * 0.65) << n << " keys, " << bytes << " bytes";
      EXPECT_LE(fpr, bytes == n ? 1 : last * 1.2) << n << " keys, " << bytes << " bytes";
      last = fpr;
    }
  }
}

TEST(Tiny, RefusesAllKnownNegativesUpToTwentyPerKey) {
  for (const std::uint64_t per_key : {1, 5, 20})
    for (std::uint64_t f = 0; f < 200; ++f) {
      const auto keys = numbers(f << 32, 36), negatives = numbers(1'000'000 + (f << 32), 36 * per_key);
      std::string bytes;
      const auto built = tiny::build(keys, negatives, {}, tiny::Budget{}, bytes);
      ASSERT_TRUE(built);
      EXPECT_EQ(built->left, 0u);
      for (const Digest& d : negatives) ASSERT_FALSE(tiny::may_contain(bytes_in(bytes), d)) << per_key << " per key";
    }
}

TEST(Tiny, OfMoreNegativesThanFitRefusesTheCostliestAndSaysWhatIsLeft) {
  for (const std::uint64_t n : {36, 144, 577}) {
    const auto keys = numbers(0, n), negatives = numbers(1'000'000, 200 * n);
    const auto costs = sample::zipf_costs(1.0, negatives.size());
    std::string bytes;
    const auto built = tiny::build(keys, negatives, costs, tiny::Budget{}, bytes);
    ASSERT_TRUE(built);
    std::uint64_t left = 0;
    double left_cost = 0, all = 0;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      const bool accepted = tiny::may_contain(bytes_in(bytes), negatives[i]);
      EXPECT_FALSE(accepted && i < n / 2) << "number " << i << " is one of the costliest";
      left += accepted;
      left_cost += accepted ? costs[i] : 0;
      all += costs[i];
    }
    EXPECT_EQ(left, built->left);
    EXPECT_NEAR(left_cost, built->left_cost, 1e-6 * all);
    EXPECT_LT(left_cost / all, 0.4 * tiny::expected_fpr(bytes_in(bytes))) << "no better than chance";
  }
}

TEST(Tiny, StopsSearchingWhenWhatIsLeftIsCheapEnough) {
  const auto keys = numbers(0, 36), negatives = numbers(1'000'000, 2000);
  std::string search, stop;
  const auto all = tiny::build(keys, negatives, {}, tiny::Budget{}, search);
  const auto some = tiny::build(keys, negatives, {}, tiny::Budget{.enough = 2000}, stop);
  ASSERT_TRUE(all && some);
  EXPECT_LT(some->seeds, all->seeds);
  EXPECT_LE(all->left, some->left);
}

TEST(Tiny, NegativesThatAreKeysDoNotDriveTheSearch) {
  const auto keys = numbers(0, 200);
  const auto built = [&] {
    std::string bytes;
    return tiny::build(keys, keys, {}, tiny::Budget{}, bytes);
  }();
  ASSERT_TRUE(built);
  EXPECT_EQ(built->left, 0u);
  EXPECT_EQ(built->contradictions, 200u);
  EXPECT_LT(built->seeds, 24u);
}

TEST(Tiny, SameInputSameBytes) {
  const auto keys = numbers(0, 36), negatives = numbers(1'000'000, 100);
  EXPECT_EQ(must_build(keys, negatives), must_build(keys, negatives));
  // The format, pinned: tables on disk outlive a release.
  const std::string few = must_build(numbers(0, 5)), block = must_build(keys, negatives),
                    large = must_build(numbers(0, 577), numbers(1'000'000, 500));
  EXPECT_EQ(checksum(bytes_in(few)), 1483652406722629188u);
  EXPECT_EQ(checksum(bytes_in(block)), 15085693922032740701u);
  EXPECT_EQ(checksum(bytes_in(large)), 7183349803498370884u);
}

TEST(Tiny, AnswersTheSameAtEveryAlignment) {
  for (const std::uint64_t n : {1, 36, 100, 577}) {
    const auto questions = numbers(n / 2, 3 * n);
    const std::string f = must_build(numbers(0, n));
    for (std::size_t shift = 0; shift < 16; ++shift) {
      const Alone moved(bytes_in(f), shift);
      for (const Digest& d : questions)
        ASSERT_EQ(tiny::may_contain(moved.view, d), tiny::may_contain(bytes_in(f), d)) << n << " keys, shift " << shift;
    }
  }
}

TEST(Tiny, BytesThatCannotBeATinyFilterAreAnsweredMaybe) {
  const auto questions = numbers(0, 50);
  const std::string f = must_build(numbers(1000, 36));
  for (std::size_t size = 0; size < 10; ++size) {
    const Alone cut(bytes_in(f).first(size));
    for (const Digest& d : questions) ASSERT_TRUE(tiny::may_contain(cut.view, d)) << size << " bytes";
    EXPECT_EQ(tiny::expected_fpr(cut.view), 1);
  }
  for (unsigned shape = 0; shape < 8; ++shape) {
    Alone none(bytes_in(f));
    none.view[1] = static_cast<std::byte>(shape);
    for (const Digest& d : questions) ASSERT_TRUE(tiny::may_contain(none.view, d)) << "shape " << shape;
  }
}

// Under ASan and UBSan: whatever the bytes are, no query reads outside of them or shifts too far.
TEST(Tiny, DamagedBytesAreNeverReadOutside) {
  const auto questions = numbers(0, 60);
  std::uint64_t answers = 0;
  const auto query_all = [&](std::span<const std::byte> bytes) {
    for (const Digest& d : questions) answers += tiny::may_contain(bytes, d);
    answers += tiny::expected_fpr(bytes) > 0;
  };
  for (const std::uint64_t n : {0, 1, 5, 36, 60, 100, 300}) {
    const std::string f = must_build(numbers(1000, n));
    for (std::size_t size = 0; size <= f.size(); ++size) query_all(Alone(bytes_in(f).first(size)).view);
    for (unsigned shape = 0; shape < 256; ++shape)
      for (const std::size_t size : {std::size_t{10}, f.size() / 2, f.size()}) {
        Alone changed(bytes_in(f).first(size));
        if (size > 1) changed.view[1] = static_cast<std::byte>(shape);
        query_all(changed.view);
      }
  }
  sample::Words random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> bytes(random.below(80));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.below(256));
    query_all(Alone(bytes).view);
  }
  EXPECT_GT(answers, 0u);
}

TEST(Tiny, SaysWhatIsWrongAndLeavesTheOutputAsItWas) {
  const auto keys = numbers(0, 144), negatives = numbers(1000, 2);
  std::string out = "before";
  const float costs[] = {1, 2, 3}, bad[] = {1, std::numeric_limits<float>::quiet_NaN()}, less[] = {1, -1};
  const auto code = [&](std::span<const float> c, double bits) {
    const auto built = tiny::build(keys, negatives, c, tiny::Budget{.bits_per_key = bits}, out);
    EXPECT_FALSE(built);
    EXPECT_TRUE(built.error().message.starts_with("tiny: ")) << built.error().message;
    EXPECT_EQ(out, "before");
    return built.error().code;
  };
  EXPECT_EQ(code(costs, 10), Errc::invalid_argument);
  EXPECT_EQ(code(bad, 10), Errc::invalid_argument);
  EXPECT_EQ(code(less, 10), Errc::invalid_argument);
  EXPECT_EQ(code({}, 1), Errc::out_of_budget);
  std::vector<std::byte> nine(9);
  const auto built = tiny::build(keys, {}, {}, nine);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Errc::out_of_budget);
}

TEST(Tiny, FillsExactlyTheBytesItIsGiven) {
  const auto keys = numbers(0, 36);
  for (std::size_t size = 10; size < 200; ++size) {
    Alone out(std::vector<std::byte>(size, std::byte{0x5a}));
    const auto built = tiny::build(keys, {}, {}, out.view);
    ASSERT_TRUE(built) << built.error().message;
    for (const Digest& d : keys) ASSERT_TRUE(tiny::may_contain(out.view, d)) << size << " bytes";
  }
}

}  // namespace
}  // namespace naysay
