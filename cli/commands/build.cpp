// SPDX-License-Identifier: Apache-2.0
// naysay build: keys, and known negatives if there are any, into a .nsy file.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "naysay/workload/texts.hpp"
#include "parts/budget.hpp"
#include "parts/build_fastest.hpp"
#include "parts/choose.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/filter_names.hpp"
#include "parts/forecast.hpp"
#include "parts/hashing.hpp"
#include "parts/held_rate.hpp"
#include "parts/inputs.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/part_build.hpp"
#include "parts/progress.hpp"
#include "parts/spill.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::vector<std::string> keys, negatives;
  std::string filter = "auto", output, lean_output, slots, memory, temp, part, plan;
  Budget budget;
  Hashing hashing;
  std::vector<std::string> params;
  std::uint64_t seed = 0, capacity = 0;
  unsigned threads = 0;
  double stranger_share = Workload{}.stranger_share, wait = kDefaultWait;
  bool exact = false, dry_run = false, nul = false, verbose = false, json = false;
};

// A filter that can be held to refuse every known negative, or to fail.
bool has_exact(const FilterType& type) {
  const std::vector<Param> params = type.defaults();
  return std::any_of(params.begin(), params.end(), [](const Param& p) { return p.name == "exact"; });
}

// With --exact the budget is a limit and may be left out.
std::vector<Param> params_of(const Options& o, std::uint64_t room) {
  if (!o.exact) return o.budget.params(room);
  const bool by_size = o.budget.given() && !o.budget.is_rate();
  std::vector<Param> params{{"exact", "true"},
                            {"bits_per_key", to_text(by_size ? o.budget.bits_per_key(room) : kMaxBitsPerKey)}};
  if (o.budget.is_rate()) params.push_back({"stranger_fpr", to_text(o.budget.rate())});
  return params;
}

struct Built {
  AnyFilter filter;
  std::string why;  // of auto; empty if the user chose
  Report report;
};

// Builds the first choice that fits into the budget.
Built build(const Options& o, const std::vector<Choice>& choices, std::span<const Param> given,
            const Workload& workload, BuildOptions options) {
  std::string passed_over;
  for (std::size_t i = 0;; ++i) {
    const FilterType& type = *choices[i].filter;
    Report report;
    options.report = &report;
    const auto at_budget = [&] {
      std::vector<Param> params = params_of(o, options.room(workload));
      params.insert(params.end(), given.begin(), given.end());
      return build_fastest(type, workload, params, options);
    };
    const bool by_rate = o.budget.is_rate() && !o.exact;
    auto filter = by_rate ? build_for_rate(type, workload, o.budget.rate(), given, options) : at_budget();
    if (filter) return {std::move(*filter), choices[i].why + passed_over, std::move(report)};
    if (filter.error().code != Errc::out_of_budget || i + 1 == choices.size()) throw failure(filter.error());
    passed_over +=
        fmt::format(" ({} {})", type.name, by_rate ? "cannot have this rate" : "does not fit into the budget");
  }
}

// What the first choice that fits into the budget will need.
std::pair<const Choice*, Forecast> forecast_of(const Options& o, const std::vector<Choice>& choices,
                                               std::span<const Param> given, const Workload& workload,
                                               const CostCounts& costs, const BuildOptions& options) {
  for (std::size_t i = 0;; ++i) {
    const FilterType& type = *choices[i].filter;
    std::vector<Param> params =
        o.budget.is_rate() && !o.exact ? type.params_for(o.budget.rate()) : params_of(o, options.room(workload));
    params.insert(params.end(), given.begin(), given.end());
    auto expected = forecast(type, workload, costs, params, options);
    if (expected) return {&choices[i], *expected};
    if (expected.error().code != Errc::out_of_budget || i + 1 == choices.size()) throw failure(expected.error());
  }
}

