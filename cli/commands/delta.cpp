// SPDX-License-Identifier: Apache-2.0
// naysay delta: what changed since a state, as a small file. naysay rollup: the same from the state's base, in place of
// all updates in between.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"
#include "parts/update_options.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::vector<std::string> state;
  std::string keys, negatives, dropped, verify_key, output;
  UpdateOptions update;
  bool nul = false, json = false;
};

void run(const Options& o, bool rollup) {
  o.update.check();
  if (o.update.ghosts && !o.dropped.empty()) throw Failure{"--dropped and --ghosts are given; give only one of them"};
  std::vector<Input> inputs = {{"--keys", o.keys}, {"--negatives", o.negatives}, {"--dropped", o.dropped}};
  need_one_standard_input(inputs);
  inputs.push_back({"--verify-key", o.verify_key});
  inputs.push_back({"--sign-key", o.update.sign_key});
  for (const std::string& file : o.state) inputs.push_back({"--state", file});
  need_distinct({{"-o", o.output}}, inputs);
  need_filter_output("--output", o.output);
  if (o.output != "-") mention_leftovers(o.output);
  DeltaTask task = o.update.task();
  const Stack all = need(Stack::open(o.state[0], std::span(o.state).subspan(1), checks_of(o.verify_key, true)));
  if (rollup && all.updates().empty()) throw Failure{fmt::format("{}: has no updates to roll up", o.state[0])};
  if (!all.updates().empty()) {
    const DeltaFacts& last = all.updates().back().delta.facts();
    if (o.update.list.empty()) task.list = last.list;
    if (o.update.partition == 0) task.partition = last.partition;
  }
  ProgressBar bar;
  task.progress = bar.callback();
  const auto keys = need(read_keys(key_file(o.keys, o.nul), all.hasher(), bar.callback()));
  const auto negatives = o.negatives.empty()
                             ? Negatives{}
                             : need(read_negatives(key_file(o.negatives, o.nul), all.hasher(), bar.callback()));
  GrowingArray<Digest> dropped;
  if (!o.dropped.empty()) dropped = need(read_keys(key_file(o.dropped, o.nul), all.hasher(), bar.callback()));
  task.keys = keys;
  task.negatives = negatives.digests;
  task.dropped = dropped;
  task.ghosts = o.update.ghosts || o.dropped.empty();
  task.rollup = rollup;
  if (rollup) task.to_sequence = all.sequence();
  const Stack from = need(all.first(rollup ? 0 : all.updates().size()));
  const auto bytes = need(make_delta(from, task));
  if (o.output != "-")
    need(files::write_atomically(o.output, bytes));
  else
    write_standard_output(bytes);
  bar.clear();
  say_update(o.output, bytes, o.json);
}

void add(CommandLine& line, bool rollup, const char* name, const char* about, const char* footer) {
  auto o = std::make_shared<Options>();
  Command c = line.command(name, about);
  c.option("--state", o->state, "the state that clients have: a base and its updates in their order, or a stack")
      .required()
      .type_name("F.nsy|F.nst [D.nsd]");
  c.option("--keys", o->keys, "all keys of the list from now on, one per line; - is the standard input")
      .required()
      .type_name("FILE");
  c.option("--negatives", o->negatives, "known negatives, one key<TAB>cost per line").type_name("FILE");
  c.option("--dropped", o->dropped,
           rollup ? "keys that left the list since the base, one per line; none of them is accepted then"
                  : "keys that left the list, one per line (all earlier keys will do); none of them is accepted then")
      .type_name("FILE");
  o->update.add_options(c);
  c.option("--verify-key", o->verify_key, "refuse a state whose updates are not signed with this key").type_name("PEM");
  add_null_option(c, o->nul);
  c.flag("--json", o->json, "describe the update as JSON");
  c.option("-o,--output", o->output, "the file to write, after all listed keys were checked; - is the standard output")
      .required()
      .type_name("D.nsd");
  c.footer(footer);
  c.runs([o, rollup] { run(*o, rollup); });
}

}  // namespace

void add_delta(CommandLine& line, int&) {
  add(line, false, "delta", "write what changed in a list since a state, as a small update",
      "Without --dropped, keys that left the list may still be accepted, as with --ghosts; known negatives never "
      "are.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o old.txt\n"
      "  naysay generate urls --count 1000 --first 20 -o new.txt\n"
      "  naysay build --keys old.txt --bits-per-key 12 -o base.nsy\n"
      "  naysay delta --state base.nsy --keys new.txt --dropped old.txt -o monday.nsd");
}

void add_rollup(CommandLine& line, int&) {
  add(line, true, "rollup", "write one update in place of all updates since a base",
      "Example:\n"
      "  naysay generate urls --count 1000 -o old.txt\n"
      "  naysay generate urls --count 1000 --first 20 -o new.txt\n"
      "  naysay build --keys old.txt --bits-per-key 12 -o base.nsy\n"
      "  naysay delta --state base.nsy --keys new.txt --dropped old.txt -o monday.nsd\n"
      "  naysay rollup --state base.nsy monday.nsd --keys new.txt --dropped old.txt -o week.nsd");
}

}  // namespace naysay::cli
