// SPDX-License-Identifier: Apache-2.0
// Conformance: what every registered filter must hold, held to its own claims.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <tuple>

#include "cases.hpp"
#include "hosts.hpp"
#include "levels.hpp"
#include "naysay/any_filter.hpp"
#include "sample.hpp"

namespace naysay {

namespace {

using sample::numbers;
using sample::rate_matches;

constexpr std::uint64_t kSizes[] = {0, 1, 2, 3, 63, 64, 65, 1000, 20'000};

class EveryFilter : public ::testing::TestWithParam<FilterType> {
 protected:
  static AnyFilter must_build(const Workload& w, const BuildOptions& options = {}) {
    return sample::must(AnyFilter::build(GetParam().name, w, {}, options));
  }
};

class EveryExactFilter : public EveryFilter {};
class EveryTunableFilter : public EveryFilter {};
class EveryDynamicFilter : public EveryFilter {};
class EveryErasableFilter : public EveryFilter {};
class EveryAdaptiveFilter : public EveryFilter {
 protected:
  ~EveryAdaptiveFilter() override { std::remove(path_.c_str()); }
  // With the file of its keys, where it needs one.
  AnyFilter must_build(const Workload& w) {
    AnyFilter f = EveryFilter::must_build(w);
    if (!GetParam().write_key_file) return f;
    EXPECT_EQ(f.adapt(digest(1u << 30)), Outcome::no_key_file);
    sample::must(GetParam().write_key_file(path_, f, w.keys));
    sample::must(f.attach_key_file(path_));
    return f;
  }

 private:
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("naysay-keys-" + std::to_string(::getpid()))).string();
};
class EveryWarmingFilter : public EveryFilter {};
class EveryFilterThatAdaptsWithChurn : public EveryFilter {};

// Filters that read bytes are given made-up host names; the tests above give them digests alone.
class EveryByteFilter : public EveryFilter {
 protected:
  struct Lists {
    explicit Lists(std::uint64_t n)
        : keys(sample::hosts(sample::Hosts::blocked, 0, n)), negatives(sample::hosts(sample::Hosts::popular, 0, n)) {}
    Workload workload() const {
      return {.keys = keys.digests,
              .negatives = negatives.digests,
              .key_bytes = keys.views,
              .negative_bytes = negatives.views};
    }
    sample::Strings keys, negatives;
  };
  static AnyFilter build_with(const char* bits_per_key, const Workload& w) {
    return sample::must(AnyFilter::build(GetParam().name, w, {{"bits_per_key", bits_per_key}}));
  }
  static std::uint64_t accepted(const AnyFilter& f, const sample::Strings& of) {
    std::uint64_t count = 0;
    for (std::string_view text : of.views) count += f.may_contain(text);
    return count;
  }
  static sample::Strings strangers(std::uint64_t count) {
    return sample::hosts(sample::Hosts::popular, 1'000'000, count);
  }
};
class EveryExactByteFilter : public EveryByteFilter {};
class EveryBoundedByteFilter : public EveryByteFilter {};

TEST_P(EveryFilter, NeverDeniesAKeyItWasBuiltFrom) {
  for (std::uint64_t n : kSizes) {
    const auto keys = numbers(0, n);
    const AnyFilter f = must_build({.keys = keys});
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.may_contain(keys[i])) << "key " << i << " of " << n;
  }
}

TEST_P(EveryFilter, NeverDeniesAKeyWhenKeysRepeatAndNegativesAreKeys) {
  for (std::uint64_t n : kSizes) {
    auto keys = numbers(0, n);
    const auto once = keys;
    keys.insert(keys.end(), once.begin(), once.end());
    if (n > 0) keys.insert(keys.end(), 40, once[0]);
    auto negatives = numbers(n / 2, n);  // the first half of them are keys
    negatives.insert(negatives.end(), negatives.begin(), negatives.end());
    const AnyFilter f = must_build({.keys = keys, .negatives = negatives});
    for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << "of " << n;
  }
}

TEST_P(EveryFilter, StaysWithinItsBudget) {
  for (std::uint64_t n : kSizes) {
    const auto keys = numbers(7, n), negatives = numbers(1 << 30, n);
    for (const char* bits : {"8", "12.5", "20"}) {
      auto f = AnyFilter::build(GetParam().name, {.keys = keys, .negatives = negatives}, {{"bits_per_key", bits}});
      if (!f) {
        EXPECT_EQ(f.error().code, Errc::out_of_budget) << f.error().message;
        continue;
      }
      EXPECT_LE(static_cast<double>(f->size_bits()),
                std::stod(bits) * static_cast<double>(n) + static_cast<double>(GetParam().claims.fixed_bits))
          << n << " keys at " << bits;
    }
  }
}

TEST_P(EveryFilter, ErrsOnStrangersAsOftenAsItSays) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000), strangers = numbers(9'000'000, 400'000);
  for (bool told : {false, true}) {
    Workload w{.keys = keys};
    if (told) w.negatives = negatives;
    const AnyFilter f = must_build(w);
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f.may_contain(d);
    EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), GetParam().claims.fpr_model_error));
  }
}

