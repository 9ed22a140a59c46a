// SPDX-License-Identifier: Apache-2.0
// Guarded<Base>: a dynamic filter that stops making the mistakes that are reported to it.
//
// It has two parts. The base is any filter with insert and erase (a cuckoo filter by default). The guard is a small
// exact table: it holds the digests of those known negatives that the base accepts at the moment.
//
//   query --> base --- no ----> "no"
//               |
//             maybe --> guard -- found ----> "no"
//                         |
//                      not found ---------> "maybe"
//
// The base accepts only a fraction fpr of the m known negatives, so the guard needs about m * fpr entries, not m. A
// negative gets its entry when the filter is built, when it is reported (adapt), or, if it is pinned, in the insert
// that would make the base accept it. bits_per_key pays for base and guard together; guard_plan.hpp splits it.
//
//   guard    the number of entries; -1: planned; 0: none: then this is the base, and adapt keeps nothing
//   pinned   whether the negatives given to build() are pinned. An index of them by their address in the base says
//            which of them an insert would make the base accept; only insert reads it. Needs a base with addresses
//            (AddressedFilter), such as cuckoo; in a counting Bloom filter or a seesaw a digest shares counters with
//            many others, so it has no address.
//
// Full guard. Entries that the base denies at the moment are dropped (each addition looks at kSweep groups of 15). If
// there are none, the entry with the smallest accumulated cost is evicted. A new negative that costs less than every
// entry is not stored, and adapt returns false. Pinned entries are never evicted.
//
// Index. It is not needed for queries and not counted in size_bits(); index_bits() is its size. After drop_index() the
// filter answers, erases and adapts, but insert returns false if negatives are pinned.
//
// Promises   A key that is in the filter is never denied. insert(key) removes the key's guard entry; any earlier report
//            about this key is forgotten. A negative for which adapt() returned true is refused until it is inserted
//            as a key or its entry is evicted from a full guard. A pinned negative is never accepted, whatever is
//            inserted and erased, until it is inserted as a key; then it is a key and no longer pinned. An insert that
//            finds no room in the base, or no room in the guard for the pinned negatives that it would make the base
//            accept, returns false and changes nothing. Erasing a key that may_contain denies returns false and
//            changes nothing.
// Does not   distinguish two keys with equal 128-bit digests: if one is guarded while the other is in, the inserted
//            key is denied. (With guard = 0 this cannot happen.) The digest of 128 zeros cannot be pinned. It does not
//            detect erasure of a key that was never inserted (a false positive of the base); that may remove another
//            key, as in the base alone.
// Cost       Query: nothing more when the base says "no"; one word of the guard's hints when it says "maybe". Insert
//            and erase: the same; with pinned negatives insert reads one more random word, of the index. Space: 206
//            bits per guard entry, 168 bits per pinned negative in the index.
// Source     our own; compared with SSCF (WWW 2022) in docs/guarded.md.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "naysay/bloom/counting_bloom.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/guarded/detail/guard.hpp"
#include "naysay/guarded/detail/pinned_index.hpp"
#include "naysay/guarded/guard_plan.hpp"
#include "naysay/seesaw/seesaw.hpp"

namespace naysay {

template <class Base>
class Guarded {
  static_assert(ErasableFilter<Base> && TunableFilter<Base>);
  using Guard = guarded::detail::Guard;
  using PinnedIndex = guarded::detail::PinnedIndex;
  static constexpr bool kGrows = requires(typename Base::Params p) { p.growth; };

 public:
  struct Params {
    double bits_per_key = typename Base::Params{}.bits_per_key + 1;
    std::int64_t guard = -1;
    bool pinned = false;
    double growth = 16;  // of a base that grows; the guard is planned for the rate at the end

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("guard", self.guard);
      visit("pinned", self.pinned);
      if constexpr (kGrows) visit("growth", self.growth);
    }
  };

  static constexpr Claims kClaims = {
      .about = !AddressedFilter<Base>
                   ? "a counting filter and a guard: a false positive that is given or reported is refused from then on"
               : kGrows ? "as guarded, without a fixed capacity: it grows and no answer changes"
                        : "inserts and deletes; a false positive that is given or reported is refused from then on",
      .uses_negatives = true,
      .exact_on_negatives = AddressedFilter<Base>,
      .fpr_model_error = Base::kClaims.fpr_model_error,
      // one group of the guard, and the fields that are not the base's
      .fixed_bits = Base::kClaims.fixed_bits + Guard::bits_for(1) + 6 * 64,
      .most_arrays = Base::kClaims.most_arrays + 16,
  };

