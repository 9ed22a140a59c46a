// SPDX-License-Identifier: Apache-2.0
// naysay update: erases keys, inserts keys, and makes a filter refuse negatives that it accepted.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "naysay/core/files.hpp"
#include "naysay/live/metrics.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/key_check.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"
#include "parts/reasons.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"
#include "parts/trace.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, erase, insert, adapt, keys, warm, slots, merge, output;
  double wait = kDefaultWait;
  bool overfill = false, nul = false, json = false;
  TraceOptions live;
};

// How many keys of a file were given, and for how many it was done.
struct Tally {
  std::uint64_t given = 0, done = 0;
  std::uint64_t keys = 0;  // of the given negatives: these are keys, and were left out
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
  LineTally lines;
  const Negatives given = need(read_negatives(key_file(o.adapt, o.nul), f.hasher(), progress, &lines));
  note_negatives(key_file(o.adapt, o.nul).name(), lines);
  std::span<const Digest> digests = given.digests;
  std::span<const float> costs = given.costs;
  Tally t{.given = digests.size()};
  std::vector<Digest> other_digests;
  std::vector<float> other_costs;
  if (!o.keys.empty()) {
    const KeyCheck check = check_for_keys(digests, key_file(o.keys, o.nul), f.hasher(), f.keys(), progress);
    for (std::size_t i = 0; i < digests.size(); ++i)
      if (check.is_key[i] == 0) {
        other_digests.push_back(digests[i]);
        other_costs.push_back(costs[i]);
      }
    digests = other_digests, costs = other_costs;
    t.keys = check.found;
  }
  if (!o.slots.empty()) need(f.attach_key_file(o.slots));
  for (std::size_t i = 0; i < digests.size(); ++i) f.adapt(digests[i], costs[i]);
  need(f.sync_key_file());
  // Counted at the end: where there is no room for all, a later one may have replaced an earlier one.
  for (const Digest& d : digests) t.done += !f.may_contain(d);
  return t;
}

// A key that is reported to such a filter stays a key: its file or its index has all of them.
bool knows_its_keys(const FilterType& t) { return t.write_key_file || t.claims.index_bits_per_key > 0; }

bool grows(const AnyFilter& f) { return metrics_of(f).planned_fpr > 0; }

// Most filters without a limit of their own take keys until they accept everything.
void need_capacity(const Options& o, const AnyFilter& f, std::uint64_t room) {
  if (o.overfill || grows(f) || f.keys() <= room) return;
  throw Failure{
      fmt::format("{}: {} has room for {} keys; with {} it would accept {} of strangers; give --overfill for that, or "
                  "build it again with --capacity {}",
                  o.filter, f.type().name, room, f.keys(), percent(f.expected_fpr()), f.keys())};
}

void warm(const Options& o, AnyFilter& f, const Progress& progress) {
  const Warmth w = f.warmth();
  if (w.room == 0) throw Failure{fmt::format("{}: --warm is given, but {}", o.filter, why_not_refused(f))};
  if (w.learned == 0)
    throw Failure{fmt::format("{}: --warm is given, but it has learned no negative yet; report some with --adapt first",
                              o.filter)};
  const auto keys = need(read_keys(key_file(o.warm, o.nul), f.hasher(), progress));
  if (const auto ok = f.warm(keys); !ok)
    throw Failure{fmt::format("{}: {}; {} is as it was", key_file(o.warm, o.nul).name(), ok.error().message, o.filter)};
}

void check(const Options& o, const AnyFilter& f) {
  const FilterType& type = f.type();
  const bool by_key_file = type.write_key_file != nullptr;
  const auto wants = [&](const std::string& file, bool can, const char* option, const char* what) {
    if (!file.empty() && !can)
      throw Failure{fmt::format("{}: {} is given, but {} {}; see naysay filters", o.filter, option, type.name, what)};
  };
  if (o.erase.empty() && o.insert.empty() && o.adapt.empty() && o.warm.empty() && o.merge.empty() && !o.live.anything())
    throw Failure{"nothing to do; give --erase, --insert, --merge, --adapt, --warm, --pin, --unpin or --trace"};
  wants(o.erase, type.erasable, "--erase", "cannot erase keys");
  wants(o.insert, type.dynamic, "--insert", "accepts no more keys");
  wants(o.merge, type.merging, "--merge", "cannot be merged");
  wants(o.adapt, type.adaptive, "--adapt", "accepts no negatives after it was built");
  wants(o.warm, type.warming, "--warm", "does not warm");
  wants(o.slots, by_key_file, "--slots", "has no such file");
  if (!o.keys.empty() && o.adapt.empty())
    throw Failure{"--keys is given, but it is for the negatives of --adapt; give both, or neither"};
  if (!o.adapt.empty() && by_key_file && o.slots.empty())
    throw Failure{
        fmt::format("{}: --adapt of {} needs --slots, the file that naysay build --slots wrote", o.filter, type.name)};
  check_trace_options(o.live, o.filter, type);
}

