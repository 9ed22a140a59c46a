// SPDX-License-Identifier: Apache-2.0
// AcceptedNegative: which of the negatives given to a build the base accepts, and which cost the most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "naysay/core/filter.hpp"

namespace naysay::guarded::detail {

template <class F>
struct GuardedMerge;  // guarded_merge.hpp

// A negative and its cost; of one that was given several times, the sum, which is at most most_cost.
struct AcceptedNegative {
  Digest digest;
  float cost;
};

// Those that the base accepts, without those that are keys, sorted by digest.
template <class Base>
std::vector<AcceptedNegative> accepted_negatives(const Base& base, const Workload& w, const BuildOptions& o,
                                                 float most_cost) {
  constexpr std::size_t kPiece = 4096;
  constexpr float kIsKey = -1;
  std::vector<AcceptedNegative> out;
  std::uint8_t answers[kPiece];
  for (std::size_t at = 0; at < w.negatives.size(); at += kPiece) {
    const auto part = w.negatives.subspan(at, std::min(kPiece, w.negatives.size() - at));
    if (at % kTellEvery == 0) o.tell("guarded: querying the known negatives", at, w.negatives.size());
    naysay::may_contain(base, part, answers);
    for (std::size_t i = 0; i < part.size(); ++i)
      if (answers[i] != 0) out.push_back({part[i], std::clamp(w.cost(at + i), 0.0f, most_cost)});
  }
  const auto before = [](const AcceptedNegative& a, const AcceptedNegative& b) { return a.digest < b.digest; };
  std::stable_sort(out.begin(), out.end(), before);
  std::size_t kept = 0;
  for (const AcceptedNegative& k : out)
    if (kept != 0 && out[kept - 1].digest == k.digest)
      out[kept - 1].cost = std::min(out[kept - 1].cost + k.cost, most_cost);
    else
      out[kept++] = k;
  out.resize(kept);
  // Without those that are keys. For most keys one bit shows that they are not here.
  Array<std::uint64_t> marks(divide_up(out.size(), 4) + 1);
  const auto mark = [&](Digest d) { return fast_range(d.lo, marks.size() * 64); };
  for (const AcceptedNegative& k : out) set_bit(marks.mutable_data(), mark(k.digest));
  for (const Digest& key : w.keys)
    if (test_bit(marks.data(), mark(key)))
      if (const auto at = std::lower_bound(out.begin(), out.end(), AcceptedNegative{key, 0}, before);
          at != out.end() && at->digest == key)
        at->cost = kIsKey;
  out.erase(std::remove_if(out.begin(), out.end(), [](const AcceptedNegative& k) { return k.cost < 0; }), out.end());
  return out;
}

// The `most` costliest. Requires most < the number of negatives.
inline std::vector<Digest> costliest(const Workload& w, double most) {
  std::vector<std::uint64_t> numbers(w.negatives.size());
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  const auto costlier = [&](std::uint64_t a, std::uint64_t b) {
    return w.cost(a) > w.cost(b) || (w.cost(a) == w.cost(b) && w.negatives[a] < w.negatives[b]);
  };
  const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(numbers.begin(), end, numbers.end(), costlier);
  std::vector<Digest> digests;
  for (auto i = numbers.begin(); i != end; ++i) digests.push_back(w.negatives[*i]);
  return digests;
}

}  // namespace naysay::guarded::detail
