// SPDX-License-Identifier: Apache-2.0
// TaughtRibbon: a ribbon that refuses every known negative, in the space of a plain one.
//
// A ribbon needs a few more slots than it has keys. The bits in the free slots are arbitrary, so the builder chooses
// them such that known negatives get a wrong answer in some plane and are refused (detail/taught_shard.hpp says how).
// If there are too many negatives for the free slots, an exact plane is added after the main planes: it has a slot for
// every key and for every negative that the main planes accept. It is read only after they said "maybe".
//
//   keys ----------+--> shards --TaughtShard--> main planes --- no ----> "no"
//   negatives -----+                |               |
//                                   | left over   maybe
//                                   |               v
//                                   +----------> exact plane (only if planned) ---> "no" | "maybe"
//
// The planner (taught_plan.hpp) chooses the planes, the free slots, the width, which negatives to teach, and whether
// the exact plane is worth its second read.
//
//   planner   here
//   p         planes of the main layout; some shards have one more, as in Ribbon
//   x         slack: slots of a shard minus its keys
//   lambda    negatives per key
//
// Promises   Never denies a key. Refuses every known negative that is not a key if the plan says so; at the default
//            budget it does for one negative per key. Otherwise it refuses the costliest. The report says how many are
//            left over and their share of the cost.
//            With exact=true it refuses every one of them, in the fewest bits that any plan finds, or the build fails.
// Does not   insert or erase keys after the build. A key that is also given as a negative is a key; the report counts
//            it as a contradiction.
// Cost       Build: one elimination per key; a sum over the slots of its window per negative, which is then tested in
//            each plane until one refuses it. Query: as in Ribbon; what the main planes accept also reads the exact
//            plane, if any.
//            Memory of a build: 16 bytes per key and 24 bytes per negative of one group of shards, and 24 bytes per
//            negative that the main planes accept, for the exact plane. Many machines: ribbon_parts.hpp.
// Source     our own; docs/taught_ribbon.md tells it as a story, taught_plan.hpp has the limit.
//
// Streaming: negatives come from a NegativeSource (core/negatives.hpp). The plan is made from its costs; then it is
// read one range of digest.hi after the other. A range is sized so that about ribbon::group_size() keys and negatives
// fall into it.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "naysay/core/filter.hpp"
#include "naysay/core/negatives.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/ribbon/detail/ribbon_query.hpp"
#include "naysay/ribbon/detail/taught_ribbon_build.hpp"
#include "naysay/ribbon/ribbon_sizes.hpp"
#include "naysay/ribbon/taught_plan.hpp"

namespace naysay {

class TaughtRibbon {
 public:
  TaughtRibbon() = default;

  struct Params {
    double bits_per_key = 10;
    std::uint32_t width = 0;  // 64: queries read less; 128: fewer slots; 0: the planner's choice
    bool exact = false;       // the fewest bits that refuse every known negative, at most bits_per_key; or no filter
    double stranger_fpr = 1;  // with exact: strangers may be accepted at this rate

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      // In a file, exact is bit 16 of the width, and the rate follows only then: other files are as they always were.
      constexpr bool from_file = std::is_same_v<V, FieldReader>;
      if constexpr (from_file || std::is_same_v<V, FieldWriter> || std::is_same_v<V, FieldPlan>) {
        std::uint32_t width_and_exact = self.width | (self.exact ? kExactBit : 0);
        visit("width", width_and_exact);
        if constexpr (from_file) {
          self.width = width_and_exact & ~kExactBit;
          self.exact = (width_and_exact & kExactBit) != 0;
        }
        if (self.exact) visit("stranger_fpr", self.stranger_fpr);
      } else {
        visit("width", self.width);
        visit("exact", self.exact);
        visit("stranger_fpr", self.stranger_fpr);
      }
    }

   private:
    static constexpr std::uint32_t kExactBit = std::uint32_t{1} << 16;
  };

  static constexpr Claims kClaims = {
      .about = "refuses every known negative in the space of a plain ribbon; static",
      .uses_negatives = true,
      .streams_negatives = true,
      .exact_on_negatives = true,
      .fixed_bits = ribbon::detail::kTaughtFixedBits,
  };

