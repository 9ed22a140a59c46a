// SPDX-License-Identifier: Apache-2.0
#include "parts/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "naysay/workload/random.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/table.hpp"
#include "parts/timing.hpp"

namespace naysay::cli {

namespace {

// Queries of each kind: as many as there are keys, so that a large filter is measured out of the cache; but enough for
// the clock, and not more than a few milliseconds per pass.
constexpr std::size_t kLeastMix = std::size_t{1} << 12, kMostMix = std::size_t{1} << 17;

constexpr std::string_view kBaseline = "bloom";  // what the advice compares with

// One cell of a row: its column's name, as people read it, as programs read it. The only list of columns.
struct Cell {
  const char* column;
  std::string text;
  nlohmann::ordered_json value;
};

std::vector<Cell> cells(const FilterRow& r) {
  const auto whole = [](const char* name, std::uint64_t n) { return Cell{name, fmt::format("{}", n), n}; };
  const auto rate = [](const char* name, double x) { return Cell{name, percent(x), number_or_null(x)}; };
  const auto real = [](const char* name, double x) { return Cell{name, number(x), number_or_null(x)}; };
  return {{"filter", std::string(r.filter->name), r.filter->name},
          real("bits_per_key", r.bits_per_key),
          rate("fpr", r.score.fpr),
          rate("other_fpr", r.score.other_fpr),
          rate("known_fpr", r.score.known_fpr),
          rate("wfpr", r.score.wfpr),
          whole("false_negatives", r.score.false_negatives),
          real("build_ns", r.build_ns),
          real("query_ns", r.query_ns),
          real("batch_ns", r.batch_ns),
          whole("bytes", r.bytes),
          whole("peak_build_bytes", r.peak_build_bytes)};
}

// For the names of its columns.
FilterRow any_row() {
  FilterRow row;
  row.filter = &filter_types()[0];
  return row;
}

std::string what_it_accepts(const FilterRow& r) {
  if (std::isnan(r.score.wfpr)) return fmt::format("{} of strangers", percent(r.score.fpr));
  if (std::isnan(r.score.fpr)) return fmt::format("{} of the known negatives by cost", percent(r.score.wfpr));
  return fmt::format("{} of the known negatives by cost and {} of strangers", percent(r.score.wfpr),
                     percent(r.score.fpr));
}

}  // namespace

double expected_cost(const FilterRow& r, double stranger_share) {
  const auto known = [](double x, double otherwise) { return std::isnan(x) ? otherwise : x; };
  const double strangers = known(r.score.fpr, 0), negatives = known(r.score.wfpr, strangers);
  return stranger_share * strangers + (1 - stranger_share) * negatives;
}

Bench::Bench(const Trial& trial, double stranger_share, std::uint64_t seed, unsigned threads, double build_seconds)
    : trial_(trial), build_seconds_(build_seconds) {
  workload_.keys = trial.keys;
  workload_.negatives = trial.negatives;
  workload_.costs = trial.costs;
  workload_.stranger_share = stranger_share;
  options_.seed = seed;
  options_.threads = threads;
  Random random(seed);
  const std::size_t each = std::clamp(trial.keys.size(), kLeastMix, kMostMix);
  workload_.key_bytes = trial.key_bytes;
  workload_.negative_bytes = trial.negative_bytes;
  struct Query {
    Digest digest;
    std::string_view bytes;
  };
  std::vector<Query> mix;
  const std::pair<std::span<const Digest>, std::span<const std::string_view>> kinds[] = {
      {trial.keys, trial.key_bytes}, {trial.negatives, trial.negative_bytes}, {trial.strangers, trial.stranger_bytes}};
  for (const auto& [kind, bytes] : kinds)
    for (std::size_t i = 0; i < each && !kind.empty(); ++i) {
      const std::uint64_t at = random.below(kind.size());
      mix.push_back({kind[at], bytes.empty() ? std::string_view() : bytes[at]});
    }
  random.shuffle(std::span<Query>(mix));
  for (const Query& query : mix) {
    mix_.push_back(query.digest);
    if (!trial.key_bytes.empty()) mix_bytes_.push_back(query.bytes);
  }
}

FilterRow Bench::row_of(const FilterType& filter, const AnyFilter& built) const {
  FilterRow row;
  row.filter = &filter;
  row.builds = 1;
  row.bits_per_key = bits_per_key(built);
  row.bytes = size_bytes(built);
  row.score = score(built, trial_, filter.claims.reads_bytes);
  return row;
}

FilterRow Bench::measure(const FilterType& filter, const std::vector<Param>& params) const {
  Samples build_ns;
  Attempt built;
  double spent_ns = 0;
  while (build_ns.values.size() < kRounds && (build_ns.values.empty() || spent_ns < 1e9 * build_seconds_)) {
    built = {};
    built = attempt(filter.name, workload_, params, options_);
    if (built.refused) return {.filter = &filter, .problem = std::move(built.refused->message)};
    build_ns.add(built.ns / static_cast<double>(std::max<std::size_t>(trial_.keys.size(), 1)));
    spent_ns += built.ns;
  }
  FilterRow row = row_of(filter, *built.filter);
  row.builds = static_cast<int>(build_ns.values.size());
  row.build_ns = build_ns.median();
  row.peak_build_bytes = built.peak_bytes;
  row.query_ns = rounds([&] { return query_one_by_one(*built.filter, mix_, mix_bytes_); }).median();
  row.batch_ns = rounds([&] { return query_in_batches(*built.filter, mix_, mix_bytes_); }).median();
  return row;
}

FilterRow Bench::rates(const FilterType& filter, const std::vector<Param>& params) const {
  const Attempt built = attempt(filter.name, workload_, params, options_);
  if (built.refused) return {.filter = &filter, .problem = built.refused->message};
  return row_of(filter, *built.filter);
}

std::string table_text(const std::vector<FilterRow>& rows) {
  std::vector<Table::Column> columns;
  for (const Cell& cell : cells(any_row()))
    columns.push_back({cell.column, columns.empty() ? Table::Align::left : Table::Align::right});
  Table table(std::move(columns));
  for (const FilterRow& row : rows) {
    std::vector<std::string> texts;
    if (row.problem.empty()) {
      for (Cell& cell : cells(row)) texts.push_back(std::move(cell.text));
    } else {
      texts = {std::string(row.filter->name), row.problem};
    }
    table.add(std::move(texts));
  }
  return table.text();
}

std::string csv_text(const std::vector<FilterRow>& rows) {
  std::string out;
  const auto line = [&](const FilterRow& row, auto&& field) {
    std::string text;
    for (const Cell& cell : cells(row)) {
      if (!text.empty()) text += ',';
      text += field(cell);
    }
    out += text;
    out += '\n';
  };
  line(any_row(), [](const Cell& cell) { return std::string(cell.column); });
  for (const FilterRow& row : rows)
    line(row, [&](const Cell& cell) -> std::string {
      if (cell.value.is_string()) return cell.value.get<std::string>();  // a filter's name needs no quotes
      return row.problem.empty() && !cell.value.is_null() ? cell.value.dump() : "";
    });
  return out;
}

nlohmann::ordered_json to_json(const FilterRow& row) {
  nlohmann::ordered_json j;
  if (!row.problem.empty()) {
    j["filter"] = row.filter->name;
    j["problem"] = row.problem;
    return j;
  }
  for (Cell& cell : cells(row)) j[cell.column] = std::move(cell.value);
  return j;
}

std::string advise(const std::vector<FilterRow>& rows, double stranger_share) {
  const auto best_of = [&](auto&& allowed) {
    const FilterRow* best = nullptr;
    for (const FilterRow& row : rows) {
      if (!row.problem.empty() || !allowed(row)) continue;
      const auto rank = [&](const FilterRow& r) { return std::pair(expected_cost(r, stranger_share), r.query_ns); };
      if (!best || rank(row) < rank(*best)) best = &row;
    }
    return best;
  };
  const FilterRow* best = best_of([](const FilterRow&) { return true; });
  if (!best) return "";
  const FilterRow* base = best_of([](const FilterRow& r) { return r.filter->name == kBaseline; });
  const FilterRow* dynamic = best_of([](const FilterRow& r) { return r.filter->dynamic; });
  const FilterRow* quick = best;
  for (const FilterRow& row : rows)
    if (row.problem.empty() && row.batch_ns < quick->batch_ns) quick = &row;

  std::string first = fmt::format("Use {}: at {} bits per key it accepts {}", best->filter->name,
                                  number(best->bits_per_key), what_it_accepts(*best));
  if (!base || base == best)
    first += ", and no other filter of this table does better.";
  else
    first += fmt::format(", where {} accepts {}.", kBaseline, what_it_accepts(*base));
  std::string second;
  if (dynamic == best) {
    second = fmt::format("It accepts more keys later{}", best->filter->erasable ? ", and keys can be erased" : "");
  } else if (dynamic) {
    second = fmt::format("If keys will be inserted later use {}, which accepts {}", dynamic->filter->name,
                         what_it_accepts(*dynamic));
  } else {
    second = "No filter of this table accepts more keys later";
  }
  second += quick == best
                ? fmt::format("; none answers faster ({} ns per query in batches).", number(best->batch_ns))
                : fmt::format("; the fastest to query is {} ({} ns per query in batches, {} needs {}).",
                              quick->filter->name, number(quick->batch_ns), best->filter->name, number(best->batch_ns));
  return first + " " + second;
}

void refuse_false_negatives(const std::vector<FilterRow>& rows) {
  for (const FilterRow& row : rows)
    if (row.problem.empty() && row.score.false_negatives > 0)
      throw Failure{fmt::format("{} denies {} of the keys it was built from; no filter may deny any", row.filter->name,
                                row.score.false_negatives)};
}

}  // namespace naysay::cli
