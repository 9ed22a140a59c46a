// SPDX-License-Identifier: Apache-2.0
// naysay plan: what the parts of one filter must agree on. naysay join: the parts into the filter.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands/commands.hpp"
#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_files.hpp"
#include "parts/inputs.hpp"
#include "parts/locked_file.hpp"
#include "parts/output.hpp"
#include "parts/part_build.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

struct PlanOptions {
  std::vector<std::string> pieces;
  PartOptions input;
  std::string output;
};

void write_text(const std::string& path, const std::string& text) {
  Output out(path);
  out.write(text);
  out.finish();
}

// Plans of pieces of the input into the plan of all.
PartPlan added_up(const std::vector<std::string>& paths) {
  PartPlan plan = PartPlan::read(paths[0]);
  for (std::size_t i = 1; i < paths.size(); ++i) plan.add(PartPlan::read(paths[i]), paths[0], paths[i]);
  return plan;
}

// Parts of the first round into the plan of the second.
PartPlan second_plan(const std::vector<std::string>& paths) {
  std::vector<PartFile> files = read_parts(paths);
  std::vector<FilterPart> parts;
  for (PartFile& file : files) parts.push_back(std::move(file.part));
  PartPlan plan = files[0].plan;
  if (plan.limit.kind != CostLimit::Kind::open)
    throw Failure{
        fmt::format("{}: it was built in the second round; naysay join makes the filter of it", files[0].path)};
  plan.limit = need(plan.type().parted->limit(plan.whole(), parts, plan.all_params(), {.seed = plan.seed}));
  return plan;
}

void run_plan(const PlanOptions& o) {
  PartPlan plan;
  const bool from_input = !o.input.keys.empty();
  if (from_input && !o.pieces.empty())
    throw Failure{fmt::format("--keys and {} are given; give keys and negatives, or plans or parts to put together",
                              o.pieces[0])};
  if (!from_input && o.pieces.empty())
    throw Failure{"nothing to plan is given; give --keys, or plans of pieces of the input, or parts"};
  if (from_input) {
    const std::vector<Input> inputs = inputs_of(o.input);
    need_one_standard_input(inputs);
    need_distinct({{"-o", o.output}}, inputs);
    const Hasher hasher = o.input.hashing.hasher(o.input.seed);
    if (hasher.id == HashId::siphash && !o.input.hashing.has_key())
      throw Failure{"--hash is siphash without a key; all parts need the same one, so give --hash-key-file"};
    plan = plan_of(o.input, hasher);
    if (o.output != "-") need(files::can_create(o.output));
    ProgressBar bar;
    summarise(plan, o.input, hasher, bar.callback());
  } else {
    const PartOptions& in = o.input;
    for (const auto& [option, given] :
         {std::pair("--negatives", !in.negatives.empty()), std::pair("--filter", in.filter != "auto"),
          std::pair("the budget", in.budget.given()), std::pair("--param", !in.params.empty()),
          std::pair("--stranger-share", in.stranger_share != Workload{}.stranger_share),
          std::pair("--hash or its key", in.hashing.given()), std::pair("--seed", in.seed != 0),
          std::pair("--null", in.nul)})
      if (given)
        throw Failure{
            fmt::format("{} is given with plans or parts; these were made with their own, so leave it out", option)};
    plan = PartFile::is_one(o.pieces[0]) ? second_plan(o.pieces) : added_up(o.pieces);
  }
  write_text(o.output, plan.text());
  if (o.output == "-") return;
  fmt::print("{}: {}, {} keys, {} known negatives, seed {}{}\n", escaped(o.output), plan.filter, plan.keys.count,
             plan.negatives.count, plan.seed, plan.limit.kind == CostLimit::Kind::open ? "" : ", second round");
}

struct JoinOptions {
  std::vector<std::string> parts;
  std::string output;
  double wait = kDefaultWait;
  bool json = false;
};

