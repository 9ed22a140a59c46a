// SPDX-License-Identifier: Apache-2.0
// BumpedLayout: a ribbon that is fuller than its equations allow, because it may give away ("bump") some of its keys.
//
// There is one band of m slots for all keys, with fewer slots than keys. A key's window of 64 slots begins at its start
// slot. The last slot of the window falls into a bucket of 128 slots, at an offset. Each bucket has a threshold of two
// bits; keys whose offset is below the level of this threshold are bumped: they are in a second, small ribbon.
//
//   hi * m  --> start (high word), rest (low word)          the place of a window depends on the key and on m only
//   x = start + 63: the last slot of the window             bucket = x / 128, offset = x % 128
//
//   thresholds  | 2 bits | 2 bits | 2 bits | ...            one per bucket, in an array of their own
//   slots       |  128   |  128   |  128   | ...  |         in blocks of 64, interleaved as in RibbonLayout
//                                                 ^ one bucket more: windows that would leave the band
//
//   threshold   0   1    2    3                             the level of a threshold
//   level       0   17   37   128
//
//   offset < level?  -- yes, 4 % --> the second ribbon, which knows the key as bumped_digest()
//                    -- no --------> coefficients lo * C | 1, bits from lo * C + rest, blocks as in RibbonLayout
//
// Keys on the left of a bucket are bumped first, because the bucket before it has filled their slots already.
//
// Fractions of a bit: the first `rich` slots have planes + 1 planes, the others have `planes`. A window that would lie
// on both sides of the border is bumped.
//
//   paper    here
//   m        slots
//   r        planes, rich
//   w        64
//   B        kBucket
//   t_B      the level of a bucket's threshold
//
// Promises   After validate() every window of every key lies inside the words.
// Cost       64 * planes bits per block of 64 slots, and 2 bits per 128 slots. A query reads one byte of the
//            thresholds (19 KB for 10 million keys) while the blocks are on their way.
// Source     Dillinger, Huebschle-Schneider, Sanders, Walzer: Fast succinct retrieval and approximate membership
//            using ribbon, 2022 (bumped ribbon retrieval).
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/ribbon/detail/band.hpp"
#include "naysay/ribbon/detail/ribbon_layout.hpp"

namespace naysay::ribbon::detail {

class BumpedLayout {
 public:
  static constexpr unsigned kWidth = 64;
  static constexpr std::uint32_t kBucket = 128;
  static constexpr unsigned kMaxPlanes = RibbonLayout::kMaxPlanes;
  static constexpr std::uint64_t kMaxSlots = 0xffffff80;  // the vector code multiplies by 32 bits
  static constexpr std::uint32_t kStep = 4 * kBucket;     // one byte of thresholds; `rich` is a multiple of it
  // The levels of the four thresholds, one byte each. The third level bumps the whole bucket.
  static constexpr std::uint32_t kLevels = 0x80251100;
  static constexpr std::uint32_t level(std::uint32_t threshold) noexcept { return (kLevels >> 8 * threshold) & 0xff; }
  static constexpr std::uint32_t kAllBumped = 3;

  struct Shape {
    std::uint64_t slots = 0;  // a multiple of kBucket, at most kMaxSlots
    unsigned planes = 0;
    std::uint64_t rich = 0;  // the first `rich` slots have one plane more; a multiple of kStep, less than slots

    std::uint64_t buckets() const noexcept { return slots / kBucket + 1; }
    std::uint64_t words() const noexcept {
      // A window that begins the last block reads the one after it. One more word, because a vector reads one plane
      // more than a poor block has.
      return RibbonLayout::poor_words(rich / 64) + (slots / 64 + 1) * planes + (rich != 0);
    }
    double mean_planes() const noexcept { return planes + static_cast<double>(rich) / static_cast<double>(slots); }
    std::uint64_t bits() const noexcept { return kScalarBits + 8 * divide_up(buckets(), 4) + 64 * words(); }
  };

  // No slots: there is no such ribbon.
  BumpedLayout() = default;
  bool is_absent() const noexcept { return slots_ == 0; }

