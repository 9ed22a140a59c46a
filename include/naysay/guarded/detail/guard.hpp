// SPDX-License-Identifier: Apache-2.0
// Guard: a small table of digests with priorities. When it is full, the entry with the lowest priority is evicted, and
// priorities age.
//
//   hints    16 bits per slot, two set for each entry: for most digests they show that it is not here
//               |
//   line        v     lo of 5 entries           5 x 38 bits: name (30), priority (8)
//           +------+------+------+------+------+------------------------------------+
//           | lo 0 | lo 1 | lo 2 | lo 3 | lo 4 | name 0, p 0, name 1, p 1, ...      |     64 bytes: one cache line
//           +------+------+------+------+------+------------------------------------+
//               ^                    an entry has two lines, and is in one of them:
//   first = fast_range(hi)           second = (odd(lo) - first) mod lines; one is even, the other odd
//
// An entry is lo, which is kept whole, and a name: 29 bits of hi, those after the bits that choose the first line, and
// one bit that says whether the entry is in its first or its second line. If both lines are full, other entries move to
// their other lines, as in a cuckoo table. In a guard of up to 32 lines an entry may be in any of them, and the name is
// the top 30 bits of hi: two choices among so few would now and then not suffice.
//
// Every query of a key in a guarded filter reads the guard, and no key is in it. The hints answer such a query with one
// word and one branch that is nearly always the same. The hint bits of a removed entry stay; when a quarter of the slots
// has been removed, all hints are written again.
//
// Ageing (GreedyDual, with counts as in LFU with dynamic ageing). An entry that is put in gets the priority
// floor + cost, and each further report adds its cost. The floor rises to the priority of whatever is evicted. So an
// entry that was costly long ago sinks, compared with those that are reported today, and is evicted in the end.
//
//   p = 0       empty             p = 2 .. 254   unit * 2^((p - 2) / 8)
//   p = 1       priority 0        p = 255        pinned: never evicted
//
// Between two steps of 9 % a priority is rounded up or down at random, in proportion (dithered), so that small additions
// count on average; the random number is a hash of a counter, so the same calls give the same bytes. Every slots / 4
// evictions the floor is subtracted from all priorities: then steps are small where it matters.
//
// Promises   holds() is true for every digest that was put in and neither removed nor evicted. put() succeeds in a guard
//            that is not full, but for very rare cases in which 128 lines have no free slot. Pinned entries are never
//            evicted. evict() takes the lowest of 64 lines, or of all if there are fewer.
// Does not   distinguish two digests that agree in lo and in the name, and in the first line if there are more than 32:
//            93 bits + log2(lines) as it was made, 94 if that was a small guard. For 1e9 keys and 1e9 negatives in the guard that are 5e-11
//            such pairs in a small guard, and 1e-10 / lines in a larger one. Integer keys under XXH3: none, because
//            their lo differ.
// Cost       For a digest that is not here: one word, and two lines for one in 60. Put, raise, remove: two lines.
//            evict(): 64 lines. grow(): all lines. bits_for(entries): 129 bits per entry, with 23/25 of the slots in use.
// Source     GreedyDual: N. Young, 1994; ageing of counts: M. Arlitt et al., 2000 (LFU-DA).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "naysay/core/bits.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/guarded/detail/guard_v1.hpp"

namespace naysay::guarded::detail {

class Guard {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr float kPinned = std::numeric_limits<float>::max();  // as a cost: never evicted
  static constexpr float kMaxCost = 1e38f;                             // of one report, below kPinned

  Guard() = default;
  // Room for at least `entries` entries; 0: always empty.
  explicit Guard(std::uint64_t entries)
      : lines_(lines_for(entries)), hints_(hints_for(lines_)), words_(lines_ * kWords) {}
  static constexpr std::uint64_t bits_for(std::uint64_t entries) noexcept {
    const std::uint64_t lines = lines_for(entries);
    return 64 * (hints_for(lines) + lines * kWords);
  }

