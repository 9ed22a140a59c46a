// SPDX-License-Identifier: Apache-2.0
// What no paper measures: how far from the limit, how fast compared with the machine, how cost grows with the work.
#include "experiments/experiment.hpp"
#include "naysay/any_filter.hpp"

namespace naysay::cli {

namespace {

std::vector<Series> every_filter(std::vector<Param> params = {}) {
  std::vector<Series> list;
  for (const FilterType& t : filter_types())
    if (!t.claims.reads_bytes) list.push_back({t.name.data(), t.name.data(), params});
  return list;
}

Setup integers(double keys, double quick_scale) {
  return {.data = Data::integers, .keys = keys, .negatives = keys, .quick_scale = quick_scale};
}

}  // namespace

void add_our_own(std::vector<Experiment>& to) {
  to.push_back(
      {.name = "space-limit",
       .title = "Every filter against the limit of information theory",
       .source = "ours",
       .about = "As many known negatives as keys, costs equal. The limit is the fewest bits with which any "
                "filter could do what "
                "this one was measured to do: its rate on strangers and its rate on known negatives.",
       .panels = {{.id = "a",
                   .title = "Strangers accepted",
                   .setup = integers(1e6, 0.1),
                   .x = {"bits per key",
                         Sets::bits_per_key,
                         "",
                         false,
                         {4, 6, 8, 10, 12, 16},
                         {4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20}},
                   .ys = {{"fpr", "FPR on strangers"}},
                   .series = every_filter(),
                   .advice = "Without known negatives, ribbon is the smallest static filter and cuckoo the "
                             "smallest with insertions and deletions."},
                  {.id = "b",
                   .title = "Known negatives accepted",
                   .ys = {{"known_fpr", "FPR on known negatives"}},
                   .from = "a",
                   .advice = "Only taught-ribbon refuses all of them from about 2 bits per key upwards, and keeps a "
                             "ribbon's rate on strangers."},
                  {.id = "c",
                   .title = "Bits used for each bit that is needed",
                   .ys = {{"limit_over", "bits over the limit", Unit::ratio}},
                   .from = "a",
                   .advice = "1 is perfect. A Bloom filter always pays 1.44, the ribbons a few percent more than 1. "
                             "What a filter pays above 1 buys speed, changes, or nothing."}}});

  const std::vector<Metric> query_times = {{"absent_ns", "one by one", Unit::nanoseconds},
                                           {"batch_absent_ns", "in batches", Unit::nanoseconds},
                                           {"random_read_ns", "a random read", Unit::nanoseconds}};
  const std::vector<Metric> other_columns = {{"present_ns", "one by one, keys", Unit::nanoseconds},
                                             {"batch_present_ns", "in batches, keys", Unit::nanoseconds},
                                             {"absent_over", "one by one, over bloom", Unit::ratio},
                                             {"batch_absent_over", "in batches, over bloom", Unit::ratio},
                                             {"build_ns", "build, per key", Unit::nanoseconds},
                                             {"build_over", "build, over bloom", Unit::ratio},
                                             {"bits_per_key", "bits per key", Unit::bits},
                                             {"fpr", "strangers"},
                                             {"known_fpr", "known"},
                                             {"peak_build_bytes", "build memory", Unit::bytes}};
  const auto speed = [&](const char* id, const char* title, const Setup& setup, const char* advice) {
    return Panel{.id = id,
                 .title = title,
                 .kind = Kind::times,
                 .setup = setup,
                 .ys = query_times,
                 .also = other_columns,
                 .bars = true,
                 .series = every_filter({{"bits_per_key", "10"}}),
                 .advice = advice};
  };
  to.push_back(
      {.name = "speed",
       .title = "How fast, compared with what the machine can do",
       .source = "ours",
       .about =
           "Queries about absent keys, medians of five rounds in which each filter alternates with Bloom. A random "
           "read is an independent read at a random place of as many bytes as the filter has, in the same run: the "
           "floor.",
       .panels = {
           speed(
               "a", "In the cache: 100,000 keys, 10 bits per key", integers(1e5, 1),
               "In the cache arithmetic decides, and batches help most where one query's arithmetic overlaps with the "
               "next one's: use what is lowest in batches if you can query in batches."),
           speed("b", "Out of the cache: 10 million keys (2 million when quick), 10 bits per key", integers(1e7, 0.2),
                 "Out of the cache the number of places decides, and querying in batches gains most.")}});

  to.push_back(
      {.name = "huge-pages",
       .title = "What huge pages bring",
       .source = "ours",
       .about =
           "A filter of 60 MB (24 MB when quick; guarded and ribbon 37.5 and 15) in pages of 2 MiB, for which it asks "
           "the "
           "kernel, and a copy of it in pages of 4 KiB, queried in turn with strangers. Where the kernel gives no huge "
           "pages, both are the same.",
       .panels = {
           {.id = "a",
            .title = "Queries about absent keys",
            .kind = Kind::pages,
            .setup = integers(1e7, 0.4),
            .ys = {{"absent_ns", "one by one", Unit::nanoseconds},
                   {"ordinary_absent_ns", "one by one, ordinary pages", Unit::nanoseconds},
                   {"batch_absent_ns", "in batches", Unit::nanoseconds},
                   {"ordinary_batch_absent_ns", "in batches, ordinary pages", Unit::nanoseconds}},
            .also = {{"absent_over", "one by one, over ordinary", Unit::ratio},
                     {"batch_absent_over", "in batches, over ordinary", Unit::ratio},
                     {"bytes", "size", Unit::bytes}},
            .bars = true,
            .series = {{"bloom", "bloom", {{"bits_per_key", "48"}}},
                       {"blocked-bloom", "blocked-bloom", {{"bits_per_key", "48"}}},
                       {"counting-bloom", "counting-bloom", {{"bits_per_key", "48"}}},
                       {"guarded", "guarded", {{"bits_per_key", "30"}}},
                       {"ribbon", "ribbon", {{"bits_per_key", "30"}}}},
            .advice =
                "A query that misses the caches may miss the address cache as well; huge pages can spare it that."}}});
  Setup beside_width_64 = integers(1e6, 1);
  beside_width_64.compared_with = "ribbon";
  beside_width_64.compared_params = {{"width", "64"}, {"bits_per_key", "8.208"}};
  to.push_back(
      {.name = "ribbon-widths",
       .title = "A ribbon that bumps keys, and ribbons of shards",
       .source = "ours",
       .about =
           "Ribbons of exactly 8 planes, so 8 bits per key are the limit. Each alternates with the ribbon of width 64 "
           "in five rounds; half of the queries one by one are about keys.",
       .panels = {{.id = "a",
                   .title = "Queries one by one, over width 64",
                   .kind = Kind::times,
                   .setup = beside_width_64,
                   .x = {"keys", Sets::keys, "", true, {1e5, 1e6}, {1e5, 1e6, 1e7}},
                   .ys = {{"query_over", "one by one, over width 64", Unit::ratio}},
                   .also = {{"batch_absent_over", "batches of absent keys, over width 64", Unit::ratio},
                            {"batch_present_over", "batches of keys, over width 64", Unit::ratio},
                            {"build_over", "build, over width 64", Unit::ratio},
                            {"query_ns", "one by one", Unit::nanoseconds},
                            {"batch_absent_ns", "batches of absent keys", Unit::nanoseconds},
                            {"build_ns", "build, per key", Unit::nanoseconds},
                            {"bits_per_key", "bits per key", Unit::bits}},
                   .y_log = false,
                   .series = {{"bumped", "ribbon", {{"bits_per_key", "8.0302"}}},
                              {"width 64", "ribbon", {{"width", "64"}, {"bits_per_key", "8.208"}}},
                              {"width 128", "ribbon", {{"width", "128"}, {"bits_per_key", "8.0719"}}}},
                   .advice = "Bumping is smaller and quicker than shards; leave width as it is."}}});

  const auto with_bits = [](const char* bits) { return std::vector<Param>{{"bits_per_key", bits}}; };
  to.push_back(
      {.name = "churn-trace",
       .title = "A filter that lives through years of insertions and deletions",
       .source = "ours",
       .about =
           "A made-up trace in the shape of nine years of phishing domains: 2.27 million insertions, 2.24 million "
           "deletions, at most about 227,000 keys at a time, and a million known negatives whose costs are Zipf 1. "
           "Filters begin empty, with room for the most keys at a time; bits are for each of those. The one that grows "
           "begins with room for a sixteenth.",
       .panels = {
           {.id = "a",
            .title = "Share of the known negatives' cost that is accepted, over the time of the trace",
            .kind = Kind::trace,
            .setup = {.data = Data::integers, .keys = 2.27e6, .negatives = 1e6, .skew = 1, .quick_scale = 0.1},
            .x = {"time",
                  Sets::time,
                  "",
                  false,
                  {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1},
                  {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
                   0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1}},
            .ys = {{"wfpr", "weighted FPR"}},
            .also = {{"fpr", "strangers"}},
            .series = {{"guarded, 16 bits", "guarded", with_bits("16"), false, true},
                       {"guarded-growing, 16 bits in the end", "guarded-growing", with_bits("20.4"), false, true},
                       {"cuckoo, 16 bits", "cuckoo", with_bits("16")},
                       {"seesaw, 96 bits", "seesaw", with_bits("96")},
                       {"ada-seesaw, 96 bits", "ada-seesaw", with_bits("96"), false, true},
                       {"counting-bloom, 96 bits", "counting-bloom", with_bits("96")}},
            .advice = "guarded with a capacity pins the negatives that it is given: it accepts none of them at any "
                      "time, in a sixth of the space."}}});

  const std::vector<Series> growing = {
      {"bloom", "bloom"},   {"blocked-bloom", "blocked-bloom"}, {"binary-fuse", "binary-fuse"}, {"cuckoo", "cuckoo"},
      {"ribbon", "ribbon"}, {"taught-ribbon", "taught-ribbon"}};
  to.push_back(
      {.name = "scale",
       .title = "What a key costs as the work grows",
       .source = "ours",
       .about = "One known negative for each key, 10 bits per key, one thread.",
       .panels = {
           {.id = "a",
            .title = "Build",
            .kind = Kind::times,
            .setup = integers(1e6, 1),
            .x = {"keys", Sets::keys, "", true, {1e4, 1e5, 1e6}, {1e5, 1e6, 1e7, 1e8}},
            .ys = {{"build_ns", "build, ns per key", Unit::nanoseconds}},
            .also = {{"build_over", "over bloom", Unit::ratio}},
            .series = growing,
            .advice = "A flat line is a build that can be left running over any set; a rising one is paid for in "
                      "cache misses."},
           {.id = "b",
            .title = "Query in batches, absent keys",
            .kind = Kind::times,
            .ys = {{"batch_absent_ns", "query, ns", Unit::nanoseconds}},
            .also = {{"batch_absent_over", "over bloom", Unit::ratio}},
            .from = "a",
            .advice = "The step is where the filter no longer fits into the cache."},
           {.id = "c",
            .title = "Memory while building",
            .kind = Kind::times,
            .ys = {{"held_bytes", "bytes per key, input included", Unit::bytes}},
            .y_log = false,
            .from = "a",
            .advice = "Of these bytes 16 are the key's digest and 20 the negative with its cost."}}});

  to.push_back(
      {.name = "threads",
       .title = "Builds with more threads",
       .source = "ours",
       .about = "The same bytes come out with any number of threads.",
       .panels = {
           {.id = "a",
            .title = "Time to build, 2 million keys (400,000 when quick), one known negative each, 10 bits per key",
            .kind = Kind::rates,
            .setup = integers(2e6, 0.2),
            .x = {"threads", Sets::threads, "", false, {1, 2}, {1, 2, 4, 8}},
            .ys = {{"build_seconds", "seconds", Unit::seconds}},
            .series = {{"xor", "xor"},
                       {"binary-fuse", "binary-fuse"},
                       {"ribbon", "ribbon"},
                       {"stacked-bloom", "stacked-bloom"},
                       {"variable-hash", "variable-hash"},
                       {"taught-ribbon", "taught-ribbon"}},
            .advice = "Sharded builds use as many threads as there are cores; more threads gain nothing."}}});
}

}  // namespace naysay::cli
