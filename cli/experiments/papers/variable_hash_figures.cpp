// SPDX-License-Identifier: Apache-2.0
// The figures of chapter 3 of "Efficient Filtering: Stacking and Hash Functions as Data", Deeds, 2020.
#include "experiments/experiment.hpp"

namespace naysay::cli {

void add_variable_hash_figures(std::vector<Experiment>& to) {
  const Setup integers = {.data = Data::integers, .keys = 1e6, .negatives = 0};
  constexpr const char* kOtherSlots =
      "A guess: the thesis says neither how many keys a slot had here nor how its functions are searched; we use 13 "
      "keys per "
      "slot, as its formula of sizes does, spread them over one level more, and solve for functions instead of trying "
      "them.";
  to.push_back(
      {.name = "vhf-fig9",
       .title = "Variable hash filters against Bloom and quotient filters",
       .source = "Deeds 2020, Fig. 9",
       .about =
           "No known negatives. The thesis gives no points; below 10 bits per key its filter lies under Bloom and CQF.",
       .panels = {
           {.id = "a",
            .title = "Strangers accepted",
            .setup = integers,
            .x = {"bits per key", Sets::bits_per_key, "", false, {5, 6, 7, 8, 9, 10, 12}, {}},
            .ys = {{"fpr", "FPR on strangers"}},
            .also = {{"limit_over", "bits over the limit", Unit::ratio}},
            .series = {{"bloom", "bloom"},
                       {"quotient", "quotient"},
                       {"ribbon", "ribbon"},
                       {"variable-hash, fast", "variable-hash", {{"effort", "fast"}}},
                       {"variable-hash", "variable-hash"}},
            .advice = "Use variable-hash when negatives will be reported later and a file of the keys can be kept next "
                      "to it; otherwise a ribbon is smaller and faster to build."},
           {.id = "a, over Bloom",
            .title = "The same, over Bloom",
            .ys = {{"fpr", "FPR on strangers"}},
            .over = "bloom",
            .from = "a",
            .published = {{"under Bloom below 10 bits", 6, 1, "variable-hash", "", Relation::at_most},
                          {"under Bloom below 10 bits", 8, 1, "variable-hash", "", Relation::at_most}},
            .advice = "Below 1 it beats a Bloom filter of the same size."}}});
  const auto slots = [&](const char* id, const char* title, std::vector<double> quick, std::vector<double> paper,
                         std::vector<Param> more, std::vector<Metric> ys, std::vector<Metric> also,
                         const char* advice) {
    std::vector<Param> params = {{"bits_per_key", "128"}, {"functions", "7"}};  // 7 functions: a rate of 1 %
    params.insert(params.end(), more.begin(), more.end());
    return Panel{.id = id,
                 .title = title,
                 .kind = Kind::slots,
                 .setup = integers,
                 .x = {"keys in the slot", Sets::param, "keys_per_slot", false, std::move(quick), std::move(paper)},
                 .ys = std::move(ys),
                 .also = std::move(also),
                 .y_log = false,
                 .series = {{"variable-hash", "variable-hash", std::move(params)}},
                 .advice = advice};
  };
  to.push_back(
      {.name = "vhf-fig8",
       .title = "The chance to find a function, by the keys of a slot",
       .source = "Deeds 2020, Fig. 8",
       .about = "Slots of as many keys as x says, each searched really: solved as our filter does, by building filters "
                "of one slot, and tried function by function as in the thesis. The curve of the thesis is its formula "
                "of 3.3.2. With many keys ours follows the formula (a); where nearly all are found it misses about "
                "three times as many (b).",
       .panels = {slots("a", "Functions of 16 bits", {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22},
                        {6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24}, {{"function_bits", "16"}},
                        {{"found", "solved", Unit::rate, true},
                         {"tried", "tried", Unit::rate, true},
                         {"expected", "formula", Unit::rate, true}},
                        {{"any_found", "one of 7 found"}, {"expected_found", "our formula"}},
                        "Plan for three keys less in a slot than a function has bits: then nearly all are found."),
                  slots("b", "Not found with functions of three bits more than keys", {6, 8, 10}, {6, 8, 10, 12, 14},
                        {}, {{"not_found", "solved"}, {"tried_not_found", "tried"}}, {},
                        "The chance hangs nearly on the difference alone, so larger slots are almost as safe and use "
                        "fewer bits per key.")}});
  const std::vector<Metric> not_found = {{"report.functions not found (share)", "functions not found"}};
  to.push_back(
      {.name = "vhf-fig10",
       .title = "Functions that are not found",
       .source = "Deeds 2020, Fig. 10",
       .about = "13 keys per slot, functions of 16 bits, 12 bits for the choice of each spread. A function that is not "
                "found accepts all.",
       .panels = {{.id = "a",
                   .title = "By functions per slot",
                   .setup = integers,
                   .x = {"functions per slot k",
                         Sets::param,
                         "functions",
                         false,
                         {2, 4, 6, 8},
                         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
                   .ys = not_found,
                   .y_log = false,
                   .series = {{"variable-hash",
                               "variable-hash",
                               {{"bits_per_key", "16"},
                                {"keys_per_slot", "13"},
                                {"function_bits", "16"},
                                {"sector_bits", "12"},
                                {"bucket_bits", "12"}}}},
                   .published = {{"thesis", kEverywhere, 0.02, "variable-hash", kOtherSlots}},
                   .advice = "The share does not depend on k: plan slots first, functions second."}}});
  to.push_back({.name = "vhf-fig11",
                .title = "More spread functions to choose from, fewer full slots",
                .source = "Deeds 2020, Fig. 11",
                .about = "13 keys per slot, functions of 16 bits; r_s = r_b bits for the choice of each spread.",
                .panels = {{.id = "a",
                            .title = "By bits for the choice of a spread",
                            .setup = integers,
                            .x = {"r_s = r_b",
                                  Sets::param,
                                  "sector_bits+bucket_bits",
                                  false,
                                  {9, 10, 12, 14, 16},
                                  {9, 10, 11, 12, 13, 14, 15, 16}},
                            .ys = not_found,
                            .y_log = false,
                            .series = {{"variable-hash",
                                        "variable-hash",
                                        {{"bits_per_key", "10"}, {"keys_per_slot", "13"}, {"function_bits", "16"}}}},
                            .published = {{"thesis", 12, 0.02, "variable-hash", kOtherSlots},
                                          {"thesis", 16, 0.005, "variable-hash", kOtherSlots}},
                            .advice = "Every bit doubles the time of the spread; 12 is a good place to stop."}}});
}

}  // namespace naysay::cli
