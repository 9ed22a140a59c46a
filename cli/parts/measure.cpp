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
  bool for_people = true;  // in the table, too
};

std::vector<Cell> cells(const FilterRow& r) {
  const auto whole = [](const char* name, std::uint64_t n) { return Cell{name, fmt::format("{}", n), n}; };
  const auto rate = [](const char* name, double x) { return Cell{name, percent(x), number_or_null(x)}; };
  const auto limit = [](const char* name, double x) { return Cell{name, percent(x), number_or_null(x), false}; };
  const auto real = [](const char* name, double x) { return Cell{name, number(x), number_or_null(x)}; };
  return {{"filter", std::string(r.filter->name), r.filter->name},
          real("bits_per_key", r.bits_per_key),
          rate("expected_fpr", r.judged.expected_fpr),
          rate("fpr", r.score.fpr),
          limit("fpr_low", r.judged.fpr.low),
          limit("fpr_high", r.judged.fpr.high),
          rate("other_fpr", r.score.other_fpr),
          rate("known_fpr", r.score.known_fpr),
          limit("known_fpr_low", r.judged.known_fpr.low),
          limit("known_fpr_high", r.judged.known_fpr.high),
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

// "0.812 %", with its interval where that is wide.
std::string rate_text(const Estimate& e) {
  if (e.value == 0 && e.high > 0) return fmt::format("0 % (less than {})", percent(e.high));
  if (e.high <= 1.5 * e.value) return percent(e.value);
  return fmt::format("{} ({} to {})", percent(e.value), percent(e.low), percent(e.high));
}

std::string what_it_accepts(const Judged& j) {
  if (!j.known_cost.known()) return fmt::format("{} of strangers", rate_text(j.strangers));
  if (!j.strangers.known()) return fmt::format("{} of the known negatives by cost", rate_text(j.known_cost));
  return fmt::format("{} of the known negatives by cost and {} of strangers", rate_text(j.known_cost),
                     rate_text(j.strangers));
}

// The best of the rows for which judged(row) is not null, and those that the sample cannot tell from it.
struct Best {
  const FilterRow* row = nullptr;
  std::vector<const FilterRow*> tied = {};
};
template <class Judge>
Best best_of(const std::vector<FilterRow>& rows, double stranger_share, Judge&& judge) {
  // A filter that keeps its keys next to it costs several times the bits that were compared: never the advice.
  const auto judged = [&](const FilterRow& row) -> decltype(judge(row)) {
    return row.filter->claims.index_bits_per_key > 0 ? nullptr : judge(row);
  };
  const FilterRow* lowest = nullptr;
  const auto cost = [&](const FilterRow& row) { return judged(row)->cost(stranger_share); };
  for (const FilterRow& row : rows)
    if (judged(row) && (!lowest || cost(row).value < cost(*lowest).value)) lowest = &row;
  if (!lowest) return {};
  Best best;
  const auto rank = [&](const FilterRow& row) {
    const double strangers = judged(row)->strangers.value;
    return std::pair(std::isnan(strangers) ? 1.0 : strangers, row.query_ns);
  };
  const Estimate least = cost(*lowest);
  for (const FilterRow& row : rows) {
    if (!judged(row) || least.surely_below(cost(row))) continue;
    if (cost(row).high > cost(row).low || least.high > least.low) best.tied.push_back(&row);
    if (!best.row || rank(row) < rank(*best.row)) best.row = &row;
  }
  std::erase(best.tied, best.row);
  return best;
}

const Judged* as_built(const FilterRow& row) { return row.problem.empty() ? &row.judged : nullptr; }
const Judged* after(const FilterRow& row, const std::optional<Changed>& change) {
  return row.problem.empty() && change && change->problem.empty() ? &change->judged : nullptr;
}

// "a, b and 3 others"
std::string names_of(const std::vector<const FilterRow*>& rows) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(rows.size(), kNamed); ++i) {
    const bool last = i + 1 == rows.size();
    names += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", rows[i]->filter->name);
  }
  if (rows.size() > kNamed) names += fmt::format(" and {} others", rows.size() - kNamed);
  return names;
}

}  // namespace

