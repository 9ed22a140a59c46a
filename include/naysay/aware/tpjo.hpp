// Tpjo: two-phase joint optimisation, the build of HABF. It moves functions of keys away from costly negatives.
//
//   collision queue      costliest first; victims of a move join the tail
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
// Both run-time indices of the paper live in one word per bit, because they never need it at the same time:
//
//   bit is 1    V: the one key that set it, or kPinned when it may never be cleared (it has several owners, or its
//               owner has been moved: a key is moved at most once)
//   bit is 0    Gamma: the first of the negatives that *watch* it
//
// Gamma needs only one entry per negative, not k: each refused negative watches one of its zero bits, no matter which.
// Setting a bit concerns only its watchers; one that has another zero bit goes to watch that, one that has not is
// accepted from then on. A negative whose only zero is this bit must be among the watchers, so nothing is missed.
//
//   paper                      here
//   V[i].keyid, .singleflag    index_[i] of a set bit
//   Gamma[i], zeta             index_[i] of a clear bit and next_; toll()
//   e_ck, e_opk, CQ            a collision, a refused negative, queue_
//   xi_ck                      the bits of a collision that have a single owner
//   H, H0, H_c                 functions 1..family, 1..k, k + 1..family
//   Theta                      Workload::cost
//
// Promises   no key is ever denied: a bit is cleared only when its single owner leaves it, and the owner's new functions
//            are in the HashExpressor by then.
// Cost       one word per bit, with Gamma one more per negative, while building; time in proportion to keys + negatives +
//            collisions.
// Source     Xie et al., Hash Adaptive Bloom Filter, ICDE 2021, III-D.
#pragma once

#include <limits>

#include "naysay/aware/hash_expressor.hpp"

namespace naysay {

// What the optimisation did. Collisions are negatives that all keys together, under H0, would let pass.
struct TpjoOutcome {
  std::uint64_t collisions = 0;    // found at the start
  std::uint64_t moved = 0;         // collisions refused by moving a key
  std::uint64_t in_passing = 0;    // collisions refused by a move made for another
  std::uint64_t no_candidate = 0;  // failed: no single-owner bit, or every way out costs more than it saves
  std::uint64_t no_room = 0;       // failed: no way out fits into the HashExpressor
  std::uint64_t requeued = 0;      // refused negatives that a move made collisions again
  std::uint64_t also_keys = 0;     // collisions that are keys
  double left = 0;                 // the cost of all that failed
};

// Scheme::hash(digest, i) is the i-th function as a 64-bit word, i >= 1, and Scheme::entry(digest) that of the HashExpressor's
// entry; Scheme::kGamma says whether keys may move to clear bits. Index holds the number of a key or a negative.
template <class Scheme, class Index>
class Tpjo {
 public:
  // Requires k < family, and words for `bits` bits, all zero.
  Tpjo(const Workload& w, unsigned k, unsigned family, std::uint64_t bits, std::uint64_t* words, HashExpressor& expressor)
      : w_(w), k_(k), family_(family), bits_(bits), words_(words), expressor_(expressor), index_(bits) {}

  TpjoOutcome run() {
    set_keys();
    sort_out_negatives();
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      if (i % kTellEvery == 0) w_.tell("habf: moving keys", i, queue_.size());
      if (i + kLead < queue_.size()) prefetch(w_.negatives[queue_[i + kLead]]);
      resolve(queue_[i]);
    }
    return outcome_;
  }

 private:
  static constexpr Index kNobody = 0;  // else the number of a key or negative, plus 1
  static constexpr Index kPinned = std::numeric_limits<Index>::max();
  static constexpr std::size_t kLead = kAhead;

  std::uint64_t position(Digest d, unsigned i) const noexcept { return fast_range(Scheme::hash(d, i), bits_); }
  void prefetch(Digest d) const noexcept {
    for (unsigned i = 1; i <= k_; ++i) __builtin_prefetch(index_.data() + position(d, i), 1);
  }

