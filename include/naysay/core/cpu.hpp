// SPDX-License-Identifier: Apache-2.0
// Cpu: which instruction set a hot loop may use, decided once at run time.
//
// A loop with vector variants is written as
//
//   bool test_scalar(...);
//   NAYSAY_TARGET("avx2") bool test_avx2(...);
//   NAYSAY_TARGET(NAYSAY_AVX512) bool test_avx512(...);
//   switch (simd()) { ... }
//
// and all variants agree bit for bit (tests compare them with ScopedSimd). Machines other than x86-64 have the scalar
// variant only; NAYSAY_X86 says whether the others exist.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#define NAYSAY_X86 1
#define NAYSAY_TARGET(isa) __attribute__((target(isa)))
#else
#define NAYSAY_X86 0
#define NAYSAY_TARGET(isa)
#endif

namespace naysay {

// Ordered: a machine that has one has all before it. `avx512` means what an Ice Lake or Zen 4 has: F, BW, DQ, VL,
// VBMI, VBMI2, VPOPCNTDQ, with AVX2, BMI1 and BMI2.
enum class Simd : std::uint8_t { scalar, avx2, avx512 };

namespace cpu_detail {
inline Simd detect() noexcept {
#if NAYSAY_X86
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
    return Simd::scalar;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq"))
    return Simd::avx512;
  return Simd::avx2;
#else
  return Simd::scalar;
#endif
}
inline std::atomic<Simd> current{detect()};
}  // namespace cpu_detail

// What this machine has.
inline Simd simd_supported() noexcept {
  static const Simd best = cpu_detail::detect();
  return best;
}

// What the hot loops use: simd_supported(), unless a test or a benchmark has lowered it.
inline Simd simd() noexcept { return cpu_detail::current.load(std::memory_order_relaxed); }

// Lowers simd() while it lives, so that variants can be compared. Process-wide; not for use while queries run.
class ScopedSimd {
 public:
  explicit ScopedSimd(Simd level) noexcept : before_(simd()) {
    cpu_detail::current.store(level < simd_supported() ? level : simd_supported(), std::memory_order_relaxed);
  }
  ~ScopedSimd() { cpu_detail::current.store(before_, std::memory_order_relaxed); }
  ScopedSimd(const ScopedSimd&) = delete;
  ScopedSimd& operator=(const ScopedSimd&) = delete;

 private:
  Simd before_;
};

}  // namespace naysay

// The target string of Simd::avx512.
#define NAYSAY_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,avx2,bmi,bmi2,popcnt"
#define NAYSAY_AVX2 "avx2,bmi,bmi2,popcnt"
