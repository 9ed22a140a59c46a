// SPDX-License-Identifier: Apache-2.0
// Bloom build: what the published learned filters, all of them made of Bloom filters, share when they are built.
//
//   workload --> Teacher --> lesson --> the filter's own plan --rate below a Bloom filter's--> the filter
//                   |                            |
//                   +-- nothing to learn from ---+-- otherwise --> a Bloom filter of the whole budget
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "naysay/bloom/bloom.hpp"
#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/scorer.hpp"

namespace naysay::learned {

// Bits of a Bloom filter for a key and a factor of two: log2(e).
inline constexpr double kBloomBitsPerHalving = 1.4426950408889634;
// What a Bloom filter has besides its bits, and what rounding up to words may cost.
inline constexpr double kBloomFixedBits = 32 + 64;

inline double bloom_rate(double bits_per_key) noexcept {
  return bits_per_key <= 0 ? 1 : bloom::fpr(bits_per_key, bloom::best_k(bits_per_key));
}

// The options for a part of a filter: it has no room to spare and reports nothing.
inline BuildOptions part_options(const BuildOptions& o) {
  BuildOptions part = o;
  part.capacity = 0;
  part.report = nullptr;
  return part;
}

// A Bloom filter of these keys, of this many bits in all.
inline Result<Bloom> bloom_of(std::span<const Digest> keys, double bits, const BuildOptions& o) {
  return Bloom::build({.keys = keys},
                      {.bits_per_key = bits / static_cast<double>(std::max<std::size_t>(keys.size(), 1))},
                      part_options(o));
}

// plan(lesson) gives a Plan with
//   rate                          on strangers like the known negatives
//   build(scorer, w, lesson, o)   the filter
//   static plain(bloom)           the filter that is nothing but this Bloom filter
template <class MakePlan>
auto build_or_bloom(const Workload& w, const BuildOptions& o, double bits_per_key, std::uint32_t log_weights,
                    std::string_view who, MakePlan&& plan) {
  using Plan = decltype(plan(std::declval<const Lesson&>()));
  using Made = decltype(Plan{}.build(Scorer{}, w, std::declval<const Lesson&>(), o));
  const double plain = bloom_rate(bits_per_key);
  double gain = 0;
  if (Teacher::can_teach(w)) {
    const Teacher teacher(w, o, who);
    const auto [lesson, best] = teacher.best(log_weights, plan);
    if (o.cancelled()) return Made(cancelled_error(who));
    gain = plain / best.rate;
    if (gain > 1) {
      const Scorer scorer{lesson.model, static_cast<float>(lesson.scores.auc())};
      Made made = best.build(scorer, w, lesson, o);
      o.say("weights", static_cast<double>(std::uint64_t{1} << lesson.model.log_weights()));
      o.say("training examples", teacher.examples());
      o.say("planning negatives", lesson.planning);
      o.say("auc on planning negatives", scorer.auc);
      o.say("planned gain over a Bloom filter", gain);
      if (made) o.say("planned stranger fpr", made->expected_fpr());
      return made;
    }
  }
  o.say("weights", 0);
  o.say("planned gain over a Bloom filter; not above 1, so this is a Bloom filter", gain);
  auto bloom = Bloom::build({.keys = w.keys}, {.bits_per_key = bits_per_key}, part_options(o));
  return bloom ? Made(Plan::plain(std::move(*bloom))) : Made(std::move(bloom).error());
}

}  // namespace naysay::learned
