// SPDX-License-Identifier: Apache-2.0
// The C API gives the same bytes and answers as C++, for every registered filter, and reads the same golden files.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "cases.hpp"
#include "naysay/naysay.h"
#include "naysay/naysay.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

struct Free {
  void operator()(naysay_filter* f) const { naysay_free(f); }
};
using Held = std::unique_ptr<naysay_filter, Free>;

int append(void* user, const void* data, std::size_t size) {
  static_cast<std::string*>(user)->append(static_cast<const char*>(data), size);
  return 0;
}
std::string bytes_of(const Held& f) {
  std::string out;
  naysay_error error;
  EXPECT_EQ(naysay_save_to(f.get(), append, &out, &error), NAYSAY_OK) << error.message;
  return out;
}
std::string bytes_of(const AnyFilter& f) {
  const auto bytes = f.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
Held must_build(std::string_view filter, naysay_keys keys, naysay_keys negatives, const float* costs = nullptr,
                std::uint64_t seed = 0, std::uint32_t threads = 1) {
  naysay_build_options options = NAYSAY_BUILD_OPTIONS;
  options.seed = seed;
  options.threads = threads;
  naysay_filter* f = nullptr;
  naysay_error error;
  EXPECT_EQ(naysay_build(std::string(filter).c_str(), keys, negatives, costs, &options, &f, &error), NAYSAY_OK)
      << error.message;
  return Held(f);
}
naysay_keys digests_of(const std::vector<Digest>& d) {
  return naysay_digests(reinterpret_cast<const std::uint64_t*>(d.data()), d.size());
}

class EveryFilterThroughC : public ::testing::TestWithParam<FilterType> {};

TEST_P(EveryFilterThroughC, HasTheGoldenBytesBuiltOpenedAndLoaded) {
  const std::string path = NAYSAY_SOURCE_DIR "/tests/golden/" + std::string(GetParam().name) + ".v" +
                           std::to_string(GetParam().format) + ".nsy";
  const auto keys = sample::numbers(0, 200), negatives = sample::numbers(1000, 200);
  const std::string golden = file_bytes(path);
  EXPECT_EQ(bytes_of(must_build(GetParam().name, digests_of(keys), digests_of(negatives), nullptr, 1)), golden);
  naysay_error error;
  naysay_filter *opened = nullptr, *loaded = nullptr;
  ASSERT_EQ(naysay_open(path.c_str(), &opened, &error), NAYSAY_OK) << error.message;
  EXPECT_EQ(bytes_of(Held(opened)), golden);
  ASSERT_EQ(naysay_load_bytes(golden.data(), golden.size(), &loaded, &error), NAYSAY_OK) << error.message;
  const Held held(loaded);
  EXPECT_EQ(bytes_of(held), golden);
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(naysay_contains_integer(loaded, i), 1);
}

TEST_P(EveryFilterThroughC, GivesTheBytesAndAnswersThatCppGives) {
  std::vector<std::string> keys, negatives;
  std::vector<float> costs;
  std::vector<std::pair<std::string, float>> costed;
  for (int i = 0; i < 3000; ++i) {
    keys.push_back("key" + std::to_string(i * i));
    negatives.push_back("negative" + std::to_string(i));
    costs.push_back(1.0f + static_cast<float>(i % 7));
    costed.emplace_back(negatives.back(), costs.back());
  }
  const auto texts = [](const std::vector<std::string>& of) {
    std::vector<naysay_text> out;
    for (const std::string& s : of) out.push_back({s.data(), s.size()});
    return out;
  };
  const auto key_texts = texts(keys), negative_texts = texts(negatives);
  const Held c = must_build(GetParam().name, naysay_texts(key_texts.data(), key_texts.size()),
                            naysay_texts(negative_texts.data(), negative_texts.size()), costs.data());
  const AnyFilter cpp = sample::must(build(GetParam().name, keys, costed));
  EXPECT_EQ(bytes_of(c), bytes_of(cpp));
  std::vector<std::uint8_t> answers(negatives.size()), expected(negatives.size());
  naysay_error error;
  ASSERT_EQ(
      naysay_contains(c.get(), naysay_texts(negative_texts.data(), negative_texts.size()), answers.data(), &error),
      NAYSAY_OK)
      << error.message;
  cpp.may_contain(negatives, expected);
  EXPECT_EQ(answers, expected);
  EXPECT_EQ(naysay_size_bits(c.get()), cpp.size_bits());
  EXPECT_EQ(naysay_expected_fpr(c.get()), cpp.expected_fpr());
  const naysay_type* type = naysay_type_of(c.get());
  EXPECT_EQ(std::strlen(naysay_type_name(type)), GetParam().name.size()) << "a NUL must follow the name";
  EXPECT_EQ(std::strlen(naysay_type_about(type)), GetParam().claims.about.size());
  EXPECT_EQ(naysay_type_id(type), GetParam().id);
}

TEST_P(EveryFilterThroughC, IsBuiltAndReadByManyThreads) {
  const auto keys = sample::numbers(0, 5000), negatives = sample::numbers(1 << 20, 5000);
  const Held f = must_build(GetParam().name, digests_of(keys), digests_of(negatives), nullptr, 0, 3);
  EXPECT_EQ(bytes_of(f), bytes_of(must_build(GetParam().name, digests_of(keys), digests_of(negatives))));
  std::atomic<std::uint64_t> denied{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      std::vector<std::uint8_t> answers(keys.size());
      if (naysay_contains(f.get(), digests_of(keys), answers.data(), nullptr) != NAYSAY_OK) ++denied;
      for (const std::uint8_t answer : answers) denied += answer != 1;
    });
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(denied, 0u);
}

NAYSAY_FOR_FILTERS(EveryFilterThroughC, true);

}  // namespace
}  // namespace naysay