  static double bits_per_key(double fpr) {
    return ribbon::RibbonSizes(64, ribbon::RibbonFit::quick).bits_per_key(ribbon::RibbonSizes::planes_for(fpr));
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr), .width = 64}; }
  static ExpectedRates predict(const Outlook& o) {
    const CostCurve costs(o.costs);
    const auto plan =
        ribbon::plan({.keys = o.keys, .bits_per_key = o.bits_per_key, .stranger_share = o.stranger_share}, costs);
    return {plan.stranger_fpr, costs.count() == 0 ? std::nan("") : plan.known, plan.wfpr};
  }

  static Result<TaughtRibbon> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    return w.source ? build(w, p, o, *w.source) : build(w, p, o, NegativeSource::of(w, o.threads));
  }

  // The same with negatives from `negatives`; w.negatives and w.costs are not read.
  static Result<TaughtRibbon> build(const Workload& w, const Params& p, const BuildOptions& o,
                                    const NegativeSource& negatives) {
    NAYSAY_CHECK(check(p));
    const CostCurve costs(negatives.costs);
    const ribbon::TaughtTask task{.keys = static_cast<double>(w.keys.size()),
                                  .bits_per_key = p.bits_per_key,
                                  .stranger_share = w.stranger_share,
                                  .width = p.width,
                                  .stranger_fpr = p.stranger_fpr};
    if (p.exact) return build_exact(w, p, o, negatives, costs, task);
    const auto plan = ribbon::plan(task, costs);
    NAYSAY_TRY(Attempt attempt, build_plan(w, p, o, negatives, costs, plan));
    return TaughtRibbon(std::move(attempt.planes));
  }

  // Whether the parameters but for the budget make sense.
  static Result<Ok> check(const Params& p) {
    if (p.width != 0 && p.width != 64 && p.width != 128)
      return Error{Errc::invalid_argument, "taught-ribbon: width is " + std::to_string(p.width) +
                                               "; it must be 64 or 128, or 0 for the planner's choice"};
    if (!(p.stranger_fpr > 0 && p.stranger_fpr <= 1))
      return Error{Errc::invalid_argument, "taught-ribbon: stranger_fpr is " + rounded_text(p.stranger_fpr) +
                                               "; it must be more than 0 and at most 1"};
    return Ok{};
  }

  bool may_contain(Digest d) const noexcept {
    using ribbon::detail::may_contain;
    // This branch comes first because it is predictable; the answer of the main planes is not.
    if (planes_.exact.is_absent()) return may_contain(planes_.main, d);
    return (planes_.main.is_absent() || may_contain(planes_.main, d)) && may_contain(planes_.exact, d);
  }
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    using ribbon::detail::may_contain;
    if (planes_.main.is_absent()) return may_contain(planes_.exact, keys, out);
    may_contain(planes_.main, keys, out);
    if (!planes_.exact.is_absent()) query_exact(keys, out);
  }

  double expected_fpr() const noexcept { return planes_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    ribbon::detail::TaughtPlanes::fields(self.planes_, visit);
  }
  Result<Ok> validate() const {
    if (planes_.main.is_absent() && planes_.exact.is_absent())
      return Error{Errc::corrupt, "taught-ribbon: it has no shards; there must be at least one"};
    NAYSAY_CHECK(planes_.main.validate("taught-ribbon"));
    return planes_.exact.validate("taught-ribbon");
  }

 private:
  friend struct PartsOf<TaughtRibbon>;  // ribbon_parts.hpp

  struct Attempt {
    ribbon::detail::TaughtPlanes planes;
    std::uint64_t left_over = 0;
  };

  explicit TaughtRibbon(ribbon::detail::TaughtPlanes planes) : planes_(std::move(planes)) {}

  template <unsigned width>
  static Result<Attempt> build_as(const Workload& w, const Params& p, const BuildOptions& o,
                                  const NegativeSource& negatives, const CostCurve& costs,
                                  const ribbon::TaughtPlan& plan) {
    ribbon::detail::TaughtRibbonBuilder<width> builder(w, p.bits_per_key, o, negatives, costs, plan);
    Attempt built;
    NAYSAY_TRY(built.planes, builder.build());
    built.left_over = builder.left_over();
    return built;
  }
  static Result<Attempt> build_plan(const Workload& w, const Params& p, const BuildOptions& o,
                                    const NegativeSource& negatives, const CostCurve& costs,
                                    const ribbon::TaughtPlan& plan) {
    return plan.width == 64 ? build_as<64>(w, p, o, negatives, costs, plan)
                            : build_as<128>(w, p, o, negatives, costs, plan);
  }

  // Builds plans, the smallest first, until no other can be smaller than the smallest that refuses every negative. Where
  // a build costs seconds, the first one that does is enough: with that many keys what a plan expects is what it gets.
  static constexpr unsigned kMostPlans = 12, kMostBuilt = 4;
  static constexpr double kFewToTry = 1 << 22;  // keys and negatives

  static Result<TaughtRibbon> build_exact(const Workload& w, const Params& p, const BuildOptions& o,
                                          const NegativeSource& negatives, const CostCurve& costs,
                                          const ribbon::TaughtTask& task);

  // Queries the exact plane for the keys that the main planes accept, gathered so that their windows are fetched
  // together.
  void query_exact(std::span<const Digest> keys, std::uint8_t* out) const noexcept {
    constexpr std::size_t kSome = 256;
    std::array<Digest, kSome> some;
    std::array<std::size_t, kSome> where;
    std::array<std::uint8_t, kSome> answer;
    std::size_t count = 0;
    const auto query = [&] {
      ribbon::detail::may_contain(planes_.exact, std::span(some).first(count), answer.data());
      for (std::size_t i = 0; i < count; ++i) out[where[i]] = answer[i];
      count = 0;
    };
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!out[i]) continue;
      some[count] = keys[i];
      where[count++] = i;
      if (count == kSome) query();
    }
    query();
  }

  ribbon::detail::TaughtPlanes planes_;
};