Judged judge(const FilterType& filter, const Score& score, double expected_fpr, const Trial& trial) {
  constexpr double kDoubt = 0.8;  // expectations this far below what was measured are not believed
  const Claims& claims = filter.claims;
  const auto strangers = trial.strangers.size() + (claims.reads_bytes ? 0 : trial.made_up.size());
  Judged j{.expected_fpr = expected_fpr,
           .fpr = counted(score.fpr, static_cast<double>(strangers)),
           .known_fpr = counted(score.known_fpr, static_cast<double>(trial.negatives.size()))};
  const bool more = expected_fpr < kDoubt * j.fpr.low, learned = claims.reads_bytes && j.fpr.high < expected_fpr;
  const bool measured = j.fpr.known() && (more || learned);
  j.strangers = measured ? j.fpr : exactly(expected_fpr);
  if (std::isnan(score.wfpr)) return j;
  if (!claims.uses_negatives) {
    j.known_cost = j.strangers;
  } else if (claims.exact_on_negatives && score.known_fpr == 0) {
    j.known_cost = exactly(0);  // it was built so: this is no luck
  } else {
    // As sure as the count, scaled by how much the accepted ones cost.
    const double scale = score.known_fpr > 0 ? score.wfpr / score.known_fpr : 1;
    j.known_cost = {score.wfpr, j.known_fpr.low * scale, std::min(j.known_fpr.high * scale, 1.0)};
  }
  return j;
}

Estimate Judged::cost(double stranger_share) const {
  const Estimate& unknown = strangers.known() ? strangers : exactly(0);
  const Estimate& known = known_cost.known() ? known_cost : unknown;
  const auto mix = [&](double a, double b) { return stranger_share * a + (1 - stranger_share) * b; };
  return {mix(unknown.value, known.value), mix(unknown.low, known.low), mix(unknown.high, known.high)};
}

double expected_cost(const FilterRow& r, double stranger_share) { return r.judged.cost(stranger_share).value; }

const FilterRow* best_row(const std::vector<FilterRow>& rows, double stranger_share) {
  return best_of(rows, stranger_share, as_built).row;
}

Bench::Bench(const Trial& trial, double stranger_share, std::uint64_t seed, unsigned threads, double build_seconds,
             unsigned scoring_threads)
    : trial_(trial), build_seconds_(build_seconds), scoring_threads_(scoring_threads) {
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
  row.score = score(built, trial_, filter.claims.reads_bytes, scoring_threads_);
  row.judged = judge(filter, row.score, built.expected_fpr(), trial_);
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
  const auto texts =
      filter.claims.reads_bytes ? std::span<const std::string_view>(mix_bytes_) : std::span<const std::string_view>();
  row.query_ns = rounds([&] { return query_one_by_one(*built.filter, mix_, texts); }).median();
  row.batch_ns = rounds([&] { return query_in_batches(*built.filter, mix_, texts); }).median();
  built = {};
  if (filter.dynamic) row.grown = changed(filter, params, Change::insert);
  if (filter.erasable) row.replaced = changed(filter, params, Change::replace);
  return row;
}

// The first tenth of the keys comes later. With Change::replace the second tenth leaves for it.
Changed Bench::changed(const FilterType& filter, const std::vector<Param>& params, Change how) const {
  if (shuffled_keys_.empty()) {
    shuffled_keys_.assign(trial_.keys.begin(), trial_.keys.end());
    std::sort(shuffled_keys_.begin(), shuffled_keys_.end());
    shuffled_keys_.erase(std::unique(shuffled_keys_.begin(), shuffled_keys_.end()), shuffled_keys_.end());
    Random(options_.seed).shuffle(std::span<Digest>(shuffled_keys_));
  }
  const std::span<const Digest> keys = shuffled_keys_;
  const std::size_t tenth = keys.size() / 10;
  const auto late = keys.first(tenth), leaving = keys.subspan(tenth, tenth);
  Workload workload = workload_;
  workload.keys = keys.subspan(tenth);
  workload.key_bytes = workload.negative_bytes = {};  // no filter that reads them can be changed
  BuildOptions options = options_;
  options.capacity = how == Change::insert ? keys.size() : 0;
  auto built = AnyFilter::build(filter.name, workload, params, options);
  if (!built) return {.problem = built.error().message};
  for (std::size_t i = 0; i < tenth; ++i) {
    if (how == Change::replace) built->erase(leaving[i]);
    if (!built->insert(late[i])) return {.problem = fmt::format("{}: it has no room for all keys", filter.name)};
  }
  Changed changed{.score = score(*built, trial_, false, scoring_threads_)};
  changed.score.false_negatives = tenth - count_maybe(*built, late, {}, scoring_threads_);
  const auto stayed = how == Change::insert ? workload.keys : workload.keys.subspan(tenth);
  changed.score.false_negatives += stayed.size() - count_maybe(*built, stayed, {}, scoring_threads_);
  changed.judged = judge(filter, changed.score, built->expected_fpr(), trial_);
  return changed;
}

