// SPDX-License-Identifier: Apache-2.0
// VariableHashTable: the numbers that make up a variable hash filter, and a digest's way to its slot.
//
//   spread_[0]   one spread function per region:  which of its 8 sectors a key belongs to
//   spread_[1]   one per sector:                  which of its 8 buckets
//   spread_[2]   one per bucket:                  which of its 8 slots
//   functions_   the slot functions, function_bits_ bits each, packed:
//
//     slot 0            slot 1            ...  slot extra_           ...
//     | k_ + 1 numbers  | k_ + 1 numbers  |    | k_ numbers  | k_ numbers ...
//
// Slots are numbered from 0, and so are the functions of a slot. Small filters have fewer children or fewer levels.
//
// Promises   After validate(), no digest leads to memory outside the table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "naysay/core/archive.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/variable_hash/detail/function_family.hpp"
#include "naysay/variable_hash/variable_hash_rates.hpp"

namespace naysay::variable_hash::detail {

class VariableHashTable {
 public:
  VariableHashTable() = default;
  // A table of that shape. All its functions are 0, for a builder to find; sparse for a filter that is built in parts.
  VariableHashTable(const VariableHashShape& s, std::uint64_t seed, Zeros zeros = Zeros::dense)
      : seed_(seed * 0xd6e8feb86659fd93u),
        regions_(s.regions),
        extra_(s.functions % s.slots()),
        k_(static_cast<std::uint32_t>(s.functions / s.slots())),
        function_bits_(s.function_bits) {
    for (unsigned level = 0; level < kLevels; ++level) {
      log_[level] = s.log[level];
      spread_[level] = Array<std::uint16_t>(s.stored(level));
    }
    functions_ = Array<std::uint64_t>::make_zeros(words_for_bits(s.functions * s.function_bits) + kSpareWords, zeros);
  }

  std::uint64_t slots() const noexcept { return regions_ << (log_[0] + log_[1] + log_[2]); }
  std::uint64_t seed() const noexcept { return seed_; }
  unsigned function_bits() const noexcept { return function_bits_; }
  [[gnu::always_inline]] std::uint64_t slot_of(Digest d) const noexcept {
    const family::SpreadWords words = family::spread_words(d.lo + seed_);
    std::uint64_t at = fast_range(d.hi, regions_);
    if (log_[0] == family::kChildLog) {  // then all levels are full
      for (const Array<std::uint16_t>& numbers : spread_)
        at = at << family::kChildLog | family::spread_child(words, numbers[at]);
      return at;
    }
    for (unsigned level = 0; level < kLevels; ++level)
      if (log_[level] != 0)
        at = at << log_[level] | (family::spread_child(words, spread_[level][at]) & low_mask(log_[level]));
    return at;
  }
  std::uint32_t functions_of(std::uint64_t slot) const noexcept { return k_ + (slot < extra_); }
  std::uint64_t function(std::uint64_t slot, unsigned f) const noexcept {
    return load_bits(functions_.data(), (first_function(slot) + f) * function_bits_, function_bits_);
  }
  // Requires that functions_ is not borrowed and that every key of the slot passes the new function.
  void set_function(std::uint64_t slot, unsigned f, std::uint64_t number) noexcept {
    store_bits(functions_.mutable_data(), (first_function(slot) + f) * function_bits_, function_bits_, number);
  }
  // How many of its functions a slot has found.
  unsigned found(std::uint64_t slot) const noexcept {
    unsigned count = 0;
    for (unsigned f = 0; f < functions_of(slot); ++f) count += function(slot, f) != 0;
    return count;
  }
  double share_not_found() const noexcept {
    std::uint64_t missing = 0, all = 0;
    for (std::uint64_t slot = 0; slot < slots(); ++slot)
      missing += functions_of(slot) - found(slot), all += functions_of(slot);
    return static_cast<double>(missing) / static_cast<double>(all);
  }

  // ---- for builders ----

  std::span<std::uint16_t> mutable_spread(unsigned level) noexcept {
    return {spread_[level].mutable_data(), spread_[level].size()};
  }
  std::span<std::uint64_t> mutable_functions() noexcept { return {functions_.mutable_data(), functions_.size()}; }

