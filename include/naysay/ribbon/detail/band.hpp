// SPDX-License-Identifier: Apache-2.0
// Band: solves linear equations over GF(2) whose ones lie within w neighbouring columns.
//
//   slot          0 1 2 3 4 5 6 7 8        an equation starts at a slot and has w coefficients, the first a 1
//   row 1           1 . 1 1                its start is free: it becomes row 1
//   b               1 1 . 1                starts at 1 too: row 1 is added, the sum starts further right ...
//   b + row 1         1 1 .                ... and becomes row 2
//   free slots    0     3 4 ...            rows without an equation: they may hold any bit
//
// Adding equations (Gaussian elimination on the fly) leaves at most one row per slot, so the slots are computed from
// the last to the first, each from the w - 1 after it. The right-hand side is one bit for each plane; one elimination
// serves all planes. The order of the equations changes the rows, but neither which slots are free nor the solution.
//
// The solution is written interleaved, 64 slots of each plane next to each other:
//
//   block 0: plane 0, slots 0..63 | plane 1, slots 0..63 | ...    block 1: plane 0, slots 64..127 | ...
//
//   paper     here
//   w         w: 64 or 128
//   m         slots()
//   s(x)      Equation::start
//   c(x)      Equation::coefficients
//   b(x)      Equation::bits, bit j for plane j
//
// Promises   After add() returns placed or implied, every solution written satisfies that equation in every plane of
//            its mask. The same equations and free bits give the same words with every instruction set.
// Cost       A chain of dependent row additions per equation, longer as the band fills; several equations are processed
//            together, so that their reads overlap.
// Source     Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and Xor, 2021, sections 2 and 3.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "naysay/core/bits.hpp"
#include "naysay/core/cpu.hpp"

#if NAYSAY_X86
#include <immintrin.h>
#endif

namespace naysay::ribbon::detail {

template <unsigned w>
struct Coefficients {
  static_assert(w == 64 || w == 128);
  std::array<std::uint64_t, w / 64> word = {};

  // The same w coefficients, `shift` (less than 64) columns further right: one word more.
  std::array<std::uint64_t, w / 64 + 1> shifted(unsigned shift) const noexcept {
    std::array<std::uint64_t, w / 64 + 1> out;
    out[0] = word[0] << shift;
    if constexpr (w == 128) out[1] = (word[1] << shift) | ((word[0] >> 1) >> (63 - shift));
    out[w / 64] = (word[w / 64 - 1] >> 1) >> (63 - shift);
    return out;
  }
  // Those from `shift` (1 to 63) on.
  Coefficients after(unsigned shift) const noexcept {
    Coefficients out;
    out.word[0] = word[0] >> shift;
    if constexpr (w == 128) out.word = {out.word[0] | word[1] << (64 - shift), word[1] >> shift};
    return out;
  }
};

template <unsigned w>
struct Equation {
  Coefficients<w> coefficients;  // the first is 1
  std::uint32_t start;           // start + w <= slots
  std::uint32_t bits;            // the right-hand side, bit j for plane j
};

template <unsigned w>
class Band {
 public:
  enum class Fate : std::uint8_t {
    placed,   // it was stored in a free slot
    implied,  // it is a sum of earlier equations, and their bits agree
    refused,  // it is a sum of earlier equations, and their bits do not agree; nothing has changed
  };
  struct Added {
    Fate fate;
    std::uint32_t slot;  // where it is stored, if placed
  };

  // Forgets everything. Requires slots >= w.
  void reset(std::uint32_t slots) {
    assert(slots >= w);
    rows_.assign(slots, {});
    bits_.assign(slots, 0);
  }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }
  bool is_free(std::uint32_t slot) const noexcept { return rows_[slot].word[0] == 0; }
  std::uint32_t free_slots() const noexcept {
    std::uint32_t count = 0;
    for (const auto& row : rows_) count += row.word[0] == 0;
    return count;
  }

  // Only the planes in `planes` (a mask) are compared.
  Added add(const Equation<w>& e, std::uint32_t planes) noexcept {
    Lanes<1> lane(*this);
    lane.load(0, e);
    return lane.finish(0, planes);
  }

