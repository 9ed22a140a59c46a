// SPDX-License-Identifier: Apache-2.0
// SeesawTable: the counters and the modulator of a seesaw filter, and the way of a key through them.
//
//   h0(x) .. h(k-1)(x) --> k counters --- none leans ----------------------------> they are the path of x
//                             |
//                             +-- some lean --> the first of them is replaced by backup b(x), if the modulator has one
//                             |                 and b(x) lands upright
//                             +-- all lean ---> `extra` counters more
//
// seesaw.hpp says what leaning means and why it works; this file is the part that runs per key.
//
// Promises   (I1) A negative bit changes only while its counter is 0. (I2) A modulator index changes only while its
//            count is 0. (I3) So the path of a live key does not change while the key is live: insert, query and erase
//            agree.
// Cost       insert and erase: k counters read and written; for a conflicting key one cell and one or two counters
//            more; `extra` more if all lean. Query: at most k + extra + 2 reads; the first counter at 0 ends it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "naysay/core/archive.hpp"
#include "naysay/core/bits.hpp"
#include "naysay/core/detail/sampled.hpp"
#include "naysay/core/hash.hpp"
#include "naysay/core/result.hpp"
#include "naysay/seesaw/detail/hash_modulator.hpp"
#include "naysay/seesaw/detail/leaning_counters.hpp"
#include "naysay/seesaw/seesaw_rates.hpp"

namespace naysay::seesaw::detail {

inline constexpr std::uint32_t kMaxK = 32;  // enough for a rate of 2^-32; paths are arrays on the stack
inline constexpr std::uint32_t kMaxExtra = 32;
inline constexpr std::uint32_t kMaxCounterBits = 16;  // wider counters would never be full

template <bool Adaptive>
class SeesawTable {
 public:
  static constexpr unsigned kMarkBits = Adaptive ? 2 : 1;

