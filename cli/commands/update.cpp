// naysay update: keys out of a filter, keys into it, and negatives that it must not accept any longer.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands/commands.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "files.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "naysay/workload/keys.hpp"
#include "parts/progress.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, erase, insert, adapt, warm, slots, output;
  bool nul = false, json = false;
};

// What one file of keys came to.
struct Tally {
  std::uint64_t asked = 0, done = 0;
};

KeyFile key_file(const Options& o, const std::string& path) {
  return {path, o.nul ? Separator::nul : Separator::newline};
}

template <class Body>
Tally for_each_key(const Options& o, const std::string& path, const Hasher& hasher, const Progress& progress,
                   Body&& body) {
  Tally t;
  LineReader reader = need(LineReader::open(key_file(o, path)));
  for (;;) {
    const auto lines = need(reader.next());
    if (lines.empty()) return t;
    if (progress) progress("reading " + reader.name(), reader.bytes_done(), reader.bytes_total());
    for (const Line& line : lines) {
      ++t.asked;
      t.done += body(hasher(line.text), line.number);
    }
  }
}

// adapt of a variable hash filter needs the file of its keys; of the others, nothing.
Tally adapt(const Options& o, AnyFilter& f, const Progress& progress) {
  Tally t;
  VariableHash* const variable = f.as<VariableHash>() ? need(f.change<VariableHash>()) : nullptr;
  std::optional<AdaptiveVariableHash> with_slots;
  if (variable) with_slots = need(AdaptiveVariableHash::open(o.slots, std::move(*variable)));
  const Negatives told = need(read_negatives(key_file(o, o.adapt), f.hasher(), progress));
  for (std::uint64_t i = 0; i < told.digests.size(); ++i)
    (void)(with_slots ? with_slots->adapt(told.digests[i], told.costs[i])
                      : static_cast<bool>(f.adapt(told.digests[i], told.costs[i])));
  if (with_slots) {
    need(with_slots->file().sync());
    *variable = std::move(*with_slots).filter();
  }
  // Asked at the end: where there is no room for all, a later one may have taken the place of an earlier one.
  t.asked = told.digests.size();
  for (const Digest& d : std::span<const Digest>(told.digests)) t.done += !f.may_contain(d);
  return t;
}

void check(const Options& o, const AnyFilter& f) {
  const FilterType& type = f.type();
  const bool variable = f.as<VariableHash>() != nullptr;
  const auto wants = [&](const std::string& file, bool can, const char* option, const char* what) {
    if (!file.empty() && !can)
      throw Failure{fmt::format("{}: {} is given, but {} {}; see naysay filters", o.filter, option, type.name, what)};
  };
  if (o.erase.empty() && o.insert.empty() && o.adapt.empty() && o.warm.empty())
    throw Failure{"nothing to do; give --erase, --insert, --adapt or --warm"};
  wants(o.erase, type.erasable, "--erase", "lets no key go");
  wants(o.insert, type.dynamic, "--insert", "takes no more keys");
  wants(o.adapt, type.adaptive || variable, "--adapt", "cannot be told of negatives after it was built");
  wants(o.warm, type.warming, "--warm", "does not warm");
  wants(o.slots, variable, "--slots", "has no such file");
  if (!o.adapt.empty() && variable && o.slots.empty())
    throw Failure{
        fmt::format("{}: --adapt of variable-hash needs --slots, the file that naysay build --slots wrote", o.filter)};
  int inputs = 0;
  for (const std::string& file : {o.erase, o.insert, o.adapt, o.warm}) inputs += file == "-";
  if (inputs > 1) throw Failure{"more than one file is -; only one can be"};
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
  const auto tell = [&](const Tally& t, const char* done, const char* rest, const char* why) {
    said[done] = t.done;
    said[rest] = t.asked - t.done;
    text += fmt::format("{}: {} {}", output, t.done, done);
    if (t.asked > t.done) text += fmt::format(", {} {} ({})", t.asked - t.done, rest, why);
    text += '\n';
  };
  if (!o.erase.empty())
    tell(for_each_key(o, o.erase, f.hasher(), progress, [&](Digest d, std::uint64_t) { return static_cast<bool>(f.erase(d)); }), "erased",
         "not erased", "the filter denies them");
  if (!o.insert.empty())
    tell(for_each_key(o, o.insert, f.hasher(), progress,
                      [&](Digest d, std::uint64_t line) {
                        if (f.insert(d)) return true;
                        throw Failure{fmt::format("{}:{}: {} has no room for more than {} keys; {} is as it was",
                                                  o.insert == "-" ? "standard input" : o.insert, line, f.type().name,
                                                  f.keys(), output)};
                      }),
         "inserted", "not inserted", "no room");
  if (!o.adapt.empty())
    tell(adapt(o, f, progress), "refused", "not refused",
         f.type().claims.adapts_with_churn ? "yet; as keys come and go they will be"
                                           : "there is no room, or they are keys");
  if (!o.warm.empty()) {
    const auto keys = need(read_keys(key_file(o, o.warm), f.hasher(), progress));
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
  Command c = line.command("update", "erase and insert keys, and tell a filter of its false positives");
  c.option("filter", o->filter, "a file that naysay build wrote").required().type_name("F.nsy");
  c.option("--erase", o->erase, "keys to let go, one a line; each must be in, or another key may be lost")
      .type_name("FILE");
  c.option("--insert", o->insert, "keys to take; without room for all of them nothing is written").type_name("FILE");
  c.option("--adapt", o->adapt, "negatives that were accepted, key<TAB>cost a line; a missing cost is 1")
      .type_name("FILE");
  c.option("--warm", o->warm, "the keys of a filter that warms, shown to it once more").type_name("FILE");
  c.option("--slots", o->slots, "the keys of a variable-hash filter by slots, as naysay build --slots wrote them")
      .type_name("F.slots");
  c.flag("-0,--null", o->nul, "keys are separated by NUL bytes instead of lines");
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
