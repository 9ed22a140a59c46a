// SPDX-License-Identifier: Apache-2.0
// naysay bench updates: a year of daily updates of a made-up list, shipped in five ways.
//
// The churn is about that of a real list of phishing domains: a day brings 2.0 % new keys and drops 1.75 %, most of which
// came within the last week; a hundredth of the known negatives is exchanged in a year. Every day all live keys, all known negatives and all keys
// that were dropped since the base before the last are queried: a wrong answer fails the bench.
//
//   full           the whole file every day
//   overlays       an update every day, a full file when one is due (naysay publish without roll-ups)
//   with ghosts    the same, where dropped keys may still be accepted
//   roll-ups       seven increments, then a roll-up from the base; a full file when one is due, or after 28 days
//   limit          what ADD, at a sixteenth of the base's rate, and DROP need at least (ribbon/taught_plan.hpp)
#include "commands/bench_updates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "naysay/ribbon/taught_plan.hpp"
#include "naysay/updates/stack.hpp"
#include "parts/failure.hpp"
#include "parts/progress.hpp"
#include "parts/samples.hpp"
#include "parts/table.hpp"
#include "parts/timing.hpp"

namespace naysay::cli {

namespace {

constexpr double kAdded = 0.020, kDropped = 0.0175, kYoung = 0.7, kExchanged = 0.01 / 365;

// The list, day by day. Keys are numbers; a number is used once.
class Year {
 public:
  Year(std::uint64_t keys, std::uint64_t negatives, std::uint64_t seed) : seed_(seed), state_(seed) {
    for (std::uint64_t i = 0; i < keys; ++i) old_.push_back(fresh());
    for (std::uint64_t i = 0; i < negatives; ++i) negatives_.push_back(fresh());
    start_ = static_cast<double>(keys);
    live_ = old_;
  }
  // Most keys that are dropped came within the last week, as in the real list. The size stays about the same, so that
  // days can be compared.
  void next_day() {
    const double growth = static_cast<double>(live_.size()) / start_;
    dropped_today_.clear();
    for (std::uint64_t n = rounded(kDropped * start_ * (growth > 1.05 ? 1.1 * kAdded / kDropped : 1)); n > 0; --n) {
      auto* from = &old_;
      if (!week_.empty() && uniform() < kYoung) from = &week_[below(week_.size())];
      if (from->empty()) from = &old_;
      if (from->empty()) break;
      const std::size_t i = below(from->size());
      dropped_today_.push_back((*from)[i]);
      (*from)[i] = from->back();
      from->pop_back();
    }
    added_today_ = rounded(kAdded * start_);
    auto& today = week_.emplace_back();
    for (std::uint64_t n = added_today_; n > 0; --n) today.push_back(fresh());
    if (week_.size() > 7) {
      old_.insert(old_.end(), week_.front().begin(), week_.front().end());
      week_.erase(week_.begin());
    }
    for (std::uint64_t n = rounded(kExchanged * static_cast<double>(negatives_.size())); n > 0; --n)
      negatives_[below(negatives_.size())] = fresh();
    live_ = old_;
    for (const auto& day : week_) live_.insert(live_.end(), day.begin(), day.end());
  }
  const std::vector<Digest>& live() const noexcept { return live_; }
  const std::vector<Digest>& negatives() const noexcept { return negatives_; }
  const std::vector<Digest>& dropped_today() const noexcept { return dropped_today_; }
  std::uint64_t added_today() const noexcept { return added_today_; }

