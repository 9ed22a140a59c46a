// SPDX-License-Identifier: Apache-2.0
// Repeats: how many keys repeat another one, and how many known negatives are keys. Both are allowed, and often not meant.
//
// Of more than a million keys only a part is looked at: those whose digest begins with a number of zero bits. The same
// bits choose the negatives, so that a negative that is a key is found if it is chosen.
//
//   keys        |d d D d D d d D|     D: hi begins with `halvings` zero bits; sorted, 8 bytes each, 8 MiB at most
//   negatives   |D d d d D d|         looked up there
//
// Cost       one pass over the digests, and one binary search for each negative that is chosen.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/hash.hpp"

namespace naysay {

struct Repeats {
  std::uint64_t keys = 0;       // that repeat another one
  std::uint64_t negatives = 0;  // that are keys
  bool estimated = false;       // from a part of them
};

inline Repeats count_repeats(std::span<const Digest> keys, std::span<const Digest> negatives, unsigned threads = 1) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;  // digests that are sorted
  constexpr std::uint64_t kEach = std::uint64_t{1} << 20;  // digests that a thread looks at in one go
  unsigned halvings = 0;
  while (keys.size() >> halvings > kMost) ++halvings;
  const auto chosen = [&](Digest d) { return halvings == 0 || d.hi >> (64 - halvings) == 0; };
  const auto in_parts = [&](std::span<const Digest> all, auto&& body) {
    parallel_for((all.size() + kEach - 1) / kEach, threads, [&](std::uint64_t i) {
      body(all.subspan(i * kEach, std::min<std::uint64_t>(kEach, all.size() - i * kEach)), i);
    });
  };
  std::vector<std::vector<std::uint64_t>> found(keys.size() / kEach + 1);
  in_parts(keys, [&](std::span<const Digest> part, std::uint64_t i) {
    for (const Digest& d : part)
      if (chosen(d)) found[i].push_back(d.lo);
  });
  std::vector<std::uint64_t> seen;
  for (const auto& some : found) seen.insert(seen.end(), some.begin(), some.end());
  std::sort(seen.begin(), seen.end());
  const auto end = std::unique(seen.begin(), seen.end());
  std::atomic<std::uint64_t> both = 0;
  in_parts(negatives, [&](std::span<const Digest> part, std::uint64_t) {
    std::uint64_t some = 0;
    for (const Digest& d : part) some += chosen(d) && std::binary_search(seen.begin(), end, d.lo);
    both += some;
  });
  return {static_cast<std::uint64_t>(seen.end() - end) << halvings, both.load() << halvings, halvings > 0};
}

}  // namespace naysay
