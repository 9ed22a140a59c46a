// SPDX-License-Identifier: Apache-2.0
// Learned filters: what reading the strings brings, on strangers like the known negatives and on others.
#include "experiments/experiment.hpp"

namespace naysay::cli {

namespace {

constexpr Setup kHosts = {.data = Data::blocklist, .keys = 1'491'178, .negatives = 1'435'527, .quick_scale = 0.25};

std::vector<Series> contestants() {
  return {{"bloom", "bloom"},
          {"ribbon", "ribbon"},
          {"taught-ribbon", "taught-ribbon"},
          {"learned-bloom", "learned-bloom"},
          {"sandwiched-bloom", "sandwiched-bloom"},
          {"ada-bloom", "ada-bloom"},
          {"ada-bloom, disjoint", "ada-bloom", {{"disjoint", "true"}}},
          {"partitioned-learned", "partitioned-learned"},
          {"learned-ribbon", "learned-ribbon"},
          {"learned-ribbon, max_times 4", "learned-ribbon", {{"max_times", "4"}}}};
}

Panel without(const char* id, const char* title, bool addresses, bool www, const char* advice) {
  Setup setup = kHosts;
  setup.addresses = addresses;
  setup.www = www;
  const Param bits = {"bits_per_key", "8"};
  return {.id = id,
          .title = title,
          .kind = Kind::strangers,
          .setup = setup,
          .ys = {{"fpr", "held-out negatives"}},
          .also = {{"spliced_fpr", "spliced keys"}},
          .bars = true,
          .series = {{"ribbon", "ribbon", {bits}},
                     {"learned-ribbon", "learned-ribbon", {bits}},
                     {"learned-ribbon, max_times 4", "learned-ribbon", {bits, {"max_times", "4"}}}},
          .advice = advice};
}

}  // namespace

void add_learned_figures(std::vector<Experiment>& to) {
  to.push_back(
      {.name = "learned",
       .title = "What reading the strings brings, and what it can cost",
       .source = "ours",
       .about = "A fifth of the negatives is held back by a hash; filters that learn train with 3 of 4 of the rest and "
                "plan with the fourth. All sizes include the model. Without --data the keys are made-up URLs that look "
                "all alike, and there is nothing to learn.",
       .panels = {
           {.id = "a",
            .title = "Strangers like the known negatives",
            .kind = Kind::strangers,
            .setup = kHosts,
            .x = {"bits per key", Sets::bits_per_key, "", false, {6, 8, 10}, {}},
            .ys = {{"fpr", "held-out negatives"}},
            .also = {{"known_fpr", "known negatives"},
                     {"no_www_fpr", "www. cut off"},
                     {"random_fpr", "random strings"},
                     {"address_fpr", "random addresses"},
                     {"near_fpr", "a letter changed"},
                     {"spliced_fpr", "spliced keys"}},
            .series = contestants(),
            .advice = "If queries look like the known negatives take learned-ribbon: it accepts the fewest of them, "
                      "none of the known ones, and has a bound on all others."},
           {.id = "b",
            .title = "Strangers that look like keys",
            .kind = Kind::strangers,
            .ys = {{"spliced_fpr", "spliced keys"}},
            .from = "a",
            .advice = "What a model takes for a key passes the published learned filters; learned-ribbon accepts at "
                      "most max_times as many as a plain ribbon, whatever the strings are."},
           {.id = "c",
            .title = "Random addresses",
            .kind = Kind::strangers,
            .ys = {{"address_fpr", "random addresses"}},
            .from = "a",
            .advice = "A fifth of the keys are addresses and no negative is one: a model takes addresses for keys."},
           without("d", "Without keys that are addresses, 8 bits per key", false, true,
                   "What is left of the gain when no key is an address."),
           without("e", "www. cut off the negatives, 8 bits per key", true, false,
                   "What is left of the gain when www. tells nothing."),
           without("f", "Both, 8 bits per key", false, false, "The part of the gain that rests on names alone.")}});
}

}  // namespace naysay::cli
