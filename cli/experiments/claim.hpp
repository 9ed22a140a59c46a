// SPDX-License-Identifier: Apache-2.0
// Claim: what a paper says of its own measurements besides single points: an ordering, a ratio, an optimum, a trend.
// It is entered as data, like a figure, and judged from rows.
//
//   "f-HABF is built in 2.7 times the time of BF"
//      curve    build_over of f-habf          in habf-fig12, panels a and b
//      reading  its mean                      range  2.7, 20 % more or less
//      verdict  contradicted: ours 6.68x
//
// The curve is a metric of one series over x, or the quotient of two; where several series are named, the lowest of
// them counts at each x. A reading makes one or more numbers of the curve. A claim is confirmed if all of them lie in its
// range, give or take 5 %, and contradicted if one lies outside by more than two standard errors; these come from the
// spread over shuffles, or from the number of accepted negatives. In between, without rows, and where so few were
// accepted that chance can have made any quotient, it is out of reach.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"

namespace naysay::cli {

enum class Reading : std::uint8_t {
  everywhere,  // its value at each x
  somewhere,   // the same; one of them in the range is enough
  at_first,    // at the least x
  at_last,     // at the largest x
  mean,        // the geometric mean over all x of all panels; points without errors on one side are left out
  lowest,      // the x at which the curve is lowest
  change,      // its last value over its first
  steps,       // each value over the one before it
  evenness,    // its largest value over its least
  spread,      // at each x the largest over the least of the shuffles
  across       // at each x its value in the last panel over that in the first
};

enum class Verdict : std::uint8_t { confirmed, contradicted, out_of_reach };
inline constexpr const char* kVerdictNames[] = {"confirmed", "contradicted", "out of reach"};

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};
constexpr Range at_least(double y) { return {.low = y}; }
constexpr Range at_most(double y) { return {.high = y}; }
constexpr Range between(double low, double high) { return {low, high}; }
// 20 % more or less, which includes the 5 % of any range.
constexpr Range about(double y) { return {0.8 * 1.05 * y, 1.2 / 1.05 * y}; }

struct Claim {
  const char* source = "";               // the paper and the place in it: "SSCF, 4.3"
  const char* text = "";                 // one sentence
  const char* published = "";            // the paper's value, as it gives it
  const char* experiment = "";           // the figure of ours that shows it
  std::vector<const char*> panels = {};  // empty: no rows can decide it, and `missing` says why
  // Series; the lowest of them counts. "HABF as in the paper|habf": the first that was measured.
  std::vector<const char*> of = {};
  std::vector<const char*> over = {};  // divided by the lowest of these; empty: by nothing
  bool apart = false;                  // the curve is, at each x, the highest of all series over the lowest
  const char* metric = "";             // empty: the panel's first
  const char* over_metric = "";        // empty: as metric
  Reading reading = Reading::everywhere;
  Range range = {};
  double from = -std::numeric_limits<double>::infinity();  // x outside are left out; a finite end must be measured
  double until = std::numeric_limits<double>::infinity();
  const char* why = "";      // where it is contradicted: one sentence
  const char* tested = "";   // the command that tests `why`; empty: it is a guess
  const char* missing = "";  // where there are no rows: why; empty: they were not measured
};

// All claims, by paper.
std::span<const Claim> claims();

struct Ruling {
  Verdict verdict = Verdict::out_of_reach;
  std::string ours;    // "2.3x to 4.1x"; empty without rows
  std::string series;  // what was judged: "habf over bloom"
  std::string remark;  // why, or what is missing
};
Ruling judge(const Claim& claim, const std::vector<const nlohmann::ordered_json*>& lines);

// The claims of figures that have lines, judged:
// [{"source", "text", "published", "figure", "series", "ours", "verdict", "remark"}].
nlohmann::ordered_json judged_claims(const std::vector<const nlohmann::ordered_json*>& lines);

// The files of papers/, one for each source.
void add_habf_claims(std::vector<Claim>& to);
void add_seesaw_claims(std::vector<Claim>& to);
void add_stacked_claims(std::vector<Claim>& to);
void add_variable_hash_claims(std::vector<Claim>& to);
void add_learned_claims(std::vector<Claim>& to);

}  // namespace naysay::cli