  // Adds equation(0) .. equation(count - 1). False as soon as one is refused; some of the others are added by then.
  template <class Make>
  bool add_all(std::uint32_t count, std::uint32_t planes, const Make& equation) noexcept {
    return add_any(count, planes, equation, [](std::uint32_t) {});
  }
  // The same, but all or none: if one is refused, the slots that the others used are freed again.
  template <class Make>
  bool add_group(std::uint32_t count, std::uint32_t planes, const Make& equation) {
    if (group_.size() < count) group_.resize(count);
    std::uint32_t placed = 0, *group = group_.data();
    const auto note = [&](std::uint32_t slot) { group[placed++] = slot; };
    if (add_any(count, planes, equation, note)) return true;
    for (std::uint32_t i = 0; i < placed; ++i) take_back(group[i], 0);
    return false;
  }

  // The value of a free slot: bit j for plane j.
  void set_free(std::uint32_t slot, std::uint32_t bits) noexcept {
    assert(is_free(slot));
    bits_[slot] = bits;
  }
  // Frees a slot that add() used, as if its equation had not been added. Requires that it was the last one placed, or
  // that all placed after it are taken back too.
  void take_back(std::uint32_t slot, std::uint32_t bits) noexcept {
    rows_[slot] = {};
    bits_[slot] = bits;
  }
  std::uint32_t bits(std::uint32_t slot) const noexcept { return bits_[slot]; }
  const Coefficients<w>& row(std::uint32_t slot) const noexcept { return rows_[slot]; }  // all 0 if it is free

  // Writes planes first .. first + count - 1 of the solution into blocks of `stride` words. Slot 0 is bit `phase`
  // (less than 64) of the first block; bits before it and after the last slot are written as 0.
  // Requires words_for_bits(phase + slots()) * stride words at out, of which plane j uses the word j - first.
  void solve(unsigned first, unsigned count, unsigned phase, unsigned stride, std::uint64_t* out) const noexcept {
    for (unsigned done = 0; done < count;) {
      [[maybe_unused]] const unsigned left = count - done;
#if NAYSAY_X86
      if (simd() == Simd::avx512 && left > 1) {
        const unsigned now = left < 8 ? left : 8;
        solve_avx512(first + done, now, phase, stride, out + done);
        done += now;
        continue;
      }
      if (simd() >= Simd::avx2) {
        const unsigned now = left < 4 ? 1 : 4;
        now == 4 ? solve_bmi<4>(first + done, phase, stride, out + done)
                 : solve_bmi<1>(first + done, phase, stride, out + done);
        done += now;
        continue;
      }
#endif
      solve_body<1>(first + done, phase, stride, out + done);
      ++done;
    }
  }

 private:
  // Equations processed together. With more of them the compiler runs out of registers.
  static constexpr unsigned kLanes = 4;
  static constexpr std::uint32_t kReady = 32;  // equations made together

  // `count` equations that are added together. One array for each part of them, and the rows as two pointers: GCC 12
  // keeps an array of equations in memory, and reads the pointers again after every row that it writes.
  template <unsigned count>
  struct Lanes {
    Coefficients<w>* const rows;
    std::uint32_t* const row_bits;
    std::uint64_t near[count], far[count], start[count];  // far: only if w = 128
    std::uint32_t bits[count];

