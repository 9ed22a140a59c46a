// SPDX-License-Identifier: Apache-2.0
// OutsideList: a cost list as the papers' baselines keep it, next to the filter instead of in its budget.
//
//   x --> d0 d1 d2 d3 ... the digests of the costliest negatives, compared one after the other
//                ^
//                x is the third: it is tested with more_[2] functions more
//
// It knows its negatives exactly, where CostList has fingerprints. A look-up walks the whole list unless it meets x, so it
// is for comparisons only.
//
// Promises   a listed negative, and nothing else, has its number.
// Cost       a look-up compares as many digests as are listed. 136 bits per listed negative.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, V-A and V-I; M. Li et al., Seesaw Counting Filter,
//            WWW 2022, 4.4.2.
#pragma once

#include <cstdint>
#include <string>

#include "naysay/core/array.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"

namespace naysay::bloom {

class OutsideList {
 public:
  OutsideList() = default;
  explicit OutsideList(std::uint64_t listed) : digests_(listed), more_(listed) {}

  // How many a list has unless the caller says it: one negative in a thousand, as in the authors' code.
  static std::uint64_t usual(std::uint64_t negatives) noexcept { return negatives / 1000; }

  // The i-th negative of the list. Requires i below the number that the list was made for.
  void set(std::uint64_t i, Digest d, std::uint32_t more) noexcept {
    digests_.at_mut(i) = d;
    more_.at_mut(i) = static_cast<std::uint8_t>(more);
  }
  std::uint32_t more(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < digests_.size(); ++i)
      if (digests_[i] == d) return more_[i];
    return 0;
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("digests", self.digests_);
    visit("more", self.more_);
  }
  // `most`: no negative may be tested with more functions than that beyond the others.
  Result<Ok> validate(std::uint32_t most) const {
    if (digests_.size() != more_.size())
      return Error{Errc::corrupt, "cost list: " + std::to_string(digests_.size()) + " digests and " +
                                      std::to_string(more_.size()) + " numbers of functions; they must be as many"};
    for (const std::uint8_t m : more_)
      if (m > most)
        return Error{Errc::corrupt, "cost list: " + std::to_string(m) + " functions more; they must be at most " +
                                        std::to_string(most)};
    return Ok{};
  }

 private:
  Array<Digest> digests_;
  Array<std::uint8_t> more_;
};

}  // namespace naysay::bloom