 private:
  Digest fresh() { return digest(next_++, seed_); }
  std::uint64_t word() { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  std::size_t below(std::size_t n) { return fast_range(word(), n); }
  double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  std::uint64_t rounded(double wanted) { return static_cast<std::uint64_t>(wanted + uniform()); }

  std::vector<Digest> live_, old_, negatives_, dropped_today_;
  std::vector<std::vector<Digest>> week_;  // what the last seven days brought, of which some is gone
  std::uint64_t next_ = 0, added_today_ = 0, seed_, state_;
  double start_ = 0;
};

struct Policy {
  const char* name;
  bool ghosts;
  std::uint64_t rollup_every;  // 0: never
  std::uint64_t base_days;     // 0: when one is due
};
constexpr std::array<Policy, 3> kPolicies = {
    {{"overlays", false, 0, 0}, {"overlays with ghosts", true, 0, 0}, {"roll-ups", false, 7, 28}}};

// One way to ship the year.
struct Run {
  Policy policy;
  std::optional<Stack> stack = {};
  std::vector<Digest> dropped = {}, dropped_before = {};
  std::uint64_t base_day = 0, increments = 0;
  std::uint64_t bases = 0, rollups = 0, most_layers = 0, wrong = 0, shipped = 0;
  double worst_fpr = 0;
  Samples update_bytes = {};  // of days with an increment
};

std::vector<std::byte> base_of(const Year& year, std::span<const Digest> dropped, double bits) {
  std::vector<Digest> refused = year.negatives();
  refused.insert(refused.end(), dropped.begin(), dropped.end());
  const Workload w{.keys = year.live(), .negatives = refused};
  return need(AnyFilter::build("taught-ribbon", w, {{"bits_per_key", bits}})).to_bytes();
}

std::uint64_t count_wrong(const Run& run, const Year& year) {
  std::uint64_t wrong = 0;
  const auto count = [&](std::span<const Digest> some, bool right) {
    std::vector<std::uint8_t> answers(some.size());
    if (!some.empty()) run.stack->may_contain(some, answers.data());
    for (std::uint8_t a : answers) wrong += (a != 0) != right;
  };
  count(year.live(), true);
  count(year.negatives(), false);
  if (!run.policy.ghosts) count(run.dropped, false), count(run.dropped_before, false);
  return wrong;
}

void step(Run& run, const Year& year, std::uint64_t day, double bits) {
  run.dropped.insert(run.dropped.end(), year.dropped_today().begin(), year.dropped_today().end());
  std::vector<Digest> dropped = run.dropped;
  dropped.insert(dropped.end(), run.dropped_before.begin(), run.dropped_before.end());
  bool due = !run.stack || (run.policy.base_days > 0 && day - run.base_day >= run.policy.base_days);
  if (!due) {
    const bool rollup = run.policy.rollup_every > 0 && run.increments >= run.policy.rollup_every;
    Stack stack = need(run.stack->first(rollup ? 0 : run.stack->updates().size()));
    const DeltaTask task{.keys = year.live(),
                         .negatives = year.negatives(),
                         .dropped = dropped,
                         .ghosts = run.policy.ghosts,
                         .rollup = rollup,
                         .to_sequence = day + 1};
    const auto bytes = need(make_delta(stack, task));
    need(stack.push(HeldBytes::copy_of(bytes), {.self_test = false}));
    due = stack.update_bytes() > stack.base_bytes().bytes.size() / 2 ||
          stack.expected_fpr() > 2 * stack.base().expected_fpr();
    if (!due) {
      run.stack = std::move(stack);
      run.increments = rollup ? 0 : run.increments + 1;
      run.rollups += rollup;
      run.shipped += bytes.size();
      if (!rollup) run.update_bytes.add(static_cast<double>(bytes.size()));
    }
  }
  if (due) {
    const auto bytes = base_of(year, run.policy.ghosts ? std::span<const Digest>{} : dropped, bits);
    run.stack = need(Stack::of(HeldBytes::copy_of(bytes), day + 1));
    run.base_day = day;
    run.increments = 0;
    run.bases += 1;
    run.shipped += day == 0 ? 0 : bytes.size();  // the first is everybody's
    run.dropped_before = std::move(run.dropped);
    run.dropped.clear();
  }
  run.most_layers = std::max<std::uint64_t>(run.most_layers, run.stack->updates().size());
  run.worst_fpr = std::max(run.worst_fpr, run.stack->expected_fpr());
  run.wrong += count_wrong(run, year);
}

// Nanoseconds per query of strangers over the number of updates.
nlohmann::ordered_json layer_times(Year year, double bits, std::string& text) {
  Stack stack = need(Stack::of(HeldBytes::copy_of(base_of(year, {}, bits))));
  std::vector<Digest> strangers(1 << 18);
  for (std::size_t i = 0; i < strangers.size(); ++i) strangers[i] = digest(std::uint64_t{i}, 99);
  std::vector<std::uint8_t> answers(strangers.size());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  Table table({{"updates"}, {"ns one by one"}, {"ns in batches"}, {"strangers"}});
  std::vector<Digest> dropped;
  std::size_t done = 0;
  for (std::size_t layers : {0, 1, 2, 4, 7, 8, 16, 32}) {
    for (; done < layers; ++done) {
      year.next_day();
      dropped.insert(dropped.end(), year.dropped_today().begin(), year.dropped_today().end());
      need(stack.push(HeldBytes::copy_of(
          need(make_delta(stack, {.keys = year.live(), .negatives = year.negatives(), .dropped = dropped})))));
    }
    const Samples one = rounds([&] {
      return ns_each(strangers.size(), [&] {
        std::uint64_t hits = 0;
        for (const Digest& d : strangers) hits += stack.may_contain(d);
        sink = hits;
      });
    });
    const Samples batch = rounds([&] {
      return ns_each(strangers.size(), [&] {
        stack.may_contain(std::span<const Digest>(strangers), answers.data());
        sink = answers[0];
      });
    });
    std::uint64_t hits = 0;
    for (std::uint8_t a : answers) hits += a;
    const double fpr = static_cast<double>(hits) / static_cast<double>(strangers.size());
    table.add({fmt::format("{}", layers), number(one.median()), number(batch.median()), percent(fpr)});
    rows.push_back({{"updates", layers},
                    {"query_ns", one.json()},
                    {"batch_ns", batch.json()},
                    {"stranger_fpr", fpr},
                    {"expected_fpr", stack.expected_fpr()}});
  }
  text += table.text();
  return rows;
}

}  // namespace

void bench_updates(const std::string& size, std::uint64_t seed, const std::string& out) {
  const bool tiny = size == "tiny", paper = size == "paper";
  const std::uint64_t keys = tiny    ? 2'000
                             : paper ? 95'000
                                     : 20'000,
                      negatives = tiny    ? 10'000
                                  : paper ? 1'000'000
                                          : 200'000,
                      days = tiny ? 30 : 365;
  constexpr double kBits = 10;
  Year year(keys, negatives, seed);
  const Year first = year;
  std::vector<Run> runs;
  for (const Policy& p : kPolicies) runs.emplace_back().policy = p;
  Samples full, limit;
  std::uint64_t full_bytes = 0;
  double limit_bytes = 0, rate = 0;
  ProgressBar bar;
  for (std::uint64_t day = 0; day <= days; ++day) {
    bar.show("a year of updates", day, days + 1);
    if (day > 0) year.next_day();
    for (Run& run : runs) step(run, year, day, kBits);
    if (day == 0) {
      rate = runs[0].stack->base().expected_fpr();
      full.add(static_cast<double>(runs[0].stack->base_bytes().bytes.size()));
      continue;
    }
    // A full file has the size of the last base, by the number of keys.
    const double bytes = full.values[0] * static_cast<double>(year.live().size()) / static_cast<double>(keys);
    full.add(bytes);
    full_bytes += static_cast<std::uint64_t>(bytes);
    const auto added = static_cast<double>(year.added_today()), gone = static_cast<double>(year.dropped_today().size());
    const double day_limit = (added * ribbon::limit_bits_per_key(added, static_cast<double>(negatives), rate / 16) +
                              gone * ribbon::limit_bits_per_key(gone, static_cast<double>(year.live().size()), 1)) /
                             8;
    limit.add(day_limit);
    limit_bytes += day_limit;
  }
  bar.clear();
  std::uint64_t wrong = 0;
  Table table({{"what is shipped", Table::Align::left},
               {"bytes per update"},
               {"of full"},
               {"median increment"},
               {"full files"},
               {"roll-ups"},
               {"most updates"},
               {"strangers, worst"},
               {"wrong answers"}});
  const auto per_day = [&](double bytes) { return bytes / static_cast<double>(days); };
  const double full_day = per_day(static_cast<double>(full_bytes));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto row = [&](const std::string& name, double bytes, const Run* run) {
    table.add({name, fmt::format("{:.0f}", bytes), percent(bytes / full_day),
               run ? fmt::format("{:.0f}", run->update_bytes.median()) : "-",
               run ? fmt::format("{}", run->bases - 1) : "-", run ? fmt::format("{}", run->rollups) : "-",
               run ? fmt::format("{}", run->most_layers) : "-", run ? percent(run->worst_fpr) : percent(rate),
               run ? fmt::format("{}", run->wrong) : "-"});
    nlohmann::ordered_json j = {{"way", name}, {"bytes_per_update", bytes}, {"of_full", bytes / full_day}};
    if (run) {
      wrong += run->wrong;
      j["increment_bytes"] = run->update_bytes.json();
      j["full_files"] = run->bases - 1;
      j["rollups"] = run->rollups;
      j["most_updates"] = run->most_layers;
      j["worst_fpr"] = run->worst_fpr;
      j["wrong"] = run->wrong;
    }
    rows.push_back(j);
  };
  row("the full file", full_day, nullptr);
  for (const Run& run : runs) row(run.policy.name, per_day(static_cast<double>(run.shipped)), &run);
  row("limit of an increment, at e/16", per_day(limit_bytes), nullptr);
  std::string text = fmt::format(
      "{} days, {} keys, {} known negatives; a day adds {} and drops {} keys; a base has {} bits per key\n\n", days,
      keys, negatives, static_cast<std::uint64_t>(kAdded * static_cast<double>(keys)),
      static_cast<std::uint64_t>(kDropped * static_cast<double>(keys)), kBits);
  text += table.text() + "\n";
  const auto layers = layer_times(first, kBits, text);
  fmt::print("{}", text);
  if (!out.empty()) {
    std::ofstream file(out, std::ios::app);
    file << nlohmann::ordered_json{{"experiment", "updates"}, {"size", size}, {"days", days},    {"keys", keys},
                                   {"negatives", negatives},  {"rows", rows}, {"layers", layers}}
                .dump()
         << '\n';
    if (!file.flush()) throw Failure{fmt::format("{}: cannot write", out)};
  }
  if (wrong > 0)
    throw Failure{fmt::format("{} wrong answers on live, dropped or known keys; there must be none", wrong)};
}

}  // namespace naysay::cli
