// SPDX-License-Identifier: Apache-2.0
// CostCurve: how the costs of the known negatives are distributed. Every planner reads it.
//
// A planner wants to know what the x costliest negatives cost together. Sorting a billion costs to answer that would be
// slow, so costs are counted in bins: the bin of a cost is the top bits of its float.
//
//   float cost   0 eeeeeeee mmmmmmm llllllllllllllll        non-negative floats are ordered as their bits are
//                  `------ bin ---'  `---- low ----'
//
//   costliest bin first:   count   4    11    230   ...      weight(x): cost of the x costliest together;
//                          weight  9.1  6.0   81.2  ...                 within a bin in proportion
//
// All costs of a bin are equal to one part in 128 (CostCounts: 256), so the error of the proportion is far below the
// accuracy to which the rates of filters are known.
//
// A curve is made from a span of costs (of), from costs that were counted one by one while they were read (CostCounts),
// or from a formula (zipf).
//
//   paper                 here
//   f(x)                  cost / weight()
//   E(psi), E(N_k)        after(samples).share, .count: what this many queries are expected to have met
//
// Promises   of() adds bins up in integers, so any number of threads gives the same curve.
// Cost       one pass over the costs; O(bins) for everything after it.
// Source     K. Deeds, B. Hentschel, S. Idreos, "Stacked Filters", PVLDB 14(4), 2020, section 2.4.2.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/hash.hpp"

namespace naysay {

// Counts costs one at a time: how many fall into each bin, and what they cost together. One megabyte at most.
class CostCounts {
 public:
  struct Class {
    std::uint64_t count = 0;
    double cost = 0;  // of them all
  };

  static constexpr unsigned kShift = 15;  // 8 bits of exponent and 8 of mantissa are left

  // Requires cost >= 0 and finite.
  void add(float cost) {
    const std::uint32_t bin = std::bit_cast<std::uint32_t>(cost + 0.0f) >> kShift;
    if (bin - first_ >= classes_.size()) make_room(bin);  // wraps for bins below the first
    Class& c = classes_[bin - first_];
    ++c.count;
    c.cost += cost;
  }
  // Costs that were counted elsewhere. The floats of a class have one exponent, so the sum of up to 2^29 of them is
  // exact, whatever the order in which they are added.
  void add(const CostCounts& other) {
    for (std::size_t i = 0; i < other.classes_.size(); ++i)
      add(other.first_ + static_cast<std::uint32_t>(i), other.classes_[i]);
  }
  // The same for one class. Requires bin < kBins.
  void add(std::uint32_t bin, const Class& more) {
    if (more.count == 0) return;
    if (bin - first_ >= classes_.size()) make_room(bin);
    classes_[bin - first_].count += more.count;
    classes_[bin - first_].cost += more.cost;
  }
  // `count` negatives with these costs. Without costs, each costs 1.
  static CostCounts of(std::span<const float> costs, std::uint64_t count, unsigned threads = 1) {
    CostCounts all;
    if (costs.empty()) {
      all.add(std::bit_cast<std::uint32_t>(1.0f) >> kShift, {count, static_cast<double>(count)});
      return all;
    }
    // Always the same parts, so that the sums are the same for any number of threads.
    constexpr std::size_t kPart = std::size_t{1} << 20;
    std::vector<CostCounts> parts((costs.size() + kPart - 1) / kPart);
    parallel_for(parts.size(), threads, [&](std::uint64_t part) {
      for (const float cost : costs.subspan(part * kPart, std::min(kPart, costs.size() - part * kPart)))
        parts[part].add(cost);
    });
    for (const CostCounts& part : parts) all.add(part);
    return all;
  }

  static constexpr std::uint32_t kBins = 1 << 16;
  std::span<const Class> classes() const noexcept { return classes_; }  // the cheapest first
  std::uint32_t first_bin() const noexcept { return first_; }           // of classes()[0]

 private:
  // Costs that are alike need few bins. A build from a few keys would spend most of its time on clearing all of them.
  void make_room(std::uint32_t bin) {
    const auto held = static_cast<std::uint32_t>(classes_.size());
    if (held == 0) first_ = bin;
    if (bin < first_) {
      const std::uint32_t more = std::min(first_, std::max(first_ - bin, held));
      classes_.insert(classes_.begin(), more, Class{});
      first_ -= more;
    } else {
      classes_.resize(std::min(kBins - first_, std::max(bin - first_ + 1, 2 * held)));
    }
  }

  std::uint32_t first_ = 0;
  std::vector<Class> classes_;
};

class CostCurve {
 public:
  CostCurve() = default;

  explicit CostCurve(const CostCounts& counts) : shift_(CostCounts::kShift) {
    for (std::size_t i = counts.classes().size(); i-- > 0;)
      if (const CostCounts::Class& c = counts.classes()[i]; c.count != 0)
        append(counts.first_bin() + static_cast<std::uint32_t>(i), static_cast<double>(c.count), c.cost);
  }

