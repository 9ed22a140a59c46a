// SPDX-License-Identifier: Apache-2.0
// Metrics: what an operator wants to know of a filter that lives in a service, in one struct, and as Prometheus text.
//
//   Meter meter;                                        the host's counters: any thread
//   if (meter.asked(filter.may_contain(key))) ...       queries and maybes
//   meter.false_positive(cost);                         a "maybe" that was wrong, and was reported
//   Metrics m = metrics_of(filter);  meter.add_to(m);   add_to(m, store.metrics())
//   std::string text = prometheus(m);
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "naysay/any_filter.hpp"
#include "naysay/core/array.hpp"
#include "naysay/core/export.hpp"

namespace naysay {

struct Metrics {
  // Counted by the host, with a Meter.
  std::uint64_t queries = 0;
  std::uint64_t maybes = 0;
  std::uint64_t reported_false_positives = 0;
  double reported_cost = 0;  // of the false positives reported
  double cost_avoided = 0;   // of known negatives that the filter refused; the host says so

  // Of the filter.
  std::uint64_t keys = 0;
  std::uint64_t capacity = 0;  // before it grows; 0: unknown
  double fill = 0;             // keys / capacity; 0: unknown
  double expected_fpr = 0;
  double planned_fpr = 0;  // at the planned size; 0: it does not grow
  std::uint64_t size_bits = 0;
  std::uint64_t parts = 1;  // tables that a query reads
  std::uint64_t guard_entries = 0, guard_room = 0, guard_evictions = 0, pinned = 0;

  // Of a store.
  std::uint64_t log_bytes = 0, operations = 0, syncs = 0, checkpoints = 0;
  double seconds_since_checkpoint = 0;
  bool store_failed = false;

  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("queries_total", self.queries);
    visit("maybes_total", self.maybes);
    visit("reported_false_positives_total", self.reported_false_positives);
    visit("reported_cost_total", self.reported_cost);
    visit("cost_avoided_total", self.cost_avoided);
    visit("keys", self.keys);
    visit("capacity", self.capacity);
    visit("fill", self.fill);
    visit("expected_fpr", self.expected_fpr);
    visit("planned_fpr", self.planned_fpr);
    visit("size_bits", self.size_bits);
    visit("parts", self.parts);
    visit("guard_entries", self.guard_entries);
    visit("guard_room", self.guard_room);
    visit("guard_evictions_total", self.guard_evictions);
    visit("pinned", self.pinned);
    visit("log_bytes", self.log_bytes);
    visit("operations_total", self.operations);
    visit("syncs_total", self.syncs);
    visit("checkpoints_total", self.checkpoints);
    visit("seconds_since_checkpoint", self.seconds_since_checkpoint);
    visit("store_failed", self.store_failed);
  }
};

// Counters of a host, striped by thread.
class Meter {
 public:
  // Returns the answer.
  bool asked(bool maybe) noexcept {
    Counter& c = counters_[stripe()];
    c.queries.fetch_add(1, std::memory_order_relaxed);
    if (maybe) c.maybes.fetch_add(1, std::memory_order_relaxed);
    return maybe;
  }
  void false_positive(double cost) noexcept { add(&Counter::reported, &Counter::reported_cost, cost); }
  void avoided(double cost) noexcept { add(nullptr, &Counter::avoided_cost, cost); }

  void add_to(Metrics& m) const noexcept {
    for (const Counter& c : counters_) {
      m.queries += c.queries.load(std::memory_order_relaxed);
      m.maybes += c.maybes.load(std::memory_order_relaxed);
      m.reported_false_positives += c.reported.load(std::memory_order_relaxed);
      m.reported_cost += c.reported_cost.load(std::memory_order_relaxed);
      m.cost_avoided += c.avoided_cost.load(std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned kStripes = 32;
  struct alignas(kCacheLine) Counter {
    std::atomic<std::uint64_t> queries{0}, maybes{0}, reported{0};
    std::atomic<double> reported_cost{0}, avoided_cost{0};
  };
  void add(std::atomic<std::uint64_t> Counter::*count, std::atomic<double> Counter::*sum, double cost) noexcept {
    Counter& c = counters_[stripe()];
    if (count != nullptr) (c.*count).fetch_add(1, std::memory_order_relaxed);
    (c.*sum).fetch_add(cost, std::memory_order_relaxed);
  }
  static unsigned stripe() noexcept {
    static std::atomic<unsigned> threads{0};
    thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return mine;
  }
  std::array<Counter, kStripes> counters_;
};

struct StoreMetrics;  // live/store.hpp

// What a filter knows of itself.
NAYSAY_EXPORT Metrics metrics_of(const AnyFilter& filter);
NAYSAY_EXPORT void add_to(Metrics& m, const StoreMetrics& store);

// In the text format that Prometheus reads, version 0.0.4: naysay_keys{filter="guarded"} 7, with HELP and TYPE lines.
NAYSAY_EXPORT std::string prometheus(const Metrics& m, std::string_view filter_name);

}  // namespace naysay
