// SPDX-License-Identifier: Apache-2.0
#include "parts/part_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "naysay/core/files.hpp"
#include "parts/choose.hpp"
#include "parts/failure.hpp"
#include "parts/filter_names.hpp"
#include "parts/held_rate.hpp"

namespace naysay::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kLimits = {"open", "all", "none", "some"};

std::string hex(std::uint64_t word) { return fmt::format("{:016x}", word); }
std::uint64_t from_hex(const std::string& text) {
  std::uint64_t word = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (problem != std::errc{} || end != text.data() + text.size()) throw std::invalid_argument("no hexadecimal word");
  return word;
}

// A whole number that is not negative: get() would convert any other one.
std::uint64_t whole_number(const Json& j) {
  if (!j.is_number_unsigned()) throw std::invalid_argument("a number that is negative or not whole");
  return j.get<std::uint64_t>();
}

Json to_json(const SetSum& s) { return {{"count", s.count}, {"sum", hex(s.sum)}}; }
SetSum set_sum(const Json& j) { return {whole_number(j.at("count")), from_hex(j.at("sum").get<std::string>())}; }

PartPlan from_json(const Json& j) {
  if (whole_number(j.at("naysay_plan")) != 1) throw std::invalid_argument("another version");
  PartPlan p;
  p.filter = j.at("filter").get<std::string>();
  p.budget = {j.value("bits_per_key", ""), j.value("bytes", ""), j.value("fpr", "")};
  if (p.budget.bits_per_key.empty() + p.budget.bytes.empty() + p.budget.fpr.empty() != 2)
    throw std::invalid_argument("no budget, or two");
  if (!p.budget.fpr.empty())
    for (const Json& rate : j.at("rates")) p.rates.push_back(rate.get<double>());
  for (const Json& param : j.at("params"))
    p.params.push_back({param.at(0).get<std::string>(), param.at(1).get<std::string>()});
  p.stranger_share = j.at("stranger_share").get<double>();
  p.seed = whole_number(j.at("seed"));
  p.hash = j.at("hash").get<std::string>();
  p.keys = set_sum(j.at("keys"));
  p.negatives = set_sum(j.at("negatives"));
  std::uint64_t counted = 0;
  for (const Json& c : j.at("costs")) {
    const std::uint64_t bin = whole_number(c.at(0));
    const CostCounts::Class of{whole_number(c.at(1)), c.at(2).get<double>()};
    constexpr std::uint32_t kInfinite = 0x7f800000u >> CostCounts::kShift;
    if (bin >= kInfinite || !(of.cost >= 0)) throw std::invalid_argument("a class of costs that is none");
    if (of.count > p.negatives.count - counted) throw std::invalid_argument("costs of more negatives than there are");
    p.costs.add(static_cast<std::uint32_t>(bin), of);
    counted += of.count;
  }
  if (counted != p.negatives.count) throw std::invalid_argument("costs of fewer negatives than there are");
  const double most = j.at("most_cost").get<double>();
  if (!(most >= 0 && most <= std::numeric_limits<float>::max()))
    throw std::invalid_argument("a most_cost that is no cost");
  p.most_cost = static_cast<float>(most);
  std::size_t classes = p.costs.classes().size();
  while (classes > 0 && p.costs.classes()[classes - 1].count == 0) --classes;
  const std::uint32_t highest = classes == 0 ? 0 : p.costs.first_bin() + static_cast<std::uint32_t>(classes) - 1;
  if (std::bit_cast<std::uint32_t>(p.most_cost + 0.0f) >> CostCounts::kShift != highest)
    throw std::invalid_argument("a most_cost that is not in the highest class of costs");
  const auto* kind = std::find(kLimits.begin(), kLimits.end(), j.at("limit").get<std::string>());
  if (kind == kLimits.end()) throw std::invalid_argument("a limit of an unknown kind");
  p.limit.kind = static_cast<CostLimit::Kind>(kind - kLimits.begin());
  if (p.limit.kind == CostLimit::Kind::some) {
    const double least = j.at("least_cost").get<double>(), share = j.at("share").get<double>();
    if (!(least >= 0 && least <= std::numeric_limits<float>::max()))
      throw std::invalid_argument("a least_cost that is no cost");
    if (!(share >= 0 && share <= 1)) throw std::invalid_argument("a share that is not from 0 to 1");
    p.limit.least = static_cast<float>(least);
    p.limit.share = share;
  }
  return p;
}

}  // namespace

