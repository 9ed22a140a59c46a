// SPDX-License-Identifier: Apache-2.0
// naysay update: erases keys, inserts keys, and makes a filter refuse negatives that it accepted.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/core/files.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, erase, insert, adapt, warm, slots, output;
  bool nul = false, json = false;
};

// How many keys of a file were given, and for how many it was done.
struct Tally {
  std::uint64_t given = 0, done = 0;
};

template <class Body>
Tally for_each_key(const Options& o, const std::string& path, const Hasher& hasher, const Progress& progress,
                   Body&& body) {
  Tally t;
  need(for_each_line(key_file(path, o.nul), progress, [&](const Line& line) -> Result<Ok> {
    ++t.given;
    NAYSAY_TRY(const bool done, body(hasher(line.text)));
    t.done += done;
    return Ok{};
  }));
  return t;
}

// Some filters need the file of their keys for it.
Tally adapt(const Options& o, AnyFilter& f, const Progress& progress) {
  const Negatives negatives = need(read_negatives(key_file(o.adapt, o.nul), f.hasher(), progress));
  if (f.type().adapt_with_key_file)
    need(f.type().adapt_with_key_file(o.slots, f, negatives.digests, negatives.costs));
  else
    for (std::uint64_t i = 0; i < negatives.digests.size(); ++i) f.adapt(negatives.digests[i], negatives.costs[i]);
  // Counted at the end: where there is no room for all, a later one may have replaced an earlier one.
  Tally t{.given = negatives.digests.size()};
  for (const Digest& d : std::span<const Digest>(negatives.digests)) t.done += !f.may_contain(d);
  return t;
}

void check(const Options& o, const AnyFilter& f) {
  const FilterType& type = f.type();
  const bool by_key_file = type.adapt_with_key_file != nullptr;
  const auto wants = [&](const std::string& file, bool can, const char* option, const char* what) {
    if (!file.empty() && !can)
      throw Failure{fmt::format("{}: {} is given, but {} {}; see naysay filters", o.filter, option, type.name, what)};
  };
  if (o.erase.empty() && o.insert.empty() && o.adapt.empty() && o.warm.empty())
    throw Failure{"nothing to do; give --erase, --insert, --adapt or --warm"};
  wants(o.erase, type.erasable, "--erase", "cannot erase keys");
  wants(o.insert, type.dynamic, "--insert", "accepts no more keys");
  wants(o.adapt, type.adaptive || by_key_file, "--adapt", "accepts no negatives after it was built");
  wants(o.warm, type.warming, "--warm", "does not warm");
  wants(o.slots, by_key_file, "--slots", "has no such file");
  if (!o.adapt.empty() && by_key_file && o.slots.empty())
    throw Failure{
        fmt::format("{}: --adapt of {} needs --slots, the file that naysay build --slots wrote", o.filter, type.name)};
  need_one_standard_input({{"--erase", o.erase}, {"--insert", o.insert}, {"--adapt", o.adapt}, {"--warm", o.warm}});
}

void run(const Options& o) {
  const std::string& output = o.output.empty() ? o.filter : o.output;
  AnyFilter f = need(naysay::load(o.filter));
  check(o, f);
  need(files::can_create(output));
  ProgressBar bar;
  const Progress progress = bar.callback();
  nlohmann::ordered_json said;
  std::string text;
  const auto add = [&](const Tally& t, const char* done, const char* rest, const char* why) {
    said[done] = t.done;
    said[rest] = t.given - t.done;
    text += fmt::format("{}: {} {}", output, t.done, done);
    if (t.given > t.done) text += fmt::format(", {} {} ({})", t.given - t.done, rest, why);
    text += '\n';
  };
  if (!o.erase.empty())
    add(for_each_key(o, o.erase, f.hasher(), progress,
                     [&](Digest d) -> Result<bool> { return static_cast<bool>(f.erase(d)); }),
        "erased", "not erased", "the filter denies them");
  if (!o.insert.empty())
    add(for_each_key(o, o.insert, f.hasher(), progress,
                     [&](Digest d) -> Result<bool> {
                       if (f.insert(d)) return true;
                       return Error{Errc::out_of_budget,
                                    fmt::format("{} has no room for more than {} keys; {} is as it was", f.type().name,
                                                f.keys(), output)};
                     }),
        "inserted", "not inserted", "no room");
  if (!o.adapt.empty())
    add(adapt(o, f, progress), "refused", "not refused",
        f.type().claims.adapts_with_churn ? "yet; they will be after more insertions and deletions"
                                          : "there is no room for them, or they are keys");
  if (!o.warm.empty()) {
    const auto keys = need(read_keys(key_file(o.warm, o.nul), f.hasher(), progress));
    need(f.warm(keys));
    said["warm"] = true;
    text += fmt::format("{}: warm\n", output);
  }
  need(f.save(output));
  bar.clear();
  if (o.json) {
    nlohmann::ordered_json j = describe(f);
    j["file"] = output;
    j["update"] = said;
    fmt::print("{}\n", j.dump(2));
  } else {
    fmt::print("{}", text);
  }
}

}  // namespace

void add_update(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("update", "erase and insert keys, and report false positives to a filter");
  c.option("filter", o->filter, "a file that naysay build wrote").required().type_name("F.nsy");
  c.option("--erase", o->erase, "keys to erase, one per line; each must be in the set, or another key may be lost")
      .type_name("FILE");
  c.option("--insert", o->insert, "keys to insert, one per line; without room for all of them nothing is written")
      .type_name("FILE");
  c.option("--adapt", o->adapt, "negatives that were accepted, one key<TAB>cost per line; a missing cost is 1")
      .type_name("FILE");
  c.option("--warm", o->warm, "the keys that the filter was built from, for filters that warm").type_name("FILE");
  c.option("--slots", o->slots, "the file that naysay build --slots wrote, for filters that need it for --adapt")
      .type_name("F.slots");
  add_null_option(c, o->nul);
  c.flag("--json", o->json, "describe the filter and what was done as JSON");
  c.option("-o,--output", o->output, "the file to write; by default the filter itself, whole or not at all")
      .type_name("F.nsy");
  c.footer(
      "Erases first, then inserts, adapts and warms.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay generate urls --count 100 --first 1000 -o reported.txt\n"
      "  naysay build --keys keys.txt --filter guarded --bits-per-key 16 --capacity 2000 -o set.nsy\n"
      "  naysay update set.nsy --adapt reported.txt");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