TEST_P(EveryFilter, ErrsAsOftenAsItSaysOnOnePartOfManyThatRouteMakes) {
  constexpr std::uint64_t kParts = 64, kPart = 17, kKeys = 8000, kQueries = 150'000;
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<Digest> out;
    for (std::uint64_t i = first; out.size() < count; ++i)
      if (const Digest d = digest(i); route(d, kParts) == kPart) out.push_back(d);
    return out;
  };
  const auto keys = part(0, kKeys), negatives = part(std::uint64_t{1} << 40, kKeys);
  const auto strangers = part(std::uint64_t{1} << 50, kQueries);
  const AnyFilter f = must_build({.keys = keys, .negatives = negatives});
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  std::uint64_t hits = 0;
  for (const Digest& d : strangers) hits += f.may_contain(d);
  EXPECT_TRUE(rate_matches(hits, strangers.size(), f.expected_fpr(), GetParam().claims.fpr_model_error));
}

TEST_P(EveryExactFilter, RefusesEveryKnownNegativeIfItClaimsSo) {
  const auto keys = numbers(0, 20'000), negatives = numbers(5'000'000, 20'000);
  const AnyFilter f = must_build({.keys = keys, .negatives = negatives});
  for (const Digest& d : negatives) ASSERT_FALSE(f.may_contain(d));
}

TEST_P(EveryFilter, AnswersTheSameOneByOneAndInBatches) {
  for (std::uint64_t n : kSizes) {
    const auto keys = numbers(0, n);
    const AnyFilter f = must_build({.keys = keys});
    for (std::uint64_t asked : {0, 1, 7, 15, 16, 17, 33, 5000}) {
      const auto questions = numbers(n / 2, asked);
      std::vector<std::uint8_t> answers(asked + 1, 2);
      f.may_contain(questions, answers.data());
      for (std::uint64_t i = 0; i < asked; ++i)
        ASSERT_EQ(answers[i], f.may_contain(questions[i])) << i << " of " << asked;
      ASSERT_EQ(answers[asked], 2) << "wrote behind the end";
    }
  }
}

// A filter and an instruction set.
class EveryFilterAtEveryLevel : public ::testing::TestWithParam<std::tuple<FilterType, Simd>> {
 protected:
  void SetUp() override { NAYSAY_SKIP_WITHOUT(std::get<Simd>(GetParam())); }
};

