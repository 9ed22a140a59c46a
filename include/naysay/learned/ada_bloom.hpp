// SPDX-License-Identifier: Apache-2.0
// AdaBloom: the adaptive learned Bloom filter (Ada-BF). One Bloom filter for all keys, in which a key with a high score
// has fewer hash functions: its bits are few, and a stranger that looks like a key is the price.
//
//   key --> model --> score --> group 0: K_max functions --+
//                               group 1: K_max - 1         +--> one array of bits --> "no" | "maybe"
//                               ...                        |
//                               last group: 0 -------------+    0 functions: "maybe"
//
// The disjoint variant gives each group a Bloom filter of its own instead. Groups are made by the negatives: each has
// 1/c as many as the one before.
//
//   paper         here
//   g, K_j        groups; functions of group j: K_max - j
//   tau_j         cuts_
//   c, p_j        c, and the part of the planning negatives in group j
//   alpha         the part of bits that are set
//
// Promises   never denies a key. K_max and c are those of a grid (K_max 2 to 12, c 1.25 to 8) with the lowest planned
//            rate; for the disjoint variant, bits are such that all groups have the same number of false positives.
// Does not   bound the rate on strangers of another kind. Without bytes it says "maybe" to everything if the last group
//            has keys. Where a model does not pay, or there are no bytes to learn from, it is a plain Bloom filter.
// Cost       query: the score, then as many bits as the group has functions.
// Source     Dai and Shrivastava: Adaptive learned Bloom filter (Ada-BF), NeurIPS 2020. The model is ours.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/bloom/bloom.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/bloom_build.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/region_blooms.hpp"
#include "naysay/learned/detail/scorer.hpp"
#include "naysay/learned/regions.hpp"

namespace naysay {

class AdaBloom {
 public:
  struct Params {
    double bits_per_key = 10;
    bool disjoint = false;          // a Bloom filter for each group
    std::uint32_t log_weights = 0;  // the model has 2^log_weights weights of 4 bits; 0: the planner's choice

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("disjoint", self.disjoint);
      visit("log_weights", self.log_weights);
    }
  };

  static constexpr Claims kClaims = {
      .about = "Ada-BF: a Bloom filter with fewer functions for what looks like a key; no bound on strangers",
      .uses_negatives = true,
      .reads_bytes = true,
      .fixed_bits = 2048,
  };