  // For a filter that is given no negatives.
  static double bits_per_key(double fpr) { return Base::bits_per_key(fpr) / (1 - guarded::kUntoldGuardShare); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Guarded> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    const guarded::GuardPlan plan = choose(w, p, o);
    if (p.pinned && !AddressedFilter<Base>)
      return Error{Errc::invalid_argument,
                   "guarded: pinned is true, but this base has no addresses; use the filter guarded"};
    if (!(plan.base_bits_per_key > 0))
      return Error{Errc::out_of_budget, "guarded: a guard of " + to_text(plan.entries) + " entries leaves nothing of " +
                                            rounded_text(p.bits_per_key) + " bits per key; use fewer"};
    typename Base::Params base;
    base.bits_per_key = plan.base_bits_per_key;
    if constexpr (kGrows) base.growth = p.growth;
    Guarded f;
    NAYSAY_TRY(f.base_, Base::build(w, base, o));
    f.guard_ = Guard(plan.entries);
    const Guard accepted = f.accepted(w, o);
    NAYSAY_CHECK(o.go_on("guarded"));
    if (p.pinned) NAYSAY_CHECK(f.pin(w, accepted));
    f.guard_costliest(accepted, p.pinned);
    o.say("bits per key of the base",
          static_cast<double>(f.base_.size_bits()) / static_cast<double>(std::max<std::uint64_t>(o.room(w), 1)));
    o.say("known negatives that the base accepts", static_cast<double>(accepted.used()));
    o.say("guarded", static_cast<double>(f.guard_.used()));
    o.say("room in the guard", static_cast<double>(f.guard_.room()));
    if (p.pinned) {
      o.say("pinned", static_cast<double>(f.pins_));
      o.say("bits of the pinned index", static_cast<double>(f.index_bits()));
    }
    return f;
  }

  bool insert(Digest d) noexcept {
    if (pins_ != 0) return insert_among_pinned(d);
    if (!base_.insert(d)) return false;
    guard_.remove(d);
    return true;
  }

  bool erase(Digest d) noexcept { return !guard_.holds(d) && base_.erase(d); }

  // True: d is refused from now on. False: the guard is full of entries that cost more. Requires that d is not a key.
  bool adapt(Digest d, float cost) noexcept {
    if (!base_.may_contain(d)) return true;
    return guard(d, sane(cost));
  }

  bool may_contain(Digest d) const noexcept { return base_.may_contain(d) && !guard_.holds(d); }

  auto probe(Digest d) const noexcept requires ProbedFilter<Base> {
    return Probe<decltype(base_.probe(d))>{base_.probe(d), d};
  }
  template <class At>
  bool test(const At& at) const noexcept requires ProbedFilter<Base> {
    return base_.test(at.base) && !guard_.holds(at.digest);
  }

