// SPDX-License-Identifier: Apache-2.0
// The published learned filters: what is peculiar to each. What all must hold stands in tests/conformance.
#include <gtest/gtest.h>

#include "hosts.hpp"
#include "naysay/learned/ada_bloom.hpp"
#include "naysay/learned/learned_bloom.hpp"
#include "naysay/learned/partitioned_learned.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::Hosts;
using sample::hosts;
using sample::must_build;

class LearnedBlooms : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kKeys = 40'000, kStrangers = 200'000;

  Workload workload() const {
    return {.keys = keys.digests,
            .negatives = negatives.digests,
            .key_bytes = keys.views,
            .negative_bytes = negatives.views};
  }
  template <class F>
  static double rate(const F& f, const sample::Strings& of) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < of.views.size(); ++i) count += f.may_contain(of.digests[i], of.views[i]);
    return static_cast<double>(count) / static_cast<double>(of.views.size());
  }

  const sample::Strings keys = hosts(Hosts::blocked, 0, kKeys), negatives = hosts(Hosts::popular, 0, kKeys),
                        strangers = hosts(Hosts::popular, 1'000'000, kStrangers),
                        lookalikes = hosts(Hosts::blocked, 1'000'000, 20'000);
};

TEST_F(LearnedBlooms, ErrAsOftenOnStrangersLikeTheNegativesAsTheySay) {
  const auto check = [&](const auto& f) {
    ASSERT_TRUE(f.is_learned());
    EXPECT_EQ(rate(f, keys), 1);
    // Planned with 10,000 negatives, of which a few dozen decide.
    EXPECT_NEAR(rate(f, strangers) / f.expected_fpr(), 1, 0.4);
  };
  check(must_build<LearnedBloom>(workload(), {.bits_per_key = 8}));
  check(must_build<SandwichedBloom>(workload(), {.bits_per_key = 8}));
  check(must_build<AdaBloom>(workload(), {.bits_per_key = 8}));
  check(must_build<AdaBloom>(workload(), {.bits_per_key = 8, .disjoint = true}));
  check(must_build<PartitionedLearned>(workload(), {.bits_per_key = 8}));
}

TEST_F(LearnedBlooms, ComeInTheOrderOfTheirPlans) {
  // Every LearnedBloom is a SandwichedBloom without an initial filter; and two regions, one of rate 1, are an LBF.
  for (double bits : {6.0, 8.0, 10.0}) {
    const double lbf = must_build<LearnedBloom>(workload(), {.bits_per_key = bits}).expected_fpr(),
                 slbf = must_build<SandwichedBloom>(workload(), {.bits_per_key = bits}).expected_fpr(),
                 plbf = must_build<PartitionedLearned>(workload(), {.bits_per_key = bits}).expected_fpr();
    EXPECT_LE(slbf, lbf * 1.02) << bits;
    EXPECT_LE(plbf, slbf * 1.02) << bits;
  }
}

TEST_F(LearnedBlooms, AcceptWhateverLooksLikeAKeyIfNoFilterStandsInFront) {
  EXPECT_GT(rate(must_build<LearnedBloom>(workload(), {.bits_per_key = 8}), lookalikes), 0.5);
  EXPECT_LT(rate(must_build<SandwichedBloom>(workload(), {.bits_per_key = 8}), lookalikes), 0.1);
}

TEST_F(LearnedBlooms, AreABloomFilterWhereThereIsNothingToLearn) {
  const auto digests = sample::numbers(0, 5000), others = sample::numbers(1 << 20, 5000);
  const Workload w{.keys = digests, .negatives = others};
  const auto bloom = must_build<Bloom>({.keys = digests}, {.bits_per_key = 9});
  const auto check = [&](const auto& f) {
    EXPECT_FALSE(f.is_learned());
    for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_EQ(f.may_contain(digest(i)), bloom.may_contain(digest(i)));
    EXPECT_EQ(f.expected_fpr(), bloom.expected_fpr());
  };
  check(must_build<LearnedBloom>(w, {.bits_per_key = 9}));
  check(must_build<SandwichedBloom>(w, {.bits_per_key = 9}));
  check(must_build<AdaBloom>(w, {.bits_per_key = 9}));
  check(must_build<PartitionedLearned>(w, {.bits_per_key = 9}));
}

TEST_F(LearnedBlooms, HaveFewerFunctionsForHigherScores) {
  const auto f = must_build<AdaBloom>(workload(), {.bits_per_key = 8});
  Report report;
  f.describe(report);
  double before = 100;
  int groups = 0;
  for (const Report::Line& line : report.lines)
    if (line.name.starts_with("hash functions of group")) {
      EXPECT_LT(line.value, before);
      before = line.value;
      ++groups;
    }
  EXPECT_GE(groups, 2);
}

TEST_F(LearnedBlooms, RefuseParametersThatMakeNoSense) {
  EXPECT_FALSE(LearnedBloom::build({}, {.log_weights = 3}));
  EXPECT_FALSE(AdaBloom::build({}, {.log_weights = 17}));
  EXPECT_FALSE(PartitionedLearned::build({}, {.regions = 1}));
  EXPECT_FALSE(PartitionedLearned::build({}, {.regions = 17}));
}

}  // namespace
}  // namespace naysay
