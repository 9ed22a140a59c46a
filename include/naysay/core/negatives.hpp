// Negatives: known negatives that are too many to hold.
//
//   file --> 20 bytes each, cut by the top bits of hi --> read(first, last)     a range of hi at a time
//                 |
//                 +--> CostCounts                                               all of them, in a megabyte
//
// A filter that claims streams_negatives asks for the costs of all, plans, and then reads one range of digest.hi after
// the other, each about once and in ascending order. It builds the same bytes from a source as from a Workload that
// holds the same negatives, in whatever order the source gives them.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "naysay/core/filter.hpp"

namespace naysay {

// How many negatives cost about as much, and how much they cost together. Costs are sorted into classes of 1/256 of
// their binary order, so a billion of them take a megabyte.
class CostCounts {
 public:
  struct Class {
    std::uint64_t count = 0;
    double cost = 0;  // of them all
  };

  CostCounts() : classes_(std::size_t{1} << 16) {}
  // Requires cost >= 0 and finite.
  void add(float cost) noexcept {
    Class& c = classes_[std::bit_cast<std::uint32_t>(cost + 0.0f) >> kShift];
    ++c.count;
    c.cost += cost;
  }
  std::span<const Class> classes() const noexcept { return classes_; }  // the cheapest first

 private:
  static constexpr unsigned kShift = 15;  // 8 bits of exponent and 8 of mantissa are left

  std::vector<Class> classes_;
};

struct NegativeSource {
  using Take = std::function<void(std::span<const Digest> negatives, std::span<const float> costs)>;

  CostCounts costs;  // of all
  // Calls take with pieces that hold every negative with first <= hi <= last; others may be among them. costs may be
  // empty: each costs 1. The same calls give the same pieces in the same order.
  std::function<Result<Ok>(std::uint64_t first, std::uint64_t last, const Take& take)> read;

  static NegativeSource of(const Workload& w) {
    NegativeSource source;
    for (std::size_t i = 0; i < w.negatives.size(); ++i) source.costs.add(w.cost(i));
    source.read = [&w](std::uint64_t, std::uint64_t, const Take& take) -> Result<Ok> {
      take(w.negatives, w.costs);
      return Ok{};
    };
    return source;
  }
};

}  // namespace naysay
