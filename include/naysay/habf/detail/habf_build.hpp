// SPDX-License-Identifier: Apache-2.0
// Tpjo: two-phase joint optimisation, the build of HABF. It moves keys to other functions for costly negatives.
//
//   collision queue      costliest first; negatives that a move makes collide again join the tail
//        |
//        v
//   negative x accepted: bits  p1  p2  p3  all set
//                              |       |
//                  single owner s      single owner t          phase 1: which key leaves which bit, and for where?
//                              |
//          s: {h1 h2 h3} -> {h1 h3 h5}: leaves p1, goes to h5(s)
//                              |
//          the chain {h1 h3 h5} of s fits into the HashExpressor          phase 2: can the move be remembered?
//                              |
//          p1 is cleared, x is refused
//
// The paper's two run-time indices are kept only for the bits that matter, and those are few:
//
//   V       the bits of the queued collisions, each with the one key that set it, by digest. A second pass over the
//           keys finds it; a bit that two different keys set is fixed.
//   Gamma   the targets: bits that one of those keys could move to. A refused negative is in danger only if all its
//           clear bits are targets, and then it *watches* one of them, no matter which. When a bit is set, only its
//           watchers are looked at: one with another clear bit watches that, one without is accepted from then on.
//
// Negatives that are accepted again are the next round, with a V and a Gamma of their own.
//
//   paper                      here
//   V[i].keyid, .singleflag    owner_[wanted_.slot(i)], not fixed_
//   Gamma[i], zeta             watchers of a bit; toll()
//   e_ck, e_opk, CQ            a collision, a refused negative, queue
//   xi_ck                      the bits of a collision that have a single owner
//   H, H0, H_c                 functions 1..family, 1..k, k + 1..family
//   Theta                      Workload::cost
//
// Promises   no key is ever denied: a bit is cleared only when its single owner leaves it, and by then the owner's new
//            functions are in the HashExpressor.
// Cost       One pass over the keys and one over the negatives, and both again for each round. Memory: about three
//            times the filter.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, III-D.
#pragma once

#include "naysay/habf/detail/habf_hashes.hpp"
#include "naysay/habf/detail/hash_expressor.hpp"

namespace naysay::habf {

// What the optimisation did. Collisions are the negatives that are accepted if all keys use H0.
struct TpjoOutcome {
  std::uint64_t collisions = 0;    // found at the start
  std::uint64_t moved = 0;         // collisions refused by moving a key
  std::uint64_t in_passing = 0;    // collisions refused by a move made for another
  std::uint64_t no_candidate = 0;  // failed: no single-owner bit, or every way out costs more than it saves
  std::uint64_t no_room = 0;       // failed: no way out fits into the HashExpressor
  std::uint64_t requeued = 0;      // refused negatives that a move made collisions again
  double left = 0;                 // the cost of all that failed
};

// Gamma: keys may also move to clear bits; otherwise to set ones only.
template <bool Gamma, class Hashes = DoubleHashes>
class Tpjo {
  using Item = typename Hashes::Item;

 public:
  // Requires k < family, and words for `bits` bits, all zero.
  Tpjo(const Workload& w, const BuildOptions& o, unsigned k, unsigned family, std::uint64_t bits, std::uint64_t* words,
       HashExpressor& expressor, const Hashes& hashes = {}, bool first_fit = false)
      : hashes_(hashes),
        first_fit_(first_fit),
        w_(w),
        o_(o),
        k_(k),
        family_(family),
        bits_(bits),
        words_(words),
        expressor_(expressor),
        fixed_(words_for_bits(bits)) {}

  TpjoOutcome run() {
    each(w_.keys, w_.key_bytes, "habf: setting bits", words_, [&](std::size_t, const Item&, const std::uint64_t* at) {
      for (unsigned i = 0; i < k_; ++i) set_bit(words_, at[i]);
    });
    std::vector<std::uint64_t> queue;
    each(w_.negatives, w_.negative_bytes, "habf: querying negatives", words_,
         [&](std::size_t j, const Item&, const std::uint64_t* at) {
           if (clear_among(at) == bits_ && w_.cost(j) > 0) queue.push_back(j);  // at no cost there is nothing to save
         });
    outcome_.collisions = queue.size();
    std::stable_sort(queue.begin(), queue.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return w_.cost(a) > w_.cost(b); });
    while (!queue.empty() && !o_.cancelled()) {
      find_owners(queue);
      if constexpr (Gamma) find_watchers();
      for (std::size_t i = 0; i < queue.size(); ++i) {
        if (i % kTellEvery == 0 && !o_.tell("habf: moving keys", i, queue.size())) return outcome_;
        resolve(queue[i]);
      }
      outcome_.requeued += victims_.size();
      queue = std::move(victims_);
      victims_.clear();
    }
    return outcome_;
  }