void run_join(const JoinOptions& o) {
  std::vector<Input> inputs;
  for (const std::string& path : o.parts) inputs.push_back({"a part", path});
  need_distinct({{"-o", o.output}}, inputs);
  need_filter_output("--output", o.output);
  std::vector<PartFile> files = read_parts(o.parts);
  std::vector<FilterPart> parts;
  for (PartFile& file : files) parts.push_back(std::move(file.part));
  const PartPlan& plan = files[0].plan;
  const FilterType& type = plan.type();
  auto joined = type.parted->join(plan.whole(), parts, plan.all_params(), {.hasher = files[0].hasher()}, KeyKind::text);
  if (!joined && joined.error().code == Errc::out_of_budget && plan.limit.kind == CostLimit::Kind::open)
    throw Failure{joined.error().message +
                  ": naysay plan PARTS... -o PLAN2, then naysay build --part I/N --plan PLAN2"};
  const AnyFilter filter = need(std::move(joined));
  {
    const LockedFile held = o.output == "-" ? LockedFile() : LockedFile(o.output, o.wait);
    save_filter(filter, o.output);
  }
  std::FILE* talk = talk_to(o.output);
  if (o.json) {
    nlohmann::ordered_json j = describe(filter);
    j["file"] = o.output;
    j["negatives"] = plan.negatives.count;
    j["parts"] = parts.size();
    std::uint64_t left = 0, contradictions = 0;
    for (const FilterPart& part : parts) left += part.left_over, contradictions += part.contradictions;
    j["report"] = {{"left over", left}, {"contradictions", contradictions}};
    fmt::print(talk, "{}\n", json_text(j, 2));
    return;
  }
  fmt::print(talk, "{}: {} of {} keys from {} parts, {}, {} bits per key, accepts {} of strangers\n",
             o.output == "-" ? "standard output" : escaped(o.output), type.name, filter.keys(), parts.size(),
             bytes_text(size_bytes(filter)), number(bits_per_key(filter)), percent(filter.expected_fpr()));
}

}  // namespace

void add_plan(CommandLine& line, int&) {
  auto o = std::make_shared<PlanOptions>();
  Command c = line.command("plan", "plan a filter that many machines build in parts");
  c.option("pieces", o->pieces, "plans of pieces of the input, to add up; or all parts, to plan their second round")
      .type_name("FILE");
  c.option("--keys", o->input.keys, "the keys, or a piece of them; - is the standard input")
      .type_name("FILE")
      .repeated();
  c.option("--negatives", o->input.negatives, "known negatives, or a piece of them, one key<TAB>cost per line")
      .type_name("FILE")
      .repeated();
  c.option("--filter", o->input.filter, "the filter's name (see naysay filters), or auto")
      .shows_default()
      .type_name("NAME");
  o->input.budget.add_options(c, Budget::Rates::refused);
  c.option("--param", o->input.params, "a parameter of the filter; may be repeated").type_name("NAME=VALUE").repeated();
  add_stranger_share(c, o->input.stranger_share);
  o->input.hashing.add_options(c);
  add_seed(c, o->input.seed, "same input, parameters and seed: same bytes");
  add_null_option(c, o->input.nul);
  c.option("-o,--output", o->output, "the plan to write; - is the standard output").required().type_name("PLAN");
  c.footer(
      "Example:\n"
      "  naysay plan --keys keys.txt --negatives negatives.tsv --bits-per-key 12 -o set.plan\n"
      "  naysay build --part 1/2 --plan set.plan --keys keys.txt --negatives negatives.tsv -o set.1\n"
      "  naysay build --part 2/2 --plan set.plan --keys keys.txt --negatives negatives.tsv -o set.2\n"
      "  naysay join set.1 set.2 -o set.nsy");
  c.runs([o] { run_plan(*o); });
}

void add_join(CommandLine& line, int&) {
  auto o = std::make_shared<JoinOptions>();
  Command c = line.command("join", "join the parts of a filter, which naysay build --part wrote");
  c.option("parts", o->parts, "all parts, in any order").required().type_name("PART");
  add_wait_option(c, o->wait);
  c.flag("--json", o->json, "describe the filter as JSON");
  c.option("-o,--output", o->output, "the file to write; - is the standard output").required().type_name("F.nsy");
  c.footer("Example:\n  naysay join set.1 set.2 -o set.nsy        # see naysay plan --help");
  c.runs([o] { run_join(*o); });
}

}  // namespace naysay::cli
