// SPDX-License-Identifier: Apache-2.0
// absorb: how many reported negatives a filter of a given size can take in for good.
//
// Strangers that never come twice are queried until enough of them were accepted, and each that is accepted is
// reported. In the end all that were reported are queried again: absorbed is how many of them are refused.
#include <algorithm>
#include <cmath>

#include "experiments/measurement.hpp"
#include "parts/describe.hpp"

namespace naysay::cli {

namespace {

constexpr double kReportsPerKey = 3;      // more than any filter here absorbs
constexpr double kQueriesPerKey = 4'000;  // a filter that accepts fewer than one in a thousand is not filled endlessly
constexpr std::uint64_t kTrial = 500;     // reports; if it absorbs none of these, it is full

}  // namespace

Json measure_absorb(const Measurement& m) {
  auto built = m.build({.keys = m.set.keys});
  if (!built) return problem(built.error());
  AnyFilter& f = *built;
  const AttachedKeys keys(f, m.set.keys);
  const double fpr = f.expected_fpr(), n = static_cast<double>(m.set.keys.size());
  std::vector<Digest> reported;
  std::uint64_t in_vain = 0;
  for (std::uint64_t i = 0; static_cast<double>(i) < kQueriesPerKey * n && in_vain < kTrial &&
                            static_cast<double>(reported.size()) < kReportsPerKey * n;
       ++i) {
    const Digest d = digest(i, ~m.plan.seed);
    if (!f.may_contain(d)) continue;
    reported.push_back(d);
    const bool cold = m.plan.type->warming && !f.warmth().warm && f.warmth().room > 0;  // it refuses them when warm
    in_vain = f.adapt(d, 1) || cold ? 0 : in_vain + 1;
    if (!cold || !f.full()) continue;
    if (auto ok = f.warm(m.set.keys); !ok) return problem(ok.error());
  }
  const auto absorbed = static_cast<double>(
      std::count_if(reported.begin(), reported.end(), [&](const Digest& d) { return !f.may_contain(d); }));
  m.need_all_keys(f, m.set.keys);
  const double halvings = std::log2(1 / fpr);
  return {{"values",
           {{"absorbed_per_key", absorbed / n},
            {"absorbed_per_halving", absorbed / n / halvings},
            {"reported_per_key", static_cast<double>(reported.size()) / n},
            {"halvings", halvings},
            {"fpr", fpr},
            {"bits_per_key", bits_per_key(f)}}}};
}

}  // namespace naysay::cli
