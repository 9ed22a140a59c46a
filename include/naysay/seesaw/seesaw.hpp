// Seesaw: a counting Bloom filter whose keys step aside for the known negatives that would cost most.
//
//   counter    0      1      2      3      4      5      6      7
//           +------+------+------+------+------+------+------+------+
//           |    1 |      | -    |    2 | -  1 |      |    1 |      |     -: leans to a known negative
//           +------+------+------+------+------+------+------+------+     number: keys that use it
//              ^             x                           ^
//     h0(x) ---+    h1(x) ---+ - - modulator says 0 - - -+ b0(x)            so x uses {0, 6}
//
// The counters of the costliest negatives lean before any key comes. The first leaning counter that a key meets is
// replaced by a backup function's, if that one does not lean; a small HashModulator says which backup. So the counters
// of a known negative stay at 0 longer than others, and a query that finds one at 0 is a "no".
//
// A key that meets nothing but leaning counters looks like one of those negatives, so it takes `extra` functions more.
// Few keys do; but all encoded negatives have that look, and a query asks the further counters of them too. That is
// what makes it pay to encode many. Then most keys conflict, a modulator is full and earns less than its space: alpha =
// 0 leaves it out, no key steps aside, and insert and query are those of a counting Bloom filter until all k counters
// of a key lean. The optimiser chooses that wherever strangers count.
//
// The more negatives are encoded, the more keys look like one, and what these take strangers pay for. So the optimiser
// keeps such keys few (kLookalikes in theory/seesaw.hpp) and, where costs are skewed, leaves the cheapest negatives
// out. `encode` = all of them errs less by cost and more on strangers and on the costliest (both are series of
// sscf-fig11).
//
// Three invariants make insert, query and erase agree:
//   (I1) a negative bit changes only while its counter is 0;
//   (I2) a modulator index changes only while its count is 0;
//   (I3) so the path of a live key (its k positions, the first leaning one replaced by the stored backup function if
//        that lands upright, and the extra ones if all lean) is a function of the bits that are there, and does not
//        change while the key is live: what leans leans for ever, and what is upright is in use and stays upright.
//
//   paper              here
//   N_p                Workload::room(): keys to plan for
//   N_n                the `encode` costliest of Workload::negatives
//   m, B               counters_.size(), counters a key: (1 - alpha) * bits_per_key / bits of a counter
//   theta_1, theta_2   the negative bit, counter_bits
//   k, k^              k_, backups
//   n, eta_1, eta_2    HashModulator: cells, modulator_bits, log2(backups)
//   alpha              share of the space that the modulator takes
//   adaptive bit       pending: a negative told of later, waiting for the counter to become 0 (AdaSeesaw only)
//
// The parameters that are 0 are chosen (theory/seesaw.hpp): a small expected weighted rate for the bytes, the keys
// and the costs, but never above a counting Bloom filter of the same bytes, from a tenth of the keys on. If no negative
// is worth encoding, the counters have no negative bit and this *is* a counting Bloom filter.
//
// query      exact_path (default) follows the path; a conflicting key whose modulator cell is empty is absent at once.
//            two_round is the paper's: all k counters, or all but one and the stored backup. It accepts all that
//            exact_path accepts and more.
//
// Promises   never denies a key that is in. Erasing a key that the filter denies returns false and changes nothing.
//            With every key erased and no counter ever full, the arrays are as they were before the first.
//            AdaSeesaw: adapting never costs a key.
// Does not   survive the erasure of a key that was never inserted but which the filter takes for one: that lowers
//            counters of other keys, and one of those may then be denied. Erase only what you inserted.
//            A counter (15) or cell (7) that is full stays so for ever, because nobody knows how many keys it has.
//            Spare strangers: a counter is wider by its negative bit, so there are fewer of them, and more strangers
//            are accepted than by a counting Bloom filter of the same bytes (sscf-fig11 has both).
//            AdaSeesaw::adapt seldom helps at once: a counter that keys use leans when the last of them has left.
// Cost       insert and erase: k counters read and written, for a conflicting key one cell and one or two counters more,
//            `extra` more if all lean. query: at most k + extra + 2 reads, the first counter at 0 ends it.
// Source     M. Li et al., Seesaw Counting Filter, WWW 2022. Deletion, the exact-path query, the extra functions and the
//            bound on low fills are ours; alpha = 0.1, extra = 0 and query = two_round give the paper's filter.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/seesaw/detail/hash_modulator.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/seesaw/seesaw_rates.hpp"

