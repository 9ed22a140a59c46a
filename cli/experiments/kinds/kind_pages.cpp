// SPDX-License-Identifier: Apache-2.0
// pages: queries of a filter in huge pages, and of a copy of it in ordinary ones, in turn.
#include <sys/prctl.h>

#include "experiments/measurement.hpp"
#include "parts/describe.hpp"

namespace naysay::cli {

namespace {

// The copy is written while the kernel gives this process no huge pages.
Result<AnyFilter> in_ordinary_pages(const AnyFilter& f) {
  if (::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
    return Error{Errc::unsupported, "huge pages cannot be switched off here, so there is nothing to compare with"};
  auto copy = f.clone();
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  return copy;
}

}  // namespace

Json measure_pages(const Measurement& m) {
  auto huge = m.build({.keys = m.set.keys});
  if (!huge) return problem(huge.error());
  m.need_all_keys(*huge, m.set.keys);
  const auto ordinary = in_ordinary_pages(*huge);
  if (!ordinary) return problem(ordinary.error());
  const std::span<const Digest> absent = m.set.strangers;
  Samples one, one_ordinary, batch, batch_ordinary;
  for (int round = 0; round < kRounds; ++round) {
    one_ordinary.add(query_one_by_one(*ordinary, absent, {}));
    one.add(query_one_by_one(*huge, absent, {}));
    batch_ordinary.add(query_in_batches(*ordinary, absent, {}));
    batch.add(query_in_batches(*huge, absent, {}));
  }
  return {{"values",
           {{"absent_ns", one.json()},
            {"ordinary_absent_ns", one_ordinary.json()},
            {"absent_over", number_or_null(median_ratio(one, one_ordinary))},
            {"batch_absent_ns", batch.json()},
            {"ordinary_batch_absent_ns", batch_ordinary.json()},
            {"batch_absent_over", number_or_null(median_ratio(batch, batch_ordinary))},
            {"bytes", size_bytes(*huge)}}}};
}

}  // namespace naysay::cli
