// SPDX-License-Identifier: Apache-2.0
// Estimate: a rate, and the interval in which it lies with 95 % confidence.
//
//   exactly(0.01)          0.01, and no doubt: a rate that a formula gives
//   counted(0, 92)         0, but up to 4.0 %: none of 92 says little
//   counted(0.01, 1e6)     1.00 %, from 0.98 % to 1.02 %
//
// Source     E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
#pragma once

#include <cmath>
#include <limits>

namespace naysay::cli {

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing is known
  double low = value, high = value;

  bool known() const noexcept { return !std::isnan(value); }
  // Whether it is below the other one, whatever the truth of both.
  bool surely_below(const Estimate& other) const noexcept { return high < other.low; }
};

constexpr Estimate exactly(double rate) noexcept { return {rate, rate, rate}; }

// From a rate that was measured on n things (Wilson's interval).
inline Estimate counted(double rate, double n) noexcept {
  constexpr double z = 1.959964;  // 95 % of a normal distribution
  if (std::isnan(rate) || !(n > 0)) return {};
  const double middle = (rate + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
  return {rate, rate == 0 ? 0 : std::fmax(middle - half, 0.0), rate == 1 ? 1 : std::fmin(middle + half, 1.0)};
}

}  // namespace naysay::cli
