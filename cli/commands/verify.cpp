// SPDX-License-Identifier: Apache-2.0
// naysay verify: is the file whole, and does it hold these keys? 0 yes, 1 it denies a key or accepts a negative that it must refuse, 2 error.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/progress.hpp"
#include "parts/stacks.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, keys, negatives, verify_key;
  bool nul = false;
};

// Both add to `good` what is right, or print what is wrong.
bool holds_keys(const Options& o, const AnyFilter& f, const std::string& name, std::string& good) {
  ProgressBar bar;
  LineTally tally;
  const KeyFile file = key_file(o.keys, o.nul);
  std::uint64_t denied = 0, first_denied = 0;
  need(for_each_line(file, bar.callback(), [&](const Line& line) -> Result<Ok> {
    tally.see(line.text);
    if (!f.may_contain(line.text) && denied++ == 0) first_denied = line.number;
    return Ok{};
  }));
  bar.clear();
  if (tally.lines > 0) note_keys(file, tally);
  if (denied > 0)
    note(fmt::format("{}: denies {} of the {} keys, the first at {}:{}; it was built from others", name, denied,
                     tally.lines, file.name(), first_denied));
  good += fmt::format(", and all {} keys of {} may be in it", tally.lines, file.name());
  return denied == 0;
}

bool refuses_negatives(const Options& o, const AnyFilter& f, const std::string& name, std::string& good) {
  ProgressBar bar;
  LineTally tally;
  const KeyFile file = key_file(o.negatives, o.nul);
  std::uint64_t accepted = 0, first_accepted = 0;
  double cost = 0, accepted_cost = 0;
  need(for_each_line(file, bar.callback(), [&](const Line& line) -> Result<Ok> {
    tally.see(line.text);
    NAYSAY_TRY(const CostedKey negative, parse_negative(line.text));
    cost += negative.cost;
    if (!f.may_contain(negative.key)) return Ok{};
    accepted_cost += negative.cost;
    if (accepted++ == 0) first_accepted = line.number;
    return Ok{};
  }));
  bar.clear();
  note_negatives(file, tally);
  if (accepted > 0)
    note(fmt::format("{}: accepts {} of the {} negatives, {} of their cost, the first at {}:{}", name, accepted,
                     tally.lines, percent(cost > 0 ? accepted_cost / cost : 0), file.name(), first_accepted));
  good += fmt::format(", and it refuses all {} negatives of {}", tally.lines, file.name());
  return accepted == 0;
}

int run(const Options& o) {
  need_one_standard_input({{"the filter", o.filter}, {"--keys", o.keys}, {"--negatives", o.negatives}});
  if (o.filter != "-" && is_stack(o.filter)) {
    if (!o.negatives.empty()) throw Failure{fmt::format("{}: is a stack; --negatives takes a single filter", o.filter)};
    const KeyFile keys = key_file(o.keys, o.nul);
    return verify_stack(o.filter, o.keys.empty() ? nullptr : &keys, o.verify_key);
  }
  if (!o.verify_key.empty()) throw Failure{fmt::format("--verify-key is given, but {} is no stack", o.filter)};
  const AnyFilter f = open_filter(o.filter);  // checks the header, the checksum and every field
  if (!o.keys.empty() || !o.negatives.empty()) need_text_filter(f, o.filter);
  const std::string name = input_name(o.filter);
  std::string good = fmt::format("{}: whole, {} of {} keys", name, f.type().name, f.keys());
  const bool holds = o.keys.empty() || holds_keys(o, f, name, good);
  const bool refuses = o.negatives.empty() || refuses_negatives(o, f, name, good);
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
  c.option("--keys", o->keys, "keys that must all be in it, one per line; - is the standard input").type_name("FILE");
  c.option("--negatives", o->negatives, "negatives that it must all refuse, one key<TAB>cost per line")
      .type_name("FILE");
  c.option("--verify-key", o->verify_key, "the updates of a stack must be signed with this key").type_name("PEM");
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
