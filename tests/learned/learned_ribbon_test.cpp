// SPDX-License-Identifier: Apache-2.0
#include "naysay/learned/learned_ribbon.hpp"

#include <gtest/gtest.h>

#include "hosts.hpp"
#include "naysay/ribbon/ribbon.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::Hosts;
using sample::hosts;
using sample::must_build;

struct Lists {
  explicit Lists(std::uint64_t n) : keys(hosts(Hosts::blocked, 0, n)), negatives(hosts(Hosts::popular, 0, n)) {}
  Workload workload() const {
    return {.keys = keys.digests,
            .negatives = negatives.digests,
            .key_bytes = keys.views,
            .negative_bytes = negatives.views};
  }
  sample::Strings keys, negatives;
};

double line(const Report& report, std::string_view name) {
  for (const Report::Line& l : report.lines)
    if (l.name.starts_with(name)) return l.value;
  ADD_FAILURE() << "the report has no line '" << name << "'";
  return 0;
}

std::uint64_t accepted(const LearnedRibbon& f, const sample::Strings& of) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < of.views.size(); ++i) count += f.may_contain(of.digests[i], of.views[i]);
  return count;
}

TEST(LearnedRibbon, AcceptsStrangersLikeTheNegativesFarLessOftenThanARibbonOfItsSize) {
  const Lists lists(40'000);
  const auto strangers = hosts(Hosts::popular, 1'000'000, 400'000);
  for (double bits : {6.0, 8.0, 10.0}) {
    Report report;
    const auto f = must_build<LearnedRibbon>(lists.workload(), {.bits_per_key = bits}, {.report = &report});
    const auto plain = must_build<Ribbon>({.keys = lists.keys.digests}, {.bits_per_key = bits});
    ASSERT_TRUE(f.is_learned());
    EXPECT_LE(static_cast<double>(f.size_bits()), bits * 40'000 + static_cast<double>(f.kClaims.fixed_bits));
    EXPECT_LT(static_cast<double>(accepted(f, strangers)), plain.expected_fpr() * 400'000 / 4);
    EXPECT_TRUE(sample::rate_matches(accepted(f, strangers), 400'000, f.planned_fpr(), 0.2));
    EXPECT_GT(line(report, "planned gain"), 2);
    EXPECT_EQ(line(report, "left over"), 0);
  }
}

TEST(LearnedRibbon, AcceptsNoKindOfStrangerMoreThanMaxTimesAsOftenAsARibbonOfItsSize) {
  const Lists lists(40'000);
  const auto plain = must_build<Ribbon>({.keys = lists.keys.digests}, {.bits_per_key = 8, .width = 128});
  for (double times : {1.5, 2.0, 4.0}) {
    const auto f = must_build<LearnedRibbon>(lists.workload(), {.bits_per_key = 8, .max_times = times});
    ASSERT_TRUE(f.is_learned());
    EXPECT_LE(f.expected_fpr(), times * plain.expected_fpr() * 1.05);  // the planes of 13 shards are in whole numbers
    // Strings that the model likes best: of 8 near misses of a key, the one with the highest score.
    sample::Words random(1);
    sample::Strings liked, addresses;
    for (int i = 0; i < 200'000; ++i) {
      std::string best;
      for (int j = 0; j < 8; ++j) {
        std::string text = lists.keys.texts[random.below(lists.keys.texts.size())];
        for (int change = 0; change < 3; ++change) text[random.below(10)] = static_cast<char>('a' + random.below(26));
        if (best.empty() || f.model().score(text) > f.model().score(best)) best = text;
      }
      liked.add(std::move(best));
      std::string address;
      for (int part = 0; part < 4; ++part) address += (part > 0 ? "." : "") + std::to_string(random.below(256));
      addresses.add(std::move(address));
    }
    for (const auto& kind : {std::move(liked).finish(), std::move(addresses).finish()}) {
      const double mean = f.expected_fpr() * 200'000;
      EXPECT_LT(static_cast<double>(accepted(f, kind)), mean * 1.02 + 5 * std::sqrt(mean)) << "at " << times;
    }
  }
}

TEST(LearnedRibbon, RefusesEveryKnownNegative) {
  const Lists lists(20'000);
  for (double bits : {6.0, 8.0, 10.0})
    for (double times : {1.25, 2.0, 4.0}) {
      const auto f = must_build<LearnedRibbon>(lists.workload(), {.bits_per_key = bits, .max_times = times});
      EXPECT_EQ(accepted(f, lists.negatives), 0u) << bits << " bits per key, max_times " << times;
      EXPECT_EQ(accepted(f, lists.keys), 20'000u);
    }
}

TEST(LearnedRibbon, IsTheTaughtRibbonBitForBitWhereThereIsNothingToLearn) {
  // Numbers: no bytes at all. Numbers in decimal: bytes that say nothing. A few keys: a model costs more than it saves.
  const auto keys = sample::numbers(0, 20'000), negatives = sample::numbers(1 << 20, 20'000);
  sample::Strings decimal_keys, decimal_negatives;
  sample::Words random(4);
  for (int i = 0; i < 20'000; ++i) {
    decimal_keys.add(std::to_string(random()));
    decimal_negatives.add(std::to_string(random()));
  }
  const auto k = std::move(decimal_keys).finish(), n = std::move(decimal_negatives).finish();
  const Lists few(300);
  for (const Workload& w :
       {Workload{.keys = keys, .negatives = negatives},
        Workload{.keys = k.digests, .negatives = n.digests, .key_bytes = k.views, .negative_bytes = n.views},
        few.workload()}) {
    Report report;
    const auto f = must_build<LearnedRibbon>(w, {.bits_per_key = 8}, {.report = &report});
    EXPECT_FALSE(f.is_learned());
    const auto taught = must_build<TaughtRibbon>(w, {.bits_per_key = 8});
    EXPECT_EQ(sample::bytes_of(f.base()), sample::bytes_of(taught));
    EXPECT_EQ(f.expected_fpr(), taught.expected_fpr());
    EXPECT_EQ(f.planned_fpr(), taught.expected_fpr());
    EXPECT_LT(line(report, "planned gain of a model"), LearnedRibbon::kWorthAModel);
  }
}

TEST(LearnedRibbon, TreatsANegativeThatIsAKeyAsAKey) {
  const Lists lists(10'000);
  Workload w = lists.workload();
  std::vector<Digest> negatives(w.negatives.begin(), w.negatives.end());
  std::vector<std::string_view> bytes(w.negative_bytes.begin(), w.negative_bytes.end());
  for (std::size_t i = 0; i < 1000; ++i) {
    negatives.push_back(w.keys[i]);
    bytes.push_back(w.key_bytes[i]);
  }
  w.negatives = negatives;
  w.negative_bytes = bytes;
  Report report;
  const auto f = must_build<LearnedRibbon>(w, {}, {.report = &report});
  ASSERT_TRUE(f.is_learned());
  EXPECT_EQ(accepted(f, lists.keys), 10'000u);
  EXPECT_EQ(accepted(f, lists.negatives), 0u);
  EXPECT_EQ(line(report, "contradictions"), 1000);
}

TEST(LearnedRibbon, RefusesParametersThatMakeNoSense) {
  for (const LearnedRibbon::Params& p :
       {LearnedRibbon::Params{.max_times = 0.5}, LearnedRibbon::Params{.max_times = 1e9},
        LearnedRibbon::Params{.regions = 1}, LearnedRibbon::Params{.regions = 17},
        LearnedRibbon::Params{.log_weights = 8}, LearnedRibbon::Params{.log_weights = 17}}) {
    const auto f = LearnedRibbon::build({}, p);
    ASSERT_FALSE(f);
    EXPECT_EQ(f.error().code, Errc::invalid_argument);
  }
}

TEST(LearnedRibbon, DescribesItsModelAndItsRegions) {
  const Lists lists(20'000);
  const auto f = must_build<LearnedRibbon>(lists.workload(), {});
  Report report;
  f.describe(report);
  EXPECT_EQ(line(report, "weights"), std::exp2(f.model().log_weights()));
  EXPECT_GT(line(report, "auc on validation"), 0.8);
  EXPECT_GT(f.regions(), 1u);
  double before = 0;
  for (std::size_t i = 0; i < f.regions(); ++i) {
    const double rate = line(report, "fpr of region " + std::to_string(i));
    EXPECT_GE(rate, before) << "the higher the score, the higher the rate";
    before = rate;
  }
  EXPECT_DOUBLE_EQ(before, f.expected_fpr());
}

}  // namespace
}  // namespace naysay
