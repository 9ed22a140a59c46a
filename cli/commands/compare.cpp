// SPDX-License-Identifier: Apache-2.0
// naysay compare: the same budget and the same keys for every filter, one row each.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "commands/commands.hpp"
#include "experiments/figures.hpp"
#include "naysay/core/files.hpp"
#include "naysay/version.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/texts.hpp"
#include "parts/budget.hpp"
#include "parts/cores.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_names.hpp"
#include "parts/inputs.hpp"
#include "parts/measure.hpp"
#include "parts/output.hpp"
#include "parts/page.hpp"
#include "parts/progress.hpp"
#include "parts/shapes.hpp"
#include "parts/sweep.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::vector<std::string> keys, negatives, strangers;
  std::string json, csv, html;
  std::vector<double> sweep;
  std::vector<std::string> filters = {"all"};
  Budget budget;
  std::uint64_t seed = 0;
  unsigned threads = 1;
  double stranger_share = Workload{}.stranger_share;
  bool nul = false;
};

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
constexpr double kAbove[] = {1.25, 1.5, 2, 3};  // budgets at which the advice looks for something better
constexpr std::size_t kFewStrangers = 10'000;   // fewer do not show a rate of 0.1 %
constexpr std::size_t kMadeUp = 100'000;        // are made up then
constexpr std::size_t kFewNegatives = 1'000;    // fewer say little about what a filter does with them
constexpr std::uint64_t kSampleKeys = 20'000;   // enough to see which filter is better, few enough for an instant

// The rows as figures for the page: it opens with the advice, the bars are sorted, and the recommended filter is marked.
nlohmann::ordered_json as_page(const Options& o, const std::string& about, const std::vector<FilterRow>& rows,
                               const std::vector<BudgetRows>& sweep, const std::string& advice) {
  using Json = nlohmann::ordered_json;
  const FilterRow* best = best_row(rows, o.stranger_share);
  const auto bars = [&](const char* id, const char* title, const char* unit,
                        std::vector<std::pair<const char*, const char*>> metrics, auto&& by, const char* hint) {
    std::vector<FilterRow> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const FilterRow& a, const FilterRow& b) { return by(a) < by(b); });
    Json curves = Json::array(), columns = Json::array({"filter"}), table = Json::array();
    for (const FilterRow& row : sorted)
      if (row.problem.empty()) table.push_back(Json::array({{{"v", row.filter->name}, {"t", row.filter->name}}}));
    for (const auto& [field, label] : metrics) {
      columns.push_back(label);
      Json points = Json::array();
      std::size_t i = 0;
      for (const FilterRow& row : sorted) {
        if (!row.problem.empty()) continue;
        const Json value = *field ? to_json(row)[field] : Json(expected_cost(row, o.stranger_share));
        const double y = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
        const std::string text = std::string_view(unit) == "rate" ? percent(y) : number(y) + " ns";
        table[i++].push_back({{"v", value}, {"t", text}});
        if (value.is_number()) points.push_back({{"x", row.filter->name}, {"y", value}, {"text", text}});
      }
      curves.push_back({{"name", label}, {"points", std::move(points)}});
    }
    Json problems = Json::array();
    for (const FilterRow& row : rows)
      if (!row.problem.empty()) problems.push_back(row.problem);
    return Json{{"id", id},
                {"title", title},
                {"recommended", best ? Json(best->filter->name) : Json()},
                {"chart", "bars"},
                {"x", {{"label", ""}, {"log", false}}},
                {"y", {{"label", ""}, {"log", true}, {"unit", unit}}},
                {"curves", std::move(curves)},
                {"published", Json::array()},
                {"table", {{"columns", std::move(columns)}, {"rows", std::move(table)}}},
                {"problems", std::move(problems)},
                {"advice", hint}};
  };
  Json panels = Json::array();
  if (!rows.empty()) {
    panels.push_back(bars(
        "a", "What is accepted", "rate",
        {{"wfpr", "known negatives, by cost"}, {"known_fpr", "known negatives"}, {"fpr", "strangers"}},
        [&](const FilterRow& row) { return expected_cost(row, o.stranger_share); },
        "The lowest expected cost first. Strangers are negatives that the filters were not given."));
    panels.push_back(bars(
        "b", "Time", "nanoseconds",
        {{"query_ns", "query, one by one"}, {"batch_ns", "query, in batches"}, {"build_ns", "build, per key"}},
        [](const FilterRow& row) { return row.problem.empty() ? row.query_ns : 0; },
        "The fastest query first. Medians of five, on the machine that made this page."));
  }
  if (!sweep.empty()) {
    Json curves = Json::array(), columns = Json::array({"bits per key"}), table = Json::array();
    for (const BudgetRows& at : sweep)
      table.push_back(Json::array({{{"v", at.bits_per_key}, {"t", number(at.bits_per_key)}}}));
    for (std::size_t f = 0; f < sweep[0].rows.size(); ++f) {
      const std::string name(sweep[0].rows[f].filter->name);
      Json points = Json::array();
      columns.push_back(name);
      for (std::size_t i = 0; i < sweep.size(); ++i) {
        const FilterRow& row = sweep[i].rows[f];
        const double y = expected_cost(row, o.stranger_share);
        table[i].push_back(row.problem.empty() ? Json{{"v", y}, {"t", percent(y)}} : Json{{"v", nullptr}, {"t", ""}});
        if (row.problem.empty()) points.push_back({{"x", sweep[i].bits_per_key}, {"y", y}, {"text", percent(y)}});
      }
      curves.push_back({{"name", name}, {"filter", name}, {"points", std::move(points)}});
    }
    // A chart begins with the eight that are best at the last budget.
    const auto last = [](const Json& curve) {
      return curve["points"].empty() ? std::numeric_limits<double>::infinity()
                                     : curve["points"].back()["y"].get<double>();
    };
    std::stable_sort(curves.begin(), curves.end(), [&](const Json& a, const Json& b) { return last(a) < last(b); });
    show_some(curves, Json::array());
    panels.push_back(
        {{"id", "c"},
         {"title", "Budgets"},
         {"chart", "lines"},
         {"x", {{"label", "bits per key"}, {"log", false}}},
         {"y", {{"label", "share of the cost accepted"}, {"log", true}, {"unit", "rate"}}},
         {"curves", std::move(curves)},
         {"published", Json::array()},
         {"table", {{"columns", std::move(columns)}, {"rows", std::move(table)}}},
         {"advice", "Choose the budget after which the lowest curve no longer falls enough to be worth more bits."}});
  }
  return {{"title", "naysay compare"},
          {"subtitle", about},
          {"advice", advice},
          {"figures",
           Json::array({{{"name", "compare"},
                         {"title", fmt::format("{} against {}", fmt::join(o.keys, ", "), fmt::join(o.negatives, ", "))},
                         {"panels", std::move(panels)}}})}};
}