  // ---- parts: ranges of regions that are built apart ----

  struct NodeRange {
    std::uint64_t first = 0, last = 0;
  };
  // The nodes at the top of a level that these regions have; for level kLevels, their slots.
  NodeRange nodes_of(unsigned level, std::uint64_t first, std::uint64_t last) const noexcept {
    unsigned log = 0;
    for (unsigned i = 0; i < level; ++i) log += log_[i];
    return {first << log, last << log};
  }
  // The words of their slot functions. Neighbours may share a word.
  NodeRange words_of(std::uint64_t first, std::uint64_t last) const noexcept {
    if (first == last) return {};
    const NodeRange slots = nodes_of(kLevels, first, last);
    return {first_function(slots.first) * function_bits_ / 64,
            words_for_bits(first_function(slots.last) * function_bits_)};
  }

  // ---- what queries and builders read ----

  std::uint64_t regions() const noexcept { return regions_; }
  unsigned log(unsigned level) const noexcept { return log_[level]; }
  const Array<std::uint16_t>& spread(unsigned level) const noexcept { return spread_[level]; }
  double mean_functions() const noexcept { return k_ + static_cast<double>(extra_) / static_cast<double>(slots()); }
  // Slots have k_ functions or one more; the vector loops run as often for both, so that their end is predictable.
  unsigned most_functions() const noexcept { return k_ + (extra_ != 0); }
  const std::uint64_t* functions() const noexcept { return functions_.data(); }
  std::uint64_t function_words() const noexcept { return functions_.size(); }
  std::uint64_t first_function(std::uint64_t slot) const noexcept { return slot * k_ + std::min(slot, extra_); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("seed", self.seed_);
    visit("regions", self.regions_);
    visit("extra", self.extra_);
    visit("sector_log", self.log_[0]);
    visit("bucket_log", self.log_[1]);
    visit("slot_log", self.log_[2]);
    visit("k", self.k_);
    visit("function_bits", self.function_bits_);
    visit("region_functions", self.spread_[0]);
    visit("sector_functions", self.spread_[1]);
    visit("bucket_functions", self.spread_[2]);
    visit("functions", self.functions_);
  }
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "variable-hash: " + what}; };
    if (regions_ < 1 || regions_ > (std::uint64_t{1} << 40))
      return wrong(std::to_string(regions_) + " regions; there must be 1 to 2^40");
    if (log_[0] != 0 && (log_[1] != family::kChildLog || log_[2] != family::kChildLog))
      return wrong("regions have sectors, but sectors and buckets are not full");
    std::uint64_t nodes = regions_;
    for (unsigned level = 0; level < kLevels; nodes <<= log_[level], ++level) {
      if (log_[level] > family::kChildLog)
        return wrong("a node has 2^" + std::to_string(log_[level]) + " children; it must have at most 2^3");
      if (spread_[level].size() != (log_[level] != 0 ? nodes : 0))
        return wrong(std::to_string(spread_[level].size()) + " spread functions for " + std::to_string(nodes) +
                     " nodes");
    }
    if (function_bits_ < 1 || function_bits_ > family::kMaxFunctionBits)
      return wrong("a function has " + std::to_string(function_bits_) + " bits; it must have 1 to 55");
    if (k_ < 1 || k_ > family::kMaxFunctions || extra_ >= slots())
      return wrong("slots of " + std::to_string(k_) + " functions, " + std::to_string(extra_) +
                   " with one more, do not exist");
    if (functions_.size() != words_for_bits((slots() * k_ + extra_) * function_bits_) + kSpareWords)
      return wrong(std::to_string(functions_.size()) + " words do not hold the functions of " +
                   std::to_string(slots()) + " slots");
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kSpareWords = 8;  // so that 64 bytes can be loaded at the last function

  std::uint64_t seed_ = 0;
  std::uint64_t regions_ = 1;
  std::uint64_t extra_ = 0;
  std::uint32_t log_[kLevels] = {};
  std::uint32_t k_ = 0;
  std::uint32_t function_bits_ = 0;
  Array<std::uint16_t> spread_[kLevels];
  Array<std::uint64_t> functions_;
};

}  // namespace naysay::variable_hash::detail