  static Result<AdaBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (auto ok = learned::check_log_weights("ada-bloom", p.log_weights); !ok) return std::move(ok).error();
    return learned::build_or_bloom(
        w, o, p.bits_per_key, p.log_weights, "ada-bloom", [&](const learned::Lesson& lesson) {
          const double bits = p.bits_per_key * static_cast<double>(w.keys.size()) - lesson.model_bits();
          return p.disjoint ? plan_disjoint(bits, lesson) : plan(bits, lesson);
        });
  }

  bool may_contain(Digest d) const noexcept {
    if (disjoint_) return blooms_.may_contain(d);
    return holds(d, least_k_);
  }
  bool may_contain(Digest d, std::string_view bytes) const noexcept {
    const std::int32_t score = scorer_.model.score(bytes);
    if (disjoint_) return blooms_.may_contain(d, score);
    return holds(d, std::max(functions(learned::region_of(cuts_, score)), least_k_));
  }
  // On strangers like the known negatives.
  double expected_fpr() const noexcept { return scorer_.is_absent() ? blooms_.region_fpr(0) : scorer_.planned_fpr; }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }
  bool is_learned() const noexcept { return !scorer_.is_absent(); }

  void describe(Report& to) const {
    scorer_.describe(to);
    if (disjoint_) return blooms_.describe(to);
    for (std::size_t g = 0; g <= cuts_.size(); ++g)
      to.add("hash functions of group " + std::to_string(g) +
                 (g == 0 ? ", all lower scores" : ", scores from " + std::to_string(cuts_[g - 1]) + " on"),
             functions(g));
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("scorer", self.scorer_);
    visit("disjoint", self.disjoint_);
    visit("most_k", self.most_k_);
    visit("least_k", self.least_k_);
    visit("cuts", self.cuts_);
    visit("words", self.words_);
    visit("blooms", self.blooms_);
  }
  Result<Ok> validate() const {
    if (auto ok = scorer_.validate("ada-bloom"); !ok) return ok;
    if (disjoint_) return blooms_.validate("ada-bloom");
    if (auto ok = learned::validate_cuts("ada-bloom", cuts_, cuts_.size() + 1); !ok) return ok;
    if (most_k_ > kMostFunctions || least_k_ > most_k_)
      return Error{Errc::corrupt, "ada-bloom: it has " + std::to_string(least_k_) + " to " + std::to_string(most_k_) +
                                      " functions; there must be 0 to 12, in this order"};
    if (words_.empty()) return Error{Errc::corrupt, "ada-bloom: there are 0 words; it needs at least 1"};
    return Ok{};
  }

 private:
  static constexpr std::uint32_t kMostFunctions = 12;
  static constexpr double kRatios[] = {1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 5, 6, 8};

  std::uint32_t functions(std::size_t group) const noexcept {
    return most_k_ - static_cast<std::uint32_t>(std::min<std::size_t>(group, most_k_));
  }
  bool holds(Digest d, std::uint32_t k) const noexcept {
    HashWalk walk(d);
    for (; k > 0; --k) {
      const std::uint64_t h = walk.next();
      if (((words_[fast_range(h, words_.size())] >> (h & 63)) & 1) == 0) return false;
    }
    return true;
  }
  void insert(Digest d, std::uint32_t k) noexcept {
    HashWalk walk(d);
    for (; k > 0; --k) {
      const std::uint64_t h = walk.next();
      words_.at_mut(fast_range(h, words_.size())) |= std::uint64_t{1} << (h & 63);
    }
  }

  struct Plan {
    double rate = HUGE_VAL;
    std::uint32_t most_k = 0;  // 0: disjoint
    std::vector<learned::Region> groups;
    std::vector<double> bits;  // of each group; of all in bits[0] if not disjoint

    Result<AdaBloom> build(const learned::Scorer& scorer, const Workload& w, const learned::Lesson& lesson,
                           const BuildOptions& o) const {
      AdaBloom f;
      f.scorer_ = scorer;
      f.disjoint_ = most_k == 0;
      double accepted = 0, all = 0;
      for (const learned::Region& g : groups) all += g.negatives;
      if (f.disjoint_) {
        auto blooms = learned::RegionBlooms::build(w, lesson, groups, bits, o);
        if (!blooms) return std::move(blooms).error();
        f.blooms_ = std::move(*blooms);
        f.scorer_.planned_fpr = static_cast<float>(f.blooms_.fpr(groups));
        return f;
      }
      f.most_k_ = most_k;
      f.cuts_ = Array<std::int32_t>(groups.size() - 1);
      for (std::size_t g = 0; g + 1 < groups.size(); ++g) f.cuts_.at_mut(g) = groups[g + 1].first;
      f.words_ = Array<std::uint64_t>(words_for_bits(static_cast<std::uint64_t>(bits[0])));
      f.least_k_ = most_k;
      for (std::size_t i = 0; i < w.keys.size(); ++i) {
        if (i % kTellEvery == 0 && !o.tell("ada-bloom: setting bits", i, w.keys.size()))
          return cancelled_error("ada-bloom");
        const std::uint32_t k = f.functions(learned::region_of(f.cuts_, lesson.key_scores[i]));
        f.least_k_ = std::min(f.least_k_, k);
        f.insert(w.keys[i], k);
      }
      double ones = 0;
      for (const std::uint64_t word : f.words_) ones += std::popcount(word);
      const double set = ones / (64 * static_cast<double>(f.words_.size()));
      for (std::size_t g = 0; g < groups.size(); ++g) accepted += groups[g].negatives * std::pow(set, f.functions(g));
      f.scorer_.planned_fpr = static_cast<float>(accepted / all);
      return f;
    }
    static AdaBloom plain(Bloom bloom) {
      AdaBloom f;
      f.disjoint_ = true;
      f.blooms_ = learned::RegionBlooms::of(std::move(bloom));
      return f;
    }
  };

  // So many groups, each with 1/c as many negatives as the one before, as nearly as the bins allow.
  static std::vector<learned::Region> groups_of(const std::vector<learned::Bin>& bins, double negatives,
                                                std::size_t count, double c) {
    const double first = (1 - 1 / c) / (1 - std::pow(c, -static_cast<double>(count)));
    std::vector<learned::Region> groups;
    double share = 0, wanted = 0, seen = 0;
    for (const learned::Bin& bin : bins) {
      if (groups.empty() || (groups.size() < count && seen >= wanted * negatives)) {
        groups.push_back(
            {.first = groups.empty() ? std::numeric_limits<std::int32_t>::min() : bin.first, .negatives = 1});
        share = groups.size() == 1 ? first : share / c;
        wanted += share;
      }
      groups.back().keys += bin.keys;
      groups.back().negatives += bin.negatives;
      seen += bin.negatives;
    }
    return groups;
  }

  static Plan plan(double budget, const learned::Lesson& lesson) {
    const auto bins = learned::bins_of(lesson.scores);
    const auto total = lesson.scores.total();
    Plan best;
    for (std::uint32_t k = 2; k <= kMostFunctions; ++k)
      for (const double c : kRatios) {
        const auto groups = groups_of(bins, total.negatives, k + 1, c);
        const double bits = budget - 64 - 32 * static_cast<double>(groups.size());
        if (bits < 64) continue;
        double functions = 0, all = 0, accepted = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) {
          functions += groups[g].keys * static_cast<double>(k - g);
          all += groups[g].negatives;
        }
        const double set = -std::expm1(-functions / bits);
        for (std::size_t g = 0; g < groups.size(); ++g)
          accepted += groups[g].negatives * std::pow(set, static_cast<double>(k - g));
        if (accepted / all < best.rate) best = {accepted / all, k, groups, {bits}};
      }
    return best;
  }

  static Plan plan_disjoint(double budget, const learned::Lesson& lesson) {
    const auto bins = learned::bins_of(lesson.scores);
    const auto total = lesson.scores.total();
    Plan best;
    for (std::size_t count = 2; count <= kMostFunctions; ++count)
      for (const double c : kRatios) {
        const auto groups = groups_of(bins, total.negatives, count, c);
        const double bits = budget - 64 - (32 + learned::kBloomFixedBits) * static_cast<double>(groups.size());
        if (bits < 64) continue;
        // Every group has `each` false positives, or all that it can have.
        const auto bits_of = [&](const learned::Region& g, double each) {
          return g.keys * std::max(0.0, learned::kBloomBitsPerHalving * std::log2(g.negatives / each));
        };
        double low = 1e-9, high = total.negatives + 2;
        for (int i = 0; i < 60; ++i) {
          const double each = std::sqrt(low * high);
          double sum = 0;
          for (const learned::Region& g : groups) sum += bits_of(g, each);
          (sum > bits ? low : high) = each;
        }
        Plan made{.rate = 0, .most_k = 0, .groups = groups, .bits = {}};
        double accepted = 0, all = 0;
        for (const learned::Region& g : groups) {
          made.bits.push_back(bits_of(g, high));
          accepted += g.negatives * (g.keys > 0 ? learned::bloom_rate(made.bits.back() / g.keys) : 0);
          all += g.negatives;
        }
        // Only the last groups can go without a filter.
        for (std::size_t g = groups.size(), none = 1; g-- > 0;) {
          if (made.bits[g] > 0) none = 0;
          if (none == 0) made.bits[g] = std::max(made.bits[g], 1.0);
        }
        made.rate = accepted / all;
        if (made.bits[0] > 0 && made.rate < best.rate) best = std::move(made);
      }
    return best;
  }

  learned::Scorer scorer_;
  bool disjoint_ = false;
  std::uint32_t most_k_ = 0, least_k_ = 0;
  Array<std::int32_t> cuts_;
  Array<std::uint64_t> words_;
  learned::RegionBlooms blooms_;
};

static_assert(ByteFilter<AdaBloom>);

}  // namespace naysay
