// SPDX-License-Identifier: Apache-2.0
// Two searches for the layers of a stack, over the same workloads and judged by the same formulas (stacked_rates.hpp).
//
//   ours     plan_stack: a grid of equal rates, then moves of one or two unknowns
//   NLopt    Deeds 2020, 2.1.5: ISRES over equal rates and the number of known negatives, then COBYLA over all rates
//
// Both may use 1, 3, 5 or 7 layers of Bloom filters in the same bits; the lower expected weighted FPR is the better one.
#include "commands/bench_optimisers.hpp"

#include "parts/failure.hpp"

#ifdef NAYSAY_WITH_NLOPT

#include <fmt/core.h>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "naysay/core/cost_curve.hpp"
#include "naysay/stacked/stacked_plan.hpp"
#include "naysay/stacked/stacked_rates.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

namespace {

constexpr double kKeys = 1e6, kStrangers = 0.01;
constexpr int kIsresCalls = 20'000, kCobylaCalls = 5'000;

double bloom_bits(double rate) { return -std::log2(rate) / std::log(2.0); }

// What the callbacks of NLopt read. x: the logarithm of the number of known negatives, then those of the rates; in the
// first search one rate for all layers.
struct StackTask {
  const CostCurve& curve;
  double bits;
  std::size_t layers;
  bool equal;
};

struct Layers {
  std::vector<double> rates;
  double known;
};

Layers layers_of(const StackTask& t, const double* x) {
  Layers s{{}, t.layers == 1 ? 0 : std::exp(x[0])};
  for (std::size_t i = 0; i < t.layers; ++i) s.rates.push_back(std::exp(x[t.equal ? 1 : 1 + i]));
  return s;
}

double wfpr(const CostCurve& curve, std::span<const double> rates, double known) {
  return stacked::fpr(rates, (1 - kStrangers) * curve.weight(known) / curve.weight());
}

double objective(unsigned, const double* x, double*, void* task) {
  const StackTask& t = *static_cast<const StackTask*>(task);
  const Layers s = layers_of(t, x);
  return std::log(wfpr(t.curve, s.rates, s.known));
}
// At most 0 where the stack fits into its bits.
double too_large(unsigned, const double* x, double*, void* task) {
  const StackTask& t = *static_cast<const StackTask*>(task);
  const Layers s = layers_of(t, x);
  return stacked::bits_per_key(s.rates, s.known / kKeys, bloom_bits) - t.bits;
}

// The best point that `algorithm` finds from x, which becomes it.
void search(nlopt_algorithm algorithm, StackTask& task, std::vector<double>& x, int calls) {
  nlopt_opt opt = nlopt_create(algorithm, static_cast<unsigned>(x.size()));
  if (!opt) throw Failure{"NLopt has no memory"};
  std::vector<double> low(x.size(), std::log(0x1p-24)), high(x.size(), std::log(0.99));
  low[0] = 0;
  high[0] = std::log(task.curve.count());
  nlopt_set_lower_bounds(opt, low.data());
  nlopt_set_upper_bounds(opt, high.data());
  nlopt_set_min_objective(opt, objective, &task);
  nlopt_add_inequality_constraint(opt, too_large, &task, 1e-6);
  nlopt_set_maxeval(opt, calls);
  nlopt_set_xtol_rel(opt, 1e-7);
  double least = 0;
  nlopt_optimize(opt, x.data(), &least);
  nlopt_destroy(opt);
}

// The lowest weighted FPR over 1, 3, 5 and 7 layers.
double by_nlopt(const CostCurve& curve, double bits) {
  nlopt_srand(1);
  double best = 1;
  for (std::size_t layers = 1; layers <= stacked::kMaxLayers; layers += 2) {
    StackTask task{curve, bits, layers, true};
    std::vector<double> x = {std::log(std::min(kKeys, curve.count()) / 10), std::log(0.05)};
    search(NLOPT_GN_ISRES, task, x, kIsresCalls);
    std::vector<double> all(1 + layers, x[1]);
    all[0] = x[0];
    task.equal = false;
    search(NLOPT_LN_COBYLA, task, all, kCobylaCalls);
    if (too_large(0, all.data(), nullptr, &task) > 1e-3) continue;
    const Layers s = layers_of(task, all.data());
    best = std::min(best, wfpr(curve, s.rates, s.known));
  }
  return best;
}

double by_ours(const CostCurve& curve, double bits) {
  const stacked::PriceList prices(bloom_bits);
  const stacked::KnownList known(curve, 1 - kStrangers);
  const auto plan = stacked::plan_stack(prices, known, {.keys = kKeys, .bits = bits * kKeys, .strangers = kStrangers});
  if (!plan.found || stacked::bits_per_key(plan.rates, plan.known / kKeys, bloom_bits) > bits * 1.001)
    throw Failure{"our plan does not fit into its bits"};
  return wfpr(curve, plan.rates, plan.known);
}

}  // namespace

void bench_optimisers(const std::string& size) {
  const bool tiny = size == "tiny";
  const std::vector<double> all_negatives = tiny ? std::vector{10.0} : std::vector{1.0, 10.0, 100.0},
                            all_skews = tiny ? std::vector{0.75, 1.25} : std::vector{0.5, 0.75, 1.0, 1.25},
                            all_bits = tiny ? std::vector{8.0, 12.0} : std::vector{6.0, 8.0, 10.0, 12.0, 14.0};
  Table table({{"negatives per key"}, {"Zipf"}, {"bits per key"}, {"ours"}, {"ISRES, COBYLA"}, {"ours over it"}});
  double worst = 0, sum = 0;
  int count = 0;
  for (const double negatives : all_negatives)
    for (const double skew : all_skews)
      for (const double bits : all_bits) {
        const CostCurve curve = CostCurve::zipf(skew, negatives * kKeys);
        const double ours = by_ours(curve, bits), other = by_nlopt(curve, bits), over = ours / other;
        worst = std::max(worst, over);
        sum += std::log(over);
        ++count;
        table.add({number(negatives), number(skew), number(bits), percent(ours), percent(other), number(over) + "x"});
      }
  fmt::print(
      "{}\n{} workloads of a million keys, {} of the queries about strangers: ours accepts {:.3f} times what NLopt's "
      "accepts on average, {:.3f} times at worst.\n",
      table.text(), count, percent(kStrangers), std::exp(sum / count), worst);
}

}  // namespace naysay::cli

#else

namespace naysay::cli {

void bench_optimisers(const std::string&) {
  throw Failure{"this naysay was built without NLopt; install libnlopt-dev and build it again with NAYSAY_NLOPT=ON"};
}

}  // namespace naysay::cli

#endif
