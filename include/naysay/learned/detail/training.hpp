// SPDX-License-Identifier: Apache-2.0
// Training: fits a Model to keys and known negatives by logistic regression, in integers.
//
//   keys ------+--> one in digest order: kEpochs times { score, error = label - sigmoid(score), step against it }
//   negatives -+                                             |
//                                                 mean of the weights after every step --> Model (4 bits a weight)
//
// Which negatives are for training, which are for planning, and the order of the examples depend on nothing but the
// digests and the seed. So the same strings give the same bytes, in whatever order they come.
//
//   paper      here
//   w          weights, Q16 (65536 is 1)
//   eta        kRates, one for each epoch
//   w-bar      w - u / t, with u the sum of t * step: the mean of all w without touching every w at every step
//
// Promises   the same bytes on every machine: 32-bit weights, 64-bit sums, a sigmoid table that the compiler makes
//            from additions, multiplications and divisions.
// Does not   use more than kMostExamples keys and as many negatives, or more than kBalance keys per negative or
//            negatives per key: a larger set is sampled by digest. One thread: each step needs the one before.
// Cost       about 0.5 us per example and epoch for strings of 20 bytes; 8 bytes per example, 12 per weight.
// Source     averaging: Polyak and Juditsky, 1992; the lazy sum: Daume, 2006.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/learned/model.hpp"

namespace naysay::learned {

// 65536 / (1 + exp(-x)) for x = 0, 1/64, ... 8. Only + - * / of doubles, at compile time: the same everywhere.
inline constexpr unsigned kSigmoidSteps = 64, kSigmoidMost = 8;
constexpr std::array<std::uint16_t, kSigmoidSteps * kSigmoidMost + 1> sigmoid_table() noexcept {
  std::array<std::uint16_t, kSigmoidSteps * kSigmoidMost + 1> table{};
  double step = 1, term = 1;  // exp(-1/64), by its series
  for (int i = 1; i < 12; ++i) {
    term *= -1.0 / (kSigmoidSteps * i);
    step += term;
  }
  double power = 1;
  for (auto& value : table) {
    value = static_cast<std::uint16_t>(65536 / (1 + power) + 0.5);
    power *= step;
  }
  return table;
}
inline constexpr auto kSigmoid = sigmoid_table();

// Of a Q16 number, as Q16.
constexpr std::int32_t sigmoid(std::int64_t x) noexcept {
  const std::uint64_t size = static_cast<std::uint64_t>(x < 0 ? -x : x) / (65536 / kSigmoidSteps);
  const std::int32_t value = kSigmoid[std::min<std::uint64_t>(size, kSigmoid.size() - 1)];
  return x < 0 ? 65536 - value : value;
}

// What becomes of a known negative: it is trained with, or kept for planning. By its digest alone.
class Split {
 public:
  Split(std::uint64_t seed, double planning_share) noexcept
      : seed_(mix64(seed + 0x6c6561726e6564)), planning_(share_of_u32(planning_share)) {}
  bool is_for_planning(Digest d) const noexcept { return draw(d.lo, 1) < planning_; }
  // A sample of the given share, independent of the above.
  bool is_sampled(Digest d, double share) const noexcept { return share >= 1 || draw(d.lo, 2) < share_of_u32(share); }
  std::uint32_t order(Digest d) const noexcept { return draw(d.hi, 3); }

 private:
  static std::uint32_t share_of_u32(double share) noexcept {
    return static_cast<std::uint32_t>(std::clamp(share, 0.0, 1.0) * 4294967295.0);
  }
  std::uint32_t draw(std::uint64_t word, std::uint64_t purpose) const noexcept {
    return static_cast<std::uint32_t>(mix64((word ^ seed_) + purpose * 0x9e3779b97f4a7c15u) >> 32);
  }
  std::uint64_t seed_;
  std::uint32_t planning_;
};

inline constexpr double kMostExamples = 1 << 21, kBalance = 4;
inline constexpr int kEpochs = 3;

class Training {
 public:
  // Requires w.key_bytes and w.negative_bytes, one for each digest, and fewer than 2^32 of both together.
  Training(const Workload& w, const BuildOptions& o, const Split& split) : w_(w), o_(o) {
    const auto keys = static_cast<double>(w.keys.size());
    std::uint64_t others = 0;
    for (const Digest& d : w.negatives) others += !split.is_for_planning(d);
    const auto negatives = static_cast<double>(others);
    const auto share = [](double of, double other) {
      return of == 0 ? 0 : std::min({of, kBalance * other, kMostExamples}) / of;
    };
    const double of_keys = share(keys, negatives), of_negatives = share(negatives, keys);
    examples_.reserve(static_cast<std::size_t>(1.01 * (of_keys * keys + of_negatives * negatives)) + 100);
    for (std::size_t i = 0; i < w.keys.size(); ++i)
      if (split.is_sampled(w.keys[i], of_keys)) add(i, split.order(w.keys[i]));
    for (std::size_t i = 0; i < w.negatives.size(); ++i)
      if (const Digest d = w.negatives[i]; !split.is_for_planning(d) && split.is_sampled(d, of_negatives))
        add(w.keys.size() + i, split.order(d));
    sort();
  }

