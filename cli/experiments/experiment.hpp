// SPDX-License-Identifier: Apache-2.0
// Experiment: a figure as data. It says what is built, on which keys, what is drawn, and what was published; how a
// measurement is made stands once, in kinds.cpp, for all of them.
//
//   Experiment "habf-fig10"
//     Panel a   kind: rates   setup: blocklist, costs equal     x: MB of the filter   y: wfpr
//       Series   bloom, habf, taught-ribbon, ...               a curve each
//       Published   HABF at 1.5 MB: 0.36 %                      drawn next to ours; a deviation needs a reason
//     Panel c   ...
//
// Every (panel, series, x) is one measurement and one line of the results; a kind that follows a filter through time
// (churn, life, shift, trace) makes a whole curve, and that is one measurement too.
//
// Sizes: `paper` has as many keys as the paper. `quick` has quick_scale of them and the same bits for each, so that
// rates stay comparable; x keeps the paper's unit. `tiny` has at most kTinyKeys and the ends of the x axis: it shows
// that everything runs, and nothing else.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/archive.hpp"

namespace naysay::cli {

enum class Size : std::uint8_t { tiny, quick, paper };

// Where keys come from. `blocklist` is real if the user has the files, and else made-up URLs.
enum class Data : std::uint8_t { blocklist, ycsb, integers };

inline constexpr double kRealCosts = -1;  // as a skew: what the file of negatives says; without one, Zipf 1

struct Setup {
  Data data = Data::integers;
  double keys = 1'000'000;
  double negatives = 1'000'000;
  double skew = 0;                          // of the negatives' costs (Zipf), or kRealCosts
  int shuffles = 1;                         // of the costs over the negatives, the same for all series: mean and median
  double given = 1;                         // the share of the negatives, costliest first, that a filter is given
  double quick_scale = 0.1;                 // of keys and negatives
  double churn = 0.02;                      // the share of the keys that is erased in a round
  double insertions = 1;                    // churn: keys inserted for each one that is erased, at most one
  int rounds = 0;                           // rates: rounds of churn between the build and the measurement
  bool addresses = true;                    // strangers: keys that are IP addresses are kept
  bool www = true;                          // strangers: "www." in front of a negative is kept
  bool traffic = false;                     // times: absent keys are negatives, each queried as often as it costs
  double read_us = 0;                       // a random read from the store that the filter protects; 0: it is measured
  const char* compared_with = "bloom";      // the filter whose times are the unit
  std::vector<Param> compared_params = {};  // of that filter; it has the bits per key of the other if they name none
  const char* texts_compared_with = "";     // times: the series whose times are the unit of filters that hash texts
};

// What one value on the x axis says.
enum class Sets : std::uint8_t {
  mebibytes,  // 2^20 bytes of the filter, for as many keys as the paper has
  bits_per_key,
  param,  // the filter's parameter Axis::param
  skew,
  keys,
  negatives_per_key,
  present_share,  // the part of the queries that is about keys
  threads,
  swapped_share,  // strangers: the share of keys and negatives that are exchanged, so that labels say less
  time,           // whatever the kind counts: rounds, queries, how far the traffic has moved
  nothing         // one point for each series
};

struct Axis {
  const char* label = "";
  Sets sets = Sets::nothing;
  const char* param = "";  // if it sets one
  bool log = false;
  std::vector<double> quick = {};
  std::vector<double> paper = {};  // empty: as quick
};

// A filter with parameters. Besides the filter's own, these are understood:
//   encode, listed ... = "5 %"   that part of the number of negatives
//   for_fpr = "0.01"             the parameters that the filter itself chooses for that rate
//   k = "ceil"                   ln 2 times the counters of 4 bits that a key has, rounded up
struct Series {
  const char* name = "";
  const char* filter = "";
  std::vector<Param> params = {};
  bool siphash = false;         // keys are digested with SipHash instead of XXH3
  bool reported_again = false;  // churn, trace: its errors on costly negatives are reported after every round
  bool texts = false;           // the filter hashes the strings, although it could do with digests
  bool inserted = false;        // rates: built without keys and with room for all; then they are inserted
};

// How a number is written: "0.36 %", "48 ns", ...
enum class Unit : std::uint8_t { rate, nanoseconds, bits, bytes, ratio, seconds, number };

struct Metric {
  const char* name = "";   // in the results: wfpr, build_ns, ...
  const char* label = "";  // for people
  Unit unit = Unit::rate;
  bool more_is_better = false;
};

enum class Relation : std::uint8_t { is, at_most, at_least };

inline constexpr std::string_view kGuess = "A guess: ";

inline constexpr double kEverywhere = std::numeric_limits<double>::infinity();

// A point that a paper gives in its text.
struct Published {
  const char* curve = "";  // the paper's name for it
  double x = kEverywhere;  // kEverywhere: a level
  double y = 0;
  const char* series = "";  // ours to compare it with; empty: we have none
  // Why ours is more than 20 % away. A reason is tested or guessed, and says which: it names the experiment that switches
  // our difference off ("naysay bench habf-why"), or begins with kGuess.
  const char* why = "";
  Relation relation = Relation::is;
  const char* metric = "";  // empty: the panel's first
};

enum class Kind : std::uint8_t { rates, times, churn, shift, disk, life, strangers, trace, absorb, pages, slots };

struct Panel {
  const char* id = "";
  const char* title = "";
  Kind kind = Kind::rates;
  Setup setup = {};
  Axis x = {};
  std::vector<Metric> ys = {};    // never empty; the first one's unit is the y axis's
  std::vector<Metric> also = {};  // in the table only
  bool y_log = true;
  bool bars = false;      // a group of bars for each series instead of curves over x
  const char* over = "";  // y is divided by this series' y at the same x
  const char* from = "";  // shows the measurements of another panel of the experiment
  std::vector<Series> series = {};
  std::vector<Published> published = {};
  const char* advice = "";
};

struct Experiment {
  const char* name = "";
  const char* title = "";
  const char* source = "";
  const char* about = "";
  std::vector<Panel> panels = {};
};

// All of them, in the order in which they are listed.
std::span<const Experiment> experiments();
const Experiment* find_experiment(std::string_view name);

// The files of this folder, one for each source.
void add_habf_figures(std::vector<Experiment>& to);
void add_seesaw_figures(std::vector<Experiment>& to);
void add_stacked_figures(std::vector<Experiment>& to);
void add_variable_hash_figures(std::vector<Experiment>& to);
void add_learned_figures(std::vector<Experiment>& to);
void add_our_own(std::vector<Experiment>& to);

// The panel whose measurements this one shows: itself, or another one.
const Panel& measured_panel(const Experiment& e, const Panel& p);
std::vector<double> x_values(const Axis& axis, Size size);

inline constexpr double kTinyKeys = 2000, kTinyNegatives = 4000;

inline constexpr const char* kSizeNames[] = {"tiny", "quick", "paper"};
inline constexpr const char* kDataNames[] = {"blocklist", "ycsb", "integers"};
inline constexpr const char* kKindNames[] = {"rates",     "times", "churn",  "shift", "disk", "life",
                                             "strangers", "trace", "absorb", "pages", "slots"};

}  // namespace naysay::cli
