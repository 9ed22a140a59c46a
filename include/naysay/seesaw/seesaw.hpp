// SPDX-License-Identifier: Apache-2.0
// Seesaw: a counting Bloom filter that errs less on the costliest known negatives.
//
// A known negative is accepted if all its k counters are in use. So the builder marks the counters of the costliest
// negatives before any key is inserted: a marked counter "leans" to a negative. A key that meets a leaning counter uses
// another one instead, if it can. The counters of known negatives therefore stay at 0 longer than others, and a query
// that finds a counter at 0 is a "no".
//
//   counter    0      1      2      3      4      5      6      7
//           +------+------+------+------+------+------+------+------+
//           |    1 |      | -    |    2 | -  1 |      |    1 |      |     -: leans to a known negative
//           +------+------+------+------+------+------+------+------+     number: keys that use it
//              ^             x                           ^
//     h0(x) ---+    h1(x) ---+ - - modulator says 0 - - -+ b0(x)            so x uses {0, 6}
//
// Stepping aside. The first leaning counter of a key is replaced by that of a backup function, if that one does not
// lean. A small HashModulator stores which backup function the keys of a cell use. With alpha = 0 there is no
// modulator, no key steps aside, and insert and query are those of a counting Bloom filter until all k counters of a
// key lean. The planner chooses alpha = 0 wherever strangers matter, because a full modulator is not worth its space.
//
// Extra functions. A key whose k counters all lean looks like an encoded negative. It uses `extra` more counters. Few
// keys do, but every encoded negative has that look, so a query checks `extra` more counters for it. This is what makes
// it worth encoding many negatives. But the more negatives are encoded, the more keys collide with an encoded negative;
// their extra counters raise the stranger FPR. So the planner keeps such keys few (kLookalikes in seesaw_plan.hpp) and,
// if costs are skewed, leaves the cheapest negatives out. `encode` = all negatives errs less by cost and more on
// strangers and on the costliest (`naysay bench sscf-fig11` shows both).
//
// Three invariants make insert, query and erase agree:
//   (I1) a negative bit changes only while its counter is 0;
//   (I2) a modulator index changes only while its count is 0;
//   (I3) so the path of a live key (its k positions, the first leaning one replaced by the stored backup function if
//        that does not lean, and the extra ones if all lean) does not change while the key is live: a counter that
//        leans leans permanently, and a counter of the path that does not lean is in use and cannot start to lean.
//
//   paper              here
//   N_p                BuildOptions::room(): keys to plan for
//   N_n                the `encode` costliest of Workload::negatives
//   m, B               counters, counters per key: (1 - alpha) * bits_per_key / bits of a counter
//   theta_1, theta_2   the negative bit, counter_bits
//   k, k^              k, backups
//   n, eta_1, eta_2    HashModulator: cells, modulator_bits, log2(backups)
//   alpha              share of the space that the modulator uses
//   adaptive bit       pending: a negative reported later that waits for the counter to become 0 (AdaSeesaw only)
//
// Parameters that are 0 (or -1) are chosen (seesaw_plan.hpp): a small expected weighted FPR for the bytes, the keys and
// the costs, but never above that of a counting Bloom filter of the same bytes, from a tenth of the keys on. If no
// negative is worth encoding, the counters have no negative bit and this *is* a counting Bloom filter.
//
// query      exact_path (default) follows the path; a conflicting key whose modulator cell is empty is not in.
//            two_round is the paper's: all k counters, or all but one and the stored backup. It accepts all that
//            exact_path accepts, and more. leaning_round is that of the authors' code: as two_round, but the one counter
//            at 0 must lean. It accepts a part of what two_round accepts.
// plan       best (default): as above. paper: k = floor(B ln 2) and the paper's objective, without our bounds; for
//            comparisons.
//
// Promises   Never denies a key that is in. Erasing a key that the filter denies returns false and changes nothing.
//            With every key erased and no counter ever full, the arrays are as before the first insert. AdaSeesaw:
//            adapt never makes the filter deny a key.
// Does not   detect erasure of a key that was never inserted (a false positive); that lowers counters of other keys,
//            and one of these may then be denied. Erase only what you inserted. A counter (15) or cell (7) that is
//            full stays full, because the number of its keys is not known. A counter is wider by its negative bit, so
//            there are fewer, and more strangers are accepted than by a counting Bloom filter of the same bytes
//            (sscf-fig11 has both). AdaSeesaw::adapt seldom helps immediately: a counter that is in use leans only
//            after the last of its keys was erased.
// Cost       Insert and erase: k counters read and written; for a conflicting key one cell and one or two counters
//            more; `extra` more if all lean. Query: at most k + extra + 2 reads; the first counter at 0 ends it.
// Source     M. Li et al., Seesaw Counting Filter, WWW 2022. Deletion, the exact-path query, the extra functions and
//            the bound at low fills are our own; plan = paper, alpha = 0.1, extra = 0 and query = leaning_round give
//            the paper's filter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/core/since.hpp"
#include "naysay/seesaw/detail/hash_modulator.hpp"
#include "naysay/seesaw/detail/seesaw_table.hpp"
#include "naysay/seesaw/seesaw_plan.hpp"
#include "naysay/seesaw/seesaw_rates.hpp"

