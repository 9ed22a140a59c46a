// SPDX-License-Identifier: Apache-2.0
#include "naysay/learned/model.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "hosts.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "sample.hpp"

namespace naysay::learned {
namespace {

using sample::Hosts;
using sample::hosts;

template <class T>
std::uint64_t sum_of(const std::vector<T>& values) {
  return checksum(std::as_bytes(std::span(values)));
}

// The numbers of all weights that the string's score is the sum of.
std::vector<std::uint32_t> features(std::string_view text, unsigned log_weights) {
  std::vector<std::uint32_t> out;
  with_log_weights(log_weights, [&]<unsigned log>() {
    for_each_feature<log>(
        text, [&](std::uint32_t cell) { out.push_back(2 * cell); },
        [&](std::uint32_t cell) { out.push_back(2 * cell + 1); });
  });
  return out;
}

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

TEST(Model, TakesStringsApartAsItAlwaysDid) {
  std::vector<std::uint32_t> indices;
  std::string text;
  for (std::size_t length = 0; length <= 300; ++length) {
    for (unsigned log : {9u, 12u, 16u})
      for (std::uint32_t i : features(text, log)) indices.push_back(i);
    text += static_cast<char>(length % 7 == 3 ? '.' : 33 + length * 5 % 223);
  }
  EXPECT_EQ(sum_of(indices), 11078663036546075849u);
}

TEST(Model, HasNoMoreFeaturesThanItSaysAndNoIndexBeyondItsWeights) {
  for (std::size_t length : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 254u, 255u, 256u, 5000u}) {
    const std::string text(length, '.');
    for (unsigned log = kLeastLogWeights; log <= kMostLogWeights; ++log) {
      const auto all = features(text, log);
      for (std::uint32_t i : all) ASSERT_LT(i, 1u << log);
      EXPECT_EQ(all.size(), count_features(length)) << length;
      EXPECT_LE(all.size(), kMaxFeatures);
    }
  }
}

TEST(Model, ReadsNothingBesideTheString) {
  for (std::size_t length = 0; length < 20; ++length) {
    // Its own allocation, so that ASan sees a read outside.
    const auto text = std::make_unique<char[]>(length);
    std::fill_n(text.get(), length, 'x');
    const std::string other = "abc." + std::string(length, 'x') + ".def";
    EXPECT_EQ(features({text.get(), length}, 12), features(std::string_view(other).substr(4, length), 12));
  }
}

TEST(Model, RoundsWeightsToFourBitsAndCutsThemOffAtFiveDeviations) {
  std::vector<std::int32_t> weights(512);
  for (std::size_t i = 0; i < 256; ++i) weights[i] = i % 2 ? 7000 : -7000;  // one deviation of those that are not 0
  weights[300] = 100'000;
  weights[301] = -100'000;
  const Model m = Model::of(weights);
  EXPECT_EQ(m.log_weights(), 9u);
  EXPECT_EQ(m.weight(0), -m.weight(1));
  EXPECT_GE(m.weight(1), 1);
  EXPECT_EQ(m.weight(299), 0);
  EXPECT_EQ(m.weight(300), 7);
  EXPECT_EQ(m.weight(301), -7);
  EXPECT_TRUE(m.validate("model"));
}

TEST(Model, ScoresTheSumOfItsWeights) {
  std::vector<std::int32_t> weights(512);
  std::iota(weights.begin(), weights.end(), -256);
  const Model m = Model::of(weights);
  for (std::string_view text : {"", "a", "example.org", "10.0.0.1", "a-much-longer-name.with.labels.example"}) {
    int sum = 0;
    for (std::uint32_t i : features(text, 9)) sum += m.weight(i);
    EXPECT_EQ(m.score(text), sum) << text;
  }
  EXPECT_EQ(Model().score("example.org"), 0);
}

TEST(Model, RefusesFilesOfOtherFeaturesSizesAndWeights) {
  const auto good = sample::bytes_of(Model::of(std::vector<std::int32_t>(512, 3)));
  const auto read = [](std::vector<std::byte> bytes) {
    FieldReader reader(bytes, 0, 0, FieldReader::Arrays::copy);
    Model m;
    Model::fields(m, reader);
    return reader.ok() ? m.validate("x") : Result<Ok>(Error{Errc::corrupt, reader.error()});
  };
  EXPECT_TRUE(read(good));
  auto other = good;
  other[0] = std::byte{2};
  EXPECT_EQ(read(other).error().code, Errc::unsupported);
  for (unsigned log : {0u, 8u, 10u, 17u, 255u}) {
    other = good;
    other[4] = static_cast<std::byte>(log);
    EXPECT_FALSE(read(other)) << log;
  }
  other = good;
  other.back() = std::byte{0x70};
  EXPECT_NE(read(other).error().message.find("-8"), std::string::npos);
}

TEST(Training, HasItsSigmoidAsConstants) {
  EXPECT_EQ(checksum(std::as_bytes(std::span(kSigmoid))), 4190513877573150138u);
  EXPECT_EQ(sigmoid(0), 32768);
  EXPECT_EQ(sigmoid(65536), 47911);  // 65536 / (1 + exp(-1)) = 47911.0
  for (std::int64_t x : {1, 1000, 65536, 1 << 20, 1 << 30}) EXPECT_EQ(sigmoid(x) + sigmoid(-x), 65536);
}

TEST(Training, GivesTheSameWeightsAsItAlwaysDid) {
  const Lists lists(2000);
  const Workload w = lists.workload();
  const Model m = Training(w, {}, Split(1, 0.25)).train(10, "test");
  std::vector<int> weights;
  for (std::uint64_t i = 0; i < 1024; ++i) weights.push_back(m.weight(i));
  EXPECT_EQ(sum_of(weights), 8916867934107426593u);
}

TEST(Training, DoesNotDependOnTheOrderOfTheStringsAndOnRepeats) {
  const Lists lists(1000);
  const Workload w = lists.workload();
  const auto first = sample::bytes_of(Training(w, {}, Split(1, 0.25)).train(9, "test"));
  const auto again_keys = hosts(Hosts::blocked, 500, 500), again_negatives = hosts(Hosts::popular, 900, 100);
  sample::Strings keys, negatives;
  for (const sample::Strings* half : {&again_keys, &lists.keys})
    for (const std::string& text : half->texts) keys.add(text);
  for (const sample::Strings* half : {&again_negatives, &lists.negatives})
    for (const std::string& text : half->texts) negatives.add(text);
  const auto k = std::move(keys).finish(), n = std::move(negatives).finish();
  const Workload mixed{.keys = k.digests, .negatives = n.digests, .key_bytes = k.views, .negative_bytes = n.views};
  EXPECT_EQ(sample::bytes_of(Training(mixed, {}, Split(1, 0.25)).train(9, "test")), first);
}

TEST(Training, NeverSeesThePlanningNegatives) {
  const Lists lists(2000);
  Workload w = lists.workload();
  const Split split(7, 0.25);
  const auto first = sample::bytes_of(Training(w, {}, split).train(9, "test"));
  auto views = lists.negatives.views;
  std::size_t planned = 0;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (split.is_for_planning(w.negatives[i])) views[i] = "something else", ++planned;
  w.negative_bytes = views;
  EXPECT_EQ(sample::bytes_of(Training(w, {}, split).train(9, "test")), first);
  EXPECT_NEAR(static_cast<double>(planned), 500, 100);
}

TEST(Training, TellsStringsApartThatItHasNotSeen) {
  const Lists lists(4000);
  const Workload w = lists.workload();
  const Model m = Training(w, {}, Split(1, 0.25)).train(10, "test");
  Scores scores;
  for (std::string_view text : hosts(Hosts::blocked, 100'000, 4000).views) scores.add_key(m.score(text));
  for (std::string_view text : hosts(Hosts::popular, 100'000, 4000).views) scores.add_negative(m.score(text));
  // One in 256 of either kind looks like the other: 0.996 is the best there is.
  EXPECT_GT(scores.auc(), 0.98);
}

TEST(Teacher, KnowsWhenThereIsNothingToLearnFrom) {
  const Lists lists(1000);
  Workload w = lists.workload();
  EXPECT_TRUE(Teacher::can_teach(w));
  w.negative_bytes = {};
  EXPECT_FALSE(Teacher::can_teach(w));
  w = lists.workload();
  w.negatives = w.negatives.first(50);
  w.negative_bytes = w.negative_bytes.first(50);
  EXPECT_FALSE(Teacher::can_teach(w));
}

TEST(Teacher, TakesWeightsThatTheKeysCanPayFor) {
  EXPECT_EQ(Teacher::sizes(100), (std::vector<unsigned>{9}));
  EXPECT_EQ(Teacher::sizes(100'000), (std::vector<unsigned>{11, 12}));
  EXPECT_EQ(Teacher::sizes(1'491'178), (std::vector<unsigned>{15}));
  EXPECT_EQ(Teacher::sizes(100'000'000), (std::vector<unsigned>{16}));
}

TEST(Teacher, LeavesOutNegativesThatAreKeys) {
  const Lists lists(2000);
  Workload w = lists.workload();
  std::vector<Digest> negatives(w.negatives.begin(), w.negatives.end());
  std::vector<std::string_view> bytes(w.negative_bytes.begin(), w.negative_bytes.end());
  negatives.insert(negatives.end(), w.keys.begin(), w.keys.end());
  bytes.insert(bytes.end(), w.key_bytes.begin(), w.key_bytes.end());
  const Workload both{.keys = w.keys, .negatives = negatives, .key_bytes = w.key_bytes, .negative_bytes = bytes};
  const Lesson lesson = Teacher(both, {}, "test").teach(9);
  EXPECT_LT(lesson.planning, 1200);  // half of 2000, not of 4000
  EXPECT_GT(lesson.scores.auc(), 0.8);
}

}  // namespace
}  // namespace naysay::learned
