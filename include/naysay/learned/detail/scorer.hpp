// SPDX-License-Identifier: Apache-2.0
// Scorer: the model of a learned filter, and what was found out about it when the filter was planned.
#pragma once

#include <string>
#include <string_view>

#include "naysay/core/filter.hpp"
#include "naysay/learned/model.hpp"

namespace naysay::learned {

struct Scorer {
  Model model;
  float auc = 0;          // keys against negatives that it was not trained with
  float planned_fpr = 0;  // of the whole filter, on strangers like the known negatives

  bool is_absent() const noexcept { return model.is_absent(); }

  // The first line says how many weights there are: 0 if the filter has no model.
  void describe(Report& to) const {
    to.add("weights", is_absent() ? 0 : static_cast<double>(std::uint64_t{1} << model.log_weights()));
    to.add("model bytes", static_cast<double>(bits_of_fields(model)) / 8);
    if (is_absent()) return;
    to.add("auc on validation", auc);
    to.add("fpr on strangers like the known negatives, planned", planned_fpr);
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("model", self.model);
    visit("auc", self.auc);
    visit("planned_fpr", self.planned_fpr);
  }
  Result<Ok> validate(std::string_view who) const {
    if (auto ok = model.validate(who); !ok) return ok;
    if (!(auc >= 0 && auc <= 1) || !(planned_fpr >= 0 && planned_fpr <= 1))
      return Error{Errc::corrupt, std::string(who) + ": its auc is " + to_text(auc) + " and its planned rate " +
                                      to_text(planned_fpr) + "; both must be in [0, 1]"};
    return Ok{};
  }
};

// The region of a score: region i + 1 begins at cuts[i]. Requires that the cuts ascend.
inline std::size_t region_of(const Array<std::int32_t>& cuts, std::int32_t score) noexcept {
  std::size_t region = 0;
  for (const std::int32_t cut : cuts) region += score >= cut;
  return region;
}

inline constexpr std::uint32_t kMostRegions = 16;

// That there are `regions` regions, and that their cuts ascend.
inline Result<Ok> validate_cuts(std::string_view who, const Array<std::int32_t>& cuts, std::uint64_t regions) {
  if (regions < 1 || regions > kMostRegions || cuts.size() + 1 != regions)
    return Error{Errc::corrupt, std::string(who) + ": it has " + std::to_string(cuts.size()) + " cuts for " +
                                    std::to_string(regions) + " regions; there must be one fewer, and at most 15"};
  if (!std::is_sorted(cuts.begin(), cuts.end()))
    return Error{Errc::corrupt, std::string(who) + ": its cuts do not ascend; each must be at or above the one before"};
  return Ok{};
}

}  // namespace naysay::learned