// What --dry-run prints.
void print_forecast(const Options& o, const Choice& choice, const Forecast& f, const Workload& workload,
                    std::uint64_t negatives, unsigned threads, double reading_seconds) {
  const auto keys = static_cast<double>(std::max<std::size_t>(workload.keys.size(), 1));
  const double bits = 8 * static_cast<double>(f.filter_bytes) / keys;
  if (o.json) {
    nlohmann::ordered_json j{{"dry_run", true},
                             {"filter", choice.filter->name},
                             {"keys", workload.keys.size()},
                             {"negatives", negatives},
                             {"bytes", f.filter_bytes},
                             {"bits_per_key", bits},
                             {"expected_fpr", f.stranger_fpr}};
    if (!std::isnan(f.known_cost)) j["expected_known_cost"] = f.known_cost;
    j["peak_bytes"] = f.peak_bytes();
    j["input_bytes"] = f.input_bytes;
    j["reading_seconds"] = reading_seconds;
    j["build_seconds"] = f.build_seconds;
    j["threads"] = threads;
    if (!choice.why.empty()) j["why"] = choice.why;
    fmt::print("{}\n", json_text(j, 2));
    return;
  }
  const auto line = [](std::string_view name, const std::string& value) { fmt::print("{:<10}{}\n", name, value); };
  line("filter", fmt::format("{}{}{}", choice.filter->name, choice.why.empty() ? "" : ": ", choice.why));
  line("keys", fmt::format("{}, and {} known negatives", workload.keys.size(), negatives));
  line("size", fmt::format("{}, {} bits per key", bytes_text(f.filter_bytes), number(bits)));
  line("accepts",
       fmt::format(
           "{} of strangers{}", percent(f.stranger_fpr),
           std::isnan(f.known_cost) ? "" : fmt::format(", {} of the known negatives by cost", percent(f.known_cost))));
  line("memory",
       fmt::format("{} at the peak, {} of it digests", bytes_text(f.peak_bytes()), bytes_text(f.input_bytes)));
  line("time", fmt::format("about {:.2g} s with {} thread{}, after {:.2g} s of reading", f.build_seconds, threads,
                           threads == 1 ? "" : "s", reading_seconds));
  fmt::print("Nothing was built.\n");
}

// The known negatives, in memory or in a temporary file.
struct KnownNegatives {
  Negatives held;
  std::optional<Spill> spill;
  CostCounts costs;
  std::uint64_t count = 0;
};

// What a build needs at its peak: 16 bytes per key, and 4 more while shards are gathered; 20 bytes per negative, and
// 26 more while it is placed.
constexpr double kPeakKeyBytes = 20, kNegativeBytes = 20, kPeakNegativeBytes = 46;

constexpr std::uint64_t kLargeBuild =
    10'000'000;  // keys and negatives, from which on a terminal is told what to expect
constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

double memory_limit(const Options& o) {
  if (!o.memory.empty()) return static_cast<double>(need(parse_bytes(o.memory, "--memory")));
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)),
               page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return pages > 0 && page > 0 ? pages * page / 2 : 1e10;
}

std::string temp_folder(const Options& o) {
  if (!o.temp.empty()) return o.temp;
  const std::size_t slash = o.output.rfind('/');
  return slash == std::string::npos ? "." : o.output.substr(0, slash + 1);
}

KnownNegatives held(GrowingArray<Digest> digests, GrowingArray<float> costs) {
  KnownNegatives known;
  known.count = digests.size();
  known.held.digests = std::move(digests);
  known.held.costs = std::move(costs);
  return known;
}

