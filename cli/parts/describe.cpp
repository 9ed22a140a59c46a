// SPDX-License-Identifier: Apache-2.0
#include "parts/describe.hpp"

#include <cmath>
#include <limits>

namespace naysay::cli {

namespace {

// A number or a truth value as such, anything else as a string.
nlohmann::ordered_json json_of(const std::vector<Param>& params) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const Param& p : params) {
    auto value = nlohmann::ordered_json::parse(p.value, nullptr, /*allow_exceptions=*/false);
    j[p.name] = value.is_primitive() && !value.is_discarded() ? value : nlohmann::ordered_json(p.value);
  }
  return j;
}

}  // namespace

std::uint64_t size_bytes(const AnyFilter& f) { return (f.size_bits() + 7) / 8; }

double bits_per_key(const AnyFilter& f) {
  if (f.keys() == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(f.size_bits()) / static_cast<double>(f.keys());
}

std::string hash_name(const Hasher& hasher) { return hasher.id == HashId::siphash ? "siphash" : "xxh3"; }

std::string json_text(const nlohmann::ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::ordered_json number_or_null(double value) {
  if (std::isnan(value)) return nullptr;
  return value;
}

nlohmann::ordered_json describe(const AnyFilter& f) {
  nlohmann::ordered_json j;
  j["filter"] = f.type().name;
  j["keys"] = f.keys();
  j["bytes"] = size_bytes(f);
  j["bits_per_key"] = number_or_null(bits_per_key(f));
  if (f.index_bits() > 0) j["index_bytes"] = (f.index_bits() + 7) / 8;
  j["expected_fpr"] = f.expected_fpr();
  if (f.type().dynamic) j["capacity"] = f.facts().room();
  if (f.type().warming)
    j["learning"] = {{"learned", f.warmth().learned}, {"room", f.warmth().room}, {"warm", f.warmth().warm}};
  j["params"] = json_of(f.params());
  j["hash"] = hash_name(f.hasher());
  if (f.hasher().id == HashId::xxh3) j["hash_seed"] = f.hasher().seed;
  return j;
}

nlohmann::ordered_json describe(const FilterType& t) {
  nlohmann::ordered_json j;
  j["name"] = t.name;
  j["id"] = t.id;
  j["about"] = t.claims.about;
  j["dynamic"] = t.dynamic;
  j["erasable"] = t.erasable;
  j["adaptive"] = t.adaptive;
  j["tunable"] = t.tunable;
  j["uses_negatives"] = t.claims.uses_negatives;
  j["exact_on_negatives"] = t.claims.exact_on_negatives;
  j["params"] = json_of(t.defaults());
  return j;
}

}  // namespace naysay::cli