std::string hash_text(const Hasher& hasher) {
  const Digest check = hasher("naysay plan");
  return fmt::format("{} {}{}", hasher.id == HashId::siphash ? "siphash" : "xxh3", hex(check.hi), hex(check.lo));
}

PartPlan PartPlan::read(const std::string& path) {
  const files::Mapping file = need(files::map(path));
  return parse({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, path);
}

PartPlan PartPlan::parse(std::string_view text, const std::string& source) {
  try {
    return from_json(Json::parse(text));
  } catch (const std::exception& e) {
    throw Failure{fmt::format("{}: it is no plan of this naysay, or damaged ({}); give a file that naysay plan wrote",
                              source, e.what())};
  }
}

std::string PartPlan::text() const {
  Json j;
  j["naysay_plan"] = 1;
  j["filter"] = filter;
  if (!budget.bits_per_key.empty()) j["bits_per_key"] = budget.bits_per_key;
  if (!budget.bytes.empty()) j["bytes"] = budget.bytes;
  if (!budget.fpr.empty()) {
    j["fpr"] = budget.fpr;
    j["rates"] = rates;
  }
  j["params"] = Json::array();
  for (const Param& p : params) j["params"].push_back({p.name, p.value});
  j["stranger_share"] = stranger_share;
  j["seed"] = seed;
  j["hash"] = hash;
  j["keys"] = to_json(keys);
  j["negatives"] = to_json(negatives);
  j["limit"] = kLimits[static_cast<std::size_t>(limit.kind)];
  if (limit.kind == CostLimit::Kind::some) {
    j["least_cost"] = limit.least;
    j["share"] = limit.share;
  }
  j["most_cost"] = most_cost;
  j["costs"] = Json::array();
  for (std::size_t i = 0; i < costs.classes().size(); ++i)
    if (const CostCounts::Class& c = costs.classes()[i]; c.count != 0)
      j["costs"].push_back({costs.first_bin() + i, c.count, c.cost});
  return j.dump() + "\n";
}

std::string PartPlan::difference(const PartPlan& other, bool with_facts) const {
  const auto params_text = [](const PartPlan& p) {
    std::string text;
    for (const Param& one : p.params) text += (text.empty() ? "" : " ") + one.name + "=" + one.value;
    return text.empty() ? std::string("none") : text;
  };
  const auto differs = [](const std::string& what, const auto& mine, const auto& theirs) {
    return fmt::format("{} {}, not {}", what, mine, theirs);
  };
  if (filter != other.filter) return differs("filter", filter, other.filter);
  if (budget != other.budget) return differs("the budget", budget.text(), other.budget.text());
  if (params_text(*this) != params_text(other)) return differs("--param", params_text(*this), params_text(other));
  if (stranger_share != other.stranger_share) return differs("stranger share", stranger_share, other.stranger_share);
  if (seed != other.seed) return differs("seed", seed, other.seed);
  if (hash != other.hash)
    return hash.substr(0, hash.find(' ')) == other.hash.substr(0, other.hash.find(' '))
               ? "another key of the hash"
               : differs("hash", hash.substr(0, hash.find(' ')), other.hash.substr(0, other.hash.find(' ')));
  if (!with_facts) return "";
  for (const auto& [what, items, mine, theirs] :
       {std::tuple("keys", "keys", &keys, &other.keys),
        std::tuple("negatives", "negatives or costs", &negatives, &other.negatives)}) {
    if (mine->count != theirs->count) return fmt::format("{} {}, not {}", mine->count, what, theirs->count);
    if (mine->sum != theirs->sum) return fmt::format("other {}, as many", items);
  }
  if (rates.size() != other.rates.size())
    return fmt::format("round {} of --fpr, not {}", rates.size() + 1, other.rates.size() + 1);
  if (text() != other.text()) return "other costs, or another choice of the negatives that are left over";
  return "";
}

void PartPlan::add(const PartPlan& other, const std::string& own_name, const std::string& other_name) {
  if (const std::string d = other.difference(*this, false); !d.empty())
    throw Failure{fmt::format("{}: it was made with {}, as {} was; plan all pieces with the same options", other_name,
                              d, own_name)};
  const auto is_later = [](const PartPlan& p) { return p.limit.kind != CostLimit::Kind::open || !p.rates.empty(); };
  if (is_later(*this) || is_later(other))
    throw Failure{fmt::format("{}: it is a plan for another round; only plans of keys and negatives are added up",
                              is_later(*this) ? own_name : other_name)};
  keys.add(other.keys);
  negatives.add(other.negatives);
  costs.add(other.costs);
  most_cost = std::max(most_cost, other.most_cost);
}

Whole PartPlan::whole() const {
  Whole w;
  w.keys = keys.count;
  if (type().claims.uses_negatives) {
    w.costs = costs;
    w.most_cost = most_cost;
  }
  w.stranger_share = stranger_share;
  w.seed = seed;
  w.limit = limit;
  return w;
}

PlannedBudget PlannedBudget::of(const Budget& given) {
  given.check();
  PlannedBudget b;
  if (given.is_rate())
    b.fpr = to_text(given.rate());
  else if (given.is_bytes())
    b.bytes = to_text(static_cast<std::uint64_t>(given.bits_per_key(1) / 8));
  else
    b.bits_per_key = to_text(given.bits_per_key(1));
  return b;
}
std::string PlannedBudget::text() const {
  return !fpr.empty() ? "--fpr " + fpr : bytes.empty() ? "--bits-per-key " + bits_per_key : "--bytes " + bytes;
}
double PlannedBudget::rate() const {
  double rate = 0;
  std::string unused;
  if (!from_text(fpr, rate, unused) || !(rate > 0 && rate < 1))
    throw Failure{fmt::format("the plan has the rate '{}'; it must be more than 0 and less than 1", fpr)};
  return rate;
}
double PlannedBudget::bits_for(std::uint64_t keys) const {
  double value = 0;
  std::string unused;
  if (!bits_per_key.empty() && from_text(bits_per_key, value, unused)) return value;
  return 8 * static_cast<double>(need(parse_bytes(bytes))) / static_cast<double>(std::max<std::uint64_t>(keys, 1));
}

std::vector<Param> PartPlan::all_params() const {
  if (budget.fpr.empty()) {
    std::vector<Param> all{{"bits_per_key", to_text(budget.bits_for(keys.count))}};
    all.insert(all.end(), params.begin(), params.end());
    return all;
  }
  // The search of naysay build, with the rates of the rounds before this one.
  std::optional<RateAttempt> now;
  std::size_t round = 0;
  const auto found = hold_rate(type(), budget.rate(), [&](RateAttempt a) -> Result<double> {
    if (round < rates.size()) return rates[round++];
    now = a;
    return Error{Errc::cancelled, "this round"};
  });
  if (!now) (void)need(found);
  if (!now) throw Failure{"the plan has the rate of a filter that is low enough; join its parts"};
  return now->params(type(), params);
}

const FilterType& PartPlan::type() const {
  const FilterType* chosen = nullptr;
  if (filter == "auto") {
    const FilterWish wish{.negatives = negatives.count > 0, .grows = false, .by_rate = !budget.fpr.empty()};
    std::vector<Choice> choices = choose(wish);
    if (!wish.by_rate)
      choices = rank(std::move(choices), wish,
                     {.keys = static_cast<double>(keys.count),
                      .bits_per_key = budget.bits_for(keys.count),
                      .stranger_share = stranger_share,
                      .costs = costs},
                     false);
    chosen = choices[0].filter;
  } else {
    chosen = &need_filter(filter);
  }
  if (!chosen->parted)
    throw Failure{fmt::format("{}{} cannot be built in parts; filters that can are {}",
                              filter == "auto" ? "auto: " : "", chosen->name,
                              names_of_filters([](const FilterType& t) { return t.parted != nullptr; }))};
  if (!budget.fpr.empty() && !chosen->tunable)
    throw Failure{
        fmt::format("{}: it cannot price a rate; give --bits-per-key or --bytes instead of --fpr", chosen->name)};
  need(chosen->check_params(chosen->name, params));
  return *chosen;
}

}  // namespace naysay::cli