// Holds the known negatives in memory as long as they fit there together with the keys; else all go to a temporary file.
KnownNegatives read_known(const Options& o, std::span<const KeyFile> files, std::uint64_t keys,
                          const std::vector<Choice>& choices, const Hasher& hasher, ReadingOptions reading,
                          LineTally& tally) {
  KnownNegatives known;
  const auto any = [&](auto&& claims) {
    return std::any_of(choices.begin(), choices.end(), [&](const Choice& c) { return claims(c.filter->claims); });
  };
  const bool used = any([](const Claims& c) { return c.uses_negatives; });
  const bool streams = any([](const Claims& c) { return c.streams_negatives; });
  const double limit = memory_limit(o), left = limit - kPeakKeyBytes * static_cast<double>(keys);
  // By all threads, when they are together; those of a file are counted as they come.
  const auto count_held = [&] {
    if (!known.held.costs.empty())
      known.costs = CostCounts::of(known.held.costs, known.held.costs.size(), reading.threads);
  };
  NegativesAppend append(known.held);
  const auto move_to_file = [&]() -> Result<Ok> {
    append.wait();
    if (!streams)
      return Error{Errc::invalid_argument,
                   fmt::format("{}: it holds all known negatives in memory, and more than {} of them and {} keys do "
                               "not fit into {}; raise --memory, or use --filter {}",
                               choices[0].filter->name, known.held.digests.size(), keys,
                               bytes_text(static_cast<std::uint64_t>(limit)),
                               names_of_filters([](const FilterType& t) { return t.claims.streams_negatives; }))};
    NAYSAY_TRY(Spill spill, Spill::create(temp_folder(o)));
    known.spill.emplace(std::move(spill));
    for (std::uint64_t i = 0; i < known.held.digests.size(); ++i)
      NAYSAY_CHECK(known.spill->push(known.held.digests[i], known.held.costs[i]));
    count_held();
    known.held = {};
    return Ok{};
  };
  const auto take = [&](std::span<const Digest> digests, std::span<const float> costs) -> Result<Later> {
    known.count += digests.size();
    if (!used) return Later();
    if (!known.spill && kPeakNegativeBytes * static_cast<double>(known.count) > left) NAYSAY_CHECK(move_to_file());
    if (known.spill) {
      for (std::size_t i = 0; i < digests.size(); ++i) {
        known.costs.add(costs[i]);
        NAYSAY_CHECK(known.spill->push(digests[i], costs[i]));
      }
      return Later();
    }
    auto later = append(digests, costs);
    if (later) return later;
    return Error{Errc::no_memory,
                 fmt::format("no memory for more than {} known negatives; lower --memory, so that they go to "
                             "a temporary file",
                             known.held.digests.size())};
  };
  // What is unpacked before its turn is held next to those that are taken, while the build's own part is still free.
  reading.ahead_bytes = static_cast<std::uint64_t>(std::max(0.0, left * kNegativeBytes / kPeakNegativeBytes));
  need(for_each_negative(files, hasher, reading, take, &tally));
  count_held();
  return known;
}

// Not while an update is between reading the file of this name and writing it: it would write over this one.
void save_locked(const AnyFilter& filter, const std::string& path, double wait) {
  const LockedFile held = path == "-" ? LockedFile() : LockedFile(path, wait);
  save_filter(filter, path);
}

// One part of a filter, under a plan that has the rest.
void run_part(const Options& o) {
  if (o.part.empty() || o.plan.empty())
    throw Failure{o.part.empty() ? "--plan is given without --part; give --part I/N, or build the whole without a plan"
                                 : "--part is given without --plan; make one with naysay plan"};
  for (const auto& [option, given] :
       {std::pair("--exact", o.exact), std::pair("--capacity", o.capacity > 0),
        std::pair("--without-index", !o.lean_output.empty()), std::pair("--slots", !o.slots.empty()),
        std::pair("--memory", !o.memory.empty()), std::pair("--temp", !o.temp.empty()),
        std::pair("--wait", o.wait != kDefaultWait), std::pair("--dry-run", o.dry_run)})
    if (given) throw Failure{fmt::format("{} is given with --part; it is for whole builds", option)};
  build_part({o.keys, o.negatives, o.filter, o.budget, o.hashing, o.params, o.seed, o.threads, o.stranger_share, o.nul},
             o.plan, PartNumber::parse(o.part), o.output, o.json);
}