TEST_P(EveryFilterAtEveryLevel, AnswersAndBuildsAsItsScalarCodeDoes) {
  const auto& [type, level] = GetParam();
  const auto keys = numbers(0, 5000), negatives = numbers(1'000'000, 5000), questions = numbers(2500, 60'000);
  struct Outcome {
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> one, batch;
  };
  const auto at = [&, name = type.name](Simd simd) {
    const ScopedSimd scoped(simd);
    const AnyFilter f = sample::must(AnyFilter::build(name, {.keys = keys, .negatives = negatives}));
    Outcome out{f.to_bytes(), std::vector<std::uint8_t>(questions.size()), std::vector<std::uint8_t>(questions.size())};
    for (std::size_t i = 0; i < questions.size(); ++i) out.one[i] = f.may_contain(questions[i]);
    f.may_contain(questions, out.batch.data());
    return out;
  };
  const Outcome plain = at(Simd::scalar), vector = at(level);
  EXPECT_EQ(plain.one, plain.batch);
  EXPECT_TRUE(vector.bytes == plain.bytes);
  EXPECT_EQ(vector.one, plain.one);
  EXPECT_EQ(vector.batch, plain.one);
}

INSTANTIATE_TEST_SUITE_P(
    Registry, EveryFilterAtEveryLevel,
    ::testing::Combine(cases::filters_that([](const FilterType&) { return true; }),
                       ::testing::Values(Simd::avx2, Simd::avx512)),
    [](const auto& both) {
      return cases::name({std::get<FilterType>(both.param), both.index}) + "_" + name_of(std::get<Simd>(both.param));
    });

TEST_P(EveryFilter, GivesTheSameBytesForTheSameInputAndAnyNumberOfThreads) {
  const auto keys = numbers(0, 20'000), negatives = numbers(1'000'000, 20'000);
  const Workload w{.keys = keys, .negatives = negatives};
  const auto first = must_build(w, {.seed = 5}).to_bytes();
  EXPECT_EQ(must_build(w, {.seed = 5}).to_bytes(), first);
  EXPECT_EQ(must_build(w, {.seed = 5, .threads = 3}).to_bytes(), first);
}

TEST_P(EveryFilter, ComesBackFromItsFileByteForByte) {
  for (std::uint64_t n : kSizes) {
    const auto keys = numbers(0, n), questions = numbers(0, 2 * n + 1000);
    auto built = AnyFilter::build(GetParam().name, {.keys = keys}, {}, {.hasher = {HashId::siphash, 0, {1, 2}}});
    ASSERT_TRUE(built) << built.error().message;
    const auto bytes = built->to_bytes();
    const auto copy = AnyFilter::load(bytes), view = AnyFilter::view(bytes);
    ASSERT_TRUE(copy) << copy.error().message;
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(copy->to_bytes(), bytes);
    EXPECT_EQ(view->to_bytes(), bytes);
    EXPECT_EQ(copy->hasher(), built->hasher());
    EXPECT_EQ(copy->keys(), n);
    EXPECT_EQ(copy->size_bits(), built->size_bits());
    const auto bare = built->to_bare();
    const auto tiny = AnyFilter::view_bare(bare, {.hasher = built->hasher()});
    ASSERT_TRUE(tiny) << tiny.error().message;
    EXPECT_EQ(tiny->to_bare(), bare);
    // The rest: the length of each array, and its padding. A filter with many arrays claims more fixed bits.
    EXPECT_LE(bare.size() * 8,
              built->size_bits() + built->index_bits() + std::max<std::uint64_t>(64 * 64, GetParam().claims.fixed_bits))
        << "a bare payload is the filter and little else";
    for (const Digest& d : questions) {
      ASSERT_EQ(copy->may_contain(d), built->may_contain(d));
      ASSERT_EQ(view->may_contain(d), built->may_contain(d));
      ASSERT_EQ(tiny->may_contain(d), built->may_contain(d));
    }
  }
}

TEST_P(EveryFilter, IsReadFromBarePayloadsAtAnyAddress) {
  const auto keys = numbers(0, 300);
  const AnyFilter f = must_build({.keys = keys});
  const auto bare = f.to_bare();
  for (std::size_t shift = 0; shift < 9; ++shift) {
    std::vector<std::byte> moved(bare.size() + shift);
    std::memcpy(moved.data() + shift, bare.data(), bare.size());
    const auto tiny = AnyFilter::view_bare(std::span(moved).subspan(shift));
    ASSERT_TRUE(tiny) << tiny.error().message;
    for (const Digest& d : keys) ASSERT_TRUE(tiny->may_contain(d));
  }
}

// Each prefix in its own allocation, so that ASan sees a read past its end.
std::span<const std::byte> prefix(const std::vector<std::byte>& bytes, std::size_t n,
                                  std::unique_ptr<std::byte[]>& owner) {
  owner = std::make_unique<std::byte[]>(n);
  if (n != 0) std::memcpy(owner.get(), bytes.data(), n);
  return {owner.get(), n};
}

TEST_P(EveryFilter, RefusesEveryTruncationAndEveryFlippedBit) {
  const auto keys = numbers(0, 20);
  const AnyFilter f = must_build({.keys = keys});
  const auto bytes = f.to_bytes(), bare = f.to_bare();
  std::unique_ptr<std::byte[]> owner;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const auto cut = AnyFilter::load(prefix(bytes, n, owner));
    ASSERT_FALSE(cut) << "the first " << n << " of " << bytes.size() << " bytes were taken for a filter";
    ASSERT_FALSE(cut.error().message.empty());
  }
  for (std::size_t n = 0; n < bare.size(); ++n)
    ASSERT_FALSE(AnyFilter::view_bare(prefix(bare, n, owner)))
        << "the first " << n << " of " << bare.size() << " bytes";
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    ASSERT_FALSE(AnyFilter::load(flipped)) << "bit " << bit;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(AnyFilter::load(longer));
}

