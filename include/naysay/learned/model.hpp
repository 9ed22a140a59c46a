// SPDX-License-Identifier: Apache-2.0
// Model: a number for a string, the higher the more it looks like the keys. It is the part that learned filters share.
//
// It is a linear model over hashed pieces of the string. Every piece has a weight; the score is the sum of the weights.
//
//   "ab.cd" --> ^a ab b. .c cd d$   ^ab ab. b.c .cd cd$   last label "cd"   length 5        ^ab. ab.c b.cd .cd$
//               |   (2-grams)         (3-grams)             |                 |             |     (4-grams)
//               +--> hash --> one of the even weights <-----+-----------------+             +--> an odd weight
//                                      |                                                          |
//                    score = the sum of all of them, each -7 .. 7 <-------------------------------+
//
// The marks ^ and $ are the bytes 2 and 3. Grams are taken from the first kMaxBytes bytes; the last label is what
// follows the last dot, or the last 8 bytes if there is no dot among them; lengths from 255 on are one.
//
// One multiplication hashes the three grams of a position: the low 16, 24 and 32 bits of the product of four bytes
// depend on the first two, three and four of them alone, and the top bits of each choose a cell. A cell is a byte with
// two weights: 4-grams have the upper half, all others the lower one, so that no shift depends on the hash.
//
// Promises   the same bytes have the same score on every machine, permanently: scores are integers, and the features
//            have a version that stands in the file. Another way to take strings apart would be another version.
// Does not   normalise: "WWW.A.example" and "a.example" are different strings here, as they are for the digest.
// Cost       three reads of a table of 2^log_weights / 2 bytes for each byte of the string; no allocation.
// Source     hashed features: Weinberger et al., ICML 2009. Training: learned/detail/training.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/result.hpp"

namespace naysay::learned {

inline constexpr std::uint32_t kFeatures = 1;  // the version of for_each_feature()
inline constexpr std::size_t kMaxBytes = 255;
inline constexpr std::size_t kMaxFeatures = 3 * (kMaxBytes + 1) + 2;
inline constexpr unsigned kLeastLogWeights = 9, kMostLogWeights = 16;

// Calls even(cell) or odd(cell) for every feature of the string, in a fixed order; a cell may come twice. Its weight is
// number 2 * cell or 2 * cell + 1. The number of weights is a constant here, because shifts by constants take a third of
// the time on an x86 without BMI2.
template <unsigned log_weights, class Even, class Odd>
[[gnu::always_inline]] inline void for_each_feature(std::string_view bytes, Even&& even, Odd&& odd) noexcept {
  static_assert(log_weights >= kLeastLogWeights && log_weights <= kMostLogWeights);
  constexpr std::uint32_t kStart = 2, kEnd = 3;
  constexpr unsigned log_cells = log_weights - 1, two = 16 - log_cells, three = 24 - log_cells, four = 32 - log_cells;
  constexpr std::uint32_t mask = (std::uint32_t{1} << log_cells) - 1;
  const auto grams = [&](std::uint32_t four_bytes, int lengths) __attribute__((always_inline)) {
    const std::uint32_t product = four_bytes * 0x9e3779b1u;
    even((product >> two) & mask);
    if (lengths > 1) even((product >> three) & mask);
    if (lengths > 2) odd(product >> four);
  };
  const auto load32 = [](const char* p) {
    std::uint32_t x;
    std::memcpy(&x, p, sizeof x);
    return x;
  };

  const char* text = bytes.data();
  const std::size_t n = std::min(bytes.size(), kMaxBytes);
  if (n >= 4) {
    grams(load32(text) << 8 | kStart, 3);
    for (std::size_t i = 0; i + 4 <= n; ++i) grams(load32(text + i), 3);
    const std::uint32_t last = load32(text + n - 4);
    grams(last >> 8 | kEnd << 24, 3);
    grams(last >> 16 | kEnd << 16, 2);
    grams(last >> 24 | kEnd << 8, 1);
  } else {
    std::uint64_t padded = kStart;
    for (std::size_t i = 0; i < n; ++i) padded |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i + 8);
    padded |= std::uint64_t{kEnd} << (8 * n + 8);
    for (std::size_t i = 0; i <= n; ++i)
      grams(static_cast<std::uint32_t>(padded >> (8 * i)), static_cast<int>(std::min<std::size_t>(n - i, 2)) + 1);
  }

  // The last 8 bytes, the last of them on top; a shorter string has zeros below.
  std::uint64_t tail = 0;
  const std::size_t whole = bytes.size();
  if (whole >= 8)
    tail = load_u64(text + whole - 8);
  else
    for (std::size_t i = 0; i < whole; ++i)
      tail |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (8 - whole + i));
  constexpr std::uint64_t kDots = 0x2e2e2e2e2e2e2e2eu, kLow = 0x7f7f7f7f7f7f7f7fu;
  const std::uint64_t other = tail ^ kDots;                              // a byte of it is 0 where there is a dot
  const std::uint64_t dots = ~(((other & kLow) + kLow) | other | kLow);  // and here its top bit is set
  const auto label_bits = static_cast<unsigned>(std::countl_zero(dots));
  const std::uint64_t label = label_bits == 0 ? 0 : tail >> (64 - label_bits);
  even(static_cast<std::uint32_t>((label * 0xd6e8feb86659fd93u + 0xa0761d6478bd642fu) >> (64 - log_cells)));
  const std::uint64_t length = std::min<std::size_t>(whole, 255);
  even(static_cast<std::uint32_t>((length + 1) * 0xe7037ed1a0b428dbu >> (64 - log_cells)));
}

