// SPDX-License-Identifier: Apache-2.0
// The figures of "Seesaw Counting Filter", Li et al., WWW 2022, and the points that its text gives.
#include "experiments/experiment.hpp"

namespace naysay::cli {

namespace {

constexpr Setup kShalla = {
    .data = Data::blocklist, .keys = 1'491'178, .negatives = 1'435'527, .shuffles = 5, .quick_scale = 0.25};
constexpr Setup kYcsb = {
    .data = Data::ycsb, .keys = 12'500'611, .negatives = 11'574'201, .shuffles = 5, .quick_scale = 0.02};

constexpr Setup zipf(Setup s, double skew) {
  s.skew = skew;
  return s;
}
// 20 rounds in each of which a tenth of the keys is replaced.
constexpr Setup churned(Setup s) {
  s.churn = 0.1;
  s.rounds = 20;
  s.quick_scale = 0.1;
  return s;
}

// One negative has a fourteenth of Zipf 1.0 costs: five shuffles are too few to test a reason.
constexpr Setup shuffled(Setup s) {
  s.shuffles = 30;
  return s;
}
constexpr Setup smaller(Setup s) {
  s.quick_scale = 0.05;
  return s;
}
// As many counters as 24 bits per key give, each of 5 bits: the tuned path is for 4.
const std::vector<Param> kWideCounting = {{"bits_per_key", "30"}, {"counter_bits", "5"}, {"k", "5"}};
Setup over_wide_counting(Setup s) {
  s.compared_with = "counting-bloom";
  s.compared_params = kWideCounting;
  return s;
}
constexpr Setup over_counting(Setup s) {
  s.compared_with = "counting-bloom";
  return s;
}

// 4.1 and 4.2: k = floor(B ln 2), a tenth of the space for the modulator, the costliest 5 % encoded, and the query of the
// authors' code.
std::vector<Param> as_in_the_paper(const char* bits = nullptr, std::vector<Param> more = {}) {
  std::vector<Param> p = {
      {"plan", "paper"}, {"alpha", "0.1"}, {"encode", "5 %"}, {"extra", "0"}, {"query", "leaning_round"}};
  if (bits) p.push_back({"bits_per_key", bits});
  p.insert(p.end(), more.begin(), more.end());
  return p;
}

// 4.1.1: three layers of one rate, all 5 % stored, no key known when it is built.
Series stack_of_the_paper() {
  return {
      .name = "SF as in the paper",
      .filter = "stacked-counting-bloom",
      .params = {{"known", "0.05"}, {"rates", "equal"}},
      .inserted = true,
  };
}
// One negative in 20,000 is listed, outside the filter: our choice, the paper does not say.
const std::vector<Param> kListOfThePaper = {{"list", "outside"}, {"listed", "0.005 %"}};

// 4.1.1: k = ceil(B ln 2).
const Series kCountingOfThePaper = {
    .name = "CBF as in the paper", .filter = "counting-bloom", .params = {{"k", "ceil"}}};

std::vector<Series> contestants() {
  return {{"SSCF as in the paper", "seesaw", as_in_the_paper()},
          stack_of_the_paper(),
          kCountingOfThePaper,
          {"WCBF as in the paper", "weighted-counting-bloom", kListOfThePaper},
          {"counting-bloom", "counting-bloom"},
          {"seesaw", "seesaw"},
          {"seesaw, all encoded", "seesaw", {{"encode", "100 %"}}},
          {"weighted-counting-bloom", "weighted-counting-bloom"},
          {"stack, tuned, inserted", "stacked-counting-bloom", {{"known", "0.05"}}, false, false, false, true},
          {"stacked-counting-bloom", "stacked-counting-bloom"},
          {"cuckoo", "cuckoo"},
          {"guarded", "guarded"}};
}

constexpr const char* kMoreEncoded =
    "A guess: more is encoded than the 5 % that the paper says. With 20 % ours is within 15 % of the published points; "
    "neither k nor the query closes the gap (naysay bench sscf-why, a).";
constexpr const char* kStacked =
    "A guess: the paper's layers are not of equal rate, or their counters are wider. This series has three layers of "
    "one "
    "rate, all 5 % stored, fed by inserts; tuned rates lower it in small filters (naysay bench sscf-why, b).";
constexpr const char* kClock =
    "A guess: our keys are digested before the clock starts and positions come from one multiplication, on another "
    "machine; the column over CBF is what compares.";
constexpr const char* kWalk =
    "The paper's query walks the list of costly negatives, so its time grows with the list: naysay bench sscf-why, c, "
    "shows it over the number listed. The paper does not say that number; we list one in 20,000.";
constexpr const char* kLanded = "A guess: the luck of the shuffles; the paper does not say how many it has.";
constexpr const char* kStrings =
    "A guess: ours compares digests of 16 bytes, the paper's whole strings, on another machine.";
constexpr const char* kLayout =
    "A guess: what is left are digests that are made before the clock starts, and another machine.";
constexpr const char* kUnsaid =
    "A guess: the paper says neither the space nor the skewness of this figure; we use 40 bits per key and Zipf 1.5, "
    "so "
    "only the trend compares: the filter makes fewer errors after 40 rounds of churn.";

}  // namespace

void add_seesaw_figures(std::vector<Experiment>& to) {
  const std::vector<Metric> wfpr = {{"wfpr", "weighted FPR"}};
  const Setup skewed = zipf(kShalla, 1.5);
  to.push_back(
      {.name = "sscf-fig10",
       .title = "SSCF's parameters",
       .source = "SSCF, Fig. 10",
       .about =
           "Blocklist, Zipf 1.5 costs, 5 % of the negatives encoded. The paper finds k = 4 best for 8 counters per "
           "key and k = 8 for 12, 3 bits for the modulated counter, two backup functions and a tenth of the space for "
           "the modulator; it gives no rates. It does not say whether keys were erased before it counted; here they "
           "were, "
           "in b and c, because without that no count is ever full.",
       .panels = {
           {.id = "a",
            .title = "Hash functions, for 8, 10 and 12 counters per key",
            .setup = skewed,
            .x = {"hash functions k", Sets::param, "k", false, {2, 4, 6, 8, 10}, {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"8 counters", "seesaw", as_in_the_paper("44.44")},
                       {"10 counters", "seesaw", as_in_the_paper("55.56")},
                       {"12 counters", "seesaw", as_in_the_paper("66.67")}},
            .advice = "Leave k to the optimiser (k = 0): it knows how many negatives are encoded."},
           {.id = "b",
            .title = "Bits of the modulated counter, 28 bits per key, after 20 rounds of churn",
            .setup = churned(skewed),
            .x = {"bits",
                  Sets::param,
                  "modulator_bits",
                  false,
                  {1, 2, 3, 4, 6, 8, 12},
                  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"SSCF as in the paper", "seesaw", as_in_the_paper("28")}},
            .advice = "A count that is full stays full, so narrow ones hurt only where keys are erased; each bit more "
                      "takes space from the cells."},
           {.id = "c",
            .title = "Backup functions, 28 bits per key, after 20 rounds of churn",
            .setup = churned(skewed),
            .x = {"backup functions", Sets::param, "backups", false, {1, 2, 4, 8, 12}, {1, 2, 3, 4, 6, 8, 12}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"SSCF as in the paper", "seesaw", as_in_the_paper("28")}},
            .advice = "More backups find an upright counter more often, and their index takes space from the cells."},
           {.id = "d",
            .title = "Space for the modulator, 28 bits per key",
            .setup = skewed,
            .x = {"share of the space", Sets::param, "alpha", false, {0.06, 0.08, 0.1, 0.12, 0.16, 0.2}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"SSCF as in the paper", "seesaw", as_in_the_paper("28")}},
            .advice = "Leave it to the optimiser if costs are known."},
           {.id = "d, Eq. 4",
            .title = "The same, chosen by Eq. 4 of the appendix, over sizes",
            .setup = skewed,
            .x = {"bits per key", Sets::bits_per_key, "", false, {20, 28, 36}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"a tenth", "seesaw", as_in_the_paper()},
                       {"as Eq. 4 says",
                        "seesaw",
                        {{"plan", "paper"}, {"encode", "5 %"}, {"extra", "0"}, {"query", "leaning_round"}}}},
            .advice = "A tenth is a good choice where nothing is known; the formula needs the costs."}}});

  const auto space = [&](const char* id, const char* title, const Setup& setup, const std::vector<double>& mib,
                         std::vector<Published> published, const char* advice) {
    return Panel{.id = id,
                 .title = title,
                 .setup = setup,
                 .x = {"MiB", Sets::mebibytes, "", false, mib, {}},
                 .ys = wfpr,
                 .also = {{"fpr", "strangers"}},
                 .series = contestants(),
                 .published = std::move(published),
                 .advice = advice};
  };
  const std::vector<double> shalla = {3.5, 4.2, 5, 5.7, 6.4}, ycsb = {29.8, 35.8, 41.7, 47.7, 53.6};
  to.push_back(
      {.name = "sscf-fig11",
       .title = "Filters with deletions, blocklist",
       .source = "SSCF, Fig. 11",
       .about =
           "Weighted FPR with the same space for all, mean over five shuffles of the costs. The paper gives the ends "
           "of two curves, and says that SSCF is 1.55 times better than the stacked filter at skewness 1 and a hundred "
           "times at 2.5. With both built as the paper describes them we do not find that at skewness 1: they err "
           "alike at 3.5 MiB, and the stack errs 2.5 times less at 6.4 MiB (naysay bench sscf-why has 30 shuffles of "
           "them).",
       .panels = {space("a", "Zipf 1.0", zipf(kShalla, 1), shalla,
                        {{"SSCF", 3.5, 0.0299, "SSCF as in the paper", kMoreEncoded},
                         {"SSCF", 6.4, 0.0057, "SSCF as in the paper", kMoreEncoded},
                         {"SF", 3.5, 0.0562, "SF as in the paper", kStacked},
                         {"SF", 6.4, 0.0063, "SF as in the paper", kStacked}},
                        "At these sizes a cuckoo filter without known negatives accepts far less than all counting "
                        "filters; with "
                        "a guard it refuses the known negatives too."),
                  space("b", "Zipf 1.5", zipf(kShalla, 1.5), shalla, {},
                        "The encoded negatives carry nearly all of the cost now."),
                  space("c", "Zipf 2.0", zipf(kShalla, 2), shalla, {}, "As at 1.5, more so."),
                  space("d", "Zipf 2.5", zipf(kShalla, 2.5), shalla, {},
                        "A few negatives carry all of the cost: any filter that can refuse them is best.")}});
  to.push_back({.name = "sscf-fig12",
                .title = "Filters with deletions, YCSB",
                .source = "SSCF, Fig. 12",
                .about = "As Fig. 11 with YCSB keys.",
                .panels = {space("a", "Zipf 1.0", zipf(kYcsb, 1), ycsb,
                                 {{"SSCF", 29.8, 0.0235, "SSCF as in the paper", kMoreEncoded},
                                  {"SSCF", 53.6, 0.0051, "SSCF as in the paper", kMoreEncoded},
                                  {"SF", 29.8, 0.0480, "SF as in the paper", kStacked},
                                  {"SF", 53.6, 0.0054, "SF as in the paper", kStacked}},
                                 "As on the blocklist: the keys do not matter."),
                           space("b", "Zipf 1.5", zipf(kYcsb, 1.5), ycsb, {}, "As on the blocklist."),
                           space("c", "Zipf 2.0", zipf(kYcsb, 2), ycsb, {}, "As on the blocklist."),
                           space("d", "Zipf 2.5", zipf(kYcsb, 2.5), ycsb, {}, "As on the blocklist.")}});

  const auto latency = [&](const char* id, const char* title, Setup setup, std::vector<Published> published) {
    setup.compared_with = "counting-bloom";
    setup.compared_params = {{"k", "5"}};  // ceil(6 ln 2), as in the paper
    const std::vector<Param> bits = {{"bits_per_key", "24"}};
    const auto with_bits = [&](std::vector<Param> params) {
      params.insert(params.end(), bits.begin(), bits.end());
      return params;
    };
    return Panel{
        .id = id,
        .title = title,
        .kind = Kind::times,
        .setup = setup,
        .ys = {{"insert_ns", "insert", Unit::nanoseconds},
               {"query_ns", "query", Unit::nanoseconds},
               {"erase_ns", "erase", Unit::nanoseconds}},
        .also = {{"insert_over", "insert, over CBF", Unit::ratio},
                 {"query_over", "query, over CBF", Unit::ratio},
                 {"erase_over", "erase, over CBF", Unit::ratio}},
        .bars = true,
        .series = {{"SSCF as in the paper", "seesaw", as_in_the_paper("24")},
                   {"SF as in the paper", stack_of_the_paper().filter, with_bits(stack_of_the_paper().params)},
                   {"WCBF as in the paper", "weighted-counting-bloom", with_bits(kListOfThePaper)},
                   {"CBF as in the paper", "counting-bloom", with_bits(kCountingOfThePaper.params)},
                   {"counting-bloom", "counting-bloom", bits},
                   {"seesaw", "seesaw", bits},
                   {"weighted-counting-bloom", "weighted-counting-bloom", bits},
                   {"stacked-counting-bloom", "stacked-counting-bloom", bits},
                   {"cuckoo", "cuckoo", bits},
                   {"guarded", "guarded", bits}},
        .published = std::move(published),
        .advice = "A fingerprint filter touches two places where counting filters touch one for each function."};
  };
  const auto insert_and_query = [](const char* curve, double insert, double query, const char* series,
                                   const char* why = kClock) {
    return std::vector<Published>{{curve, kEverywhere, insert, series, kClock, Relation::is, "insert_ns"},
                                  {curve, kEverywhere, query, series, why, Relation::is, "query_ns"}};
  };
  const auto join = [](std::vector<std::vector<Published>> parts) {
    std::vector<Published> all;
    for (auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  to.push_back({.name = "sscf-fig13",
                .title = "Time to insert, query and erase",
                .source = "SSCF, Fig. 13",
                .about = "24 bits per key; half of the queries are about keys. The paper does not say its space.",
                .panels = {latency("a", "Blocklist", zipf(kShalla, 1),
                                   join({insert_and_query("SSCF", 208, 163, "SSCF as in the paper"),
                                         insert_and_query("CBF", 141, 158, "CBF as in the paper"),
                                         insert_and_query("WCBF", 250, 195, "WCBF as in the paper", kWalk),
                                         insert_and_query("SF", 310, 253, "SF as in the paper")})),
                           latency("b", "YCSB", zipf(kYcsb, 1),
                                   join({insert_and_query("SSCF", 296, 199, "SSCF as in the paper"),
                                         insert_and_query("CBF", 190, 211, "CBF as in the paper"),
                                         insert_and_query("WCBF", 277, 2548, "WCBF as in the paper", kWalk),
                                         insert_and_query("SF", 438, 364, "SF as in the paper")}))}});

  const auto churn = [&](const char* id, const char* title, Setup setup, double part, double insertions,
                         std::vector<Published> published) {
    setup.churn = part;
    setup.insertions = insertions;
    setup.quick_scale = 0.02 * 1.25e7 / setup.keys;  // 250,000 keys
    setup.given = 0.05;
    const std::vector<Param> bits = {{"bits_per_key", "40"}};
    return Panel{.id = id,
                 .title = title,
                 .kind = Kind::churn,
                 .setup = setup,
                 .x = {"rounds", Sets::time, "", false, {40}, {}},
                 .ys = wfpr,
                 .also = {{"fpr", "strangers"}},
                 .series = {{"ada-SSCF as in the paper", "ada-seesaw", as_in_the_paper("40")},
                            {"ada-seesaw", "ada-seesaw", bits},
                            {"counting-bloom", "counting-bloom", bits},
                            {"cuckoo", "cuckoo", bits},
                            {"adaptive-cuckoo", "adaptive-cuckoo", bits, false, true},
                            {"guarded", "guarded", bits, false, true}},
                 .published = std::move(published),
                 .advice = "ada-seesaw needs churn before it has learned; a guard learns immediately."};
  };
  const Setup shalla_churn = zipf(kShalla, 1.5), ycsb_churn = zipf(kYcsb, 1.5);
  to.push_back(
      {.name = "sscf-fig14",
       .title = "A filter that learns during insertions and deletions",
       .source = "SSCF, Fig. 14",
       .about =
           "Built from the keys only; then the 5 % costliest negatives are reported, and round after round a "
           "share of the "
           "keys is replaced by others. 40 bits per key, Zipf 1.5 costs; counting-bloom then has 7 functions, as the "
           "paper's CBF has. An error of guarded or adaptive-cuckoo is reported when it has made one. In the last two "
           "panels half "
           "as many keys are inserted as erased, so that after 40 rounds two thirds of them are left.",
       .panels = {churn("a, 2 %", "Blocklist, 2 % of the keys per round", shalla_churn, 0.02, 1,
                        {{"ada-SSCF", 0, 0.057, "ada-SSCF as in the paper", kUnsaid},
                         {"ada-SSCF", 40, 0.0008, "ada-SSCF as in the paper", kUnsaid}}),
                  churn("a, 10 %", "Blocklist, 10 % of the keys per round", shalla_churn, 0.1, 1,
                        {{"ada-SSCF", 40, 0.000019, "ada-SSCF as in the paper", kUnsaid}}),
                  churn("b, 2 %", "YCSB, 2 % of the keys per round", ycsb_churn, 0.02, 1,
                        {{"ada-SSCF", 0, 0.27, "ada-SSCF as in the paper", kUnsaid},
                         {"ada-SSCF", 40, 0.0002, "ada-SSCF as in the paper", kUnsaid}}),
                  churn("b, 10 %", "YCSB, 10 % of the keys per round", ycsb_churn, 0.1, 1,
                        {{"ada-SSCF", 40, 0.0000038, "ada-SSCF as in the paper", kUnsaid}}),
                  churn("a, 2 % and half", "Blocklist, 2 % of the keys erased per round, half as many inserted",
                        shalla_churn, 0.02, 0.5, {}),
                  churn("b, 2 % and half", "YCSB, 2 % of the keys erased per round, half as many inserted", ycsb_churn,
                        0.02, 0.5, {})}});

  // The published points again, with our differences switched off one after the other.
  const Axis sizes = {"MiB", Sets::mebibytes, "", false, {3.5, 6.4}, {}};
  const auto paper_with = [&](std::vector<Param> other, const char* bits = nullptr) {
    std::vector<Param> p = as_in_the_paper(bits);
    for (const Param& o : other)
      for (Param& old : p)
        if (old.name == o.name) old = o;
    return p;
  };
  to.push_back(
      {.name = "sscf-why",
       .title = "Why our rates are not those of the Seesaw paper",
       .source = "SSCF, Fig. 11 a and 13; ablations are our own",
       .about = "Each series differs from the one above it in one thing. A reason that is given for a deviation in "
                "sscf-fig11, -fig12 or -fig13 must show here: the series that has the paper's choice lies on the "
                "published point.",
       .panels = {
           {.id = "a",
            .title = "SSCF, Zipf 1.0: k, query, and how many are encoded",
            .setup = shuffled(zipf(kShalla, 1)),
            .x = sizes,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"our planner", "seesaw"},
                       {"5 % encoded, our k, two_round", "seesaw",
                        paper_with({{"plan", "best"}, {"query", "two_round"}})},
                       {"k of the paper", "seesaw", paper_with({{"query", "two_round"}})},
                       {"query of the authors' code", "seesaw", as_in_the_paper()},
                       {"10 % encoded", "seesaw", paper_with({{"encode", "10 %"}})},
                       {"20 % encoded", "seesaw", paper_with({{"encode", "20 %"}})}},
            .published = {{"SSCF", 3.5, 0.0299, "20 % encoded", kLanded},
                          {"SSCF", 6.4, 0.0057, "20 % encoded", kLanded}},
            .advice = "Encode more than 5 %: the planner encodes half of the negatives and more."},
           {.id = "b",
            .title = "Stack of three layers, Zipf 1.0: rates, and whether keys are known",
            .setup = shuffled(zipf(kShalla, 1)),
            .x = sizes,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"tuned, keys known", "stacked-counting-bloom", {{"known", "0.05"}}},
                       {"tuned, inserted", "stacked-counting-bloom", {{"known", "0.05"}}, false, false, false, true},
                       {"equal rates, keys known", "stacked-counting-bloom", {{"known", "0.05"}, {"rates", "equal"}}},
                       stack_of_the_paper()},
            .published = {{"SF", 3.5, 0.0562, "SF as in the paper", kStacked},
                          {"SF", 6.4, 0.0063, "SF as in the paper", kStacked}},
            .advice = "In small filters tuned rates are worth more than knowing the keys; in large ones neither helps "
                      "alone."},
           {.id = "c",
            .title = "Query time of a weighted counting filter over its list",
            .kind = Kind::times,
            .setup = over_counting(zipf(kShalla, 1)),
            .x = {"negatives listed", Sets::param, "listed", true, {18, 72, 578}, {}},
            .ys = {{"query_over", "query, over counting-bloom", Unit::ratio}},
            .also = {{"query_ns", "query", Unit::nanoseconds}},
            .series = {{"WCBF, list outside", "weighted-counting-bloom", {{"list", "outside"}, {"bits_per_key", "24"}}},
                       {"weighted-counting-bloom", "weighted-counting-bloom", {{"bits_per_key", "24"}}}},
            .published = {{"WCBF, Shalla", 72, 195.0 / 158, "WCBF, list outside", kStrings},
                          {"WCBF, YCSB", 578, 2548.0 / 211, "WCBF, list outside", kStrings}},
            .advice = "A list in buckets costs the same however long it is."},
           {.id = "d",
            .title = "Times over a counting Bloom filter that also runs the path for any width of counter",
            .kind = Kind::times,
            .setup = over_wide_counting(zipf(kShalla, 1)),
            .ys = {{"insert_over", "insert", Unit::ratio}, {"query_over", "query", Unit::ratio}},
            .y_log = false,
            .bars = true,
            .series = {{"SSCF as in the paper", "seesaw", as_in_the_paper("24")},
                       {"counting-bloom, 4 bits", "counting-bloom", {{"bits_per_key", "24"}, {"k", "5"}}},
                       {"counting-bloom, 5 bits", "counting-bloom", kWideCounting}},
            .published = {{"SSCF, insert", kEverywhere, 1.47, "SSCF as in the paper", kLayout, Relation::is,
                           "insert_over"},
                          {"SSCF, query", kEverywhere, 163.0 / 158, "SSCF as in the paper", kLayout, Relation::is,
                           "query_over"}},
            .advice = "Counters of 4 bits are the fast ones."},
           {.id = "e",
            .title = "Backup functions over how many negatives are encoded, Zipf 1.5, 28 bits per key",
            .setup = shuffled(smaller(skewed)),
            .x = {"backup functions", Sets::param, "backups", false, {1, 2, 4}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"5 % encoded", "seesaw", as_in_the_paper("28")},
                       {"20 % encoded", "seesaw", paper_with({{"encode", "20 %"}}, "28")},
                       {"60 % encoded", "seesaw", paper_with({{"encode", "60 %"}}, "28")}},
            .advice = "The more is encoded the more a second backup function is worth."}}});
}

}  // namespace naysay::cli
