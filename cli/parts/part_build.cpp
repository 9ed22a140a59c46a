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

// Calls take(digest) for every key of the files.
template <class Take>
void for_each_key(const std::vector<std::string>& paths, bool nul, const Hasher& hasher, const Progress& progress,
                  Take take) {
  for (const std::string& path : paths) {
    const KeyFile file = key_file(path, nul);
    LineTally tally;
    need(for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
      tally.see(line.text);
      take(hasher(line.text));
      return Ok{};
    }));
    note_keys(file.name(), tally);
  }
}
// Calls take(digest, cost) for every known negative of the files.
template <class Take>
void for_each_known(const std::vector<std::string>& paths, bool nul, const Hasher& hasher, const Progress& progress,
                    Take take) {
  for (const std::string& path : paths) {
    const KeyFile file = key_file(path, nul);
    LineTally tally;
    need(for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
      tally.see(line.text);
      NAYSAY_TRY(const CostedKey parsed, parse_negative(line.text));
      take(hasher(parsed.key), parsed.cost);
      return Ok{};
    }));
    note_negatives(file.name(), tally);
  }
}

// "keys.txt", or "keys.txt and 3 more files".
std::string names(const char* option, const std::vector<std::string>& paths) {
  if (paths.empty()) return option;
  const std::string first = paths[0] == "-" ? "standard input" : paths[0];
  return paths.size() == 1 ? first : fmt::format("{} and {} more files", first, paths.size() - 1);
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

PartPlan plan_of(const PartOptions& o, const Hasher& hasher) {
  o.budget.check();
  if (o.budget.is_rate())
    throw Failure{
        "--fpr is given, but the bits of a rate are found by building; a build in parts needs --bits-per-key or "
        "--bytes"};
  PartPlan plan;
  plan.filter = o.filter;
  (o.budget.is_bytes() ? plan.bytes : plan.bits_per_key) =
      o.budget.is_bytes() ? to_text(static_cast<std::uint64_t>(o.budget.bits_per_key(1) / 8))
                          : to_text(o.budget.bits_per_key(1));
  plan.params = parse_params(o.params);
  plan.stranger_share = o.stranger_share;
  plan.seed = o.seed;
  plan.hash = hash_text(hasher);
  // Everything that can be checked without reading a key is checked before a key is read.
  if (plan.filter != "auto") (void)plan.type();
  if (plan.filter != "auto" && plan.bytes.empty())
    (void)need(plan.type().parted->shards(plan.whole(), plan.all_params()));
  return plan;
}

void summarise(PartPlan& plan, const PartOptions& o, const Hasher& hasher, const Progress& progress) {
  for_each_key(o.keys, o.nul, hasher, progress, [&](Digest d) { plan.keys.add(d); });
  for_each_known(o.negatives, o.nul, hasher, progress, [&](Digest d, float cost) {
    plan.negatives.add(d, cost);
    plan.costs.add(cost);
  });
}

std::vector<Input> inputs_of(const PartOptions& o) {
  std::vector<Input> inputs;
  for (const std::string& path : o.keys) inputs.push_back({"--keys", path});
  for (const std::string& path : o.negatives) inputs.push_back({"--negatives", path});
  inputs.push_back({"--hash-key-file", o.hashing.key_file()});
  return inputs;
}

namespace {

// Options that are given must be the plan's; those that are left out are taken from it.
void need_agreement(const PartOptions& o, const PartPlan& plan, const std::string& plan_path, const Hasher& hasher) {
  const auto refuse = [&](const char* option, const auto& given, const auto& planned) {
    throw Failure{fmt::format("{} is {}, but the plan {} was made with {}; build all parts with the plan's options",
                              option, given, plan_path, planned)};
  };
  if (o.filter != "auto" && o.filter != plan.filter) refuse("--filter", o.filter, plan.filter);
  if (o.budget.given()) {
    o.budget.check();
    if (o.budget.is_rate()) throw Failure{"--fpr is given with --plan; the plan has the budget, so leave it out"};
    PartPlan mine = plan;
    mine.bits_per_key.clear(), mine.bytes.clear();
    (o.budget.is_bytes() ? mine.bytes : mine.bits_per_key) =
        o.budget.is_bytes() ? to_text(static_cast<std::uint64_t>(o.budget.bits_per_key(1) / 8))
                            : to_text(o.budget.bits_per_key(1));
    if (mine.bytes != plan.bytes || mine.bits_per_key != plan.bits_per_key)
      refuse("the budget", mine.bytes.empty() ? mine.bits_per_key + " bits per key" : mine.bytes + " bytes",
             plan.bytes.empty() ? plan.bits_per_key + " bits per key" : plan.bytes + " bytes");
  }
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
  std::vector<Input> inputs = inputs_of(o);
  inputs.push_back({"--plan", plan_path});
  need_one_standard_input(inputs);
  need_distinct({{"-o", output}}, inputs);
  need(files::can_create(output));
  const PartPlan plan = PartPlan::read(plan_path);
  const Hasher hasher = o.hashing.hasher(plan.seed);
  need_agreement(o, plan, plan_path, hasher);
  const FilterType& type = plan.type();
  const Whole whole = plan.whole();
  const std::vector<Param> params = plan.all_params();
  const std::uint64_t shards = need(type.parted->shards(whole, params));
  const ShardRange range = shard_range(shards, number.index - 1, number.parts);
  mention_leftovers(output);

  ProgressBar bar;
  SetSum keys_seen, negatives_seen;
  GrowingArray<Digest> keys;
  Negatives known;
  std::vector<std::uint32_t> counts(shards);
  bool memory = true;
  for_each_key(o.keys, o.nul, hasher, bar.callback(), [&](Digest d) {
    keys_seen.add(d);
    ++counts[fast_range(d.hi, shards)];
    if (falls_into(d, range, shards)) memory = memory && keys.push(d);
  });
  if (keys_seen != plan.keys)
    throw Failure{fmt::format("{}: it has {} in {}; build all parts from the planned input, or plan again",
                              names("--keys", o.keys), set_difference("keys", "keys", keys_seen, plan.keys),
                              plan_path)};
  for_each_known(o.negatives, o.nul, hasher, bar.callback(), [&](Digest d, float cost) {
    negatives_seen.add(d, cost);
    if (type.claims.uses_negatives && falls_into(d, range, shards))
      memory = memory && known.digests.push(d) && known.costs.push(cost);
  });
  if (negatives_seen != plan.negatives)
    throw Failure{fmt::format(
        "{}: it has {} in {}; build all parts from the planned input, or plan again", names("--negatives", o.negatives),
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
      {.seed = plan.seed, .threads = thread_count(o.threads), .hasher = hasher, .progress = bar.callback()}, nullptr));
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
               type.name, part.last - part.first, shards, part.keys, known.digests.size(),
               part.complete ? "" : "; it waits for a plan of all parts");
  }
}

}  // namespace naysay::cli
