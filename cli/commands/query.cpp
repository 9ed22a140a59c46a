// SPDX-License-Identifier: Apache-2.0
// naysay query: which of these keys may be in the set? Ends like grep: 0 some, 1 none, 2 error.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/output.hpp"
#include "parts/stacks.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, keys = "-", negatives;
  bool invert = false, count = false, json = false, nul = false;
};

int run(const Options& o) {
  const bool costed = !o.negatives.empty();
  const KeyFile file = key_file(costed ? o.negatives : o.keys, o.nul);
  const std::vector<Input> inputs = {{costed ? "--negatives" : "KEYS", file.path}, {"the filter", o.filter}};
  need_one_standard_input(inputs);
  const std::string standard = "-";  // query F keys >> keys would read what it writes, and so on
  need_distinct({{"the standard output", standard}}, inputs);
  std::optional<AnyFilter> filter;
  AskStack ask;
  if (o.filter != "-" && is_stack(o.filter)) {
    ask = ask_stack(o.filter);
  } else {
    filter.emplace(open_filter(o.filter));
    need_text_filter(*filter, o.filter);
  }
  Output out("-");
  std::uint64_t queried = 0, selected = 0;
  double cost = 0, accepted_cost = 0;
  LineTally tally;
  std::vector<std::uint8_t> answers;
  std::vector<std::string_view> keys;
  std::vector<float> costs;
  need(for_each_batch(file, {}, [&](std::span<const Line> lines) -> Result<Ok> {
    answers.resize(lines.size());
    keys.clear();
    costs.clear();
    for (const Line& line : lines) {
      tally.see(line.text);
      if (costed) {
        const auto negative = parse_negative(line.text);
        if (!negative)
          return Error{negative.error().code,
                       fmt::format("{}:{}: {}", file.name(), line.number, negative.error().message)};
        keys.push_back(negative->key);
        costs.push_back(negative->cost);
      } else {
        keys.push_back(line.text);
      }
    }
    if (filter)
      filter->may_contain(keys, answers);
    else
      ask(keys, answers);
    queried += lines.size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool maybe = answers[i] != 0, chosen = maybe != o.invert;
      selected += chosen;
      if (costed) {
        cost += costs[i];
        accepted_cost += maybe ? costs[i] : 0;
      }
      if (o.count) continue;
      if (o.json) {
        nlohmann::ordered_json j{{"key", keys[i]}, {"may_contain", maybe}};
        if (costed) j["cost"] = costs[i];
        out.write(json_text(j) + "\n");
      } else if (chosen) {
        out.write(lines[i].text);
        out.write(o.nul ? '\0' : '\n');
      }
    }
    return Ok{};
  }));
  if (o.count && o.json) {
    nlohmann::ordered_json j;
    j["asked"] = queried;
    j["may_contain"] = o.invert ? queried - selected : selected;
    if (costed) j["cost"] = cost, j["accepted_cost"] = accepted_cost;
    out.write(json_text(j) + "\n");
  } else if (o.count) {
    out.write(fmt::format("{}\n", selected));
  }
  out.finish();
  if (costed)
    note_negatives(file, tally);
  else if (tally.lines > 0)
    note_keys(file, tally);
  return selected > 0 ? 0 : 1;
}

}  // namespace

void add_query(CommandLine& line, int& exit_code) {
  auto o = std::make_shared<Options>();
  Command c = line.command("query", "print the keys that may be in the set");
  c.option("filter", o->filter, "a file that naysay build or naysay apply wrote; - is the standard input")
      .required()
      .type_name("F.nsy|F.nst");
  c.option("keys", o->keys, "keys to query, one per line; - is the standard input").shows_default().type_name("KEYS");
  c.option(
       "--negatives", o->negatives,
       "known negatives to query instead of keys, one key<TAB>cost per line; the lines of those that it accepts are "
       "printed")
      .type_name("FILE");
  c.flag("--invert", o->invert, "print the keys that are certainly not in the set instead");
  c.flag("--count", o->count, "print only their number");
  c.flag("--json", o->json, "one JSON object per key with its answer; with --count one object in all");
  add_null_option(c, o->nul);
  c.footer(
      "Exit code: 0 if a key was printed, 1 if none was, 2 if something went wrong, as grep.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay build --keys keys.txt --bits-per-key 12 -o set.nsy\n"
      "  naysay query set.nsy keys.txt --count");
  c.runs([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace naysay::cli
