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

std::vector<Param> RateAttempt::params(const FilterType& type, std::span<const Param> given) const {
  std::vector<Param> params = type.params_for(planned);
  std::string unused;
  for (Param& p : params)
    if (double bits = 0; p.name == "bits_per_key" && from_text(p.value, bits, unused))
      p.value = to_text(bits * more_bits);
  params.insert(params.end(), given.begin(), given.end());
  return params;
}

Result<Ok> hold_rate(const FilterType& type, double fpr, const std::function<Result<double>(RateAttempt)>& attempt) {
  double lowest = 1;  // rate that was reached
  bool held = false;
  std::optional<Error> refused;
  // The rate of an attempt. 1: it cannot be built.
  const auto make = [&](RateAttempt a) -> double {
    const Result<double> rate = attempt(a);
    if (!rate) {
      refused = rate.error();
      return 1;
    }
    lowest = std::min(lowest, *rate);
    held = *rate <= fpr;
    return *rate;
  };
  const auto may_go_on = [&] {
    return !held && (!refused || refused->code == Errc::out_of_budget || refused->code == Errc::invalid_argument);
  };
  // Down, while that helps.
  double planned = fpr;
  int in_vain = 0;
  for (int i = 0; i < kTries && planned >= kLowest && !refused && !held && in_vain < 3; ++i) {
    const double before = lowest;
    const double rate = make({planned});
    in_vain = lowest < before ? 0 : in_vain + 1;
    planned *= std::clamp(0.98 * fpr / rate, 0.01, in_vain > 0 ? 0.6 : 0.98);
  }
  // What it can have at all: the lowest rate that can be planned, and more bits than that costs, which small sets need.
  // This search does not depend on the rate that was asked for, so that asking for what the message names finds it.
  lowest = 1;
  for (planned = 0x1p-60; planned < 1 && may_go_on(); planned *= 2) {
    refused.reset();
    (void)make({planned});
    if (!refused) break;
  }
  for (double bits = 1.15; !refused && may_go_on() && bits < 2; bits *= 1.15) (void)make({planned, bits});
  if (held) return Ok{};
  if (lowest == 1) return refused ? *refused : Error{Errc::out_of_budget, std::string(type.name) + ": it accepts all"};
  return Error{
      Errc::out_of_budget,
      fmt::format("{}: --fpr is {:g}, and the lowest rate that it can have for these keys is about {}; give that "
                  "or more, or use another filter",
                  type.name, fpr, rounded_up(lowest))};
}

Result<AnyFilter> build_for_rate(const FilterType& type, const Workload& workload, double fpr,
                                 std::span<const Param> given, const BuildOptions& options) {
  std::optional<AnyFilter> built;
  NAYSAY_CHECK(hold_rate(type, fpr, [&](RateAttempt a) -> Result<double> {
    if (options.report) options.report->lines.clear();
    built.reset();
    NAYSAY_TRY(built, build_fastest(type, workload, a.params(type, given), options));
    return built->expected_fpr();
  }));
  return std::move(*built);
}

}  // namespace naysay::cli
