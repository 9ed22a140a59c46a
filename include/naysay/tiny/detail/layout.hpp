// SPDX-License-Identifier: Apache-2.0
// Layout: what the bytes of a tiny filter mean. Builder and query read them through this one description.
//
//   byte 0   seed      which of 256 hash functions
//   byte 1   shape     planes per slot, in eighths: m = about 8 B / shape slots share the B bits that follow
//   rest     B bits    plane 0: one bit for each of the m slots; plane 1: the same; ...; plane p - 1
//                      the partial plane: one bit for each of the first `extra` slots
//
//   m = floor(B floor(2^35 / shape) / 2^32), p = floor(shape / 8), extra = min(B - p m, m)
//
//                slots      0 ............................ m-1
//                plane 0    b b b b b b b b b b b b b b b b b
//                plane 1    b b b b b b b b b b b b b b b b b
//                partial    b b b b b b               extra = 6
//
// A key has a row: a window of w = min(57, m) slots that begins at slot s, and of these slots, the set c that belongs to
// the key. In plane j the bits of the slots in c must add up (modulo 2) to bit j of the key's fingerprint f. A window of
// 57 bits is the widest that one unaligned load of 8 bytes brings, wherever it begins.
//
// A key is deep if it has an equation in the partial plane too; then its row lies within the first `extra` slots.
// Those keys are deep whose row happens to lie there. With few slots (m <= 114) hardly any does, because nearly every row
// reaches over nearly all slots; there a hash makes `deep` of m keys deep, and their rows are laid into the first `extra`
// slots. `deep` is a little less than extra, so that the deep keys nearly always find a slot each.
//
// Promises   whatever the bytes are, Layout is either not valid() or names bits inside them: no query reads outside of
//            the bytes, and no shift is as wide as its word.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "naysay/core/hash.hpp"

namespace naysay::tiny::detail {

inline constexpr std::size_t kHeaderBytes = 2;
inline constexpr std::size_t kMinBytes = kHeaderBytes + 8;            // so that a load of 8 bytes always fits
inline constexpr std::size_t kMaxBytes = (std::size_t{1} << 26) - 1;  // so that 64 times as much fits into 32 bits
inline constexpr std::uint32_t kWindow = 57;
inline constexpr std::uint32_t kShapePerPlane = 8;
inline constexpr std::uint32_t kMinShape = kShapePerPlane, kMaxShape = 255;
inline constexpr std::uint32_t kSeeds = 256;

constexpr std::uint64_t low_bits(std::uint32_t count) noexcept {
  return (std::uint64_t{1} << count) - 1;
}  // count < 64

inline constexpr std::uint64_t kEvery16th = 0x0001000100010001u;

// 1 if x has an odd number of ones.
constexpr std::uint32_t parity(std::uint64_t x) noexcept { return static_cast<std::uint32_t>(__builtin_parityll(x)); }

// What a filter knows of a digest under one seed.
struct Row {
  std::uint64_t slots = 0;  // bit i: slot start + i belongs to the row; bit 0 is set
  std::uint32_t start = 0;
  std::uint32_t fingerprint = 0;  // bit j: what plane j must say
  std::uint32_t deep = 0;         // 1: has an equation in the partial plane
};

// 2^32 planes of `shape` eighths, rounded down: the table of what would otherwise be a division in every query.
inline constexpr auto kInverse = [] {
  std::array<std::uint64_t, kMaxShape + 1> table{};
  for (std::uint64_t shape = kMinShape; shape <= kMaxShape; ++shape)
    table[shape] = (std::uint64_t{kShapePerPlane} << 32) / shape;
  return table;
}();

struct Layout {
  std::uint32_t slots = 0;   // m; 0: these are not the bytes of a tiny filter
  std::uint32_t planes = 0;  // p, without the partial plane
  std::uint32_t extra = 0;   // slots of the partial plane
  std::uint32_t deep = 0;    // of m keys, this many are deep by hash; 0: by where their rows lie

