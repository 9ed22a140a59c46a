// SPDX-License-Identifier: Apache-2.0
// naysay verify: is the file whole, and does it hold these keys? 0 yes, 1 it denies a key, 2 error.
#include <fmt/core.h>

#include <memory>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/progress.hpp"
#include "parts/stacks.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::string filter, keys, verify_key;
  bool nul = false;
};

int run(const Options& o) {
  if (is_stack(o.filter)) {
    const KeyFile keys = key_file(o.keys, o.nul);
    return verify_stack(o.filter, o.keys.empty() ? nullptr : &keys, o.verify_key);
  }
  if (!o.verify_key.empty()) throw Failure{fmt::format("--verify-key is given, but {} is no stack", o.filter)};
  const AnyFilter f = need(naysay::open(o.filter));  // checks the header, the checksum and every field
  if (o.keys.empty()) {
    fmt::print("{}: whole, {} of {} keys\n", o.filter, f.type().name, f.keys());
    return 0;
  }
  ProgressBar bar;
  const KeyFile file = key_file(o.keys, o.nul);
  std::uint64_t queried = 0, denied = 0, first_denied = 0;
  need(for_each_line(file, bar.callback(), [&](const Line& line) -> Result<Ok> {
    ++queried;
    if (!f.may_contain(line.text) && denied++ == 0) first_denied = line.number;
    return Ok{};
  }));
  bar.clear();
  if (denied > 0) {
    fmt::print(stderr, "naysay: {}: denies {} of the {} keys, the first at {}:{}; it was built from others\n", o.filter,
               denied, queried, file.name(), first_denied);
    return 1;
  }
  fmt::print("{}: whole, {} of {} keys, and all {} keys of {} may be in it\n", o.filter, f.type().name, f.keys(),
             queried, file.name());
  return 0;
}

}  // namespace

void add_verify(CommandLine& line, int& exit_code) {
  auto o = std::make_shared<Options>();
  Command c = line.command("verify", "check that a file is whole and denies none of its keys");
  c.option("filter", o->filter, "a file that naysay build or naysay apply wrote").required().type_name("F.nsy|F.nst");
  c.option("--keys", o->keys, "keys that must all be in it, one per line; - is the standard input").type_name("FILE");
  c.option("--verify-key", o->verify_key, "the updates of a stack must be signed with this key").type_name("PEM");
  add_null_option(c, o->nul);
  c.footer(
      "Exit code: 0 if all is well, 1 if a key is denied, 2 if the file cannot be read.\n\n"
      "Example:\n"
      "  naysay generate ycsb --count 1000 -o keys.txt\n"
      "  naysay build --keys keys.txt --fpr 0.01 -o set.nsy\n"
      "  naysay verify set.nsy --keys keys.txt");
  c.runs([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace naysay::cli
