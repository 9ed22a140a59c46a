// SPDX-License-Identifier: Apache-2.0
// naysay verify: is the file whole, and does it hold these keys? 0 yes, 1 it denies a key or accepts a negative that it must refuse, 2 error.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/ask_all.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/stacks.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, verify_key;
  std::vector<std::string> keys, negatives;
  unsigned threads = 0;
  bool nul = false;
};

// Both add to `good` what is right, or print what is wrong.
bool holds_keys(const Options& o, std::span<const KeyFile> files, const AnyFilter& f, const std::string& name,
                std::string& good) {
  const Answers a = ask_all(files, LinesAre::keys, thread_count(o.threads),
                            [&](std::span<const std::string_view> keys, std::vector<std::uint8_t>& answers) {
                              f.may_contain(keys, answers);
                            });
  if (a.tally.lines > 0) note_keys(names_of(files), a.tally);
  const std::uint64_t denied = a.tally.lines - a.accepted;
  if (denied > 0)
    note(fmt::format("{}: denies {} of the {} keys, the first at {}; it was built from others", name, denied,
                     a.tally.lines, a.first_denied));
  good += fmt::format(", and all {} keys of {} may be in it", a.tally.lines, names_of(files));
  return denied == 0;
}

bool refuses_negatives(const Options& o, std::span<const KeyFile> files, const AnyFilter& f, const std::string& name,
                       std::string& good) {
  const Answers a = ask_all(files, LinesAre::negatives, thread_count(o.threads),
                            [&](std::span<const std::string_view> keys, std::vector<std::uint8_t>& answers) {
                              f.may_contain(keys, answers);
                            });
  note_negatives(names_of(files), a.tally);
  if (a.accepted > 0)
    note(fmt::format("{}: accepts {} of the {} negatives, {} of their cost, the first at {}", name, a.accepted,
                     a.tally.lines, percent(a.cost > 0 ? a.accepted_cost / a.cost : 0), a.first_accepted));
  good += fmt::format(", and it refuses all {} negatives of {}", a.tally.lines, names_of(files));
  return a.accepted == 0;
}

int run(const Options& o) {
  const std::vector<KeyFile> keys = key_files(o.keys, o.nul), negatives = key_files(o.negatives, o.nul);
  std::vector<Input> inputs = {{"the filter", o.filter}};
  add_inputs(inputs, "--keys", keys);
  add_inputs(inputs, "--negatives", negatives);
  need_one_standard_input(inputs);
  if (o.filter != "-" && is_stack(o.filter)) {
    if (!o.negatives.empty()) throw Failure{fmt::format("{}: is a stack; --negatives takes a single filter", o.filter)};
    return verify_stack(o.filter, keys, thread_count(o.threads), o.verify_key);
  }
  if (!o.verify_key.empty()) throw Failure{fmt::format("--verify-key is given, but {} is no stack", o.filter)};
  const AnyFilter f = open_filter(o.filter);  // checks the header, the checksum and every field
  if (!o.keys.empty() || !o.negatives.empty()) need_text_filter(f, o.filter);
  const std::string name = input_name(o.filter);
  std::string good = fmt::format("{}: whole, {} of {} keys", name, f.type().name, f.keys());
  const bool holds = o.keys.empty() || holds_keys(o, keys, f, name, good);
  const bool refuses = o.negatives.empty() || refuses_negatives(o, negatives, f, name, good);
  if (!holds || !refuses) return 1;
  say(good);
  return 0;
}

}  // namespace

void add_verify(CommandLine& line, int& exit_code) {
  auto o = std::make_shared<Options>();
  Command c = line.command("verify", "check that a file is whole and denies none of its keys");
  c.option("filter", o->filter, "a file that naysay build or naysay apply wrote; - is the standard input")
      .required()
      .type_name("F.nsy|F.nst");
  c.option("--keys", o->keys, "keys that must all be in it, one per line: a file, a folder, a quoted pattern, or -")
      .type_name("FILE")
      .repeated();
  c.option("--negatives", o->negatives, "negatives that it must all refuse, one key<TAB>cost per line")
      .type_name("FILE")
      .repeated();
  c.option("--verify-key", o->verify_key, "the updates of a stack must be signed with this key").type_name("PEM");
  add_threads(c, o->threads);
  add_null_option(c, o->nul);
  c.footer(
      "Exit code: 0 if all is well, 1 if a key is denied or a negative accepted, 2 if the file cannot be read.\n\n"
      "Example:\n"
      "  naysay generate ycsb --count 1000 -o keys.txt\n"
      "  naysay build --keys keys.txt --fpr 0.01 -o set.nsy\n"
      "  naysay verify set.nsy --keys keys.txt");
  c.runs([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace naysay::cli
