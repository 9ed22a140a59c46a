// SPDX-License-Identifier: Apache-2.0
// Trial: keys, known negatives and strangers, divided so that filters can be compared fairly.
//
//   negatives  |k n n n k n n s n n|     k: is also a key, so "maybe" is right: left out
//                  |           |
//      known negatives     strangers     a random tenth is held back and never given to a filter,
//      (with their costs)                unless the user has given strangers
//
// A filter that is given negatives may remember them. Only strangers show what it does about all others.
//
// Promises   no known negative is a key; no stranger is a key or a known negative, also when the input repeats itself.
// Cost       sorts a copy of the keys' digests, and one of the known negatives'.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/workload/random.hpp"

namespace naysay {

struct Trial {
  std::span<const Digest> keys;
  std::vector<Digest> negatives;  // known to the filters
  std::vector<float> costs;       // of the negatives, one each
  std::vector<Digest> strangers;  // not known to the filters
  bool held_back = false;         // the strangers are part of the negatives given
  std::uint64_t left_out = 0;     // negatives and strangers that were keys, strangers that were known
};

inline constexpr std::uint64_t kHeldBack = 10;  // one in this many

// Views keys; copies the rest. No strangers given: a random tenth of the negatives. Empty costs: each is 1.
inline Trial make_trial(std::span<const Digest> keys, std::span<const Digest> negatives, std::span<const float> costs,
                        std::span<const Digest> strangers, std::uint64_t seed) {
  const auto sorted = [](std::span<const Digest> of) {
    std::vector<Digest> copy(of.begin(), of.end());
    std::sort(copy.begin(), copy.end());
    return copy;
  };
  const auto has = [](const std::vector<Digest>& in, Digest d) { return std::binary_search(in.begin(), in.end(), d); };

  Trial t;
  t.keys = keys;
  t.held_back = strangers.empty();
  const std::vector<Digest> members = sorted(keys);
  Random random(seed);
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    const bool hold = t.held_back && random.below(kHeldBack) == 0;
    if (has(members, negatives[i])) {
      ++t.left_out;
    } else if (hold) {
      t.strangers.push_back(negatives[i]);
    } else {
      t.negatives.push_back(negatives[i]);
      t.costs.push_back(costs.empty() ? 1.0f : costs[i]);
    }
  }
  if (!t.held_back) t.strangers.assign(strangers.begin(), strangers.end());
  const std::vector<Digest> known = sorted(t.negatives);
  t.left_out += std::erase_if(t.strangers, [&](Digest d) { return has(members, d) || has(known, d); });
  return t;
}

}  // namespace naysay
