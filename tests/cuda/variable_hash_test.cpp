// SPDX-License-Identifier: Apache-2.0
// The CUDA builder: its host logic and its kernels, with an emulated device. device_test.cpp uses a real one.
#include <gtest/gtest.h>

#include "emulator.hpp"
#include "kernels.hpp"
#include "naysay/cuda/variable_hash_builder.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::numbers;

// The kernels themselves, on the CPU.
int runs = 0;
cuda::Answer run_here(const cuda::DeviceJob& job) noexcept {
  ++runs;
  return cuda::run(job, [](Digest* to, const Digest* from, std::uint64_t count) {
    std::copy_n(from, count, to);
    return true;
  });
}

constexpr cuda::Device kHere = {[]() noexcept { return 1; }, run_here};
constexpr cuda::Device kNone = {[]() noexcept { return 0; }, run_here};
constexpr cuda::Device kBroken = {[]() noexcept { return 1; },
                                  [](const cuda::DeviceJob& job) noexcept {
                                    job.spread[2][0] = 77;  // half done
                                    return cuda::Answer::failed;
                                  }};

void expect_same_bytes(const Workload& w, const VariableHash::Params& p, const BuildOptions& o = {}) {
  const auto expected = VariableHash::build(w, p, o);
  ASSERT_TRUE(expected) << expected.error().message;
  runs = 0;
  const auto f = cuda::build_variable_hash(w, p, o, kHere);
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(bytes_of(*f), bytes_of(*expected)) << w.keys.size() << " keys, effort " << to_text(p.effort);
}

TEST(CudaBuilder, GivesTheBytesOfTheCpu) {
  for (std::uint64_t n : {0u, 1u, 2u, 63u, 64u, 65u, 1200u}) {
    const auto keys = numbers(0, n);
    expect_same_bytes({.keys = keys}, {}, {.seed = 3});
  }
}
TEST(CudaBuilder, GivesThemForEveryWidthOfItsCounters) {
  // nodes of up to 240, 1008, 4080 keys and more
  const auto keys = numbers(0, 4500);
  for (std::size_t n : {200u, 900u, 3000u, 4500u})
    expect_same_bytes({.keys = std::span(keys).first(n)},
                      {.bits_per_key = 5, .keys_per_slot = 48, .functions = 1, .sector_bits = 9, .bucket_bits = 9});
}
TEST(CudaBuilder, GivesThemForEveryNumberOfSpreadFunctions) {
  const auto keys = numbers(0, 300);
  for (std::uint32_t bits : {9u, 11u, 13u, 14u})
    expect_same_bytes({.keys = keys},
                      {.bits_per_key = 6, .keys_per_slot = 12, .sector_bits = bits, .bucket_bits = bits});
}
TEST(CudaBuilder, GivesThemForEverySizeOfFunctions) {
  const auto keys = numbers(0, 150);
  for (std::uint32_t bits : {1u, 4u, 5u, 7u, 8u, 15u, 28u, 33u, 55u})
    expect_same_bytes({.keys = keys}, {.bits_per_key = 40,
                                       .keys_per_slot = std::max(1.0, bits - 3.0) * 0.8,
                                       .function_bits = bits,
                                       .functions = 3,
                                       .bucket_bits = 9});
}
TEST(CudaBuilder, BuildsOnTheCpuWhereThereIsNoDevice) {
  const auto keys = numbers(0, 3000);
  runs = 0;
  const auto f = cuda::build_variable_hash({.keys = keys}, {}, {}, kNone);
  ASSERT_TRUE(f);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(bytes_of(*f), bytes_of(*VariableHash::build({.keys = keys}, {})));
}

TEST(CudaBuilder, FallsBackToTheCpuWhenTheDeviceFails) {
  const auto keys = numbers(0, 20'000);
  Report report;
  const auto f = cuda::build_variable_hash({.keys = keys}, {}, {.report = &report}, kBroken);
  ASSERT_TRUE(f);
  EXPECT_EQ(bytes_of(*f), bytes_of(*VariableHash::build({.keys = keys}, {})));
  ASSERT_FALSE(report.lines.empty());
  EXPECT_EQ(report.lines[0].name, "built on the gpu");
  EXPECT_EQ(report.lines[0].value, 0);
}

TEST(CudaBuilder, LeavesRepeatedKeysToTheCpu) {
  for (std::size_t copies : {1u, 100u}) {  // a slot of up to 64 keys, and more
    auto keys = numbers(0, 200);
    keys.insert(keys.end(), copies, keys[17]);
    Report report;
    const auto f = cuda::build_variable_hash({.keys = keys}, {}, {.report = &report}, kHere);
    ASSERT_TRUE(f);
    EXPECT_EQ(report.lines[0].value, 0);
    EXPECT_EQ(bytes_of(*f), bytes_of(*VariableHash::build({.keys = keys}, {})));
  }
}

TEST(CudaBuilder, ChoosesByKnownNegativesAsTheCpuDoes) {
  const auto keys = numbers(0, 800), negatives = numbers(1'000'000, 800);
  expect_same_bytes({.keys = keys, .negatives = negatives}, {});
}

TEST(CudaBuilder, SaysWhatIsWrongWithParameters) {
  const auto f = cuda::build_variable_hash({}, {.function_bits = 99}, {}, kHere);
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace naysay