  // Zeroed planes, and no key bumped; sparse for a filter that is built in parts.
  explicit BumpedLayout(const Shape& shape, Zeros zeros = Zeros::dense)
      : thresholds_(divide_up(shape.buckets(), 4)),
        words_(Array<std::uint64_t>::make_zeros(shape.words(), zeros)),
        slots_(shape.slots),
        rich_(shape.rich),
        planes_(shape.planes) {
    find_poor();
  }

  // Sets the threshold of a bucket, which must be 0. Buckets of one byte must not be set by two threads.
  void set_threshold(std::uint64_t bucket, std::uint32_t threshold) noexcept {
    thresholds_.at_mut(bucket / 4) |= static_cast<std::uint8_t>(threshold << bucket % 4 * 2);
  }
  std::uint32_t threshold(std::uint64_t bucket) const noexcept { return thresholds_[bucket / 4] >> bucket % 4 * 2 & 3; }
  // To be called when all thresholds are set.
  void count_kept() noexcept { kept_ = kept(); }

  std::uint64_t* block(std::uint64_t slot) noexcept {
    return words_.mutable_data() + (slot < rich_ ? 0 : poor_) + slot / 64 * planes_of(slot);
  }
  // The words of slots begin .. end - 1, both the borders of segments; and the bytes of their thresholds.
  struct PieceRange {
    std::uint64_t first = 0, last = 0;
  };
  PieceRange word_range(std::uint64_t begin, std::uint64_t end) const noexcept {
    const auto word = [&](std::uint64_t slot, bool rich) { return (rich ? 0 : poor_) + slot / 64 * (planes_ + rich); };
    if (begin == end) return {};
    return {word(begin, begin < rich_), word(end, end <= rich_)};
  }
  PieceRange threshold_range(std::uint64_t begin, std::uint64_t end) const noexcept {
    if (begin == end) return {};
    return {begin / kStep, end == slots_ ? thresholds_.size() : end / kStep};
  }
  // Sets what another layout of the same shape has there. False if it does not fit.
  bool put_words(std::uint64_t first, std::span<const std::uint64_t> words) noexcept {
    if (first > words_.size() || words.size() > words_.size() - first) return false;
    std::copy(words.begin(), words.end(), words_.mutable_data() + first);
    return true;
  }
  void put_thresholds(std::uint64_t at, std::uint8_t four) noexcept { thresholds_.at_mut(at) = four; }
  Shape shape() const noexcept { return {slots_, planes_, rich_}; }

  unsigned planes_of(std::uint64_t slot) const noexcept { return planes_ + (slot < rich_); }

  double mean_planes() const noexcept { return shape().mean_planes(); }
  // Of strangers, and of keys nearly.
  double bumped_share() const noexcept {
    return 1 - static_cast<double>(kept_.rich + kept_.poor) / static_cast<double>(slots_);
  }
  // Where the second ribbon has the rate `second`. A stranger has each start with the same probability.
  double expected_fpr(double second) const noexcept {
    const double all = static_cast<double>(slots_), poor = std::exp2(-static_cast<double>(planes_));
    return (static_cast<double>(kept_.rich) / all * 0.5 + static_cast<double>(kept_.poor) / all) * poor +
           bumped_share() * second;
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("slots", self.slots_);
    if (self.slots_ == 0) return;
    visit("rich", self.rich_);
    visit("kept_rich", self.kept_.rich);
    visit("kept_poor", self.kept_.poor);
    visit("planes", self.planes_);
    visit("thresholds", self.thresholds_);
    visit("words", self.words_);
    if constexpr (!std::is_const_v<Self>) self.find_poor();
  }

