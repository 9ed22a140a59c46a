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
// that would make the base accept it. bits_per_key pays for base and guard together; guard_plan.hpp splits it, for the
// number of keys that the filter has room for.
//
//   guard    the number of entries; -1: planned; 0: none: then this is the base, and adapt keeps nothing
//   pinned   which of the negatives given to build() are pinned (Pinning). true: all of them; if the budget cannot hold
//            them when the filter is full, build() fails and says the bits that would do. auto: if the build is given a
//            capacity, as many as the budget holds, the costliest first. An index of them by their address in the base
//            says which of them an insert would make the base accept; only insert, pin and unpin read it. Needs a base
//            with addresses (AddressedFilter), such as cuckoo; in a counting Bloom filter or a seesaw a digest shares
//            counters with many others. With `guard` given, nothing is planned: without room in it insert is false.
//
// Full guard. Entries that the base denies at the moment are dropped (each addition looks at kSweep lines of 5), if the
// base has addresses. If there are none, the entry with the lowest priority is evicted: what it cost in all, less what
// was evicted since it came (detail/guard.hpp). So entries that nobody reports any more make way for those of today,
// however costly they were. Pinned entries are never evicted.
//
// Growth. If the base has grown, a full guard doubles in the next insert; its room per key stays as planned.
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
//            changes nothing. adapt() returns false only if the guard has no entries that it may evict.
// Does not   distinguish two keys whose digests agree in the 93 to 133 bits that the guard keeps: if one is guarded
//            while the other is in, the inserted key is denied. detail/guard.hpp says how unlikely that is: 5e-11 for
//            1e9 keys and 1e9 negatives. (With guard = 0 it cannot happen.) The digest of 128 zeros cannot be pinned.
//            It does not detect erasure of a key that was never inserted (a false positive of the base); that may
//            remove another key, as in the base alone.
// Cost       Query: nothing more when the base says "no"; one word of the guard's hints when it says "maybe". Insert
//            and erase: the same; with pinned negatives insert reads one more random word, of the index. Space: 129
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
#include "naysay/guarded/detail/accepted_negative.hpp"
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
  using Known = guarded::detail::AcceptedNegative;
  using Merge = guarded::detail::GuardedMerge<Guarded>;
  static constexpr bool kGrows = requires(typename Base::Params p) { p.growth; };

 public:
  struct Params {
    double bits_per_key = typename Base::Params{}.bits_per_key + 1;
    std::int64_t guard = -1;
    Pinning pinned = AddressedFilter<Base> ? Pinning::costliest : Pinning::none;
    double growth = 16;  // of a base that grows; the guard grows with it

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
      // one line of the guard, and the fields that are not the base's
      .fixed_bits = Base::kClaims.fixed_bits + Guard::bits_for(1) + 14 * 64,
      .most_arrays = Base::kClaims.most_arrays + 16,
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 had a GuardV1

  // For a filter that is given no negatives.
  static double bits_per_key(double fpr) { return Base::bits_per_key(fpr) / (1 - guarded::kUntoldGuardShare); }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<Guarded> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.pinned == Pinning::all && !AddressedFilter<Base>)
      return Error{Errc::invalid_argument,
                   "guarded: pinned is true, but this base has no addresses; use the filter guarded"};
    NAYSAY_TRY(const guarded::GuardPlan plan, choose(w, p, o));
    if (!(plan.base_bits_per_key > 0))
      return Error{Errc::out_of_budget, "guarded: a guard of " + to_text(plan.entries) + " entries leaves nothing of " +
                                            rounded_text(p.bits_per_key) + " bits per key; use fewer"};
    typename Base::Params base;
    base.bits_per_key = plan.base_bits_per_key;
    if constexpr (kGrows) base.growth = p.growth;
    Guarded f;
    NAYSAY_TRY(f.base_, Base::build(w, base, o));
    f.guard_ = Guard(plan.entries);
    if constexpr (kGrows) f.guard_.grows_for(plan.held / (std::max(1.0, static_cast<double>(o.room(w))) * p.growth));
    const std::vector<Known> accepted = guarded::detail::accepted_negatives(f.base_, w, o, Guard::kMaxCost);
    NAYSAY_CHECK(o.go_on("guarded"));
    NAYSAY_CHECK(f.pin_given(w, p.pinned, o.capacity > 0 ? plan.covered : 0));
    NAYSAY_CHECK(f.guard_costliest(accepted, p.pinned));
    o.say("bits per key of the base",
          static_cast<double>(f.base_.size_bits()) / static_cast<double>(std::max<std::uint64_t>(o.room(w), 1)));
    o.say("known negatives that the base accepts", static_cast<double>(accepted.size()));
    o.say("guarded", static_cast<double>(f.guard_.used()));
    o.say("room in the guard", static_cast<double>(f.guard_.room()));
    if (p.pinned == Pinning::all || f.pins_ != 0) {
      o.say("pinned", static_cast<double>(f.pins_));
      o.say("bits of the pinned index", static_cast<double>(f.index_bits()));
    }
    return f;
  }

  bool insert(Digest d) noexcept {
    if (guard_wants_growth()) guard_.grow();
    if (pins_ != 0) return insert_among_pinned(d);
    if (!base_.insert(d)) return false;
    guard_.remove(d);
    return true;
  }

  bool erase(Digest d) noexcept { return !guard_.holds(d) && base_.erase(d); }

  // True: d is refused from now on. False: the guard is full of pinned entries. Requires that d is not a key.
  bool adapt(Digest d, float cost) noexcept {
    if (!base_.may_contain(d)) return true;
    return guard(d, sane(cost));
  }

  // Pins a negative: it is refused from now on, whatever is inserted, until it is inserted itself. False: the guard is
  // full of pinned entries that are needed, the index was dropped, or d is the digest of 128 zeros; nothing has changed.
  // May allocate: the index grows. Requires that d is not a key.
  bool pin(Digest d) requires AddressedFilter<Base> {
    if (d == PinnedIndex::kUnused || (pins_ != 0 && index_.empty())) return false;
    if (index_.contains(d, address())) return true;
    const bool accepted = base_.may_contain(d);
    if (accepted && !guard_.holds(d) && !has_room_for(1, base_.address(d))) return false;
    index_.add(d, pins_, address());
    ++pins_;
    if (!accepted || guard(d, Guard::kPinned)) return true;
    index_.remove(d, address());  // no free slot within reach
    --pins_;
    return false;
  }
  // The opposite: d is an ordinary negative again. If it has an entry, that stays until it is evicted from a full guard.
  // False: d is not pinned, or the index was dropped.
  bool unpin(Digest d) noexcept requires AddressedFilter<Base> {
    if (!index_.remove(d, address())) return false;
    --pins_;
    if (const std::uint64_t slot = guard_.find(d); slot != Guard::kNone) guard_.unpin(slot);
    return true;
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

  Result<Ok> merge(const Guarded& other) requires kGrows { return Merge::run(*this, other); }
  const Base& base() const noexcept { return base_; }
  Base& base() noexcept { return base_; }  // a key that is inserted here must not be in the guard
  bool refuses(Digest d) const noexcept { return guard_.holds(d); }  // because it is in the guard
  bool guard_wants_growth() const noexcept {                         // the next insert lets it
    if constexpr (kGrows) return guard_.wants_growth(base_.keys());
    return false;
  }
  std::uint64_t guarded() const noexcept { return guard_.used(); }
  std::uint64_t guard_room() const noexcept { return guard_.room(); }
  std::uint64_t guard_evictions() const noexcept { return guard_.evictions(); }
  std::uint64_t pinned() const noexcept { return pins_; }
  // About what was reported of a negative that the guard refuses, less what it has aged: within 9 %, right on average. 0
  // if it has no entry, and 1 if it is pinned.
  double guarded_cost(Digest d) const noexcept {
    const std::uint64_t slot = guard_.find(d);
    return slot == Guard::kNone ? 0 : guard_.cost_of(slot);
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
  friend Merge;

  static constexpr std::uint64_t kSweep = 6;  // lines checked per addition: 30 queries of the base
  static constexpr std::uint64_t kMaxGuard = std::uint64_t{1} << 40;

  template <class BaseProbe>
  struct Probe {
    BaseProbe base;
    Digest digest;
  };

  static float sane(float cost) noexcept { return cost > 0 ? std::min(cost, Guard::kMaxCost) : 0; }

  static Result<guarded::GuardPlan> choose(const Workload& w, const Params& p, const BuildOptions& o) {
    guarded::GuardProblem q;
    q.keys = static_cast<double>(std::max<std::uint64_t>(o.room(w), 1));
    q.bits = p.bits_per_key * q.keys;
    q.negatives = static_cast<double>(w.negatives.size());
    q.stranger_share = w.stranger_share;
    q.all = p.pinned == Pinning::all;
    if constexpr (kGrows) q.growth = std::max(1.0, p.growth);
    const auto price = [&](double fpr) {
      if constexpr (kGrows) return Base::bits_per_key(fpr, std::max(1.0, p.growth));
      return Base::bits_per_key(fpr);
    };
    if (p.guard >= 0)
      return guarded::plan_with(q, std::min(static_cast<std::uint64_t>(p.guard), kMaxGuard), price, Guard::bits_for);
    std::vector<float> descending(w.costs.begin(), w.costs.end());
    std::sort(descending.begin(), descending.end(), std::greater<>());
    q.descending = descending;
    const guarded::GuardPlan plan = guarded::plan_guard(q, price, Guard::bits_for);
    if (q.all && plan.covered < q.negatives)
      return Error{Errc::out_of_budget, "guarded: " + to_text(w.negatives.size()) + " pinned negatives and " +
                                            to_text(o.room(w)) + " keys need " +
                                            rounded_up_text(guarded::bits_for_all(q, price, Guard::bits_for) / q.keys) +
                                            " bits_per_key, but it is " + rounded_text(p.bits_per_key) +
                                            "; use that, or pinned=auto, which pins the costliest"};
    return plan;
  }

  // Pinned ones first, then the costliest, until the guard is full.
  Result<Ok> guard_costliest(const std::vector<Known>& accepted, Pinning pinned) {
    struct Entry {
      bool pinned;
      Known known;
    };
    std::vector<Entry> entries;
    for (const Known& k : accepted) entries.push_back({is_pinned(k.digest), k});
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      if (a.pinned != b.pinned) return a.pinned;
      return a.known.cost != b.known.cost ? a.known.cost > b.known.cost : a.known.digest < b.known.digest;
    });
    while (entries.size() > guard_.room() && kGrows && entries[guard_.room()].pinned && guard_.grow()) {
    }
    const bool fits = entries.size() <= guard_.room() || !entries[guard_.room()].pinned;
    if (!fits && pinned == Pinning::costliest) {  // the plan was wrong, once in 1e9 builds: none is pinned
      index_ = {};
      pins_ = 0;
    }
    for (const Entry& e : entries) {
      if (guard_.full() && (fits || pinned == Pinning::costliest)) break;
      const bool pin = e.pinned && pins_ != 0;
      if ((guard_.full() || !guard_.put(e.known.digest, pin ? Guard::kPinned : e.known.cost)) && pin)
        return Error{Errc::out_of_budget, "guarded: the base accepts " + to_text(std::uint64_t{accepted.size()}) +
                                              " pinned negatives and the guard has room for " + to_text(guard_.room()) +
                                              "; use more bits_per_key"};
    }
    return Ok{};
  }
  bool is_pinned(Digest d) const noexcept {
    if constexpr (AddressedFilter<Base>) return index_.contains(d, address());
    return false;
  }

  // `most`: how many the plan covers, for Pinning::costliest.
  Result<Ok> pin_given(const Workload& w, Pinning which, double most) {
    if constexpr (AddressedFilter<Base>) {
      if (which == Pinning::none || (which == Pinning::costliest && most < 1)) return Ok{};
      std::vector<Digest> digests(w.negatives.begin(), w.negatives.end());
      if (which == Pinning::costliest && most < static_cast<double>(digests.size()))
        digests = guarded::detail::costliest(w, most);
      if (const auto zero = std::find(digests.begin(), digests.end(), PinnedIndex::kUnused); zero != digests.end()) {
        if (which == Pinning::all)
          return Error{Errc::invalid_argument, "guarded: a negative has the digest 0, which cannot be pinned"};
        digests.erase(std::remove(zero, digests.end(), PinnedIndex::kUnused), digests.end());
      }
      index_ = PinnedIndex(std::move(digests), address());
      for (const Digest& key : w.keys) index_.remove(key, address());
      pins_ = index_.count();
      if (pins_ == 0) index_ = {};
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
      bool all = true;
      if (others != 0)
        index_.for_each(here, address(), [&](Digest x) { all = (x == d || guard(x, Guard::kPinned)) && all; });
      if (!all) {  // no free slot within reach: it has not been seen
        base_.erase(d);
        return false;
      }
      guard_.remove(d);
      if (was_pinned) {
        index_.remove(d, address());
        --pins_;
      }
      return true;
    }
    return false;
  }
  bool has_room_for(std::uint64_t needed, std::uint64_t here) const noexcept {
    const std::uint64_t room = guard_.room() - std::min(guard_.room(), guard_.pinned());
    if (room >= needed) return true;
    if constexpr (AddressedFilter<Base>)
      return needed - room == guard_.count_pinned(needed - room, [&](std::uint64_t lo) {
        const Digest x{lo, 0};
        return !base_.may_contain(x) && base_.address(x) != here;
      });
    return false;
  }

  bool guard(Digest d, float cost) noexcept {
    if (const std::uint64_t slot = guard_.find(d); slot != Guard::kNone) {
      guard_.raise(slot, cost);
      return true;
    }
    return make_room() && (guard_.put(d, cost) || (guard_.evict() && guard_.put(d, cost)));
  }
  bool make_room() noexcept {
    if (!guard_.full()) return true;
    drop_idle(kSweep);
    if (!guard_.full() || guard_.evict()) return !guard_.full();
    drop_idle(guard_.lines());
    return !guard_.full();
  }
  // Drops entries that the base denies, line by line, until there is room or `lines` lines have been checked. The guard
  // keeps only lo whole: an address is made of lo alone, and other bases may need hi too.
  void drop_idle([[maybe_unused]] std::uint64_t lines) noexcept {
    if constexpr (AddressedFilter<Base>)
      for (; lines > 0 && guard_.full(); --lines)
        guard_.sweep([this](std::uint64_t slot, std::uint64_t lo) {
          if (!base_.may_contain({lo, 0})) guard_.remove(slot);
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
              ProbedFilter<GuardedCuckoo> && IndexedFilter<GuardedCuckoo> && PinningFilter<GuardedCuckoo>);
static_assert(ErasableFilter<GuardedSeesaw> && AdaptiveFilter<GuardedSeesaw> && TunableFilter<GuardedSeesaw> &&
              !PinningFilter<GuardedSeesaw>);

}  // namespace naysay

#include "naysay/guarded/detail/guarded_merge.hpp"  // IWYU pragma: export
