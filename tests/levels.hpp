// SPDX-License-Identifier: Apache-2.0
// Levels: the instruction sets as parameters of a test suite, so that each is a test of its own and one that this
// machine does not have is reported as skipped, by its name.
//
//   class RibbonAtLevel : public levels::Test {};
//   TEST_P(RibbonAtLevel, AnswersAsTheScalarCode) { ScopedSimd simd(GetParam()); ... }
//   NAYSAY_FOR_LEVELS(RibbonAtLevel);
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "naysay/core/cpu.hpp"

namespace naysay {

inline const char* name_of(Simd level) {
  switch (level) {
    case Simd::scalar:
      return "scalar";
    case Simd::avx2:
      return "avx2";
    case Simd::avx512:
      return "avx512";
  }
  return "unknown";
}
inline std::ostream& operator<<(std::ostream& out, Simd level) { return out << name_of(level); }

namespace levels {

// For the SetUp of a suite: ScopedSimd takes the best that there is for more, and the test would repeat another.
// A file that is compiled for more would use that instead.
#define NAYSAY_SKIP_WITHOUT(level)                                                                              \
  if ((level) > ::naysay::simd_supported()) GTEST_SKIP() << "this machine has no " << ::naysay::name_of(level); \
  if ((level) < ::naysay::kCompiledFor)                                                                         \
  GTEST_SKIP() << "this test is compiled for " << ::naysay::name_of(::naysay::kCompiledFor)

class Test : public ::testing::TestWithParam<Simd> {
 protected:
  void SetUp() override { NAYSAY_SKIP_WITHOUT(GetParam()); }
};

inline auto all() { return ::testing::Values(Simd::scalar, Simd::avx2, Simd::avx512); }
inline std::string name(const ::testing::TestParamInfo<Simd>& level) { return name_of(level.param); }

}  // namespace levels
}  // namespace naysay

#define NAYSAY_FOR_LEVELS(suite) INSTANTIATE_TEST_SUITE_P(Simd, suite, ::naysay::levels::all(), ::naysay::levels::name)
