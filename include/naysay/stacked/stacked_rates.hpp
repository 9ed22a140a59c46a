// SPDX-License-Identifier: Apache-2.0
// Rates of stacks: what a stack of filters accepts, holds and costs, from the false-positive rates of its layers.
//
//   layer      1          2          3          4          5
//           +------+   +------+   +------+   +------+   +------+
//   holds   | keys |-->| negs |-->| keys |-->| negs |-->| keys |-->  maybe
//           +------+   +------+   +------+   +------+   +------+
//   rate       a1    |    a2    |    a3    |    a4    |    a5
//   refusal    no  <-+  maybe <-+    no  <-+  maybe <-+    no
//
//   share that passes layers 1..i             keys  a2 a4 a6 ..   known negatives  a1 a3 a5 ..   strangers  a1 a2 a3 ..
//
//   paper          here
//   alpha_i        rates[i - 1]; T_L = rates.size(), which is odd
//   psi            known_share: the share of the negative queries that is about known negatives
//   s(alpha)       price(rate): bits per key of the base
//   |N_k| / |P|    known_per_key
//   EFPR, EFPB     fpr, stranger
//   c_i, c_q       the units of StackedWork and of the *_queries functions: one insert, one query of a base filter
//
// Source     Deeds, 2020, section 2.2. Its sum for the query cost of known negatives starts one term too early (layers
//            2 and 3 are reached with probability a1, not 1), and its build cost includes queries of the last layer
//            about known negatives, which no build needs; here both are counted as they are.
#pragma once

#include <cstddef>
#include <span>

namespace naysay::stacked {

// P(maybe | known negative): every layer of keys errs.
inline double known(std::span<const double> rates) noexcept {
  double all = 1;
  for (std::size_t i = 0; i < rates.size(); i += 2) all *= rates[i];
  return all;
}

// P(maybe | stranger), the worst case of all negatives: some layer of negatives refuses it, or no layer does.
inline double stranger(std::span<const double> rates) noexcept {
  double reaches = 1, accepted = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (i % 2 == 1) accepted += reaches * (1 - rates[i]);
    reaches *= rates[i];
  }
  return accepted + reaches;
}

inline double fpr(std::span<const double> rates, double known_share) noexcept {
  return known_share * known(rates) + (1 - known_share) * stranger(rates);
}

// Bits per key of the whole stack.
template <class Price>
double bits_per_key(std::span<const double> rates, double known_per_key, Price&& price) {
  double keys = 1, known = known_per_key, bits = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    bits += (i % 2 == 0 ? keys : known) * price(rates[i]);
    (i % 2 == 0 ? known : keys) *= rates[i];
  }
  return bits;
}

// Base operations of a build, per key and per known negative.
struct StackedWork {
  double key_inserts = 0, key_queries = 0, known_inserts = 0, known_queries = 0;
};

inline StackedWork build_work(std::span<const double> rates) noexcept {
  StackedWork work;
  double keys = 1, known = 1;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const bool last = i + 1 == rates.size();
    if (i % 2 == 0) {
      work.key_inserts += keys;
      if (!last) work.known_queries += known;
      known *= rates[i];
    } else {
      work.known_inserts += known;
      work.key_queries += keys;
      keys *= rates[i];
    }
  }
  return work;
}

// Base queries of one query: one for each layer that is reached. A key passes all layers of keys, a known negative all
// layers of negatives, and the others by chance; a stranger passes all of them by chance.
inline double queries(std::span<const double> rates, bool key, bool known) noexcept {
  double reaches = 1, queries = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const bool positive = i % 2 == 0;
    queries += reaches;
    if (positive ? !key : !known) reaches *= rates[i];
  }
  return queries;
}
inline double key_queries(std::span<const double> rates) noexcept { return queries(rates, true, false); }
inline double known_queries(std::span<const double> rates) noexcept { return queries(rates, false, true); }
inline double stranger_queries(std::span<const double> rates) noexcept { return queries(rates, false, false); }

}  // namespace naysay::stacked
