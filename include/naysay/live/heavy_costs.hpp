// SPDX-License-Identifier: Apache-2.0
// HeavyCosts: the costliest of a stream of keys, in bounded memory, with ageing.
//
// It has room for k keys. Each has an estimate of its cost and how much too large that may be:
//
//   add(x, c), x is in           estimate(x) += c
//   add(x, c), there is room     estimate(x) = c,           error(x) = 0
//   add(x, c), it is full        the key with the smallest estimate m leaves; estimate(x) = m + c, error(x) = m
//
// Ageing: a cost halves in every half_life units of time. Instead of making all of them smaller, a new cost is made
// larger, by 2^(now / half_life), and all are divided by that when they are read.
//
// Promises   for every key that is in: true cost <= estimate <= true cost + error, and error <= total() / k, where the
//            true cost and the total are aged alike. So each key whose true cost is more than total() / k is in.
// Cost       add: one look-up in a hash table and a path of a binary heap. About 100 bytes for a key, and its text.
// Source     A. Metwally, D. Agrawal, A. El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams
//            (Space-Saving), 2005; forward decay: G. Cormode, V. Shkapenyuk, D. Srivastava, B. Xu, 2009.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "naysay/core/hash.hpp"

namespace naysay {

class HeavyCosts {
 public:
  struct Entry {
    Digest key;
    double cost = 0;   // the estimate: never too small
    double error = 0;  // how much too large it may be
    std::string text;  // as given with the key, or empty
  };

  // half_life 0: nothing ages. Requires capacity >= 1 and half_life >= 0.
  explicit HeavyCosts(std::uint64_t capacity, double half_life = 0)
      : capacity_(std::max<std::uint64_t>(capacity, 1)), half_life_(half_life) {
    at_.reserve(capacity_);
  }

  // `now` must not fall; what is not a positive number costs nothing.
  void add(Digest key, double cost, double now = 0, std::string_view text = {}) {
    if (!(cost > 0) || std::isinf(cost)) return;
    const double weight = cost * scale(now);
    total_ += weight;
    if (const auto found = at_.find(key); found != at_.end()) {
      heap_[found->second].cost += weight;
      sink(found->second);
      return;
    }
    if (heap_.size() < capacity_) {
      heap_.push_back({key, weight, 0, std::string(text)});
      at_[key] = heap_.size() - 1;
      rise(heap_.size() - 1);
      return;
    }
    Entry& least = heap_[0];
    at_.erase(least.key);
    least = {key, least.cost + weight, least.cost, std::string(text)};
    at_[key] = 0;
    sink(0);
  }

  // The costliest n, the costliest first; of equal ones the smaller digest first.
  std::vector<Entry> costliest(std::uint64_t n, double now = 0) const {
    std::vector<Entry> out = heap_;
    std::sort(out.begin(), out.end(),
              [](const Entry& a, const Entry& b) { return a.cost != b.cost ? a.cost > b.cost : a.key < b.key; });
    if (out.size() > n) out.resize(n);
    const double by = factor(now);
    for (Entry& e : out) e.cost /= by, e.error /= by;
    return out;
  }
  double total(double now = 0) const noexcept { return total_ / factor(now); }
  std::uint64_t size() const noexcept { return heap_.size(); }
  std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr double kRescaleAt = 200;  // half-lives since base_: 2^200 is far from the largest double

  struct Hash {
    std::size_t operator()(const Digest& d) const noexcept { return d.lo; }
  };

  double factor(double now) const noexcept { return half_life_ > 0 ? std::exp2((now - base_) / half_life_) : 1; }
  double scale(double now) noexcept {
    if (half_life_ > 0 && now - base_ > kRescaleAt * half_life_) {
      const double by = factor(now);
      for (Entry& e : heap_) e.cost /= by, e.error /= by;
      total_ /= by;
      base_ = now;
    }
    return factor(now);
  }
  void rise(std::size_t i) {
    while (i > 0 && heap_[i].cost < heap_[(i - 1) / 2].cost) {
      exchange(i, (i - 1) / 2);
      i = (i - 1) / 2;
    }
  }
  void sink(std::size_t i) {
    for (;;) {
      std::size_t least = i;
      for (std::size_t child : {2 * i + 1, 2 * i + 2})
        if (child < heap_.size() && heap_[child].cost < heap_[least].cost) least = child;
      if (least == i) return;
      exchange(i, least);
      i = least;
    }
  }
  void exchange(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    at_[heap_[a].key] = a;
    at_[heap_[b].key] = b;
  }

  std::uint64_t capacity_;
  double half_life_;
  double base_ = 0;          // the time at which a cost counts once
  double total_ = 0;         // of all costs, aged as they are
  std::vector<Entry> heap_;  // the smallest estimate first
  std::unordered_map<Digest, std::size_t, Hash> at_;
};

}  // namespace naysay
