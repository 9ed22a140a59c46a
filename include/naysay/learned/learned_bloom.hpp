// SPDX-License-Identifier: Apache-2.0
// LearnedBloom (LBF) and SandwichedBloom (SLBF): a model says "maybe" to all it takes for keys, and a backup Bloom
// filter holds the keys that it does not. The sandwiched one has another Bloom filter in front, of all keys.
//
//   key --> [initial Bloom, all keys] --no--> "no"                     (SandwichedBloom alone)
//                  | yes
//                  v
//                model --score at or above the threshold--> "maybe"
//                  | below
//                  v
//                backup Bloom, keys with low scores --> "no" | "maybe"
//
//   paper         here
//   tau           threshold_
//   F_p, F_n      parts of the planning negatives above and of the keys below the threshold
//   b_1, b_2      bits per key of the initial and of the backup filter:
//                 the backup's rate is best at F_p / ((1 - F_p) (1 / F_n - 1)), whatever the budget
//
// Promises   never denies a key. Of all thresholds (256 quantiles of the scores) it takes the one with the lowest
//            planned rate; so a SandwichedBloom is planned no worse than a LearnedBloom.
// Does not   bound the rate on strangers of another kind: a LearnedBloom accepts every string that the model takes for
//            a key. Without bytes it says "maybe" to all that the initial filter accepts. Where a model does not pay,
//            or there are no bytes to learn from, it is a plain Bloom filter.
// Cost       query: the initial filter, the score, the backup filter, as far as it gets.
// Source     Kraska, Beutel, Chi, Dean, Polyzotis: The case for learned index structures, SIGMOD 2018; Mitzenmacher:
//            A model for learned Bloom filters and optimizing by sandwiching, NeurIPS 2018. The model is ours.
#pragma once

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/bloom/bloom.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/bloom_build.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/scorer.hpp"