  // The paper's V: who owns which bit alone.
  void set_keys() {
    Index* index = index_.mutable_data();
    const std::size_t n = w_.keys.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (i % kTellEvery == 0) w_.tell("habf: setting bits", i, n);
      if (i + kLead < n) prefetch(w_.keys[i + kLead]);
      const Digest d = w_.keys[i];
      for (unsigned j = 1; j <= k_; ++j) {
        const std::uint64_t p = position(d, j);
        const Index owner = index[p];
        if (owner == kNobody) {
          index[p] = static_cast<Index>(i + 1);
          set_bit(words_, p);
        } else if (owner != kPinned && (owner == i + 1 || w_.keys[owner - 1] != d)) {
          index[p] = kPinned;  // a copy of the owner, though, is moved with it
        }
      }
    }
  }

  // Those that pass are queued, costliest first; the others watch.
  void sort_out_negatives() {
    const std::size_t n = w_.negatives.size();
    if constexpr (Scheme::kGamma) next_ = Array<Index>(n);
    for (std::size_t j = 0; j < n; ++j) {
      if (j % kTellEvery == 0) w_.tell("habf: asking negatives", j, n);
      if (!(w_.cost(j) > 0)) continue;  // nothing to save
      const std::uint64_t zero = clear_bit_of(w_.negatives[j], bits_);
      if (zero == bits_)
        queue_.push_back(static_cast<Index>(j));
      else
        watch(zero, static_cast<Index>(j));
    }
    outcome_.collisions = queue_.size();
    std::stable_sort(queue_.begin(), queue_.end(), [&](Index a, Index b) { return w_.cost(a) > w_.cost(b); });
  }

  void watch(std::uint64_t bit, Index j) noexcept {
    if constexpr (Scheme::kGamma) {
      next_.at_mut(j) = index_[bit];
      index_.at_mut(bit) = j + 1;
    }
  }

  // A clear bit of d's k, other than `except`; bits_ if there is none.
  std::uint64_t clear_bit_of(Digest d, std::uint64_t except) const noexcept {
    for (unsigned i = 1; i <= k_; ++i) {
      const std::uint64_t p = position(d, i);
      if (p != except && !test_bit(words_, p)) return p;
    }
    return bits_;
  }

  // A way to have a collision refused: the key `owner` leaves bit `from` for bit `to`.
  struct Move {
    Index owner;
    std::uint64_t from, to;
    double toll;  // the cost of the negatives that would pass instead
    HashExpressor::Plan plan;
  };

  void resolve(Index j) {
    const Digest x = w_.negatives[j];
    if (const std::uint64_t zero = clear_bit_of(x, bits_); zero != bits_) {
      ++outcome_.in_passing;
      watch(zero, j);
      return;
    }
    Move best;
    bool found = false, wanted_room = false;
    best.toll = w_.cost(j);
    best.plan.shared = 0;
    for (unsigned i = 1; i <= k_; ++i) {
      const std::uint64_t from = position(x, i);
      const Index owner = index_[from];
      if (owner == kPinned) continue;
      if (w_.keys[owner - 1] == x) {
        ++outcome_.also_keys;
        return;
      }
      consider(static_cast<Index>(owner - 1), from, best, found, wanted_room);
    }
    if (!found) {
      ++(wanted_room ? outcome_.no_room : outcome_.no_candidate);
      outcome_.left += w_.cost(j);
      return;
    }
    ++outcome_.moved;
    make(best, j);
  }

  // All ways of one owner: phase 1 finds a function that costs no more than the best so far, phase 2 a chain for it.
  void consider(Index owner, std::uint64_t from, Move& best, bool& found, bool& wanted_room) const {
    const Digest s = w_.keys[owner];
    std::array<std::uint8_t, HashExpressor::kMaxFamily> functions;
    unsigned leaving = 0;
    for (unsigned i = 1; i <= k_; ++i) {
      functions[i - 1] = static_cast<std::uint8_t>(i);
      if (position(s, i) == from) leaving = i - 1;
    }
    for (unsigned c = k_ + 1; c <= family_; ++c) {
      const std::uint64_t to = position(s, c);
      if (to == from) continue;
      double price = 0;
      if (!test_bit(words_, to)) {
        if constexpr (!Scheme::kGamma) continue;
        price = toll(to, from, best.toll);
        if (price > best.toll) continue;
      }
      wanted_room = true;
      functions[leaving] = static_cast<std::uint8_t>(c);
      const unsigned at_least = found && price >= best.toll ? best.plan.shared + 1 : 0;
      if (!expressor_.plan(std::span(functions.data(), k_), [&](unsigned i) { return expressor_.cell_of(i == 0 ? Scheme::entry(s) : Scheme::hash(s, i)); }, at_least, best.plan))
        continue;
      found = true;
      best.owner = owner;
      best.from = from;
      best.to = to;
      best.toll = price;
    }
  }

  // The paper's conflict detection: what it would cost to set bit `to` while `from` is cleared. Stops above `limit`.
  double toll(std::uint64_t to, std::uint64_t from, double limit) const noexcept {
    double sum = 0;
    for (Index at = index_[to]; at != kNobody && sum <= limit; at = next_[at - 1]) {
      const Digest x = w_.negatives[at - 1];
      bool refused = false;
      for (unsigned i = 1; i <= k_ && !refused; ++i) {
        const std::uint64_t p = position(x, i);
        refused = p == from || (p != to && !test_bit(words_, p));
      }
      if (!refused) sum += w_.cost(at - 1);
    }
    return sum;
  }

  void make(const Move& move, Index j) {
    Index* index = index_.mutable_data();
    const Digest s = w_.keys[move.owner];
    expressor_.write(move.plan);
    for (unsigned i = 1; i <= k_; ++i) {
      const std::uint64_t p = position(s, i);
      if (index[p] == move.owner + 1) index[p] = kPinned;  // what is left of its bits is there to stay
    }
    clear_bit(words_, move.from);
    index[move.from] = kNobody;
    watch(move.from, j);
    Index at = test_bit(words_, move.to) ? kNobody : index[move.to];
    set_bit(words_, move.to);
    index[move.to] = kPinned;
    while (at != kNobody) {
      const Index watcher = at - 1;
      at = next_[watcher];
      if (const std::uint64_t zero = clear_bit_of(w_.negatives[watcher], bits_); zero != bits_) {
        watch(zero, watcher);
      } else {
        ++outcome_.requeued;
        queue_.push_back(watcher);
      }
    }
  }

  const Workload& w_;
  const unsigned k_, family_;
  const std::uint64_t bits_;
  std::uint64_t* words_;
  HashExpressor& expressor_;
  Array<Index> index_;  // by bit
  Array<Index> next_;   // by negative: the next that watches the same bit
  std::vector<Index> queue_;
  TpjoOutcome outcome_;
};

}  // namespace naysay