namespace naysay {

template <bool Adaptive>
class BasicSeesaw {
 public:
  struct Params {
    double bits_per_key = 28;  // the middle of the paper's range
    std::uint32_t k = 0;       // functions per key; 0: choose
    double alpha = -1;         // share of the space for the modulator; 0: none, so no key steps aside; -1: choose
    std::uint64_t encode = 0;  // how many of the costliest negatives to encode; 0: choose
    std::uint32_t counter_bits = 4;
    std::uint32_t modulator_bits = 3;  // of a cell's count
    std::uint32_t backups = 2;
    std::int32_t extra = -1;  // more functions for a key whose counters all lean; 0: none, as in the paper; -1: choose
    SeesawQuery query = SeesawQuery::exact_path;
    SeesawPlanner plan = SeesawPlanner::best;

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
      if (since(visit, 2)) visit("plan", self.plan);
    }
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 did not have the parameter plan

  static constexpr std::string_view kName = Adaptive ? "ada-seesaw" : "seesaw";

  static constexpr Claims kClaims = {
      .about = Adaptive
                   ? "as seesaw, and it learns negatives while it runs: each helps after keys were erased and inserted"
                   : "counting filter that errs less on the costliest known negatives; insert, erase",
      .uses_negatives = true,
      .adapts_with_churn = Adaptive,
  };

  // For a filter that is given no negatives.
  static double bits_per_key(double fpr) {
    return bloom::bits_per_key(fpr) * (Adaptive ? (4 + 2) / (1 - seesaw::kUntoldAlpha) : 4);
  }
  static Params params_for(double fpr) { return {.bits_per_key = bits_per_key(fpr)}; }

  static Result<BasicSeesaw> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    NAYSAY_CHECK(check(p));
    std::vector<float> descending(w.costs.begin(), w.costs.end());
    std::sort(descending.begin(), descending.end(), std::greater<>());

    const seesaw::SeesawPlan plan = choose(w, p, o, descending);
    BasicSeesaw f;
    f.table_ = Table(plan.shape, p.query, p.counter_bits, p.modulator_bits, p.backups);
    const auto encode = std::min<std::uint64_t>(static_cast<std::uint64_t>(plan.shape.negatives), w.negatives.size());
    f.encode_costliest(w, encode, descending);
    descending = {};
    for (std::size_t i = 0; i < w.keys.size(); ++i) {
      if (i % kTellEvery == 0 && !o.tell("seesaw: inserting keys", i, w.keys.size())) return cancelled_error(kName);
      f.insert(w.keys[i]);
    }
    o.say("functions per key", f.table_.k());
    o.say("extra functions", f.table_.extra());
    o.say("counters", static_cast<double>(f.table_.counters()));
    o.say("modulator cells", static_cast<double>(f.table_.cells()));
    o.say("negatives encoded", static_cast<double>(encode));
    o.say("expected weighted fpr when full", plan.wfpr);
    return f;
  }

  bool insert(Digest d) noexcept { return table_.insert(d); }

  // Requires that d was inserted (see "Does not"). False, and nothing changed, if d is certainly not in.
  bool erase(Digest d) noexcept { return table_.erase(d); }

  // Encodes a negative while the filter is in use: each of its counters leans as soon as it is 0, which may be now.
  // True: the negative is refused now. A negative that costs nothing is not encoded.
  bool adapt(Digest d, float cost) noexcept requires Adaptive {
    if (cost > 0) table_.encode(d);
    return !may_contain(d);
  }

