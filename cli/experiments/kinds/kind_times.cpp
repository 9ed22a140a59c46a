// SPDX-License-Identifier: Apache-2.0
// times: building, querying, inserting and erasing, compared with another filter in the same rounds.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "experiments/measurement.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/score.hpp"
#include "parts/describe.hpp"

namespace naysay::cli {

namespace {

constexpr double kBuildNs = 2e9;                        // a filter that needs longer is not built again
constexpr std::size_t kQueries = std::size_t{1} << 17;  // of each sort in a round: milliseconds

// Queries, with their strings if the filter reads them.
struct Queries {
  std::vector<Digest> digests = {};
  std::vector<std::string_view> bytes = {};
};

// A filter and its times.
struct Timed {
  const FilterType* type;
  std::vector<Param> params;
  std::optional<AnyFilter> filter = {};
  Samples build = {}, insert = {}, erase = {}, one_absent = {}, one_present = {}, one_mixed = {}, batch_absent = {},
          batch_present = {};
  std::uint64_t peak = 0;
};

// Empty, or why there is no filter.
std::optional<Error> build_timed(Timed& t, const Workload& w, const BuildOptions& options) {
  t.filter.reset();
  Attempt a = attempt(t.type->name, w, t.params, options);
  t.filter = std::move(a.filter);
  t.build.add(a.ns / static_cast<double>(w.keys.size()));
  t.peak = a.peak_bytes;
  return a.refused;
}

// Into an empty filter with room for all, one by one; and out again.
void insert_timed(Timed& t, const Workload& all, BuildOptions options) {
  Workload empty = all;
  empty.keys = {};
  options.capacity = all.keys.size();
  auto f = AnyFilter::build(t.type->name, empty, std::span<const Param>(t.params), options);
  if (!f) return;
  bool fits = true;
  t.insert.add(ns_each(all.keys.size(), [&] {
    for (const Digest& d : all.keys) fits &= static_cast<bool>(f->insert(d));
  }));
  if (!fits) {
    t.insert.values.clear();
    return;
  }
  if (t.type->erasable)
    t.erase.add(ns_each(all.keys.size(), [&] {
      for (const Digest& d : all.keys) sink = static_cast<bool>(f->erase(d));
    }));
}

// What the machine can do at best: independent reads at random places of an array of this size.
double random_read_ns(std::uint64_t bytes, std::span<const Digest> queries) {
  const Array<std::uint64_t> array(std::max<std::uint64_t>(bytes / 8, 1));
  return rounds([&] {
           return ns_each(queries.size(), [&] {
             std::uint64_t sum = 0;
             for (const Digest& d : queries) sum += array[fast_range(d.lo, array.size())];
             sink = sum;
           });
         })
      .median();
}

}  // namespace

Json measure_times(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
  const Workload w = m.workload(given);
  Timed mine{.type = m.plan.type, .params = m.plan.params},
      base{.type = find_filter(m.setup.compared_with), .params = m.setup.compared_params};
  const auto is_budget = [](const Param& p) { return p.name == "bits_per_key"; };
  if (std::none_of(base.params.begin(), base.params.end(), is_budget))
    std::copy_if(m.plan.params.begin(), m.plan.params.end(), std::back_inserter(base.params), is_budget);

  Random random(m.plan.seed);
  Queries present, absent, mixed;
  const auto add = [&](Queries& to, std::span<const Digest> from, std::span<const std::string_view> bytes) {
    const std::uint64_t i = random.below(from.size());
    to.digests.push_back(from[i]);
    if (!bytes.empty()) to.bytes.push_back(bytes[i]);
  };
  const std::size_t count = m.plan.size == Size::tiny ? 1000 : kQueries;
  std::optional<Traffic> traffic;
  if (m.setup.traffic) traffic.emplace(m.set, costs, m.plan.seed);
  for (std::size_t i = 0; i < count; ++i) {
    add(present, m.set.keys, m.bytes(m.set.key_bytes));
    if (traffic) {
      const std::size_t negative = traffic->next();
      absent.digests.push_back(m.set.negatives[negative]);
      if (const auto texts = m.bytes(m.set.negative_bytes); !texts.empty()) absent.bytes.push_back(texts[negative]);
    } else if (i % 2 == 0 && !given.digests.empty()) {
      add(absent, given.digests, m.bytes(given.bytes));
    } else {
      add(absent, m.set.strangers, m.bytes(m.set.stranger_bytes));
    }
  }
  std::vector<std::uint32_t> order(2 * count);
  std::iota(order.begin(), order.end(), 0u);
  random.shuffle(std::span<std::uint32_t>(order));
  for (const std::uint32_t i : order) {
    const Queries& from = i < count ? present : absent;
    mixed.digests.push_back(from.digests[i % count]);
    if (!from.bytes.empty()) mixed.bytes.push_back(from.bytes[i % count]);
  }

  double spent = 0;
  const bool builds = m.wants("build_ns") || m.wants("build_over") || m.wants("build_seconds");
  while (mine.build.values.empty() || (builds && mine.build.values.size() < kRounds && spent < kBuildNs)) {
    for (Timed* t : {&base, &mine})
      if (const auto refused = build_timed(*t, w, m.options())) return problem(*refused);
    spent += mine.build.values.back() * static_cast<double>(m.set.keys.size());
  }
  m.need_all_keys(*mine.filter, m.set.keys);
  if ((m.wants("insert_ns") || m.wants("insert_over") || m.wants("erase_ns")) && mine.type->dynamic &&
      base.type->dynamic)
    for (int round = 0; round < kRounds; ++round)
      for (Timed* t : {&base, &mine}) insert_timed(*t, w, m.options());
  for (int round = 0; round < kRounds; ++round)
    for (Timed* t : {&base, &mine}) {
      const AnyFilter& f = *t->filter;
      const auto texts = [&](const Queries& q) {
        return t == &mine ? std::span<const std::string_view>(q.bytes) : std::span<const std::string_view>();
      };
      query_one_by_one(f, absent.digests, texts(absent));  // the cache forgets the other one
      t->one_absent.add(query_one_by_one(f, absent.digests, texts(absent)));
      t->one_present.add(query_one_by_one(f, present.digests, texts(present)));
      t->one_mixed.add(query_one_by_one(f, mixed.digests, texts(mixed)));
      t->batch_absent.add(query_in_batches(f, absent.digests, texts(absent)));
      t->batch_present.add(query_in_batches(f, present.digests, texts(present)));
    }
  Json v;
  const auto put = [&](const char* name, const Samples& ours, const Samples& other) {
    if (ours.values.empty()) return;
    v[std::string(name) + "_ns"] = ours.json();
    v[std::string(name) + "_over"] = number_or_null(median_ratio(ours, other));
    v[std::string(name) + "_throughput"] = number_or_null(median_ratio(other, ours));  // a second, over the other's
  };
  put("build", mine.build, base.build);
  put("insert", mine.insert, base.insert);
  put("erase", mine.erase, base.erase);
  put("query", mine.one_mixed, base.one_mixed);
  put("absent", mine.one_absent, base.one_absent);
  put("present", mine.one_present, base.one_present);
  put("batch_absent", mine.batch_absent, base.batch_absent);
  put("batch_present", mine.batch_present, base.batch_present);
  const double n = static_cast<double>(m.set.keys.size());
  v["build_seconds"] = mine.build.median() * n / 1e9;
  v["beside"] = m.setup.compared_with;
  v["bits_per_key"] = bits_per_key(*mine.filter);
  v["bytes"] = size_bytes(*mine.filter);
  v["fpr"] = m.stranger_rate(*mine.filter);
  v["known_fpr"] =
      m.set.negatives.empty()
          ? Json()
          : Json(static_cast<double>(count_maybe(*mine.filter, m.set.negatives, m.bytes(m.set.negative_bytes))) /
                 static_cast<double>(m.set.negatives.size()));
  if (m.wants("random_read_ns")) v["random_read_ns"] = random_read_ns(size_bytes(*mine.filter), absent.digests);
  v["peak_build_bytes"] = mine.peak;
  v["held_bytes"] = m.held_bytes(mine.peak);
  return {{"values", std::move(v)}};
}

}  // namespace naysay::cli
