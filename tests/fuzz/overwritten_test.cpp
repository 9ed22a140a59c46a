// SPDX-License-Identifier: Apache-2.0
// A filter in mapped memory is checked once, when it is opened. Whoever overwrites its file in place afterwards gets
// other answers, but no query leaves its memory and none runs on without end.
//
// ASan sees no read past the end of a mapping, so the same is done to a view of a buffer that was allocated alone. A
// query that never ends is ended by alarm(), which fails the test by a signal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "cases.hpp"
#include "hosts.hpp"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

constexpr std::uint64_t kKeys = 3000, kQueries = 10'000;
constexpr unsigned kMostSeconds = 240;  // for all patterns of one filter, on a slow machine under a sanitizer

class AlarmClock {
 public:
  AlarmClock() { ::alarm(kMostSeconds); }
  ~AlarmClock() { ::alarm(0); }
};

enum class Pattern { zeros, ones, random, flips, halves };
constexpr Pattern kPatterns[] = {Pattern::zeros, Pattern::ones, Pattern::random, Pattern::flips, Pattern::halves};

// Overwrites what follows the header and the parameters' first bytes: fields that are numbers were copied when the
// filter was opened, so that only arrays matter.
void scribble(std::span<std::byte> payload, Pattern pattern, std::uint64_t seed) {
  sample::Words random(seed);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    std::byte& b = payload[i];
    switch (pattern) {
      case Pattern::zeros:
        b = std::byte{0};
        break;
      case Pattern::ones:
        b = std::byte{0xff};
        break;
      case Pattern::random:
        b = static_cast<std::byte>(random());
        break;
      case Pattern::flips:  // one bit of about every eighth byte
        if (random.below(8) == 0) b ^= static_cast<std::byte>(1u << random.below(8));
        break;
      case Pattern::halves:  // pieces of ones between pieces of zeros, so that counts and bounds disagree
        b = (i / 64 + seed) % 2 == 0 ? std::byte{0} : std::byte{0xff};
        break;
    }
  }
}

void query(const AnyFilter& f, std::span<const std::string> texts) {
  static const std::vector<Digest> digests = sample::numbers(0, kQueries);
  std::vector<std::uint8_t> answers(digests.size());
  f.may_contain(digests, answers);
  for (std::size_t i = 0; i < digests.size(); ++i) ASSERT_EQ(f.may_contain(digests[i]), answers[i] != 0) << i;
  for (const std::string& text : texts) (void)f.may_contain(f.hasher()(text), text);
  (void)f.expected_fpr();
  (void)f.describe();
  (void)f.size_bits();
}

class AnOverwrittenFile : public ::testing::TestWithParam<FilterType> {
 protected:
  void SetUp() override {
    const bool strings = GetParam().claims.reads_bytes;
    const auto hosts = sample::hosts(sample::Hosts::blocked, 0, strings ? 6000 : 0);
    const auto others = sample::hosts(sample::Hosts::popular, 0, strings ? 6000 : 0);
    const auto keys = sample::numbers(0, kKeys), negatives = sample::numbers(1 << 20, kKeys);
    filter_ = std::make_unique<AnyFilter>(
        sample::must(AnyFilter::build(GetParam().name,
                                      strings ? Workload{.keys = hosts.digests,
                                                         .negatives = others.digests,
                                                         .key_bytes = hosts.views,
                                                         .negative_bytes = others.views}
                                              : Workload{.keys = keys, .negatives = negatives},
                                      {}, {.capacity = (strings ? hosts.digests.size() : keys.size()) * 5 / 4})));
    if (strings) {
      for (std::size_t i = 0; i < 2000; ++i) texts_.push_back(hosts.texts[i]), texts_.push_back(others.texts[i]);
      texts_.emplace_back();
      texts_.emplace_back(5000, 'x');
    }
  }

  std::unique_ptr<AnyFilter> filter_;
  std::vector<std::string> texts_;
};

TEST_P(AnOverwrittenFile, KeepsEveryQueryWithinItsMemory) {
  const AlarmClock clock;
  const auto whole = filter_->to_bytes();
  for (const Pattern pattern : kPatterns)
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const auto own = std::make_unique<std::byte[]>(whole.size());
      std::copy(whole.begin(), whole.end(), own.get());
      const std::span<std::byte> bytes(own.get(), whole.size());
      const AnyFilter f = sample::must(AnyFilter::view(bytes));
      scribble(bytes.subspan(file_detail::kHeaderBytes), pattern, seed);
      query(f, texts_);
    }
}

// A change copies the filter first and checks it again.
TEST_P(AnOverwrittenFile, IsChangedOnlyIfItIsStillAFilter) {
  const AlarmClock clock;
  const auto whole = filter_->to_bytes();
  for (const Pattern pattern : kPatterns) {
    const auto own = std::make_unique<std::byte[]>(whole.size());
    std::copy(whole.begin(), whole.end(), own.get());
    const std::span<std::byte> bytes(own.get(), whole.size());
    AnyFilter f = sample::must(AnyFilter::view(bytes));
    scribble(bytes.subspan(file_detail::kHeaderBytes), pattern, 1);
    const auto copy = f.clone();
    if (copy) query(*copy, texts_);
    std::uint64_t damaged = 0, changes = 0;
    for (const Digest& d : sample::numbers(0, 200)) {
      const Outcome inserted = f.insert(d), erased = f.erase(d), adapted = f.adapt(d, 1);
      for (const Outcome o : {inserted, erased, adapted})
        damaged += o == Outcome::damaged, changes += o != Outcome::unsupported && o != Outcome::no_key_file;
      if (inserted) ASSERT_TRUE(erased || adapted || f.may_contain(d));
    }
    EXPECT_TRUE(damaged == 0 || damaged == changes) << "it is one filter";
    if (changes > 0) EXPECT_EQ(damaged == 0, copy.has_value());
    query(f, texts_);
  }
}

TEST_P(AnOverwrittenFile, IsQueriedWhereItIsMapped) {
  const AlarmClock clock;
  const std::string path =
      (std::filesystem::temp_directory_path() / ("naysay-overwritten-" + std::to_string(::getpid()) + ".nsy")).string();
  for (const Pattern pattern : kPatterns) {
    const auto saved = filter_->save(path);
    ASSERT_TRUE(saved) << saved.error().message;
    const AnyFilter f = sample::must(open(path));
    auto whole = filter_->to_bytes();
    const std::span<std::byte> payload = std::span(whole).subspan(file_detail::kHeaderBytes);
    scribble(payload, pattern, 7);
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::pwrite(file, payload.data(), payload.size(), file_detail::kHeaderBytes),
              static_cast<ssize_t>(payload.size()));
    ::close(file);
    query(f, texts_);
  }
  std::filesystem::remove(path);
}

NAYSAY_FOR_FILTERS(AnOverwrittenFile, true);

}  // namespace
}  // namespace naysay
