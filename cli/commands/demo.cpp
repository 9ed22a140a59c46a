// SPDX-License-Identifier: Apache-2.0
// naysay demo: a made-up blocklist, every filter, one budget, two sentences. No input needed, under a minute.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "commands/commands.hpp"
#include "naysay/workload/generate.hpp"
#include "naysay/workload/zipf.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/measure.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kKeys = 100'000, kNegatives = 100'000, kStrangers = 200'000;
constexpr double kSkew = 1.0;  // visits of popular sites fall about as 1/rank
constexpr double kBitsPerKey = 10;
// A filter whose default budget is this many times larger is meant for another kind of set, one with deletions, and
// makes no sense here: it is shown at its default.
constexpr double kOwnBudgetFrom = 2;
// For the builds of all filters together; the rest of the minute is for the queries.
constexpr double kBuildSeconds = 30;

std::vector<Digest> urls(std::uint64_t first, std::uint64_t count) {
  std::vector<Digest> digests;
  std::string url;
  for (std::uint64_t i = first; i < first + count; ++i) {
    url_key(i, kSeed, url);
    digests.push_back(digest(url));
  }
  return digests;
}

double default_budget(const FilterType& filter) {
  for (const Param& p : filter.defaults())
    if (p.name == "bits_per_key") return std::stod(p.value);
  return kBitsPerKey;
}

void run(const std::string& json) {
  const auto blocked = urls(0, kKeys), popular = urls(kKeys, kNegatives), others = urls(kKeys + kNegatives, kStrangers);
  const auto visits = zipf_costs(kNegatives, kSkew, kSeed);
  const Trial trial = make_trial(blocked, popular, visits, others, kSeed);
  const bool prints = json != "-";
  if (prints)
    fmt::print(
        "{}\n\n",
        wrapped(fmt::format("A blocklist of {} URLs becomes a filter of {} bits per key. A filter may also be given "
                            "{} popular URLs that are not blocked, with the visits of each (the r-th has 1/r of the "
                            "first one's). It is then queried with them, with the blocked ones and with {} "
                            "strangers. Every \"maybe\" about a URL that is not blocked costs a look-up.",
                            kKeys, kBitsPerKey, kNegatives, trial.strangers.size()),
                std::min<std::size_t>(output_columns(), 120)));
  std::fflush(stdout);

  // Made-up URLs look all alike: filters that read them have nothing to learn.
  std::vector<FilterType> filters;
  for (const FilterType& filter : filter_types())
    if (!filter.claims.reads_bytes) filters.push_back(filter);
  const Bench bench(trial, Workload{}.stranger_share, kSeed, 1, kBuildSeconds / static_cast<double>(filters.size()));
  ProgressBar bar;
  std::vector<FilterRow> rows, larger;
  for (const FilterType& filter : filters) {
    bar.show(fmt::format("measuring {}", filter.name), rows.size() + larger.size(), filters.size());
    const double own = default_budget(filter);
    const bool by_default = own >= kOwnBudgetFrom * kBitsPerKey;
    (by_default ? larger : rows).push_back(bench.measure(filter, {{"bits_per_key", by_default ? own : kBitsPerKey}}));
  }
  bar.clear();
  if (prints) {
    fmt::print("{}\n", table_text(rows));
    print_text(advise(rows, Workload{}.stranger_share));
    fmt::print("Filters that count their keys need more bits; each at its default budget:\n\n{}", table_text(larger));
  }
  rows.insert(rows.end(), larger.begin(), larger.end());
  if (!json.empty()) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const FilterRow& row : rows) all.push_back(to_json(row));
    Output out(json);
    out.write(json_text(all, 2) + "\n");
    out.finish();
  }
  refuse_false_negatives(rows);
}

}  // namespace

void add_demo(CommandLine& line, int&) {
  auto json = std::make_shared<std::string>();
  Command c = line.command("demo", "compare all filters on a made-up blocklist; runs for less than a minute");
  c.option("--json", *json, "also write the rows as JSON; - prints it instead of the table").type_name("FILE");
  c.footer(
      "Example:\n"
      "  naysay demo");
  c.runs([json] { run(*json); });
}

}  // namespace naysay::cli
