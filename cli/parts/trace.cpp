// SPDX-License-Identifier: Apache-2.0
#include "parts/trace.hpp"

#include <fmt/core.h>

#include <limits>

#include "naysay/live/metrics.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#include "parts/reasons.hpp"
#include "parts/table.hpp"

namespace naysay::cli {

void add_trace_options(Command& c, TraceOptions& o) {
  c.option("--pin", o.pin,
           "negatives to pin, one per line: refused from now on, whatever is inserted; none may be a key")
      .type_name("FILE");
  c.option("--unpin", o.unpin, "negatives that are pinned no longer, one per line").type_name("FILE");
  c.option("--trace", o.trace, "insertions and deletions in their order, one I|D<TAB>time<TAB>key per line")
      .type_name("FILE");
  c.number("--report-every", o.every, {1, std::uint64_t{1} << 48},
           "a row of the trace's table after this many operations")
      .type_name("N")
      .shows_default();
  c.option("--negatives", o.negatives, "known negatives, key<TAB>cost: the table says how much of them is accepted")
      .type_name("FILE");
  c.flag("--learn", o.learn, "report those that are accepted to the filter, after each row of the table");
}

void check_trace_options(const TraceOptions& o, const std::string& file, const FilterType& type) {
  const auto wants = [&](const std::string& value, bool can, const char* option, const char* what) {
    if (!value.empty() && !can)
      throw Failure{fmt::format("{}: {} is given, but {} {}; see naysay filters", file, option, type.name, what)};
  };
  wants(o.pin, type.pinning, "--pin", "cannot pin negatives");
  wants(o.unpin, type.pinning, "--unpin", "cannot pin negatives");
  wants(o.trace, type.dynamic, "--trace", "accepts no more keys");
  wants(o.trace, type.erasable, "--trace", "cannot erase keys");
  if (o.trace.empty() && !o.negatives.empty()) throw Failure{"--negatives is given without --trace; it needs one"};
  if (o.learn && o.negatives.empty()) throw Failure{"--learn is given without --negatives; it needs them"};
  if (o.learn && !type.adaptive)
    throw Failure{fmt::format(
        "{}: --learn is given, but {} accepts no negatives after it was built; see naysay filters", file, type.name)};
  if (o.every == 0) throw Failure{"--report-every is 0; it must be 1 or more"};
}

Result<TraceStep> parse_trace_step(std::string_view line) {
  const auto wrong = [](const char* what) {
    return Error{Errc::invalid_argument,
                 std::string(what) + "; a line of a trace is I or D, a tab, the time, a tab, the key"};
  };
  const std::size_t first = line.find('\t');
  const std::size_t second = first == line.npos ? line.npos : line.find('\t', first + 1);
  if (second == line.npos) return wrong("it has fewer than two tabs");
  const std::string_view what = line.substr(0, first);
  if (what != "I" && what != "D") return wrong("it begins neither with I nor with D");
  const TraceStep step{what == "I", line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  if (step.time.empty()) return wrong("it has no time");
  if (step.key.empty()) return wrong("it has no key");
  return step;
}

LiveNegatives::LiveNegatives(std::span<const Digest> digests, std::span<const float> costs)
    : digests_(digests), costs_(costs), copies_(digests.size(), 0) {
  index_.reserve(digests.size());
  for (std::size_t i = 0; i < digests.size(); ++i) index_.emplace(digests[i], i);
}

void LiveNegatives::count(Digest d, int by) {
  if (const auto at = index_.find(d); at != index_.end()) copies_[at->second] += by;
}

LiveNegatives::Accepted LiveNegatives::measure(AnyFilter& f, bool learn) const {
  Accepted a;
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    const auto at = index_.find(digests_[i]);
    if (copies_[at->second] > 0) continue;  // a key
    const float cost = costs_.empty() ? 1.0f : costs_[i];
    ++a.negatives;
    a.all_cost += static_cast<double>(cost);
    if (!f.may_contain(digests_[i])) continue;
    ++a.accepted;
    a.cost += static_cast<double>(cost);
    if (learn) f.adapt(digests_[i], cost);
  }
  return a;
}

namespace {

// The table of a trace: a row every now and then.
class TraceTable {
 public:
  TraceTable(bool negatives, bool guard) : negatives_(negatives), guard_(guard), table_(columns()) {}

  void add(const std::string& time, std::uint64_t operations, const AnyFilter& f, const LiveNegatives::Accepted& a) {
    const Metrics m = metrics_of(f);
    nlohmann::ordered_json row = {{"time", time},
                                  {"operations", operations},
                                  {"keys", f.keys()},
                                  {"bits_per_key", number_or_null(bits_per_key(f))},
                                  {"expected_fpr", f.expected_fpr()}};
    std::vector<std::string> cells = {time, std::to_string(operations), std::to_string(f.keys()),
                                      number(bits_per_key(f)), percent(f.expected_fpr())};
    if (negatives_) {
      row["negatives"] = a.negatives;
      row["accepted"] = a.accepted;
      row["wfpr"] = a.share();
      cells.push_back(std::to_string(a.accepted));
      cells.push_back(percent(a.share()));
    }
    if (guard_) {
      row["guard_entries"] = m.guard_entries;
      row["guard_evictions"] = m.guard_evictions;
      cells.push_back(std::to_string(m.guard_entries));
      cells.push_back(std::to_string(m.guard_evictions));
    }
    table_.add(std::move(cells));
    rows_.push_back(std::move(row));
  }
  std::string text() const { return table_.text(); }
  const nlohmann::ordered_json& rows() const { return rows_; }

