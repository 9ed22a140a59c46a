// SPDX-License-Identifier: Apache-2.0
// Habf: a Bloom filter that moves keys to other bits so that known negatives are refused, the costliest first.
//
// A known negative is accepted if all its bits are set. If one of these bits was set by a single key, that key can use
// another hash function instead, and the bit is cleared. A HashExpressor remembers the functions of keys that moved.
//
//   x --> h1 h2 h3 --> Bloom filter: all set? ---- yes --------------------> maybe
//                                       |
//                                       no
//                                       v
//   x --> HashExpressor: a chain? -- {h3 h1 h5} --> Bloom filter: all set? -- yes --> maybe
//                 |                                        |
//                 no                                       no
//                 v                                        v
//                 no                                       no
//
// Two filters share this file. Their Kind says in what they differ:
//   habf      keys may also move to clear bits; the index Gamma finds the refused negatives that this would harm
//   f-habf    keys move to set bits only: no Gamma, a faster build. There are fewer ways to move, so it needs more
//             functions, and its cells have 5 bits by default, as in the authors' code.
// Both use double hashing, which the paper uses for f-HABF only. hash_family = independent gives habf the paper's: 22 functions
// (detail/habf_hashes.hpp) of a key's digest, or with texts = true of its bytes; a query without them is then a "maybe".
// repeats = true accepts chains that name a function twice, as the paper's query does; no key has one, so we refuse them. With
// first_fit = true too the rates are the published ones (naysay bench habf-why).
//
//   paper           here
//   Delta           space_ratio, HashExpressor : Bloom filter
//   cell size       cell_bits
//   |H|, H0         family, functions 1..k
//   f               function 0
//   V, Gamma, CQ    detail/habf_build.hpp
//
// With choose = true the build finds k, cell_bits and space_ratio itself. It builds filters from a sample of the
// workload and uses the parameters with the least (1 - stranger_share) * weighted rate on the known negatives +
// stranger_share * rate on strangers. That may be a plain Bloom filter. max_stranger_fpr bounds the rate on strangers.
//
// Edge cases   A negative that is also a key is a key; the build does nothing for it. If a negative is given more than
//              once, each copy counts with its own cost. A negative of cost 0 is a stranger. Equal costs are handled in
//              input order. Without negatives this is a Bloom filter of k functions with an empty HashExpressor.
//
// Promises   never denies a key it was built from.
// Does not   refuse all known negatives, only as many as it can, the costliest first. Strangers are accepted more often
//            than by a Bloom filter of the same size, because k is small and part of the budget is the HashExpressor.
// Cost       Query: k bits at random, then on average less than one cell if the bits refuse. Build: see
//            detail/habf_build.hpp.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021.
#pragma once

#include <array>
#include <vector>

#include "naysay/bloom/bloom_rates.hpp"
#include "naysay/core/detail/digest_set.hpp"
#include "naysay/core/since.hpp"
#include "naysay/habf/detail/habf_build.hpp"
#include "naysay/habf/detail/habf_hashes.hpp"
#include "naysay/habf/detail/hash_expressor.hpp"
#include "naysay/habf/habf_rates.hpp"
#include "naysay/habf/hash_family.hpp"

