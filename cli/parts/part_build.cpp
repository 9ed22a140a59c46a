// SPDX-License-Identifier: Apache-2.0
#include "parts/part_build.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "parts/describe.hpp"
#include "parts/distinct_files.hpp"
#include "parts/failure.hpp"
#include "parts/filter_names.hpp"
#include "parts/inputs.hpp"
#include "parts/output.hpp"
#include "parts/table.hpp"
#include "parts/terminal.hpp"

namespace naysay::cli {

namespace {

constexpr std::uint64_t kAheadBytes = std::uint64_t{1}
                                      << 28;  // of gzip and zstd files that are unpacked before their turn

// Calls take(digest) for every key of the files.
template <class Take>
void for_each_key_of(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& reading, Take take) {
  LineTally tally;
  need(for_each_key(
      files, hasher, reading,
      [&](std::span<const Digest> keys) -> Result<Ok> {
        for (const Digest& d : keys) take(d);
        return Ok{};
      },
      &tally));
  note_keys(names_of(files), tally);
}
// Calls take(digest, cost) for every known negative of the files.
template <class Take>
void for_each_known(std::span<const KeyFile> files, const Hasher& hasher, const ReadingOptions& reading, Take take) {
  if (files.empty()) return;
  LineTally tally;
  need(for_each_negative(
      files, hasher, reading,
      [&](std::span<const Digest> negatives, std::span<const float> costs) -> Result<Ok> {
        for (std::size_t i = 0; i < negatives.size(); ++i) take(negatives[i], costs[i]);
        return Ok{};
      },
      &tally));
  note_negatives(names_of(files), tally);
}

std::string set_difference(const char* what, const char* items, const SetSum& found, const SetSum& planned) {
  return found.count != planned.count ? fmt::format("{} {}, and {} are planned", found.count, what, planned.count)
                                      : fmt::format("other {} than planned, as many", items);
}

}  // namespace

std::vector<Param> parse_params(const std::vector<std::string>& texts) {
  std::vector<Param> params;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Failure{fmt::format("--param is '{}'; it must be NAME=VALUE", text)};
    params.push_back({text.substr(0, equals), text.substr(equals + 1)});
    if (params.back().name == "bits_per_key") throw Failure{"--param cannot set bits_per_key; give --bits-per-key"};
  }
  return params;
}

void add_exact_option(Command& command, PartOptions& o) {
  command.flag("--exact", o.exact,
               "refused: the fewest bits are found by building several plans; use naysay build on one machine");
}

PartPlan plan_of(const PartOptions& o, const Hasher& hasher) {
  if (o.exact)
    throw Failure{
        "--exact is given, but the fewest bits are found by building several plans and comparing them; give "
        "--bits-per-key without it: naysay join --json says how many known negatives are left over"};
  PartPlan plan;
  plan.filter = o.filter;
  plan.budget = PlannedBudget::of(o.budget);
  plan.params = parse_params(o.params);
  plan.stranger_share = o.stranger_share;
  plan.seed = o.seed;
  plan.hash = hash_text(hasher);
  // Everything that can be checked without reading a key is checked before a key is read.
  if (plan.filter != "auto") (void)plan.type();
  if (plan.filter != "auto" && plan.budget.bytes.empty())
    (void)need(plan.type().parted->shards(plan.whole(), plan.all_params()));
  return plan;
}

PartFiles PartFiles::of(const PartOptions& o, const std::string& output, const std::string& plan) {
  PartFiles files{key_files(o.keys, o.nul), key_files(o.negatives, o.nul)};
  std::vector<Input> inputs;
  add_inputs(inputs, "--keys", files.keys);
  add_inputs(inputs, "--negatives", files.negatives);
  inputs.push_back({"--hash-key-file", o.hashing.key_file()});
  if (!plan.empty()) inputs.push_back({"--plan", plan});
  need_one_standard_input(inputs);
  need_distinct({{"-o", output}}, inputs);
  return files;
}

ReadingOptions reading_options(const PartOptions& o, const Progress& progress) {
  return {.threads = thread_count(o.threads), .progress = progress, .ahead_bytes = kAheadBytes};
}

void summarise(PartPlan& plan, const PartFiles& files, const Hasher& hasher, const ReadingOptions& reading) {
  for_each_key_of(files.keys, hasher, reading, [&](Digest d) { plan.add_key(d); });
  for_each_known(files.negatives, hasher, reading, [&](Digest d, float cost) { plan.add_negative(d, cost); });
}

