// SPDX-License-Identifier: Apache-2.0
// Trace: a record of insertions and deletions over time, applied to a filter; and pins. Options of `naysay update`.
//
//   I<TAB>time<TAB>key     the key is inserted         time: any text without a tab, such as seconds or a date
//   D<TAB>time<TAB>key     the key is erased
//
// Every `every` operations a row says how the filter does at that time: its keys, its expected rate on strangers, and,
// if known negatives are given, how many of them and how much of their cost it accepts. A known negative that the trace
// has inserted and not erased is a key then, and does not count. With `learn`, the accepted ones are reported to the
// filter after they were counted, as a service would do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "naysay/any_filter.hpp"
#include "naysay/workload/keys.hpp"
#include "parts/command_line.hpp"

namespace naysay::cli {

struct TraceOptions {
  std::string trace, negatives, pin, unpin;
  std::uint64_t every = 100'000;
  bool learn = false;

  bool anything() const { return !trace.empty() || !pin.empty() || !unpin.empty(); }
};
void add_trace_options(Command& command, TraceOptions& o);
// Throws a Failure if the filter cannot do what is wanted.
void check_trace_options(const TraceOptions& o, const std::string& file, const FilterType& type);

// One line of a trace.
struct TraceStep {
  bool insert = true;
  std::string_view time, key;
};
Result<TraceStep> parse_trace_step(std::string_view line);

// What a filter accepts of known negatives while keys come and go.
class LiveNegatives {
 public:
  LiveNegatives(std::span<const Digest> digests, std::span<const float> costs);

  void inserted(Digest d) { count(d, 1); }
  void erased(Digest d) { count(d, -1); }

  struct Accepted {
    std::uint64_t negatives = 0, accepted = 0;
    double cost = 0, all_cost = 0;
    double share() const { return all_cost > 0 ? cost / all_cost : 0; }
  };
  // With `learn`, what is accepted is reported to the filter too.
  Accepted measure(AnyFilter& f, bool learn) const;
  bool empty() const { return digests_.empty(); }

 private:
  void count(Digest d, int by);
  struct HashOf {
    std::size_t operator()(const Digest& d) const noexcept { return static_cast<std::size_t>(d.lo); }
  };

  std::span<const Digest> digests_;
  std::span<const float> costs_;
  std::unordered_map<Digest, std::size_t, HashOf> index_;
  std::vector<std::int64_t> copies_;  // of each, that are keys now
};

// Applies unpins, pins and the trace, in this order. What was done goes to `said`, and as text to `text`. Throws a
// Failure that leaves the file as it was. `output` names the filter in messages. `most` keys may be in the filter; 0: any.
void run_trace_options(const TraceOptions& o, AnyFilter& f, const std::string& output, bool nul, std::uint64_t most,
                       const Progress& progress, nlohmann::ordered_json& said, std::string& text);

}  // namespace naysay::cli