nlohmann::ordered_json as_json(const Options& o, const Trial& trial, const std::vector<FilterRow>& rows,
                               const std::vector<BudgetRows>& sweep, const std::string& advice) {
  nlohmann::ordered_json j;
  j["keys"] = trial.keys.size();
  j["negatives"] = trial.negatives.size();
  j["strangers"] = trial.strangers.size();
  j["strangers_held_back"] = trial.held_back;
  j["strangers_made_up"] = trial.made_up.size();
  j["others"] = trial.others.size();
  j["left_out"] = trial.left_out;
  j["stranger_share"] = o.stranger_share;
  j["seed"] = o.seed;
  j["threads"] = o.threads;
  j["naysay"] = NAYSAY_VERSION;
  j["rows"] = nlohmann::ordered_json::array();
  for (const FilterRow& row : rows) j["rows"].push_back(to_json(row));
  for (const BudgetRows& at : sweep) {
    nlohmann::ordered_json made = nlohmann::ordered_json::array();
    for (const FilterRow& row : at.rows) made.push_back(to_json(row));
    j["sweep"].push_back({{"bits_per_key", at.bits_per_key}, {"rows", std::move(made)}});
  }
  j["advice"] = advice;
  return j;
}

// Strangers of another kind: letters, digits, dots and dashes at random, as long as host names are.
void add_others(Trial& trial, std::vector<std::string>& texts, const Hasher& hasher, std::uint64_t seed) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  constexpr std::size_t kOthers = 100'000;
  Random random(seed + 1);
  texts.resize(kOthers);
  for (std::string& text : texts) {
    for (std::uint64_t n = 8 + random.below(24); n > 0; --n) text += kLetters[random.below(kLetters.size())];
    trial.others.push_back(hasher(text));
    trial.other_bytes.push_back(text);
  }
}

