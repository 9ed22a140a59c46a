// SPDX-License-Identifier: Apache-2.0
// Trial: keys, known negatives and strangers, divided so that filters can be compared fairly.
//
//   negatives  |k n n n k n n s n n|     k: is also a key, so "maybe" is right: left out
//                  |           |
//      known negatives     strangers     a tenth, by a hash of the key and the seed, is held back and never shown to a
//      (with their costs)                filter, unless the user brought strangers
//
// A filter that is given the negatives may remember them; only strangers show what it does about the rest. Filters that
// read bytes have one more column: `others` are strangers of another kind, strings that look like no list at all.
//
// Promises   no known negative is a key; no stranger is a key or a known negative, also when the input repeats itself.
// Cost       a DigestSet of the keys, and one of the known negatives if there are strangers; at most 2^32 - 2 of either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/detail/digest_set.hpp"
#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/filter.hpp"

namespace naysay {

struct Trial {
  std::span<const Digest> keys;
  std::vector<Digest> negatives;  // known to the filters
  std::vector<float> costs;       // of the negatives, one each
  std::vector<Digest> strangers;  // not known to them
  std::vector<Digest> made_up;    // more strangers, without strings, for filters that read none; see add_made_up()
  std::vector<Digest> others;     // strangers of another kind, if there are any
  bool held_back = false;         // the strangers were taken from the negatives
  std::uint64_t left_out = 0;     // negatives and strangers that were keys, strangers that were known

  // The strings of all of these, for filters that read bytes; else empty.
  std::span<const std::string_view> key_bytes = {};
  std::vector<std::string_view> negative_bytes = {}, stranger_bytes = {}, other_bytes = {};
};

// The strings of what make_trial() is given, one each; or none at all.
struct TrialBytes {
  std::span<const std::string_view> keys = {}, negatives = {}, strangers = {};
};

inline constexpr std::uint64_t kHeldBack = 10;  // one in this many

// Whether a negative is held back: by its digest, so that it does not matter where in the file it stands.
inline bool is_held_back(Digest d, std::uint64_t seed) noexcept {
  return fast_range(mix64(d.lo ^ mix64(seed + 0x7374726e)), kHeldBack) == 0;
}

// Views keys; copies the rest. No strangers given: a tenth of the negatives. Empty costs: each is 1.
inline Trial make_trial(std::span<const Digest> keys, std::span<const Digest> negatives, std::span<const float> costs,
                        std::span<const Digest> strangers, std::uint64_t seed, const TrialBytes& bytes = {},
                        unsigned threads = 1) {
  // The search is the long part, and any thread can do it.
  const auto are = [&](std::span<const Digest> of, auto&& is) {
    constexpr std::size_t kPart = std::size_t{1} << 16;
    std::vector<std::uint8_t> answers(of.size());
    parallel_for((of.size() + kPart - 1) / kPart, threads, [&](std::uint64_t part) {
      for (std::size_t i = part * kPart; i < std::min(of.size(), (part + 1) * kPart); ++i) answers[i] = is(of[i]);
    });
    return answers;
  };

  Trial t;
  t.keys = keys;
  t.key_bytes = bytes.keys;
  t.held_back = strangers.empty();
  const DigestSet members = DigestSet::of(keys);
  const auto add_stranger = [&](Digest d, std::span<const std::string_view> texts, std::size_t i) {
    t.strangers.push_back(d);
    if (!texts.empty()) t.stranger_bytes.push_back(texts[i]);
  };
  const std::vector<std::uint8_t> are_keys = are(negatives, [&](Digest d) { return members.contains(d); });
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    const Digest d = negatives[i];
    if (are_keys[i]) {
      ++t.left_out;
    } else if (t.held_back && is_held_back(d, seed)) {
      add_stranger(d, bytes.negatives, i);
    } else {
      t.negatives.push_back(d);
      t.costs.push_back(costs.empty() ? 1.0f : costs[i]);
      if (!bytes.negatives.empty()) t.negative_bytes.push_back(bytes.negatives[i]);
    }
  }
  if (t.held_back) return t;
  const DigestSet known = DigestSet::of(t.negatives);
  const std::vector<std::uint8_t> are_no_strangers =
      are(strangers, [&](Digest d) { return members.contains(d) || known.contains(d); });
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    if (are_no_strangers[i])
      ++t.left_out;
    else
      add_stranger(strangers[i], bytes.strangers, i);
  }
  return t;
}

// Adds those that are neither keys nor known nor strangers already.
inline void add_made_up(Trial& t, std::span<const Digest> made_up) {
  std::vector<Digest> taken(t.keys.begin(), t.keys.end());
  taken.insert(taken.end(), t.negatives.begin(), t.negatives.end());
  taken.insert(taken.end(), t.strangers.begin(), t.strangers.end());
  std::sort(taken.begin(), taken.end());
  for (const Digest& d : made_up)
    if (!std::binary_search(taken.begin(), taken.end(), d)) t.made_up.push_back(d);
}

}  // namespace naysay