void run(const Options& o) {
  const std::string& output = o.output.empty() ? o.filter : o.output;
  const bool piped = o.filter == "-", prints = output == "-";
  if (piped && o.output.empty()) throw Failure{"the filter is -, the standard input; give --output, - or a file"};
  const std::vector<Input> inputs = {{"--erase", o.erase},      {"--insert", o.insert},
                                     {"--adapt", o.adapt},      {"--keys", o.keys},
                                     {"--warm", o.warm},        {"--slots", o.slots},
                                     {"--pin", o.live.pin},     {"--unpin", o.live.unpin},
                                     {"--trace", o.live.trace}, {"--negatives", o.live.negatives},
                                     {"--merge", o.merge}};
  std::vector<Input> all_inputs = inputs;
  all_inputs.push_back({"the filter", o.filter});
  need_one_standard_input(all_inputs);
  need_distinct({{o.output.empty() ? "the filter" : "-o", output}}, inputs);
  need_filter_output("--output", output);
  ProgressBar bar;
  const LockedFile held = piped ? LockedFile() : LockedFile(o.filter, o.wait, &bar);
  const bool other = !prints && (piped || !same_file(o.filter, output));
  const LockedFile held_output = other ? LockedFile(output, o.wait, &bar) : LockedFile();
  if (!prints) mention_leftovers(output);
  AnyFilter f = piped ? open_filter(o.filter) : need(naysay::load(o.filter));
  need_text_filter(f, o.filter);
  check(o, f);
  const Progress progress = bar.callback();
  nlohmann::ordered_json said;
  const std::string name = prints ? "standard output" : escaped(output);
  std::string text;
  const auto add = [&](const Tally& t, const char* done, const char* rest, const std::string& why) {
    said[done] = t.done;
    const std::uint64_t left = t.given - t.keys - t.done;
    said[rest] = left;
    text += fmt::format("{}: {} {}", name, t.done, done);
    if (left > 0) text += fmt::format(", {} {} ({})", left, rest, why);
    if (t.keys > 0) text += fmt::format(", {} left out (they are keys)", t.keys);
    text += '\n';
  };
  if (!o.erase.empty())
    add(for_each_key(o, o.erase, f.hasher(), progress,
                     [&](Digest d) -> Result<bool> { return static_cast<bool>(f.erase(d)); }),
        "erased", "not erased", "the filter denies them");
  if (!o.insert.empty()) {
    const std::uint64_t room = f.facts().room();
    add(for_each_key(o, o.insert, f.hasher(), progress,
                     [&](Digest d) -> Result<bool> {
                       if (f.insert(d)) return true;
                       return Error{Errc::out_of_budget,
                                    fmt::format("{} has no room for more than {} keys: {}; {} is as it was",
                                                f.type().name, f.keys(), why_no_room(f), output)};
                     }),
        "inserted", "not inserted", "no room");
    need_capacity(o, f, room);
  }
  if (!o.merge.empty()) {
    const AnyFilter more = open_filter(o.merge);
    if (const auto ok = f.merge(more); !ok)
      throw Failure{fmt::format("{}: {}; {} is as it was", input_name(o.merge), ok.error().message, output)};
    said["merged"] = more.keys();
    text += fmt::format("{}: {} keys of {} merged\n", name, more.keys(), escaped(input_name(o.merge)));
  }
  if (!o.adapt.empty()) {
    const Tally t = adapt(o, f, progress);
    add(t, "refused", "not refused", why_not_refused(f));
    const bool checked = !o.keys.empty() || knows_its_keys(f.type());
    if (!o.keys.empty()) said["keys"] = t.keys;
    if (!checked)
      text += fmt::format("{}: a key among them would be denied from now on; --keys FILE leaves keys out\n", name);
  }
  if (!o.warm.empty()) {
    warm(o, f, progress);
    said["warm"] = true;
  }
  if (f.type().warming) text += fmt::format("{}: {}\n", name, warmth_text(f));
  run_trace_options(o.live, f, name, o.nul, o.overfill || grows(f) ? 0 : f.facts().room(), progress, said, text);
  save_filter(f, output);
  bar.clear();
  if (o.json) {
    nlohmann::ordered_json j = describe(f);
    j["file"] = output;
    j["update"] = said;
    fmt::print(talk_to(output), "{}\n", json_text(j, 2));
  } else {
    fmt::print(talk_to(output), "{}", text);
  }
}

}  // namespace

void add_update(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("update", "erase and insert keys, and report false positives to a filter");
  c.option("filter", o->filter, "a file that naysay build wrote; - is the standard input")
      .required()
      .type_name("F.nsy");
  c.option("--erase", o->erase, "keys to erase, one per line; each must be in the set, or another key may be lost")
      .type_name("FILE");
  c.option("--insert", o->insert, "keys to insert, one per line; without room for all of them nothing is written")
      .type_name("FILE");
  c.option("--merge", o->merge, "another filter, built with the same options; all its keys are taken in")
      .type_name("F.nsy");
  c.flag("--overfill", o->overfill, "insert more keys than the filter has room for, and accept more strangers for it");
  c.option(
       "--adapt", o->adapt,
       "negatives that were accepted, one key<TAB>cost per line, a missing cost is 1; none may be a key, or the key "
       "is denied from then on")
      .type_name("FILE");
  add_key_check_option(c, o->keys);
  c.option("--warm", o->warm, "all keys that are in the filter, for filters that warm; other keys are refused")
      .type_name("FILE");
  c.option("--slots", o->slots, "the file that naysay build --slots wrote, for filters that need it for --adapt")
      .type_name("F.slots");
  add_trace_options(c, o->live);
  add_wait_option(c, o->wait);
  add_null_option(c, o->nul);
  c.flag("--json", o->json, "describe the filter and what was done as JSON");
  c.option("-o,--output", o->output,
           "the file to write; by default the filter itself, whole or not at all; - is the standard output")
      .type_name("F.nsy");
  c.footer(
      "Erases first, then inserts, merges, adapts and warms, then unpins, pins and replays the trace. Updates of the "
      "same file "
      "wait for each other.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o keys.txt\n"
      "  naysay generate urls --count 100 --first 1000 -o reported.txt\n"
      "  naysay build --keys keys.txt --filter guarded --bits-per-key 16 --capacity 2000 -o set.nsy\n"
      "  naysay update set.nsy --adapt reported.txt --keys keys.txt");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
