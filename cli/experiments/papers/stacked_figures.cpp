// SPDX-License-Identifier: Apache-2.0
// The figures of chapter 2 of "Efficient Filtering: Stacking and Hash Functions as Data", Deeds, 2020, and what its
// text says in numbers.
#include "experiments/experiment.hpp"

namespace naysay::cli {

namespace {

// 2.3.1: a blocklist and ranked sites, of which the higher half is known; ours are of the sizes of the HABF paper.
constexpr Setup kUrls = {.data = Data::blocklist,
                         .keys = 1'491'178,
                         .negatives = 1'435'527,
                         .skew = kRealCosts,
                         .given = 0.5,
                         .quick_scale = 0.25};
// 2.3.2: a million random integers and a hundred million others.
constexpr Setup kIntegers = {.data = Data::integers, .keys = 1e6, .negatives = 1e8, .skew = 0.75, .quick_scale = 0.01};

constexpr double kHardDiskUs = 10'000;  // half a turn at 7200 per minute is 4.2 ms, and the arm needs about as long

constexpr Setup with(Setup s, double skew) {
  s.skew = skew;
  return s;
}
// 2.3.2: the queries of the times follow the traffic, and each stack is compared with one filter of its base.
constexpr Setup timed_over(Setup s, const char* base) {
  s.compared_with = base;
  s.traffic = true;
  return s;
}
constexpr Setup on_hard_disk(Setup s) {
  s.read_us = kHardDiskUs;
  return s;
}

const Axis kBits = {"bits per key", Sets::bits_per_key, "",
                    false,          {6, 8, 10, 12, 14}, {6, 7, 8, 9, 10, 11, 12, 13, 14}};

constexpr const char* kOtherTraffic =
    "A guess: how far below Bloom a stack lies depends on how uneven the traffic is, and ours (sum of 1/rank over "
    "countries, or "
    "Zipf 1) "
    "is not the thesis' page ranks.";

}  // namespace

void add_stacked_figures(std::vector<Experiment>& to) {
  const std::vector<Metric> wfpr = {{"wfpr", "weighted FPR"}};
  const std::vector<Series> urls = {{"bloom", "bloom"},
                                    {"stacked-bloom", "stacked-bloom"},
                                    {"habf", "habf"},
                                    {"ribbon", "ribbon"},
                                    {"stacked-ribbon", "stacked-ribbon"},
                                    {"taught-ribbon", "taught-ribbon"},
                                    {"learned-bloom", "learned-bloom"},
                                    {"sandwiched-bloom", "sandwiched-bloom"},
                                    {"learned-ribbon", "learned-ribbon"}};
  to.push_back(
      {.name = "stacked-fig3",
       .title = "A blocklist of URLs before a slow store",
       .source = "Deeds 2020, Fig. 3",
       .about =
           "Sites are queried as often as they are popular; filters are given the more popular half. The thesis has "
           "2.8 million "
           "keys and 10 million ranked sites. The thesis puts learned filters between 6 times worse than the stack and "
           "slightly better for small "
           "filters, and 90 to 190 times slower to query.",
       .panels = {
           {.id = "a",
            .title = "False positives by traffic",
            .setup = kUrls,
            .x = kBits,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = urls,
            .advice = "With traffic this uneven knowing half of the sites is knowing nearly all of the queries."},
           {.id = "a, over Bloom",
            .title = "The same, as a share of Bloom's",
            .ys = wfpr,
            .over = "bloom",
            .from = "a",
            .published = {{"stack, at least 5 times under Bloom", kEverywhere, 0.2, "stacked-bloom", kOtherTraffic,
                           Relation::at_most},
                          {"stack, at most 13 times under Bloom", kEverywhere, 1.0 / 13, "stacked-bloom", kOtherTraffic,
                           Relation::at_least}},
            .advice = "Stacking pays more the more bits there are, because the first layer then accepts few "
                      "negatives."},
           {.id = "b",
            .title = "Time to query, 10 bits per key, over Bloom",
            .kind = Kind::times,
            .setup = kUrls,
            .ys = {{"present_over", "keys", Unit::ratio}, {"absent_over", "absent keys", Unit::ratio}},
            .also = {{"present_ns", "keys, ns", Unit::nanoseconds},
                     {"absent_ns", "absent keys, ns", Unit::nanoseconds}},
            .y_log = false,
            .bars = true,
            .series = {{"bloom", "bloom", {{"bits_per_key", "10"}}},
                       {"stacked-bloom", "stacked-bloom", {{"bits_per_key", "10"}}},
                       {"taught-ribbon", "taught-ribbon", {{"bits_per_key", "10"}}}},
            .published = {{"stack", kEverywhere, 1.5, "stacked-bloom",
                           "A guess: a key is queried in two layers, rarely in three; the digest of the second and the "
                           "branch on "
                           "its answer cost more here than in the thesis.",
                           Relation::is, "present_over"},
                          {"stack", kEverywhere, 1.0, "stacked-bloom",
                           "A guess: a refusal queries the first layer only; the code around it is a few nanoseconds "
                           "more or less "
                           "than Bloom's own.",
                           Relation::is, "absent_over"}},
            .advice = "A refusal is as fast as the first layer; only keys pay for the layers after it."},
           {.id = "c",
            .title = "All of it before this machine's disk",
            .kind = Kind::disk,
            .setup = kUrls,
            .x = kBits,
            .ys = {{"total_ns", "ns per query, reads included", Unit::nanoseconds}},
            .also = {{"read_ns", "a read", Unit::nanoseconds}, {"filter_ns", "filter alone", Unit::nanoseconds}},
            .series = {{"bloom", "bloom"}, {"stacked-bloom", "stacked-bloom"}, {"taught-ribbon", "taught-ribbon"}},
            .advice = "Every false positive reads one block of 4 kB at random from a file of 256 MB. Where a read is "
                      "expensive, use the filter with the fewest errors, not the fastest."},
           {.id = "d",
            .title = "The same before a hard disk: computed with 10 ms per read",
            .kind = Kind::disk,
            .setup = on_hard_disk(kUrls),
            .x = kBits,
            .ys = {{"total_ns", "ns per query, reads included", Unit::nanoseconds}},
            .series = {{"bloom", "bloom"}, {"stacked-bloom", "stacked-bloom"}, {"taught-ribbon", "taught-ribbon"}},
            .advice = "On a hard disk only the errors matter."},
           {.id = "d, over Bloom",
            .title = "The same, as a share of Bloom's",
            .ys = {{"total_ns", "ns per query", Unit::nanoseconds}},
            .over = "bloom",
            .from = "d",
            .published = {{"stack, less than half of Bloom", kEverywhere, 0.5, "stacked-bloom", kOtherTraffic,
                           Relation::at_most}},
            .advice = "The thesis finds the stack's total frequently below half of the plain filter's."}}});

  const auto stacking = [&](const char* id, const char* title, const char* plain, const char* stacked, double skew) {
    return Panel{.id = id,
                 .title = title,
                 .setup = with(kIntegers, skew),
                 .x = kBits,
                 .ys = wfpr,
                 .also = {{"fpr", "strangers"}, {"build_seconds", "build", Unit::seconds}},
                 .series = {{plain, plain}, {stacked, stacked}},
                 .advice = "The stack is never worse than its base: if stacking does not pay it is one layer."};
  };
  const auto in_steps = [](Panel p) {
    p.x = {"bits per key", Sets::bits_per_key, "", false, {10, 10.25, 10.5, 10.75, 11, 11.25, 11.5, 11.75, 12}, {}};
    p.advice = "A fingerprint has whole bits; a stack can spend what is left of the budget on its other layers.";
    return p;
  };
  const auto over = [&](const char* id, const char* title, const char* from, const char* plain, const char* stacked) {
    return Panel{
        .id = id,
        .title = title,
        .ys = wfpr,
        .over = plain,
        .from = from,
        .published =
            {{"never worse", kEverywhere, 1, stacked,
              "A guess: with few negatives in a quick run, one costly negative that is accepted can outweigh the plan.",
              Relation::at_most}},
        .advice = "Below 1 stacking pays."};
  };
  const auto throughput = [&](const char* id, const char* title, const char* plain, const char* stacked) {
    return Panel{
        .id = id,
        .title = title,
        .kind = Kind::times,
        .setup = timed_over(kIntegers, plain),
        .x = {"bits per key", Sets::bits_per_key, "", false, {6, 10, 14}, {6, 8, 10, 12, 14}},
        .ys = {{"absent_throughput", "absent keys", Unit::ratio, true},
               {"present_throughput", "keys", Unit::ratio, true}},
        .also = {{"absent_ns", "absent keys, ns", Unit::nanoseconds}, {"present_ns", "keys, ns", Unit::nanoseconds}},
        .y_log = false,
        .series = {{plain, plain}, {stacked, stacked}},
        .advice = "Keys are queried in two layers and more, absent keys mostly in the first alone."};
  };
  to.push_back(
      {.name = "stacked-fig4",
       .title = "Stacking over Bloom, quotient, cuckoo and ribbon filters",
       .source = "Deeds 2020, Fig. 4",
       .about =
           "A hundred integers that are not in the set for each one that is, queried by a Zipf law of 0.75 (1.0 in "
           "panels e to g). The text gives no points but says that stacks are never worse than their base, and that "
           "their throughput is comparable: panels h to j, with Zipf 0.75 as in the thesis. Throughput is queries per "
           "second over those of the base in the same rounds.",
       .panels = {
           stacking("a", "Bloom, Zipf 0.75", "bloom", "stacked-bloom", 0.75),
           over("a, over Bloom", "The same, over Bloom", "a", "bloom", "stacked-bloom"),
           stacking("b", "Quotient, Zipf 0.75", "quotient", "stacked-quotient", 0.75),
           over("b, over quotient", "The same, over quotient", "b", "quotient", "stacked-quotient"),
           in_steps(
               stacking("b, steps", "Quotient, Zipf 0.75, in quarters of a bit", "quotient", "stacked-quotient", 0.75)),
           stacking("c", "Cuckoo, Zipf 0.75", "cuckoo", "stacked-cuckoo", 0.75),
           over("c, over cuckoo", "The same, over cuckoo", "c", "cuckoo", "stacked-cuckoo"),
           in_steps(stacking("c, steps", "Cuckoo, Zipf 0.75, in quarters of a bit", "cuckoo", "stacked-cuckoo", 0.75)),
           stacking("d", "Ribbon, Zipf 0.75 (ours)", "ribbon", "stacked-ribbon", 0.75),
           stacking("e", "Bloom, Zipf 1.0", "bloom", "stacked-bloom", 1.0),
           stacking("f", "Quotient, Zipf 1.0", "quotient", "stacked-quotient", 1.0),
           stacking("g", "Cuckoo, Zipf 1.0", "cuckoo", "stacked-cuckoo", 1.0),
           throughput("h", "Throughput of Bloom filters, Zipf 0.75", "bloom", "stacked-bloom"),
           throughput("i", "Throughput of quotient filters, Zipf 0.75", "quotient", "stacked-quotient"),
           throughput("j", "Throughput of cuckoo filters, Zipf 0.75", "cuckoo", "stacked-cuckoo")}});

  const auto shift = [&](const char* id, const char* title, const Setup& setup, const char* bits,
                         std::vector<Series> more) {
    const std::vector<Param> params = {{"bits_per_key", bits}};
    Panel p = {
        .id = id,
        .title = title,
        .kind = Kind::shift,
        .setup = setup,
        .x = {"share to known negatives", Sets::time, "", false, {0, 0.2, 0.4, 0.6, 0.8, 1}, {}},
        .ys = {{"wfpr", "share of the queries that is accepted"}},
        .y_log = false,
        .over = "bloom",
        .series = {{"bloom", "bloom", params},
                   {"stacked-bloom", "stacked-bloom", params},
                   {"habf", "habf", params},
                   {"taught-ribbon", "taught-ribbon", params}},
        .published = {{"stack, at most 1.5 times as bad", kEverywhere, 1.5, "stacked-bloom",
                       "Our planner assumes that a hundredth of the traffic is strangers and spends its bits "
                       "accordingly; with max_fpr_times = 1.5 it keeps the bound, as the bounded series of naysay "
                       "bench stacked-fig5, a, 14 bits, shows.",
                       Relation::at_most}},
        .advice =
            "Look at the left end before you trust a filter with traffic that may change; max_fpr_times "
            "bounds it."};
    for (Series& s : more) {
      p.published.push_back({"bounded, at most 1.5 times as bad", kEverywhere, 1.5, s.name, "", Relation::at_most});
      p.series.push_back(std::move(s));
    }
    return p;
  };
  to.push_back(
      {.name = "stacked-fig5",
       .title = "What happens when the traffic is not as planned",
       .source = "Deeds 2020, Fig. 5",
       .about = "What is planned for one kind of traffic and meets another. In panels a a million queries are made for "
                "each share: known negatives as often as they cost, and strangers. Panel d exchanges a part of the "
                "keys for as "
                "large a part of the negatives, so that a model has less to learn.",
       .panels = {
           shift("a", "Share of the traffic that still goes to known negatives, over Bloom, Zipf 0.75, 10 bits per key",
                 kIntegers, "10", {}),
           shift("a, Zipf 1.0", "The same, Zipf 1.0, 10 bits per key", with(kIntegers, 1), "10", {}),
           shift("a, 14 bits", "The same, Zipf 0.75, 14 bits per key", kIntegers, "14",
                 {{"stacked-bloom, bounded", "stacked-bloom", {{"bits_per_key", "14"}, {"max_fpr_times", "1.5"}}}}),
           {.id = "b",
            .title = "Time to build over known negatives, a million keys (a tenth when quick)",
            .kind = Kind::rates,
            .setup = {.data = Data::integers, .keys = 1e6, .negatives = 1e6, .skew = 0.75},
            .x = {"known negatives per key", Sets::negatives_per_key, "", false, {0.5, 1, 2, 5, 10}, {}},
            .ys = {{"build_seconds", "seconds", Unit::seconds}},
            .series = {{"stacked-bloom", "stacked-bloom", {{"bits_per_key", "10"}}},
                       {"taught-ribbon", "taught-ribbon", {{"bits_per_key", "10"}}}},
            .published = {{"stack, under a second", 10, 1, "stacked-bloom", "", Relation::at_most}},
            .advice = "Each negative is read once: building again when the traffic has changed is cheap."},
           {.id = "c",
            .title = "Bits per key for a weighted FPR of 1 % and 0.1 %",
            .setup = {.data = Data::integers, .keys = 1e6, .negatives = 1e8, .quick_scale = 0.01},
            .x = {"skewness", Sets::skew, "", false, {0.5, 0.75, 1, 1.25}, {}},
            .ys = {{"bits_per_key", "bits per key", Unit::bits}},
            .y_log = false,
            .series = {{"bloom, 1 %", "bloom", {{"for_fpr", "0.01"}}},
                       {"stacked-bloom, 1 %", "stacked-bloom", {{"bits_per_key", "20"}, {"wfpr", "0.01"}}},
                       {"bloom, 0.1 %", "bloom", {{"for_fpr", "0.001"}}},
                       {"stacked-bloom, 0.1 %", "stacked-bloom", {{"bits_per_key", "30"}, {"wfpr", "0.001"}}}},
            .advice = "The lower the rate that you need, the less skew is needed for stacking to pay."},
           {.id = "d",
            .title = "Share of keys and negatives that are exchanged, 8 bits per key",
            .kind = Kind::strangers,
            .setup = kUrls,
            .x = {"share exchanged", Sets::swapped_share, "", false, {0, 0.1, 0.2, 0.3, 0.5}, {}},
            .ys = {{"fpr", "held-out negatives"}},
            .series = {{"bloom", "bloom", {{"bits_per_key", "8"}}},
                       {"stacked-bloom", "stacked-bloom", {{"bits_per_key", "8"}}},
                       {"learned-bloom", "learned-bloom", {{"bits_per_key", "8"}}},
                       {"sandwiched-bloom", "sandwiched-bloom", {{"bits_per_key", "8"}}},
                       {"learned-ribbon", "learned-ribbon", {{"bits_per_key", "8"}}}},
            .advice = "Filters that hash do not see what a key says. A model must: where it has nothing left to learn, "
                      "ours give it up and are a Bloom filter or a taught ribbon."}}});

  to.push_back(
      {.name = "stacked-fig6",
       .title = "Stacks of more keys, more queries about keys, fewer layers",
       .source = "Deeds 2020, Fig. 6",
       .about = "The text gives no numbers here: size grows with the keys, filters become alike as most queries are "
                "about keys, and "
                "three layers are nearly always enough.",
       .panels = {
           {.id = "a",
            .title = "Bits per key for a weighted FPR of 1 %, ten negatives for each key",
            .setup = {.data = Data::integers, .keys = 1e6, .negatives = 1e7, .skew = 0.75},
            .x = {"keys", Sets::keys, "", true, {1e4, 1e5, 3e5}, {1e4, 1e5, 1e6, 1e7}},
            .ys = {{"bits_per_key", "bits per key", Unit::bits}},
            .y_log = false,
            .series = {{"bloom", "bloom", {{"for_fpr", "0.01"}}},
                       {"stacked-bloom", "stacked-bloom", {{"bits_per_key", "20"}, {"wfpr", "0.01"}}}},
            .advice = "A small trial shows how many bits a large set will need."},
           {.id = "b",
            .title = "Share of the queries that is about keys, hard disk (computed, 10 ms per read), 10 bits per key",
            .kind = Kind::disk,
            .setup = on_hard_disk(kUrls),
            .x = {"share about keys", Sets::present_share, "", false, {0, 0.25, 0.5, 0.75}, {}},
            .ys = {{"total_ns", "ns per query, reads included", Unit::nanoseconds}},
            .series = {{"bloom", "bloom", {{"bits_per_key", "10"}}},
                       {"stacked-bloom", "stacked-bloom", {{"bits_per_key", "10"}}},
                       {"taught-ribbon", "taught-ribbon", {{"bits_per_key", "10"}}},
                       {"learned-bloom", "learned-bloom", {{"bits_per_key", "10"}}},
                       {"sandwiched-bloom", "sandwiched-bloom", {{"bits_per_key", "10"}}},
                       {"learned-ribbon", "learned-ribbon", {{"bits_per_key", "10"}}}},
            .advice = "When most queries are about keys, the necessary reads outweigh the unnecessary ones."},
           {.id = "c",
            .title = "Three layers against as many as pay, Zipf 0.75",
            .setup = kIntegers,
            .x = kBits,
            .ys = wfpr,
            .series = {{"bloom", "bloom"},
                       {"3 layers", "stacked-bloom", {{"layers", "3"}}},
                       {"as many as pay", "stacked-bloom"}},
            .advice = "Three layers; let the planner add more for very uneven traffic."}}});

  const auto life = [&](const char* id, const char* title, const Setup& setup, const char* advice) {
    const std::vector<Param> bits = {{"bits_per_key", "10"}};
    return Panel{
        .id = id,
        .title = title,
        .kind = Kind::life,
        .setup = setup,
        .x = {"queries",
              Sets::time,
              "",
              false,
              {1e5, 2.5e5, 5e5, 1e6, 1.5e6, 2e6, 2.5e6},
              {4e5, 1e6, 2e6, 4e6, 6e6, 8e6, 1e7}},
        .ys = {{"seconds", "seconds since the build began", Unit::seconds}},
        .also = {{"wfpr", "errors since the last row"}},
        .y_log = false,
        .series = {{"bloom", "bloom", bits},
                   {"adaptive-stacked",
                    "adaptive-stacked",
                    {{"bits_per_key", "10"}, {"queries_per_key", "6.7"}, {"negatives_per_key", "1"}, {"zipf", "1"}}},
                   {"variable-hash", "variable-hash", bits},
                   {"cuckoo", "cuckoo", bits},
                   {"adaptive-cuckoo", "adaptive-cuckoo", bits},
                   {"adaptive-cuckoo, 1 selector bit",
                    "adaptive-cuckoo",
                    {{"bits_per_key", "10"}, {"selector_bits", "1"}}},
                   {"guarded", "guarded", bits}},
        .advice = advice};
  };
  to.push_back(
      {.name = "stacked-fig7",
       .title = "A filter whose errors are reported, over its life",
       .source = "Deeds 2020, Fig. 7",
       .about =
           "No negative is known at the start; every error costs a read and is reported. All of it counts: build, "
           "queries, reads, learning. The text says only that the adaptive filter costs significantly less over ten "
           "million queries, more so on a hard disk. variable-hash has its keys in a file, and adaptive-cuckoo has 64 "
           "bits per slot of them in memory; neither is counted in their 10 bits per key. In a every error reads a "
           "block of 4 KiB from a file of 256 MiB, past the page cache where the file system allows it.",
       .panels = {
           life("a", "This machine's disk", kUrls, "The sooner a filter learns, the sooner it has paid for itself."),
           life("b", "Hard disk, computed with 10 ms per read", on_hard_disk(kUrls),
                "On a slow store learning pays within the first queries."),
           {.id = "c",
            .title = "Reported negatives that a filter takes in for good",
            .kind = Kind::absorb,
            .setup = {.data = Data::integers, .keys = 1e5, .negatives = 1e5, .quick_scale = 0.2},
            .x = {"bits per key", Sets::bits_per_key, "", false, {8, 10, 12}, {}},
            .ys = {{"absorbed_per_key", "absorbed per key", Unit::number, true}},
            .also = {{"reported_per_key", "reported per key", Unit::number},
                     {"absorbed_per_halving", "absorbed per key and halving of the rate", Unit::number},
                     {"fpr", "strangers"}},
            .series = {{"adaptive-stacked", "adaptive-stacked"},
                       {"adaptive-stacked, planned for many",
                        "adaptive-stacked",
                        {{"queries_per_key", "10000"}, {"negatives_per_key", "10"}, {"zipf", "0.5"}}},
                       {"variable-hash", "variable-hash"},
                       {"guarded", "guarded"}},
            .advice = "A filter that keeps its keys on the disk has more room for what it is told."}}});
}

}  // namespace naysay::cli