TEST_P(EveryFilter, SurvivesAnyFieldBytesThatAValidChecksumCovers) {
  // A bare payload has no checksum, so every flip reaches validate(): it is refused, or answers without harm.
  const auto keys = numbers(0, 20), questions = numbers(0, 200);
  const auto bare = must_build({.keys = keys}).to_bare();
  std::unique_ptr<std::byte[]> owner;
  for (std::size_t bit = 0; bit < bare.size() * 8; ++bit) {
    auto flipped = bare;
    flipped[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    auto f = AnyFilter::view_bare(prefix(flipped, flipped.size(), owner));
    if (!f) continue;
    std::uint8_t answers[200];
    f->may_contain(questions, answers);
    for (const Digest& d : questions) (void)f->may_contain(d);
    (void)f->expected_fpr();
    if (f->type().dynamic)
      for (const Digest& d : questions) (void)f->insert(d);
    if (f->type().erasable)
      for (const Digest& d : questions) (void)f->erase(d);
    if (f->type().adaptive)
      for (const Digest& d : questions) (void)f->adapt(d, 1);
    if (f->type().warming) {
      (void)f->full();
      (void)f->warm(questions);
      f->may_contain(questions, answers);
    }
  }
}

TEST_P(EveryFilter, NamesTheParameterItDoesNotHave) {
  const auto f = AnyFilter::build(GetParam().name, {}, {{"bits_per_kee", "8"}});
  EXPECT_TRUE(sample::refused(f, Errc::invalid_argument, {"bits_per_kee", "bits_per_key"}));
}

TEST_P(EveryFilter, BeginsItsParametersWithBitsPerKey) {
  const auto defaults = GetParam().defaults();
  ASSERT_FALSE(defaults.empty());
  EXPECT_EQ(defaults[0].name, "bits_per_key");
  EXPECT_TRUE(GetParam().check_params(GetParam().name, defaults));
  EXPECT_FALSE(GetParam().claims.about.empty());
}

TEST_P(EveryTunableFilter, GivesTheRateItPricedWithinTheBitsItPriced) {
  const auto keys = numbers(0, 50'000), strangers = numbers(9'000'000, 1'000'000);
  for (double fpr : {0.1, 0.01, 0.001}) {
    const auto params = GetParam().params_for(fpr);
    const auto f = AnyFilter::build(GetParam().name, {.keys = keys}, std::span<const Param>(params));
    ASSERT_TRUE(f) << f.error().message;
    EXPECT_LE(f->expected_fpr(), fpr * (1.02 + GetParam().claims.fpr_model_error)) << "asked for " << fpr;
    EXPECT_LE(static_cast<double>(f->size_bits()),
              GetParam().bits_per_key(fpr) * 50'000 * 1.001 + static_cast<double>(GetParam().claims.fixed_bits));
    std::uint64_t hits = 0;
    for (const Digest& d : strangers) hits += f->may_contain(d);
    EXPECT_TRUE(rate_matches(hits, strangers.size(), f->expected_fpr(), GetParam().claims.fpr_model_error))
        << "asked for " << fpr;
  }
}

TEST_P(EveryDynamicFilter, HoldsWhatIsInsertedLater) {
  const auto keys = numbers(0, 2000);
  AnyFilter f = must_build({.keys = std::span(keys).first(500)}, {.capacity = 2000});
  for (std::size_t i = 500; i < keys.size(); ++i) ASSERT_TRUE(f.insert(keys[i])) << "no room for key " << i;
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d));
  EXPECT_EQ(f.keys(), 2000u);
}

TEST_P(EveryDynamicFilter, SaysNoRoomOrTakesTheKeyAndChangesNothingOtherwise) {
  AnyFilter f = must_build({}, {.capacity = 100});
  std::vector<Digest> in;
  for (const Digest& d : numbers(0, 1000)) {
    const auto before = f.to_bytes();
    if (f.insert(d))
      in.push_back(d);
    else
      ASSERT_EQ(f.to_bytes(), before) << "a refused insert changed something";
    for (const Digest& k : in) ASSERT_TRUE(f.may_contain(k));
  }
  EXPECT_GE(in.size(), 100u);
}

TEST_P(EveryDynamicFilter, InsertsIntoAMappedFilterWithoutWritingToTheFile) {
  const auto keys = numbers(0, 100);
  const auto bytes = must_build({.keys = std::span(keys).first(50)}, {.capacity = 100}).to_bytes();
  auto untouched = bytes;
  auto view = AnyFilter::view(bytes);
  ASSERT_TRUE(view);
  for (const Digest& d : std::span(keys).subspan(50)) ASSERT_TRUE(view->insert(d));
  EXPECT_EQ(bytes, untouched);
  for (const Digest& d : keys) EXPECT_TRUE(view->may_contain(d));
}

TEST_P(EveryErasableFilter, ForgetsWhatIsErasedAndKeepsTheRest) {
  const auto keys = numbers(0, 2000);
  AnyFilter f = must_build({.keys = keys});
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(f.erase(keys[i]));
  for (std::size_t i = 1000; i < 2000; ++i) ASSERT_TRUE(f.may_contain(keys[i]));
  std::uint64_t left = 0;
  for (std::size_t i = 0; i < 1000; ++i) left += f.may_contain(keys[i]);
  EXPECT_LE(left, 100u) << "erased keys should be strangers again";
  for (std::size_t i = 1000; i < 2000; ++i) ASSERT_TRUE(f.erase(keys[i]));
  EXPECT_EQ(f.keys(), 0u);
  left = 0;
  for (const Digest& d : keys) left += f.may_contain(d);
  EXPECT_EQ(left, 0u);
}

TEST_P(EveryErasableFilter, ErasesNothingWhenItDeniesTheKey) {
  const auto keys = numbers(0, 500);
  AnyFilter f = must_build({.keys = keys});
  const auto before = f.to_bytes();
  for (const Digest& d : numbers(1'000'000, 2000)) ASSERT_FALSE(!f.may_contain(d) && f.erase(d));
  EXPECT_EQ(f.to_bytes(), before);
}

TEST_P(EveryErasableFilter, CountsAKeyThatIsInsertedAgain) {
  const auto keys = numbers(0, 100);
  AnyFilter f = must_build({}, {.capacity = 300});
  for (int copy = 0; copy < 2; ++copy)
    for (const Digest& d : keys) ASSERT_TRUE(f.insert(d));
  for (const Digest& d : keys) ASSERT_TRUE(f.erase(d));
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << "erased once, inserted twice";
}

TEST_P(EveryDynamicFilter, AgreesWithAMultisetUnderRandomInsertsAndErases) {
  sample::Words random(11);
  const auto universe = numbers(0, 600);
  AnyFilter f = must_build({}, {.capacity = 1000});
  std::multiset<std::uint64_t> model;
  std::uint64_t asked = 0, refused = 0;  // copies of a key may be refused before the table is full, but rarely
  for (int step = 0; step < 60'000; ++step) {
    const std::uint64_t i = random.below(universe.size());
    if (GetParam().erasable && random.below(2) == 0) {
      if (const auto at = model.find(i); at != model.end()) {
        ASSERT_TRUE(f.erase(universe[i]));
        model.erase(at);
      }
    } else if (model.size() < 900 && model.count(i) < 3) {
      ++asked;
      if (f.insert(universe[i]))
        model.insert(i);
      else
        ++refused;
    }
    const std::uint64_t j = random.below(universe.size());
    ASSERT_TRUE(f.may_contain(universe[j]) || model.count(j) == 0) << "step " << step;
  }
  EXPECT_LE(refused * 100, asked);
}

TEST_P(EveryAdaptiveFilter, StopsMakingAFalsePositiveItIsToldOf) {
  const auto keys = numbers(0, 5000);
  AnyFilter f = must_build({.keys = keys});
  EXPECT_TRUE(f.adapts());
  std::uint64_t told = 0, kept = 0;
  for (const Digest& d : numbers(9'000'000, 50'000)) {
    if (!f.may_contain(d)) continue;
    ++told;
    if (f.adapt(d, 1)) {
      ++kept;
      ASSERT_FALSE(f.may_contain(d)) << "adapt said that it would be refused";
    }
  }
  for (const Digest& d : keys) ASSERT_TRUE(f.may_contain(d)) << "adapting must not cost a key";
  EXPECT_TRUE(told == 0 || kept > 0 || GetParam().claims.adapts_with_churn);
}

TEST_P(EveryWarmingFilter, LearnsUntilItIsFullAndWarmDeniesNoKeyAndErrsLess) {
  const auto keys = numbers(0, 5000), negatives = numbers(9'000'000, 50'000);
  const auto bytes = must_build({.keys = keys, .negatives = negatives}).to_bytes();
  auto f = AnyFilter::view(bytes);
  ASSERT_TRUE(f) << f.error().message;
  std::uint64_t cold = 0, warm = 0;
  for (const Digest& d : negatives) {
    if (!f->may_contain(d)) continue;
    ++cold;
    if (!f->full()) f->adapt(d, 1);
  }
  EXPECT_TRUE(f->full());
  ASSERT_TRUE(f->warm(keys));
  EXPECT_FALSE(f->full());
  for (const Digest& d : keys) ASSERT_TRUE(f->may_contain(d));
  for (const Digest& d : negatives) warm += f->may_contain(d);
  EXPECT_LT(warm, cold / 2);
}

TEST_P(EveryFilterThatAdaptsWithChurn, MakesFewerOfTheFalsePositivesItWasToldOfOnceItsKeysHaveChanged) {
  const auto before = numbers(0, 5000), after = numbers(100'000, 5000);
  AnyFilter told = must_build({.keys = before}), untold = must_build({.keys = before});
  std::vector<Digest> named;
  for (const Digest& d : numbers(9'000'000, 50'000))
    if (named.size() < before.size() / 20 && told.may_contain(d)) named.push_back(d);
  for (const Digest& d : named) told.adapt(d, 1);
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < before.size(); ++i)
      for (AnyFilter* f : {&told, &untold}) {
        ASSERT_TRUE(f->erase((round == 0 ? before : after)[i]));
        ASSERT_TRUE(f->insert((round == 0 ? after : before)[i]));
      }
  std::uint64_t with = 0, without = 0;
  for (const Digest& d : named) with += told.may_contain(d), without += untold.may_contain(d);
  EXPECT_EQ(without, named.size()) << "the same keys make the same false positives";
  EXPECT_LT(with, without / 5);
  for (const Digest& d : before) ASSERT_TRUE(told.may_contain(d)) << "adapting must not cost a key";
}

TEST_P(EveryByteFilter, NeverDeniesAKeyByItsBytesOrByItsDigestAlone) {
  for (std::uint64_t n : kSizes) {
    const Lists lists(n);
    for (const char* bits : {"6", "10"}) {
      auto f = AnyFilter::build(GetParam().name, lists.workload(), {{"bits_per_key", bits}});
      ASSERT_TRUE(f) << f.error().message;
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(f->may_contain(lists.keys.views[i])) << "key " << i << " of " << n;
        ASSERT_TRUE(f->may_contain(lists.keys.digests[i])) << "key " << i << " of " << n;
      }
    }
  }
}

TEST_P(EveryByteFilter, NeverDeniesAKeyWhenKeysRepeatAndNegativesAreKeys) {
  for (std::uint64_t n : kSizes) {
    const Lists lists(n);
    std::vector<Digest> keys(lists.keys.digests), negatives(lists.negatives.digests);
    std::vector<std::string_view> key_bytes(lists.keys.views), negative_bytes(lists.negatives.views);
    for (std::uint64_t i = 0; i < n; i += 2) {
      negatives.push_back(keys[i]);
      negative_bytes.push_back(key_bytes[i]);
      keys.push_back(keys[i]);
      key_bytes.push_back(key_bytes[i]);
    }
    const AnyFilter f =
        must_build({.keys = keys, .negatives = negatives, .key_bytes = key_bytes, .negative_bytes = negative_bytes});
    ASSERT_EQ(accepted(f, lists.keys), n);
  }
}

TEST_P(EveryByteFilter, AcceptsByItsBytesOnlyWhatItAcceptsByItsDigest) {
  const Lists lists(20'000);
  const AnyFilter f = must_build(lists.workload());
  for (const auto& some : {strangers(50'000), sample::hosts(sample::Hosts::blocked, 1'000'000, 50'000)})
    for (std::size_t i = 0; i < some.views.size(); ++i)
      ASSERT_TRUE(f.may_contain(some.digests[i]) || !f.may_contain(some.views[i]));
}

TEST_P(EveryByteFilter, StaysWithinItsBudget) {
  for (std::uint64_t n : kSizes) {
    const Lists lists(n);
    for (const char* bits : {"5", "8", "12.5", "20"}) {
      auto f = AnyFilter::build(GetParam().name, lists.workload(), {{"bits_per_key", bits}});
      ASSERT_TRUE(f) << f.error().message;
      EXPECT_LE(static_cast<double>(f->size_bits()),
                std::stod(bits) * static_cast<double>(n) + static_cast<double>(GetParam().claims.fixed_bits))
          << n << " keys at " << bits;
    }
  }
}

TEST_P(EveryByteFilter, ErrsOnStrangersLikeTheNegativesNotMoreOftenThanItSays) {
  const Lists lists(40'000);
  const AnyFilter f = build_with("8", lists.workload());
  const double mean = 400'000 * f.expected_fpr();
  // The rate was planned with 10,000 negatives: a tenth of it is their noise.
  EXPECT_LE(static_cast<double>(accepted(f, strangers(400'000))), 1.1 * mean + 5 * std::sqrt(mean));
}

TEST_P(EveryByteFilter, MakesUseOfTheBytes) {
  const Lists lists(40'000);
  Workload without = lists.workload();
  without.key_bytes = without.negative_bytes = {};
  const AnyFilter with_bytes = build_with("8", lists.workload()), digests_only = build_with("8", without);
  const auto some = strangers(200'000);
  EXPECT_LT(accepted(with_bytes, some), accepted(digests_only, some));
}

TEST_P(EveryExactByteFilter, RefusesEveryKnownNegativeIfItClaimsSo) {
  const Lists lists(20'000);
  EXPECT_EQ(accepted(must_build(lists.workload()), lists.negatives), 0u);
}

TEST_P(EveryBoundedByteFilter, AcceptsNoKindOfStrangerMoreOftenThanItSays) {
  const Lists lists(40'000);
  const AnyFilter f = build_with("8", lists.workload());
  sample::Words random(3);
  sample::Strings liked, near, addresses, noise;
  const auto key = [&]() -> const std::string& { return lists.keys.texts[random.below(lists.keys.texts.size())]; };
  for (int i = 0; i < 200'000; ++i) {
    // What a model of the keys likes best: the beginning of one key and the end of another.
    liked.add(key().substr(0, 7) + key().substr(5));
    std::string text = key();
    text[random.below(text.size())] = static_cast<char>('a' + random.below(26));
    near.add(text + (random.below(2) == 0 ? "x" : ""));
    std::string address;
    for (int part = 0; part < 4; ++part) address += (part > 0 ? "." : "") + std::to_string(random.below(256));
    addresses.add(std::move(address));
    std::string bytes(1 + random.below(30), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    noise.add(std::move(bytes));
  }
  std::vector<Digest> keys(lists.keys.digests);
  std::sort(keys.begin(), keys.end());
  for (const auto& kind : {std::move(liked).finish(), std::move(near).finish(), std::move(addresses).finish(),
                           std::move(noise).finish(), strangers(200'000)}) {
    std::uint64_t hits = 0, asked = 0;
    for (std::size_t i = 0; i < kind.views.size(); ++i) {
      if (std::binary_search(keys.begin(), keys.end(), kind.digests[i])) continue;
      hits += f.may_contain(kind.views[i]);
      ++asked;
    }
    ASSERT_GT(asked, 100'000u);
    const double mean = static_cast<double>(asked) * f.expected_fpr();
    EXPECT_LE(static_cast<double>(hits), mean * (1 + GetParam().claims.fpr_model_error) + 5 * std::sqrt(mean))
        << kind.texts[0];
  }
}

TEST_P(EveryByteFilter, GivesTheSameBytesWithAnyNumberOfThreadsAndEveryInstructionSet) {
  const Lists lists(10'000);
  const auto first = must_build(lists.workload(), {.seed = 5}).to_bytes();
  EXPECT_EQ(must_build(lists.workload(), {.seed = 5, .threads = 3}).to_bytes(), first);
  ScopedSimd scalar(Simd::scalar);
  EXPECT_EQ(must_build(lists.workload(), {.seed = 5}).to_bytes(), first);
}

TEST_P(EveryByteFilter, ComesBackFromItsFileAndAnswersTheSame) {
  const Lists lists(10'000);
  const AnyFilter built = must_build(lists.workload());
  const auto bytes = built.to_bytes(), bare = built.to_bare();
  const auto copy = AnyFilter::load(bytes), view = AnyFilter::view(bytes), tiny = AnyFilter::view_bare(bare);
  ASSERT_TRUE(copy && view && tiny);
  EXPECT_EQ(copy->to_bytes(), bytes);
  EXPECT_EQ(view->to_bytes(), bytes);
  EXPECT_EQ(tiny->to_bare(), bare);
  const auto some = strangers(50'000);
  for (std::string_view text : some.views) {
    const bool answer = built.may_contain(text);
    ASSERT_EQ(copy->may_contain(text), answer);
    ASSERT_EQ(view->may_contain(text), answer);
    ASSERT_EQ(tiny->may_contain(text), answer);
  }
}

TEST_P(EveryByteFilter, SurvivesFlippedBitsThatAValidChecksumCovers) {
  const Lists lists(6000);
  const auto bare = must_build(lists.workload()).to_bare();
  const auto some = strangers(50);
  sample::Words random(8);
  std::unique_ptr<std::byte[]> owner;
  for (int round = 0; round < 2000; ++round) {
    auto flipped = bare;
    // Half of them near the front, where lengths and counts stand.
    const std::size_t bit = random.below(round % 2 == 0 ? 4096 : bare.size() * 8);
    flipped[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    auto f = AnyFilter::view_bare(prefix(flipped, flipped.size(), owner));
    if (!f) continue;
    for (std::string_view text : some.views) (void)f->may_contain(text);
    (void)f->describe();
    (void)f->expected_fpr();
  }
}

TEST_P(EveryByteFilter, RefusesAnotherNumberOfStringsThanOfDigests) {
  const Lists lists(10);
  Workload w = lists.workload();
  w.key_bytes = w.key_bytes.first(9);
  const auto f = AnyFilter::build(GetParam().name, w);
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::invalid_argument);
}

NAYSAY_FOR_FILTERS(EveryFilter, true);
NAYSAY_FOR_FILTERS(EveryByteFilter, filter.claims.reads_bytes);
NAYSAY_FOR_FILTERS(EveryExactByteFilter, filter.claims.reads_bytes&& filter.claims.exact_on_negatives);
NAYSAY_FOR_FILTERS(EveryBoundedByteFilter, filter.claims.bounds_strangers);
NAYSAY_FOR_FILTERS(EveryExactFilter, filter.claims.exact_on_negatives);
NAYSAY_FOR_FILTERS(EveryTunableFilter, filter.tunable);
NAYSAY_FOR_FILTERS(EveryDynamicFilter, filter.dynamic);
NAYSAY_FOR_FILTERS(EveryErasableFilter, filter.erasable);
NAYSAY_FOR_FILTERS(EveryAdaptiveFilter, filter.adaptive);
NAYSAY_FOR_FILTERS(EveryWarmingFilter, filter.warming);
NAYSAY_FOR_FILTERS(EveryFilterThatAdaptsWithChurn, filter.claims.adapts_with_churn);

}  // namespace
}  // namespace naysay