  // `count` negatives with these costs. Without costs, each costs 1.
  static CostCurve of(std::span<const float> costs, std::uint64_t count, unsigned threads = 1) {
    CostCurve curve;
    if (costs.empty()) {
      if (count != 0) curve.append(bin_of(1.0f, kLowBits), static_cast<double>(count), static_cast<double>(count));
      return curve;
    }
    struct Sum {
      std::uint64_t count = 0, low = 0;
    };
    const unsigned parts = std::max(threads, 1u);
    std::vector<std::vector<Sum>> sums(parts, std::vector<Sum>(kBins));
    parallel_for(parts, threads, [&](std::uint64_t part) {
      const std::size_t first = costs.size() * part / parts, last = costs.size() * (part + 1) / parts;
      for (float cost : costs.subspan(first, last - first)) {
        const auto bits = std::bit_cast<std::uint32_t>(cost);
        Sum& sum = sums[part][bin_of(cost, kLowBits)];
        ++sum.count;
        sum.low += bits & kLowMask;
      }
    });
    for (std::uint32_t bin = kBins; bin-- > 0;) {
      Sum sum;
      for (const auto& part : sums) sum.count += part[bin].count, sum.low += part[bin].low;
      if (sum.count == 0) continue;
      const double base = std::bit_cast<float>(bin << kLowBits);
      const double step = (std::bit_cast<float>((bin << kLowBits) + kLowMask) - base) / kLowMask;
      curve.append(bin, static_cast<double>(sum.count),
                   base * static_cast<double>(sum.count) + step * static_cast<double>(sum.low));
    }
    return curve;
  }

  // Costs 1 / rank^exponent of ranks 1..count; beyond the first thousand ranks, ranges of ranks by the
  // Euler-Maclaurin formula.
  static CostCurve zipf(double exponent, double count) {
    CostCurve curve;
    const auto integral = [&](double a, double b) {
      return std::abs(exponent - 1) < 1e-9 ? std::log(b / a)
                                           : (std::pow(b, 1 - exponent) - std::pow(a, 1 - exponent)) / (1 - exponent);
    };
    for (double rank = 1; rank <= count;) {
      const double next = std::min(count + 1, rank <= 1000 ? rank + 1 : std::floor(rank * 1.01));
      const double high = std::pow(rank, -exponent), low = std::pow(next, -exponent);
      const double weight = next - rank <= 1 ? high : integral(rank, next) + (high - low) / 2;
      curve.append(bin_of(static_cast<float>(high), kLowBits), next - rank, weight);
      rank = next;
    }
    return curve;
  }

  double count() const noexcept { return points_.empty() ? 0 : points_.back().count; }
  double weight() const noexcept { return points_.empty() ? 0 : points_.back().weight; }

  // What the x costliest cost together.
  double weight(double x) const noexcept {
    const std::size_t i = index(x);
    if (i == points_.size()) return weight();
    const Point before = i == 0 ? Point{} : points_[i - 1];
    const double part = (std::max(x, 0.0) - before.count) / (points_[i].count - before.count);
    return before.weight + part * (points_[i].weight - before.weight);
  }

  // The share of the total cost that lies beyond the x costliest.
  double tail(double x) const noexcept {
    if (!(weight() > 0) || x >= count()) return 0;
    return 1 - weight(x) / weight();
  }

  // Selects the x costliest: all negatives of the bins above one, and those of that bin whose digests, mixed, are below
  // a limit.
  struct Cut {
    std::uint32_t bin = 0;
    std::uint64_t below = ~std::uint64_t{0};
    unsigned shift = kLowBits;

    bool takes(float cost, Digest d) const noexcept {
      const std::uint32_t b = bin_of(cost, shift);
      return b > bin || (b == bin && (below == ~std::uint64_t{0} || remix64(d.hi ^ d.lo) < below));
    }
  };
  Cut cut(double x) const noexcept {
    const std::size_t i = index(x);
    if (i == points_.size()) return {.shift = shift_};
    const double before = i == 0 ? 0 : points_[i - 1].count;
    const double part = (std::max(x, 0.0) - before) / (points_[i].count - before);
    return {points_[i].bin, part >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(std::ldexp(part, 64)), shift_};
  }

  // What `samples` queries, drawn in proportion to the costs, are expected to have met: how many different negatives,
  // and the share of all later queries that is about those.
  struct Seen {
    double count = 0, share = 0;
  };
  Seen after(double samples) const noexcept {
    Seen seen;
    if (!(weight() > 0)) return seen;
    Point before;
    for (const Point& p : points_) {
      const double n = p.count - before.count, f = (p.weight - before.weight) / n / weight();
      const double met = f >= 1 ? 1 : -std::expm1(samples * std::log1p(-f));
      seen.count += n * met;
      seen.share += n * f * met;
      before = p;
    }
    return seen;
  }

 private:
  static constexpr unsigned kLowBits = 16;  // 7 bits of mantissa stay: 32,768 bins, half a megabyte per thread
  static constexpr std::uint32_t kLowMask = (1u << kLowBits) - 1;
  static constexpr std::uint32_t kBins = 1u << (31 - kLowBits);

  struct Point {  // of this bin and all costlier ones
    double count = 0, weight = 0;
    std::uint32_t bin = 0;
  };

  static std::uint32_t bin_of(float cost, unsigned shift) noexcept {
    return (std::bit_cast<std::uint32_t>(cost) & 0x7fffffffu) >> shift;
  }
  void append(std::uint32_t bin, double n, double cost) { points_.push_back({count() + n, weight() + cost, bin}); }

  // The point in which the x-th costliest lies.
  std::size_t index(double x) const noexcept {
    return static_cast<std::size_t>(
        std::lower_bound(points_.begin(), points_.end(), x, [](const Point& p, double v) { return p.count < v; }) -
        points_.begin());
  }

  std::vector<Point> points_;
  unsigned shift_ = kLowBits;  // low bits of a float that its bin leaves out
};

}  // namespace naysay