 private:
  using Positions = std::array<std::uint64_t, HashExpressor::kMaxFamily>;

  static Item item(std::span<const Digest> all, std::span<const std::string_view> texts, std::size_t i) noexcept {
    return Hashes::item(all[i], texts.empty() ? std::string_view() : texts[i]);
  }
  Item negative(std::uint64_t j) const noexcept { return item(w_.negatives, w_.negative_bytes, j); }
  std::uint64_t position(const Item& x, std::uint64_t i) const noexcept {
    return hashes_.position(hashes_.word(x, i), bits_);
  }
  void positions(const Item& x, std::uint64_t* at) const noexcept {
    for (std::uint64_t i = 1; i <= k_; ++i) at[i - 1] = position(x, i);
  }

  // Calls body(number, item, its k positions) for all digests, after their words in `bits` have been prefetched.
  template <class Body>
  void each(std::span<const Digest> all, std::span<const std::string_view> texts, std::string_view stage,
            const std::uint64_t* bits, Body&& body) const {
    std::array<Positions, kAhead> at;
    for (std::size_t first = 0; first < all.size(); first += kAhead) {
      if (first % kTellEvery == 0 && !o_.tell(stage, first, all.size())) return;
      const std::size_t many = std::min(kAhead, all.size() - first);
      for (std::size_t i = 0; i < many; ++i) {
        positions(item(all, texts, first + i), at[i].data());
        for (unsigned j = 0; j < k_; ++j) __builtin_prefetch(bits + (at[i][j] >> 6));
      }
      for (std::size_t i = 0; i < many; ++i) body(first + i, item(all, texts, first + i), at[i].data());
    }
  }

  // The first clear bit of k; bits_ if all are set.
  std::uint64_t clear_among(const std::uint64_t* at) const noexcept {
    for (unsigned i = 0; i < k_; ++i)
      if (!test_bit(words_, at[i])) return at[i];
    return bits_;
  }

  // The paper's V, for the bits of the queue.
  void find_owners(const std::vector<std::uint64_t>& queue) {
    wanted_ = RankedBits(bits_);
    Positions at;
    for (std::uint64_t j : queue) {
      positions(negative(j), at.data());
      for (unsigned i = 0; i < k_; ++i)
        if (!test_bit(fixed_.data(), at[i])) wanted_.set(at[i]);
    }
    owner_ = Array<Item>(wanted_.seal());
    Array<std::uint64_t> known(words_for_bits(owner_.size()));
    each(w_.keys, w_.key_bytes, "habf: finding owners", wanted_.words(),
         [&](std::size_t, const Item& d, const std::uint64_t* p) {
           for (unsigned i = 0; i < k_; ++i) {
             if (!wanted_.test(p[i])) continue;
             const std::uint64_t slot = wanted_.slot(p[i]);
             if (!test_bit(known.data(), slot)) {
               set_bit(known.mutable_data(), slot);
               owner_.at_mut(slot) = d;
             } else if (Hashes::digest_of(owner_[slot]) !=
                        Hashes::digest_of(d)) {  // a copy of the owner is moved with it
               fix(p[i]);
             }
           }
         });
  }

  // The paper's Gamma, for the bits that owners could move to.
  void find_watchers() {
    targets_ = RankedBits(bits_);
    for (const Item& s : owner_)
      for (std::uint64_t c = k_ + 1; c <= family_; ++c) targets_.set(position(s, c));
    first_ = Array<std::uint64_t>(targets_.seal());
    watchers_.assign(1, {});
    each(w_.negatives, w_.negative_bytes, "habf: finding watchers", words_,
         [&](std::size_t j, const Item&, const std::uint64_t* at) {
           if (w_.cost(j) > 0 && clear_among(at) != bits_) watch(j, at);
         });
  }

  struct Watcher {
    std::uint64_t negative = 0;
    std::uint64_t next = 0;  // of those that watch the same bit; 0: none
  };

  // False if all bits of the negative are set. One that has a clear bit which no key can move to need not watch.
  bool watch(std::uint64_t j, const std::uint64_t* at) {
    if constexpr (!Gamma) return true;
    std::uint64_t target = bits_;
    for (unsigned i = 0; i < k_; ++i) {
      if (test_bit(words_, at[i])) continue;
      target = at[i];
      if (!targets_.test(target)) return true;
    }
    if (target == bits_) return false;
    std::uint64_t& head = first_.at_mut(targets_.slot(target));
    watchers_.push_back({j, head});
    head = watchers_.size() - 1;
    return true;
  }

  void fix(std::uint64_t bit) noexcept { set_bit(fixed_.mutable_data(), bit); }

  // A way to have a collision refused: the key `owner` leaves bit `from` for bit `to`.
  struct Move {
    Item owner;
    std::uint64_t from, to;
    double toll;  // the cost of the negatives that would pass instead
    HashExpressor::Plan plan;
  };