  std::uint64_t examples() const noexcept { return examples_.size(); }

  Model train(unsigned log_weights, std::string_view who) const {
    return with_log_weights(log_weights, [&]<unsigned log>() { return train<log>(who); });
  }

 private:
  template <unsigned log_weights>
  Model train(std::string_view who) const {
    constexpr std::size_t size = std::size_t{1} << log_weights;
    std::vector<std::int32_t> weights(size);
    std::vector<std::int64_t> lazy(size);
    std::int32_t bias = 0;
    std::int64_t time = 0;
    const std::string stage = std::string(who) + ": training 2^" + std::to_string(log_weights) + " weights";
    std::array<std::uint32_t, kMaxFeatures> features;
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const std::int64_t rate = kRates[epoch];
      for (std::size_t at = 0; at < examples_.size(); ++at) {
        if (at % kTellEvery == 0 &&
            !o_.tell(stage, static_cast<std::uint64_t>(epoch) * examples_.size() + at, kEpochs * examples_.size()))
          return Model::of(weights);
        fetch_ahead(at);
        const std::uint32_t i = index(examples_[at]);
        std::size_t count = 0;
        std::int64_t score = bias;
        const auto add = [&](std::uint32_t f) {
          features[count++] = f;
          score += weights[f];
        };
        for_each_feature<log_weights>(
            bytes(i), [&](std::uint32_t cell) { add(2 * cell); }, [&](std::uint32_t cell) { add(2 * cell + 1); });
        const std::int64_t error = (is_key(i) ? 65536 : 0) - sigmoid(score);
        const auto step = static_cast<std::int32_t>((error * rate + (1 << 15)) >> 16);
        ++time;
        if (step == 0) continue;
        const std::int64_t past = step * time;
        for (std::size_t f = 0; f < count; ++f) {
          weights[features[f]] += step;
          lazy[features[f]] += past;
        }
        bias += step;
      }
    }
    if (time > 0)
      for (std::size_t f = 0; f < size; ++f) weights[f] -= static_cast<std::int32_t>(lazy[f] / time);
    return Model::of(weights);
  }

  static constexpr std::int64_t kRates[kEpochs] = {1311, 1311, 655};  // Q16: 0.02, 0.02, 0.01
  static constexpr std::size_t kFetchAhead = 12;

  // An example is its place in the order (32 bits) and where it stands: keys first, then negatives.
  void add(std::uint64_t i, std::uint32_t order) { examples_.push_back(std::uint64_t{order} << 32 | i); }
  static std::uint32_t index(std::uint64_t example) noexcept { return static_cast<std::uint32_t>(example); }
  bool is_key(std::uint32_t i) const noexcept { return i < w_.keys.size(); }
  const Digest& digest_of(std::uint32_t i) const noexcept {
    return is_key(i) ? w_.keys[i] : w_.negatives[i - w_.keys.size()];
  }
  const std::string_view& bytes(std::uint32_t i) const noexcept {
    return is_key(i) ? w_.key_bytes[i] : w_.negative_bytes[i - w_.keys.size()];
  }
  void fetch_ahead(std::size_t at) const noexcept {
    if (at + 2 * kFetchAhead >= examples_.size()) return;
    __builtin_prefetch(&bytes(index(examples_[at + 2 * kFetchAhead])));
    __builtin_prefetch(bytes(index(examples_[at + kFetchAhead])).data());
  }

  // Each string once; one that is a key and a negative is a key.
  void sort() {
    const auto before = [&](std::uint64_t a, std::uint64_t b) {
      if (a >> 32 != b >> 32) return a < b;
      const Digest &x = digest_of(index(a)), &y = digest_of(index(b));
      return x != y ? x < y : a < b;  // keys come before negatives
    };
    std::sort(examples_.begin(), examples_.end(), before);
    const auto same = [&](std::uint64_t a, std::uint64_t b) {
      return a >> 32 == b >> 32 && digest_of(index(a)) == digest_of(index(b));
    };
    examples_.erase(std::unique(examples_.begin(), examples_.end(), same), examples_.end());
  }

  const Workload& w_;
  const BuildOptions& o_;
  std::vector<std::uint64_t> examples_;
};

}  // namespace naysay::learned
