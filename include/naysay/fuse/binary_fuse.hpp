// SPDX-License-Identifier: Apache-2.0
// BinaryFuse: a static filter like Xor, but smaller, because the cells of a key lie in neighbouring segments.
//
//   key --> start, anywhere in the first segments; then one cell in each of the next ones
//
//   segment   |    0    |    1    |    2    |    3    |    4    |   ...   |   s-1   |
//   key a          |---------|-------|--------|                                            "maybe" if the xor of its
//   key b                           |------|---------|--------|                            cells is its fingerprint
//
// Few keys reach the segments at the two ends, so peeling (detail/peel.hpp) begins there and runs inwards like a zip
// fastener. It succeeds at a load at which cells chosen from the whole array would no longer peel. The space at the
// ends is lost, and short segments fill unevenly; both losses shrink with n^(-1/3), which is why shards are large here.
//
//   paper                here
//   3-wise, 4-wise       arity
//   segment length       segment_: a power of two
//   capacity             the slots of a shard, see Sizes
//   fingerprint bits     the cells' width: the widest of 1 to 32 that fits the budget
//
// Promises   never denies a key it was built from. The rate is 2^-width, whatever the keys. Keys may repeat. A build of
//            any size succeeds, and the time per key does not grow with the number of keys.
// Does not   accept keys later.
// Cost       A query reads `arity` cache lines, which do not wait for each other. Space per bit of fingerprint, from a
//            million keys on: 1.07 bits with arity 4, 1.13 with arity 3 (tests/fuse/peeled_test.cpp).
// Source     T. Graf, D. Lemire: Binary Fuse Filters, 2022; the sizes are our own, see Sizes.
#pragma once

#include <cmath>

#include "naysay/fuse/detail/peel.hpp"
#include "naysay/fuse/fuse_rates.hpp"

namespace naysay {

class BinaryFuse {
 public:
  struct Params {
    double bits_per_key = 9.12;
    std::uint32_t arity = 4;  // 4 is 5 % smaller than 3 and as fast to build and to query

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("arity", self.arity);
    }
  };

  static constexpr Claims kClaims = {
      .about = "static, 1.07 times the optimal space, four parallel reads: small and fast for sets that do not change",
  };

  static double bits_per_key(double fpr) { return sizes(Params{}.arity).price * fuse::fingerprint_width(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<BinaryFuse> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (!is_arity(p.arity))
      return Error{Errc::invalid_argument, "binary-fuse: arity is " + std::to_string(p.arity) + "; it must be 3 or 4"};
    return p.arity == 3 ? build<3>(w, p, o) : build<4>(w, p, o);
  }

  [[gnu::always_inline]] bool may_contain(Digest d) const noexcept {
    const std::uint32_t segment = segment_;  // read before the branch, as in PeeledCells
    return arity_ == 3 ? cells_.may_contain(d, Segments<3>{segment}) : cells_.may_contain(d, Segments<4>{segment});
  }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    arity_ == 3 ? cells_.may_contain(keys, out, Segments<3>{segment_})
                : cells_.may_contain(keys, out, Segments<4>{segment_});
  }

  double expected_fpr() const noexcept { return std::ldexp(1.0, -static_cast<int>(cells_.width())); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("arity", self.arity_);
    visit("segment", self.segment_);
    visit("cells", self.cells_);
  }
  Result<Ok> validate() const {
    if (!is_arity(arity_))
      return Error{Errc::corrupt, "binary-fuse: arity is " + std::to_string(arity_) + "; it must be 3 or 4"};
    if (!std::has_single_bit(segment_))
      return Error{Errc::corrupt,
                   "binary-fuse: segment is " + std::to_string(segment_) + "; it must be a power of two"};
    const auto fits = [this](std::uint64_t first, std::uint32_t range) {
      return range >= 1 && range % segment_ == 0 && first % segment_ == 0;
    };
    return arity_ == 3 ? cells_.validate("binary-fuse", Segments<3>{segment_}, fits)
                       : cells_.validate("binary-fuse", Segments<4>{segment_}, fits);
  }

