// SPDX-License-Identifier: Apache-2.0
#include "parts/timing.hpp"

#include <vector>

#include "parts/heap.hpp"

namespace naysay::cli {

Attempt attempt(std::string_view filter, const Workload& w, std::span<const Param> params,
                const BuildOptions& options) {
  Attempt a;
  const std::uint64_t before = heap::held();
  heap::forget_peak();
  a.ns = ns_each(1, [&] {
    auto built = AnyFilter::build(filter, w, params, options);
    if (built)
      a.filter.emplace(std::move(*built));
    else
      a.refused = std::move(built).error();
  });
  a.peak_bytes = heap::peak() - before;
  return a;
}

double query_one_by_one(const AnyFilter& f, std::span<const Digest> queries, std::span<const std::string_view> bytes) {
  return ns_each(queries.size(), [&] {
    std::uint64_t yes = 0;
    if (!bytes.empty())
      for (std::size_t i = 0; i < queries.size(); ++i) yes += f.may_contain(queries[i], bytes[i]);
    else
      for (const Digest& d : queries) yes += f.may_contain(d);
    sink = yes;
  });
}

double query_in_batches(const AnyFilter& f, std::span<const Digest> queries, std::span<const std::string_view> bytes) {
  if (!bytes.empty()) return query_one_by_one(f, queries, bytes);
  std::vector<std::uint8_t> answers(queries.size() + 1);
  return ns_each(queries.size(), [&] {
    f.may_contain(queries, answers.data());
    sink = answers.front();
  });
}

}  // namespace naysay::cli
