// SPDX-License-Identifier: Apache-2.0
// BucketPlaces: where the elements of a list go when many threads move them into buckets.
//
//   list      |b a a c|a b c c|b ...      parts, one for each thread
//                 |       |
//   counts     a2 b1 c1  a1 b1 c2         first pass: what each part has for each bucket
//                 |       |
//   places     a0 b0 c0  a2 b1 c1         where in its bucket a part begins
//                 |       |
//   buckets   |a a a ...|b b b ...|       second pass: each thread moves its part
//
// Promises   An element's place in its bucket is the number of elements before it in the list that go there, for any
//            number of threads. Elements whose bucket does not exist are left out.
// Cost       bucket_of() twice per element. 8 bytes per bucket and thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "naysay/core/detail/parallel.hpp"

namespace naysay {

template <class BucketOf>
class BucketPlaces {
 public:
  // From this many elements on a second thread pays.
  static constexpr std::uint64_t kWorthThreads = std::uint64_t{1} << 16;

  // bucket_of(i) is called for every i below size, from any thread.
  BucketPlaces(std::uint64_t size, std::uint64_t buckets, unsigned threads, BucketOf bucket_of)
      : bucket_of_(std::move(bucket_of)),
        size_(size),
        threads_(size < kWorthThreads ? 1 : std::max(threads, 1u)),
        places_(threads_),
        counts_(buckets, 0) {
    each_part([&](std::uint64_t part, std::uint64_t first, std::uint64_t last) {
      std::vector<std::uint64_t> counts(counts_.size(), 0);
      for (std::uint64_t i = first; i < last; ++i)
        if (const std::uint64_t b = bucket_of_(i); b < counts.size()) ++counts[b];
      places_[part] = std::move(counts);
    });
    for (auto& part : places_)
      for (std::uint64_t b = 0; b < buckets; ++b) counts_[b] += std::exchange(part[b], counts_[b]);
  }

  // How many elements go into each bucket.
  const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }

  // Calls move(i, bucket, place) for every element, from any thread. Once.
  template <class Move>
  void run(Move&& move) {
    each_part([&](std::uint64_t part, std::uint64_t first, std::uint64_t last) {
      std::vector<std::uint64_t> places = std::move(places_[part]);
      for (std::uint64_t i = first; i < last; ++i)
        if (const std::uint64_t b = bucket_of_(i); b < places.size()) move(i, b, places[b]++);
    });
  }

 private:
  template <class Body>
  void each_part(Body&& body) {
    parallel_for(threads_, threads_,
                 [&](std::uint64_t part) { body(part, size_ * part / threads_, size_ * (part + 1) / threads_); });
  }

  BucketOf bucket_of_;
  std::uint64_t size_;
  unsigned threads_;
  std::vector<std::vector<std::uint64_t>> places_;  // of each part
  std::vector<std::uint64_t> counts_;
};

}  // namespace naysay
