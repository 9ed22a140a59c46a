// SPDX-License-Identifier: Apache-2.0
// Summary: what a reader with a minute wants of all results: five filters, one chart, three sentences.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace naysay::cli {

// {"sentences": [...], "panel": a panel of bars}, from what habf-fig10 or space-limit measured of Bloom, HABF, a stack, a
// ribbon and a taught ribbon; without such rows only the sentence on the claims, and null without claims.
nlohmann::ordered_json summary(const std::vector<const nlohmann::ordered_json*>& lines,
                               const nlohmann::ordered_json& judged);

}  // namespace naysay::cli
