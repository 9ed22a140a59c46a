// SPDX-License-Identifier: Apache-2.0
// Every filter that can be built in parts gives the bytes of the single build, whatever the parts.
#include "naysay/core/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "naysay/any_filter.hpp"
#include "sample.hpp"
#include "says.hpp"

namespace naysay {
namespace {

using sample::numbers;
using sample::refused;
using sample::zipf_costs;

constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
constexpr std::uint64_t kMany = 700'000;  // four segments of a ribbon

struct Case {
  std::uint64_t keys;
  std::uint64_t negatives;
  double bits_per_key;
  bool costs = false;
  std::vector<Param> params = {};
};

// One job: a filter, its workload, and what the parts must know of it.
struct Job {
  const FilterType& type;
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;
  std::vector<Param> params;
  Whole whole;

  Job(const FilterType& t, const Case& c)
      : type(t),
        keys(numbers(0, c.keys)),
        negatives(numbers(kFar, c.negatives)),
        params{{"bits_per_key", c.bits_per_key}} {
    params.insert(params.end(), c.params.begin(), c.params.end());
    if (c.costs) costs = zipf_costs(1.1, c.negatives);
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      const float cost = costs.empty() ? 1 : costs[i];
      whole.costs.add(cost);
      whole.most_cost = std::max(whole.most_cost, cost);
    }
    whole.keys = keys.size();
    whole.seed = 7;
  }
  Workload workload() const { return {.keys = keys, .negatives = negatives, .costs = costs}; }
  BuildOptions options() const { return {.seed = whole.seed, .hasher = {HashId::xxh3, 3}}; }