namespace naysay {

template <bool Adaptive>
class BasicSeesaw {
 public:
  struct Params {
    double bits_per_key = 28;  // the middle of the paper's range
    std::uint32_t k = 0;       // functions a key; 0: choose
    double alpha = -1;         // share of the space for the modulator; 0: none, so no key steps aside; -1: choose
    std::uint64_t encode = 0;  // how many of the costliest negatives to encode; 0: choose
    std::uint32_t counter_bits = 4;
    std::uint32_t modulator_bits = 3;  // of a cell's count
    std::uint32_t backups = 2;
    std::int32_t extra =
        -1;  // functions more for a key all of whose counters lean; 0: none, as in the paper; -1: choose
    SeesawQuery query = SeesawQuery::exact_path;

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("alpha", self.alpha);
      visit("encode", self.encode);
      visit("counter_bits", self.counter_bits);
      visit("modulator_bits", self.modulator_bits);
      visit("backups", self.backups);
      visit("extra", self.extra);
      visit("query", self.query);
    }
  };

  static constexpr std::string_view kName = Adaptive ? "ada-seesaw" : "seesaw";

  static constexpr Claims kClaims = {
      .about = Adaptive ? "as seesaw, and it learns negatives while it runs: each helps once keys have come and gone"
                        : "counting filter that errs less on the costliest known negatives; insert, erase",
      .uses_negatives = true,
      .adapts_with_churn = Adaptive,
  };

