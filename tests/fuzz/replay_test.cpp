// SPDX-License-Identifier: Apache-2.0
// The fuzz bodies over the golden files, over every filter's own file, and over seeded random bytes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fuzz/bodies.hpp"
#include "hosts.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

TEST(Fuzz, TheBodiesHoldOnEveryGoldenFile) {
  for (const auto& entry : std::filesystem::directory_iterator(NAYSAY_SOURCE_DIR "/tests/golden")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    fuzz::load(bytes);
    fuzz::operate(bytes);
    fuzz::tiny_filter(bytes);
  }
}

TEST(Fuzz, TheTinyFilterHoldsOnRandomBytes) {
  sample::Words random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint8_t> bytes(random.below(900));
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
    fuzz::tiny_filter(bytes);
  }
}

TEST(Fuzz, OperationsHoldOnRandomBytesForEveryFilter) {
  sample::Words random(1);
  for (std::size_t type = 0; type < filter_types().size(); ++type)
    for (int round = 0; round < 60; ++round) {
      std::vector<std::uint8_t> bytes(random.below(600));
      for (auto& b : bytes) b = static_cast<std::uint8_t>(random.below(256));
      if (!bytes.empty()) bytes[0] = static_cast<std::uint8_t>(type);
      fuzz::operate(bytes);
    }
}

TEST(Fuzz, TheLoaderHoldsOnDamagedFilesOfEveryFilter) {
  sample::Words random(2);
  for (const FilterType& type : filter_types()) {
    const bool strings = type.claims.reads_bytes;
    const auto hosts = sample::hosts(sample::Hosts::blocked, 0, strings ? 6000 : 0),
               others = sample::hosts(sample::Hosts::popular, 0, strings ? 6000 : 0);
    const auto keys = sample::numbers(0, 40), negatives = sample::numbers(100, 40);
    const auto f = AnyFilter::build(type.name, strings ? Workload{.keys = hosts.digests,
                                                                  .negatives = others.digests,
                                                                  .key_bytes = hosts.views,
                                                                  .negative_bytes = others.views}
                                                       : Workload{.keys = keys, .negatives = negatives});
    ASSERT_TRUE(f) << f.error().message;
    for (const auto& whole : {f->to_bytes(), f->to_bare()})
      for (int round = 0; round < 200; ++round) {
        std::vector<std::uint8_t> bytes(whole.size());
        std::memcpy(bytes.data(), whole.data(), whole.size());
        for (std::uint64_t i = 0; i <= random.below(4); ++i)
          bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.below(4) == 0 ? 255 : random.below(256));
        if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
        fuzz::load(bytes);
      }
  }
}

}  // namespace
}  // namespace naysay
