// naysay bench: the speed and space of every filter, side by side in one run, in and out of the cache.
//
// All filters of a size are built first. Then come five rounds; in each, every filter takes its turn on the same
// queries, so that whatever slows the machine down slows all of them down. A row's ratios are to Bloom in the same
// rounds. One measurement is one JSON line that holds all that is needed to repeat it.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>

#include "budget.hpp"
#include "commands.hpp"
#include "commit.hpp"
#include "describe.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "heap.hpp"
#include "naysay/core/cpu.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/score.hpp"
#include "naysay/workload/zipf.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace naysay::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> filters = {"all"};
  std::vector<std::uint64_t> sizes = {100'000, 5'000'000};
  double bits_per_key = 10, skew = 1;
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::string json;
};

constexpr int kRounds = 5;
constexpr std::size_t kQueries = std::size_t{1} << 18;  // of present and of absent keys, in each round

// The median of a few measurements and how far they lie apart.
struct Spread {
  std::vector<double> values;
  double median() const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? std::nan("") : sorted[sorted.size() / 2];
  }
  nlohmann::ordered_json json() const {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {{"median", median()}, {"low", *low}, {"high", *high}};
  }
};

struct Contestant {
  const FilterType* type = nullptr;
  std::optional<AnyFilter> filter;
  std::string problem;
  Score score;
  std::uint64_t peak_build_bytes = 0;
  Spread build, one_absent, one_present, batch_absent, batch_present;
};

template <class Body>
double ns_each(std::size_t count, Body&& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(count);
}

// Takes part in every timed loop, so that none can be dropped.
volatile std::uint64_t sink;

double ask_one_by_one(const AnyFilter& f, std::span<const Digest> queries) {
  return ns_each(queries.size(), [&] {
    std::uint64_t yes = 0;
    for (const Digest& d : queries) yes += f.may_contain(d);
    sink = yes;
  });
}

double ask_in_batches(const AnyFilter& f, std::span<const Digest> queries) {
  std::vector<std::uint8_t> answers(queries.size());
  return ns_each(queries.size(), [&] {
    f.may_contain(queries, answers.data());
    sink = answers.back();
  });
}

