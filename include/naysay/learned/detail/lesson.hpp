// SPDX-License-Identifier: Apache-2.0
// Lesson: what a learned filter knows before it is planned: a model, the keys' scores, and the scores of negatives
// that the model was not trained with.
//
//   known negatives --Split--> 3 of 4 --> Training --> Model --+--> scores of all keys
//                         |                                    |
//                         +--> 1 of 4 (planning) --------------+--> scores of strangers of the same kind
//
// The planning negatives tell what the model does to strangers. Those it was trained with would promise too much.
//
// How many weights: 4 bits each must pay for themselves in every key's budget. From 0.055 to 0.22 bits per key they
// do; both powers of two in this range are trained and planned with, and the better plan is taken. From 2^19 keys on
// training takes seconds, and only the smaller one is tried.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/learned/detail/training.hpp"
#include "naysay/learned/regions.hpp"

namespace naysay::learned {

// Planning negatives: a quarter, but at least this many if that is no more than half. With fewer, fewer regions.
inline constexpr double kPlanningShare = 0.25, kEnoughForPlanning = 3000, kFewestForPlanning = 100;

struct Lesson {
  Model model;
  Scores scores;
  std::vector<std::int16_t> key_scores;  // one for each key
  double planning = 0;                   // negatives in scores

  double model_bits() const noexcept { return static_cast<double>(bits_of_fields(model)); }
  // So many regions can be told apart by the planning negatives.
  std::size_t most_regions(std::size_t wanted) const noexcept {
    const auto by_count = static_cast<std::size_t>(8 * planning / kEnoughForPlanning);
    return planning >= kEnoughForPlanning ? wanted : std::min(wanted, std::max<std::size_t>(by_count, 2));
  }
};

// The negatives among `some` (sorted) that are keys.
inline std::vector<bool> are_keys(std::span<const Digest> some, std::span<const Digest> keys) {
  std::vector<bool> found(some.size());
  if (some.empty()) return found;
  // Nearly all keys are turned away by one bit of their digest.
  const unsigned shift = static_cast<unsigned>(std::countl_zero(std::bit_ceil(some.size()))) - 3;
  std::vector<bool> seen((~std::uint64_t{0} >> shift) + 1);
  for (const Digest& d : some) seen[d.lo >> shift] = true;
  for (const Digest& d : keys) {
    if (!seen[d.lo >> shift]) continue;
    for (auto at = std::lower_bound(some.begin(), some.end(), d); at != some.end() && *at == d; ++at)
      found[static_cast<std::size_t>(at - some.begin())] = true;
  }
  return found;
}

inline Result<Ok> check_log_weights(std::string_view who, std::uint32_t log_weights) {
  if (log_weights == 0 || (log_weights >= kLeastLogWeights && log_weights <= kMostLogWeights)) return Ok{};
  return Error{Errc::invalid_argument, std::string(who) + ": log_weights is " + std::to_string(log_weights) +
                                           "; it must be 9 to 16, or 0 for the planner's choice"};
}

class Teacher {
 public:
  // False if there is nothing to learn from: no bytes, or too few negatives.
  static bool can_teach(const Workload& w) noexcept {
    return !w.keys.empty() && w.key_bytes.size() == w.keys.size() && w.negative_bytes.size() == w.negatives.size() &&
           static_cast<double>(w.negatives.size()) >= 2 * kFewestForPlanning &&
           w.keys.size() + w.negatives.size() < (std::uint64_t{1} << 32);
  }

  // Requires can_teach(w).
  Teacher(const Workload& w, const BuildOptions& o, std::string_view who)
      : w_(w),
        o_(o),
        who_(who),
        split_(o.seed, std::clamp(kEnoughForPlanning / static_cast<double>(w.negatives.size()), kPlanningShare, 0.5)),
        training_(w, o, split_) {
    std::vector<std::pair<Digest, std::uint32_t>> kept;
    for (std::uint32_t i = 0; i < w.negatives.size(); ++i)
      if (split_.is_for_planning(w.negatives[i])) kept.emplace_back(w.negatives[i], i);
    std::sort(kept.begin(), kept.end());
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    kept.erase(std::unique(kept.begin(), kept.end(), same), kept.end());
    std::vector<Digest> digests;
    for (const auto& [d, i] : kept) digests.push_back(d);
    const auto keys = are_keys(digests, w.keys);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!keys[i]) planning_.push_back(kept[i].second);
  }

  // The powers of two to try, for this many keys: few enough weights that a key pays at most 0.22 bits for them.
  static std::vector<unsigned> sizes(std::uint64_t keys) {
    std::vector<unsigned> out;
    for (unsigned log = kLeastLogWeights; log <= kMostLogWeights; ++log) {
      const double bits = 4 * static_cast<double>(std::uint64_t{1} << log) / static_cast<double>(keys);
      const double most = keys < kManyKeys ? 0.22 : 0.11;
      if (bits <= most && (bits > 0.055 || log == kMostLogWeights)) out.push_back(log);
    }
    if (out.empty()) out.push_back(kLeastLogWeights);
    return out;
  }

  Lesson teach(unsigned log_weights) const {
    Lesson lesson;
    lesson.model = training_.train(log_weights, who_);
    lesson.key_scores.resize(w_.keys.size());
    constexpr std::uint64_t kPiece = 1 << 14;
    parallel_for(divide_up(w_.keys.size(), kPiece), o_.threads, [&](std::uint64_t piece) {
      if (o_.cancelled()) return;
      const std::uint64_t last = std::min<std::uint64_t>((piece + 1) * kPiece, w_.keys.size());
      for (std::uint64_t i = piece * kPiece; i < last; ++i)
        lesson.key_scores[i] = static_cast<std::int16_t>(lesson.model.score(w_.key_bytes[i]));
    });
    for (const std::int16_t score : lesson.key_scores) lesson.scores.add_key(score);
    for (const std::uint32_t i : planning_) lesson.scores.add_negative(lesson.model.score(w_.negative_bytes[i]));
    lesson.planning = static_cast<double>(planning_.size());
    return lesson;
  }

  // The lesson whose plan has the lowest rate, and that plan. plan(lesson) returns something with a `rate`.
  template <class Plan>
  auto best(unsigned log_weights, Plan&& plan) const {
    std::pair<Lesson, decltype(plan(std::declval<const Lesson&>()))> found;
    bool first = true;
    for (const unsigned log : log_weights != 0 ? std::vector<unsigned>{log_weights} : sizes(w_.keys.size())) {
      Lesson lesson = teach(log);
      auto made = plan(lesson);
      if (!first && !(made.rate < found.second.rate)) continue;
      first = false;
      found = {std::move(lesson), std::move(made)};
    }
    return found;
  }

  double examples() const noexcept { return static_cast<double>(training_.examples()); }

 private:
  static constexpr std::uint64_t kManyKeys = std::uint64_t{1} << 19;

  const Workload& w_;
  const BuildOptions& o_;
  std::string_view who_;
  Split split_;
  Training training_;
  std::vector<std::uint32_t> planning_;
};

}  // namespace naysay::learned