namespace naysay {

template <bool sandwiched>
class ThresholdBloom {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t log_weights = 0;  // the model has 2^log_weights weights of 4 bits; 0: the planner's choice

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("log_weights", self.log_weights);
    }
  };

  static constexpr std::string_view kName = sandwiched ? "sandwiched-bloom" : "learned-bloom";
  static constexpr Claims kClaims = {
      .about = sandwiched ? "SLBF: a Bloom filter, a model, and a backup Bloom filter for the keys it misses"
                          : "LBF: a model, and a backup Bloom filter for the keys it misses; no bound on strangers",
      .uses_negatives = true,
      .reads_bytes = true,
      .fixed_bits = 1536,
  };

  static Result<ThresholdBloom> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (auto ok = learned::check_log_weights(kName, p.log_weights); !ok) return std::move(ok).error();
    return learned::build_or_bloom(w, o, p.bits_per_key, p.log_weights, kName, [&](const learned::Lesson& lesson) {
      return plan(p.bits_per_key * static_cast<double>(w.keys.size()), lesson);
    });
  }

  bool may_contain(Digest d) const noexcept {
    if (scorer_.is_absent()) return backup_.may_contain(d);
    return initial_.empty() || initial_[0].may_contain(d);
  }
  bool may_contain(Digest d, std::string_view bytes) const noexcept {
    if (scorer_.is_absent()) return backup_.may_contain(d);
    if (!initial_.empty() && !initial_[0].may_contain(d)) return false;
    return scorer_.model.score(bytes) >= threshold_ || backup_.may_contain(backup_digest(d, !initial_.empty()));
  }
  // On strangers like the known negatives.
  double expected_fpr() const noexcept { return scorer_.is_absent() ? backup_.expected_fpr() : scorer_.planned_fpr; }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }
  bool is_learned() const noexcept { return !scorer_.is_absent(); }

  void describe(Report& to) const {
    scorer_.describe(to);
    if (!initial_.empty()) to.add("fpr of the initial filter", initial_[0].expected_fpr());
    if (is_learned()) to.add("threshold", threshold_);
    to.add("fpr of the backup filter", backup_.expected_fpr());
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("scorer", self.scorer_);
    visit("threshold", self.threshold_);
    visit("initial", self.initial_);
    visit("backup", self.backup_);
  }
  Result<Ok> validate() const {
    if (auto ok = scorer_.validate(kName); !ok) return ok;
    if (initial_.size() > (sandwiched ? 1u : 0u))
      return Error{Errc::corrupt, std::string(kName) + ": it has " + std::to_string(initial_.size()) +
                                      " initial filters; it must have at most " + (sandwiched ? "1" : "0")};
    for (const Bloom& initial : initial_)
      if (auto ok = initial.validate(); !ok) return ok;
    return backup_.validate();
  }

 private:
  // Of another kind than the initial filter's: two Bloom filters of one digest err on the same strangers. On 1.5 million
  // hosts at 10 bits per key that made the rate 1.4 times as high.
  static Digest backup_digest(Digest d, bool has_initial) noexcept {
    return has_initial ? Digest{remix64(d.hi ^ 0x62616375u), remix64(d.lo ^ 0x6b757021u)} : d;
  }

  struct Plan {
    double rate = HUGE_VAL;
    std::int32_t threshold = 0;
    double above = 0;  // F_p
    double initial_bits = 0, backup_bits = 0;

    Result<ThresholdBloom> build(const learned::Scorer& scorer, const Workload& w, const learned::Lesson& lesson,
                                 const BuildOptions& o) const {
      ThresholdBloom f;
      f.scorer_ = scorer;
      f.threshold_ = threshold;
      double initial_fpr = 1;
      if (initial_bits > 0) {
        auto initial = learned::bloom_of(w.keys, initial_bits, o);
        if (!initial) return std::move(initial).error();
        initial_fpr = initial->expected_fpr();
        f.initial_.push_back(std::move(*initial));
      }
      std::vector<Digest> low;
      for (std::size_t i = 0; i < w.keys.size(); ++i)
        if (lesson.key_scores[i] < threshold) low.push_back(backup_digest(w.keys[i], initial_bits > 0));
      auto backup = learned::bloom_of(low, backup_bits, o);
      if (!backup) return std::move(backup).error();
      f.backup_ = std::move(*backup);
      f.scorer_.planned_fpr = static_cast<float>(initial_fpr * (above + (1 - above) * f.backup_.expected_fpr()));
      return f;
    }
    static ThresholdBloom plain(Bloom bloom) {
      ThresholdBloom f;
      f.backup_ = std::move(bloom);
      return f;
    }
  };

  static Plan plan(double budget, const learned::Lesson& lesson) {
    const auto all = lesson.scores.total();
    const double bits = budget - lesson.model_bits() - 2 * learned::kBloomFixedBits;
    Plan best, without_initial;
    if (bits <= 0) return best;
    double low_keys = 0, low_negatives = 0;  // below the threshold
    const auto consider = [&](std::int32_t threshold, double initial_bits) {
      const double above = (all.negatives - low_negatives + 1) / (all.negatives + 1);
      const double backup_bits = bits - initial_bits;
      const double backup = low_keys > 0 ? learned::bloom_rate(backup_bits / low_keys) : 0;
      const double rate =
          (initial_bits > 0 ? learned::bloom_rate(initial_bits / all.keys) : 1) * (above + (1 - above) * backup);
      if (rate < best.rate) best = {rate, threshold, above, initial_bits, backup_bits};
      if (initial_bits == 0 && rate < without_initial.rate)
        without_initial = {rate, threshold, above, initial_bits, backup_bits};
    };
    for (const learned::Bin& bin : learned::bins_of(lesson.scores)) {
      consider(bin.first, 0);
      if (sandwiched) {
        const double above = (all.negatives - low_negatives + 1) / (all.negatives + 1), missed = low_keys / all.keys;
        if (above < 1 && missed < 1 && missed > 0) {
          const double backup_fpr = above / ((1 - above) * (1 / missed - 1));
          const double backup_bits = low_keys * std::max(0.0, learned::kBloomBitsPerHalving * -std::log2(backup_fpr));
          if (backup_bits < bits) consider(bin.first, bits - backup_bits);
        }
      }
      low_keys += bin.keys;
      low_negatives += bin.negatives;
    }
    // `above` is a share of a sample. An initial filter that promises less than its noise may as well do harm.
    const double noise = std::sqrt(best.above * all.negatives + 1) / (best.above * all.negatives + 1);
    return best.rate < without_initial.rate * (1 - 2 * noise) ? best : without_initial;
  }

  learned::Scorer scorer_;
  std::int32_t threshold_ = 0;
  std::vector<Bloom> initial_;  // one, or none
  Bloom backup_;
};

using LearnedBloom = ThresholdBloom<false>;
using SandwichedBloom = ThresholdBloom<true>;

static_assert(ByteFilter<LearnedBloom> && ByteFilter<SandwichedBloom>);

}  // namespace naysay
