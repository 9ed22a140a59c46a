// naysay compare: the same budget and the same keys for every filter, one row each.
#include <fmt/core.h>

#include <limits>
#include <memory>

#include "budget.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "measure.hpp"
#include "naysay/workload/keys.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string keys, negatives, strangers, json, csv;
  std::vector<std::string> filters = {"all"};
  Budget budget;
  std::uint64_t seed = 0;
  unsigned threads = 1;
  double stranger_share = Workload{}.stranger_share;
  bool nul = false;
};

nlohmann::ordered_json as_json(const Options& o, const Trial& trial, const std::vector<Row>& rows,
                               const std::string& advice) {
  nlohmann::ordered_json j;
  j["keys"] = trial.keys.size();
  j["negatives"] = trial.negatives.size();
  j["strangers"] = trial.strangers.size();
  j["strangers_held_back"] = trial.held_back;
  j["left_out"] = trial.left_out;
  j["stranger_share"] = o.stranger_share;
  j["seed"] = o.seed;
  j["threads"] = o.threads;
  j["naysay"] = NAYSAY_VERSION;
  j["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) j["rows"].push_back(to_json(row));
  j["advice"] = advice;
  return j;
}

void run(const Options& o) {
  o.budget.check();
  const auto filters = need_filters(o.filters);
  const int pipes = (o.keys == "-") + (o.negatives == "-") + (o.strangers == "-");
  if (pipes > 1) throw Failure{"more than one input is -; only one can be"};
  if (o.json == "-" && o.csv == "-") throw Failure{"--json and --csv are both -; only one can be"};
  for (const std::string& path : {o.json, o.csv})
    if (!path.empty() && path != "-") need(files::can_create(path));
  if (!(o.stranger_share >= 0 && o.stranger_share <= 1))
    throw Failure{fmt::format("--stranger-share is {}; it must be between 0 and 1", o.stranger_share)};

  ProgressBar bar;
  const Separator separator = o.nul ? Separator::nul : Separator::newline;
  const Hasher hasher{.seed = o.seed};
  const auto keys = need(read_keys({o.keys, separator}, hasher, bar.callback()));
  Negatives negatives = need(read_negatives({o.negatives, separator}, hasher, bar.callback()));
  Negatives strangers;
  if (!o.strangers.empty()) strangers = need(read_negatives({o.strangers, separator}, hasher, bar.callback()));
  if (keys.empty()) throw Failure{fmt::format("{}: there are no keys; give at least one", o.keys)};
  if (negatives.digests.empty())
    throw Failure{fmt::format("{}: there are no negatives; give at least one", o.negatives)};
  const Trial trial = make_trial(keys, negatives.digests, negatives.costs, strangers.digests, o.seed);
  negatives = {};
  strangers = {};

  const Bench bench(trial, o.stranger_share, o.seed, o.threads, std::numeric_limits<double>::infinity());
  std::vector<Row> rows;
  for (const FilterType* filter : filters) {
    bar.show(fmt::format("measuring {}", filter->name), rows.size(), filters.size());
    rows.push_back(bench.measure(*filter, need(o.budget.params(*filter, keys.size()))));
  }
  bar.clear();

  const std::string advice = advise(rows, o.stranger_share);
  if (o.json != "-" && o.csv != "-") {
    fmt::print(
        "{} keys, {} known negatives, {} strangers{}{}\n\n", trial.keys.size(), trial.negatives.size(),
        trial.strangers.size(), trial.held_back ? " (held back from the negatives)" : "",
        trial.left_out > 0 ? fmt::format("; {} were left out because they are keys or known", trial.left_out) : "");
    fmt::print("{}\n{}\n", table_text(rows), advice);
  }
  const auto write = [](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    Output out(path);
    out.write(text);
    out.finish();
  };
  write(o.json, as_json(o, trial, rows, advice).dump(2) + "\n");
  write(o.csv, csv_text(rows));
  refuse_false_negatives(rows);
}

}  // namespace

void add_compare(CLI::App& app, int&) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("compare", "build every filter at one budget and say which to use");
  c->add_option("--keys", o->keys, "the keys, one a line; - is the standard input")->required()->type_name("FILE");
  c->add_option("--negatives", o->negatives, "known negatives, key<TAB>cost a line; a missing cost is 1")
      ->required()
      ->type_name("FILE");
  c->add_option("--strangers", o->strangers,
                "negatives the filters are not told of; else a random tenth of the negatives is held back")
      ->type_name("FILE");
  o->budget.add_options(*c, Budget::Rates::refused);
  c->add_option("--filters", o->filters, "names with commas between them, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("A,B|all");
  c->add_option("--stranger-share", o->stranger_share, "the part of the negative queries that is about strangers")
      ->capture_default_str()
      ->type_name("P");
  c->add_option("--seed", o->seed, "of the builds and of what is held back")->capture_default_str()->type_name("S");
  c->add_option("--threads", o->threads, "of the builds")->capture_default_str()->type_name("T");
  c->add_flag("-0,--null", o->nul, "keys are separated by NUL bytes instead of lines");
  c->add_option("--json", o->json, "write the rows as JSON; - prints it instead of the table")->type_name("FILE");
  c->add_option("--csv", o->csv, "write the rows as CSV; - prints it instead of the table")->type_name("FILE");
  c->footer(
      "Columns: fpr is the rate on strangers, known_fpr the one on known negatives, wfpr the same weighted by cost; "
      "build_ns\n"
      "is per key, query_ns and batch_ns per query over a mix of keys, known negatives and strangers, each the median "
      "of\n"
      "five; peak_build_bytes is the most a build holds through operator new, its filter included, the keys not.\n\n"
      "Example:\n"
      "  naysay generate urls --count 2000 -o keys.txt\n"
      "  naysay generate urls --count 2000 --first 2000 --zipf 1 -o negatives.tsv\n"
      "  naysay compare --keys keys.txt --negatives negatives.tsv --bits-per-key 12");
  c->callback([o] { run(*o); });
}

}  // namespace naysay::cli
