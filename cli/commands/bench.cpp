// SPDX-License-Identifier: Apache-2.0
// naysay bench: named experiments. Each is data (experiments/), how it is measured is shared (experiments/kinds.hpp),
// and what is measured goes line by line into a file that a later run continues.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "commands/bench_ingest.hpp"
#include "commands/bench_optimisers.hpp"
#include "commands/bench_updates.hpp"
#include "commands/commands.hpp"
#include "experiments/figures.hpp"
#include "experiments/kinds/kinds.hpp"
#include "experiments/results.hpp"
#include "parts/failure.hpp"
#include "parts/filter_names.hpp"
#include "parts/inputs.hpp"
#include "parts/nearest.hpp"
#include "parts/progress.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> names;
  std::vector<std::string> filters = {"all"};
  std::string size = "quick", data, out;
  std::uint64_t seed = 1;
  bool list = false;
};

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

void list() {
  Table table({{"experiment", Table::Align::left}, {"what", Table::Align::left}, {"source", Table::Align::left}});
  for (const Experiment& e : experiments()) table.add({e.name, e.title, e.source});
  table.add(
      {"ingest", "lines and bytes per second of reading files, next to wc -l; only alone, not in all", "README.md"});
  table.add({"stack-optimisers", "our search for the layers of a stack next to NLopt's; only alone, not in all",
             "Deeds 2020, 2.1.5"});
  table.add({"updates", "a year of daily updates; only alone, not in all", "docs/updates.md"});
  fmt::print("{}\n", table.text());
  print_text(
      "naysay bench NAME... measures some of them, naysay bench all measures all. Table 1 of SSCF compares filters by "
      "their properties: naysay filters prints those of ours.");
}

std::vector<const Experiment*> need_experiments(const std::vector<std::string>& names) {
  std::vector<const Experiment*> found;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const Experiment& e : experiments()) found.push_back(&e);
    } else if (const Experiment* e = find_experiment(name)) {
      found.push_back(e);
    } else {
      std::vector<std::string> all = {"all"};
      for (const Experiment& known : experiments()) all.emplace_back(known.name);
      throw Failure{
          fmt::format("no experiment '{}'{}", name, or_nearest(name, all, "naysay bench --list prints them all"))};
    }
  }
  return found;
}

// How long the rest will run, from the pace so far.
class Pace {
 public:
  explicit Pace(double all) : left_(all) {}
  void done(double weight, double seconds) {
    left_ -= weight;
    weight_ += weight;
    seconds_ += seconds;
  }
  void skip(double weight) { left_ -= weight; }
  std::string rest() const {
    return weight_ == 0 ? "" : fmt::format(", about {} left", duration(std::max(left_, 0.0) * seconds_ / weight_));
  }

 private:
  double left_, weight_ = 0, seconds_ = 0;
};

Size need_size(const std::string& name) {
  const auto named = std::find(std::begin(kSizeNames), std::end(kSizeNames), name);
  if (named == std::end(kSizeNames))
    throw Failure{fmt::format("--size is '{}'; it must be tiny, quick or paper", name)};
  return static_cast<Size>(named - std::begin(kSizeNames));
}