  std::uint64_t room() const noexcept { return few() ? slots() : slots() * 23 / 25; }
  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t pinned() const noexcept { return pinned_; }
  bool full() const noexcept { return used_ >= room(); }
  std::uint64_t lines() const noexcept { return lines_; }
  std::uint64_t evictions() const noexcept { return evictions_; }  // since it was made

  bool holds(Digest d) const noexcept {
    if (!hinted(d.lo)) [[likely]]
      return false;
    return is_here(d.lo, d.hi);
  }

  // The slot of d, or kNone.
  std::uint64_t find(Digest d) const noexcept {
    if (few()) {
      for (std::uint64_t line = 0; line < lines_; ++line)
        if (const std::uint64_t slot = find_in(line, d.lo, d.hi >> 34); slot != kNone) return slot;
      return kNone;
    }
    const Home home = home_of(d);
    if (const std::uint64_t slot = find_in(home.first, d.lo, home.name); slot != kNone) return slot;
    return find_in(other(home.first, d.lo), d.lo, home.name | 1);
  }

  // Twice the lines, with the same entries. False: no memory, or it has no lines or too many; nothing has changed.
  bool grow() noexcept;  // guard_growth.hpp
  // It shall hold held_per_key false positives for each key of its filter; 0, as at first: it does not grow.
  void grows_for(double held_per_key) noexcept { held_per_key_ = held_per_key; }
  bool wants_growth(std::uint64_t keys) const noexcept;  // it is full, and has less room than `keys` keys need

  // Requires !full() and !holds(d). cost is 0 to kMaxCost, or kPinned. False: no free slot was found within reach.
  bool put(Digest d, float cost) noexcept {
    return place(d, cost == kPinned ? kPin : code_for(floor_ + static_cast<double>(cost)));
  }

  // Requires a slot in use. Costs add up; a pinned entry stays pinned.
  void raise(std::uint64_t slot, float cost) noexcept {
    const std::uint64_t p = priority(slot);
    if (p == kPin) return;
    pinned_ += cost == kPinned;
    set_priority(slot, cost == kPinned ? kPin : code_for(std::max(value(p), floor_) + static_cast<double>(cost)));
  }

  // Requires a slot in use. A pinned entry becomes an ordinary one of cost 1.
  void unpin(std::uint64_t slot) noexcept {
    if (priority(slot) != kPin) return;
    pinned_ -= 1;
    set_priority(slot, code_for(floor_ + 1));
  }

  // Requires a slot in use.
  void remove(std::uint64_t slot) noexcept {
    used_ -= 1;
    pinned_ -= priority(slot) == kPin;
    write(slot / kSlots, slot % kSlots, 0, 0);
    if (++removed_ > slots() / 4) write_hints_again();
  }
  void remove(Digest d) noexcept {
    if (hinted(d.lo)) [[unlikely]]
      take_out(d.lo, d.hi);
  }

  // Removes the entry of the lowest priority within reach of the hand. False: all entries are pinned.
  bool evict() noexcept {
    if (used_ <= pinned_) return false;
    std::uint64_t victim = kNone, lowest = kPin, line = hand_;
    for (std::uint64_t n = 0; n < lines_ && (n < kReach || victim == kNone); ++n, line = next(line))
      for (std::uint64_t k = 0; k < kSlots; ++k) {  // from another slot each time: of equals no place leaves first
        const std::uint64_t i = (k + evictions_) % kSlots;
        if (const std::uint64_t p = tail(line, i) & 0xff; p != 0 && p < lowest) lowest = p, victim = line * kSlots + i;
      }
    if (victim == kNone) return false;
    floor_ = std::max(floor_, value(lowest));
    hand_ = next(victim / kSlots);
    remove(victim);
    evictions_ += 1;
    if (++since_ > slots() / 4) subtract_floor();
    return true;
  }