 private:
  std::vector<Table::Column> columns() const {
    std::vector<Table::Column> all = {
        {"time", Table::Align::left}, {"operations"}, {"keys"}, {"bits/key"}, {"strangers"}};
    if (negatives_) all.push_back({"known"}), all.push_back({"by cost"});
    if (guard_) all.push_back({"guarded"}), all.push_back({"evicted"});
    return all;
  }

  bool negatives_, guard_;
  Table table_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

// How many lines there were, and for how many body(digest) was true.
template <class Body>
std::pair<std::uint64_t, std::uint64_t> for_each_digest(const KeyFile& file, const Hasher& hasher,
                                                        const Progress& progress, Body&& body) {
  std::uint64_t given = 0, done = 0;
  need(for_each_line(file, progress, [&](const Line& line) -> Result<Ok> {
    ++given;
    NAYSAY_TRY(const bool ok, body(hasher(line.text)));
    done += ok;
    return Ok{};
  }));
  return {given, done};
}

void apply_trace(const TraceOptions& o, AnyFilter& f, const std::string& output, bool nul, std::uint64_t most,
                 const Progress& progress, nlohmann::ordered_json& said, std::string& text) {
  Negatives known;
  if (!o.negatives.empty()) known = need(read_negatives(key_file(o.negatives, nul), f.hasher(), progress));
  LiveNegatives negatives(known.digests, known.costs);
  TraceTable table(!negatives.empty(), metrics_of(f).guard_room > 0);
  std::uint64_t operations = 0, inserted = 0, erased = 0, absent = 0;
  std::string time = "-";
  table.add(time, 0, f, negatives.measure(f, o.learn));
  need(for_each_line(key_file(o.trace, nul), progress, [&](const Line& line) -> Result<Ok> {
    NAYSAY_TRY(const TraceStep step, parse_trace_step(line.text));
    const Digest d = f.hasher()(step.key);
    if (step.insert) {
      if (most != 0 && f.keys() >= most)
        return Error{
            Errc::out_of_budget,
            fmt::format("{} has room for {} keys; give --overfill, or build it with a larger --capacity; {} is "
                        "as it was",
                        f.type().name, most, output)};
      if (!f.insert(d))
        return Error{Errc::out_of_budget, fmt::format("{} has no room for more than {} keys: {}; {} is as it was",
                                                      f.type().name, f.keys(), why_no_room(f), output)};
      ++inserted;
      negatives.inserted(d);
    } else if (f.erase(d)) {
      ++erased;
      negatives.erased(d);
    } else {
      ++absent;
    }
    time.assign(step.time);
    if (++operations % o.every == 0) table.add(time, operations, f, negatives.measure(f, o.learn));
    return Ok{};
  }));
  if (operations % o.every != 0) table.add(time, operations, f, negatives.measure(f, o.learn));
  said["trace"] = {{"operations", operations},
                   {"inserted", inserted},
                   {"erased", erased},
                   {"not erased", absent},
                   {"rows", table.rows()}};
  text += table.text() + fmt::format("{}: {} inserted, {} erased", output, inserted, erased);
  if (absent > 0) text += fmt::format(", {} not erased (the filter denies them)", absent);
  text += '\n';
}

}  // namespace

void run_trace_options(const TraceOptions& o, AnyFilter& f, const std::string& output, bool nul, std::uint64_t most,
                       const Progress& progress, nlohmann::ordered_json& said, std::string& text) {
  if (!o.unpin.empty()) {
    const auto [given, done] = for_each_digest(key_file(o.unpin, nul), f.hasher(), progress,
                                               [&](Digest d) -> Result<bool> { return static_cast<bool>(f.unpin(d)); });
    said["unpinned"] = done;
    text += fmt::format("{}: {} unpinned", output, done);
    if (given > done) text += fmt::format(", {} not (they were not pinned)", given - done);
    text += '\n';
  }
  if (!o.pin.empty()) {
    const auto [given,
                done] = for_each_digest(key_file(o.pin, nul), f.hasher(), progress, [&](Digest d) -> Result<bool> {
      if (f.pin(d)) return true;
      const Metrics m = metrics_of(f);
      return Error{Errc::out_of_budget,
                   m.pinned > 0 && f.index_bits() == 0
                       ? fmt::format("{} has no index of its pinned negatives; {} is as it was", f.type().name, output)
                       : fmt::format("the guard of {} entries is full of pinned negatives; {} is as it was",
                                     m.guard_room, output)};
    });
    said["pinned"] = done;
    text += fmt::format("{}: {} pinned\n", output, done);
  }
  if (!o.trace.empty()) apply_trace(o, f, output, nul, most, progress, said, text);
}

}  // namespace naysay::cli
