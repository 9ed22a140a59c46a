// SPDX-License-Identifier: Apache-2.0
// The CUDA builder on a real device, where there is one.
#include <gtest/gtest.h>

#include "naysay/cuda/build_any.hpp"
#include "naysay/cuda/variable_hash_builder.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

using sample::bytes_of;
using sample::numbers;

TEST(CudaDevice, GivesTheBytesOfTheCpu) {
  if (cuda::devices() == 0) GTEST_SKIP() << "there is no CUDA device";
  for (std::uint64_t n : {0u, 1u, 2u, 65u, 3000u, 300'000u})
    for (Effort effort : {Effort::fast, Effort::balanced, Effort::small}) {
      const auto keys = numbers(0, n);
      const VariableHash::Params p{
          .effort = effort, .sector_bits = n > 100'000 ? 12u : 0u, .bucket_bits = n > 100'000 ? 13u : 0u};
      Report report;
      const auto f = cuda::build_variable_hash({.keys = keys}, p, {.seed = 3, .report = &report});
      ASSERT_TRUE(f) << f.error().message;
      ASSERT_EQ(report.lines[0].value, 1) << "it was not built on the GPU";
      EXPECT_EQ(bytes_of(*f), bytes_of(*VariableHash::build({.keys = keys}, p, {.seed = 3})))
          << n << " keys, effort " << to_text(effort);
    }
}

TEST(CudaDevice, BuildsAnyFilterToTheBytesOfTheCpu) {
  if (cuda::devices() == 0) GTEST_SKIP() << "there is no CUDA device";
  const auto keys = numbers(0, 3000);
  const Param params[] = {{"bits_per_key", "10"}};
  for (const char* name : {"variable-hash", "bloom"}) {
    Report report;
    const auto f = cuda::build(name, {.keys = keys}, params, {.seed = 3, .report = &report}, KeyKind::integer);
    ASSERT_TRUE(f) << f.error().message;
    const bool on_gpu = !report.lines.empty() && report.lines[0].name == "built on the gpu";
    EXPECT_EQ(on_gpu, std::string_view(name) == "variable-hash");
    EXPECT_EQ(f->to_bytes(), AnyFilter::build(name, {.keys = keys}, params, {.seed = 3}, KeyKind::integer)->to_bytes());
  }
}

TEST(CudaDevice, SeesRepeatedKeys) {
  if (cuda::devices() == 0) GTEST_SKIP() << "there is no CUDA device";
  auto keys = numbers(0, 100'000);
  keys.insert(keys.end(), 3, keys[17]);
  Report report;
  const auto f = cuda::build_variable_hash({.keys = keys}, {}, {.report = &report});
  ASSERT_TRUE(f);
  EXPECT_EQ(report.lines[0].value, 0);
  EXPECT_EQ(bytes_of(*f), bytes_of(*VariableHash::build({.keys = keys}, {})));
}

}  // namespace
}  // namespace naysay