namespace naysay {

struct HabfKind {
  static constexpr std::string_view kName = "habf";
  static constexpr std::string_view kAbout =
      "Bloom whose keys move away from known negatives, costliest first; more strangers are accepted";
  static constexpr bool kGamma = true;
  static constexpr bool kFamilies = true;   // hash_family
  static constexpr unsigned kCellBits = 4;  // paper, V-D
};

struct FastHabfKind {
  static constexpr std::string_view kName = "f-habf";
  static constexpr std::string_view kAbout =
      "habf without the search for clear bits: built faster, refuses fewer known negatives";
  static constexpr bool kGamma = false;
  static constexpr bool kFamilies = false;
  static constexpr unsigned kCellBits = 5;  // as in the authors' code
};

template <class Kind>
class HashAdaptiveBloom {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t k = 3;  // the defaults are the paper's, V-D; 0: the best for a plain Bloom filter of these bits
    std::uint32_t cell_bits = Kind::kCellBits;
    std::uint32_t family = 0;   // functions in all; 0: as many as a cell can name
    double space_ratio = 0.25;  // bits of the HashExpressor : bits of the Bloom filter; 0: a plain Bloom filter
    bool choose = false;        // find k, cell_bits, family and space_ratio, whatever is given for them
    double max_stranger_fpr = 1;
    HashFamily hash_family = HashFamily::doubled;  // of habf
    bool texts = false;                            // of habf: hash the keys' texts and not their digests
    bool repeats = false;                          // accept chains that name a function twice, as in the paper
    bool first_fit = false;  // store the first move that fits, as the authors' code, not the one that shares most cells

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("k", self.k);
      visit("cell_bits", self.cell_bits);
      visit("family", self.family);
      visit("space_ratio", self.space_ratio);
      visit("choose", self.choose);
      visit("max_stranger_fpr", self.max_stranger_fpr);
      if (!since(visit, 2)) return;
      if constexpr (Kind::kFamilies) {
        visit("hash_family", self.hash_family);
        visit("texts", self.texts);
      }
      visit("repeats", self.repeats);
      visit("first_fit", self.first_fit);
    }
  };
  static constexpr std::uint32_t kFormat = 2;  // of files; 1 had no hash_family, texts, repeats, first_fit

  static constexpr Claims kClaims = {.about = Kind::kAbout, .uses_negatives = true};

  static Result<HashAdaptiveBloom> build(const Workload& w, const Params& given, const BuildOptions& o = {}) {
    NAYSAY_CHECK(check(given));
    if (given.texts && (w.key_bytes.size() != w.keys.size() || w.negative_bytes.size() != w.negatives.size()))
      return wrong(
          "texts is true, but the workload has no texts of its keys and negatives; give them, or set it false");
    const Params p = given.choose ? chosen(w, given) : given;
    HashAdaptiveBloom f;
    const habf::TpjoOutcome outcome = f.fill(w, p, o);
    NAYSAY_CHECK(o.go_on(Kind::kName));
    if (const double fpr = p.max_stranger_fpr < 1 ? f.expected_fpr() : 0; fpr > p.max_stranger_fpr)
      return Error{Errc::out_of_budget, std::string(Kind::kName) + ": " + rounded_text(fpr * 100) +
                                            " % of strangers would be accepted at " + rounded_text(p.bits_per_key) +
                                            " bits per key; max_stranger_fpr allows " +
                                            rounded_text(p.max_stranger_fpr * 100) + " %, " +
                                            (p.choose ? "so give more bits" : "so give more bits or choose=true")};
    if (o.report) f.report(w, p, o, outcome);
    return f;
  }

  // A filter of texts cannot tell without one.
  bool may_contain(Digest d) const noexcept {
    if (hashes_ == HashFamily::doubled) [[likely]]
      return query(habf::DoubleHashes{}, d);
    return texts_ || query(text_hashes(), {d, {}});
  }
  bool may_contain(Digest d, std::string_view text) const noexcept requires(Kind::kFamilies) {
    return texts_ ? query(text_hashes(), {d, text}) : may_contain(d);
  }

  double expected_fpr() const noexcept {
    const Rates r = rates();
    return r.first + r.second;
  }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits", self.bits_);
    visit("k", self.k_);
    visit("words", self.words_);
    visit("expressor", self.expressor_);
    if (!since(visit, 2)) return;
    visit("hashes", self.hashes_);
    visit("texts", self.texts_);
    visit("repeats", self.repeats_);
  }
  Result<Ok> validate() const {
    const std::string who(Kind::kName);
    NAYSAY_CHECK(expressor_.validate());
    const unsigned most = expressor_.empty() ? kMaxPlainK : expressor_.family();
    if (k_ < 1 || k_ > most)
      return Error{Errc::corrupt, who + ": k is " + std::to_string(k_) + "; it must be 1 to " + std::to_string(most)};
    if (bits_ == 0 || words_.size() != words_for_bits(bits_))
      return Error{Errc::corrupt, who + ": " + std::to_string(words_.size()) + " words do not hold " +
                                      std::to_string(bits_) + " bits"};
    if (texts_ && hashes_ == HashFamily::doubled)
      return Error{Errc::corrupt, who + ": texts is true, but hash_family=double hashes digests only"};
    return Ok{};
  }

 private:
  static constexpr unsigned kMaxPlainK = 64;
  static constexpr std::uint64_t kSideBySide = 3;  // the default k; few strangers get further

  habf::TextHashes text_hashes() const noexcept { return {hashes_, texts_}; }

  template <class Hashes>
  [[gnu::always_inline]] bool query(const Hashes& hashes, const typename Hashes::Item& x) const noexcept {
    const auto is_set = [&](std::uint64_t i) {
      return test_bit(words_.data(), hashes.position(hashes.word(x, i), bits_));
    };
    bool all = true;
    std::uint64_t i = 1;
    // The first reads run in parallel: leaving early would save less than mispredicted branches cost.
    for (const std::uint64_t last = std::min<std::uint64_t>(k_, kSideBySide); i <= last; ++i) all &= is_set(i);
    for (; all && i <= k_; ++i) all = is_set(i);
    return all || second_look(hashes, x);
  }

  template <class Hashes>
  bool second_look(const Hashes& hashes, const typename Hashes::Item& x) const noexcept {
    if (expressor_.empty()) return false;
    const auto next = [&](unsigned function) {
      const std::uint64_t word = hashes.word(x, function);
      return test_bit(words_.data(), hashes.position(word, bits_)) ? hashes.cell(word, expressor_.cells())
                                                                   : habf::HashExpressor::kNoCell;
    };
    return expressor_.follow(k_, hashes.cell(hashes.word(x, 0), expressor_.cells()), next, repeats_);
  }

  struct Rates {
    double first, second;  // of strangers: accepted by the first look; refused by the first and accepted by the second
  };
  Rates rates() const {
    if (bits_ == 0) return {0, 0};
    std::uint64_t set = 0;
    for (std::uint64_t word : words_) set += static_cast<std::uint64_t>(std::popcount(word));
    const double ones = static_cast<double>(set) / static_cast<double>(bits_);
    const double first = std::pow(ones, k_);
    if (expressor_.empty()) return {first, 0};
    std::array<double, habf::HashExpressor::kMaxFamily + 1> at{}, end{};
    const double share = 1 / static_cast<double>(expressor_.cells());
    for (std::uint64_t i = 0; i < expressor_.cells(); ++i) {
      const habf::HashExpressor::Cell c = expressor_.cell(i);
      at[c.function] += share;
      if (c.end) end[c.function] += share;
    }
    const double repeated = repeats_ ? habf::second_look_repeated(at, end, k_, ones) : 0;
    return {first, habf::second_look(at, end, k_, ones) + repeated};
  }

  static Error wrong(const std::string& what) {
    return {Errc::invalid_argument, std::string(Kind::kName) + ": " + what};
  }
  static Result<Ok> check(const Params& p) {
    if (!(p.max_stranger_fpr > 0 && p.max_stranger_fpr <= 1))
      return wrong("max_stranger_fpr is " + to_text(p.max_stranger_fpr) + "; it must be more than 0 and at most 1");
    if (p.texts && p.hash_family == HashFamily::doubled)
      return wrong("texts is true, but hash_family=double hashes digests only; use another one, or set texts false");
    return p.choose ? Result<Ok>(Ok{}) : check_shape(p);
  }
  static Result<Ok> check_shape(const Params& p) {
    if (!(p.space_ratio >= 0 && p.space_ratio <= kMaxSpaceRatio))
      return wrong("space_ratio is " + to_text(p.space_ratio) + "; it must be 0 to " + to_text(kMaxSpaceRatio));
    if (p.cell_bits < habf::HashExpressor::kMinCellBits || p.cell_bits > habf::HashExpressor::kMaxCellBits)
      return wrong("cell_bits is " + std::to_string(p.cell_bits) + "; it must be 3 to 6");
    const unsigned named = family_of({.cell_bits = p.cell_bits, .hash_family = p.hash_family});
    if (p.family > named)
      return wrong("family is " + std::to_string(p.family) + "; a cell of " + std::to_string(p.cell_bits) +
                   " bits names at most " + std::to_string(named));
    const unsigned most = p.space_ratio == 0 ? plain_most(p.hash_family) : family_of(p) - 1;
    if ((p.k < 1 && p.space_ratio != 0) || p.k > most)
      return wrong("k is " + std::to_string(p.k) + "; it must be 1 to " + std::to_string(most) +
                   (p.space_ratio == 0 ? "" : ", less than the functions in all"));
    return Ok{};
  }
  static constexpr double kMaxSpaceRatio = 16;         // beyond this there is hardly a Bloom filter left
  static constexpr double kMinSpaceRatio = 1.0 / 256;  // the least that is tried

  static unsigned family_of(const Params& p) noexcept {
    if (p.family != 0) return p.family;
    const unsigned named = habf::HashExpressor::family_of(p.cell_bits);
    return p.hash_family == HashFamily::independent ? std::min(named, habf::kTableFunctions) : named;
  }
  static unsigned plain_most(HashFamily f) noexcept {
    return f == HashFamily::independent ? habf::kTableFunctions : kMaxPlainK;
  }

  // Divides the budget, sets the keys' bits and moves them away from the negatives.
  habf::TpjoOutcome fill(const Workload& w, const Params& p, const BuildOptions& o) {
    hashes_ = p.hash_family, texts_ = p.texts, repeats_ = p.repeats;
    return hashes_ == HashFamily::doubled ? fill_with(habf::DoubleHashes{}, w, p, o)
                                          : fill_with(text_hashes(), w, p, o);
  }
  template <class Hashes>
  habf::TpjoOutcome fill_with(const Hashes& hashes, const Workload& w, const Params& p, const BuildOptions& o) {
    const std::uint64_t budget = budget_bits(p.bits_per_key, w.keys.size());
    k_ = p.k != 0 ? p.k : std::min(bloom::best_k(p.bits_per_key), plain_most(p.hash_family));
    bits_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(budget) / (1 + p.space_ratio)));
    words_ = Array<std::uint64_t>(words_for_bits(bits_));
    const std::uint64_t cells = p.space_ratio == 0 ? 0 : (budget - bits_) / p.cell_bits;
    if (cells == 0) {
      for (std::size_t j = 0; j < w.keys.size(); ++j) {
        const auto x = Hashes::item(w.keys[j], w.key_bytes.empty() ? std::string_view() : w.key_bytes[j]);
        for (unsigned i = 1; i <= k_; ++i) set_bit(words_.mutable_data(), hashes.position(hashes.word(x, i), bits_));
      }
      return {};
    }
    expressor_ = habf::HashExpressor(cells, p.cell_bits);
    return habf::Tpjo<Kind::kGamma, Hashes>(w, o, k_, family_of(p), bits_, words_.mutable_data(), expressor_, hashes,
                                            p.first_fit)
        .run();
  }

  // ---- choosing ----
  static constexpr std::uint64_t kSampleKeys = 1 << 16;  // so that a trial is short
  static constexpr std::uint64_t kRanks = 64;            // groups by rank; a trial uses the mean rate of each
  static constexpr double kSampleMargin = 0.98;  // of the bound on strangers: what a trial on the sample may reach

  // A hill climb over k, space ratio and cell size; the result is compared with a plain Bloom filter. Each trial builds
  // a filter from a sample, because rates depend on bits per key and negatives per key, and hardly on the number of
  // keys.
  static Params chosen(const Workload& w, const Params& given) {
    const std::uint64_t stride = std::max<std::uint64_t>(1, w.keys.size() / kSampleKeys);
    std::vector<Digest> keys, negatives;
    std::vector<std::string_view> key_texts, negative_texts;
    std::vector<float> costs;
    std::vector<std::uint64_t> order;
    for (std::size_t i = 0; i < w.keys.size(); i += stride) {
      keys.push_back(w.keys[i]);
      if (given.texts) key_texts.push_back(w.key_bytes[i]);
    }
    for (std::size_t i = 0; i < w.negatives.size(); i += stride) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return w.cost(a) > w.cost(b); });
    for (std::uint64_t i : order) {
      negatives.push_back(w.negatives[i]);
      if (given.texts) negative_texts.push_back(w.negative_bytes[i]);
      costs.push_back(w.cost(i));
    }
    const Workload sample{.keys = keys,
                          .negatives = negatives,
                          .costs = costs,
                          .key_bytes = key_texts,
                          .negative_bytes = negative_texts,
                          .stranger_share = w.stranger_share};

    Params plain = given;
    plain.space_ratio = 0, plain.family = 0;
    plain.k = std::min(bloom::best_k(given.bits_per_key), plain_most(given.hash_family));
    Params here = plain;
    here.k = std::clamp(plain.k - 1, 2u, 6u);
    here.space_ratio = 0.125;
    here.cell_bits = Kind::kCellBits;
    Trial best = attempt(sample, here);
    struct Step {
      int k, cell_bits;
      double space_ratio;
    };
    constexpr Step kSteps[] = {{1, 0, 1},   {-1, 0, 1}, {0, 0, 0.5}, {0, 0, 2},
                               {1, 0, 0.5}, {0, 1, 1},  {0, -1, 1},  {1, 1, 1}};
    for (bool moved = true; moved;) {
      moved = false;
      for (const Step& step : kSteps)
        for (;;) {
          Params next = here;
          next.k += static_cast<std::uint32_t>(step.k);
          next.cell_bits += static_cast<std::uint32_t>(step.cell_bits);
          next.space_ratio *= step.space_ratio;
          if (next.space_ratio < kMinSpaceRatio || !check_shape(next)) break;
          const Trial t = attempt(sample, next);
          if (!t.beats(best)) break;
          best = t;
          here = next;
          moved = true;
        }
    }
    return best.beats(attempt(sample, plain)) ? here : plain;
  }

  struct Trial {
    double score, strangers;
    bool allowed;
    bool beats(const Trial& other) const noexcept {
      if (allowed != other.allowed) return allowed;
      if (!allowed) return strangers < other.strangers;
      return score != other.score ? score < other.score : strangers < other.strangers;
    }
  };
  // Requires the negatives of the sample in order of cost. Whether the one costliest negative happens to pass says
  // little about the parameters, so each is weighed with the mean rate of its rank.
  static Trial attempt(const Workload& sample, const Params& p) {
    HashAdaptiveBloom f;
    (void)f.fill(sample, p, {});
    const std::size_t n = sample.negatives.size(), rank = divide_up(n, kRanks);
    double all = 0, passed = 0;
    for (std::size_t i = 0; i < n;) {
      double cost = 0, accepted = 0;
      const std::size_t first = i, last = std::min(n, i + rank);
      for (; i < last; ++i) {
        cost += sample.cost(i);
        accepted += f.accepts(sample.negatives, sample.negative_bytes, i);
      }
      all += cost;
      passed += cost * accepted / static_cast<double>(last - first);
    }
    const double strangers = f.expected_fpr(), known = all > 0 ? passed / all : 0;
    return {(1 - sample.stranger_share) * known + sample.stranger_share * strangers, strangers,
            strangers <= p.max_stranger_fpr * kSampleMargin};
  }

  bool accepts(std::span<const Digest> all, std::span<const std::string_view> texts, std::size_t i) const noexcept {
    return texts_ ? query(text_hashes(), {all[i], texts[i]}) : may_contain(all[i]);
  }

  // ---- reporting ----
  void report(const Workload& w, const Params& p, const BuildOptions& o, const habf::TpjoOutcome& outcome) const {
    o.say("k", k_);
    o.say("cell bits", expressor_.empty() ? 0 : p.cell_bits);
    o.say("space ratio", p.space_ratio);
    o.say("collisions found", static_cast<double>(outcome.collisions));
    o.say("collisions optimised", static_cast<double>(outcome.moved));
    o.say("collisions optimised in passing", static_cast<double>(outcome.in_passing));
    o.say("collisions failed, no candidate", static_cast<double>(outcome.no_candidate));
    o.say("collisions failed, no room in the HashExpressor", static_cast<double>(outcome.no_room));
    o.say("negatives re-queued", static_cast<double>(outcome.requeued));

    // A negative that is also a key is accepted rightly.
    std::vector<Digest> accepted;
    for (std::size_t i = 0; i < w.negatives.size(); ++i)
      if (accepts(w.negatives, w.negative_bytes, i)) accepted.push_back(w.negatives[i]);
    const DigestSet set = DigestSet::of(accepted);
    std::vector<bool> is_key(accepted.size());
    for (const Digest& d : w.keys)
      if (const std::uint32_t at = set.find(d); at != DigestSet::kNone) is_key[at] = true;
    double all = 0, passed = 0;
    std::uint64_t also_keys = 0;
    for (std::size_t i = 0; i < w.negatives.size(); ++i) {
      const std::uint32_t at = set.find(w.negatives[i]);
      if (at != DigestSet::kNone && is_key[at]) {
        ++also_keys;
        continue;
      }
      all += w.cost(i);
      if (at != DigestSet::kNone) passed += w.cost(i);
    }
    o.say("negatives that are keys", static_cast<double>(also_keys));
    if (all > 0) {
      // Collisions that failed are accepted; of the others, those that find a chain by accident.
      const Rates r = rates();
      const double left = expressor_.empty() ? r.first : outcome.left / all;
      o.say("weighted fpr expected", left + (1 - left) * (r.first < 1 ? r.second / (1 - r.first) : 0));
      o.say("weighted fpr measured", passed / all);
    }
    o.say("stranger fpr expected", expected_fpr());
  }

  Array<std::uint64_t> words_;
  std::uint64_t bits_ = 0;
  std::uint32_t k_ = 0;
  HashFamily hashes_ = HashFamily::doubled;
  bool texts_ = false;
  bool repeats_ = false;
  habf::HashExpressor expressor_;
};

using Habf = HashAdaptiveBloom<HabfKind>;
using FastHabf = HashAdaptiveBloom<FastHabfKind>;

static_assert(ByteFilter<Habf> && Filter<FastHabf> && !ByteFilter<FastHabf>);

}  // namespace naysay