  // Checks that every window lies inside the words. Requires !is_absent().
  Result<Ok> validate(std::string_view who) const {
    const auto corrupt = [&](std::string what) {
      return Error{Errc::corrupt, std::string(who) + ": " + std::move(what)};
    };
    if (slots_ % kBucket != 0 || slots_ > kMaxSlots)
      return corrupt(std::to_string(slots_) + " slots; there must be a multiple of 128, less than 2^32");
    if (rich_ % kStep != 0 || rich_ >= slots_)
      return corrupt(std::to_string(rich_) + " of " + std::to_string(slots_) +
                     " slots are rich; they must be a multiple of 512 and fewer than all");
    if (planes_ > kMaxPlanes - (rich_ != 0))
      return corrupt(std::to_string(planes_) + " planes; there must be at most " + std::to_string(kMaxPlanes));
    const Shape own = shape();
    if (thresholds_.size() != divide_up(own.buckets(), 4) || words_.size() != own.words())
      return corrupt(std::to_string(slots_) + " slots do not make " + std::to_string(thresholds_.size()) +
                     " bytes of thresholds and " + std::to_string(words_.size()) + " words");
    if (threshold(slots_ / kBucket) != kAllBumped || (rich_ != 0 && threshold(rich_ / kBucket) != kAllBumped))
      return corrupt("windows that leave the slots are not bumped; they must be");
    if (kept() != kept_) return corrupt("the thresholds do not keep as many slots as it says");
    return Ok{};
  }

  // ---- what a query reads ----

  [[gnu::always_inline]] bool is_bumped(std::uint64_t start) const noexcept {
    const std::uint64_t x = start + (kWidth - 1);
    const std::uint32_t own = thresholds_.data()[x / kStep] >> (x >> 6 & 6) & 3;
    return x % kBucket < level(own);
  }
  unsigned most_planes() const noexcept { return planes_ + (rich_ != 0); }
  bool has_eight_planes() const noexcept { return eight_; }  // each block is a cache line

  const std::uint8_t* thresholds() const noexcept { return thresholds_.data(); }
  const std::uint64_t* words() const noexcept { return words_.data(); }
  std::size_t word_count() const noexcept { return words_.size(); }
  std::uint64_t slots() const noexcept { return slots_; }
  std::uint64_t rich_blocks() const noexcept { return rich_ / 64; }
  std::uint64_t poor() const noexcept { return poor_; }
  std::uint32_t planes() const noexcept { return planes_; }

 private:
  static constexpr std::uint64_t kScalarBits = 4 * 64 + 32;

  // Starts whose keys are not bumped, in the rich slots and in the others.
  struct Kept {
    std::uint64_t rich = 0, poor = 0;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  Kept kept() const noexcept {
    Kept count;
    for (std::uint64_t b = 0; b < slots_ / kBucket; ++b)
      (b < rich_ / kBucket ? count.rich : count.poor) +=
          kBucket - std::max(level(threshold(b)), b == 0 ? kWidth - 1 : 0);  // no window ends before slot 63
    return count;
  }
  void find_poor() noexcept {
    poor_ = RibbonLayout::poor_words(rich_ / 64);
    eight_ = planes_ == 8 && rich_ == 0;
  }

  Array<std::uint8_t> thresholds_;
  Array<std::uint64_t> words_;
  std::uint64_t slots_ = 0;
  std::uint64_t rich_ = 0;
  std::uint64_t poor_ = 0;  // block q of the others begins at word poor + q * planes
  Kept kept_;
  std::uint32_t planes_ = 0;
  bool eight_ = false;
};

// Where a key lies in a band of `slots` slots.
struct BumpedSpot {
  std::uint64_t start, rest;
};
[[gnu::always_inline]] inline BumpedSpot bumped_spot(std::uint64_t hi, std::uint64_t slots) noexcept {
  const Uint128 product = static_cast<Uint128>(hi) * slots;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

// The coefficients, before the first is made a 1, are a bijection of lo. The bits come from the upper half of a sum with
// the rest of hi: the number of slots has factors of two, so the lower bits of the rest have no information.
inline constexpr std::uint64_t kBumpedFactor = 0x9e3779b97f4a7c15u;
[[gnu::always_inline]] inline std::uint32_t bumped_bits(std::uint64_t h, std::uint64_t rest) noexcept {
  return static_cast<std::uint32_t>((h + rest) >> 32);
}

// How the second ribbon knows a key. Bumped keys are clustered in hi, and the product spreads them.
[[gnu::always_inline]] inline Digest bumped_digest(std::uint64_t lo, std::uint64_t hi) noexcept {
  return {lo, hi * 0xd6e8feb86659fd93u};
}

}  // namespace naysay::ribbon::detail
