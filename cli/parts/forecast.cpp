// SPDX-License-Identifier: Apache-2.0
#include "parts/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parts/timing.hpp"

namespace naysay::cli {

namespace {

constexpr std::uint64_t kSmall = 1 << 17, kLarge = 1 << 19;

// Every i-th key and known negative, so that it does not matter how the files are ordered.
struct WorkloadSample {
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;
  std::vector<std::string_view> key_bytes, negative_bytes;

  WorkloadSample(const Workload& w, std::uint64_t size) {
    const double share =
        std::min(1.0, static_cast<double>(size) / static_cast<double>(std::max<std::size_t>(w.keys.size(), 1)));
    const auto take = [&](std::uint64_t count, auto&& add) {
      const auto taken = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(count)));
      for (std::uint64_t i = 0; i < taken; ++i)
        add(static_cast<std::size_t>(static_cast<double>(i) * static_cast<double>(count) / static_cast<double>(taken)));
    };
    take(w.keys.size(), [&](std::size_t i) {
      keys.push_back(w.keys[i]);
      if (!w.key_bytes.empty()) key_bytes.push_back(w.key_bytes[i]);
    });
    take(w.negatives.size(), [&](std::size_t i) {
      negatives.push_back(w.negatives[i]);
      costs.push_back(w.cost(i));
      if (!w.negative_bytes.empty()) negative_bytes.push_back(w.negative_bytes[i]);
    });
    if (!w.source) return;
    // Those of a temporary file lie there in the order of hi.
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(counted(w.source->costs)));
    const double last = std::min(1.0, 2 * share) * 0x1p64;
    (void)w.source->read(0, last >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(last),
                         [&](std::span<const Digest> some, std::span<const float> their) {
                           for (std::size_t i = 0; i < some.size() && negatives.size() < wanted; ++i) {
                             negatives.push_back(some[i]);
                             costs.push_back(their.empty() ? 1.0f : their[i]);
                           }
                         });
  }

  static std::uint64_t counted(const CostCounts& of) {
    std::uint64_t count = 0;
    for (const CostCounts::Class& c : of.classes()) count += c.count;
    return count;
  }

  Workload workload(const Workload& like) const {
    Workload w = like;
    w.source = nullptr;
    w.keys = keys;
    w.negatives = negatives;
    w.costs = costs;
    w.key_bytes = key_bytes;
    w.negative_bytes = negative_bytes;
    return w;
  }
};

}  // namespace

Result<Forecast> forecast(const FilterType& filter, const Workload& workload, const CostCounts& costs,
                          std::span<const Param> params, const BuildOptions& options) {
  const auto all = static_cast<double>(workload.keys.size());
  const double growth = options.capacity > 0 && all > 0 ? static_cast<double>(options.room(workload)) / all : 1;
  Forecast f;
  f.input_bytes = workload.keys.size() * sizeof(Digest) + workload.negatives.size() * (sizeof(Digest) + sizeof(float));
  double peaks[2] = {}, sizes[2] = {}, seconds[2] = {};
  double bits = 0;
  for (const int i : {0, 1}) {
    const WorkloadSample sample(workload, i == 0 ? kSmall : kLarge);
    BuildOptions o = options;
    o.report = nullptr;
    o.progress = {};
    o.capacity =
        options.capacity > 0 ? static_cast<std::uint64_t>(growth * static_cast<double>(sample.keys.size())) : 0;
    Attempt built = attempt(filter.name, sample.workload(workload), params, o);
    if (built.refused) return std::move(*built.refused);
    sizes[i] = static_cast<double>(sample.keys.size());
    peaks[i] = static_cast<double>(built.peak_bytes);
    seconds[i] = built.ns / 1e9;
    bits = static_cast<double>(built.filter->size_bits());
    f.stranger_fpr = built.filter->expected_fpr();
    if (sizes[i] >= all) {  // nothing is left to forecast
      f.build_bytes = built.peak_bytes;
      f.build_seconds = seconds[i];
      f.filter_bytes = (built.filter->size_bits() + 7) / 8;
      break;
    }
  }
  if (f.build_bytes == 0) {
    const double slope = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]);
    f.build_seconds = seconds[1] * all / sizes[1];
    f.filter_bytes = static_cast<std::uint64_t>(bits / sizes[1] * all / 8);
    if (const auto most = bytes_for(filter.name, options.room(workload), params))
      f.filter_bytes = std::min(f.filter_bytes, *most);
    // A line alone would miss what grows with the keys while something of a fixed size still hides it.
    const double most_bytes = std::max(peaks[1] + slope * (all - sizes[1]), 0.8 * peaks[1] / sizes[1] * all);
    f.build_bytes = std::max(static_cast<std::uint64_t>(most_bytes), f.filter_bytes);
  }
  double bits_per_key = 0;
  std::string unused;
  for (const Param& p : params)
    if (p.name == "bits_per_key") (void)from_text(p.value, bits_per_key, unused);
  if (filter.predict && bits_per_key > 0 && all > 0) {
    const ExpectedRates rates = filter.predict(
        {.keys = all, .bits_per_key = bits_per_key, .stranger_share = workload.stranger_share, .costs = costs});
    f.stranger_fpr = rates.stranger_fpr;
    f.known_cost = rates.known_cost;
  }
  return f;
}

}  // namespace naysay::cli
