// SPDX-License-Identifier: Apache-2.0
// rate_for_price: the false-positive rate that a number of bits per key buys.
//
// A filter that can be tuned knows its price: bits_per_key(fpr), the bits per key for a false-positive rate. The price
// rises as the rate falls, smoothly (bloom) or in steps (whole fingerprints). This file inverts it.
//
//   bits ^
//        |_
//        | |____
//   bits |......|xxxx            x: the rates that these bits buy; the lowest of them is returned
//        |           |_____
//        +--------------------> rate
//
// Rates are searched by halving the interval in proportion: the next rate tried is the geometric mean of one that is
// affordable and one that is not.
//
// Promises   the price of the returned rate is at most `bits`. The result is within a factor of 1 + 4e-8 of the lowest
//            such rate, in the interval [2^-60, 2^-0.01]. If even the highest of these rates costs more, it is 1.
// Cost       31 calls of price.
#pragma once

#include <cmath>

namespace naysay {

// The same within an interval. Requires price(affordable) <= bits.
template <class Price>
double rate_for_price(Price&& price, double bits, double affordable, double too_low) {
  for (int i = 0; i < 30; ++i) {
    const double middle = std::sqrt(affordable * too_low);
    (price(middle) <= bits ? affordable : too_low) = middle;
  }
  return affordable;
}

// Requires that price(rate) does not rise with the rate.
template <class Price>
double rate_for_price(Price&& price, double bits) {
  const double highest = std::exp2(-0.01), lowest = std::exp2(-60);
  if (price(highest) > bits) return 1;
  return rate_for_price(price, bits, highest, lowest);
}

}  // namespace naysay
