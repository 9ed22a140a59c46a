// SPDX-License-Identifier: Apache-2.0
// slots: the chance to find a function that accepts all keys of a slot of a variable hash filter.
//
//   found       variable-hash filters of one slot each are built, and the functions that they found are counted
//   tried       the thesis' own search: function after function, each an independent hash of the keys, until one sends
//               all of them to odd or all 2^r numbers but 0 were tried
//   expected    1 - (1 - 2^-c)^(2^r - 1) for c keys: Deeds 2020, 3.3.2
//   any_found   the share of the slots in which at least one of the k functions was found
//
// The parameter keys_per_slot says how many keys each slot has, function_bits is r; without it r is three more than the keys.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "experiments/measurement.hpp"
#include "naysay/variable_hash/variable_hash_rates.hpp"

namespace naysay::cli {

namespace {

constexpr std::size_t kParts = 10;  // of the slots; how far their shares lie apart says how much chance there is

// Functions that are tried for one point.
double most_tries(Size size) { return size == Size::tiny ? 1e6 : size == Size::quick ? 4e7 : 1e9; }

double number_of(const std::vector<Param>& params, std::string_view name, double without) {
  for (const Param& p : params)
    if (p.name == name) return std::strtod(p.value.c_str(), nullptr);
  return without;
}

// A share of each part of the slots.
struct Shares {
  Samples found = {}, not_found = {};
  void add(double share) {
    found.add(share);
    not_found.add(1 - share);
  }
};

// Whether one of the functions 1 .. 2^r - 1 sends every key to odd.
bool one_is_found(std::span<const std::uint64_t> keys, unsigned r) {
  for (std::uint64_t function = 1; function < std::uint64_t{1} << r; ++function) {
    const std::uint64_t own = mix64(function);
    if (std::all_of(keys.begin(), keys.end(), [&](std::uint64_t key) { return mix64(key ^ own) & 1; })) return true;
  }
  return false;
}

Shares try_slots(std::size_t keys, unsigned r, double tries, std::uint64_t seed) {
  Random random(seed);
  const double per_slot = std::exp2(std::min<double>(r, static_cast<double>(keys)));
  const auto slots = static_cast<std::size_t>(std::max(1.0, tries / per_slot / kParts));
  std::vector<std::uint64_t> slot(keys);
  Shares out;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < slots; ++i) {
      for (std::uint64_t& key : slot) key = random();
      found += one_is_found(slot, r);
    }
    out.add(static_cast<double>(found) / static_cast<double>(slots));
  }
  return out;
}

}  // namespace

Json measure_slots(const Measurement& m) {
  std::vector<Param> params = m.plan.params;
  const double per_slot = number_of(params, "keys_per_slot", 1);
  const auto keys = static_cast<std::size_t>(per_slot);
  if (number_of(params, "function_bits", 0) == 0) params.push_back({"function_bits", to_text(per_slot + 3)});
  const auto r = static_cast<unsigned>(number_of(params, "function_bits", 0));
  const std::size_t slots = m.set.keys.size() / keys / kParts;
  Shares solved;
  Samples any_found;
  for (std::size_t part = 0; part < kParts; ++part) {
    double share = 0, any = 0;
    for (std::size_t i = part * slots; i < (part + 1) * slots; ++i) {
      Report report;
      const Workload slot{.keys = m.set.keys.subspan(i * keys, keys)};
      const auto f = AnyFilter::build(m.plan.type->name, slot, std::span<const Param>(params), m.options(0, &report));
      if (!f) return problem(f.error());
      m.need_all_keys(*f, slot.keys);
      double not_found = std::nan("");
      for (const Report::Line& line : report.lines)
        if (line.name == "functions not found (share)") not_found = line.value;
      share += 1 - not_found;
      any += not_found < 1;
    }
    solved.add(share / static_cast<double>(slots));
    any_found.add(any / static_cast<double>(slots));
  }
  const Shares tried = try_slots(keys, r, most_tries(m.plan.size), m.plan.seed);
  Json v;
  v["found"] = solved.found.json(true);
  v["tried"] = tried.found.json(true);
  v["expected"] = -std::expm1((std::exp2(r) - 1) * std::log1p(-std::exp2(-per_slot)));
  v["any_found"] = any_found.json(true);
  v["not_found"] = solved.not_found.json(true);
  v["tried_not_found"] = tried.not_found.json(true);
  v["expected_found"] = 1 - variable_hash::not_found(per_slot, r);
  v["slots"] = slots * kParts;
  return {{"values", std::move(v)}};
}

}  // namespace naysay::cli
