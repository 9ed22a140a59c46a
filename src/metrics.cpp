// SPDX-License-Identifier: Apache-2.0
#include "naysay/live/metrics.hpp"

#include "naysay/guarded/guarded.hpp"
#include "naysay/live/store.hpp"

namespace naysay {

namespace {

void take_growth(Metrics& m, const GrowingCuckoo& f) {
  m.capacity = f.capacity();
  m.fill = m.capacity == 0 ? 0 : static_cast<double>(f.keys()) / static_cast<double>(m.capacity);
  m.planned_fpr = f.planned_fpr();
  m.parts = f.eras();
}
template <class Base>
void take_guard(Metrics& m, const Guarded<Base>& f) {
  m.guard_entries = f.guarded();
  m.guard_room = f.guard_room();
  m.guard_evictions = f.guard_evictions();
  m.pinned = f.pinned();
}

// What each number means, in the order of Metrics::fields.
constexpr std::string_view kHelp[] = {
    "Queries answered.",
    "Queries answered with maybe.",
    "False positives that were reported.",
    "Cost of the false positives that were reported.",
    "Cost of known negatives that were refused.",
    "Keys in the filter.",
    "Keys that the filter holds before it grows.",
    "Keys divided by capacity.",
    "Expected rate of maybe on strangers.",
    "Expected rate at the planned capacity.",
    "Bits that queries need.",
    "Tables that a query reads.",
    "Entries in the guard.",
    "Entries that the guard has room for.",
    "Entries that were evicted from a full guard since it was built.",
    "Pinned negatives.",
    "Bytes of log that the next open replays.",
    "Operations logged since the store was opened.",
    "Syncs of the log since the store was opened.",
    "Checkpoints written since the store was opened.",
    "Seconds since the last checkpoint.",
    "1 if the store takes no more operations.",
};

}  // namespace

Metrics metrics_of(const AnyFilter& filter) {
  Metrics m;
  m.keys = filter.keys();
  m.expected_fpr = filter.expected_fpr();
  m.size_bits = filter.size_bits();
  if (const auto* f = filter.as<GrowingCuckoo>()) take_growth(m, *f);
  if (const auto* f = filter.as<GuardedGrowing>()) {
    take_growth(m, f->base());
    take_guard(m, *f);
  }
  if (const auto* f = filter.as<GuardedCuckoo>()) take_guard(m, *f);
  if (const auto* f = filter.as<GuardedCountingBloom>()) take_guard(m, *f);
  if (const auto* f = filter.as<GuardedSeesaw>()) take_guard(m, *f);
  return m;
}

void add_to(Metrics& m, const StoreMetrics& store) {
  m.log_bytes = store.log_bytes;
  m.operations = store.operations;
  m.syncs = store.syncs;
  m.checkpoints = store.checkpoints;
  m.seconds_since_checkpoint = store.seconds_since_checkpoint;
  m.store_failed = store.failed;
}

std::string prometheus(const Metrics& m, std::string_view filter_name) {
  std::string label;
  for (char c : filter_name) {
    if (c == '\\' || c == '"') label += '\\';
    label += c == '\n' ? ' ' : c;
  }
  std::string out;
  std::size_t i = 0;
  const auto visit = [&](std::string_view name, const auto& value) {
    const std::string full = "naysay_" + std::string(name);
    out += "# HELP " + full + " " + std::string(kHelp[i++]) + "\n# TYPE " + full +
           (name.ends_with("_total") ? " counter\n" : " gauge\n") + full + "{filter=\"" + label + "\"} ";
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>)
      out += value ? "1\n" : "0\n";
    else
      out += to_text(value) + "\n";
  };
  Metrics::fields(m, visit);
  return out;
}

}  // namespace naysay
