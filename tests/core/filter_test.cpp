// SPDX-License-Identifier: Apache-2.0
// Near misses: types that are almost filters are not, and every refinement checks what it requires.
#include "naysay/core/filter.hpp"

#include <gtest/gtest.h>

#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

// A filter that keeps the digests of its keys; the base of the near misses below.
struct Plain {
  struct Params {
    double bits_per_key = 128;
    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };
  static constexpr Claims kClaims = {.about = "keeps everything"};
  static Result<Plain> build(const Workload&, const Params&, const BuildOptions&) { return Plain{}; }
  bool may_contain(Digest) const noexcept { return true; }
  double expected_fpr() const noexcept { return 1; }
  std::uint64_t size_bits() const noexcept { return 0; }
  template <class Self, class V>
  static void fields(Self&, V&) {}
  Result<Ok> validate() const { return Ok{}; }
};
static_assert(Filter<Plain>);
static_assert(!DynamicFilter<Plain> && !ErasableFilter<Plain> && !AdaptiveFilter<Plain> && !TunableFilter<Plain> &&
              !ProbedFilter<Plain> && !BatchFilter<Plain> && !ByteFilter<Plain>);

struct AsksWithoutNoexcept : Plain {
  static Result<AsksWithoutNoexcept> build(const Workload&, const Params&, const BuildOptions&) {
    return AsksWithoutNoexcept{};
  }
  bool may_contain(Digest) const { return true; }
};
static_assert(!Filter<AsksWithoutNoexcept>);

struct BuildsSomethingElse : Plain {};  // its build gives a Plain
static_assert(!Filter<BuildsSomethingElse>);

struct HasNoBudget : Plain {
  struct Params {
    template <class Self, class V>
    static void fields(Self&, V&) {}
  };
  static Result<HasNoBudget> build(const Workload&, const Params&, const BuildOptions&) { return HasNoBudget{}; }
};
static_assert(!Filter<HasNoBudget>);

struct ErasesButDoesNotInsert : Plain {
  static Result<ErasesButDoesNotInsert> build(const Workload&, const Params&, const BuildOptions&) {
    return ErasesButDoesNotInsert{};
  }
  bool erase(Digest) noexcept { return true; }
};
static_assert(Filter<ErasesButDoesNotInsert> && !ErasableFilter<ErasesButDoesNotInsert>);

struct InsertsWithoutAnAnswer : Plain {
  static Result<InsertsWithoutAnAnswer> build(const Workload&, const Params&, const BuildOptions&) {
    return InsertsWithoutAnAnswer{};
  }
  void insert(Digest) noexcept {}
};
static_assert(!DynamicFilter<InsertsWithoutAnAnswer>);

static_assert(!Filter<int> && !Filter<Digest>);

// Room for learned filters: one that looks at the key's bytes gets them from AnyFilter's model, and from the workload.
struct FirstLetter : Plain {
  static constexpr Claims kClaims = {.about = "accepts keys that begin with the letter of one of its keys",
                                     .reads_bytes = true};
  static Result<FirstLetter> build(const Workload& w, const Params&, const BuildOptions&) {
    FirstLetter f;
    for (std::string_view key : w.key_bytes)
      if (!key.empty()) f.letters_ |= std::uint64_t{1} << (key[0] & 63);
    return f;
  }
  using Plain::may_contain;
  bool may_contain(Digest, std::string_view bytes) const noexcept {
    return !bytes.empty() && (letters_ >> (bytes[0] & 63)) & 1;
  }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("letters", self.letters_);
  }
  std::uint64_t letters_ = 0;
};
static_assert(ByteFilter<FirstLetter>);

TEST(FilterConcepts, AFilterThatReadsBytesIsGivenThem) {
  const std::vector<std::string> keys = {"apple", "banana"};
  const auto f = build<FirstLetter>(keys);
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->may_contain("avocado"));
  EXPECT_FALSE(f->may_contain("cherry"));
  const std::vector<std::string_view> queries = {"avocado", "cherry", "banana"};
  std::vector<bool> answers(queries.size());
  f->may_contain(queries, answers);
  EXPECT_EQ(answers, (std::vector<bool>{true, false, true})) << "a batch gives it the bytes as well";
}

TEST(FilterConcepts, ABudgetThatMakesNoSenseIsRefused) {
  for (const char* bits : {"0", "-3", "5000", "1e300"}) {
    const auto f = AnyFilter::build("bloom", {}, {{"bits_per_key", bits}});
    EXPECT_TRUE(sample::refused(f, Errc::invalid_argument, {"bloom", "bits_per_key", "4096"})) << bits;
  }
}

TEST(FilterConcepts, CostsThatMakeNoSenseAreRefused) {
  const auto negatives = sample::numbers(0, 2);
  for (float bad : {-1.0f, std::nanf(""), INFINITY}) {
    const float costs[] = {1, bad};
    EXPECT_FALSE(AnyFilter::build("bloom", {.negatives = negatives, .costs = costs})) << bad;
  }
  const float one[] = {1};
  EXPECT_FALSE(AnyFilter::build("bloom", {.negatives = negatives, .costs = one}));
}

TEST(FilterConcepts, AnUnknownFilterIsNamedBesideTheKnownOnes) {
  const auto f = AnyFilter::build("blom", {});
  EXPECT_TRUE(sample::refused(f, Errc::invalid_argument, {"'blom'", "bloom"}));
}

TEST(AnyFilter, HoldsAFilterThatWasBuiltElsewhereAsBuildGivesIt) {
  const auto keys = sample::numbers(0, 1000);
  const Hasher hasher{.seed = 7};
  const Bloom::Params params{.bits_per_key = 13};
  const auto bloom = Bloom::build({.keys = keys}, params);
  ASSERT_TRUE(bloom);
  const AnyFilter held = Keyed<Bloom>(*bloom, params, {.hasher = hasher, .keys = keys.size()});
  const auto built = AnyFilter::build("bloom", {.keys = keys}, {{"bits_per_key", "13"}}, {.hasher = hasher});
  ASSERT_TRUE(built);
  EXPECT_EQ(held.to_bytes(), built->to_bytes());
}

}  // namespace
}  // namespace naysay