  bool may_contain(Digest d) const noexcept { return table_.may_contain(d); }

  // From the counters as they are now.
  double expected_fpr() const noexcept {
    return seesaw::stranger_fpr(table_.query(), table_.state(), table_.k(), table_.extra());
  }
  // The same for encoded negatives, whose counters all lean.
  double expected_known_fpr() const noexcept {
    return seesaw::known_fpr(table_.query(), table_.state(), table_.k(), table_.extra());
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    Table::fields(self.table_, visit);
  }
  Result<Ok> validate() const { return table_.validate(kName); }

 private:
  using Table = seesaw::detail::SeesawTable<Adaptive>;
  using HashModulator = seesaw::detail::HashModulator;

  static Result<Ok> check(const Params& p) {
    const auto wrong = [](const std::string& what) {
      return Error{Errc::invalid_argument, std::string(kName) + ": " + what};
    };
    if (p.k > seesaw::detail::kMaxK)
      return wrong("k is " + std::to_string(p.k) + "; it must be at most 32, or 0 for the best");
    if (p.alpha != -1 && !(p.alpha >= 0 && p.alpha <= 0.9))
      return wrong("alpha is " + rounded_text(p.alpha) + "; it must be 0 to 0.9, or -1 for the best");
    if (p.extra < -1 || p.extra > static_cast<std::int32_t>(seesaw::detail::kMaxExtra))
      return wrong("extra is " + std::to_string(p.extra) + "; it must be 0 to 32, or -1 for the best");
    if (p.counter_bits < 1 || p.counter_bits > seesaw::detail::kMaxCounterBits)
      return wrong("counter_bits is " + std::to_string(p.counter_bits) + "; it must be 1 to 16");
    if (p.modulator_bits < 1 || p.modulator_bits > HashModulator::kMaxCounterBits)
      return wrong("modulator_bits is " + std::to_string(p.modulator_bits) + "; it must be 1 to 16");
    if (p.backups < 1 || p.backups > HashModulator::kMaxBackups)
      return wrong("backups is " + std::to_string(p.backups) + "; it must be 1 to 256");
    return Ok{};
  }

  static seesaw::SeesawPlan choose(const Workload& w, const Params& p, const BuildOptions& o,
                                   std::span<const float> descending) {
    const auto points = seesaw::cost_points(descending, w.negatives.size());
    seesaw::SeesawProblem q{.bits = static_cast<double>(budget_bits(p.bits_per_key, o.room(w))),
                            .keys = static_cast<double>(o.room(w)),
                            .curve = points,
                            .stranger_share = w.stranger_share,
                            .query = p.query,
                            .counter_bits = p.counter_bits,
                            .mark_bits = Table::kMarkBits,
                            .cell_bits = HashModulator::cell_bits(p.modulator_bits, p.backups),
                            .backups = p.backups,
                            .max_k = seesaw::detail::kMaxK,
                            .k = p.k,
                            .alpha = p.alpha,
                            .extra = p.extra,
                            .may_encode_nothing = !Adaptive && p.encode == 0};
    if (Adaptive && points.empty()) return seesaw::plan_without_negatives(q);
    seesaw::CostPoint given;
    if (p.encode != 0 && !w.negatives.empty()) {
      given.count = std::min<std::uint64_t>(p.encode, w.negatives.size());
      given.share = seesaw::cost_share(descending, given.count, w.negatives.size());
      q.curve = {&given, 1};
    }
    return p.plan == SeesawPlanner::paper ? seesaw::plan_of_paper(q) : seesaw::plan(q);
  }

  // Encodes the `encode` costliest negatives; of those that cost as much as the last of them, the first ones given.
  void encode_costliest(const Workload& w, std::uint64_t encode, std::span<const float> descending) {
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
      table_.encode(w.negatives[i]);
    }
  }

  Table table_;
};

using Seesaw = BasicSeesaw<false>;
using AdaSeesaw = BasicSeesaw<true>;

static_assert(ErasableFilter<Seesaw> && TunableFilter<Seesaw> && !AdaptiveFilter<Seesaw>);
static_assert(ErasableFilter<AdaSeesaw> && TunableFilter<AdaSeesaw> && AdaptiveFilter<AdaSeesaw>);

}  // namespace naysay
