// SPDX-License-Identifier: Apache-2.0
// naysay query: which of these keys may be in the set? Ends like grep: 0 some, 1 none, 2 error.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/ask_all.hpp"
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
  std::string filter;
  std::vector<std::string> keys, negatives;
  unsigned threads = 0;
  bool invert = false, count = false, json = false, nul = false;
};

// What a thread makes of a piece of the input.
struct Answered {
  std::vector<std::string_view> lines, keys;
  std::vector<float> costs;
  std::vector<std::uint8_t> answers;
  std::string out;  // what is printed
  std::uint64_t selected = 0;
  LineTally tally;

  void clear() {
    lines.clear();
    keys.clear();
    costs.clear();
    out.clear();
    selected = 0;
    tally = {};
  }
  std::uint64_t bytes() const { return out.size() + keys.size() * (2 * sizeof(std::string_view) + sizeof(float) + 1); }
};

int run(const Options& o) {
  const bool costed = !o.negatives.empty();
  const std::vector<KeyFile> files = key_files(costed           ? o.negatives
                                               : o.keys.empty() ? std::vector<std::string>{"-"}
                                                                : o.keys,
                                               o.nul);
  std::vector<Input> inputs;
  add_inputs(inputs, costed ? "--negatives" : "KEYS", files);
  inputs.push_back({"the filter", o.filter});
  need_one_standard_input(inputs);
  const std::string standard = "-";  // query F keys >> keys would read what it writes, and so on
  need_distinct({{"the standard output", standard}}, inputs);
  std::optional<AnyFilter> filter;
  Ask ask;
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
  const auto work = [&](PieceLines& piece, Answered& a) -> std::optional<LineFault> {
    const LinesAre lines = costed ? LinesAre::negatives : LinesAre::keys;
    auto fault = for_each_key(piece, lines, a.tally, [&](std::string_view line, const CostedKey& key, std::uint64_t) {
      if (costed) a.costs.push_back(key.cost);
      a.lines.push_back(line);
      a.keys.push_back(key.key);
    });
    a.answers.resize(a.keys.size());
    if (filter)
      filter->may_contain(a.keys, a.answers);
    else
      ask(a.keys, a.answers);
    for (std::size_t i = 0; i < a.keys.size(); ++i) {
      const bool maybe = a.answers[i] != 0, chosen = maybe != o.invert;
      a.selected += chosen;
      if (o.count) continue;
      if (o.json) {
        nlohmann::ordered_json j{{"key", a.keys[i]}, {"may_contain", maybe}};
        if (costed) j["cost"] = a.costs[i];
        a.out += json_text(j);
        a.out += '\n';
      } else if (chosen) {
        a.out += a.lines[i];
        a.out += o.nul ? '\0' : '\n';
      }
    }
    return fault;
  };
  const auto take = [&](const Answered& a, const PiecePlace&) -> Result<Ok> {
    tally += a.tally;
    queried += a.keys.size();
    selected += a.selected;
    for (std::size_t i = 0; i < a.costs.size(); ++i) {  // one by one: a sum in another order may be another number
      cost += a.costs[i];
      accepted_cost += a.answers[i] != 0 ? a.costs[i] : 0;
    }
    out.write(a.out);
    return Ok{};
  };
  need(for_each_piece<Answered>(files, {.threads = thread_count(o.threads)}, work, take));
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
    note_negatives(names_of(files), tally);
  else if (tally.lines > 0)
    note_keys(names_of(files), tally);
  return selected > 0 ? 0 : 1;
}

}  // namespace

void add_query(CommandLine& line, int& exit_code) {
  auto o = std::make_shared<Options>();
  Command c = line.command("query", "print the keys that may be in the set");
  c.option("filter", o->filter, "a file that naysay build or naysay apply wrote; - is the standard input")
      .required()
      .type_name("F.nsy|F.nst");
  c.option("keys", o->keys,
           "keys to query, one per line: files, folders or quoted patterns; - is the standard input, and the default")
      .type_name("KEYS");
  c.option(
       "--negatives", o->negatives,
       "known negatives to query instead of keys, one key<TAB>cost per line; the lines of those that it accepts are "
       "printed")
      .type_name("FILE")
      .repeated();
  c.flag("--invert", o->invert, "print the keys that are certainly not in the set instead");
  c.flag("--count", o->count, "print only their number");
  c.flag("--json", o->json, "one JSON object per key with its answer; with --count one object in all");
  add_threads(c, o->threads);
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
