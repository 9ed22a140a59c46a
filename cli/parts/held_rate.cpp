// SPDX-License-Identifier: Apache-2.0
#include "parts/held_rate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "parts/build_fastest.hpp"

namespace naysay::cli {

namespace {

constexpr int kTries = 16;
constexpr double kLowest = 0x1p-70;  // no digest distinguishes strangers at lower rates

// Two digits, not below the rate.
std::string rounded_up(double rate) {
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return fmt::format("{:.2g}", std::min(std::ceil(rate / unit * (1 - 1e-12)) * unit, 1.0));
}

}  // namespace

Result<AnyFilter> build_for_rate(const FilterType& type, const Workload& workload, double fpr,
                                 std::span<const Param> given, const BuildOptions& options) {
  double lowest = 1;              // rate that a build reached
  std::optional<AnyFilter> held;  // the filter whose rate is low enough
  std::optional<Error> refused;
  // The rate of a filter planned for another rate, with so many times the bits of that. 1: it cannot be built.
  const auto attempt = [&](double planned, double more_bits = 1) -> double {
    std::vector<Param> params = type.params_for(planned);
    std::string unused;
    for (Param& p : params)
      if (double bits = 0; p.name == "bits_per_key" && from_text(p.value, bits, unused))
        p.value = to_text(bits * more_bits);
    params.insert(params.end(), given.begin(), given.end());
    if (options.report) options.report->lines.clear();
    auto filter = build_fastest(type, workload, params, options);
    if (!filter) {
      refused = std::move(filter).error();
      return 1;
    }
    const double rate = filter->expected_fpr();
    lowest = std::min(lowest, rate);
    if (rate <= fpr) held = std::move(*filter);
    return rate;
  };
  const auto may_go_on = [&] {
    return !held && (!refused || refused->code == Errc::out_of_budget || refused->code == Errc::invalid_argument);
  };
  // Down, while that helps.
  double planned = fpr;
  int in_vain = 0;
  for (int i = 0; i < kTries && planned >= kLowest && !refused && !held && in_vain < 3; ++i) {
    const double before = lowest;
    const double rate = attempt(planned);
    in_vain = lowest < before ? 0 : in_vain + 1;
    planned *= std::clamp(0.98 * fpr / rate, 0.01, in_vain > 0 ? 0.6 : 0.98);
  }
  // What it can have at all: the lowest rate that can be planned, and more bits than that costs, which small sets need.
  // This search does not depend on the rate that was asked for, so that asking for what the message names finds it.
  lowest = 1;
  for (planned = 0x1p-60; planned < 1 && may_go_on(); planned *= 2) {
    refused.reset();
    (void)attempt(planned);
    if (!refused) break;
  }
  for (double bits = 1.15; !refused && may_go_on() && bits < 2; bits *= 1.15) (void)attempt(planned, bits);
  if (held) return std::move(*held);
  if (lowest == 1) return refused ? *refused : Error{Errc::out_of_budget, std::string(type.name) + ": it accepts all"};
  return Error{
      Errc::out_of_budget,
      fmt::format("{}: --fpr is {:g}, and the lowest rate that it can have for these keys is about {}; give that "
                  "or more, or use another filter",
                  type.name, fpr, rounded_up(lowest))};
}

}  // namespace naysay::cli