void run(const Options& o) {
  if (!o.part.empty() || !o.plan.empty()) return run_part(o);
  // Everything that can be checked without reading a key is checked before a key is read.
  if (!o.exact || o.budget.given()) o.budget.check();
  const auto exact_filters = [] { return names_of_filters(has_exact); };
  const bool choosing = o.filter == "auto" && !o.exact;
  FilterWish wish{.negatives = !o.negatives.empty(), .grows = o.capacity > 0, .by_rate = o.budget.is_rate()};
  const auto types = filter_types();
  const std::string name =
      o.exact && o.filter == "auto" ? std::string(std::find_if(types.begin(), types.end(), has_exact)->name) : o.filter;
  std::vector<Choice> choices = choosing ? choose(wish) : std::vector<Choice>{{&need_filter(name), ""}};
  if (o.exact && !has_exact(*choices[0].filter))
    throw Failure{
        fmt::format("--exact is given, but {} cannot be held to it; filters that can are {}", name, exact_filters())};
  const std::vector<Param> params = parse_params(o.params);
  if (!choosing) need(choices[0].filter->check_params(name, params));
  if (o.budget.is_rate() && !o.exact && !choices[0].filter->tunable)
    throw Failure{fmt::format("{}: it cannot price a rate; give --bits-per-key or --bytes instead of --fpr, or use {}",
                              choices[0].filter->name,
                              names_of_filters([](const FilterType& t) { return t.tunable; }))};
  if (o.capacity > 0 && !choices[0].filter->dynamic)
    throw Failure{fmt::format("--capacity is given, but {} is static; it cannot accept more keys later",
                              choices[0].filter->name)};
  const std::vector<KeyFile> key_inputs = key_files(o.keys, o.nul), negative_inputs = key_files(o.negatives, o.nul);
  std::vector<Input> inputs;
  add_inputs(inputs, "--keys", key_inputs);
  add_inputs(inputs, "--negatives", negative_inputs);
  inputs.push_back({"--hash-key-file", o.hashing.key_file()});
  need_one_standard_input(inputs);
  if (o.output == "-" && o.lean_output == "-")
    throw Failure{"--output and --without-index are both -; only one can be"};
  need_distinct({{"-o", o.output}, {"--without-index", o.lean_output}, {"--slots", o.slots}}, inputs);
  const Hasher hasher = o.hashing.hasher(o.seed);
  need_filter_output("--output", o.output);
  if (!o.lean_output.empty()) need_filter_output("--without-index", o.lean_output);
  if (o.slots == "-") throw Failure{"--slots is -; it must be a file, because naysay update changes it in place"};
  if (!o.slots.empty()) {
    need(files::can_create(o.slots));
    const LockedFile not_attached(o.slots, o.wait);
  }
  for (const std::string& path : {o.output, o.lean_output, o.slots})
    if (!path.empty() && path != "-") mention_leftovers(path);
  if (!o.lean_output.empty() && !choosing && choices[0].filter->claims.index_bits_per_key > 0)
    throw Failure{
        fmt::format("--without-index is given, but the keys of {} belong to its file; leave it out, or build a filter "
                    "without them, such as cuckoo",
                    o.filter)};
  if (!o.slots.empty() && (choosing || !choices[0].filter->write_key_file))
    throw Failure{fmt::format("--slots is given, but --filter is {}; filters with such a file are {}", o.filter,
                              names_of_filters([](const FilterType& t) { return t.write_key_file != nullptr; }))};
  (void)memory_limit(o);

  ProgressBar bar;
  // A filter that reads bytes is given the strings; auto chooses none.
  const bool reads_bytes = !choosing && choices[0].filter->claims.reads_bytes;
  TextKeys key_texts, negative_texts;
  const unsigned threads = thread_count(o.threads);
  const auto start = std::chrono::steady_clock::now();
  // Keys that are unpacked before their turn are held anyway.
  const ReadingOptions reading{.threads = threads, .progress = bar.callback(), .ahead_bytes = kUnbounded};
  LineTally key_lines, negative_lines;
  if (reads_bytes) key_texts = need(read_texts(key_inputs, Lines::keys, hasher, reading, &key_lines));
  GrowingArray<Digest> keys =
      reads_bytes ? std::move(key_texts.digests) : need(read_keys(key_inputs, hasher, reading, &key_lines));
  if (reads_bytes && !o.negatives.empty())
    negative_texts = need(read_texts(negative_inputs, Lines::costed_keys, hasher, reading, &negative_lines));
  KnownNegatives known = o.negatives.empty() ? KnownNegatives{}
                         : reads_bytes
                             ? held(std::move(negative_texts.digests), std::move(negative_texts.costs))
                             : read_known(o, negative_inputs, keys.size(), choices, hasher, reading, negative_lines);
  bar.clear();
  const double reading_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  note_keys(names_of(key_inputs), key_lines);
  if (!o.negatives.empty()) note_negatives(names_of(negative_inputs), negative_lines);
  note_sets(names_of(key_inputs), keys, names_of(negative_inputs), known.held.digests, threads);
  if (choosing && wish.negatives && known.count == 0) {  // their files are empty
    wish.negatives = false;
    choices = choose(wish);
  }
  if (choosing && !wish.by_rate)
    choices = rank(std::move(choices), wish,
                   {.keys = static_cast<double>(keys.size()),
                    .bits_per_key = o.budget.bits_per_key(keys.size()),
                    .stranger_share = o.stranger_share,
                    .costs = known.costs},
                   known.spill.has_value());

  Workload workload{.keys = keys, .negatives = known.held.digests, .costs = known.held.costs};
  workload.key_bytes = key_texts.texts.views();
  workload.negative_bytes = negative_texts.texts.views();
  NegativeSource source;
  if (known.spill) {
    source = known.spill->source();
    workload.source = &source;
  }
  workload.stranger_share = o.stranger_share;
  const BuildOptions options{
      .capacity = o.capacity, .seed = o.seed, .threads = threads, .hasher = hasher, .progress = bar.callback()};
  const bool large = keys.size() + known.count >= kLargeBuild && ::isatty(STDERR_FILENO) == 1;
  if (o.dry_run || o.verbose || large) {
    const auto [choice, expected] = forecast_of(o, choices, params, workload, known.costs, options);
    if (o.dry_run) return print_forecast(o, *choice, expected, workload, known.count, threads, reading_seconds);
    fmt::print(stderr, "expects {} of memory at the peak, {} of it digests, and about {:.2g} s for {}\n",
               bytes_text(expected.peak_bytes()), bytes_text(expected.input_bytes), expected.build_seconds,
               choice->filter->name);
  }
  Built built = build(o, choices, params, workload, options);
  const std::uint64_t negative_count = known.count;
  {
    const LockedFile held = o.output == "-" ? LockedFile() : LockedFile(o.output, o.wait);
    // Not before the lock is had: the key file of a filter that stays would be gone.
    if (!o.slots.empty()) need(built.filter.write_key_file(o.slots, keys));
    keys = {};  // the file is written from a copy of the filter: make room for it
    known.held = {};
    save_filter(built.filter, o.output);
  }
  const std::uint64_t index_bytes = (built.filter.index_bits() + 7) / 8;
  if (!o.lean_output.empty()) {
    built.filter.drop_index();
    save_locked(built.filter, o.lean_output, o.wait);
  }
  bar.clear();

  std::FILE* talk = talk_to(o.output == "-" || o.lean_output == "-" ? "-" : o.output);
  if (o.verbose && known.spill)
    fmt::print(stderr, "known negatives went through a temporary file: {}\n", known.spill->size());
  if (choosing) note(fmt::format("auto uses {}: {}", built.filter.type().name, built.why));
  if (negative_count > 0 && !built.filter.type().claims.uses_negatives)
    note(fmt::format("{} does not use known negatives", built.filter.type().name));
  if (o.verbose)
    for (const Report::Line& line : built.report.lines)
      fmt::print(stderr, "{}: {}\n", line.name, rounded_text(line.value));
  if (o.json) {
    nlohmann::ordered_json j = describe(built.filter);
    if (index_bytes > 0) j["index_bytes"] = index_bytes;
    j["file"] = o.output;
    j["negatives"] = negative_count;
    if (choosing) j["why"] = built.why;
    nlohmann::ordered_json report = nlohmann::ordered_json::object();
    for (const Report::Line& line : built.report.lines) report[line.name] = line.value;
    j["report"] = report;
    fmt::print(talk, "{}\n", json_text(j, 2));
  } else {
    const std::string shown = o.output == "-" ? "standard output" : escaped(o.output);
    fmt::print(talk, "{}: {} of {} keys, {}, {} bits per key, accepts {} of strangers\n", shown,
               built.filter.type().name, built.filter.keys(), bytes_text(size_bytes(built.filter)),
               number(bits_per_key(built.filter)), percent(built.filter.expected_fpr()));
    if (index_bytes > 0)
      fmt::print(talk, "{}: and an index of {} next to it, which no query reads\n", shown, bytes_text(index_bytes));
  }
}

}  // namespace