    explicit Lanes(Band& band) noexcept : rows(band.rows_.data()), row_bits(band.bits_.data()) {}
    [[gnu::always_inline]] void load(unsigned l, const Equation<w>& e) noexcept {
      near[l] = e.coefficients.word[0];
      if constexpr (w == 128) far[l] = e.coefficients.word[1];
      start[l] = e.start;
      bits[l] = e.bits;
    }
    // Stores the equation if its start is free.
    [[gnu::always_inline]] bool place(unsigned l) const noexcept {
      Coefficients<w>& row = rows[start[l]];
      if (row.word[0] != 0) return false;
      row.word[0] = near[l];
      if constexpr (w == 128) row.word[1] = far[l];
      row_bits[start[l]] = bits[l];
      return true;
    }
    // Adds the row at its start, which is not free. False if nothing is left.
    [[gnu::always_inline]] bool reduce(unsigned l) noexcept {
      const Coefficients<w>& row = rows[start[l]];
      bits[l] ^= row_bits[start[l]];
      near[l] ^= row.word[0];
      if constexpr (w == 128) far[l] ^= row.word[1];
      if (near[l] == 0) [[unlikely]] {
        if (w == 64 || far[l] == 0) return false;
        const auto zeros = static_cast<unsigned>(std::countr_zero(far[l]));
        near[l] = far[l] >> zeros;
        far[l] = 0;
        start[l] += 64 + zeros;
        return true;
      }
      const auto zeros = static_cast<unsigned>(std::countr_zero(near[l]));
      near[l] >>= zeros;
      if constexpr (w == 128) {
        near[l] |= (far[l] << 1) << (63 - zeros);
        far[l] >>= zeros;
      }
      start[l] += zeros;
      return true;
    }
    // Adds rows until the equation is placed or nothing is left.
    [[gnu::always_inline]] Added finish(unsigned l, std::uint32_t planes) noexcept {
      while (!place(l))
        if (!reduce(l)) return {(bits[l] & planes) == 0 ? Fate::implied : Fate::refused, 0};
      return {Fate::placed, static_cast<std::uint32_t>(start[l])};
    }
  };

  // Calls note(slot) for each slot that it uses.
  template <class Make, class Note>
  [[gnu::always_inline]] bool add_any(std::uint32_t count, std::uint32_t planes, const Make& equation,
                                      const Note& note) noexcept {
#if NAYSAY_X86
    if (simd() >= Simd::avx2) return add_all_bmi(count, planes, equation, note);
#endif
    return add_all_body(count, planes, equation, note);
  }
  // The equations are made a few dozen at a time, so that the loop of the lanes has all registers for itself.
  template <class Make, class Note>
  [[gnu::always_inline]] bool add_all_body(std::uint32_t count, std::uint32_t planes, const Make& equation,
                                           const Note& note) noexcept {
    std::array<Equation<w>, kReady> ready;
    std::uint32_t made = 0, next = 0, end = 0;  // equations made; those that wait are ready[next] .. ready[end - 1]
    const auto make = [&]() __attribute__((always_inline)) {
      next = 0;
      for (end = 0; end < kReady && made < count; ++end, ++made) ready[end] = equation(made);
      return end != 0;
    };
    Lanes<kLanes> lanes(*this);
    const auto finish = [&](unsigned l) __attribute__((always_inline)) {
      const Added added = lanes.finish(l, planes);
      if (added.fate == Fate::placed) note(added.slot);
      return added.fate != Fate::refused;
    };
    (void)make();
    if (count < kLanes) {
      for (; next < end; ++next) {
        lanes.load(0, ready[next]);
        if (!finish(0)) return false;
      }
      return true;
    }
#pragma GCC unroll 8
    for (unsigned l = 0; l < kLanes; ++l) lanes.load(l, ready[next++]);
    while (true) {
      unsigned idle = kLanes;  // a lane that needs another equation
      while (idle == kLanes) {
#pragma GCC unroll 8
        for (unsigned l = 0; l < kLanes; ++l) {
          if (lanes.place(l)) {
            note(static_cast<std::uint32_t>(lanes.start[l]));
          } else if (lanes.reduce(l)) {
            continue;
          } else if ((lanes.bits[l] & planes) != 0) {
            return false;
          }
          if (next == end) {
            idle = l;
            break;
          }
          lanes.load(l, ready[next++]);
        }
      }
      const bool more = make();
#pragma GCC unroll 8
      for (unsigned l = 0; l < kLanes; ++l) {
        if (more && l == idle) lanes.load(l, ready[next++]);
        if (!more && l != idle && !finish(l)) return false;  // the others finish one by one
      }
      if (!more) return true;
    }
  }

  static bool parity(std::uint64_t x) noexcept { return __builtin_parityll(x); }