  // Calls body(slot, lo) for the entries of the hand's line, and moves the hand to the next. body may remove.
  template <class Body>
  void sweep(Body&& body) noexcept {
    if (lines_ == 0) return;
    for (std::uint64_t slot = hand_ * kSlots; slot < (hand_ + 1) * kSlots; ++slot)
      if (priority(slot) != 0) body(slot, lo_at(slot));
    hand_ = next(hand_);
  }
  // Removes the entries whose lo satisfies the test.
  template <class Test>
  void remove_if(Test&& test) noexcept {
    for (std::uint64_t slot = 0; slot < slots(); ++slot)
      if (priority(slot) != 0 && test(lo_at(slot))) remove(slot);
  }
  // The number of pinned entries that satisfy test(lo), counted from the hand on, up to `enough`.
  template <class Test>
  std::uint64_t count_pinned(std::uint64_t enough, Test&& test) const noexcept {
    std::uint64_t found = 0, slot = hand_ * kSlots;
    for (std::uint64_t i = 0; i < slots() && found < enough; ++i, slot = slot + 1 < slots() ? slot + 1 : 0)
      found += priority(slot) == kPin && test(lo_at(slot));
    return found;
  }

  // What was reported of an entry, less what it has aged; 1 if it is pinned. Requires a slot in use.
  double cost_of(std::uint64_t slot) const noexcept {
    return priority(slot) == kPin ? 1 : std::max(0.0, value(priority(slot)) - floor_);
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    if constexpr (requires { visit.version(); } && !std::is_const_v<Self>)
      if (visit.version() < 2) return self.read_v1(visit);
    visit("lines", self.lines_);
    visit("used", self.used_);
    visit("pinned", self.pinned_);
    visit("hand", self.hand_);
    visit("removed", self.removed_);
    visit("evictions", self.evictions_);
    visit("since", self.since_);
    visit("clock", self.clock_);
    visit("floor", self.floor_);
    visit("unit", self.unit_);
    visit("lost", self.lost_);
    visit("cut", self.cut_);
    visit("held_per_key", self.held_per_key_);
    visit("hints", self.hints_);
    visit("words", self.words_);
  }
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, "guard: " + what}; };
    if (lines_ > kMaxLines || (!few() && lines_ % 2 != 0) || hints_.size() != hints_for(lines_) ||
        words_.size() != lines_ * kWords)
      return wrong("the arrays do not make " + std::to_string(lines_) + " lines");
    if (hand_ != 0 && hand_ >= lines_)
      return wrong("the hand is at line " + std::to_string(hand_) + "; there are " + std::to_string(lines_));
    if (cut_ > 1 || lost_ > kMostLost || (few() && lost_ != 0))
      return wrong("it has lost " + std::to_string(lost_) + " bits of its names");
    if (!(held_per_key_ >= 0 && held_per_key_ < kTop)) return wrong("held_per_key must be finite and 0 or more");
    if (!(floor_ >= 0 && floor_ < kTop && unit_ >= 0 && unit_ < kTop))
      return wrong("the floor and the unit of priorities must be finite and 0 or more");
    std::uint64_t used = 0, pinned = 0;
    for (std::uint64_t slot = 0; slot < slots(); ++slot) used += priority(slot) != 0, pinned += priority(slot) == kPin;
    if (used != used_ || pinned != pinned_)
      return wrong("it counts " + std::to_string(used_) + " entries, " + std::to_string(pinned_) +
                   " pinned; there are " + std::to_string(used) + ", " + std::to_string(pinned) + " pinned");
    return Ok{};
  }

 private:
  static constexpr std::uint64_t kSlots = 5, kWords = 8;  // of a line
  static constexpr std::uint64_t kFew = 32;               // lines of a guard that is searched whole
  static constexpr std::uint64_t kReach = 64;             // lines that evict() looks at
  static constexpr std::uint64_t kMaxLines = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kPin = 255;
  static constexpr unsigned kTailBits = 38;
  static constexpr std::uint64_t kMostLost = 24;  // of a name's 29 bits
  static constexpr double kTop = 1e200;
  static constexpr double kSteps[] = {1.0,
                                      1.0905077326652577,
                                      1.189207115002721,
                                      1.2968395546510096,
                                      1.4142135623730951,
                                      1.5422108254079407,
                                      1.681792830507429,
                                      1.8340080864093424,
                                      2.0};

  static constexpr std::uint64_t lines_for(std::uint64_t entries) noexcept {
    if (entries <= kFew * kSlots) return divide_up(entries, kSlots);
    return std::min(kMaxLines, 2 * divide_up(std::min(entries, kMaxLines * 4) * 25, 2 * 23 * kSlots));
  }
  static constexpr std::uint64_t hints_for(std::uint64_t lines) noexcept {
    return std::max<std::uint64_t>(1, divide_up(lines * kSlots, 4));  // 16 bits per slot
  }
  bool few() const noexcept { return lines_ <= kFew; }
  std::uint64_t slots() const noexcept { return lines_ * kSlots; }
  std::uint64_t next(std::uint64_t line) const noexcept { return line + 1 < lines_ ? line + 1 : 0; }

  // ---- hints: only lo is read, because the base reads it too: for an integer key hi need not be computed. The bits are
  // chosen by the lowest bits of lo, which the base hardly uses, so that a key that collides with an entry in the base
  // seldom collides here as well.
  std::uint64_t hint_word(std::uint64_t lo) const noexcept { return fast_range(lo, hints_.size()); }
  bool hinted(std::uint64_t lo) const noexcept {
    const std::uint64_t word = hints_[hint_word(lo)];
    return (word >> (lo & 63)) & (word >> ((lo >> 6) & 63)) & 1;
  }
  void hint(std::uint64_t lo) noexcept {
    hints_.at_mut(hint_word(lo)) |= std::uint64_t{1} << (lo & 63) | std::uint64_t{1} << ((lo >> 6) & 63);
  }
  void write_hints_again() noexcept {
    removed_ = 0;
    std::fill_n(hints_.mutable_data(), hints_.size(), std::uint64_t{0});
    for (std::uint64_t slot = 0; slot < slots(); ++slot)
      if (priority(slot) != 0) hint(lo_at(slot));
  }
  // Two numbers instead of a Digest: otherwise GCC computes hi before it is known to be needed.
  [[gnu::noinline]] bool is_here(std::uint64_t lo, std::uint64_t hi) const noexcept { return find({lo, hi}) != kNone; }
  [[gnu::noinline]] void take_out(std::uint64_t lo, std::uint64_t hi) noexcept {
    if (const std::uint64_t slot = find({lo, hi}); slot != kNone) remove(slot);
  }

  // ---- lines ----
  struct Home {
    std::uint64_t first, name;  // the name with its lowest bit 0: in its first line
  };
  Home home_of(Digest d) const noexcept {
    const std::uint64_t hi = cut_ != 0 ? d.hi >> 34 << 34 : d.hi;
    return {fast_range(hi, lines_), (hi * lines_) >> (35 + lost_) << (1 + lost_)};
  }
  // Puts in an entry of priority p. False: no free slot was found within reach.
  bool place(Digest d, std::uint64_t p) noexcept {
    if (!few()) return place(d.lo, home_of(d), p);
    std::uint64_t line = 0;
    while (line < lines_ && free_in(line) == kSlots) ++line;
    return line < lines_ && fill(line, d.lo, d.hi >> 34, p);
  }
  bool place(std::uint64_t lo, Home home, std::uint64_t p) noexcept {
    const std::uint64_t second = other(home.first, lo);
    std::uint64_t line = home.first;
    if (free_in(line) == kSlots && (free_in(second) != kSlots || !make_space(line, second))) line = second;
    return free_in(line) != kSlots && fill(line, lo, home.name | (line == second ? 1 : 0), p);
  }
  bool fill(std::uint64_t line, std::uint64_t lo, std::uint64_t name, std::uint64_t p) noexcept {
    write(line, free_in(line), lo, name << 8 | p);
    hint(lo);
    used_ += 1;
    pinned_ += p == kPin;
    return true;
  }
  // The other line of an entry; it is its own inverse. The number of lines is even.
  std::uint64_t other(std::uint64_t line, std::uint64_t lo) const noexcept {
    const std::uint64_t sum = fast_range(mix64(lo), lines_) | 1;
    return sum >= line ? sum - line : sum + lines_ - line;
  }
  std::uint64_t lo_at(std::uint64_t slot) const noexcept { return words_[slot / kSlots * kWords + slot % kSlots]; }
  // Name and priority of an entry: 38 bits that may lie in two words.
  std::uint64_t tail(std::uint64_t line, std::uint64_t i) const noexcept {
    const std::uint64_t at = i * kTailBits, shift = at % 64;
    const std::uint64_t* w = words_.data() + line * kWords + kSlots + at / 64;
    std::uint64_t bits = w[0] >> shift;
    if (shift + kTailBits > 64) bits |= w[1] << (64 - shift);
    return bits & low_mask(kTailBits);
  }
  void write(std::uint64_t line, std::uint64_t i, std::uint64_t lo, std::uint64_t bits) noexcept {
    std::uint64_t* words = words_.mutable_data() + line * kWords;
    words[i] = lo;
    const std::uint64_t at = i * kTailBits, shift = at % 64;
    std::uint64_t* w = words + kSlots + at / 64;
    w[0] = (w[0] & ~(low_mask(kTailBits) << shift)) | bits << shift;
    if (shift + kTailBits > 64) w[1] = (w[1] & ~(low_mask(kTailBits) >> (64 - shift))) | bits >> (64 - shift);
  }
  std::uint64_t priority(std::uint64_t slot) const noexcept { return tail(slot / kSlots, slot % kSlots) & 0xff; }
  void set_priority(std::uint64_t slot, std::uint64_t p) noexcept {
    write(slot / kSlots, slot % kSlots, lo_at(slot), (tail(slot / kSlots, slot % kSlots) & ~std::uint64_t{0xff}) | p);
  }
  std::uint64_t find_in(std::uint64_t line, std::uint64_t lo, std::uint64_t name) const noexcept {
    const std::uint64_t* words = words_.data() + line * kWords;
    for (std::uint64_t i = 0; i < kSlots; ++i)
      if (words[i] == lo)
        if (const std::uint64_t t = tail(line, i); t >> 8 == name && (t & 0xff) != 0) return line * kSlots + i;
    return kNone;
  }
  // The first free slot of a line, or kSlots.
  std::uint64_t free_in(std::uint64_t line) const noexcept {
    std::uint64_t i = 0;
    while (i < kSlots && (tail(line, i) & 0xff) != 0) ++i;
    return i;
  }

  // Moves entries along a chain of lines so that `first` or `second` gets a free slot. Breadth first, each line once.
  // True: it is `first` that has one.
  bool make_space(std::uint64_t first, std::uint64_t second) noexcept {
    constexpr unsigned kMaxNodes = 128;
    struct Node {
      std::uint64_t line;
      unsigned from, slot;  // the node and the slot of its line whose entry has this line as its other
    };
    Node nodes[kMaxNodes] = {{first, 0, 0}, {second, 1, 0}};
    unsigned count = 2;
    for (unsigned n = 0; n < count; ++n)
      for (unsigned i = 0; i < kSlots; ++i) {
        const std::uint64_t to = other(nodes[n].line, lo_at(nodes[n].line * kSlots + i));
        if (std::any_of(nodes, nodes + count, [&](const Node& seen) { return seen.line == to; })) continue;
        if (free_in(to) == kSlots) {
          if (count < kMaxNodes) nodes[count++] = {to, n, i};
          continue;
        }
        move(nodes[n].line, i, to);
        for (; n > 1; n = nodes[n].from) move(nodes[nodes[n].from].line, nodes[n].slot, nodes[n].line);
        return n == 0;
      }
    return true;
  }
  void move(std::uint64_t from, std::uint64_t i, std::uint64_t to) noexcept {
    write(to, free_in(to), lo_at(from * kSlots + i), tail(from, i) ^ 0x100);
    write(from, i, 0, 0);
  }

  // ---- priorities ----
  double value(std::uint64_t p) const noexcept {
    return p <= 1 ? 0 : unit_ * std::ldexp(kSteps[(p - 2) % 8], static_cast<int>((p - 2) / 8));
  }
  // True with this probability.
  bool dither(double probability) noexcept {
    return static_cast<double>(mix64(++clock_) >> 11) < probability * 9007199254740992.0;
  }
  std::uint64_t code_for(double v) noexcept {
    if (!(v > 0)) return 1;
    if (unit_ == 0) unit_ = v * std::ldexp(1.0, -20);
    if (v / unit_ >= std::ldexp(1.0, 31)) recode(0, v * std::ldexp(1.0, -28));
    return rounded(v / unit_);
  }
  std::uint64_t rounded(double units) noexcept {
    if (units < 1) return dither(units) ? 2 : 1;
    int octave = 0;
    const double f = 2 * std::frexp(units, &octave);
    unsigned step = 0;
    while (step < 7 && f >= kSteps[step + 1]) ++step;
    const auto below = static_cast<std::uint64_t>(2 + 8 * (octave - 1)) + step;
    return std::min<std::uint64_t>(kPin - 1, below + dither((f - kSteps[step]) / (kSteps[step + 1] - kSteps[step])));
  }
  // Subtracts from all priorities and writes them in another unit; 0: one that suits the highest.
  void recode(double less, double unit) noexcept {
    const auto now = [&](std::uint64_t p) { return std::max(0.0, value(p) - less); };
    if (unit == 0) {
      double highest = 0;
      for (std::uint64_t slot = 0; slot < slots(); ++slot)
        if (const std::uint64_t p = priority(slot); p != 0 && p != kPin) highest = std::max(highest, now(p));
      unit = highest * std::ldexp(1.0, -28);
    }
    for (std::uint64_t slot = 0; slot < slots(); ++slot)
      if (const std::uint64_t p = priority(slot); p > 1 && p != kPin) {
        const double v = now(p);
        set_priority(slot, v > 0 && unit > 0 ? rounded(v / unit) : 1);
      }
    unit_ = unit;
  }
  void subtract_floor() noexcept {
    recode(floor_, 0);
    floor_ = 0;
    since_ = 0;
  }

  template <class Reader>
  void read_v1(Reader& from) {
    GuardV1 old;
    GuardV1::fields(old, from);
    if (!from.ok()) return;
    if (const auto fine = old.validate(); !fine) return from.fail(fine.error().message);
    *this = Guard(old.room());
    old.for_each([this](Digest d, float cost) {
      if (find(d) == kNone) put(d, cost == GuardV1::kPinned ? kPinned : std::clamp(cost, 0.0f, kMaxCost));
    });
  }

  std::uint64_t lines_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t pinned_ = 0;
  std::uint64_t hand_ = 0;       // the line at which the next sweep and the next search for a victim begin
  std::uint64_t removed_ = 0;    // since the hints were last written
  std::uint64_t evictions_ = 0;  // in its life
  std::uint64_t since_ = 0;      // evictions since the floor was last subtracted
  std::uint64_t clock_ = 0;      // of the dithering
  double floor_ = 0;
  double unit_ = 0;
  std::uint64_t lost_ = 0;  // bits of the names that growth has taken
  std::uint64_t cut_ = 0;   // 1: only the top 30 bits of hi are read
  double held_per_key_ = 0;
  Array<std::uint64_t> hints_;
  Array<std::uint64_t> words_;
};

}  // namespace naysay::guarded::detail

#include "naysay/guarded/detail/guard_growth.hpp"  // IWYU pragma: export
