// SPDX-License-Identifier: Apache-2.0
// naysay apply: a base and its updates, all checked, as one file to map.
#include <fmt/core.h>

#include <memory>
#include <span>
#include <vector>

#include "commands/commands.hpp"
#include "naysay/core/files.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/table.hpp"
#include "parts/update_options.hpp"

namespace naysay::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string verify_key, output;
  bool allow_expired = false;
};

void run(const Options& o) {
  // A stack may be replaced by itself and more updates; anything else that is read would be lost.
  const bool in_place = same_file(o.files[0], o.output) && is_stack_file(o.files[0]);
  std::vector<Input> inputs = {{"--verify-key", o.verify_key}};
  for (const std::string& file : std::span(o.files).subspan(in_place ? 1 : 0)) inputs.push_back({"one of FILES", file});
  need_distinct({{"-o", o.output}}, inputs);
  need_filter_output("--output", o.output);
  const bool to_file = o.output != "-";
  const LockedFile held = to_file ? LockedFile(o.output) : LockedFile();
  if (to_file) mention_leftovers(o.output);
  const Stack stack =
      need(Stack::open(o.files[0], std::span(o.files).subspan(1), checks_of(o.verify_key, o.allow_expired)));
  if (to_file)
    need(stack.save(o.output));
  else
    write_standard_output(need(stack.to_bytes()));
  fmt::print(talk_to(o.output), "{}: {} of {} keys, {} updates of {}, accepts {} of strangers\n", output_name(o.output),
             stack.base().type().name, stack.keys(), stack.updates().size(), bytes_text(stack.update_bytes()),
             percent(stack.expected_fpr()));
}

}  // namespace

void add_apply(CommandLine& line, int&) {
  auto o = std::make_shared<Options>();
  Command c = line.command("apply", "join a base and its updates into one file");
  c.option("files", o->files, "a base or a stack, and the updates after it in their order")
      .required()
      .type_name("F.nsy|F.nst D.nsd...");
  c.option("--verify-key", o->verify_key, "refuse updates that are not signed with this key (openssl pkey -pubout)")
      .type_name("PEM");
  c.flag("--allow-expired", o->allow_expired, "take updates that have expired");
  c.option("-o,--output", o->output, "the file to write, whole or not at all; - is the standard output")
      .required()
      .type_name("F.nst");
  c.footer(
      "An update that is missing, repeated, foreign, expired, forged or cut off is refused, and nothing is written.\n\n"
      "Example:\n"
      "  naysay generate urls --count 1000 -o old.txt\n"
      "  naysay generate urls --count 1000 --first 20 -o new.txt\n"
      "  naysay build --keys old.txt --bits-per-key 12 -o base.nsy\n"
      "  naysay delta --state base.nsy --keys new.txt --dropped old.txt -o monday.nsd\n"
      "  naysay apply base.nsy monday.nsd -o list.nst");
  c.runs([o] { run(*o); });
}

}  // namespace naysay::cli
