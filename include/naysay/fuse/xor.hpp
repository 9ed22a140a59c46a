// SPDX-License-Identifier: Apache-2.0
// Xor: a static filter with three cells per key. The xor of the three is the key's fingerprint.
//
//   key --> h0 h1 h2                       cells of one shard, three blocks of equal length
//            |  |  |        |. . 7 . . . .|. . . . 2 . .|. 4 . . . . .|
//            |  |  +------------------------------------------^              "maybe" if
//            |  +-------------------------------^                            7 ^ 2 ^ 4 == fingerprint(key)
//            +------------------^
//
// detail/peel.hpp finds the cell values.
//
//   paper     here
//   B         cells_, in shards of about kShardKeys keys
//   c         the cells of a shard: 1.23 n + 32 in the paper, 1.227 n + 32 here
//   h_i       Thirds::place
//   k         the cells' width: the widest of 1 to 32 bits that fits the budget
//
// Promises   never denies a key it was built from. The rate is 2^-width, whatever the keys. Keys may repeat.
// Does not   accept keys later.
// Cost       A query reads three cache lines, which do not wait for each other. 1.23 bits of space per bit of
//            fingerprint.
// Source     T. Graf, D. Lemire: Xor Filters, 2020, sections 2 and 3.
#pragma once

#include <cmath>

#include "naysay/fuse/detail/peel.hpp"
#include "naysay/fuse/fuse_rates.hpp"

namespace naysay {

class Xor {
 public:
  struct Params {
    double bits_per_key = 9.9;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
    }
  };

  static constexpr Claims kClaims = {
      .about = "static, 1.23 times the optimal space, three parallel reads; binary-fuse is smaller",
  };

  static double bits_per_key(double fpr) { return kPrice * fuse::fingerprint_width(fpr); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Xor> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const std::uint64_t n = w.keys.size(), shards = std::max<std::uint64_t>(1, (n + kShardKeys / 2) / kShardKeys);
    auto plan = fuse::PeeledCells::plan(w, shards, Thirds{}, [](std::uint64_t keys) {
      const double slots = kSlotsPerKey * static_cast<double>(keys) + kSpareSlots;
      return static_cast<std::uint32_t>(std::ceil(slots / 3));
    });
    const unsigned width = plan.widest(p.bits_per_key, n, kClaims.fixed_bits);
    if (width == 0)
      return Error{Errc::out_of_budget, "xor: " + rounded_text(p.bits_per_key) +
                                            " bits per key hold no fingerprints of " + std::to_string(n) +
                                            " keys; it needs " + rounded_up_text(kPrice) +
                                            " for each bit of a fingerprint"};
    Xor f;
    NAYSAY_TRY(f.cells_, fuse::PeeledCells::build("xor", w, o, std::move(plan), width, Thirds{}));
    return f;
  }

  [[gnu::always_inline]] bool may_contain(Digest d) const noexcept { return cells_.may_contain(d, Thirds{}); }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    cells_.may_contain(keys, out, Thirds{});
  }

  double expected_fpr() const noexcept { return std::ldexp(1.0, -static_cast<int>(cells_.width())); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("cells", self.cells_);
  }
  Result<Ok> validate() const {
    return cells_.validate("xor", Thirds{}, [](std::uint64_t, std::uint32_t range) { return range >= 1; });
  }

 private:
  // A cell of each third of the shard; range is the length of a third.
  struct Thirds {
    static constexpr unsigned kArity = 3;
    static constexpr bool kLocal = false;
    std::uint64_t slots(std::uint32_t range) const noexcept { return 3 * std::uint64_t{range}; }
    void place(std::uint64_t h, std::uint64_t first, std::uint32_t range, std::uint64_t (&at)[kArity]) const noexcept {
      at[0] = first + fast_range32(static_cast<std::uint32_t>(h >> 32), range);
      at[1] = first + range + fast_range32(static_cast<std::uint32_t>(h >> 8), range);
      // The high half of remix64(h >> 8) is that of its product.
      const std::uint64_t third = (h >> 8) * opaque(kRemixFactor) >> 32;
      at[2] = first + 2 * std::uint64_t{range} + fast_range32(static_cast<std::uint32_t>(third), range);
    }
  };

  static constexpr std::uint64_t kShardKeys = std::uint64_t{1} << 16;  // peels within a second-level cache of 1 MiB
  // The threshold is 1.222 (paper, section 2); 8 attempts in 10 peel at 10,000 keys, 19 in 20 at 60,000.
  static constexpr double kSlotsPerKey = 1.227;
  static constexpr double kSpareSlots = 32;  // paper, algorithm 2
  static constexpr double kPrice = 1.2325;   // slots per key, with the spare ones, the shards and rounding

  fuse::PeeledCells cells_;
};

static_assert(TunableFilter<Xor> && BatchFilter<Xor> && !DynamicFilter<Xor>);

}  // namespace naysay