FilterRow Bench::rates(const FilterType& filter, const std::vector<Param>& params) const {
  const Attempt built = attempt(filter.name, workload_, params, options_);
  if (built.refused) return {.filter = &filter, .problem = built.refused->message};
  return row_of(filter, *built.filter);
}

std::string table_text(const std::vector<FilterRow>& rows) {
  std::vector<Table::Column> columns;
  for (const Cell& cell : cells(any_row()))
    if (cell.for_people) columns.push_back({cell.column, columns.empty() ? Table::Align::left : Table::Align::right});
  Table table(std::move(columns));
  for (const FilterRow& row : rows) {
    std::vector<std::string> texts;
    if (row.problem.empty()) {
      for (Cell& cell : cells(row))
        if (cell.for_people) texts.push_back(std::move(cell.text));
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
  const auto add = [&](const char* name, const std::optional<Changed>& changed) {
    if (!changed) return;
    if (!changed->problem.empty())
      j[name] = {{"problem", changed->problem}};
    else
      j[name] = {{"expected_fpr", number_or_null(changed->judged.expected_fpr)},
                 {"fpr", number_or_null(changed->score.fpr)},
                 {"known_fpr", number_or_null(changed->score.known_fpr)},
                 {"wfpr", number_or_null(changed->score.wfpr)},
                 {"false_negatives", changed->score.false_negatives}};
  };
  add("after_inserts", row.grown);
  add("after_replacing", row.replaced);
  return j;
}

std::string advise(const std::vector<FilterRow>& rows, double stranger_share) {
  const Best built = best_of(rows, stranger_share, as_built);
  const FilterRow* best = built.row;
  if (!best) return "";
  const FilterRow* base = nullptr;
  const FilterRow* quick = best;
  for (const FilterRow& row : rows) {
    if (!row.problem.empty()) continue;
    if (row.filter->name == kBaseline) base = &row;
    if (row.batch_ns < quick->batch_ns) quick = &row;
  }

  std::string first = fmt::format("Use {}: at {} bits per key it accepts {}", best->filter->name,
                                  number(best->bits_per_key), what_it_accepts(best->judged));
  if (!base || base == best)
    first += built.tied.empty() ? ", and no other filter of this table does better" : "";
  else
    first += fmt::format(", where {} accepts {}", kBaseline, what_it_accepts(base->judged));
  if (!built.tied.empty())
    first += fmt::format("; the known negatives are too few to tell it from {}", names_of(built.tied));
  first += '.';

  const FilterRow* dynamic = best_of(rows, stranger_share, [](const FilterRow& r) { return after(r, r.grown); }).row;
  const FilterRow* erasable =
      best_of(rows, stranger_share, [](const FilterRow& r) { return after(r, r.replaced); }).row;
  std::string second;
  if (dynamic) {
    second = fmt::format("{}: after a tenth of the keys came by insert it accepts {}",
                         dynamic == best ? "It accepts more keys later"
                                         : fmt::format("If keys will be inserted later use {}", dynamic->filter->name),
                         what_it_accepts(dynamic->grown->judged));
    if (erasable)
      second +=
          fmt::format("; {}: after a tenth was replaced it accepts {}",
                      erasable == dynamic ? std::string("keys can be erased, too")
                                          : fmt::format("if keys will also be erased use {}", erasable->filter->name),
                      what_it_accepts(erasable->replaced->judged));
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
  const auto check = [](const FilterRow& row, const Score& score, const char* when) {
    if (score.false_negatives > 0)
      throw Failure{fmt::format("{} denies {} of the keys it {}; no filter may deny any", row.filter->name,
                                score.false_negatives, when)};
  };
  for (const FilterRow& row : rows) {
    if (!row.problem.empty()) continue;
    check(row, row.score, "was built from");
    if (row.grown && row.grown->problem.empty()) check(row, row.grown->score, "holds after inserts");
    if (row.replaced && row.replaced->problem.empty())
      check(row, row.replaced->score, "holds after a tenth was replaced");
  }
}

}  // namespace naysay::cli