namespace {

// Options that are given must be the plan's; those that are left out are taken from it.
void need_agreement(const PartOptions& o, const PartPlan& plan, const std::string& plan_path, const Hasher& hasher) {
  const auto refuse = [&](const char* option, const auto& given, const auto& planned) {
    throw Failure{fmt::format("{} is {}, but the plan {} was made with {}; build all parts with the plan's options",
                              option, given, plan_path, planned)};
  };
  if (o.filter != "auto" && o.filter != plan.filter) refuse("--filter", o.filter, plan.filter);
  if (o.budget.given())
    if (const PlannedBudget mine = PlannedBudget::of(o.budget); mine != plan.budget)
      refuse("the budget", mine.text(), plan.budget.text());
  if (!o.params.empty()) {
    PartPlan mine = plan;
    mine.params = parse_params(o.params);
    if (const std::string d = mine.difference(plan, false); !d.empty())
      throw Failure{fmt::format("the plan {} was made with other parameters: {}", plan_path, d)};
  }
  if (o.seed != 0 && o.seed != plan.seed) refuse("--seed", o.seed, plan.seed);
  if (o.stranger_share != Workload{}.stranger_share && o.stranger_share != plan.stranger_share)
    refuse("--stranger-share", o.stranger_share, plan.stranger_share);
  if (hash_text(hasher) != plan.hash)
    throw Failure{fmt::format("the plan {} was made with {}; give the same --hash and its key", plan_path,
                              plan.hash.starts_with("siphash") == (hasher.id == HashId::siphash)
                                  ? "another key of the hash"
                                  : "--hash " + plan.hash.substr(0, plan.hash.find(' ')))};
}

}  // namespace

void build_part(const PartOptions& o, const std::string& plan_path, const PartNumber& number, const std::string& output,
                bool json) {
  if (output == "-") throw Failure{"--output is -; a part is a file, which appears whole or not at all"};
  const PartFiles files = PartFiles::of(o, output, plan_path);
  need(files::can_create(output));
  const PartPlan plan = PartPlan::read(plan_path);
  const Hasher hasher = o.hashing.hasher(plan.seed);
  need_agreement(o, plan, plan_path, hasher);
  const FilterType& type = plan.type();
  const Whole whole = plan.whole();
  const std::vector<Param> params = plan.all_params();
  const ShardMap map = need(type.parted->shards(whole, params));
  const ShardRange range = shard_range(map.size(), number.index - 1, number.parts);
  const HiRange own = map.range(range);
  mention_leftovers(output);

  ProgressBar bar;
  const ReadingOptions reading = reading_options(o, bar.callback());
  SetSum keys_seen, negatives_seen;
  GrowingArray<Digest> keys;
  Negatives known;
  std::vector<std::uint32_t> counts(map.size());
  bool memory = true;
  for_each_key_of(files.keys, hasher, reading, [&](Digest d) {
    keys_seen.add(d);
    ++counts[map.of(d)];
    if (own.has(d)) memory = memory && keys.push(d);
  });
  if (keys_seen != plan.keys)
    throw Failure{fmt::format("{}: it has {} in {}; build all parts from the planned input, or plan again",
                              names_of(files.keys), set_difference("keys", "keys", keys_seen, plan.keys), plan_path)};
  for_each_known(files.negatives, hasher, reading, [&](Digest d, float cost) {
    negatives_seen.add(d, cost);
    if (type.claims.uses_negatives && own.has(d)) memory = memory && known.digests.push(d) && known.costs.push(cost);
  });
  if (negatives_seen != plan.negatives)
    throw Failure{fmt::format(
        "{}: it has {} in {}; build all parts from the planned input, or plan again",
        files.negatives.empty() ? "--negatives" : names_of(files.negatives),
        set_difference("known negatives", "known negatives or costs", negatives_seen, plan.negatives), plan_path)};
  if (!memory)
    throw Failure{fmt::format("there is no memory for the {} keys and {} known negatives of this part; use more parts",
                              keys.size(), known.digests.size())};
  const PartInput input{.workload = {.keys = keys, .negatives = known.digests, .costs = known.costs},
                        .first = range.first,
                        .last = range.last,
                        .counts = counts};
  const FilterPart part = need(type.parted->build(
      whole, input, params,
      {.seed = plan.seed, .threads = reading.threads, .hasher = hasher, .progress = bar.callback()}, nullptr));
  write_part(output, number, plan.text(), hasher, part);
  bar.clear();
  if (json) {
    nlohmann::ordered_json j;
    j["file"] = output;
    j["filter"] = type.name;
    j["part"] = number.index;
    j["parts"] = number.parts;
    j["shards"] = part.last - part.first;
    j["keys"] = part.keys;
    j["negatives"] = known.digests.size();
    j["left_over"] = part.left_over;
    j["complete"] = part.complete;
    fmt::print("{}\n", json_text(j, 2));
  } else {
    fmt::print("{}: part {} of a {}, {} of {} shards, {} keys, {} known negatives{}\n", escaped(output), number.text(),
               type.name, part.last - part.first, map.size(), part.keys, known.digests.size(),
               part.complete ? "" : "; it waits for a plan of all parts");
  }
}

}  // namespace naysay::cli