void run(const Options& o) {
  if (o.list) return list();
  if (o.names == std::vector<std::string>{"updates"}) {
    need_size(o.size);
    return bench_updates(o.size, o.seed, o.out);
  }
  if (o.names == std::vector<std::string>{"ingest"}) {
    need_size(o.size);
    return bench_ingest(o.size, o.seed, o.out);
  }
  if (o.names == std::vector<std::string>{"stack-optimisers"}) {
    need_size(o.size);
    return bench_optimisers(o.size);
  }
  const auto chosen = need_experiments(o.names.empty() ? std::vector<std::string>{"speed"} : o.names);
  const auto filters = need_filters(o.filters);
  const Size size = need_size(o.size);
  Sources sources(o.data, o.seed);
  sources.check();
  Results results(o.out);

  std::vector<std::string> missing;
  std::vector<std::pair<const Experiment*, std::vector<Job>>> work;
  double all = 0;
  std::size_t count = 0;
  for (const Experiment* e : chosen) {
    std::vector<Job> jobs;
    for (Job& job : jobs_of(*e, size, missing))
      if (std::any_of(filters.begin(), filters.end(),
                      [&](const FilterType* t) { return t->name == job.series->filter; })) {
        all += weight(job, size);
        jobs.push_back(job);
      }
    count += jobs.size();
    work.emplace_back(e, std::move(jobs));
  }
  for (const std::string& name : missing) note(fmt::format("{} is not in this build; it is left out", name));

  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  ProgressBar bar;
  Pace pace(all);
  std::size_t done = 0;
  for (const auto& [e, jobs] : work) {
    const auto start = Clock::now();
    std::size_t there = 0;
    for (const Job& job : jobs) {
      const JobPlan p = plan(job, size, o.seed);
      const std::string source = p.wish.data == Data::blocklist ? (o.data.empty() ? "made-up URLs" : "files")
                                                                : kDataNames[static_cast<int>(p.wish.data)];
      nlohmann::ordered_json line = describe(job, p, source);
      if (source == "files") line["workload"]["files"] = sources.files();
      const double w = weight(job, size);
      if (results.has(line)) {
        pace.skip(w);
        ++there;
        ++done;
        continue;
      }
      bar.show(fmt::format("{} {}: {}{}", e->name, job.panel->id, job.series->name, pace.rest()), done, count);
      const auto began = Clock::now();
      const auto measured = measure(job, p, sources, {});
      const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
      const auto machine = line["machine"];
      line.erase("machine");
      for (const auto& [name, value] : measured.items()) line[name] = value;
      line["seconds"] = seconds;
      line["machine"] = machine;
      results.add(line);
      pace.done(w, seconds);
      ++done;
    }
    bar.clear();
    if (!terminal)
      fmt::print(stderr, "{}: {} measurements in {}{}\n", e->name, jobs.size() - there,
                 duration(std::chrono::duration<double>(Clock::now() - start).count()),
                 there > 0 ? fmt::format(", {} were there before", there) : "");
    std::vector<nlohmann::ordered_json> own;
    for (const auto& line : results.lines())
      if (line["experiment"] == e->name) own.push_back(line);
    const nlohmann::ordered_json made = figures(own);
    if (o.out != "-")
      for (const auto& figure : made["figures"]) fmt::print("{}\n", text_of(figure, made["claims"]));
    std::fflush(stdout);
  }
}

}  // namespace

void add_bench(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("bench", "measure named experiments: speed, space, and the figures of the papers");
  c.option("experiments", o->names, "their names, or all; none: speed").type_name("NAME");
  c.flag("--list", o->list, "list all experiments");
  c.option("--size", o->size,
           "quick runs for seconds; paper has as many keys as the papers; tiny only shows that it runs")
      .shows_default()
      .type_name("tiny|quick|paper");
  c.option(
       "--data", o->data,
       "a folder with a file *positive* of keys and a file *negative* of key<TAB>cost; without it, URLs are generated")
      .type_name("DIR");
  c.option(
       "--out", o->out,
       "append one JSON line per measurement; what the file already holds is not measured again; - prints the lines "
       "instead of tables")
      .type_name("FILE");
  c.option("--filters", o->filters, "only these, names with commas between them")
      .shows_default()
      .commas()
      .type_name("A,B|all");
  add_seed(c, o->seed, "of keys, costs and builds");
  c.footer(
      "Times are medians of five rounds and are compared with Bloom (or another filter) in the same rounds.\n\n"
      "Example:\n"
      "  naysay bench --list\n"
      "  naysay bench habf-fig10 --size tiny --filters bloom,habf --out results.jsonl");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
