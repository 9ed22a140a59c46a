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

// The filter of these parts.
Result<AnyFilter> joined(const std::vector<PartFile>& files, std::span<const FilterPart> parts, unsigned threads) {
  const PartPlan& plan = files[0].plan;
  return plan.type().parted->join(plan.whole(), parts, plan.all_params(),
                                  {.threads = thread_count(threads), .hasher = files[0].hasher()}, KeyKind::text);
}
bool waits_for_limit(const PartPlan& plan, const Error& e) {
  return e.code == Errc::out_of_budget && plan.limit.kind == CostLimit::Kind::open;
}

std::vector<FilterPart> parts_of(std::vector<PartFile>& files) {
  std::vector<FilterPart> parts;
  for (PartFile& file : files) parts.push_back(std::move(file.part));
  return parts;
}

// Parts of one round into the plan of the next.
PartPlan next_plan(const std::vector<std::string>& paths, unsigned threads) {
  std::vector<PartFile> files = read_parts(paths);
  const std::vector<FilterPart> parts = parts_of(files);
  PartPlan plan = files[0].plan;
  const auto filter = joined(files, parts, threads);
  if (!filter && !waits_for_limit(plan, filter.error())) throw failure(filter.error());
  if (!filter) {
    plan.limit = need(plan.type().parted->limit(plan.whole(), parts, plan.all_params(), {.seed = plan.seed}));
    return plan;
  }
  if (plan.holds(filter->expected_fpr()))
    throw Failure{
        fmt::format("{}: its parts need no other round; naysay join makes the filter of them", files[0].path)};
  plan.rates.push_back(filter->expected_fpr());
  plan.limit = {};
  (void)plan.all_params();  // fails if no filter has the rate
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
    const PartFiles files = PartFiles::of(o.input, o.output);
    const Hasher hasher = o.input.hashing.hasher(o.input.seed);
    if (hasher.id == HashId::siphash && !o.input.hashing.has_key())
      throw Failure{"--hash is siphash without a key; all parts need the same one, so give --hash-key-file"};
    plan = plan_of(o.input, hasher);
    if (o.output != "-") need(files::can_create(o.output));
    ProgressBar bar;
    summarise(plan, files, hasher, reading_options(o.input, bar.callback()));
  } else {
    const PartOptions& in = o.input;
    for (const auto& [option, given] :
         {std::pair("--negatives", !in.negatives.empty()), std::pair("--filter", in.filter != "auto"),
          std::pair("the budget", in.budget.given()), std::pair("--param", !in.params.empty()),
          std::pair("--stranger-share", in.stranger_share != Workload{}.stranger_share),
          std::pair("--hash or its key", in.hashing.given()), std::pair("--seed", in.seed != 0),
          std::pair("--null", in.nul), std::pair("--exact", in.exact)})
      if (given)
        throw Failure{
            fmt::format("{} is given with plans or parts; these were made with their own, so leave it out", option)};
    std::vector<Input> inputs;
    for (const std::string& path : o.pieces) inputs.push_back({"a plan or part", path});
    need_distinct({{"-o", o.output}}, inputs);
    if (o.output != "-") need(files::can_create(o.output));
    plan = PartFile::is_one(o.pieces[0]) ? next_plan(o.pieces, o.input.threads) : added_up(o.pieces);
  }
  write_text(o.output, plan.text());
  if (o.output == "-") return;
  fmt::print("{}: {}, {} keys, {} known negatives, seed {}{}\n", escaped(o.output), plan.filter, plan.keys.count,
             plan.negatives.count, plan.seed,
             plan.limit.kind == CostLimit::Kind::open && plan.rates.empty() ? "" : ", for another round");
}

struct JoinOptions {
  std::vector<std::string> parts;
  std::string output;
  double wait = kDefaultWait;
  unsigned threads = 0;
  bool json = false;
};

void run_join(const JoinOptions& o) {
  std::vector<Input> inputs;
  for (const std::string& path : o.parts) inputs.push_back({"a part", path});
  need_distinct({{"-o", o.output}}, inputs);
  need_filter_output("--output", o.output);
  std::vector<PartFile> files = read_parts(o.parts);
  const std::vector<FilterPart> parts = parts_of(files);
  const PartPlan& plan = files[0].plan;
  const FilterType& type = plan.type();
  constexpr const char* kAgain = "naysay plan PARTS... -o PLAN2, then naysay build --part I/N --plan PLAN2";
  auto made = joined(files, parts, o.threads);
  if (!made && waits_for_limit(plan, made.error())) throw Failure{fmt::format("{}: {}", made.error().message, kAgain)};
  const AnyFilter filter = need(std::move(made));
  if (!plan.holds(filter.expected_fpr()))
    throw Failure{fmt::format(
        "{}: it would accept {} of strangers, and --fpr is {}; plan for a lower rate from these parts, and build "
        "them again: {}",
        type.name, percent(filter.expected_fpr()), plan.budget.fpr, kAgain)};
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
  c.option("pieces", o->pieces, "plans of pieces of the input, to add up; or all parts, to plan another round")
      .type_name("FILE");
  c.option("--keys", o->input.keys,
           "the keys, or a piece of them; a file, a folder, a quoted pattern, or - for the standard input")
      .type_name("FILE")
      .repeated();
  c.option("--negatives", o->input.negatives, "known negatives, or a piece of them, one key<TAB>cost per line")
      .type_name("FILE")
      .repeated();
  c.option("--filter", o->input.filter, "the filter's name (see naysay filters), or auto")
      .shows_default()
      .type_name("NAME");
  o->input.budget.add_options(c, Budget::Rates::allowed);
  add_exact_option(c, o->input);
  c.option("--param", o->input.params, "a parameter of the filter; may be repeated").type_name("NAME=VALUE").repeated();
  add_stranger_share(c, o->input.stranger_share);
  o->input.hashing.add_options(c);
  add_seed(c, o->input.seed, "same input, parameters and seed: same bytes");
  add_threads(c, o->input.threads);
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
  add_threads(c, o->threads);
  add_wait_option(c, o->wait);
  c.flag("--json", o->json, "describe the filter as JSON");
  c.option("-o,--output", o->output, "the file to write; - is the standard output").required().type_name("F.nsy");
  c.footer("Example:\n  naysay join set.1 set.2 -o set.nsy        # see naysay plan --help");
  c.runs([o] { run_join(*o); });
}

}  // namespace naysay::cli