void run(const Options& o) {
  const bool sweeps = !o.sweep.empty();
  if (!sweeps || o.budget.given()) o.budget.check();
  if (!o.html.empty()) need_page();
  const auto filters = need_filters(o.filters);
  const std::vector<KeyFile> key_inputs = key_files(o.keys, o.nul), negative_inputs = key_files(o.negatives, o.nul),
                             stranger_inputs = key_files(o.strangers, o.nul);
  std::vector<Input> inputs;
  add_inputs(inputs, "--keys", key_inputs);
  add_inputs(inputs, "--negatives", negative_inputs);
  add_inputs(inputs, "--strangers", stranger_inputs);
  need_one_standard_input(inputs);
  const int printed = (o.json == "-") + (o.csv == "-") + (o.html == "-");
  if (printed > 1) throw Failure{fmt::format("{} of --json, --csv and --html are -; only one can be", printed)};
  need_distinct({{"--json", o.json}, {"--csv", o.csv}, {"--html", o.html}}, inputs);
  for (const std::string& path : {o.json, o.csv, o.html})
    if (!path.empty() && path != "-") need(files::can_create(path));

  ProgressBar bar;
  const Hasher hasher{.seed = o.seed};
  // Strings are kept only for filters that read them.
  const bool with_texts =
      std::any_of(filters.begin(), filters.end(), [](const FilterType* f) { return f->claims.reads_bytes; });
  TextKeys key_texts, negative_texts, stranger_texts;
  LineTally key_lines, negative_lines, stranger_lines;
  Shapes shapes(o.seed);
  const ReadingOptions reading{.threads = usable_cores(), .progress = bar.callback(), .ahead_bytes = kUnbounded};
  if (with_texts) key_texts = need(read_texts(key_inputs, Lines::keys, hasher, reading, &key_lines));
  const auto keys =
      with_texts ? std::move(key_texts.digests) : need(read_keys(key_inputs, hasher, reading, &key_lines));
  const auto costed = [&](std::span<const KeyFile> files, TextKeys& texts, LineTally& tally) -> Negatives {
    Texts* kept = with_texts ? &texts.texts : nullptr;
    return need(read_negatives(files, hasher, reading, &tally, [&](std::string_view key) -> bool {
      shapes.see(key);
      return !kept || kept->push(key);
    }));
  };
  Negatives negatives = costed(negative_inputs, negative_texts, negative_lines),
            strangers = costed(stranger_inputs, stranger_texts, stranger_lines);
  bar.clear();
  if (keys.empty()) throw Failure{fmt::format("{}: there are no keys; give at least one", names_of(key_inputs))};
  if (negatives.digests.empty())
    throw Failure{fmt::format("{}: there are no negatives; give at least one", names_of(negative_inputs))};
  Trial trial =
      make_trial(keys, negatives.digests, negatives.costs, strangers.digests, o.seed,
                 {key_texts.texts.views(), negative_texts.texts.views(), stranger_texts.texts.views()}, usable_cores());
  if (key_lines.lines > 0) note_keys(names_of(key_inputs), key_lines);
  note_negatives(names_of(negative_inputs), negative_lines);
  negatives = {};
  strangers = {};
  if (trial.strangers.size() < kFewStrangers) add_made_up(trial, shapes.make(kMadeUp, hasher));
  std::vector<std::string> others;
  if (with_texts) add_others(trial, others, hasher, o.seed);

  const unsigned threads = thread_count(o.threads);
  const Bench bench(trial, o.stranger_share, o.seed, threads, std::numeric_limits<double>::infinity(), usable_cores());
  std::vector<FilterRow> rows;
  if (o.budget.given())
    for (const FilterType* filter : filters) {
      bar.show(fmt::format("measuring {}", filter->name), rows.size(), filters.size());
      rows.push_back(bench.measure(*filter, o.budget.params(keys.size())));
    }
  const auto at_budgets = [&](const Bench& on, std::span<const double> budgets) {
    std::vector<BudgetRows> out;
    for (const double bits : budgets) {
      out.push_back({bits, {}});
      for (const FilterType* filter : filters) {
        bar.show(fmt::format("{} at {} bits per key", filter->name, bits), out.size() - 1, budgets.size());
        out.back().rows.push_back(on.rates(*filter, {{"bits_per_key", to_text(bits)}}));
      }
    }
    return out;
  };
  std::vector<double> budgets = o.sweep;
  std::sort(budgets.begin(), budgets.end());
  const std::vector<BudgetRows> sweep = at_budgets(bench, budgets);

  std::string advice = advise(rows, o.stranger_share);
  if (const FilterRow* best = best_row(rows, o.stranger_share)) {
    // What more space would gain: from the sweep, or from a sample that is measured in an instant.
    std::vector<BudgetRows> above;
    for (const BudgetRows& at : sweep)
      if (at.bits_per_key > best->bits_per_key) above.push_back(at);
    std::string where;
    if (!sweeps) {
      const Sample sample = sample_of(trial, kSampleKeys, o.seed);
      const Bench small(sample.trial, o.stranger_share, o.seed, threads, 0, usable_cores());
      for (const double factor : kAbove) budgets.push_back(factor * best->bits_per_key);
      above = at_budgets(small, budgets);
      if (sample.keys.size() < keys.size()) where = fmt::format(", on a sample of {} keys", sample.keys.size());
    }
    (advice += ' ') += next_better(*best, above, o.stranger_share, where);
  } else if (sweeps) {
    const FilterRow* last = nullptr;
    for (const BudgetRows& at : sweep) {
      const FilterRow* winner = best_row(at.rows, o.stranger_share);
      if (!winner || (last && last->filter == winner->filter)) continue;
      advice += fmt::format("{}From {} bits per key upwards {} is the best ({} of the cost accepted).",
                            advice.empty() ? "" : " ", number(at.bits_per_key), winner->filter->name,
                            percent(expected_cost(*winner, o.stranger_share)));
      last = winner;
    }
  }
  bar.clear();

  std::string about = fmt::format(
      "{} keys, {} known negatives, {} strangers{}{}{}", trial.keys.size(), trial.negatives.size(),
      trial.strangers.size(), trial.held_back ? " (a tenth of the negatives, held back by a hash of key and seed)" : "",
      trial.made_up.empty() ? "" : fmt::format(" and {} made up in their shape", trial.made_up.size()),
      trial.left_out > 0 ? fmt::format("; {} were left out because they are keys or known", trial.left_out) : "");
  if (const std::size_t few = trial.negatives.size(); few > 0 && few < kFewNegatives)
    about +=
        fmt::format("\n{} known negatives are few: a filter that accepts none of them may still accept {} of such.",
                    few, percent(counted(0, static_cast<double>(few)).high));
  if (printed == 0) {
    print_text(about);
    if (with_texts)
      print_text(
          "Filters that read the strings train with 3 of 4 known negatives and plan with the fourth, by another hash; "
          "other_fpr is on random strings, and fpr on strangers that were not made up.");
    fmt::print("\n");
    if (!rows.empty()) fmt::print("{}\n", table_text(rows));
    if (!sweep.empty())
      fmt::print("The share of the cost that is accepted, if {} of the negative queries are about strangers:\n{}\n",
                 percent(o.stranger_share), sweep_text(sweep, o.stranger_share));
    print_text(advice);
  }
  const auto write = [](const std::string& path, const std::string& text) {
    if (path.empty()) return;
    Output out(path);
    out.write(text);
    out.finish();
  };
  write(o.json, json_text(as_json(o, trial, rows, sweep, advice), 2) + "\n");
  write(o.csv, csv_text(rows));
  if (!o.html.empty()) write_page(o.html, as_page(o, about, rows, sweep, advice));
  refuse_false_negatives(rows);
  for (const BudgetRows& at : sweep) refuse_false_negatives(at.rows);
}

}  // namespace