inline Result<TaughtRibbon> TaughtRibbon::build_exact(const Workload& w, const Params& p, const BuildOptions& o,
                                                      const NegativeSource& negatives, const CostCurve& costs,
                                                      const ribbon::TaughtTask& task) {
  const auto plans = ribbon::complete_plans(task, costs);
  const unsigned enough = task.keys + costs.count() <= kFewToTry ? kMostBuilt : 1;
  std::optional<ribbon::detail::TaughtPlanes> best;
  Report best_report;
  std::uint64_t best_bits = UINT64_MAX, fewest_left = UINT64_MAX;
  unsigned tried = 0, built = 0;
  for (const ribbon::TaughtPlan& plan : plans) {
    if (tried == kMostPlans || built == enough || plan.bits >= static_cast<double>(best_bits)) break;
    ++tried;
    Report report;
    BuildOptions options = o;
    options.report = &report;
    auto attempt = build_plan(w, p, options, negatives, costs, plan);
    if (!attempt && attempt.error().code != Errc::build_failed) return std::move(attempt).error();
    if (!attempt) continue;
    fewest_left = std::min(fewest_left, attempt->left_over);
    if (attempt->left_over != 0) continue;
    ++built;
    if (attempt->planes.size_bits() >= best_bits) continue;
    best_bits = attempt->planes.size_bits();
    best = std::move(attempt->planes);
    best_report = std::move(report);
  }
  if (!best)
    return Error{Errc::build_failed,
                 "taught-ribbon: exact is true, but " +
                     (fewest_left == UINT64_MAX
                          ? std::string("no plan has a solution; are the digests well mixed?")
                          : std::to_string(fewest_left) + " known negatives are still accepted; try another seed")};
  const double most = std::max(64.0, p.bits_per_key * static_cast<double>(w.keys.size()));
  if (static_cast<double>(best_bits) > most + double{kClaims.fixed_bits})
    return Error{Errc::out_of_budget, "taught-ribbon: exact is true, and to refuse every known negative costs " +
                                          rounded_up_text(static_cast<double>(best_bits) / std::max(1.0, task.keys)) +
                                          " bits per key; bits_per_key is " + rounded_text(p.bits_per_key)};
  if (o.report) {
    o.report->lines.insert(o.report->lines.end(), best_report.lines.begin(), best_report.lines.end());
    o.say("plans tried", tried);
  }
  return TaughtRibbon(std::move(*best));
}

static_assert(TunableFilter<TaughtRibbon> && BatchFilter<TaughtRibbon> && PredictingFilter<TaughtRibbon>);

}  // namespace naysay