  // Of a filter that was told of no negatives.
  static double bits_per_key(double fpr) {
    return bloom::bits_per_key(fpr) * (Adaptive ? (4 + 2) / (1 - kUntoldAlpha) : 4);
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<BasicSeesaw> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (auto ok = check(p); !ok) return ok.error();
    std::vector<float> descending(w.costs.begin(), w.costs.end());
    std::sort(descending.begin(), descending.end(), std::greater<>());

    const seesaw::SeesawPlan plan = choose(w, p, o, descending);
    BasicSeesaw f;
    f.k_ = plan.shape.k;
    f.extra_ = plan.shape.extra;
    f.query_ = p.query;
    f.counter_bits_ = p.counter_bits;
    const bool marked = Adaptive || plan.shape.negatives > 0;
    const unsigned marks = marked ? kMarkBits : 0;
    f.counters_ =
        Cells(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(plan.shape.counters)), p.counter_bits + marks);
    if (marked && plan.shape.cells > 0)
      f.modulator_ = HashModulator(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(plan.shape.cells)),
                                   p.modulator_bits, p.backups);
    f.backups_ = f.modulator_.size() > 0 ? p.backups : 0;

    const auto encode = std::min<std::uint64_t>(static_cast<std::uint64_t>(plan.shape.negatives), w.negatives.size());
    f.encode_costliest(w, encode, descending);
    descending = {};
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0) o.tell("seesaw: inserting keys", i, w.keys.size());
      f.insert(w.keys[i]);
    }
    o.say("functions a key", f.k_);
    o.say("extra functions", f.extra_);
    o.say("counters", static_cast<double>(f.counters_.size()));
    o.say("modulator cells", static_cast<double>(f.modulator_.size()));
    o.say("negatives encoded", static_cast<double>(encode));
    o.say("expected weighted fpr when full", plan.wfpr);
    return f;
  }

  bool insert(Digest d) noexcept {
    if (!modulated() && is<Usual>()) [[likely]]
      return count_up(as<Usual>(), d);
    return insert_otherwise(d);
  }

  // Requires that d was inserted (see "Does not"). False, and nothing changed, if d is certainly not in.
  bool erase(Digest d) noexcept {
    if (is<Usual>()) [[likely]]
      return erase_as<Usual>(d);
    return is<Plain>() ? erase_as<Plain>(d) : erase_as<Any>(d);
  }

  // Encodes a negative while the filter is in use: each of its counters leans from the moment it is 0, which may be
  // now. True: the negative is refused at this moment. A negative that costs nothing is not encoded.
  bool adapt(Digest d, float cost) noexcept requires Adaptive {
    if (cost > 0) encode(d);
    return !may_contain(d);
  }

  bool may_contain(Digest d) const noexcept {
    if (!modulated() && is<Usual>()) [[likely]]
      return all_in_use(as<Usual>(), d);
    return ask_otherwise(d);
  }

  // From the counters as they are now.
  double expected_fpr() const noexcept { return seesaw::stranger_fpr(query_, state(), k_, extra_); }
  // The same for encoded negatives, all of whose counters lean.
  double expected_known_fpr() const noexcept { return seesaw::known_fpr(query_, state(), k_, extra_); }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

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
  Result<Ok> validate() const {
    const auto wrong = [](const std::string& what) { return Error{Errc::corrupt, std::string(kName) + ": " + what}; };
    if (k_ < 1 || k_ > kMaxK) return wrong("k is " + std::to_string(k_) + "; it must be 1 to 32");
    if (extra_ > kMaxExtra) return wrong(std::to_string(extra_) + " extra functions; they must be at most 32");
    if (backups_ > HashModulator::kMaxBackups || (backups_ == 0) != (modulator_.size() == 0))
      return wrong(std::to_string(backups_) + " backup functions for " + std::to_string(modulator_.size()) +
                   " cells; they must be 1 to 256, or none of either");
    if (auto ok = counters_.validate(); !ok) return ok;
    if (auto ok = modulator_.validate(); !ok) return ok;
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
  static constexpr std::uint32_t kMaxK = 32;  // 2^-32 at the best k; paths live on the stack
  static constexpr std::uint32_t kMaxExtra = 32;
  static constexpr std::uint32_t kGroup = 4;
  static constexpr std::uint32_t kMaxCounterBits = 16;  // beyond, no counter ever fills
  static constexpr unsigned kMarkBits = Adaptive ? 2 : 1;
  static constexpr double kUntoldAlpha = 0.10;  // section 4.2: the paper's optimum at its defaults
  static constexpr unsigned kUntoldExtra = 8;   // the middle of what the optimiser chooses from

  struct Path {
    std::uint64_t at[kMaxK + kMaxExtra];  // the bits at which the counters begin
    std::uint32_t steps;
    bool conflicts;              // and has a cell
    std::uint64_t cell;          // of the modulator; this and the next two only if it conflicts
    HashModulator::Entry entry;  // of that cell
    std::uint32_t index;         // the backup function: the entry's, or the one to choose if that is empty
  };

  static Result<Ok> check(const Params& p) {
    const auto wrong = [](const std::string& what) {
      return Error{Errc::invalid_argument, std::string(kName) + ": " + what};
    };
    if (p.k > kMaxK) return wrong("k is " + std::to_string(p.k) + "; it must be at most 32, or 0 for the best");
    if (p.alpha != -1 && !(p.alpha >= 0 && p.alpha <= 0.9))
      return wrong("alpha is " + to_text(p.alpha) + "; it must be 0 to 0.9, or -1 for the best");
    if (p.extra < -1 || p.extra > static_cast<std::int32_t>(kMaxExtra))
      return wrong("extra is " + std::to_string(p.extra) + "; it must be 0 to 32, or -1 for the best");
    if (p.counter_bits < 1 || p.counter_bits > kMaxCounterBits)
      return wrong("counter_bits is " + std::to_string(p.counter_bits) + "; it must be 1 to 16");
    if (p.modulator_bits < 1 || p.modulator_bits > HashModulator::kMaxCounterBits)
      return wrong("modulator_bits is " + std::to_string(p.modulator_bits) + "; it must be 1 to 16");
    if (p.backups < 1 || p.backups > HashModulator::kMaxBackups)
      return wrong("backups is " + std::to_string(p.backups) + "; it must be 1 to 256");
    return Ok{};
  }

  static seesaw::SeesawPlan choose(const Workload& w, const Params& p, const BuildOptions& o,
                                   std::span<const float> descending) {
    const auto curve = seesaw::cost_curve(descending, w.negatives.size());
    seesaw::SeesawProblem q{.bits = static_cast<double>(budget_bits(p.bits_per_key, o.room(w))),
                       .keys = static_cast<double>(o.room(w)),
                       .curve = curve,
                       .stranger_share = w.stranger_share,
                       .query = p.query,
                       .counter_bits = p.counter_bits,
                       .mark_bits = kMarkBits,
                       .cell_bits = HashModulator::cell_bits(p.modulator_bits, p.backups),
                       .backups = p.backups,
                       .max_k = kMaxK,
                       .k = p.k,
                       .alpha = p.alpha,
                       .extra = p.extra,
                       .may_encode_nothing = !Adaptive && p.encode == 0};
    seesaw::CostPoint asked;
    if (p.encode != 0 && !w.negatives.empty()) {
      asked.count = std::min<std::uint64_t>(p.encode, w.negatives.size());
      asked.share = seesaw::cost_share(descending, asked.count, w.negatives.size());
      q.curve = {&asked, 1};
    }
    if (!Adaptive || !curve.empty()) return seesaw::plan(q);
    // Nobody has said what will be told: the paper's shape.
    seesaw::SeesawPlan plan;
    const double alpha = p.alpha >= 0 ? p.alpha : kUntoldAlpha;
    plan.shape = seesaw::shape_of(q, 1, p.extra >= 0 ? static_cast<unsigned>(p.extra) : kUntoldExtra, alpha, 0);
    plan.shape.k = p.k != 0 ? p.k : std::min(kMaxK, bloom::best_k(plan.shape.counters / std::max(q.keys, 1.0)));
    plan.wfpr = seesaw::stranger_fpr(p.query, seesaw::of_shape(plan.shape, q.keys), plan.shape.k, plan.shape.extra);
    return plan;
  }

  // The `encode` costliest negatives; of those that cost as much as the last of them, the first ones given.
  void encode_costliest(const Workload& w, std::uint64_t encode, std::span<const float> descending) noexcept {
    if (encode == 0) return;
    const float least = w.costs.empty() ? 1.0f : descending[encode - 1];
    std::uint64_t at_least = w.costs.empty() ? encode : 0;  // room for those that cost exactly `least`
    if (!w.costs.empty()) {
      const auto first = std::lower_bound(descending.begin(), descending.end(), least, std::greater<>());
      at_least = encode - static_cast<std::uint64_t>(first - descending.begin());
    }
    for (std::size_t i = 0; i < w.negatives.size(); ++i) {
      if (w.cost(i) < least || (w.cost(i) == least && at_least == 0)) continue;
      if (w.cost(i) == least) --at_least;
      this->encode(w.negatives[i]);
    }
  }

  // (I1): at once where the counter is 0; else, if there is a pending bit, when it becomes 0.
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

  // A bit for each of d's functions read so far, the first of them highest.
  struct Row {
    std::uint64_t bits = 0;  // vacant below, leaning above

    std::uint32_t vacant() const noexcept { return static_cast<std::uint32_t>(bits); }
    std::uint32_t leaning() const noexcept { return static_cast<std::uint32_t>(bits >> 32); }
    bool all_lean(std::uint32_t k) const noexcept { return (bits >> 32) + 1 == std::uint64_t{1} << k; }
    // The first that leans, of k. Some number below k if none does.
    std::uint32_t first(std::uint32_t k) const noexcept {
      return k - 1 - (31 - static_cast<std::uint32_t>(std::countl_zero(leaning() | 1)));
    }
    // Vacant ones that no backup can stand in for.
    std::uint32_t missing() const noexcept {
      const std::uint64_t first = std::uint64_t{1} << (63 - std::countl_zero(bits >> 31 | 1)) >> 1;
      return vacant() & ~static_cast<std::uint32_t>(first);
    }
  };
  static constexpr std::uint64_t kLeaning = std::uint64_t{1} << 32;

  // What the usual counters add to a row: a table costs three instructions where the flags cost eight.
  static constexpr auto kFlags = [] {
    std::array<std::uint64_t, 32> flags{};
    for (std::uint32_t v = 0; v < 32; ++v) flags[v] = (v % 16 == 0) + (v / 16) * kLeaning;
    return flags;
  }();

  // Keys step aside only if a modulator can say where to.
  bool modulated() const noexcept { return backups_ != 0; }

  // How to read a counter: count in the low bits, then the negative bit, then the pending bit. What lies above them
  // belongs to the next counter. Held by value, so that no store makes the compiler read it again, and with widths that
  // the compiler knows (Bits > 0).
  template <unsigned Bits, unsigned Marks>
  struct Counters {
    static constexpr unsigned kBits = Bits, kMarks = Marks;
    using Word =
        std::conditional_t<Bits == 4, std::uint16_t, std::uint32_t>;  // what holds a counter wherever it begins
    const std::uint64_t* words;
    std::uint64_t size;
    std::uint32_t bits;   // of a count
    std::uint32_t marks;  // 0, 1: negative, 2: negative and pending

    std::uint32_t count_bits() const noexcept { return Bits > 0 ? Bits : bits; }
    std::uint32_t mark_bits() const noexcept { return Bits > 0 ? Marks : marks; }
    std::uint32_t max() const noexcept { return (std::uint32_t{1} << count_bits()) - 1; }
    std::uint32_t negative() const noexcept { return mark_bits() > 0 ? std::uint32_t{1} << count_bits() : 0; }
    std::uint32_t pending() const noexcept { return mark_bits() > 1 ? std::uint32_t{2} << count_bits() : 0; }

    std::uint64_t position(std::uint64_t hash) const noexcept {
      return fast_range(hash, size) * (count_bits() + mark_bits());
    }
    std::uint64_t position(Digest d, std::uint32_t i) const noexcept { return position(triple_hash(d, i)); }
    std::uint32_t read(std::uint64_t at) const noexcept { return peek_bits<Word>(words, at); }
    void add(std::uint64_t* to, std::uint64_t at, std::uint32_t step) const noexcept { add_bits<Word>(to, at, step); }
    std::uint32_t count(std::uint32_t v) const noexcept { return v & max(); }
    bool leans(std::uint32_t v) const noexcept { return (v & negative()) != 0; }
    void add_to(Row& row, std::uint32_t v) const noexcept {
      row.bits += row.bits + (Bits == 4 && Marks > 0 ? kFlags[v % 32] : (count(v) == 0) + leans(v) * kLeaning);
    }
    // What is added to a counter that falls to 0: a pending negative takes it.
    std::uint32_t last_step(std::uint32_t v) const noexcept {
      return (v & pending()) != 0 ? negative() - pending() - 1 : ~std::uint32_t{0};
    }
  };
  using Usual = Counters<4, kMarkBits>;
  using Plain = Counters<4, 0>;
  using Any = Counters<0, 0>;

  template <class C>
  bool is() const noexcept {
    return counter_bits_ == C::kBits && counters_.width() == C::kBits + C::kMarks;
  }
  template <class C>
  C as() const noexcept {
    return {counters_.words(), counters_.size(), counter_bits_, counters_.width() - counter_bits_};
  }

  // What optimised filters seldom are. Not inlined, so that the short way is.
  [[gnu::noinline]] bool insert_otherwise(Digest d) noexcept {
    if (is<Usual>()) return insert_as<Usual>(d);
    return is<Plain>() ? insert_as<Plain>(d) : insert_as<Any>(d);
  }
  [[gnu::noinline]] bool ask_otherwise(Digest d) const noexcept {
    if (query_ == SeesawQuery::two_round) return in_two_rounds(d);
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

  // Without a modulator: every counter as it comes.
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
      if (c.count(v) == 0 || c.count(v) == c.max()) continue;  // 0: it was there twice, and d was never inserted
      c.add(words, path.at[i], c.count(v) == 1 ? c.last_step(v) : ~std::uint32_t{0});
    }
    if (path.conflicts) modulator_.release(path.cell, path.entry);
    return true;
  }

  // Where d's steps are, or would be if it were inserted now.
  template <class C>
  Path path_of(const C& c, Digest d) const noexcept {
    Path path;
    Row row;
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
    const std::uint64_t keep = 0 - std::uint64_t{c.leans(c.read(backup))};  // no branch on it: it is a coin toss
    first = (first & keep) | (backup & ~keep);
    return path;
  }
  template <class C>
  void add_extra(const C& c, Digest d, Path& path) const noexcept {
    for (std::uint32_t i = 0; i < extra_; ++i) path.at[path.steps++] = c.position(d, k_ + backups_ + i);
  }
  // The first backup function that lands on an upright counter; 0 if none does.
  template <class C>
  std::uint32_t upright_backup(const C& c, Digest d) const noexcept {
    for (std::uint32_t j = 0; j < backups_; ++j)
      if (!c.leans(c.read(c.position(d, k_ + j)))) return j;
    return 0;
  }

  // The first leaning counter waits until the others have all said "maybe": most strangers never reach the modulator.
  // kGroup counters are read before the first branch, so that their cache misses overlap.
  template <class C>
  bool on_its_path(Digest d) const noexcept {
    const C c = as<C>();
    if (!modulated()) return all_in_use(c, d);
    Row row;
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
    const bool leans = c.leans(backup);  // no branch on it: it is a coin toss
    const unsigned in_if_leaning = row.vacant() == 0, in_if_not = c.count(backup) != 0;
    return (leans ? in_if_leaning : in_if_not) != 0;
  }

  // Without a modulator: every counter as it comes. Whether a query is about a key is a coin toss, so there is no
  // branch on it before kGroup counters are read, and up to kGroup functions none at all: what remains is the rare case
  // that all lean.
  template <class C>
  [[gnu::always_inline]] bool all_in_use(const C c, Digest d) const noexcept {
    HashWalk walk(d);
    std::uint32_t lean = c.negative();
    std::uint32_t used = c.max() + 1;  // the bit to which count + max carries if the count is not 0
    const auto ask = [&] {
      const std::uint32_t v = c.read(c.position(walk.next()));
      lean &= v;
      used &= c.count(v) + c.max();
    };
    std::uint32_t left = k_;
    if (left >= kGroup) {
      for (std::uint32_t i = 0; i < kGroup; ++i) ask();
      left -= kGroup;
      if (left > 0 && used == 0) return false;
    }
    for (; left > 0; --left) ask();
    if ((used & lean) != 0) [[unlikely]]
      return extra_in_use<C>(d);
    return used != 0;
  }

  // Not inlined: few come here, and the short way has more registers without it.
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
      if (c.count(c.read(c.position(d, i))) != 0) continue;
      if (vacant) return false;
      vacant = true;
    }
    if (!vacant) return true;
    const HashModulator::Entry entry = modulator_.at(modulator_.position(d));
    if (entry.count == 0) return false;
    const std::uint32_t backup = c.read(c.position(d, k_ + entry.index));
    return !c.leans(backup) && c.count(backup) != 0;
  }

  seesaw::SeesawState state() const noexcept {
    const Any c = as<Any>();
    std::uint64_t leaning = 0, used_leaning = 0, used = 0;
    for (std::uint64_t i = 0; i < c.size; ++i) {
      const std::uint32_t v = c.read(i * counters_.width());
      leaning += c.leans(v);
      used += c.count(v) != 0;
      used_leaning += c.leans(v) && c.count(v) != 0;
    }
    const auto part = [](std::uint64_t of, std::uint64_t all) {
      return all == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(all);
    };
    return {part(leaning, c.size), part(modulator_.used(), modulator_.size()), part(used_leaning, leaning),
            part(used - used_leaning, c.size - leaning), modulated()};
  }

  Cells counters_;
  HashModulator modulator_;
  std::uint32_t k_ = 0;
  std::uint32_t extra_ = 0;
  std::uint32_t counter_bits_ = 0;
  std::uint32_t backups_ = 0;
  SeesawQuery query_ = SeesawQuery::exact_path;
};

using Seesaw = BasicSeesaw<false>;
using AdaSeesaw = BasicSeesaw<true>;

static_assert(ErasableFilter<Seesaw> && TunableFilter<Seesaw> && !AdaptiveFilter<Seesaw>);
static_assert(ErasableFilter<AdaSeesaw> && TunableFilter<AdaSeesaw> && AdaptiveFilter<AdaSeesaw>);

}  // namespace naysay