  Result<AnyFilter> single() const { return AnyFilter::build(type.name, workload(), params, options()); }
  ShardMap map() const {
    auto shards = type.parted->shards(whole, params);
    EXPECT_TRUE(shards) << shards.error().message;
    return shards ? *shards : ShardMap(1);
  }
  std::vector<std::uint32_t> counts() const {
    const ShardMap shards = map();
    std::vector<std::uint32_t> counts(shards.size());
    for (const Digest& d : keys) ++counts[shards.of(d)];
    return counts;
  }
  // From the keys and negatives of its range alone.
  Result<FilterPart> part(std::uint64_t index, std::uint64_t parts, PartPeers* peers = nullptr) const {
    const ShardMap all = map();
    const ShardRange range = shard_range(all.size(), index, parts);
    const HiRange hi = all.range(range);
    std::vector<Digest> own, own_negatives;
    std::vector<float> own_costs;
    for (const Digest& d : keys)
      if (hi.has(d)) own.push_back(d);
    for (std::size_t i = 0; i < negatives.size(); ++i)
      if (hi.has(negatives[i])) {
        own_negatives.push_back(negatives[i]);
        if (!costs.empty()) own_costs.push_back(costs[i]);
      }
    const auto known = counts();
    PartInput input{.workload = {.keys = own, .negatives = own_negatives, .costs = own_costs},
                    .first = range.first,
                    .last = range.last,
                    .counts = known};
    return type.parted->build(whole, input, params, options(), peers);
  }
  Result<std::vector<FilterPart>> all_parts(std::uint64_t parts) const {
    std::vector<FilterPart> all;
    for (std::uint64_t i = 0; i < parts; ++i) {
      NAYSAY_TRY(FilterPart one, part(i, parts));
      all.push_back(std::move(one));
    }
    return all;
  }
  Result<AnyFilter> join(std::span<const FilterPart> parts) const {
    return type.parted->join(whole, parts, params, options(), KeyKind::unknown);
  }
};

std::vector<const FilterType*> parted_filters() {
  std::vector<const FilterType*> types;
  for (const FilterType& t : filter_types())
    if (t.parted) types.push_back(&t);
  return types;
}

// Small, empty, complete without and with an exact plane, with slack, without main planes, too many negatives for the
// budget. Then what one filter alone has: widths, a band that bumps keys, of two segments and of four, several regions.
std::vector<Case> cases_of(const FilterType& type) {
  std::vector<Case> cases = {{0, 0, 10},        {1, 1, 10},          {64, 100, 12},        {2'000, 0, 8},
                             {5'000, 5'000, 8}, {30'001, 30'000, 8}, {20'000, 60'000, 2.5}};
  if (type.name == "taught-ribbon") {
    const Case more[] = {{30'000, 300'000, 8, true},   {30'000, 300'000, 8},         {30'000, 300'000, 5},
                         {20'000, 200'000, 2.5, true}, {20'000, 200'000, 3.7, true}, {20'000, 200'000, 1.5, true},
                         {9'000, 20'000, 1.2}};
    cases.insert(cases.end(), std::begin(more), std::end(more));
  }
  if (type.name == "ribbon") {
    const Case more[] = {{30'000, 0, 8.2, false, {{"width", "64"}}},
                         {60'000, 0, 8, false, {{"width", "128"}}},
                         {50'000, 0, 9},
                         {60'000, 0, 8.5},
                         {kMany, 0, 6.4}};
    cases.insert(cases.end(), std::begin(more), std::end(more));
  }
  if (type.name == "variable-hash") {
    const Case more[] = {{50'000, 20'000, 9, true},
                         {120'000, 5'000, 10, true, {{"effort", "fast"}}},
                         {60'000, 0, 6, false, {{"functions", "3"}}}};
    cases.insert(cases.end(), std::begin(more), std::end(more));
  }
  return cases;
}
// Into how many parts a case is divided.
std::vector<std::uint64_t> divisions(const Case& c) {
  return c.keys == kMany ? std::vector<std::uint64_t>{1, 3} : std::vector<std::uint64_t>{1, 2, 3, 7, 40};
}
// A number of keys that makes a few shards.
std::uint64_t some_keys(const FilterType& type) {
  std::uint64_t keys = 12'000;
  while (Job(type, {keys, 0, 8}).map().size() < 4) keys *= 2;
  return keys;
}

std::string text(const Case& c) {
  return std::to_string(c.keys) + " keys, " + std::to_string(c.negatives) + " negatives at " + to_text(c.bits_per_key);
}

TEST(Parts, ThereAreFiltersThatCanBeBuiltInParts) {
  ASSERT_FALSE(parted_filters().empty());
  for (const char* name : {"ribbon", "taught-ribbon", "variable-hash"})
    EXPECT_NE(find_filter(name)->parted, nullptr) << name;
  EXPECT_EQ(find_filter("bloom")->parted, nullptr);
}

TEST(Parts, JoinToTheBytesOfTheSingleBuild) {
  for (const FilterType* type : parted_filters()) {
    unsigned rounds = 0, second_rounds = 0;
    for (const Case& c : cases_of(*type)) {
      Job job(*type, c);
      const auto single = job.single();
      if (!single) continue;  // the budget buys nothing: the next test
      for (std::uint64_t n : divisions(c)) {
        job.whole.limit = {};
        auto parts = job.all_parts(n);
        ASSERT_TRUE(parts) << parts.error().message;
        auto whole = job.join(*parts);
        ++rounds;
        if (!whole && whole.error().code == Errc::out_of_budget) {
          ++second_rounds;
          auto limit = type->parted->limit(job.whole, *parts, job.params, job.options());
          ASSERT_TRUE(limit) << limit.error().message;
          ASSERT_NE(limit->kind, CostLimit::Kind::open);
          job.whole.limit = *limit;
          parts = job.all_parts(n);
          ASSERT_TRUE(parts) << parts.error().message;
          whole = job.join(*parts);
        }
        ASSERT_TRUE(whole) << whole.error().message << ": " << text(c) << ", " << n << " parts";
        EXPECT_TRUE(whole->to_bytes() == single->to_bytes()) << type->name << ": " << text(c) << ", " << n << " parts";
        EXPECT_DOUBLE_EQ(type->parted->expected_fpr(*whole, *parts), single->expected_fpr()) << type->name;
        std::uint64_t keys = 0;
        for (const FilterPart& part : *parts) keys += part.keys;
        EXPECT_EQ(keys, c.keys);
      }
    }
    EXPECT_GT(rounds, 30u) << type->name;
    if (type->name == "taught-ribbon") {
      EXPECT_GE(second_rounds, 5u);
    }
  }
}

TEST(Parts, FailAsTheSingleBuildIfTheBudgetBuysNothing) {
  for (const FilterType* type : parted_filters()) {
    const Job job(*type, {1'000'000, 0, 0.0001});
    const auto single = job.single();
    ASSERT_FALSE(single);
    const auto parts = job.all_parts(2);
    const auto whole = parts ? job.join(*parts) : Result<AnyFilter>(parts.error());
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().code, single.error().code);
    EXPECT_EQ(whole.error().message, single.error().message);
  }
}

TEST(Parts, ThatAreMissingDoubledOrOfOthersAreNotJoined) {
  for (const FilterType* type : parted_filters()) {
    const std::uint64_t n = some_keys(*type);
    const Job job(*type, {n, 20'000, 8}), other(*type, {n * 13 / 10, 20'000, 8});
    auto parts = job.all_parts(3);
    ASSERT_TRUE(parts);
    EXPECT_TRUE(job.join(*parts));
    std::vector<FilterPart> wrong{(*parts)[0], (*parts)[2]};
    EXPECT_FALSE(job.join(wrong));
    wrong = {(*parts)[0], (*parts)[0], (*parts)[1], (*parts)[2]};
    EXPECT_FALSE(job.join(wrong));
    wrong = {(*parts)[0], (*parts)[2], (*parts)[1]};
    EXPECT_FALSE(job.join(wrong));
    auto theirs = other.all_parts(3);
    ASSERT_TRUE(theirs);
    wrong = {(*parts)[0], (*theirs)[1], (*parts)[2]};
    EXPECT_FALSE(job.join(wrong));
    // What a damaged part may hold: no table, too few numbers, words of another place.
    for (int damage = 0; damage < 4; ++damage) {
      wrong = *parts;
      if (damage == 0) wrong[1].tables.clear();
      if (damage == 1) wrong[1].words.clear();
      if (damage == 2) wrong[1].tables[0].values = Array<std::uint32_t>(3);
      if (damage == 3) wrong[1].words[0].first = std::uint64_t{1} << 50;
      EXPECT_FALSE(job.join(wrong)) << damage;
    }
  }
}

TEST(Parts, WithoutWordsLeaveZerosThatTheOthersFill) {
  for (const FilterType* type : parted_filters()) {
    const Job job(*type, {30'000, 30'000, 8});
    auto parts = job.all_parts(3);
    ASSERT_TRUE(parts);
    const auto whole = job.join(*parts);
    ASSERT_TRUE(whole);
    const auto bytes = whole->to_bytes();
    std::vector<std::byte> joined(bytes.size());
    for (std::size_t own = 0; own < 3; ++own) {
      std::vector<FilterPart> some = *parts;
      for (std::size_t i = 0; i < 3; ++i)
        if (i != own)
          for (PartWords& words : some[i].words) words.words = {};
      const auto sparse = job.join(some);
      ASSERT_TRUE(sparse) << sparse.error().message;
      const auto image = sparse->to_bytes();
      ASSERT_EQ(image.size(), bytes.size());
      for (std::size_t i = file_detail::kHeaderBytes; i < image.size(); ++i) joined[i] |= image[i];
    }
    EXPECT_TRUE(std::equal(joined.begin() + file_detail::kHeaderBytes, joined.end(),
                           bytes.begin() + file_detail::kHeaderBytes));
  }
}

TEST(Parts, SurviveAFile) {
  for (const FilterType* type : parted_filters()) {
    const Job job(*type, {20'000, 200'000, 3.7, true});
    auto parts = job.all_parts(3);
    ASSERT_TRUE(parts);
    for (FilterPart& part : *parts) {
      std::vector<std::byte> bytes;
      FieldWriter write(bytes, kFileAlignment);
      write("part", part);
      FieldReader read(bytes, 0, kFileAlignment, FieldReader::Arrays::copy);
      FilterPart again;
      read("part", again);
      ASSERT_TRUE(read.ok()) << read.error();
      EXPECT_EQ(read.left(), 0u);
      EXPECT_EQ(again.keys, part.keys);
      ASSERT_EQ(again.words.size(), part.words.size());
      for (std::size_t i = 0; i < part.words.size(); ++i) EXPECT_TRUE(again.words[i].words == part.words[i].words);
    }
  }
}

// Builders as threads of one process, that wait for each other.
class Threads : public PartPeers {
 public:
  struct Shared {
    explicit Shared(std::ptrdiff_t n) : met(n) {}
    std::barrier<> met;
    std::mutex lock;
    std::vector<std::uint64_t> sums;
    std::vector<Digest> digests;
    std::optional<Error> failed;
  };
  explicit Threads(Shared& shared) : shared_(shared) {}
  Result<Ok> add_up(std::span<std::uint64_t> numbers) override {
    {
      const std::lock_guard held(shared_.lock);
      shared_.sums.resize(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) shared_.sums[i] += numbers[i];
    }
    shared_.met.arrive_and_wait();
    std::copy(shared_.sums.begin(), shared_.sums.end(), numbers.begin());
    shared_.met.arrive_and_wait();
    {
      const std::lock_guard held(shared_.lock);
      shared_.sums.clear();
    }
    shared_.met.arrive_and_wait();
    return Ok{};
  }
  Result<Ok> agree(Result<Ok> own) override {
    {
      const std::lock_guard held(shared_.lock);
      if (!own) shared_.failed = own.error();
    }
    shared_.met.arrive_and_wait();
    return shared_.failed ? Result<Ok>(*shared_.failed) : Result<Ok>(Ok{});
  }
  Result<Ok> exchange(std::vector<Digest>& digests, HiRange own) override {
    {
      const std::lock_guard held(shared_.lock);
      shared_.digests.insert(shared_.digests.end(), digests.begin(), digests.end());
    }
    shared_.met.arrive_and_wait();
    digests.clear();
    for (const Digest& d : shared_.digests)
      if (own.has(d)) digests.push_back(d);
    shared_.met.arrive_and_wait();
    {
      const std::lock_guard held(shared_.lock);
      shared_.digests.clear();
    }
    shared_.met.arrive_and_wait();
    return Ok{};
  }

 private:
  Shared& shared_;
};

TEST(PartsThreads, ThatTalkNeedNoSecondRound) {
  for (const FilterType* type : parted_filters())
    for (const Case& c : cases_of(*type)) {
      const Job job(*type, c);
      const auto single = job.single();
      constexpr std::size_t kParts = 3;
      Threads::Shared shared(kParts);
      std::vector<std::optional<Result<FilterPart>>> made(kParts);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < kParts; ++i)
        threads.emplace_back([&, i] {
          Threads peers(shared);
          made[i].emplace(job.part(i, kParts, &peers));
        });
      for (std::thread& t : threads) t.join();
      std::vector<FilterPart> parts;
      for (auto& one : made) {
        ASSERT_EQ(one->has_value(), single.has_value()) << text(c);
        if (*one) parts.push_back(std::move(**one));
      }
      if (!single) continue;
      const auto whole = job.join(parts);
      ASSERT_TRUE(whole) << whole.error().message << ": " << text(c);
      EXPECT_TRUE(whole->to_bytes() == single->to_bytes()) << type->name << ": " << text(c);
    }
}

TEST(Parts, WithOtherCountsThanTheirKeysAreRefused) {
  for (const FilterType* type : parted_filters()) {
    const Job job(*type, {some_keys(*type), 12'000, 8});
    const std::uint64_t shards = job.map().size();
    ASSERT_GT(shards, 2u);
    const auto build = [&](std::uint64_t first, std::uint64_t last, const std::vector<std::uint32_t>& counts) {
      const PartInput input{.workload = job.workload(), .first = first, .last = last, .counts = counts};
      return type->parted->build(job.whole, input, job.params, job.options(), nullptr);
    };
    const auto counts = job.counts();
    EXPECT_TRUE(build(1, 2, counts)) << "the keys of other shards are ignored";
    EXPECT_TRUE(refused(build(2, 1, counts), Errc::invalid_argument, {"range", "2", "1"}));
    EXPECT_TRUE(refused(build(0, shards + 1, counts), Errc::invalid_argument, {"range", std::to_string(shards + 1)}));
    EXPECT_TRUE(refused(build(0, 1, {}), Errc::invalid_argument, {"0 shards", std::to_string(shards)}));
    auto more = counts, fewer = counts, many = counts;
    ++more[1], --fewer[1], many.push_back(1);
    EXPECT_TRUE(refused(build(0, 2, more), Errc::invalid_argument, {"shard 1", std::to_string(more[1])}));
    EXPECT_TRUE(refused(build(0, 2, fewer), Errc::invalid_argument, {"shard 1", std::to_string(fewer[1])}));
    EXPECT_TRUE(refused(build(0, 2, many), Errc::invalid_argument, {std::to_string(shards + 1)}));
  }
}

TEST(Parts, OfATaughtRibbonThatMustBeExactAreRefusedWithAReason) {
  Job job(*find_filter("taught-ribbon"), {5'000, 5'000, 8});
  job.params.push_back({"exact", "true"});
  EXPECT_TRUE(
      refused(job.type.parted->shards(job.whole, job.params), Errc::unsupported, {"taught-ribbon", "exact", "parts"}));
}

}  // namespace
}  // namespace naysay
