// SPDX-License-Identifier: Apache-2.0
// Shapes: strangers for a trial that has too few, in the shape of the texts that there are.
//
//   https://www.lakestone.org/a-17  -->  https://qpf.vbtrmdusxa.lwe/k-80
//
// A letter becomes another letter, a digit another digit; everything else stays. A text without either becomes random
// bytes. For a filter that sees digests alone these are as good as real strangers. For one that reads the bytes they are
// not: there is nothing left to learn in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/hash.hpp"
#include "naysay/workload/random.hpp"

namespace naysay::cli {

class Shapes {
 public:
  explicit Shapes(std::uint64_t seed) : random_(seed) {}

  // Remembers a thousand of all texts that it sees, each as likely as any other.
  void see(std::string_view text);
  // At most this many, all different.
  std::vector<Digest> make(std::size_t count, const Hasher& hasher);

 private:
  static constexpr std::size_t kKept = 1000;

  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace naysay::cli