void add_compare(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("compare", "build every filter at one budget and say which to use");
  add_keys_option(c, o->keys);
  add_negatives_option(c, o->negatives).required();
  c.option("--strangers", o->strangers,
           "negatives that the filters are not given; by default a tenth of the negatives is held back, by a hash")
      .type_name("FILE")
      .repeated();
  o->budget.add_options(c, Budget::Rates::refused);
  c.option("--filters", o->filters, "names with commas between them, or all")
      .shows_default()
      .commas()
      .type_name("A,B|all");
  add_stranger_share(c, o->stranger_share);
  add_seed(c, o->seed, "of the builds and of what is held back");
  add_threads(c, o->threads, "of the timed builds; reading and scoring use all cores that this process may use");
  add_null_option(c, o->nul);
  c.option("--json", o->json, "write the rows as JSON; - prints it instead of the table").type_name("FILE");
  c.option("--csv", o->csv, "write the rows as CSV; - prints it instead of the table").type_name("FILE");
  c.numbers("--sweep", o->sweep, {0, kMaxBitsPerKey, true},
            "also at these bits per key, with commas between them: curves of what is accepted")
      .commas()
      .type_name("X,X");
  c.option("--html", o->html, "write a page with charts and sortable tables; - prints it instead of the table")
      .type_name("FILE");
  c.footer(
      "Columns: expected_fpr is the rate on strangers that the filter expects of itself, fpr the measured one, "
      "other_fpr the one on random strings (if a filter reads\n"
      "the strings), known_fpr the one on known negatives, wfpr the same weighted by cost; "
      "build_ns\n"
      "is per key, query_ns and batch_ns per query over a mix of keys, known negatives and strangers, each the median "
      "of\n"
      "five; peak_build_bytes is the most a build holds through operator new, its filter included, the keys not.\n\n"
      "Example:\n"
      "  naysay generate urls --count 2000 -o keys.txt\n"
      "  naysay generate urls --count 2000 --first 2000 --zipf 1 -o negatives.tsv\n"
      "  naysay compare --keys keys.txt --negatives negatives.tsv --bits-per-key 12\n"
      "  naysay compare --keys keys.txt --negatives negatives.tsv --sweep 4,8,12 --filters bloom,ribbon");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
