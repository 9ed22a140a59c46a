// SPDX-License-Identifier: Apache-2.0
// Figures: lines of results become what people look at: curves, published points, tables, deviations with their
// reasons.
//
//   lines --figures()--> {"summary": {...}, "claims": [...],
//                         "figures": [{"name", "title", "source", "about", "deviations",
//                                      "panels": [{"curves", "published", "table", "strangers", "advice"}]}]}
//
// The page draws this and works out nothing; the text tables of naysay bench come from the same numbers.
//
// A published point that ours misses by more than 20 % is a deviation. Its reason stands with the experiment; one
// without a reason is marked, so that it cannot be overlooked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "experiments/panel_values.hpp"

namespace naysay::cli {

// Only experiments that have lines. Where a point was measured more than once the last line counts; where there are
// lines of both sizes, those of the paper's size.
nlohmann::ordered_json figures(const std::vector<nlohmann::ordered_json>& lines);

// [{"why": ..., "points": ["habf at 1.5 MiB: ours ...", ...]}], one for each reason. deviations.cpp
nlohmann::ordered_json deviations(const PanelValues& v);

// Marks the curves that a chart begins with: {"shown": false} is added to all but eight. First come those that a paper's
// points are compared with, then the five of the summary, then the others as they stand. curve_choice.cpp
void show_some(nlohmann::ordered_json& curves, const nlohmann::ordered_json& published);

// ---- figure_text.cpp ----

// One experiment's panels and judged claims as text, from the same.
std::string text_of(const nlohmann::ordered_json& figure, const nlohmann::ordered_json& claims);

// All of it as Markdown, for docs/results.
std::string markdown_of(const nlohmann::ordered_json& figures);

// Numbers as people read them: "20 M"; "0.36 %", "48 ns", ...
std::string x_text(double x);
std::string grouped(double n);  // "372,794"
std::string y_text(double y, Unit unit);

}  // namespace naysay::cli
