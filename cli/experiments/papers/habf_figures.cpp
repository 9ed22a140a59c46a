// SPDX-License-Identifier: Apache-2.0
// The figures of "Hash Adaptive Bloom Filter", Xie et al., ICDE 2021, and the points that its text gives.
#include "experiments/experiment.hpp"

namespace naysay::cli {

namespace {

// V-C: the sizes of the two sets.
constexpr Setup kShalla = {.data = Data::blocklist, .keys = 1'491'178, .negatives = 1'435'527, .quick_scale = 0.25};
constexpr Setup kYcsb = {.data = Data::ycsb, .keys = 12'500'611, .negatives = 11'574'201, .quick_scale = 0.02};
constexpr const char* kShallaBits = "8.438";  // 1.5 * 2^20 bytes
constexpr const char* kYcsbBits = "10.066";   // 15 * 2^20 bytes

constexpr Setup zipf(Setup s, double skew, int shuffles) {
  s.skew = skew;
  s.shuffles = shuffles;
  return s;
}

// Times: a Bloom filter that hashes texts is the unit of filters that do; digests are made before the clock starts.
constexpr Setup over_text_bloom(Setup s) {
  s.texts_compared_with = "BF as in the paper";
  return s;
}

// Forty shuffles of six skews: with a tenth of the keys they need minutes.
constexpr Setup smaller(Setup s) {
  s.quick_scale = 0.1;
  return s;
}

// As many strangers as two million: a rate of one in 65,536 is seen thirty times.
constexpr Setup denser(Setup s) {
  s.quick_scale = 0.16;
  return s;
}

const Axis kShallaSpace = {"MiB", Sets::mebibytes, "", false, {1.25, 1.5, 2, 2.5, 3.25}, {}};
const Axis kYcsbSpace = {"MiB", Sets::mebibytes, "", false, {12.5, 15, 20, 25, 32.5}, {}};

// What the papers describe, next to ours: functions of different design of the key's text (Table II), chains that may name a
// function twice (III-C), cells of 4 bits for both (V-D), and a cost list outside of the weighted filter (V-A).
const Series kHabfOfThePaper = {.name = "HABF as in the paper",
                                .filter = "habf",
                                .params = {{"hash_family", "independent"}, {"texts", "true"}, {"repeats", "true"}},
                                .texts = true};
const Series kFastOfThePaper = {
    .name = "f-HABF as in the paper", .filter = "f-habf", .params = {{"cell_bits", "4"}, {"repeats", "true"}}};
const Series kWeightedOfThePaper = {
    .name = "WBF as in the paper", .filter = "weighted-bloom", .params = {{"list", "outside"}, {"listed", "0.1 %"}}};

// A plain Bloom filter of the best k, with functions of the key's text.
Series bloom_with(const char* name, const char* family) {
  return {.name = name,
          .filter = "habf",
          .params = {{"space_ratio", "0"}, {"k", "0"}, {"hash_family", family}, {"texts", "true"}},
          .texts = true};
}
Series named(const char* name, Series s, std::vector<Param> more = {}) {
  s.name = name;
  s.params.insert(s.params.end(), more.begin(), more.end());
  return s;
}

std::vector<Series> contestants() {
  return {{"bloom", "bloom"},
          {"xor", "xor"},
          kHabfOfThePaper,
          kFastOfThePaper,
          kWeightedOfThePaper,
          {"habf", "habf"},
          {"f-habf", "f-habf"},
          {"weighted-bloom", "weighted-bloom"},
          {"ribbon", "ribbon", {{"width", "128"}}},
          {"stacked-bloom", "stacked-bloom"},
          {"taught-ribbon", "taught-ribbon"}};
}

// The learned filters of the paper, PLBF and ours, and what they are compared with.
std::vector<Series> learned() {
  return {{"bloom", "bloom"},
          {"habf", "habf"},
          {"learned-bloom", "learned-bloom"},
          {"sandwiched-bloom", "sandwiched-bloom"},
          {"ada-bloom", "ada-bloom"},
          {"partitioned-learned", "partitioned-learned"},
          {"learned-ribbon", "learned-ribbon"}};
}

std::vector<Series> at_bits(std::vector<Series> list, const char* bits) {
  for (Series& s : list) s.params.push_back({"bits_per_key", bits});
  return list;
}

constexpr const char* kLuck =
    "With Zipf costs one negative of a million carries a fourteenth of all cost, and whether it is among the few "
    "accepted ones decides the mean of ten shuffles: naysay bench habf-fig13 shows the share of the unluckiest. "
    "The expectation of a filter that ignores costs is its rate with equal costs.";
constexpr const char* kFirstFit =
    "The paper's text stores the move that shares the most cells; with the first move that fits (first_fit=true) ours "
    "is "
    "within a tenth of the published rates at 1.5 MiB with equal costs. Without repeats=true, which accepts chains "
    "that "
    "name a function twice as the paper's query does, ours would be about three times lower still (naysay bench "
    "habf-why, a and b).";
constexpr const char* kFloor =
    "A guess: moving to set bits only leaves a floor that the published point does not show.";
constexpr const char* kListed =
    "A guess: the paper does not say how many negatives its list has, nor how it counts their costs; we list one in a "
    "thousand outside of the filter, as the authors' code does.";
constexpr const char* kFew =
    "A guess: at these sizes so few negatives are accepted that chance decides, and with Zipf costs which ones.";
constexpr const char* kWidth =
    "The published rate is that of fingerprints of 16 bits; the paper's formula allows 17 at this size, and ours has "
    "them: naysay bench habf-why, c, has both.";
constexpr const char* kDigest =
    "A guess: another machine, and other code for the same functions; where keys are digests, every further function "
    "is one multiplication.";
constexpr const char* kOtherModel =
    "A guess: ours has another model (16 KiB of weights over hashed n-grams, counted in full) and other strings: the "
    "paper's list is not free, and its model is a neural network.";
constexpr const char* kNothingToLearn =
    "A guess: YCSB keys are hashes of numbers, so our planner finds nothing to learn and builds a Bloom filter; the "
    "paper's model was used nevertheless.";
constexpr const char* kLinearModel =
    "A guess: ours is a linear model of integers, trained in seconds on one core; the paper's is a neural network in "
    "Python.";
constexpr const char* kHeld =
    "A guess: we hold digests of 16 bytes and flat arrays where the paper holds strings and pointers.";

}  // namespace

void add_habf_figures(std::vector<Experiment>& to) {
  const std::vector<Metric> wfpr = {{"wfpr", "weighted FPR"}};
  const std::vector<Metric> known = {{"known_fpr", "measured"}, {"bound", "bound"}};

  to.push_back(
      {.name = "habf-fig8",
       .title = "HABF errs less often than its theory allows",
       .source = "HABF, Fig. 8",
       .about =
           "The bound of Eq. 19 with the second look of Eq. 2, and the known negatives that are really accepted. The "
           "paper says only that the bound is always above; so it is here if the dashed curve lies on top.",
       .panels = {{.id = "a",
                   .title = "Number of hash functions, 10 bits per key in the Bloom part",
                   .setup = kShalla,
                   .x = {"hash functions k", Sets::param, "k", false, {2, 3, 4, 5, 6, 7, 8, 9, 10}, {}},
                   .ys = known,
                   .series = {{"habf", "habf", {{"bits_per_key", "12.5"}, {"cell_bits", "5"}}}},
                   .advice = "The bound holds with room to spare: plan with it, and expect better."},
                  {.id = "b",
                   .title = "Bits per key, 4 hash functions",
                   .setup = kShalla,
                   .x = {"bits per key", Sets::bits_per_key, "", false, {5, 6, 8, 10, 12, 13}, {}},
                   .ys = known,
                   .series = {{"habf", "habf", {{"k", "4"}, {"cell_bits", "5"}}}},
                   .advice = "The bound falls as the measured rate does, and never below it."}}});

  to.push_back(
      {.name = "habf-fig9",
       .title = "HABF's parameters",
       .source = "HABF, Fig. 9",
       .about =
           "2 MiB and equal costs. The paper finds the best space ratio at 0.25, the best k at 3 to 5, the best cell "
           "at 4 bits; it gives no numbers. With the paper's query we find the same. Ours has other optima (a smaller "
           "HashExpressor, more functions), because it refuses chains that name a function twice. A cell of 4 bits "
           "names "
           "seven functions, so k = 7 and 8 need 5 bits.",
       .panels = {
           {.id = "a",
            .title = "Space of the HashExpressor for each bit of the Bloom filter",
            .setup = kShalla,
            .x = {"space ratio", Sets::param, "space_ratio", false, {0, 0.05, 0.1, 0.25, 0.4, 0.6, 0.8, 1}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = at_bits({kHabfOfThePaper, kFastOfThePaper, {"habf", "habf"}, {"f-habf", "f-habf"}}, "11.251"),
            .advice = "A small HashExpressor leaves more bits to the Bloom part, and strangers feel that."},
           {.id = "a, k",
            .title = "Number of hash functions",
            .setup = kShalla,
            .x = {"hash functions k", Sets::param, "k", false, {2, 3, 4, 5, 6, 7, 8}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = at_bits({kHabfOfThePaper,
                               named("HABF as in the paper, 5 bits", kHabfOfThePaper, {{"cell_bits", "5"}}),
                               kFastOfThePaper,
                               {"habf", "habf"},
                               {"habf, 5 bits", "habf", {{"cell_bits", "5"}}},
                               {"f-habf", "f-habf"}},
                              "11.251"),
            .advice = "More functions slow every query down; the paper settles for 3."},
           {.id = "b",
            .title = "Bits of a cell",
            .setup = kShalla,
            .x = kShallaSpace,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {named("3 bits, as in the paper", kHabfOfThePaper, {{"cell_bits", "3"}, {"k", "2"}}),
                       named("4 bits, as in the paper", kHabfOfThePaper),
                       named("5 bits, as in the paper", kHabfOfThePaper, {{"cell_bits", "5"}}),
                       {"3 bits", "habf", {{"cell_bits", "3"}, {"k", "2"}}},
                       {"4 bits", "habf", {{"cell_bits", "4"}}},
                       {"5 bits", "habf", {{"cell_bits", "5"}}}},
            .advice = "With 3 bits there are only three functions, so k must be 2."}}});

  to.push_back(
      {.name = "habf-fig10",
       .title = "Weighted FPR over space, costs equal",
       .source = "HABF, Fig. 10",
       .about = "All negatives are known and cost the same. Learned filters have panels of their own, b and d.",
       .panels = {
           {.id = "a",
            .title = "Blocklist of the size of Shalla's",
            .setup = kShalla,
            .x = kShallaSpace,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}, {"bits_per_key", "bits per key", Unit::bits}},
            .series = contestants(),
            .published = {{"BF", 1.5, 0.0173, "bloom"},
                          {"Xor", 1.5, 0.0156, "xor"},
                          {"HABF", 1.5, 0.0036, "HABF as in the paper", kFirstFit},
                          {"f-HABF", 1.5, 0.0055, "f-HABF as in the paper", kFirstFit}},
            .advice =
                "If every query will be about known negatives, use taught-ribbon: it accepts none of them. HABF pays "
                "for its few errors with strangers, of which it accepts more than a Bloom filter does (see the "
                "table)."},
           {.id = "b",
            .title = "Blocklist, learned filters",
            .setup = kShalla,
            .x = kShallaSpace,
            .ys = wfpr,
            .also = {{"fpr", "made-up URLs"}, {"bits_per_key", "bits per key"}},
            .series = learned(),
            .published = {{"LBF", 1.5, 0.0054, "learned-bloom", kOtherModel},
                          {"Ada-BF", 1.5, 0.0051, "ada-bloom", kOtherModel},
                          {"SLBF", 1.5, 0.0044, "sandwiched-bloom", kOtherModel}},
            .advice = "All negatives are known here, so this says how much a model forgets; learned-ribbon refuses "
                      "them all. The experiment learned shows strangers."},
           {.id = "c",
            .title = "YCSB keys",
            .setup = kYcsb,
            .x = kYcsbSpace,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}, {"bits_per_key", "bits per key", Unit::bits}},
            .series = contestants(),
            .published = {{"HABF", 12.5, 3.46e-3, "HABF as in the paper", kFirstFit},
                          {"HABF", 32.5, 3.63e-6, "HABF as in the paper", kFew},
                          {"BF", 12.5, 1.78e-2, "bloom"},
                          {"BF", 32.5, 2.83e-5, "bloom", kFew},
                          {"Xor", 12.5, 1.57e-2, "xor"},
                          {"Xor", 32.5, 1.59e-5, "xor", kWidth}},
            .advice = "What a key says does not matter to hash-based filters: the curves are those of the blocklist."},
           {.id = "d",
            .title = "YCSB keys, learned filters",
            .setup = kYcsb,
            .x = kYcsbSpace,
            .ys = wfpr,
            .also = {{"fpr", "made-up URLs"}, {"bits_per_key", "bits per key"}},
            .series = learned(),
            .published = {{"LBF", 12.5, 7.04e-3, "learned-bloom", kNothingToLearn},
                          {"LBF", 32.5, 1.08e-4, "learned-bloom", kNothingToLearn},
                          {"Ada-BF", 12.5, 3.13e-2, "ada-bloom", kNothingToLearn},
                          {"Ada-BF", 32.5, 1.42e-4, "ada-bloom", kNothingToLearn},
                          {"SLBF", 12.5, 6.81e-3, "sandwiched-bloom", kNothingToLearn},
                          {"SLBF", 32.5, 1.72e-5, "sandwiched-bloom", kNothingToLearn}},
            .advice = "Keys that say nothing cannot be learned: learned-ribbon is then a taught ribbon, and the others "
                      "are Bloom filters."}}});

  to.push_back(
      {.name = "habf-fig11",
       .title = "Weighted FPR over space, Zipf costs",
       .source = "HABF, Fig. 11",
       .about =
           "Costs follow Zipf's law with skewness 1 and are shuffled over the negatives; the mean over ten shuffles.",
       .panels = {
           {.id = "a",
            .title = "Blocklist of the size of Shalla's",
            .setup = zipf(kShalla, 1, 10),
            .x = kShallaSpace,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = contestants(),
            .published = {{"HABF", 1.25, 8.67e-3, "HABF as in the paper", kFirstFit},
                          {"HABF", 3.25, 2.56e-6, "HABF as in the paper", kFew},
                          {"f-HABF", 1.25, 1.37e-2, "f-HABF as in the paper", kFirstFit},
                          {"f-HABF", 3.25, 3.86e-6, "f-HABF as in the paper", kFloor},
                          {"BF", 1.25, 2.81e-2, "bloom", kLuck},
                          {"BF", 3.25, 7.49e-5, "bloom", kLuck},
                          {"Xor", 1.25, 2.67e-2, "xor", kLuck},
                          {"Xor", 3.25, 2.74e-5, "xor", kLuck},
                          {"WBF", 1.25, 1.83e-2, "WBF as in the paper", kListed},
                          {"WBF", 3.25, 8.81e-5, "WBF as in the paper", kListed}},
            .advice = "Uneven costs help every filter that may choose among negatives: taught-ribbon refuses "
                      "all known negatives at any of these "
                      "sizes, stacked-bloom comes next for large ones."},
           {.id = "b",
            .title = "Blocklist, learned filters",
            .setup = zipf(kShalla, 1, 10),
            .x = kShallaSpace,
            .ys = wfpr,
            .also = {{"fpr", "made-up URLs"}, {"bits_per_key", "bits per key"}},
            .series = learned(),
            .published = {{"LBF", 1.25, 9.78e-3, "learned-bloom", kOtherModel},
                          {"LBF", 3.25, 2.3e-4, "learned-bloom", kOtherModel},
                          {"Ada-BF", 1.25, 1.72e-2, "ada-bloom", kOtherModel},
                          {"Ada-BF", 3.25, 2.13e-5, "ada-bloom", kOtherModel},
                          {"SLBF", 1.25, 8.81e-3, "sandwiched-bloom", kOtherModel},
                          {"SLBF", 3.25, 4.05e-5, "sandwiched-bloom", kOtherModel}},
            .advice =
                "Learned filters do not read costs; learned-ribbon is safe because it refuses every known negative."},
           {.id = "c",
            .title = "YCSB keys",
            .setup = zipf(kYcsb, 1, 10),
            .x = kYcsbSpace,
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = contestants(),
            .published = {{"HABF", 12.5, 1.99e-3, "HABF as in the paper", kFirstFit},
                          {"HABF", 32.5, 1.97e-6, "HABF as in the paper", kFew},
                          {"best of the others", 12.5, 5.80e-3},
                          {"best of the others", 32.5, 5.14e-6}},
            .advice = "As on the blocklist."},
           {.id = "d",
            .title = "YCSB keys, learned filters",
            .setup = zipf(kYcsb, 1, 10),
            .x = kYcsbSpace,
            .ys = wfpr,
            .also = {{"fpr", "made-up URLs"}, {"bits_per_key", "bits per key"}},
            .series = learned(),
            .advice = "As with equal costs: there is nothing to learn."}}});

  const std::vector<Series> timed = {{"bloom", "bloom"},
                                     {"xor", "xor"},
                                     bloom_with("BF as in the paper", "xxh128"),
                                     kHabfOfThePaper,
                                     kFastOfThePaper,
                                     kWeightedOfThePaper,
                                     {"weighted-bloom", "weighted-bloom"},
                                     {"habf", "habf"},
                                     {"f-habf", "f-habf"},
                                     {"ribbon", "ribbon"},
                                     {"taught-ribbon", "taught-ribbon"},
                                     {"learned-bloom", "learned-bloom"},
                                     {"sandwiched-bloom", "sandwiched-bloom"},
                                     {"ada-bloom", "ada-bloom"},
                                     {"learned-ribbon", "learned-ribbon"}};
  const std::vector<Metric> build = {{"build_ns", "build, ns per key", Unit::nanoseconds}},
                            query = {{"query_ns", "query, ns", Unit::nanoseconds}};
  to.push_back(
      {.name = "habf-fig12",
       .title = "Time to build and to query",
       .source = "HABF, Fig. 12",
       .about = "Half of the queries are about keys, half about others. Times depend on the machine: what compares is "
                "the ratio to a Bloom filter of the same run. Filters that hash the text of a key within the clock are "
                "compared with a Bloom filter that does (BF as in the paper), the others with one that is given "
                "digests, as they are.",
       .panels = {
           {.id = "a",
            .title = "Build, blocklist, 1.5 MiB",
            .kind = Kind::times,
            .setup = over_text_bloom(zipf(kShalla, 1, 1)),
            .ys = build,
            .also = {{"build_over", "over Bloom", Unit::ratio}, {"bits_per_key", "bits per key", Unit::bits}},
            .bars = true,
            .series = at_bits(timed, kShallaBits),
            .published = {{"HABF", kEverywhere, 1411, "HABF as in the paper", kDigest},
                          {"f-HABF", kEverywhere, 205, "f-HABF as in the paper", kDigest},
                          {"BF", kEverywhere, 68, "bloom", kDigest},
                          {"Xor", kEverywhere, 158, "xor", kDigest},
                          {"WBF", kEverywhere, 245, "WBF as in the paper", kDigest},
                          {"LBF", kEverywhere, 36430, "learned-bloom", kLinearModel},
                          {"Ada-BF", kEverywhere, 38743, "ada-bloom", kLinearModel},
                          {"SLBF", kEverywhere, 32470, "sandwiched-bloom", kLinearModel},
                          {"LBF (GPU)", kEverywhere, 25686},
                          {"Ada-BF (GPU)", kEverywhere, 24123},
                          {"SLBF (GPU)", kEverywhere, 20728}},
            .advice =
                "Filters that use negatives need several times as long to build as those that do not; if you build "
                "often, weigh that against the errors saved."},
           {.id = "b",
            .title = "Build, YCSB, 15 MiB",
            .kind = Kind::times,
            .setup = over_text_bloom(zipf(kYcsb, 1, 1)),
            .ys = build,
            .also = {{"build_over", "over Bloom", Unit::ratio}, {"bits_per_key", "bits per key", Unit::bits}},
            .bars = true,
            .series = at_bits(timed, kYcsbBits),
            .published = {{"HABF", kEverywhere, 1480, "HABF as in the paper", kDigest},
                          {"f-HABF", kEverywhere, 193, "f-HABF as in the paper", kDigest},
                          {"BF", kEverywhere, 84, "bloom", kDigest},
                          {"Xor", kEverywhere, 188, "xor", kDigest},
                          {"WBF", kEverywhere, 325, "WBF as in the paper", kDigest},
                          {"LBF (GPU)", kEverywhere, 11636},
                          {"Ada-BF (GPU)", kEverywhere, 11730},
                          {"SLBF (GPU)", kEverywhere, 12300}},
            .advice =
                "The cost of a key stays the same as the set grows, until the filter no longer fits into the cache."},
           {.id = "c",
            .title = "Query, blocklist",
            .kind = Kind::times,
            .ys = query,
            .also = {{"query_over", "over Bloom", Unit::ratio}, {"batch_absent_ns", "in batches", Unit::nanoseconds}},
            .bars = true,
            .from = "a",
            .published = {{"HABF", kEverywhere, 338, "HABF as in the paper", kDigest},
                          {"f-HABF", kEverywhere, 67, "f-HABF as in the paper", kDigest},
                          {"BF", kEverywhere, 52, "bloom", kDigest},
                          {"Xor", kEverywhere, 48, "xor", kDigest}},
            .advice = "A taught ribbon is queried like a plain ribbon: what it has learned costs no time."},
           {.id = "d",
            .title = "Query, YCSB",
            .kind = Kind::times,
            .ys = query,
            .also = {{"query_over", "over Bloom", Unit::ratio}, {"batch_absent_ns", "in batches", Unit::nanoseconds}},
            .bars = true,
            .from = "b",
            .published = {{"HABF", kEverywhere, 336, "HABF as in the paper", kDigest},
                          {"f-HABF", kEverywhere, 82, "f-HABF as in the paper", kDigest},
                          {"BF", kEverywhere, 79, "bloom", kDigest},
                          {"Xor", kEverywhere, 54, "xor", kDigest}},
            .advice = "Query in batches when the filter is larger than the cache: the misses then overlap."}}});

  to.push_back(
      {.name = "habf-fig13",
       .title = "The more uneven the costs, the more knowing them helps",
       .source = "HABF, Fig. 13",
       .about =
           "1.5 MiB, skewness of the costs from 0 to 3. At 0 the paper refers to Fig. 10a. All series have the same 40 "
           "shuffles of the costs. From skewness 1.5 on a mean is a lottery: the column \"unluckiest\" is the share of "
           "it "
           "that one shuffle has, and where that is near 100 % only the median says something of the filter.",
       .panels = {
           {.id = "a",
            .title = "Blocklist, 1.5 MiB, mean",
            .setup = smaller(zipf(kShalla, 0, 40)),
            .x = {"skewness", Sets::skew, "", false, {0, 0.5, 1, 1.5, 2, 3}, {0, 0.3, 0.6, 0.9, 1.2, 1.5, 2, 2.5, 3}},
            .ys = wfpr,
            .also = {{"wfpr_median", "median"}, {"worst_share", "unluckiest"}},
            .series = at_bits(contestants(), kShallaBits),
            .published = {{"BF", 0, 0.0173, "bloom"},
                          {"Xor", 0, 0.0156, "xor"},
                          {"HABF", 0, 0.0036, "HABF as in the paper", kFirstFit},
                          {"f-HABF", 0, 0.0055, "f-HABF as in the paper", kFirstFit}},
            .advice = "From skewness 1.5 on the mean of a filter that ignores costs is the luck of its costliest "
                      "negatives."},
           {.id = "a, median",
            .title = "The same, median",
            .ys = {{"wfpr_median", "weighted FPR, median"}},
            .also = {{"fpr", "strangers"}, {"worst_share", "unluckiest"}},
            .from = "a",
            .advice = "The median falls steadily for filters that know the costs, as the paper says."},
           {.id = "a, unluckiest",
            .title = "The share of the mean that the unluckiest of 40 shuffles has",
            .ys = {{"worst_share", "unluckiest"}},
            .y_log = false,
            .from = "a",
            .advice = "Near 100 %: the mean is one shuffle, and other shuffles would give another mean."}}});

  const std::vector<Series> implementations = {{"bloom", "bloom"},
                                               bloom_with("BF, k functions of Table II", "independent"),
                                               bloom_with("BF, a 64-bit function (MurmurHash64A)", "murmur64"),
                                               bloom_with("BF, a 128-bit function (XXH128)", "xxh128"),
                                               {"bloom, SipHash", "bloom", {}, true}};
  to.push_back({.name = "habf-fig14",
                .title = "A better hash does not make a Bloom filter know its negatives",
                .source = "HABF, Fig. 14",
                .about =
                    "Bloom filters whose k functions are k different ones, one strong 64-bit function with k seeds "
                    "(the paper has CityHash64), and one 128-bit function with k seeds, each of the key's text. The "
                    "figure has no numbers in the text: the curves nearly coincide with equal costs and fluctuate "
                    "with Zipf costs.",
                .panels = {{.id = "a",
                            .title = "YCSB, costs equal",
                            .setup = kYcsb,
                            .x = kYcsbSpace,
                            .ys = wfpr,
                            .also = {{"fpr", "strangers"}},
                            .series = implementations,
                            .advice = "Use SipHash if an attacker may choose the keys, not for accuracy."},
                           {.id = "b",
                            .title = "YCSB, Zipf 1 costs",
                            .setup = zipf(kYcsb, 1, 10),
                            .x = kYcsbSpace,
                            .ys = wfpr,
                            .also = {{"fpr", "strangers"}, {"wfpr_median", "median"}, {"worst_share", "unluckiest"}},
                            .series = implementations,
                            .advice = "No hash function helps against uneven costs: give them to the filter."}}});

  // Bloom filters of 16 bits per key whose k functions are the first k of a family.
  const auto functions = [&](const char* id, const char* title, const Setup& setup, const char* advice) {
    const auto first = [](const char* name, const char* family) {
      return Series{
          .name = name,
          .filter = "habf",
          .params = {{"space_ratio", "0"}, {"hash_family", family}, {"texts", "true"}, {"bits_per_key", "16"}},
          .texts = true};
    };
    return Panel{
        .id = id,
        .title = title,
        .setup = setup,
        .x = {"functions k", Sets::param, "k", false, {1, 2, 4, 8, 12, 16, 22}, {}},
        .ys = {{"fpr", "FPR on strangers"}},
        .also = {{"expected_fpr", "formula"}},
        .series = {first("functions of Table II", "independent"), first("one 64-bit function, k seeds", "murmur64"),
                   first("one 128-bit function, k seeds", "xxh128")},
        .advice = advice};
  };
  to.push_back(
      {.name = "habf-table2",
       .title = "The 22 hash functions, as those of one Bloom filter",
       .source = "HABF, Table II",
       .about = "The paper lists its functions and says no more of them. Here Bloom filters have the first k of "
                "them; where a curve lies above the others, functions are uneven or depend on each other.",
       .panels = {functions("a", "Blocklist", smaller(kShalla),
                            "The old functions of Table II are good enough for a Bloom filter."),
                  functions("b", "YCSB keys", kYcsb, "As on the blocklist, with strings that are much alike.")}});

  const auto memory = [&](const char* id, const char* title, const Setup& setup, const char* bits,
                          std::vector<Published> published, const char* advice) {
    return Panel{.id = id,
                 .title = title,
                 .kind = Kind::rates,
                 .setup = setup,
                 .ys = {{"held_bytes", "bytes per key while building", Unit::bytes}},
                 .also = {{"peak_build_bytes", "of that by the build, in all", Unit::bytes}},
                 .bars = true,
                 .series = at_bits(timed, bits),
                 .published = std::move(published),
                 .advice = advice};
  };
  constexpr double kShallaKeys = 1'491'178, kYcsbKeys = 12'500'611;
  to.push_back({.name = "habf-fig15",
                .title = "Memory while building",
                .source = "HABF, Fig. 15",
                .about =
                    "All that is held while a filter is built, keys and negatives included, for each key; the paper's "
                    "gigabytes are "
                    "divided by its number of keys.",
                .panels = {memory("a", "Blocklist, 1.5 MiB", kShalla, kShallaBits,
                                  {{"HABF", kEverywhere, 0.79e9 / kShallaKeys, "HABF as in the paper", kHeld},
                                   {"f-HABF", kEverywhere, 0.46e9 / kShallaKeys, "f-HABF as in the paper", kHeld},
                                   {"BF", kEverywhere, 0.13e9 / kShallaKeys, "bloom", kHeld},
                                   {"Xor", kEverywhere, 0.20e9 / kShallaKeys, "xor", kHeld},
                                   {"WBF", kEverywhere, 0.58e9 / kShallaKeys, "WBF as in the paper", kHeld},
                                   {"LBF", kEverywhere, 2.59e9 / kShallaKeys, "learned-bloom", kLinearModel},
                                   {"Ada-BF", kEverywhere, 2.78e9 / kShallaKeys, "ada-bloom", kLinearModel},
                                   {"SLBF", kEverywhere, 2.68e9 / kShallaKeys, "sandwiched-bloom", kLinearModel},
                                   {"LBF (GPU)", kEverywhere, 3.55e9 / kShallaKeys},
                                   {"Ada-BF (GPU)", kEverywhere, 3.56e9 / kShallaKeys},
                                   {"SLBF (GPU)", kEverywhere, 3.51e9 / kShallaKeys}},
                                  "Plan for 16 bytes per key and 20 per negative, and what the table says the build "
                                  "adds to that."),
                           memory("b", "YCSB, 15 MiB", kYcsb, kYcsbBits,
                                  {{"HABF", kEverywhere, 7.569e9 / kYcsbKeys, "HABF as in the paper", kHeld},
                                   {"f-HABF", kEverywhere, 4.394e9 / kYcsbKeys, "f-HABF as in the paper", kHeld},
                                   {"BF", kEverywhere, 1.23e9 / kYcsbKeys, "bloom", kHeld},
                                   {"Xor", kEverywhere, 1.781e9 / kYcsbKeys, "xor", kHeld},
                                   {"WBF", kEverywhere, 2.708e9 / kYcsbKeys, "WBF as in the paper", kHeld},
                                   {"learned, CPU", kEverywhere, 9.88e9 / kYcsbKeys},
                                   {"learned, GPU", kEverywhere, 10.44e9 / kYcsbKeys}},
                                  "As on the blocklist: memory grows with the keys and not faster.")}});

  // The published points again, with our differences switched off one after the other.
  to.push_back(
      {.name = "habf-why",
       .title = "Why our HABF errs less than the published one",
       .source = "HABF, Fig. 10 a and c; ablations are our own",
       .about = "Each series differs from ours in what it says. A reason that is given for a deviation in another HABF "
                "figure must show here: the series that has the paper's choice lies on the published point.",
       .panels = {
           {.id = "a",
            .title = "HABF, costs equal: functions, chains that name a function twice, and which move is stored",
            .setup = kShalla,
            .x = {"MiB", Sets::mebibytes, "", false, {1.25, 1.5, 2}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"habf", "habf"},
                       {"independent functions of digests", "habf", {{"hash_family", "independent"}}},
                       {.name = "independent functions of texts",
                        .filter = "habf",
                        .params = {{"hash_family", "independent"}, {"texts", "true"}},
                        .texts = true},
                       {"functions may repeat", "habf", {{"repeats", "true"}}},
                       {"first fit", "habf", {{"first_fit", "true"}}},
                       kHabfOfThePaper,
                       named("as in the paper, first fit", kHabfOfThePaper, {{"first_fit", "true"}})},
            .published = {{"HABF", 1.5, 0.0036, "as in the paper, first fit", kFew}},
            .advice = "Refuse chains that no key can have, and store the move that shares the most cells: both cost "
                      "nothing."},
           {.id = "b",
            .title = "f-HABF, costs equal: cells, chains that name a function twice, and which move is stored",
            .setup = kShalla,
            .x = {"MiB", Sets::mebibytes, "", false, {1.25, 1.5, 2}, {}},
            .ys = wfpr,
            .also = {{"fpr", "strangers"}},
            .series = {{"f-habf", "f-habf"},
                       {"cells of 4 bits", "f-habf", {{"cell_bits", "4"}}},
                       {"functions may repeat", "f-habf", {{"repeats", "true"}}},
                       {"first fit", "f-habf", {{"first_fit", "true"}}},
                       kFastOfThePaper,
                       named("as in the paper, first fit", kFastOfThePaper, {{"first_fit", "true"}})},
            .published = {{"f-HABF", 1.5, 0.0055, "as in the paper, first fit", kFew}},
            .advice = "f-HABF has fewer ways to move a key, so it needs more functions: cells of 5 bits."},
           {.id = "c",
            .title = "Xor filter of 32.5 MiB: bits of a fingerprint",
            .setup = denser(kYcsb),
            .ys = {{"fpr", "strangers"}},
            .also = {{"bits_per_key", "bits per key", Unit::bits}},
            .bars = true,
            .series = {{"xor, 17 bits", "xor", {{"bits_per_key", "21.81"}}},
                       {"xor, 16 bits", "xor", {{"bits_per_key", "20.5"}}}},
            .published = {{"Xor", kEverywhere, 1.59e-5, "xor, 16 bits", kFew}},
            .advice = "One bit more halves the rate."}}});
}

}  // namespace naysay::cli