 private:
  // The first cell is anywhere in the first `range` cells. Each further one is in the next segment; its place in the
  // segment is that of the start, xored with bits of h. range is a multiple of the segment.
  template <unsigned Arity>
  struct Segments {
    static constexpr unsigned kArity = Arity;
    static constexpr bool kLocal = true;
    std::uint32_t segment;  // its length, a power of two

    std::uint64_t slots(std::uint32_t range) const noexcept { return range + (Arity - 1) * std::uint64_t{segment}; }
    void place(std::uint64_t h, std::uint64_t first, std::uint32_t range, std::uint64_t (&at)[Arity]) const noexcept {
      std::uint64_t from =
          first + fast_range32(static_cast<std::uint32_t>(h >> 32), range);  // first is a multiple of the segment too
      at[0] = from;
      for (unsigned i = 1; i < Arity; ++i)
        at[i] = (from += segment) ^ ((h >> (8 + kMaxLogSegment * (i - 1))) & (segment - 1));
    }
  };

  // How many slots n keys need, and how long a segment is, so that about nine attempts in ten peel. Fitted to the
  // fewest slots with which 90 % of random key sets of 2^10 to 2^20 keys peeled:
  //   slots = n (threshold + spread n^(-1/3)), in whole segments of about length * n^(2/3)
  struct Sizes {
    double threshold, spread, length;
    double price;  // slots per key at 50,000 keys and any larger number
  };
  static constexpr Sizes sizes(std::uint32_t arity) noexcept {
    return arity == 3 ? Sizes{1.095, 3.3, 0.75, 1.205} : Sizes{1.03, 3.6, 0.4, 1.14};
  }

  static bool is_arity(std::uint32_t arity) noexcept { return arity == 3 || arity == 4; }

  template <unsigned Arity>
  static Result<BinaryFuse> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const std::uint64_t n = w.keys.size(), shards = std::max<std::uint64_t>(1, (n + kShardKeys / 2) / kShardKeys);
    const Sizes s = sizes(Arity);
    const double size = static_cast<double>(std::max<std::uint64_t>(1, n / shards));
    BinaryFuse f;
    f.arity_ = Arity;
    const long log = std::lround(std::log2(s.length * std::cbrt(size * size)));
    f.segment_ = std::uint32_t{1} << std::clamp<long>(log, 2, kMaxLogSegment);
    const Segments<Arity> geometry{f.segment_};
    auto plan = fuse::PeeledCells::plan(w, shards, geometry, [&](std::uint64_t keys) {
      const double x = static_cast<double>(keys), slots = x * s.threshold + s.spread * std::cbrt(x * x);
      const double segments = std::ceil(slots / f.segment_ - kMissing);
      return static_cast<std::uint32_t>(std::max(1.0, segments - (Arity - 1))) * f.segment_;
    });
    const unsigned width = plan.widest(p.bits_per_key, n, kClaims.fixed_bits - 64);  // arity and segment
    if (width == 0)
      return Error{Errc::out_of_budget, "binary-fuse: " + rounded_text(p.bits_per_key) +
                                            " bits per key hold no fingerprints of " + std::to_string(n) +
                                            " keys; it needs " + rounded_up_text(s.price) +
                                            " for each bit of a fingerprint"};
    NAYSAY_TRY(f.cells_, fuse::PeeledCells::build("binary-fuse", w, o, std::move(plan), width, geometry));
    return f;
  }

  // So much of a segment may be missing: a shard that has a few keys more than the others is not given a whole one for it.
  static constexpr double kMissing = 1.0 / 8;
  static constexpr std::uint64_t kShardKeys = std::uint64_t{1} << 20;  // half as many need 0.7 to 1 % more slots
  static constexpr std::uint32_t kMaxLogSegment = 13;  // what kShardKeys and arity 3 need, and what h has bits for

  fuse::PeeledCells cells_;
  std::uint32_t arity_ = 4;
  std::uint32_t segment_ = 1;
};

static_assert(TunableFilter<BinaryFuse> && BatchFilter<BinaryFuse> && !DynamicFilter<BinaryFuse>);

}  // namespace naysay
