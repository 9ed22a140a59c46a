// SPDX-License-Identifier: Apache-2.0
// The campaign against the loader: every golden file and a small file of every filter, truncated at every byte, mutated,
// and with telling values in the place of every field, the checksum put right each time. Nothing crashes, leaves its
// memory or runs on, and what still loads answers as fuzz::exercise demands.
//
// ./dev fuzz --campaign runs all of it under ASan and UBSan; the tests run a sample.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/bodies.hpp"
#include "hosts.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

struct Counts {
  std::uint64_t files = 0, truncations = 0, mutations = 0, values = 0;
};

std::vector<std::uint8_t> bytes_of(std::span<const std::byte> whole) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(whole.data());
  return {first, first + whole.size()};
}

// All golden files, and of every filter a file of no key, one, and a few, and their bare payloads.
std::vector<std::vector<std::uint8_t>> files() {
  std::vector<std::vector<std::uint8_t>> all;
  for (const auto& entry : std::filesystem::directory_iterator(NAYSAY_SOURCE_DIR "/tests/golden")) {
    std::ifstream in(entry.path(), std::ios::binary);
    all.emplace_back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  for (const FilterType& type : filter_types())
    for (const std::uint64_t n : {0, 1, 30}) {
      const auto keys = sample::numbers(0, n), negatives = sample::numbers(100, n);
      const auto f = AnyFilter::build(type.name, {.keys = keys, .negatives = negatives}, {}, {.capacity = n + n / 2});
      if (!f) continue;
      all.push_back(bytes_of(f->to_bytes()));
      all.push_back(bytes_of(f->to_bare()));
    }
  // Whatever the order of the folder. Lengths first: GCC 12 warns where vectors are compared as they are.
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() < b.size()
                                : std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });
  return all;
}

constexpr std::uint64_t kValues[] = {0,
                                     1,
                                     2,
                                     3,
                                     63,
                                     64,
                                     65,
                                     255,
                                     0x7fff,
                                     0xffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x100000000,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xfffffffffffffff8,
                                     0xffffffffffffffff,
                                     0x7ff0000000000000,   // infinity
                                     0x7ff8000000000000};  // not a number

// One of every `sparse` attempts.
Counts run(std::uint64_t sparse, std::uint64_t mutations_of_a_file) {
  sample::Words random(16);
  Counts counts;
  const auto chosen = [&] { return sparse == 1 || random.below(sparse) == 0; };
  for (const auto& whole : files()) {
    ++counts.files;
    for (std::size_t size = 0; size <= whole.size(); ++size)
      if (chosen()) fuzz::load(std::span(whole).first(size)), ++counts.truncations;
    for (std::uint64_t i = 0; i < mutations_of_a_file; ++i) {
      if (!chosen()) continue;
      auto bytes = whole;
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
        bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.below(256));
      fuzz::load(bytes), ++counts.mutations;
    }
    // Fields lie at any multiple of 4, and most of a large file is one array.
    for (std::size_t at = 0; at + 4 <= whole.size(); at += at < 1024 ? 4 : 256)
      for (const std::uint64_t value : kValues)
        for (const std::size_t width : {4u, 8u}) {
          if (at + width > whole.size() || !chosen()) continue;
          auto bytes = whole;
          std::memcpy(bytes.data() + at, &value, width);
          fuzz::load(bytes), ++counts.values;
        }
  }
  std::printf("%" PRIu64 " files: %" PRIu64 " truncations, %" PRIu64 " mutations, %" PRIu64 " field values\n",
              counts.files, counts.truncations, counts.mutations, counts.values);
  return counts;
}

TEST(Campaign, ASampleOfItHolds) {
  ::alarm(300);
  const Counts counts = run(200, 3000);
  ::alarm(0);
  EXPECT_GT(counts.files, 3 * filter_types().size());
  EXPECT_GT(counts.truncations * counts.mutations * counts.values, 0u);
}

TEST(CampaignSlow, Holds) {
  const Counts counts = run(1, 3000);
  EXPECT_GT(counts.truncations, 100'000u);
  EXPECT_GT(counts.mutations, 285'000u);
  EXPECT_GT(counts.values, 700'000u);
}

}  // namespace
}  // namespace naysay
