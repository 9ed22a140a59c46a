// SPDX-License-Identifier: Apache-2.0
// PartsOf<VariableHash>: a variable hash filter built in parts, each from one range of regions (core/parts.hpp).
//
// The shape depends on the number of keys alone, and regions know nothing of each other, but for one number: known
// negatives are weighted by their shares of the highest cost of all.
//
//   table   one number for each
//   0       region                  its keys
//   1       node, level by level    its spread function
//   2       number from 0 to 64     slots of the part that have found this many functions
//   words   0: slot functions
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "naysay/core/detail/memory.hpp"
#include "naysay/core/detail/part_checks.hpp"
#include "naysay/core/parts.hpp"
#include "naysay/variable_hash/detail/variable_hash_build.hpp"
#include "naysay/variable_hash/variable_hash.hpp"

namespace naysay {

template <>
struct PartsOf<VariableHash> {
  using Params = VariableHash::Params;

  static Result<ShardMap> shards(const Whole& whole, const Params& p) {
    NAYSAY_TRY(const variable_hash::VariableHashShape shape, VariableHash::place(whole.keys, p));
    return ShardMap(shape.regions);
  }

  // It needs nothing from its peers.
  static Result<FilterPart> build(const Whole& whole, const PartInput& input, const Params& p, const BuildOptions& o,
                                  PartPeers*) {
    return no_memory_is_an_error(kName, [&] { return build_part(whole, input, p, o); });
  }

  static Result<VariableHash> join(const Whole& whole, std::span<const FilterPart> all, const Params& p,
                                   const BuildOptions&) {
    NAYSAY_TRY(const variable_hash::VariableHashShape shape, VariableHash::plan(whole.keys, p));
    NAYSAY_TRY(const auto counts, joined_counts(kName, all, shape.regions, whole.keys, kTables, 1));
    Table table(shape, whole.seed, Zeros::sparse);
    for (const FilterPart& part : all) {
      const Array<std::uint32_t>& numbers = part.tables[1].values;
      std::uint64_t next = 0;
      for (unsigned level = 0; level < variable_hash::kLevels; ++level) {
        if (table.log(level) == 0) continue;
        const auto [first, last] = table.nodes_of(level, part.first, part.last);
        if (numbers.size() - next < last - first) return damaged_part(kName, part);
        for (std::uint64_t at = first; at < last; ++at, ++next) {
          if (numbers[next] > 0xffff) return damaged_part(kName, part);
          table.mutable_spread(level)[at] = static_cast<std::uint16_t>(numbers[next]);
        }
      }
      if (next != numbers.size() || part.tables[2].values.size() != kFound) return damaged_part(kName, part);
      const Array<std::uint64_t>& words = part.words[0].words;
      if (words.empty()) continue;  // then others have them
      const auto range = table.words_of(part.first, part.last);
      if (part.words[0].first != range.first || words.size() != range.last - range.first)
        return damaged_part(kName, part);
      for (std::uint64_t i = 0; i < words.size(); ++i) table.mutable_functions()[range.first + i] |= words[i];
    }
    NAYSAY_CHECK(table.validate());
    return variable_hash::detail::VariableHashAccess::filter(std::move(table));
  }

  static Result<CostLimit> limit(const Whole&, std::span<const FilterPart>, const Params&, const BuildOptions&) {
    return no_second_round(kName);
  }
  static std::vector<PartPlace> places(const VariableHash& f, ShardRange range) {
    const Table& table = variable_hash::detail::VariableHashAccess::table(f);
    const auto words = table.words_of(range.first, range.last);
    return {{{table.functions(), table.function_words()}, words.first, words.last}};
  }
  static double expected_fpr(const VariableHash& f, std::span<const FilterPart> all) {
    double sum = 0;
    for (const FilterPart& part : all)
      for (std::uint64_t found = 0; found < part.tables[2].values.size(); ++found)
        sum += std::ldexp(static_cast<double>(part.tables[2].values[found]), -static_cast<int>(found));
    return sum / static_cast<double>(f.slots());
  }

 private:
  using Table = variable_hash::detail::VariableHashTable;
  static constexpr const char* kName = "variable-hash";
  static constexpr std::size_t kTables = 3, kFound = variable_hash::detail::family::kMaxFunctions + 1;

  static Result<FilterPart> build_part(const Whole& whole, const PartInput& input, const Params& p,
                                       const BuildOptions& o) {
    NAYSAY_TRY(const variable_hash::VariableHashShape shape, VariableHash::plan(whole.keys, p));
    NAYSAY_CHECK(check_part_input(kName, ShardMap(shape.regions), input));
    const std::vector<std::uint64_t> counts(input.counts.begin() + static_cast<std::ptrdiff_t>(input.first),
                                            input.counts.begin() + static_cast<std::ptrdiff_t>(input.last));
    Table table(shape, whole.seed, Zeros::sparse);
    variable_hash::detail::NegativeCounts found;
    variable_hash::detail::search_regions(input.workload, counts, input.first, whole.most_cost, o, shape, table,
                                          variable_hash::detail::Spreads::wanted, found);
    NAYSAY_CHECK(o.go_on(kName));

    FilterPart part;
    part.first = input.first, part.last = input.last;
    for (std::uint64_t n : counts) part.keys += n;
    part.contradictions = found.keys.load();
    part.left_over = found.accepted.load();
    part.complete = true;
    part.tables.resize(kTables);
    part.tables[0].values = column(counts.size(), [&](std::uint64_t i) { return counts[i]; });
    std::vector<std::uint32_t> numbers;
    for (unsigned level = 0; level < variable_hash::kLevels; ++level) {
      if (table.log(level) == 0) continue;
      const auto [first, last] = table.nodes_of(level, part.first, part.last);
      for (std::uint64_t at = first; at < last; ++at) numbers.push_back(table.spread(level)[at]);
    }
    part.tables[1].values = column(numbers.size(), [&](std::uint64_t i) { return numbers[i]; });
    std::array<std::uint32_t, kFound> slots{};
    const auto own = table.nodes_of(variable_hash::kLevels, part.first, part.last);
    for (std::uint64_t slot = own.first; slot < own.last; ++slot) ++slots[table.found(slot)];
    part.tables[2].values = column(kFound, [&](std::uint64_t i) { return slots[i]; });
    const auto words = table.words_of(part.first, part.last);
    part.words.push_back(copied_words(table.functions(), words.first, words.last));
    return part;
  }
};

}  // namespace naysay