  void resolve(std::uint64_t j) {
    Positions at;
    positions(negative(j), at.data());
    if (clear_among(at.data()) != bits_) {
      ++outcome_.in_passing;
      watch(j, at.data());
      return;
    }
    Move best;
    best.toll = w_.cost(j);
    bool found = false, wanted_room = false;
    for (unsigned i = 0; i < k_; ++i) {
      if (test_bit(fixed_.data(), at[i])) continue;
      const Item& owner = owner_[wanted_.slot(at[i])];
      if (Hashes::digest_of(owner) == w_.negatives[j]) return;  // it is a key
      consider(owner, at[i], best, found, wanted_room);
    }
    if (!found) {
      ++(wanted_room ? outcome_.no_room : outcome_.no_candidate);
      outcome_.left += w_.cost(j);
      return;
    }
    ++outcome_.moved;
    make(best);
    watch(j, at.data());
  }

  // All moves of one owner: phase 1 finds a function that costs no more than the best so far, phase 2 a chain for it.
  void consider(const Item& s, std::uint64_t from, Move& best, bool& found, bool& wanted_room) const {
    std::array<std::uint8_t, HashExpressor::kMaxFamily> functions;
    unsigned leaving = 0, times = 0;
    for (unsigned i = 0; i < k_; ++i) {
      functions[i] = static_cast<std::uint8_t>(i + 1);
      if (position(s, i + 1) == from) leaving = i, ++times;
    }
    if (times != 1) return;  // two of its functions lead here, so moving one would not clear the bit
    for (unsigned c = k_ + 1; c <= family_; ++c) {
      const std::uint64_t to = position(s, c);
      if (to == from) continue;
      if (first_fit_ && found && best.toll == 0) return;
      double price = 0;
      if (!test_bit(words_, to)) {
        if constexpr (!Gamma) continue;
        price = toll(to, from, best.toll);
        if (price > best.toll) continue;
      }
      if (first_fit_ && found && price >= best.toll) continue;
      wanted_room = true;
      functions[leaving] = static_cast<std::uint8_t>(c);
      const unsigned at_least = !first_fit_ && found && price >= best.toll ? best.plan.shared + 1 : 0;
      const auto cell_of = [&](unsigned i) { return hashes_.cell(hashes_.word(s, i), expressor_.cells()); };
      if (at_least > k_ || !expressor_.plan(std::span(functions.data(), k_), cell_of, at_least, best.plan, first_fit_))
        continue;
      found = true;
      best.owner = s;
      best.from = from;
      best.to = to;
      best.toll = price;
    }
  }

  // The paper's conflict detection: what it would cost to set bit `to` while `from` is cleared. Stops above `limit`.
  double toll(std::uint64_t to, std::uint64_t from, double limit) const noexcept {
    double sum = 0;
    for (std::uint64_t a = first_[targets_.slot(to)]; a != 0 && sum <= limit; a = watchers_[a].next) {
      Positions at;
      positions(negative(watchers_[a].negative), at.data());
      bool refused = false;
      for (unsigned i = 0; i < k_; ++i) refused |= at[i] == from || (at[i] != to && !test_bit(words_, at[i]));
      if (!refused) sum += w_.cost(watchers_[a].negative);
    }
    return sum;
  }

  void make(const Move& move) {
    expressor_.write(move.plan);
    Positions at;
    positions(move.owner, at.data());
    for (unsigned i = 0; i < k_; ++i)
      if (at[i] != move.from) fix(at[i]);  // a key is moved at most once: its other bits stay set
    clear_bit(words_, move.from);
    fix(move.to);
    if (test_bit(words_, move.to)) return;
    set_bit(words_, move.to);
    if constexpr (Gamma) {
      std::uint64_t a = std::exchange(first_.at_mut(targets_.slot(move.to)), 0);
      while (a != 0) {
        const Watcher watcher = watchers_[a];
        a = watcher.next;
        positions(negative(watcher.negative), at.data());
        if (!watch(watcher.negative, at.data())) victims_.push_back(watcher.negative);
      }
    }
  }

  const Hashes hashes_;
  const bool first_fit_;  // the first move and chain that fit, not those that share the most cells
  const Workload& w_;
  const BuildOptions& o_;
  const unsigned k_, family_;
  const std::uint64_t bits_;
  std::uint64_t* words_;
  HashExpressor& expressor_;
  Array<std::uint64_t> fixed_;  // bits that may never be cleared
  RankedBits wanted_;           // bits of the collisions in the queue
  Array<Item> owner_;           // of a wanted bit that is not fixed
  RankedBits targets_;          // bits that owners could move to
  Array<std::uint64_t> first_;  // of the watchers of a target
  std::vector<Watcher> watchers_;
  std::vector<std::uint64_t> victims_;
  TpjoOutcome outcome_;
};

}  // namespace naysay::habf
