// SPDX-License-Identifier: Apache-2.0
// Part checks: what the families do alike when they build a filter in parts (core/parts.hpp).
//
// In every part table 0 has the keys of each of its shards. From these join() sees that the parts follow each other and
// hold all keys of the plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/parts.hpp"

namespace naysay {

// Refuses an input whose counts are not those of its keys: a key without a place in the counts would be written beyond
// those of its group.
inline Result<Ok> check_part_input(std::string_view who, const ShardMap& map, const PartInput& input) {
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::invalid_argument,
                 std::string(who) + ": " + what + "; count the keys of every shard of the plan"};
  };
  const std::uint64_t shards = map.size(), first = input.first, last = input.last;
  if (input.counts.size() != shards)
    return wrong("keys of " + std::to_string(input.counts.size()) + " shards are counted, and the plan has " +
                 std::to_string(shards));
  if (first > last || last > shards)
    return wrong("shards " + std::to_string(first) + " to " + std::to_string(last) + " are no range of " +
                 std::to_string(shards));
  std::vector<std::uint64_t> found(last - first);
  const HiRange own = map.range({first, last});
  for (const Digest& d : input.workload.keys)
    if (own.has(d)) ++found[map.of(d) - first];
  for (std::uint64_t s = first; s < last; ++s)
    if (found[s - first] != input.counts[s])
      return wrong("shard " + std::to_string(s) + " has " + std::to_string(found[s - first]) + " keys, and " +
                   std::to_string(input.counts[s]) + " are counted");
  return Ok{};
}

inline Error damaged_part(std::string_view who, const FilterPart& part) {
  return {Errc::corrupt, std::string(who) + ": the part of shards " + std::to_string(part.first) + " to " +
                             std::to_string(part.last) + " does not have the numbers or words that these need"};
}

// The keys of all shards. Refuses parts that do not follow each other, do not hold all shards and keys, or do not have
// this many tables and ranges of words.
inline Result<std::vector<std::uint64_t>> joined_counts(std::string_view who, std::span<const FilterPart> parts,
                                                        std::uint64_t shards, std::uint64_t keys, std::size_t tables,
                                                        std::size_t words) {
  std::vector<std::uint64_t> counts;
  std::uint64_t all = 0;
  for (const FilterPart& part : parts) {
    if (part.tables.size() != tables || part.words.size() != words || part.first != counts.size() ||
        part.last < part.first || part.tables[0].values.size() != part.last - part.first)
      return damaged_part(who, part);
    for (std::uint32_t n : part.tables[0].values) counts.push_back(n), all += n;
  }
  if (counts.size() == shards && all == keys) return counts;
  return Error{Errc::corrupt, std::string(who) + ": the parts hold " + std::to_string(counts.size()) + " shards with " +
                                  std::to_string(all) + " keys; " + std::to_string(shards) + " with " +
                                  std::to_string(keys) + " keys are planned"};
}

// For filters whose parts need nothing from each other.
inline Error no_second_round(std::string_view who) {
  return {Errc::invalid_argument, std::string(who) + ": its parts need no other round; join them"};
}

// A table of n numbers.
template <class Value>
Array<std::uint32_t> column(std::uint64_t n, Value value) {
  auto values = Array<std::uint32_t>::make_raw(n);
  for (std::uint64_t i = 0; i < n; ++i) values.at_mut(i) = static_cast<std::uint32_t>(value(i));
  return values;
}
inline PartWords copied_words(const std::uint64_t* words, std::uint64_t first, std::uint64_t last) {
  auto copy = Array<std::uint64_t>::make_raw(last - first);
  std::copy(words + first, words + last, copy.mutable_data());
  return {first, std::move(copy)};
}

}  // namespace naysay
