// naysay build: keys, and known negatives if there are any, into a .nsy file.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "budget.hpp"
#include "choose.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "hashing.hpp"
#include "naysay/workload/keys.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string keys, negatives, filter = "auto", output, lean_output;
  Budget budget;
  Hashing hashing;
  std::vector<std::string> params;
  std::uint64_t seed = 0, capacity = 0;
  unsigned threads = 1;
  double stranger_share = Workload{}.stranger_share;
  bool nul = false, verbose = false, json = false;
};

std::vector<Param> parse_params(const std::vector<std::string>& texts) {
  std::vector<Param> params;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure{fmt::format("--param is '{}'; it must be NAME=VALUE", text)};
    params.push_back({text.substr(0, equals), text.substr(equals + 1)});
    if (params.back().name == "bits_per_key") throw Failure{"--param cannot set bits_per_key; give --bits-per-key"};
  }
  return params;
}

struct Built {
  AnyFilter filter;
  std::string why;  // of auto; empty if the user chose
  Report report;
};

// Builds the first choice that fits into the budget.
Built build(const Options& o, const std::vector<Choice>& choices, Workload& workload, const Hasher& hasher) {
  const std::vector<Param> asked = parse_params(o.params);
  std::string passed_over;
  for (std::size_t i = 0;; ++i) {
    const FilterType& type = *choices[i].filter;
    Report report;
    workload.report = &report;
    std::vector<Param> params = need(o.budget.params(type, workload.room()));
    params.insert(params.end(), asked.begin(), asked.end());
    auto filter = AnyFilter::build(type.name, workload, std::span<const Param>(params), hasher);
    workload.report = nullptr;
    if (filter) return {std::move(*filter), choices[i].why + passed_over, std::move(report)};
    if (filter.error().code != Errc::out_of_budget || i + 1 == choices.size()) throw Failure{filter.error().message};
    passed_over += fmt::format(" ({} does not fit into the budget)", type.name);
  }
}

void run(const Options& o) {
  // All that can be wrong without reading a key is said before a key is read.
  o.budget.check();
  const bool choosing = o.filter == "auto";
  const std::vector<Choice> choices =
      choosing ? choose({.negatives = !o.negatives.empty(), .grows = o.capacity > 0, .by_rate = o.budget.is_rate()})
               : std::vector<Choice>{{&need_filter(o.filter), ""}};
  const std::vector<Param> params = parse_params(o.params);
  if (!choosing) need(choices[0].filter->check_params(o.filter, params));
  if (o.capacity > 0 && !choices[0].filter->dynamic)
    throw Failure{
        fmt::format("--capacity is given, but {} is static; it can never take more keys", choices[0].filter->name)};
  const Hasher hasher = o.hashing.hasher(o.seed);
  if (o.keys == "-" && o.negatives == "-") throw Failure{"--keys and --negatives are both -; only one can be"};
  if (!(o.stranger_share >= 0 && o.stranger_share <= 1))
    throw Failure{fmt::format("--stranger-share is {}; it must be between 0 and 1", o.stranger_share)};
  need(files::can_create(o.output));
  if (!o.lean_output.empty()) need(files::can_create(o.lean_output));

  ProgressBar bar;
  const Separator separator = o.nul ? Separator::nul : Separator::newline;
  GrowingArray<Digest> keys = need(read_keys({o.keys, separator}, hasher, bar.callback()));
  Negatives negatives;
  if (!o.negatives.empty()) negatives = need(read_negatives({o.negatives, separator}, hasher, bar.callback()));

  Workload workload{.keys = keys, .negatives = negatives.digests, .costs = negatives.costs};
  workload.capacity = o.capacity;
  workload.stranger_share = o.stranger_share;
  workload.seed = o.seed;
  workload.threads = o.threads > 0 ? o.threads : std::max(1u, std::thread::hardware_concurrency());
  workload.progress = bar.callback();
  Built built = build(o, choices, workload, hasher);
  const std::uint64_t negative_count = negatives.digests.size();
  keys = {};  // the file is written from a copy of the filter: make room for it
  negatives = {};
  need(built.filter.save_file(o.output));
  const std::uint64_t index_bytes = (built.filter.index_bits() + 7) / 8;
  if (!o.lean_output.empty()) {
    built.filter.drop_index();
    need(built.filter.save_file(o.lean_output));
  }
  bar.clear();

  if (choosing) fmt::print(stderr, "naysay: auto takes {}: {}\n", built.filter.type().name, built.why);
  if (negative_count > 0 && !built.filter.type().claims.uses_negatives)
    fmt::print(stderr, "naysay: {} makes no use of known negatives\n", built.filter.type().name);
  if (o.verbose)
    for (const Report::Line& line : built.report.lines) fmt::print(stderr, "{}: {}\n", line.name, to_text(line.value));
  if (o.json) {
    nlohmann::ordered_json j = describe(built.filter);
    if (index_bytes > 0) j["index_bytes"] = index_bytes;
    j["file"] = o.output;
    j["negatives"] = negative_count;
    if (choosing) j["why"] = built.why;
    nlohmann::ordered_json report = nlohmann::ordered_json::object();
    for (const Report::Line& line : built.report.lines) report[line.name] = line.value;
    j["report"] = report;
    fmt::print("{}\n", j.dump(2));
  } else {
    fmt::print("{}: {} of {} keys, {}, {} bits a key, accepts {} of strangers\n", o.output, built.filter.type().name,
               built.filter.keys(), bytes_text(size_bytes(built.filter)), number(bits_per_key(built.filter)),
               percent(built.filter.expected_fpr()));
    if (index_bytes > 0) fmt::print("{}: and an index of {} beside it, for inserts alone\n", o.output, bytes_text(index_bytes));
  }
}

}  // namespace

