// SPDX-License-Identifier: Apache-2.0
// Cpu: which instruction set a hot loop may use, decided at run time, or by the compiler's flags.
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
//
// A batch and a build decide once. A query of one key is so short that the decision, and the call of a function that
// cannot be inlined, would cost as much as the query. A file that is compiled for a machine (-mavx2, -march=native)
// leaves both out: there the level is a constant, and the vector variant is inlined.
//
//   template <Simd known = kCompiledFor>
//   bool may_contain(...) { switch (simd<known>()) { ... } }
//
// The level is a template parameter because a program may link files that are compiled with different flags, this
// library among them. Each level of such a function is then a function of its own, and never replaces another when the
// program is linked. Their callers are ordinary inline functions, of which a linker keeps one: a program with a file
// that is compiled for a machine needs such a machine, as a whole.
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

// What this file is compiled for. Not inline: every file has its own. `avx2` leaves out BMI, which -mavx2 does not imply
// and every such machine has.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) &&          \
    defined(__AVX512VBMI__) && defined(__AVX512VBMI2__) && defined(__AVX512VPOPCNTDQ__) && defined(__AVX2__) && \
    defined(__BMI__) && defined(__BMI2__) && NAYSAY_X86
constexpr Simd kCompiledFor = Simd::avx512;
#elif defined(__AVX2__) && NAYSAY_X86
constexpr Simd kCompiledFor = Simd::avx2;
#else
constexpr Simd kCompiledFor = Simd::scalar;
#endif

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

// The same for code that is compiled for a machine: `known`, whatever ScopedSimd says.
template <Simd known>
[[gnu::always_inline]] inline Simd simd() noexcept {
  if constexpr (known == Simd::scalar)
    return simd();
  else
    return known;
}

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
// Of functions that need nothing of BMI, and can so be inlined where only -mavx2 is given.
#define NAYSAY_ONLY_AVX2 "avx2"
