// SPDX-License-Identifier: Apache-2.0
#include "naysay/stacked/adaptive_stacked.hpp"

#include <gtest/gtest.h>

#include "naysay/bloom/bloom.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::must_build;
using sample::numbers;
using Filter35 = AdaptiveStacked<Bloom>;
static_assert(AdaptiveFilter<Filter35> && DynamicFilter<Filter35> && !ErasableFilter<Filter35>);

// Zipf traffic over negatives, from a fixed seed.
class Traffic {
 public:
  Traffic(double exponent, std::size_t count)
      : negatives_(numbers(5'000'000, count)),
        costs_(sample::zipf_costs(exponent, count)),
        cumulative_(count),
        random_(1) {
    for (std::size_t i = 0; i < count; ++i) cumulative_[i] = total_ += costs_[i];
  }
  Digest operator()() {
    const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * total_;
    return negatives_[static_cast<std::size_t>(std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at) -
                                               cumulative_.begin())];
  }
  const std::vector<Digest>& negatives() const { return negatives_; }
  const std::vector<float>& costs() const { return costs_; }

 private:
  std::vector<Digest> negatives_;
  std::vector<float> costs_;
  std::vector<double> cumulative_;
  double total_ = 0;
  sample::Words random_;
};

// False positives among `queries`; each is reported if `tell`. Stops when the filter is full.
std::uint64_t run(Filter35& f, Traffic& traffic, std::uint64_t queries, bool tell) {
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < queries && !(tell && f.full()); ++i) {
    const Digest d = traffic();
    if (!f.may_contain(d)) continue;
    ++hits;
    if (tell) f.adapt(d, 1);
  }
  return hits;
}

TEST(AdaptiveStacked, LearnsColdFillsUpAndAnswersBetterWarm) {
  const auto keys = numbers(0, 20'000);
  Traffic traffic(1.0, 100'000);
  Filter35 f = must_build<Filter35>({.keys = keys, .negatives = traffic.negatives(), .costs = traffic.costs()});
  const double cold_rate = f.expected_fpr();
  EXPECT_FALSE(f.full());
  run(f, traffic, 2'000'000, true);
  ASSERT_TRUE(f.full()) << "the planned number of false positives did not come";
  EXPECT_FALSE(f.warm());
  EXPECT_EQ(f.expected_fpr(), cold_rate) << "layer 2 must not answer yet";
  ASSERT_TRUE(f.warm(keys));
  EXPECT_TRUE(f.warm());
  EXPECT_FALSE(f.full());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  constexpr std::uint64_t kQueries = 400'000;
  const double warm = static_cast<double>(run(f, traffic, kQueries, false)) / kQueries;
  const auto plain = Bloom::build({.keys = keys}, {});
  double plain_hits = 0;
  for (std::uint64_t i = 0; i < kQueries; ++i) plain_hits += plain->may_contain(traffic());
  EXPECT_LT(warm, 0.4 * plain_hits / kQueries);
  EXPECT_LE(f.size_bits(), 10 * 20'000 + Filter35::kClaims.fixed_bits);
}

TEST(AdaptiveStacked, KeysInsertedWhileColdSurviveTheSwitch) {
  const auto built = numbers(0, 10'000), later = numbers(20'000, 2000);
  Traffic traffic(0.75, 100'000);
  Filter35 f = must_build<Filter35>({.keys = built}, {}, {.capacity = 12'000});
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (i % 100 == 0) run(f, traffic, 20'000, true);  // before, between and after the reports
    ASSERT_TRUE(f.insert(later[i]));
  }
  run(f, traffic, 4'000'000, true);
  ASSERT_TRUE(f.full());
  ASSERT_TRUE(f.warm(built)) << "the later ones are not named";
  for (const Digest& d : built) ASSERT_TRUE(f.may_contain(d));
  for (const Digest& d : later) ASSERT_TRUE(f.may_contain(d));
  for (const Digest& d : numbers(40'000, 500)) {
    ASSERT_TRUE(f.insert(d));
    ASSERT_TRUE(f.may_contain(d));
  }
}

TEST(AdaptiveStacked, TakesTheKeysInParts) {
  const auto keys = numbers(0, 10'000);
  Traffic traffic(0.75, 100'000);
  Filter35 f = must_build<Filter35>({.keys = keys});
  run(f, traffic, 2'000'000, true);
  ASSERT_TRUE(f.warm(std::span(keys).first(4000), true));
  EXPECT_FALSE(f.warm());
  run(f, traffic, 100'000, true);  // reports between the parts must not reach layer 2
  for (const Digest& d : numbers(50'000, 500)) ASSERT_TRUE(f.insert(d));
  ASSERT_TRUE(f.warm(std::span(keys).subspan(4000)));
  EXPECT_TRUE(f.warm());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  for (const Digest& d : numbers(50'000, 500)) ASSERT_TRUE(f.may_contain(d));
}

TEST(AdaptiveStacked, AdaptSaysTrueOnlyOfWhatIsRefusedFromThenOn) {
  const auto keys = numbers(0, 20'000);
  Filter35 f = must_build<Filter35>({.keys = keys});
  std::vector<Digest> refused;
  const auto tell = [&](std::uint64_t first) {
    for (const Digest& d : numbers(first, 100'000))
      if (f.may_contain(d) && f.adapt(d, 1)) refused.push_back(d);
    for (const Digest& d : refused) ASSERT_FALSE(f.may_contain(d));
  };
  tell(10'000'000);
  EXPECT_FALSE(refused.empty());
  ASSERT_TRUE(f.warm(keys));
  tell(20'000'000);
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(AdaptiveStacked, AKeyThatWasARecentNegativeIsAKey) {
  const auto keys = numbers(0, 20'000);
  Filter35 f = must_build<Filter35>({.keys = keys});
  std::uint64_t tried = 0;
  for (const Digest& d : numbers(10'000'000, 20'000)) {
    if (!f.may_contain(d) || !f.adapt(d, 1)) continue;
    ++tried;
    ASSERT_FALSE(f.may_contain(d));
    ASSERT_TRUE(f.insert(d));
    ASSERT_TRUE(f.may_contain(d));
  }
  EXPECT_GT(tried, 0u);
}

TEST(AdaptiveStacked, IsOneLayerWhenNothingCanBeLearnt) {
  const auto keys = numbers(0, 10'000);
  Report report;
  Filter35 f = must_build<Filter35>({.keys = keys, .stranger_share = 1}, {}, {.report = &report});
  EXPECT_EQ(sample::must_say(report, "layers"), 1);
  EXPECT_FALSE(f.full());
  EXPECT_TRUE(f.warm(keys));
  EXPECT_FALSE(f.warm());
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
}

TEST(AdaptiveStacked, SaysWhatItsParametersMustBe) {
  const auto refuses = [](const Filter35::Params& p, const std::vector<std::string_view>& words) {
    return sample::refused(Filter35::build({}, p), Errc::invalid_argument, words);
  };
  EXPECT_TRUE(refuses({.queries_per_key = 0}, {"queries_per_key", "0", "1e9"}));
  EXPECT_TRUE(refuses({.negatives_per_key = -1}, {"negatives_per_key", "-1", "1e9"}));
  EXPECT_TRUE(refuses({.zipf = 5}, {"zipf", "5", "[0, 4]"}));
}

}  // namespace
}  // namespace naysay
