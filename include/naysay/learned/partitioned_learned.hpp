// SPDX-License-Identifier: Apache-2.0
// PartitionedLearned: the partitioned learned Bloom filter (PLBF). Scores are cut into regions; each has a Bloom filter
// of its own rate, but the last, which accepts everything.
//
//   key --> model --> score --> region 0 --> Bloom filter, low rate: few keys, most negatives
//                               region 1 --> Bloom filter
//                               ...
//                               last -----> "maybe": most keys, few negatives
//
//   paper         here
//   f_i, t_i      a region's rate and its lower end (learned/regions.hpp finds both)
//   G, H          scores of keys, and of planning negatives
//   N, k          bins, Params::regions
//
// Promises   never denies a key. The cuts and rates are the best for the bins (fast PLBF, exact).
// Does not   bound the rate on strangers of another kind: all that the model takes for keys are accepted. Without bytes
//            (may_contain(digest) alone) it says "maybe" to everything if the last region has keys. Where a model does
//            not pay, or there are no bytes to learn from, it is a plain Bloom filter.
//            The paper gives regions without negatives the rate 1; here a region counts one negative more than it has.
// Cost       query: the score, then one Bloom filter of the region.
// Source     Vaidya, Knorr, Kraska, Mitzenmacher, ICLR 2021; Sato and Matsui, NeurIPS 2023. The model is ours.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "naysay/bloom/bloom.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/lesson.hpp"
#include "naysay/learned/detail/region_blooms.hpp"
#include "naysay/learned/detail/scorer.hpp"

namespace naysay {

class PartitionedLearned {
 public:
  struct Params {
    double bits_per_key = 10;
    std::uint32_t regions = 8;
    std::uint32_t log_weights = 0;  // the model has 2^log_weights weights of 4 bits; 0: the planner's choice

    template <class Self, class V>
    static void fields(Self& self, V& visit) {
      visit("bits_per_key", self.bits_per_key);
      visit("regions", self.regions);
      visit("log_weights", self.log_weights);
    }
  };

  static constexpr Claims kClaims = {
      .about = "PLBF: a model, and a Bloom filter per region of scores; accepts all that looks like a key",
      .uses_negatives = true,
      .reads_bytes = true,
      .fixed_bits = 2048,
  };

  static Result<PartitionedLearned> build(const Workload& w, const Params& p, const BuildOptions& o = {}) {
    if (p.regions < 2 || p.regions > learned::kMostRegions)
      return Error{Errc::invalid_argument,
                   "partitioned-learned: regions is " + std::to_string(p.regions) + "; it must be 2 to 16"};
    if (auto ok = learned::check_log_weights("partitioned-learned", p.log_weights); !ok) return std::move(ok).error();
    return learned::build_or_bloom(w, o, p.bits_per_key, p.log_weights, "partitioned-learned",
                                   [&](const learned::Lesson& lesson) { return plan(w, p, lesson); });
  }

  bool may_contain(Digest d) const noexcept { return blooms_.may_contain(d); }
  bool may_contain(Digest d, std::string_view bytes) const noexcept {
    return blooms_.may_contain(d, scorer_.model.score(bytes));
  }
  // On strangers like the known negatives.
  double expected_fpr() const noexcept { return scorer_.is_absent() ? blooms_.region_fpr(0) : scorer_.planned_fpr; }
  std::uint64_t size_bits() const noexcept { return bits_of_fields(*this); }
  bool is_learned() const noexcept { return !scorer_.is_absent(); }

  void describe(Report& to) const {
    scorer_.describe(to);
    blooms_.describe(to);
  }

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("scorer", self.scorer_);
    visit("blooms", self.blooms_);
  }
  Result<Ok> validate() const {
    if (auto ok = scorer_.validate("partitioned-learned"); !ok) return ok;
    return blooms_.validate("partitioned-learned");
  }

 private:
  struct Plan {
    double rate = HUGE_VAL;
    std::vector<learned::Region> regions;
    std::vector<double> bits;
    Result<PartitionedLearned> build(const learned::Scorer& scorer, const Workload& w, const learned::Lesson& lesson,
                                     const BuildOptions& o) const {
      auto blooms = learned::RegionBlooms::build(w, lesson, regions, bits, o);
      if (!blooms) return std::move(blooms).error();
      PartitionedLearned f;
      f.scorer_ = scorer;
      f.blooms_ = std::move(*blooms);
      f.scorer_.planned_fpr = static_cast<float>(f.blooms_.fpr(regions));
      return f;
    }
    static PartitionedLearned plain(Bloom bloom) {
      PartitionedLearned f;
      f.blooms_ = learned::RegionBlooms::of(std::move(bloom));
      return f;
    }
  };

  static Plan plan(const Workload& w, const Params& p, const learned::Lesson& lesson) {
    const double budget = p.bits_per_key * static_cast<double>(w.keys.size()) - lesson.model_bits();
    const learned::Price price{.bits_per_halving = learned::kBloomBitsPerHalving,
                               .fixed_bits = learned::kBloomFixedBits + 32};
    const auto division =
        learned::divide(learned::bins_of(lesson.scores), price, lesson.most_regions(p.regions), budget);
    Plan made;
    if (division.regions.size() < 2) return made;
    made.regions = division.regions;
    double accepted = 0, all = 0;
    for (const learned::Region& r : made.regions) {
      const bool last = &r == &made.regions.back();
      made.bits.push_back(last ? 0 : std::max(r.keys * r.halvings * price.bits_per_halving, 1.0));
      accepted += r.negatives * (last ? 1 : learned::bloom_rate(made.bits.back() / std::max(r.keys, 1.0)));
      all += r.negatives;
    }
    made.rate = accepted / all;
    return made;
  }

  learned::Scorer scorer_;
  learned::RegionBlooms blooms_;
};

static_assert(ByteFilter<PartitionedLearned>);

}  // namespace naysay
