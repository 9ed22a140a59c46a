// SPDX-License-Identifier: Apache-2.0
// What the fuzzers keep, run once: every input of tests/fuzz/corpus that needs the library alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fuzz/read_body.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

template <class Body>
void replay(const char* name, Body body) {
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(NAYSAY_SOURCE_DIR "/tests/fuzz/corpus/" + std::string(name))) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    body(bytes);
    ++inputs;
  }
  EXPECT_GT(inputs, 3) << name;
}

TEST(FuzzCorpus, HoldsForTheFiltersTheTinyFilterAndTheReaders) {
  replay("operate", [](std::span<const std::uint8_t> bytes) { fuzz::operate(bytes); });
  replay("tiny", [](std::span<const std::uint8_t> bytes) { fuzz::tiny_filter(bytes); });
  replay("read", [](std::span<const std::uint8_t> bytes) { fuzz::read_lines(bytes); });
}

TEST(Fuzz, TheReadersHoldOnRandomLines) {
  sample::Words random(4);
  constexpr std::string_view kBytes = "ab\n\r\t1.e- \0x";
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> bytes(random.below(400));
    for (auto& b : bytes) b = static_cast<std::uint8_t>(kBytes[random.below(kBytes.size())]);
    fuzz::read_lines(bytes);
  }
}

}  // namespace
}  // namespace naysay
