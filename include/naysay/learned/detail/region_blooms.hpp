// SPDX-License-Identifier: Apache-2.0
// RegionBlooms: a Bloom filter for each region of scores. The regions from blooms() on have none and accept everything.
//
//   score --> region --> its Bloom filter --> "no" | "maybe"
//                   \--> none: "maybe"
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/bloom/bloom.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/bloom_build.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/scorer.hpp"
#include "naysay/learned/regions.hpp"

namespace naysay::learned {

class RegionBlooms {
 public:
  // One filter for each region of which bits[i] > 0, in order; those that follow have none.
  static Result<RegionBlooms> build(const Workload& w, const Lesson& lesson, std::span<const Region> regions,
                                    std::span<const double> bits, const BuildOptions& o) {
    RegionBlooms f;
    f.cuts_ = Array<std::int32_t>(regions.size() - 1);
    for (std::size_t r = 0; r + 1 < regions.size(); ++r) f.cuts_.at_mut(r) = regions[r + 1].first;
    for (std::size_t r = 0; r < regions.size() && bits[r] > 0; ++r) {
      std::vector<Digest> keys;
      for (std::size_t i = 0; i < w.keys.size(); ++i)
        if (f.region_of(lesson.key_scores[i]) == r) keys.push_back(w.keys[i]);
      auto bloom = bloom_of(keys, bits[r], o);
      if (!bloom) return std::move(bloom).error();
      f.blooms_.push_back(std::move(*bloom));
    }
    return f;
  }

  // One region, of all scores.
  static RegionBlooms of(Bloom bloom) {
    RegionBlooms f;
    f.blooms_.push_back(std::move(bloom));
    return f;
  }

  std::size_t regions() const noexcept { return cuts_.size() + 1; }
  std::size_t region_of(std::int32_t score) const noexcept { return learned::region_of(cuts_, score); }
  std::int32_t cut(std::size_t i) const noexcept { return cuts_[i]; }

  bool may_contain(Digest d, std::int32_t score) const noexcept {
    const std::size_t region = region_of(score);
    return region >= blooms_.size() || blooms_[region].may_contain(d);
  }
  // Whatever the score is.
  bool may_contain(Digest d) const noexcept {
    // A region that begins at the highest number holds no string.
    if (blooms_.size() < regions() && cuts_[blooms_.size() - 1] != std::numeric_limits<std::int32_t>::max())
      return true;
    return std::any_of(blooms_.begin(), blooms_.end(), [&](const Bloom& b) { return b.may_contain(d); });
  }
  double region_fpr(std::size_t region) const noexcept {
    return region < blooms_.size() ? blooms_[region].expected_fpr() : 1;
  }
  double fpr(std::span<const Region> planned) const noexcept {
    double accepted = 0, all = 0;
    for (std::size_t r = 0; r < planned.size(); ++r) {
      accepted += planned[r].negatives * region_fpr(r);
      all += planned[r].negatives;
    }
    return all > 0 ? accepted / all : 1;
  }

  void describe(Report& to) const {
    for (std::size_t r = 0; r < regions(); ++r)
      to.add("fpr of region " + std::to_string(r) +
                 (r == 0 ? ", all lower scores" : ", scores from " + std::to_string(cuts_[r - 1]) + " on"),
             region_fpr(r));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("cuts", self.cuts_);
    visit("blooms", self.blooms_);
  }
  Result<Ok> validate(std::string_view who) const {
    if (auto ok = validate_cuts(who, cuts_, regions()); !ok) return ok;
    if (blooms_.empty() || blooms_.size() > regions())
      return Error{Errc::corrupt, std::string(who) + ": it has " + std::to_string(blooms_.size()) +
                                      " Bloom filters for " + std::to_string(regions()) +
                                      " regions; there must be at least one, and no more than regions"};
    for (const Bloom& bloom : blooms_)
      if (auto ok = bloom.validate(); !ok) return ok;
    return Ok{};
  }

 private:
  Array<std::int32_t> cuts_;
  std::vector<Bloom> blooms_;
};

}  // namespace naysay::learned