  // `lanes` planes together; the window of each holds the w slots after the one that is computed.
  template <unsigned lanes>
  [[gnu::always_inline]] void solve_body(unsigned first, unsigned phase, unsigned stride,
                                         std::uint64_t* out) const noexcept {
    std::array<Coefficients<w>, lanes> window{};
    const auto store = [&](std::uint64_t block, unsigned shift) {
      for (unsigned j = 0; j < lanes; ++j) out[block * stride + j] = window[j].word[0] << shift;
    };
    for (std::uint32_t i = slots(); i-- > 0;) {
      for (unsigned j = 0; j < lanes; ++j) {
        auto& x = window[j].word;
        if constexpr (w == 128) x[1] = (x[1] << 1) | (x[0] >> 63);
        x[0] <<= 1;
        std::uint64_t product = rows_[i].word[0] & x[0];
        if constexpr (w == 128) product ^= rows_[i].word[1] & x[1];
        x[0] |= ((bits_[i] >> (first + j)) ^ static_cast<std::uint64_t>(parity(product))) & 1;
      }
      if ((phase + i) % 64 == 0) store((phase + i) / 64, 0);
    }
    if (phase != 0) store(0, phase);
  }

#if NAYSAY_X86
  template <class Make, class Note>
  NAYSAY_TARGET(NAYSAY_AVX2)
  bool add_all_bmi(std::uint32_t count, std::uint32_t planes, const Make& equation, const Note& note) noexcept {
    return add_all_body(count, planes, equation, note);
  }
  template <unsigned lanes>
  NAYSAY_TARGET(NAYSAY_AVX2)
  void solve_bmi(unsigned first, unsigned phase, unsigned stride, std::uint64_t* out) const noexcept {
    solve_body<lanes>(first, phase, stride, out);
  }

  // Up to 8 planes, one in each lane of a vector.
  NAYSAY_TARGET(NAYSAY_AVX512)
  void solve_avx512(unsigned first, unsigned count, unsigned phase, unsigned stride,
                    std::uint64_t* out) const noexcept {
    constexpr __mmask8 kAll = 0xff;  // GCC 12 warns that the forms without a mask read an uninitialised vector
    const __mmask8 lanes = static_cast<__mmask8>(low_mask(count));
    const __m512i one = _mm512_set1_epi64(1);
    __m512i near = _mm512_setzero_si512(), far = near;  // slots i .. i + 63, and the 64 after them
    for (std::uint32_t i = slots(); i-- > 0;) {
      if constexpr (w == 128)
        far = _mm512_or_si512(_mm512_maskz_slli_epi64(kAll, far, 1), _mm512_maskz_srli_epi64(kAll, near, 63));
      near = _mm512_maskz_slli_epi64(kAll, near, 1);
      __m512i product = _mm512_and_si512(near, _mm512_set1_epi64(static_cast<long long>(rows_[i].word[0])));
      if constexpr (w == 128)
        product = _mm512_xor_si512(product,
                                   _mm512_and_si512(far, _mm512_set1_epi64(static_cast<long long>(rows_[i].word[1]))));
      __m512i sum = _mm512_popcnt_epi64(product);
      sum = _mm512_mask_add_epi64(sum, static_cast<__mmask8>(bits_[i] >> first), sum, one);
      near = _mm512_or_si512(near, _mm512_and_si512(sum, one));
      if ((phase + i) % 64 == 0)
        _mm512_mask_storeu_epi64(out + static_cast<std::uint64_t>((phase + i) / 64) * stride, lanes, near);
    }
    if (phase != 0)
      _mm512_mask_storeu_epi64(out, lanes,
                               _mm512_maskz_sll_epi64(kAll, near, _mm_cvtsi32_si128(static_cast<int>(phase))));
  }
#endif

  std::vector<Coefficients<w>> rows_;  // a row's first coefficient is 1, so word[0] == 0 means free
  std::vector<std::uint32_t> bits_;
  std::vector<std::uint32_t> group_;  // slots that add_group() used
};

}  // namespace naysay::ribbon::detail
