// SPDX-License-Identifier: Apache-2.0
// CostList: for each of the costliest negatives, the number of additional hash functions to test it with.
//
//   bucket       0                                1
//           +------+------+------+------+   +------+------+------+------+
//           | a1 7 | 3c 2 |      |      |   | 5e 4 |      |      |      |      fingerprint and more; more = 0: empty
//           +------+------+------+------+   +------+------+------+------+
//                     ^
//    bucket(x) = 0, fingerprint(x) = 3c: x is tested with 2 functions more than others
//
// It holds fingerprints, so sometimes a key or a stranger has the number of a listed negative. That does no harm as
// long as inserts and queries read the same list.
//
//   paper       here
//   k_e         k + more: more = log2(cost / mean cost of those not listed), rounded, at most 15. If all are equally
//               likely to be keys that is Bruck's optimum: cost * 2^-k_e is the same for all
//   cost list   the list; its bits are part of the filter's budget
//
// Promises   a listed negative has its number, or that of a costlier one with its fingerprint, or none if its bucket
//            was full of costlier ones. Copies of a negative share a cell.
// Cost       a look-up reads one 64-bit bucket. 21 bits per listed negative.
// Source     J. Bruck, J. Gao, A. Jiang, "Weighted Bloom Filter", ISIT 2006; the fingerprints are ours.
#pragma once

#include <algorithm>
#include <cmath>

#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"

namespace naysay::bloom {

class CostList {
 public:
  static constexpr std::uint32_t kMaxMore = 15;

  CostList() = default;
  explicit CostList(std::uint64_t listed) : cells_(kBucket * buckets_for(listed), kCellBits) {}

  // The bits of a list of this many negatives.
  static std::uint64_t bits_for(std::uint64_t listed) noexcept { return kBucket * kCellBits * buckets_for(listed); }
  // How many functions more a negative of this cost gets, if those not listed cost `mean` each.
  static std::uint32_t more_for(double cost, double mean) noexcept {
    if (!(mean > 0)) return cost > 0 ? kMaxMore : 0;
    return static_cast<std::uint32_t>(
        std::clamp(std::round(std::log2(std::max(cost / mean, 1.0))), 0.0, double{kMaxMore}));
  }

  // False if its bucket is full, so add the costliest first. Requires more <= kMaxMore.
  bool add(Digest d, std::uint32_t more) noexcept {
    if (cells_.size() == 0) return false;
    if (more == 0 || this->more(d) != 0) return true;
    const Place place = of(d);
    for (std::uint64_t i = place.first; i < place.first + kBucket; ++i)
      if ((cells_.get(i) & kMaxMore) == 0) {
        cells_.set(i, place.fingerprint << kMoreBits | more);
        return true;
      }
    return false;
  }

  // How many functions more d is to be tested with.
  std::uint32_t more(Digest d) const noexcept {
    if (cells_.size() == 0) return 0;
    const Place place = of(d);
    for (std::uint64_t i = place.first; i < place.first + kBucket; ++i)
      if (const std::uint32_t c = cells_.get(i); c >> kMoreBits == place.fingerprint && (c & kMaxMore) != 0)
        return c & kMaxMore;
    return 0;
  }

  // The chance that a stranger passes its additional functions, if it passes each with probability `one`.
  double stranger_passes(double one) const noexcept {
    double spared = 0;
    for (std::uint64_t i = 0; i < cells_.size(); ++i) spared += 1 - std::pow(one, cells_.get(i) & kMaxMore);
    return cells_.size() == 0 ? 1
                              : 1 - spared / (static_cast<double>(cells_.size() / kBucket) * (1u << kFingerprintBits));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("cells", self.cells_);
  }
  Result<Ok> validate() const {
    NAYSAY_CHECK(cells_.validate());
    if (cells_.size() != 0 && (cells_.width() != kCellBits || cells_.size() % kBucket != 0))
      return Error{Errc::corrupt, "cost list: " + std::to_string(cells_.size()) + " cells of " +
                                      std::to_string(cells_.width()) +
                                      " bits; they must be whole buckets of 4 cells of 16 bits"};
    return Ok{};
  }

 private:
  // 12 bits of fingerprint: a stranger finds its own in a full bucket of four with probability 1 in 1000. 15 functions
  // more, each passed with probability 1/2, let 1 in 30,000 through. Three listed per bucket of four: one in ten finds
  // its bucket full, the cheapest.
  static constexpr unsigned kBucket = 4, kMoreBits = 4, kFingerprintBits = 12, kCellBits = kFingerprintBits + kMoreBits;
  static constexpr std::uint64_t kListedPerBucket = 3;
  static constexpr std::uint64_t kNth = 1000;  // a function of the family that no filter uses for its keys

  struct Place {
    std::uint64_t first;
    std::uint32_t fingerprint;
  };
  Place of(Digest d) const noexcept {
    const std::uint64_t hash = nth_hash(d, kNth);
    return {kBucket * fast_range(hash, cells_.size() / kBucket),
            static_cast<std::uint32_t>(hash & low_mask(kFingerprintBits))};
  }
  static std::uint64_t buckets_for(std::uint64_t listed) noexcept { return divide_up(listed, kListedPerBucket); }

  Cells cells_;
};

}  // namespace naysay::bloom