  double expected_fpr() const noexcept { return base_.expected_fpr(); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this) - bits_of_fields(index_); }

  std::uint64_t index_bits() const noexcept { return index_.empty() ? 0 : bits_of_fields(index_); }
  void drop_index() noexcept { index_ = {}; }

  // The same filter with another kind of base, which Base::copy_of(other base) makes. Its guard is a copy.
  template <class OtherBase>
  static Result<Guarded> copy_of(const Guarded<OtherBase>& other) {
    Guarded f;
    NAYSAY_TRY(f.base_, Base::copy_of(other.base_));
    f.guard_ = other.guard_;
    f.pins_ = other.pins_;
    f.index_ = other.index_;
    FieldOwner owner;  // the other may borrow from a file
    owner("guard", f.guard_);
    owner("index", f.index_);
    return f;
  }
  // This base, with no room in its guard.
  static Guarded without_guard(Base base) {
    Guarded f;
    f.base_ = std::move(base);
    f.guard_ = Guard(0);
    return f;
  }
  // Only the guard and the pinned negatives, without a base: what a checkpoint copies.
  Guarded copy_of_guard() const {
    Guarded f;
    f.guard_ = guard_;
    f.pins_ = pins_;
    f.index_ = index_;
    return f;
  }

  const Base& base() const noexcept { return base_; }
  Base& base() noexcept { return base_; }  // a key that is inserted here must not be in the guard
  bool refuses(Digest d) const noexcept { return guard_.holds(d); }  // because it is in the guard
  std::uint64_t guarded() const noexcept { return guard_.used(); }
  std::uint64_t guard_room() const noexcept { return guard_.room(); }
  std::uint64_t pinned() const noexcept { return pins_; }
  // What was reported of a negative that the guard refuses; 0 if it has no entry, and 1 if it is pinned.
  double guarded_cost(Digest d) const noexcept {
    const std::uint64_t slot = guard_.find(d);
    return slot == Guard::kNone ? 0 : guard_.cost(slot) == Guard::kPinned ? 1 : guard_.cost(slot);
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("base", self.base_);
    visit("guard", self.guard_);
    visit("pins", self.pins_);
    visit("index", self.index_);
  }
  Result<Ok> validate() const {
    NAYSAY_CHECK(base_.validate());
    NAYSAY_CHECK(guard_.validate());
    if (!AddressedFilter<Base> && pins_ != 0)
      return Error{Errc::corrupt, "guarded: " + to_text(pins_) + " pinned negatives, but the base has no addresses"};
    return Ok{};
  }

 private:
  template <class OtherBase>
  friend class Guarded;

  static constexpr std::uint64_t kSweep = 2;  // groups checked per addition: 30 queries of the base
  static constexpr std::uint64_t kMaxGuard = std::uint64_t{1} << 40;

  template <class BaseProbe>
  struct Probe {
    BaseProbe base;
    Digest digest;
  };

  static float sane(float cost) noexcept { return cost > 0 ? std::min(cost, Guard::kMaxCost) : 0; }

  static guarded::GuardPlan choose(const Workload& w, const Params& p, const BuildOptions& o) {
    guarded::GuardProblem q;
    q.keys = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    q.bits = p.bits_per_key * q.keys;
    if (p.guard >= 0) {
      const std::uint64_t entries = std::min(static_cast<std::uint64_t>(p.guard), kMaxGuard);
      const std::uint64_t taken = entries == 0 ? 0 : Guard::bits_for(entries) - Guard::bits_for(1);
      return {entries, (q.bits - static_cast<double>(taken)) / q.keys, 0, 0};
    }
    q.negatives = static_cast<double>(w.negatives.size());
    std::vector<float> descending(w.costs.begin(), w.costs.end());
    std::sort(descending.begin(), descending.end(), std::greater<>());
    q.descending = descending;
    q.stranger_share = w.stranger_share;
    q.all = p.pinned;
    const auto price = [&](double fpr) {
      if constexpr (kGrows) return Base::bits_per_key(fpr, std::max(1.0, p.growth));
      return Base::bits_per_key(fpr);
    };
    return guarded::plan_guard(q, price, Guard::bits_for);
  }

  // The known negatives that the base accepts, without those that are keys.
  Guard accepted(const Workload& w, const BuildOptions& o) const {
    std::vector<std::uint64_t> numbers;
    std::uint8_t answers[kBatch];
    for (std::size_t at = 0; at < w.negatives.size(); at += kBatch) {
      const auto part = w.negatives.subspan(at, std::min(kBatch, w.negatives.size() - at));
      if (at % kTellEvery == 0 && !o.tell("guarded: querying the known negatives", at, w.negatives.size())) break;
      naysay::may_contain(base_, part, answers);
      for (std::size_t i = 0; i < part.size(); ++i)
        if (answers[i] != 0) numbers.push_back(at + i);
    }
    Guard out(numbers.size());
    for (std::uint64_t i : numbers) {
      const Digest d = w.negatives[i];
      if (const std::uint64_t slot = out.find(d); slot != Guard::kNone)
        out.raise(slot, sane(w.cost(i)));
      else
        out.put(d, sane(w.cost(i)));
    }
    for (std::size_t i = 0; i < w.keys.size() && out.used() != 0; ++i) out.remove(w.keys[i]);
    return out;
  }
  static constexpr std::size_t kBatch = 4096;

  void guard_costliest(const Guard& accepted, bool pinned) {
    struct Entry {
      float cost;
      Digest digest;
    };
    std::vector<Entry> entries;
    accepted.for_each([&](Digest d, float cost) { entries.push_back({cost, d}); });
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.cost != b.cost ? a.cost > b.cost : a.digest < b.digest; });
    for (const Entry& e : entries) {
      if (guard_.full()) return;
      guard_.put(e.digest, pinned ? Guard::kPinned : e.cost);
    }
  }

  Result<Ok> pin(const Workload& w, const Guard& accepted) {
    if constexpr (AddressedFilter<Base>) {
      if (accepted.used() > guard_.room())
        return Error{Errc::out_of_budget, "guarded: the base accepts " + to_text(accepted.used()) +
                                              " pinned negatives and the guard has room for " + to_text(guard_.room()) +
                                              "; use more bits_per_key"};
      std::vector<Digest> digests(w.negatives.begin(), w.negatives.end());
      if (std::find(digests.begin(), digests.end(), PinnedIndex::kUnused) != digests.end())
        return Error{Errc::invalid_argument, "guarded: a negative has the digest 0, which cannot be pinned"};
      index_ = PinnedIndex(std::move(digests), address());
      for (const Digest& key : w.keys) index_.remove(key, address());
      pins_ = index_.count();
    }
    return Ok{};
  }

  auto address() const noexcept {
    return [this](Digest d) noexcept { return base_.address(d); };
  }

  // Every pinned negative that the base accepts has an entry. So an insert at an address that the base already accepts
  // needs no new entry; at another address it needs one for each pinned negative there that has none.
  bool insert_among_pinned(Digest d) noexcept {
    if constexpr (AddressedFilter<Base>) {
      if (index_.empty()) return false;
      const std::uint64_t here = base_.address(d);
      std::uint64_t needed = 0, others = 0;
      bool was_pinned = false;
      index_.for_each(here, address(), [&](Digest x) {
        if (x == d)
          was_pinned = true;
        else
          ++others, needed += !guard_.holds(x);
      });
      if (needed != 0 && !has_room_for(needed, here)) return false;
      if (!base_.insert(d)) return false;
      guard_.remove(d);
      if (was_pinned) {
        index_.remove(d, address());
        --pins_;
      }
      if (others != 0) index_.for_each(here, address(), [&](Digest x) { guard(x, Guard::kPinned); });
      return true;
    }
    return false;
  }
  bool has_room_for(std::uint64_t needed, std::uint64_t here) const noexcept {
    const std::uint64_t room = guard_.room() - std::min(guard_.room(), guard_.pinned());
    if (room >= needed) return true;
    if constexpr (AddressedFilter<Base>)
      return needed - room == guard_.count(needed - room, [&](Digest x, float cost) {
        return cost == Guard::kPinned && !base_.may_contain(x) && base_.address(x) != here;
      });
    return false;
  }

  bool guard(Digest d, float cost) noexcept {
    if (const std::uint64_t slot = guard_.find(d); slot != Guard::kNone) {
      guard_.raise(slot, cost);
      return true;
    }
    if (!make_room(cost, d.lo)) return false;
    guard_.put(d, cost);
    return true;
  }
  bool make_room(float cost, std::uint64_t luck) noexcept {
    if (!guard_.full()) return true;
    drop_idle(kSweep);
    if (!guard_.full()) return true;
    const std::uint64_t slot = guard_.cheapest(luck);
    if (slot == Guard::kNone || cost < guard_.cost(slot)) return false;
    if (guard_.cost(slot) != Guard::kPinned)
      guard_.remove(slot);
    else
      drop_idle(guard_.groups());
    return !guard_.full();
  }
  // Drops entries that the base denies, group by group, until there is room or `groups` groups have been checked.
  void drop_idle(std::uint64_t groups) noexcept {
    for (; groups > 0 && guard_.full(); --groups)
      guard_.sweep([this](std::uint64_t slot, Digest x) {
        if (!base_.may_contain(x)) guard_.remove(slot);
      });
  }

  Base base_;
  Guard guard_;
  std::uint64_t pins_ = 0;
  PinnedIndex index_;
};

using GuardedCuckoo = Guarded<Cuckoo>;
using GuardedGrowing = Guarded<GrowingCuckoo>;
using GuardedCountingBloom = Guarded<CountingBloom>;
using GuardedSeesaw = Guarded<Seesaw>;

static_assert(ErasableFilter<GuardedCuckoo> && AdaptiveFilter<GuardedCuckoo> && TunableFilter<GuardedCuckoo> &&
              ProbedFilter<GuardedCuckoo> && IndexedFilter<GuardedCuckoo>);
static_assert(ErasableFilter<GuardedGrowing> && AdaptiveFilter<GuardedGrowing> && TunableFilter<GuardedGrowing> &&
              ProbedFilter<GuardedGrowing> && IndexedFilter<GuardedGrowing>);
static_assert(ErasableFilter<GuardedCountingBloom> && AdaptiveFilter<GuardedCountingBloom> &&
              TunableFilter<GuardedCountingBloom>);
static_assert(ErasableFilter<GuardedSeesaw> && AdaptiveFilter<GuardedSeesaw> && TunableFilter<GuardedSeesaw>);

}  // namespace naysay
