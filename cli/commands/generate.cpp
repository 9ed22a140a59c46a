// SPDX-License-Identifier: Apache-2.0
// naysay generate: keys, or negatives with costs, from nothing but a seed.
#include "naysay/workload/generate.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "commands/commands.hpp"
#include "naysay/workload/zipf.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/nearest.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

namespace {

constexpr std::uint64_t kMaxCount = 1'000'000'000'000;

struct Options {
  std::string kind, output = "-";
  std::uint64_t count = 0, first = 0, seed = 0;
  double zipf = 0;
  bool costs = false, nul = false;
};

void run(const Options& o) {
  const auto kind = find_key_kind(o.kind);
  if (!kind)
    throw Failure{fmt::format("no keys of kind '{}'{}", o.kind,
                              or_nearest(o.kind, {kKeyKinds.begin(), kKeyKinds.end()},
                                         fmt::format("there are {}", fmt::join(kKeyKinds, ", "))))};
  if (o.count > 0 && o.first > std::numeric_limits<std::uint64_t>::max() - (o.count - 1))
    throw Failure{fmt::format("--first is {}; with --count {} it must be at most {}", o.first, o.count,
                              std::numeric_limits<std::uint64_t>::max() - (o.count - 1))};
  Output out(o.output);
  const std::vector<float> costs = o.costs ? zipf_costs(o.count, o.zipf, o.seed) : std::vector<float>();
  ProgressBar bar;
  std::string key;
  for (std::uint64_t i = 0; i < o.count; ++i) {
    if (o.output != "-" && i % kTellEvery == 0) bar.show("writing " + o.output, i, o.count);
    generate_key(*kind, o.first + i, o.seed, key);
    if (o.costs) key += fmt::format("\t{}", costs[i]);
    key += o.nul ? '\0' : '\n';
    out.write(key);
  }
  out.finish();
}

}  // namespace

void add_generate(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("generate", "make up keys, or negatives with costs");
  c.option("kind", o->kind, "ycsb (user6284781860667377211), urls or integers")
      .required()
      .type_name("ycsb|urls|integers");
  c.number("--count", o->count, {0, kMaxCount}, "how many").required().type_name("N");
  c.number("--first", o->first, kAnyNumber, "where to begin: the same seed and ranges that do not overlap share no key")
      .shows_default()
      .type_name("I");
  add_seed(c, o->seed, "same seed, same keys; ycsb with seed 0 makes the keys that YCSB makes");
  const Option zipf = c.number("--zipf", o->zipf, {0, 100},
                               "add costs: the r-th largest is 1/r^SKEW of the first; shuffled, their mean is 1")
                          .type_name("SKEW");
  c.flag("-0,--null", o->nul, "separate keys by NUL bytes instead of lines");
  c.option("-o,--output", o->output, "the file to write; - is the standard output").shows_default().type_name("FILE");
  c.footer(
      "Example:\n"
      "  naysay generate urls --count 1000 --seed 7 -o keys.txt\n"
      "  naysay generate urls --count 1000 --seed 7 --first 1000 --zipf 1.0 -o negatives.tsv");
  c.runs([o, zipf] {
    o->costs = zipf.given();
    run(*o);
  });
}

}  // namespace naysay::cli