  SeesawTable() = default;
  // Empty counters, and a modulator if the shape has cells. Without marks, a counting Bloom filter.
  SeesawTable(const SeesawShape& shape, SeesawQuery query, unsigned counter_bits, unsigned modulator_bits,
              unsigned backups)
      : k_(shape.k), extra_(shape.extra), counter_bits_(counter_bits), query_(query) {
    const bool marked = Adaptive || shape.negatives > 0;
    const unsigned marks = marked ? kMarkBits : 0;
    counters_ = Cells(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(shape.counters)), counter_bits + marks);
    if (marked && shape.cells > 0)
      modulator_ =
          HashModulator(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(shape.cells)), modulator_bits, backups);
    backups_ = modulator_.size() > 0 ? backups : 0;
  }

  bool insert(Digest d) noexcept {
    if (!modulated() && is<Usual>()) [[likely]]
      return count_up(as<Usual>(), d);
    return insert_otherwise(d);
  }

  // Requires that d was inserted. False, and nothing changed, if d is certainly not in.
  bool erase(Digest d) noexcept {
    if (is<Usual>()) [[likely]]
      return erase_as<Usual>(d);
    return is<Plain>() ? erase_as<Plain>(d) : erase_as<Any>(d);
  }

  bool may_contain(Digest d) const noexcept {
    if (!modulated() && is<Usual>()) [[likely]]
      return all_in_use(as<Usual>(), d);
    return query_otherwise(d);
  }

  // Makes the counters of a negative lean: immediately where a counter is 0 (I1); else, if there is a pending bit,
  // when it becomes 0.
  void encode(Digest d) noexcept {
    const Any c = as<Any>();
    std::uint64_t* words = counters_.mutable_words();
    for (std::uint32_t i = 0; i < k_; ++i) {
      const std::uint64_t at = c.position(d, i);
      const std::uint32_t v = c.read(at);
      if (c.leans(v)) continue;
      if (c.count(v) == 0)
        c.add(words, at, c.negative());
      else if ((v & c.pending()) == 0)
        c.add(words, at, c.pending());
    }
  }

  // What the rates depend on, counted.
  SeesawState state() const noexcept {
    const Any c = as<Any>();
    std::uint64_t leaning = 0, used_leaning = 0, used = 0;
    const std::uint64_t seen = for_each_sampled(c.size, std::uint64_t{1} << 18, 64, [&](std::uint64_t i) {
      const std::uint32_t v = c.read(i * counters_.width());
      leaning += c.leans(v);
      used += c.count(v) != 0;
      used_leaning += c.leans(v) && c.count(v) != 0;
    });
    const auto part = [](std::uint64_t of, std::uint64_t all) {
      return all == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(all);
    };
    return {part(leaning, seen), part(modulator_.used(), modulator_.size()), part(used_leaning, leaning),
            part(used - used_leaning, seen - leaning), modulated()};
  }

  std::uint32_t k() const noexcept { return k_; }
  std::uint32_t extra() const noexcept { return extra_; }
  SeesawQuery query() const noexcept { return query_; }
  std::uint64_t counters() const noexcept { return counters_.size(); }
  std::uint64_t cells() const noexcept { return modulator_.size(); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("k", self.k_);
    visit("extra", self.extra_);
    visit("counter_bits", self.counter_bits_);
    visit("backups", self.backups_);
    visit("query", self.query_);
    visit("counters", self.counters_);
    visit("modulator", self.modulator_);
  }
  Result<Ok> validate(std::string_view who) const {
    const auto wrong = [&](const std::string& what) { return Error{Errc::corrupt, std::string(who) + ": " + what}; };
    if (k_ < 1 || k_ > kMaxK) return wrong("k is " + std::to_string(k_) + "; it must be 1 to 32");
    if (extra_ > kMaxExtra) return wrong(std::to_string(extra_) + " extra functions; they must be at most 32");
    if (backups_ > HashModulator::kMaxBackups || (backups_ == 0) != (modulator_.size() == 0))
      return wrong(std::to_string(backups_) + " backup functions for " + std::to_string(modulator_.size()) +
                   " cells; they must be 1 to 256, or none of either");
    NAYSAY_CHECK(counters_.validate());
    NAYSAY_CHECK(modulator_.validate());
    if (backups_ != 0 && !modulator_.holds(backups_))
      return wrong("the modulator's cells are not for " + std::to_string(backups_) + " backup functions");
    if (counters_.size() == 0) return wrong("it has no counters");
    const bool marked = Adaptive || modulator_.size() > 0 || counters_.width() != counter_bits_;
    if (counter_bits_ < 1 || counter_bits_ > kMaxCounterBits ||
        counters_.width() != counter_bits_ + (marked ? kMarkBits : 0))
      return wrong("counters of " + std::to_string(counter_bits_) + " bits and their marks do not make cells of " +
                   std::to_string(counters_.width()));
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kGroup = 4;

  struct Path {
    std::uint64_t at[kMaxK + kMaxExtra];  // the bits at which the counters begin
    std::uint32_t steps;
    bool conflicts;              // some counter leans, and there is a modulator
    std::uint64_t cell;          // of the modulator; this and the next two are set only if it conflicts
    HashModulator::Entry entry;  // of that cell
    std::uint32_t index;         // the backup function: the entry's, or a chosen one if the cell is empty
  };

  // Whether keys step aside: only with a modulator.
  bool modulated() const noexcept { return backups_ != 0; }

  using Usual = LeaningCounters<4, kMarkBits>;
  using Plain = LeaningCounters<4, 0>;
  using Any = LeaningCounters<0, 0>;

  template <class C>
  bool is() const noexcept {
    return counter_bits_ == C::kBits && counters_.width() == C::kBits + C::kMarks;
  }
  template <class C>
  C as() const noexcept {
    return {counters_.words(), counters_.size(), counter_bits_, counters_.width() - counter_bits_};
  }

  // Shapes that the planner seldom chooses. Not inlined, so that the common case is.
  [[gnu::noinline]] bool insert_otherwise(Digest d) noexcept {
    if (is<Usual>()) return insert_as<Usual>(d);
    return is<Plain>() ? insert_as<Plain>(d) : insert_as<Any>(d);
  }
  [[gnu::noinline]] bool query_otherwise(Digest d) const noexcept {
    if (query_ != SeesawQuery::exact_path) return in_two_rounds(d);
    if (is<Usual>()) return on_its_path<Usual>(d);
    return is<Plain>() ? on_its_path<Plain>(d) : on_its_path<Any>(d);
  }

  template <class C>
  bool insert_as(Digest d) noexcept {
    const C c = as<C>();
    if (!modulated()) return count_up(c, d);
    const Path path = path_of(c, d);
    if (path.conflicts) modulator_.take(path.cell, path.entry, path.index);
    std::uint64_t* words = counters_.mutable_words();
    for (std::uint32_t i = 0; i < path.steps; ++i) c.add(words, path.at[i], c.count(c.read(path.at[i])) != c.max());
    return true;
  }

  // Without a modulator: the k counters, and the extra ones if all lean.
  template <class C>
  [[gnu::always_inline]] bool count_up(const C c, Digest d) noexcept {
    HashWalk walk(d);
    std::uint64_t* words = counters_.mutable_words();
    const auto step = [&] {
      const std::uint64_t at = c.position(walk.next());
      const std::uint32_t v = c.read(at);
      c.add(words, at, c.count(v) != c.max());
      return v;
    };
    std::uint32_t lean = c.negative();
    for (std::uint32_t i = k_; i > 0; --i) lean &= step();
    if (lean != 0)
      for (std::uint32_t i = extra_; i > 0; --i) step();
    return true;
  }

  template <class C>
  bool erase_as(Digest d) noexcept {
    const C c = as<C>();
    const Path path = path_of(c, d);
    bool vacant = path.conflicts && path.entry.count == 0;
    for (std::uint32_t i = 0; i < path.steps; ++i) vacant |= c.count(c.read(path.at[i])) == 0;
    if (vacant) return false;
    std::uint64_t* words = counters_.mutable_words();
    for (std::uint32_t i = 0; i < path.steps; ++i) {
      const std::uint32_t v = c.read(path.at[i]);
      if (c.count(v) == 0 || c.count(v) == c.max()) continue;  // 0: two functions share it, and d was never inserted
      c.add(words, path.at[i], c.count(v) == 1 ? c.last_step(v) : ~std::uint32_t{0});
    }
    if (path.conflicts) modulator_.release(path.cell, path.entry);
    return true;
  }

  // The path of d, or the path it would get if it were inserted now.
  template <class C>
  Path path_of(const C& c, Digest d) const noexcept {
    Path path;
    LeaningRow row;
    HashWalk walk(d);
    for (std::uint32_t i = 0; i < k_; ++i) {
      path.at[i] = c.position(walk.next());
      if (c.negative() != 0) c.add_to(row, c.read(path.at[i]));
    }
    path.steps = k_;
    path.conflicts = row.leaning() != 0;
    if (!path.conflicts) return path;
    if (row.all_lean(k_)) add_extra(c, d, path);
    if (!modulated()) {
      path.conflicts = false;
      return path;
    }
    path.cell = modulator_.position(d);
    path.entry = modulator_.at(path.cell);
    path.index = path.entry.count == 0 ? upright_backup(c, d) : path.entry.index;
    const std::uint64_t backup = c.position(d, k_ + path.index);
    std::uint64_t& first = path.at[row.first(k_)];
    const std::uint64_t keep = 0 - std::uint64_t{c.leans(c.read(backup))};  // no branch: it could not be predicted
    first = (first & keep) | (backup & ~keep);
    return path;
  }
  template <class C>
  void add_extra(const C& c, Digest d, Path& path) const noexcept {
    for (std::uint32_t i = 0; i < extra_; ++i) path.at[path.steps++] = c.position(d, k_ + backups_ + i);
  }
  // The first backup function whose counter does not lean; 0 if there is none.
  template <class C>
  std::uint32_t upright_backup(const C& c, Digest d) const noexcept {
    for (std::uint32_t j = 0; j < backups_; ++j)
      if (!c.leans(c.read(c.position(d, k_ + j)))) return j;
    return 0;
  }

  // The first leaning counter is decided last, after all others said "maybe": most strangers never reach the modulator.
  // kGroup counters are read before the first branch, so that their cache misses overlap.
  template <class C>
  bool on_its_path(Digest d) const noexcept {
    const C c = as<C>();
    if (!modulated()) return all_in_use(c, d);
    LeaningRow row;
    HashWalk walk(d);
    std::uint32_t left = k_;
    for (; left >= kGroup; left -= kGroup) {
      for (std::uint32_t i = 0; i < kGroup; ++i) c.add_to(row, c.read(c.position(walk.next())));
      if ((row.vacant() & ~row.leaning()) != 0) return false;
    }
    for (; left > 0; --left) c.add_to(row, c.read(c.position(walk.next())));
    if (row.missing() != 0) return false;
    if (row.leaning() == 0) return true;
    if (row.all_lean(k_) && !extra_in_use<C>(d)) return false;
    const HashModulator::Entry entry = modulator_.at(modulator_.position(d));
    if (entry.count == 0) return false;
    const std::uint32_t backup = c.read(c.position(d, k_ + entry.index));
    const bool leans = c.leans(backup);  // no branch: it could not be predicted
    const unsigned in_if_leaning = row.vacant() == 0, in_if_not = c.count(backup) != 0;
    return (leans ? in_if_leaning : in_if_not) != 0;
  }

  // Without a modulator. Whether a query is about a key cannot be predicted, so there is no branch on it before kGroup
  // counters are read, and with up to kGroup functions none at all except for the rare case that all lean.
  template <class C>
  [[gnu::always_inline]] bool all_in_use(const C c, Digest d) const noexcept {
    HashWalk walk(d);
    std::uint32_t lean = c.negative();
    std::uint32_t used = c.max() + 1;  // the bit to which count + max carries if the count is not 0
    const auto query = [&] {
      const std::uint32_t v = c.read(c.position(walk.next()));
      lean &= v;
      used &= c.count(v) + c.max();
    };
    std::uint32_t left = k_;
    if (left >= kGroup) {
      for (std::uint32_t i = 0; i < kGroup; ++i) query();
      left -= kGroup;
      if (left > 0 && used == 0) return false;
    }
    for (; left > 0; --left) query();
    if ((used & lean) != 0) [[unlikely]]
      return extra_in_use<C>(d);
    return used != 0;
  }

  // Not inlined: it is rare, and the common case then has more registers.
  template <class C>
  [[gnu::noinline]] bool extra_in_use(Digest d) const noexcept {
    const C c = as<C>();
    for (std::uint32_t i = 0; i < extra_; ++i)
      if (c.count(c.read(c.position(d, k_ + backups_ + i))) == 0) return false;
    return true;
  }

  bool in_two_rounds(Digest d) const noexcept {
    const Any c = as<Any>();
    if (!modulated()) return all_in_use(c, d);
    bool vacant = false;
    for (std::uint32_t i = 0; i < k_; ++i) {
      const std::uint32_t v = c.read(c.position(d, i));
      if (c.count(v) != 0) continue;
      if (vacant || (query_ == SeesawQuery::leaning_round && !c.leans(v))) return false;
      vacant = true;
    }
    if (!vacant) return true;
    const HashModulator::Entry entry = modulator_.at(modulator_.position(d));
    if (entry.count == 0) return false;
    const std::uint32_t backup = c.read(c.position(d, k_ + entry.index));
    return !c.leans(backup) && c.count(backup) != 0;
  }

  Cells counters_;
  HashModulator modulator_;
  std::uint32_t k_ = 0;
  std::uint32_t extra_ = 0;
  std::uint32_t counter_bits_ = 0;
  std::uint32_t backups_ = 0;
  SeesawQuery query_ = SeesawQuery::exact_path;
};

}  // namespace naysay::seesaw::detail
