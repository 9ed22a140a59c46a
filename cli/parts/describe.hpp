// SPDX-License-Identifier: Apache-2.0
// Describe: a filter's facts, the same words in every command.
#pragma once

#include <nlohmann/json.hpp>

#include "naysay/any_filter.hpp"

namespace naysay::cli {

std::uint64_t size_bytes(const AnyFilter& f);  // of what a query needs
double bits_per_key(const AnyFilter& f);       // NaN if there are no keys
std::string hash_name(const Hasher& hasher);

nlohmann::ordered_json describe(const AnyFilter& f);
// Of a filter that is not built: what it can do.
nlohmann::ordered_json describe(const FilterType& t);

// As text that is valid whatever the names of files and keys hold: bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& j, int indent = -1);

// NaN, of which JSON has none, becomes null.
nlohmann::ordered_json number_or_null(double value);

}  // namespace naysay::cli