// What the machine can do at best: independent reads at random places of an array of so many bytes.
double floor_ns(std::uint64_t bytes, std::span<const Digest> queries) {
  const Array<std::uint64_t> array(std::max<std::uint64_t>(bytes / 8, 1));
  Spread times;
  for (int round = 0; round < kRounds; ++round)
    times.values.push_back(ns_each(queries.size(), [&] {
      std::uint64_t sum = 0;
      for (const Digest& d : queries) sum += array[fast_range(d.lo, array.size())];
      sink = sum;
    }));
  return times.median();
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

nlohmann::ordered_json machine() {
  static constexpr const char* kLevels[] = {"scalar", "avx2", "avx512"};
  return {{"cpu", cpu_name()},
          {"simd", kLevels[static_cast<int>(simd())]},
          {"compiler", __VERSION__},
          {"naysay", NAYSAY_VERSION},
          {"commit", kCommit}};
}

class Run {
 public:
  Run(const Options& o, std::uint64_t n, ProgressBar& bar) : o_(o), n_(n), bar_(bar) {
    const auto numbers = [&](std::uint64_t first, std::uint64_t count) {
      std::vector<Digest> out(count);
      for (std::uint64_t i = 0; i < count; ++i) out[i] = digest(first + i, o.seed);
      return out;
    };
    keys_ = numbers(0, n);
    const auto negatives = numbers(std::uint64_t{1} << 40, n);
    const auto strangers = numbers(std::uint64_t{1} << 41, std::max<std::uint64_t>(n, 2'000'000));
    trial_ = make_trial(keys_, negatives, zipf_costs(n, o.skew, o.seed), strangers, o.seed);
    Random random(o.seed);
    for (std::size_t i = 0; i < kQueries; ++i) {
      present_.push_back(keys_[random.below(keys_.size())]);
      absent_.push_back(strangers[random.below(strangers.size())]);
    }
  }

  void measure(const std::vector<const FilterType*>& filters) {
    for (const FilterType* type : filters) {
      bar_.show(fmt::format("{} keys: building {}", n_, type->name), contestants_.size(), filters.size());
      contestants_.push_back(build(*type));
    }
    for (int round = 0; round < kRounds; ++round)
      for (Contestant& c : contestants_) {
        if (!c.filter) continue;
        bar_.show(fmt::format("{} keys: round {} of {}", n_, round + 1, kRounds), round, kRounds);
        ask_one_by_one(*c.filter, absent_);  // the cache forgets the one before
        c.one_absent.values.push_back(ask_one_by_one(*c.filter, absent_));
        c.one_present.values.push_back(ask_one_by_one(*c.filter, present_));
        c.batch_absent.values.push_back(ask_in_batches(*c.filter, absent_));
        c.batch_present.values.push_back(ask_in_batches(*c.filter, present_));
      }
  }

  void report(std::string& lines) const {
    Table table({{"filter", Table::Align::left}, {"bits/key"}, {"optimal"}, {"waste"}, {"fpr"}, {"known"}, {"wfpr"},
                 {"build ns"}, {"one ns"}, {"batch ns"}, {"one"}, {"batch"}, {"floor ns"}});
    const Contestant* bloom = nullptr;
    for (const Contestant& c : contestants_)
      if (c.filter && c.type->name == "bloom") bloom = &c;
    for (const Contestant& c : contestants_) {
      const std::string name(c.type->name);
      if (!c.filter) {
        table.add({name, c.problem});
        continue;
      }
      const double bits = bits_per_key(*c.filter), optimal = c.score.fpr > 0 ? -std::log2(c.score.fpr) : std::nan("");
      const double floor = floor_ns(size_bytes(*c.filter), absent_);
      const auto ratio = [&](auto&& part) { return bloom ? ratio_to(part(*bloom), part(c)) : std::nan(""); };
      const double one_ratio = ratio([](const Contestant& x) -> const Spread& { return x.one_absent; });
      const double batch_ratio = ratio([](const Contestant& x) -> const Spread& { return x.batch_absent; });
      table.add({name, number(bits), number(optimal), percent(bits / optimal - 1), percent(c.score.fpr),
                 percent(c.score.known_fpr), percent(c.score.wfpr), number(c.build.median()),
                 number(c.one_absent.median()), number(c.batch_absent.median()), fmt::format("{:.2f}x", one_ratio),
                 fmt::format("{:.2f}x", batch_ratio), number(floor)});
      lines += to_json(c, one_ratio, batch_ratio, floor).dump() + "\n";
    }
    fmt::print("{} keys, {} known negatives, Zipf {} costs\n\n{}\n", n_, trial_.negatives.size(), o_.skew,
               table.text());
  }

  void refuse_false_negatives() const {
    for (const Contestant& c : contestants_)
      if (c.filter && c.score.false_negatives > 0)
        throw Failure{fmt::format("{} denies {} of the {} keys it was built from; no filter may deny any",
                                  c.type->name, c.score.false_negatives, n_)};
  }

 private:
  static double ratio_to(const Spread& base, const Spread& mine) {
    Spread ratios;
    for (std::size_t i = 0; i < mine.values.size(); ++i) ratios.values.push_back(mine.values[i] / base.values[i]);
    return ratios.median();
  }

  Contestant build(const FilterType& type) const {
    Contestant c;
    c.type = &type;
    const Workload w{.keys = keys_, .negatives = trial_.negatives, .costs = trial_.costs, .seed = o_.seed,
                     .threads = o_.threads};
    double spent = 0;
    // A build that takes seconds is long enough to be timed once.
    while (c.build.values.empty() || (c.build.values.size() < kRounds && spent < 2e9)) {
      c.filter.reset();
      const std::uint64_t before = heap::held();
      heap::forget_peak();
      const double ns = ns_each(n_, [&] {
        auto built = AnyFilter::build(type.name, w, {{"bits_per_key", to_text(o_.bits_per_key)}});
        if (built)
          c.filter.emplace(std::move(*built));
        else
          c.problem = built.error().message;
      });
      if (!c.filter) return c;
      c.peak_build_bytes = heap::peak() - before;
      c.build.values.push_back(ns);
      spent += ns * static_cast<double>(n_);
    }
    c.score = score(*c.filter, trial_);
    return c;
  }

  nlohmann::ordered_json to_json(const Contestant& c, double one_ratio, double batch_ratio, double floor) const {
    nlohmann::ordered_json params;
    for (const Param& p : c.filter->params()) params[p.name] = p.value;
    return {{"experiment", "speed"},
            {"filter", c.type->name},
            {"params", params},
            {"workload", {{"keys", "integers"}, {"n", n_}, {"negatives", trial_.negatives.size()}, {"zipf", o_.skew}}},
            {"seed", o_.seed},
            {"threads", o_.threads},
            {"bits_per_key", bits_per_key(*c.filter)},
            {"bytes", size_bytes(*c.filter)},
            {"fpr", number_or_null(c.score.fpr)},
            {"known_fpr", number_or_null(c.score.known_fpr)},
            {"wfpr", number_or_null(c.score.wfpr)},
            {"false_negatives", c.score.false_negatives},
            {"build_ns", c.build.json()},
            {"query_absent_ns", c.one_absent.json()},
            {"query_present_ns", c.one_present.json()},
            {"batch_absent_ns", c.batch_absent.json()},
            {"batch_present_ns", c.batch_present.json()},
            {"query_over_bloom", number_or_null(one_ratio)},
            {"batch_over_bloom", number_or_null(batch_ratio)},
            {"random_read_ns", floor},
            {"peak_build_bytes", c.peak_build_bytes},
            {"machine", machine()}};
  }

  const Options& o_;
  std::uint64_t n_;
  ProgressBar& bar_;
  std::vector<Digest> keys_, present_, absent_;
  Trial trial_;
  std::vector<Contestant> contestants_;
};

void run(const Options& o) {
  const auto filters = need_filters(o.filters);
  if (!(o.skew >= 0 && std::isfinite(o.skew))) throw Failure{fmt::format("--zipf is {}; it must be 0 or more", o.skew)};
  for (std::uint64_t n : o.sizes)
    if (n == 0) throw Failure{"--sizes is 0; it must be 1 or more"};
  if (!o.json.empty() && o.json != "-") need(files::can_create(o.json));
  std::string lines;
  ProgressBar bar;
  for (std::uint64_t n : o.sizes) {
    Run run(o, n, bar);
    run.measure(filters);
    bar.clear();
    run.report(lines);
    run.refuse_false_negatives();
  }
  fmt::print(
      "build, one and batch are nanoseconds a key or query, medians of {} rounds; one and batch ask about absent keys,\n"
      "and the columns with an x compare them with bloom in the same rounds. floor is an independent random read in as\n"
      "many bytes. optimal is log2(1/fpr) bits, waste what is paid above it.\n",
      kRounds);
  if (o.json.empty()) return;
  Output out(o.json);
  out.write(lines);
  out.finish();
}

}  // namespace

void add_bench(CLI::App& app, int&) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("bench", "measure the speed and space of every filter in one run");
  c->add_option("--filters", o->filters, "names with commas between them, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("A,B|all");
  c->add_option("--sizes", o->sizes, "numbers of keys: one that fits a cache and one that does not")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("N,N");
  c->add_option("--bits-per-key", o->bits_per_key, "the budget of every filter")->capture_default_str()->type_name("X");
  c->add_option("--zipf", o->skew, "skew of the negatives' costs")->capture_default_str()->type_name("S");
  c->add_option("--seed", o->seed, "of keys, costs and builds")->capture_default_str()->type_name("S");
  c->add_option("--threads", o->threads, "of the builds")->capture_default_str()->type_name("T");
  c->add_option("--json", o->json, "write one JSON line a measurement, with all that is needed to repeat it")
      ->type_name("FILE");
  c->footer(
      "Example:\n"
      "  naysay bench --filters bloom,ribbon --sizes 10000");
  c->callback([o] { run(*o); });
}

}  // namespace naysay::cli