void add_build(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("build", "build a filter from keys and write it to a file");
  add_keys_option(c, o->keys);
  add_negatives_option(c, o->negatives);
  c.option("--filter", o->filter, "the filter's name (see naysay filters), or auto").shows_default().type_name("NAME");
  o->budget.add_options(c, Budget::Rates::allowed);
  c.flag(
      "--exact", o->exact,
      "refuse every known negative in the fewest bits, or fail; --bits-per-key or --bytes is then the most it may use, "
      "--fpr the most strangers it may accept, and none is needed");
  c.option("--param", o->params, "a parameter of the filter; may be repeated").type_name("NAME=VALUE").repeated();
  c.number("--capacity", o->capacity, {0, kMaxRoom}, "keys that a dynamic filter must have room for").type_name("N");
  add_stranger_share(c, o->stranger_share);
  o->hashing.add_options(c);
  add_seed(c, o->seed, "same input, parameters and seed: same bytes");
  add_threads(c, o->threads);
  c.option("--memory", o->memory,
           "about the most memory that a build may use (by default half of the machine's); known negatives beyond it "
           "go through a temporary file")
      .type_name("SIZE");
  c.option("--temp", o->temp, "the folder of that file; by default the output's").type_name("FOLDER");
  add_wait_option(c, o->wait);
  add_null_option(c, o->nul);
  c.flag("-v,--verbose", o->verbose,
         "print what memory and time the build should need, and what it reports about itself");
  c.flag(
      "--dry-run", o->dry_run,
      "read the input, print plan, size, rates, and the memory and time that the build should need, and build nothing");
  c.flag("--json", o->json, "describe the filter as JSON");
  c.option("-o,--output", o->output, "the file to write; - is the standard output").required().type_name("F.nsy");
  c.option("--without-index", o->lean_output,
           "also write a smaller copy that answers the same and accepts no more keys")
      .type_name("F.nsy");
  c.option("--slots", o->slots,
           "also write the keys slot by slot, for filters that need them for naysay update --adapt")
      .type_name("F.slots");
  c.option("--part", o->part, "build only the I-th of N parts and write it to the output; naysay join joins them")
      .type_name("I/N");
  c.option("--plan", o->plan, "the plan of all parts, which naysay plan wrote").type_name("PLAN");
  c.footer(
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay generate urls --count 1000 --first 1000 --zipf 1 -o negatives.tsv\n"
      "  naysay build --keys keys.txt --negatives negatives.tsv --bits-per-key 12 -o set.nsy");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