  static constexpr Layout of(std::size_t bytes, std::uint32_t shape) noexcept {
    Layout l;
    if (bytes < kMinBytes || bytes > kMaxBytes || shape < kMinShape || shape > kMaxShape) return l;
    const std::uint64_t bits = (bytes - kHeaderBytes) * 8;
    l.slots = static_cast<std::uint32_t>(bits * kInverse[shape] >> 32);
    l.planes = shape / kShapePerPlane;
    l.extra = std::min(static_cast<std::uint32_t>(bits) - l.planes * l.slots, l.slots);
    if (l.slots <= kFewSlots) l.choose_deep();
    return l;
  }
  constexpr bool valid() const noexcept { return slots != 0; }

  constexpr Row row(Digest d, std::uint32_t seed) const noexcept {
    const std::uint64_t h = nth_hash(d, kFirstFunction + seed), g = remix64(h);
    const bool chosen = ((g & 0xffffffffu) * slots >> 32) < deep;
    const std::uint32_t span = chosen ? extra : slots, window = std::min(kWindow, span);
    Row row;
    row.start = static_cast<std::uint32_t>((g >> 32) * (span - window + 1) >> 32);
    row.slots = (h & low_bits(window)) | 1;
    row.fingerprint = static_cast<std::uint32_t>(remix64(g));  // no linear function of row.slots, or all would pass
    row.deep = chosen | ((deep == 0) & (row.start + kWindow <= extra));  // without branches: it is a coin toss
    return row;
  }

  // The share of all digests that are deep.
  constexpr double deep_share() const noexcept {
    if (deep > 0) return static_cast<double>(deep) / slots;
    return extra < kWindow ? 0 : static_cast<double>(extra - kWindow + 1) / (slots - kWindow + 1);
  }

 private:
  // By hash, unless more keys are deep by where their rows lie.
  constexpr void choose_deep() noexcept {
    const std::uint32_t cut = std::min(extra, kWindow),
                        spare = 4 + cut / 32 + (slots > kWindow ? (slots - kWindow) / 12 : 0);
    if (cut <= spare) return;
    if (extra > kWindow && (extra - kWindow + 1) * slots >= (cut - spare) * (slots - kWindow + 1)) return;
    extra = cut;
    deep = cut - spare;
  }

  static constexpr std::uint32_t kFewSlots = 2 * kWindow;
  static constexpr std::uint64_t kFirstFunction = 5000;  // apart from those that other filters and route() use
};

// The 64 bits that begin at bit `at` of the bytes; those behind their end, and up to 7 more, are 0. Requires kMinBytes.
inline std::uint64_t load_bits(std::span<const std::byte> bytes, std::uint32_t at) noexcept {
  const std::size_t byte = std::min<std::size_t>(at / 8, bytes.size() - 8);
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + byte, sizeof word);
  return word >> (at - byte * 8);
}

// The parities of the bits of four planes, that of plane k at bit 16 k: folded together, which costs less than one by
// one.
inline std::uint64_t four_parities(std::span<const std::byte> bytes, std::uint32_t at, std::uint32_t slots,
                                   std::uint64_t row) noexcept {
  const auto folded = [&](std::uint32_t from) {
    std::uint64_t x = load_bits(bytes, from) & row;
    x ^= x >> 32;
    return (x ^ x >> 16) & 0xffff;
  };
  std::uint64_t all =
      folded(at) | folded(at + slots) << 16 | folded(at + 2 * slots) << 32 | folded(at + 3 * slots) << 48;
  all ^= all >> 8;
  all ^= all >> 4;
  all ^= all >> 2;
  all ^= all >> 1;
  return all & kEvery16th;
}

// Bit k of the lowest four at bit 16 k.
constexpr std::uint64_t spread4(std::uint32_t bits) noexcept {
  return (bits & 15) * ((std::uint64_t{1} << 45) | (std::uint64_t{1} << 30) | (std::uint64_t{1} << 15) | 1) &
         kEvery16th;
}

}  // namespace naysay::tiny::detail