// How many features a string has: its grams, the label and the length.
constexpr std::size_t count_features(std::size_t bytes) noexcept {
  const std::size_t n = std::min(bytes, kMaxBytes);
  return n == 0 ? 3 : 3 * n + 2;
}

// Calls body.operator()<log_weights>(). Requires log_weights from kLeastLogWeights to kMostLogWeights.
template <class Body>
[[gnu::always_inline]] inline auto with_log_weights(unsigned log_weights, Body&& body) {
  switch (log_weights) {
    case 9:
      return body.template operator()<9>();
    case 10:
      return body.template operator()<10>();
    case 11:
      return body.template operator()<11>();
    case 12:
      return body.template operator()<12>();
    case 13:
      return body.template operator()<13>();
    case 14:
      return body.template operator()<14>();
    case 15:
      return body.template operator()<15>();
    default:
      return body.template operator()<16>();
  }
}

// Integers in, so that no machine's rounding takes part.
constexpr std::uint64_t square_root(std::uint64_t x) noexcept {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= x) root += bit;
  return root;
}

class Model {
 public:
  static constexpr int kMostWeight = 7;

  Model() = default;  // absent: every string has the score 0

  // Rounds weights of any scale to 4 bits. The largest is the one at 5 standard deviations of those that are not 0;
  // beyond, they are cut off. Requires a power of two of them within the bounds above.
  static Model of(std::span<const std::int32_t> weights) {
    assert(std::has_single_bit(weights.size()));
    Model m;
    m.log_weights_ = static_cast<std::uint32_t>(std::countr_zero(weights.size()));
    m.packed_ = Array<std::uint8_t>(weights.size() / 2);
    std::uint64_t squares = 0, count = 0;
    for (const std::int64_t w : weights) {
      squares += static_cast<std::uint64_t>(w * w) >> kSquareShift;
      count += w != 0;
    }
    const std::uint64_t variance = count == 0 ? 0 : squares / count;
    const auto most = static_cast<std::int64_t>(std::max<std::uint64_t>(5 * square_root(variance << kSquareShift), 1));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t size = weights[i] < 0 ? -std::int64_t{weights[i]} : weights[i];
      const std::int64_t rounded = std::min<std::int64_t>((2 * kMostWeight * size + most) / (2 * most), kMostWeight);
      const auto cell = static_cast<std::uint8_t>(kZero + (weights[i] < 0 ? -rounded : rounded));
      m.packed_.at_mut(i / 2) |= static_cast<std::uint8_t>(cell << (4 * (i % 2)));
    }
    return m;
  }

  bool is_absent() const noexcept { return packed_.empty(); }
  std::uint32_t log_weights() const noexcept { return log_weights_; }
  int weight(std::uint64_t i) const noexcept { return ((packed_[i / 2] >> (4 * (i % 2))) & 15) - kZero; }

  std::int32_t score(std::string_view bytes) const noexcept {
    if (is_absent()) return 0;
    const std::uint8_t* packed = packed_.data();
    const std::uint32_t sum = with_log_weights(log_weights_, [&]<unsigned log_weights>() {
      std::uint32_t cells = 0;
      for_each_feature<log_weights>(
          bytes, [&](std::uint32_t cell) __attribute__((always_inline)) { cells += packed[cell] & 15u; },
          [&](std::uint32_t cell) __attribute__((always_inline)) { cells += packed[cell] >> 4; });
      return cells;
    });
    return static_cast<std::int32_t>(sum) - kZero * static_cast<std::int32_t>(count_features(bytes.size()));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("features", self.features_);
    visit("log_weights", self.log_weights_);
    visit("weights", self.packed_);
  }
  Result<Ok> validate(std::string_view who) const {
    const std::string start = std::string(who) + ": ";
    if (is_absent() && log_weights_ == 0 && features_ == kFeatures) return Ok{};
    if (features_ != kFeatures)
      return Error{Errc::unsupported, start + "its model has features of version " + std::to_string(features_) +
                                          "; this naysay knows version " + std::to_string(kFeatures)};
    if (log_weights_ < kLeastLogWeights || log_weights_ > kMostLogWeights)
      return Error{Errc::corrupt, start + "log_weights is " + std::to_string(log_weights_) + "; it must be " +
                                      std::to_string(kLeastLogWeights) + " to " + std::to_string(kMostLogWeights)};
    if (packed_.size() != (std::uint64_t{1} << log_weights_) / 2)
      return Error{Errc::corrupt, start + "its model has " + std::to_string(packed_.size()) + " bytes; 2^" +
                                      std::to_string(log_weights_) + " weights take half as many as there are"};
    for (const std::uint8_t pair : packed_)
      if ((pair & 15) == 0 || pair >> 4 == 0)
        return Error{Errc::corrupt, start + "a weight of its model is -8; it must be -7 to 7"};
    return Ok{};
  }

 private:
  static constexpr int kZero = 8;              // how 0 is stored
  static constexpr unsigned kSquareShift = 8;  // 2^16 squares of up to 2^48 then fit 64 bits

  std::uint32_t features_ = kFeatures;
  std::uint32_t log_weights_ = 0;
  Array<std::uint8_t> packed_;
};

}  // namespace naysay::learned