void add_build(CLI::App& app, int&) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("build", "build a filter from keys and write it to a file");
  c->add_option("--keys", o->keys, "the keys, one a line; - is the standard input")->required()->type_name("FILE");
  c->add_option("--negatives", o->negatives, "known negatives, key<TAB>cost a line; a missing cost is 1")
      ->type_name("FILE");
  c->add_option("--filter", o->filter, "the filter's name (see naysay filters), or auto")
      ->capture_default_str()
      ->type_name("NAME");
  o->budget.add_options(*c, Budget::Rates::allowed);
  c->add_option("--param", o->params, "a parameter of the filter; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  c->add_option("--capacity", o->capacity, "keys that a dynamic filter must have room for")->type_name("N");
  c->add_option("--stranger-share", o->stranger_share, "the part of the negative queries that is about strangers")
      ->capture_default_str()
      ->type_name("P");
  o->hashing.add_options(*c);
  c->add_option("--seed", o->seed, "same input, parameters and seed: same bytes")
      ->capture_default_str()
      ->type_name("S");
  c->add_option("--threads", o->threads, "any number gives the same bytes; 0: as many as there are cores")
      ->capture_default_str()
      ->type_name("T");
  c->add_flag("-0,--null", o->nul, "keys are separated by NUL bytes instead of lines");
  c->add_flag("-v,--verbose", o->verbose, "print what the build has to say about itself");
  c->add_flag("--json", o->json, "describe the filter as JSON");
  c->add_option("-o,--output", o->output, "the file to write")->required()->type_name("F.nsy");
  c->add_option("--without-index", o->lean_output,
                "also write a copy that answers the same and takes no more keys: without what only inserts need")
      ->type_name("F.nsy");
  c->footer(
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay generate urls --count 1000 --first 1000 --zipf 1 -o negatives.tsv\n"
      "  naysay build --keys keys.txt --negatives negatives.tsv --bits-per-key 12 -o set.nsy");
  c->callback([o] { run(*o); });
}

}  // namespace naysay::cli
