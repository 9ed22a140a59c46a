// SPDX-License-Identifier: Apache-2.0
#include "naysay/ribbon/taught_ribbon.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::numbers;
using sample::zipf_costs;

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;

struct Built {
  TaughtRibbon filter;
  Report report;
  double value(std::string_view name) const { return sample::must_say(report, name); }
};

Built built(const Workload& w, const TaughtRibbon::Params& p, BuildOptions o = {}) {
  Built out;
  o.report = &out.report;
  out.filter = sample::must_build<TaughtRibbon>(w, p, o);
  return out;
}

std::uint64_t accepted(const TaughtRibbon& f, std::span<const Digest> some) {
  std::vector<std::uint8_t> answers(some.size() + 1);
  f.may_contain(some, answers.data());
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    hits += answers[i];
    EXPECT_EQ(answers[i], f.may_contain(some[i]));
  }
  return hits;
}

TEST(TaughtRibbon, RefusesEveryKnownNegativeFrom8BitsAtOnePerKeyAnd12BitsAt16PerKey) {
  const auto keys = numbers(0, 20'000);
  for (unsigned width : {64u, 128u})
    for (auto [bits, lambda] : {std::pair{8.0, 1}, {12.0, 16}}) {
      const auto negatives = numbers(kFar, 20'000 * lambda);
      const Built b = built({.keys = keys, .negatives = negatives}, {.bits_per_key = bits, .width = width});
      EXPECT_EQ(accepted(b.filter, keys), keys.size());
      EXPECT_EQ(accepted(b.filter, negatives), 0u) << width << " at " << bits;
      EXPECT_EQ(b.value("exact plane"), 0) << "the query should be a plain ribbon's";
      EXPECT_EQ(b.value("known negatives refused"), 20'000.0 * lambda);
      EXPECT_LE(b.value("space over the limit"), width == 64 ? 1.05 : 1.03);
    }
}

TEST(TaughtRibbonSlow, AnswersAllKnownNegativesRightInTheBitsOfTheLimitOnTwoThreads) {
  for (auto [lambda, bits] : {std::pair{1.0, 2.03}, {4.0, 4.05}, {16.0, 6.10}, {64.0, 8.10}}) {
    const auto n = static_cast<std::uint64_t>(lambda == 1 ? 1'000'000 : lambda == 4 ? 500'000 : 4'000'000 / lambda);
    const auto keys = numbers(0, n),
               negatives = numbers(kFar, static_cast<std::uint64_t>(static_cast<double>(n) * lambda));
    const Built b = built({.keys = keys, .negatives = negatives}, {.bits_per_key = bits}, {.threads = 2});
    EXPECT_LE(static_cast<double>(b.filter.size_bits()), bits * static_cast<double>(n));
    EXPECT_EQ(accepted(b.filter, keys), keys.size());
    EXPECT_EQ(accepted(b.filter, negatives), 0u) << lambda << " per key";
  }
}

// Both shapes, complete and not, uniform and skewed costs.
TEST(TaughtRibbon, MeasuresWithin5PercentOfWhatItPlanned) {
  const auto keys = numbers(0, 40'000), negatives = numbers(kFar, 160'000), strangers = numbers(2 * kFar, 400'000);
  for (double skew : {0.0, 0.75})
    for (double bits : {1.5, 3.7, 6.0, 9.5}) {
      const auto costs = zipf_costs(skew, negatives.size());
      const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
      const Built b = built(w, {.bits_per_key = bits});
      double wrong = 0, total = 0;
      std::uint64_t hits = 0;
      for (std::size_t i = 0; i < negatives.size(); ++i) {
        const bool hit = b.filter.may_contain(negatives[i]);
        total += costs[i];
        wrong += hit ? costs[i] : 0;
        hits += hit;
      }
      EXPECT_EQ(accepted(b.filter, keys), keys.size());
      EXPECT_EQ(b.value("left over"), static_cast<double>(hits));
      EXPECT_NEAR(b.value("left over cost share"), wrong / total, 1e-9);
      // five standard deviations of the count in addition to the 5 %
      const double noise = hits == 0 ? 0 : 5 / std::sqrt(static_cast<double>(hits));
      EXPECT_NEAR(wrong / total, b.value("planned known cost share"),
                  b.value("planned known cost share") * (0.05 + noise))
          << bits << ", " << skew;
      const double fpr = static_cast<double>(accepted(b.filter, strangers)) / 4e5,
                   planned = b.value("planned stranger fpr");
      EXPECT_NEAR(fpr, planned, planned * 0.05 + 5 * std::sqrt(planned / 4e5)) << bits << ", " << skew;
    }
}

TEST(TaughtRibbon, RefusesTheCostliestWhenTheBudgetIsTooSmallForAll) {
  const auto keys = numbers(0, 20'000), negatives = numbers(kFar, 400'000);
  const auto costs = zipf_costs(1.0, negatives.size());
  for (double bits : {4.0, 6.0}) {
    const Built b = built({.keys = keys, .negatives = negatives, .costs = costs}, {.bits_per_key = bits});
    EXPECT_GT(b.value("left over"), 0);
    EXPECT_EQ(accepted(b.filter, std::span(negatives).first(20'000)), 0u) << "the costliest twentieth";
  }
}

TEST(TaughtRibbon, AKeyNamedAsANegativeIsAKeyAndIsCounted) {
  const auto keys = numbers(0, 10'000);
  for (double bits : {10.0, 3.0}) {
    auto negatives = numbers(9900, 10'000);  // a hundred of them are keys
    const Built b = built({.keys = keys, .negatives = negatives}, {.bits_per_key = bits});
    EXPECT_EQ(accepted(b.filter, keys), keys.size());
    EXPECT_EQ(b.value("contradictions"), 100);
    EXPECT_EQ(b.value("known negatives"), 9900);
    EXPECT_EQ(accepted(b.filter, negatives), 100 + b.value("left over"));
  }
}

TEST(TaughtRibbon, GivesTheSameBytesForAnyNumberOfThreadsWithAnExactPlane) {
  const auto keys = numbers(0, 30'000), negatives = numbers(kFar, 240'000);
  const auto costs = zipf_costs(0.5, negatives.size());
  const Workload w{.keys = keys, .negatives = negatives, .costs = costs};
  const auto bytes = [&](unsigned threads) {
    const Built b = built(w, {.bits_per_key = 5}, {.threads = threads});
    EXPECT_EQ(b.value("exact plane"), 1);
    return bytes_of(b.filter);
  };
  EXPECT_EQ(bytes(3), bytes(1));
}

TEST(TaughtRibbon, LearnsTheSameFromNegativesThatArriveRangeByRange) {
  const auto keys = numbers(0, 20'000), negatives = numbers(kFar, 160'000);
  const auto costs = zipf_costs(0.5, negatives.size());
  const auto bytes = [&](const NegativeSource& source) {
    return bytes_of(sample::must(TaughtRibbon::build({.keys = keys}, {.bits_per_key = 5}, {}, source)));
  };
  const Workload w{.negatives = negatives, .costs = costs};
  const auto whole = bytes(NegativeSource::of(w));
  int calls = 0;
  NegativeSource by_range = NegativeSource::of(w);
  by_range.read = [&](std::uint64_t first, std::uint64_t last, const NegativeSource::Take& take) -> Result<Ok> {
    ++calls;
    for (std::size_t i = negatives.size(); i-- > 0;)
      if (negatives[i].hi >= first && negatives[i].hi <= last)
        take(std::span(negatives).subspan(i, 1), std::span(costs).subspan(i, 1));
    return Ok{};
  };
  EXPECT_EQ(bytes(by_range), whole);
  EXPECT_GE(calls, 1);
  by_range.read = [](std::uint64_t, std::uint64_t, const NegativeSource::Take&) -> Result<Ok> {
    return Error{Errc::io, "the disk is gone"};
  };
  const auto f = TaughtRibbon::build({.keys = keys, .source = &by_range}, {});
  EXPECT_TRUE(sample::refused(f, Errc::io, {"the disk is gone"})) << "the source's own message comes through";
}

TEST(TaughtRibbon, TeachesShardsOfNoneOneAndTwoKeys) {
  for (std::uint64_t n : {0, 1, 2})
    for (std::uint64_t m : {1, 100, 3000}) {
      const auto keys = numbers(0, n), negatives = numbers(kFar, m);
      const Built b = built({.keys = keys, .negatives = negatives}, {});
      EXPECT_EQ(accepted(b.filter, keys), n);
      EXPECT_EQ(accepted(b.filter, negatives), 0u) << n << " keys, " << m << " negatives";
    }
}

TEST(TaughtRibbonSlow, NeverDeniesAKeyOfManySeedsAndSizes) {
  std::uint64_t checked = 0;
  for (std::uint64_t seed = 0; checked < 10'000'000; ++seed)
    for (std::uint64_t n : {0, 1, 2, 3, 63, 64, 65, 1999, 2000, 2001, 5000, 20'000, 100'000}) {
      std::vector<Digest> keys(n), negatives(seed % 3 * n);
      for (std::uint64_t i = 0; i < n; ++i) keys[i] = digest(i, seed);
      for (std::uint64_t i = 0; i < negatives.size(); ++i) negatives[i] = digest(kFar + i, seed);
      const auto f = TaughtRibbon::build(
          {.keys = keys, .negatives = negatives},
          {.bits_per_key = 2.5 + static_cast<double>(seed % 8), .width = seed % 2 == 0 ? 64u : 128u}, {.seed = seed});
      if (!f) {
        EXPECT_EQ(f.error().code, Errc::out_of_budget) << f.error().message;
        continue;
      }
      ASSERT_EQ(accepted(*f, keys), n) << "seed " << seed;
      checked += n;
    }
}

TEST(TaughtRibbon, SurvivesAnyFieldBytesWithAnExactPlane) {
  const auto keys = numbers(0, 2000), negatives = numbers(kFar, 60'000), questions = numbers(1900, 200);
  const auto f = AnyFilter::build("taught-ribbon", {.keys = keys, .negatives = negatives},
                                  {{"bits_per_key", "5"}, {"width", "64"}});
  ASSERT_TRUE(f) << f.error().message;
  const auto bare = f->to_bare();
  std::uint8_t answers[200];
  for (std::size_t bit = 0; bit < bare.size() * 8; bit += bit < 4096 ? 1 : 61) {
    auto owner = std::make_unique<std::byte[]>(bare.size());
    std::memcpy(owner.get(), bare.data(), bare.size());
    owner[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    if (const auto g = AnyFilter::view_bare({owner.get(), bare.size()})) g->may_contain(questions, answers);
  }
}

TEST(TaughtRibbon, SaysWhatIsWrongWithItsParameters) {
  const auto keys = numbers(0, 10'000);
  EXPECT_TRUE(sample::refused(TaughtRibbon::build({.keys = keys}, {.width = 100}), Errc::invalid_argument,
                              {"taught-ribbon", "width", "100", "64", "128", "0"}));
  EXPECT_TRUE(sample::refused(TaughtRibbon::build({.keys = keys}, {.bits_per_key = 0.001}), Errc::out_of_budget,
                              {"taught-ribbon"}));
}

}  // namespace
}  // namespace naysay
