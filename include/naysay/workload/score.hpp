// SPDX-License-Identifier: Apache-2.0
// Score: how often a filter is wrong, and what that costs.
//
//   fpr               strangers accepted / strangers queried, those made up included unless the filter reads bytes
//   known_fpr         known negatives accepted / known negatives queried
//   wfpr              cost of the known negatives accepted / cost of all of them
//   other_fpr         the same as fpr for strangers of another kind (Trial::others)
//   false_negatives   keys denied; if it is not 0, the filter is broken
//
// Strangers and known negatives are counted separately, because a filter may remember the known ones and do badly on
// the rest. A rate of no queries is NaN.
//
//   paper          here
//   O, Theta(e)    Trial::negatives, ::costs
//   O'             those of them that are accepted
//   weighted FPR   wfpr
//
// Promises   the same numbers for any number of threads.
// Cost       one batch query per digest of the trial; costs are added up in double precision.
// Source     R. Xie et al., "Hash Adaptive Bloom Filter", ICDE 2021, equation 20.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/detail/parallel.hpp"
#include "naysay/core/filter.hpp"
#include "naysay/workload/trial.hpp"

namespace naysay {

struct Score {
  double fpr = 0;
  double known_fpr = 0;
  double wfpr = 0;
  std::uint64_t false_negatives = 0;
  double other_fpr = std::numeric_limits<double>::quiet_NaN();
};

// Anything that answers batches: AnyFilter does.
template <class F>
concept AnswersBatches = requires(const F& f, std::span<const Digest> keys, std::uint8_t* out) {
  f.may_contain(keys, out);
};

namespace score_detail {

// Calls body(i, answer) for every digest, querying in batches that stay in the cache.
template <AnswersBatches F, class Body>
void for_each_answer(const F& f, std::span<const Digest> queried, Body&& body) {
  std::uint8_t answers[4096];
  for (std::size_t at = 0; at < queried.size(); at += sizeof answers) {
    const auto part = queried.subspan(at, std::min(sizeof answers, queried.size() - at));
    f.may_contain(part, answers);
    for (std::size_t i = 0; i < part.size(); ++i) body(at + i, answers[i] != 0);
  }
}

// The same with the strings, one by one: for filters that read bytes. Without strings, as above.
template <AnswersBatches F, class Body>
void for_each_answer(const F& f, std::span<const Digest> asked, std::span<const std::string_view> bytes, Body&& body) {
  if constexpr (requires { f.may_contain(Digest{}, std::string_view{}); }) {
    if (!bytes.empty()) {
      for (std::size_t i = 0; i < asked.size(); ++i) body(i, f.may_contain(asked[i], bytes[i]));
      return;
    }
  }
  for_each_answer(f, asked, body);
}

inline double rate(double part, double whole) {
  return whole > 0 ? part / whole : std::numeric_limits<double>::quiet_NaN();
}

// What one thread adds up in one go: always the same digests, so that the sums are the same for any number of threads.
inline constexpr std::size_t kPart = std::size_t{1} << 16;

// Adds up body(i, answer, sum) over every digest; Sum has +=.
template <class Sum, AnswersBatches F, class Body>
Sum sum_answers(const F& f, std::span<const Digest> queried, std::span<const std::string_view> bytes, unsigned threads,
                Body&& body) {
  std::vector<Sum> sums((queried.size() + kPart - 1) / kPart);
  parallel_for(sums.size(), threads, [&](std::uint64_t part) {
    const std::size_t first = part * kPart, count = std::min(kPart, queried.size() - first);
    Sum sum{};
    for_each_answer(f, queried.subspan(first, count), bytes.empty() ? bytes : bytes.subspan(first, count),
                    [&](std::size_t i, bool maybe) { body(first + i, maybe, sum); });
    sums[part] = sum;
  });
  Sum all{};
  for (const Sum& sum : sums) all += sum;
  return all;
}

struct AcceptedCost {
  double accepted = 0, accepted_cost = 0, cost = 0;
  AcceptedCost& operator+=(const AcceptedCost& other) noexcept {
    accepted += other.accepted;
    accepted_cost += other.accepted_cost;
    cost += other.cost;
    return *this;
  }
};

}  // namespace score_detail

template <AnswersBatches F>
std::uint64_t count_maybe(const F& f, std::span<const Digest> queried, std::span<const std::string_view> bytes = {},
                          unsigned threads = 1) {
  return score_detail::sum_answers<std::uint64_t>(
      f, queried, bytes, threads, [](std::size_t, bool maybe, std::uint64_t& count) { count += maybe; });
}

// With the strings of the trial only if the filter reads them: others answer faster in batches.
template <AnswersBatches F>
Score score(const F& f, const Trial& t, bool reads_bytes = false, unsigned threads = 1) {
  using score_detail::rate;
  const auto bytes = [&](std::span<const std::string_view> of) {
    return reads_bytes ? of : std::span<const std::string_view>();
  };
  const auto known = score_detail::sum_answers<score_detail::AcceptedCost>(
      f, t.negatives, bytes(t.negative_bytes), threads,
      [&](std::size_t i, bool maybe, score_detail::AcceptedCost& sum) {
        sum.accepted += maybe;
        sum.accepted_cost += maybe ? t.costs[i] : 0;
        sum.cost += t.costs[i];
      });
  const auto count = [&](std::span<const Digest> asked, std::span<const std::string_view> texts) {
    return static_cast<double>(count_maybe(f, asked, bytes(texts), threads));
  };
  const std::span<const Digest> made_up = reads_bytes ? std::span<const Digest>() : t.made_up;
  return {.fpr = rate(count(t.strangers, t.stranger_bytes) + count(made_up, {}),
                      static_cast<double>(t.strangers.size() + made_up.size())),
          .known_fpr = rate(known.accepted, static_cast<double>(t.negatives.size())),
          .wfpr = rate(known.accepted_cost, known.cost),
          .false_negatives = t.keys.size() - count_maybe(f, t.keys, bytes(t.key_bytes), threads),
          .other_fpr = rate(count(t.others, t.other_bytes), static_cast<double>(t.others.size()))};
}

}  // namespace naysay
