#include "experiments/kinds.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "describe.hpp"
#include "failure.hpp"
#include "heap.hpp"
#include "naysay/theory/habf.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/score.hpp"
#include "spread.hpp"

namespace naysay::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kRounds = 5;
constexpr double kBuildNs = 2e9;                        // a filter that takes longer is not built again
constexpr std::size_t kQueries = std::size_t{1} << 17;  // of each sort in a round: milliseconds
constexpr std::size_t kDiskQueries = 200'000;           // a few thousand reads at 1 %
// Strangers: enough to see one false positive in a million where there are as many keys.
constexpr std::uint64_t kLeastStrangers = 200'000, kMostStrangers = 2'000'000;
constexpr int kOblivious = 10;  // more shuffles for filters that costs do not change

// Takes part in every timed loop, so that none can be dropped.
volatile std::uint64_t sink;

template <class Body>
double ns_each(std::size_t count, Body&& body) {
  const auto start = Clock::now();
  body();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() /
         static_cast<double>(std::max<std::size_t>(count, 1));
}

double param_number(const AnyFilter& f, std::string_view name) {
  for (const Param& p : f.params())
    if (p.name == name) return std::strtod(p.value.c_str(), nullptr);
  return std::nan("");
}

// The fewest bits a key for what a filter was measured to do: n keys at the stranger rate, and m known negatives of
// which the part `known` is accepted. filters.md: n log2(1/a) + m KL(known || a), a = min(fpr, n / (n + m)).
double limit_bits(double fpr, double known, double negatives_per_key) {
  if (!(fpr > 0)) return std::nan("");
  const double a = std::min(fpr, 1 / (1 + negatives_per_key));
  const double d = std::isnan(known) ? a : std::min(known, a);
  const auto part = [](double x, double y) { return x <= 0 ? 0.0 : x * std::log2(x / y); };
  return -std::log2(a) + negatives_per_key * (part(d, a) + part(1 - d, 1 - a));
}

// The negatives that the filter is told of, the costliest first if it is not all of them.
struct Told {
  std::vector<Digest> digests;
  std::vector<float> costs;
  double share = 1;  // of the cost
};

std::vector<std::uint32_t> by_cost(std::span<const float> costs) {
  std::vector<std::uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return costs[a] > costs[b]; });
  return order;
}

Told tell(const KeySet& set, std::span<const float> costs, double part) {
  Told told;
  if (part >= 1) {
    told.digests.assign(set.negatives.begin(), set.negatives.end());
    told.costs.assign(costs.begin(), costs.end());
    return told;
  }
  const auto order = by_cost(costs);
  const auto count = static_cast<std::size_t>(part * static_cast<double>(order.size()));
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    told.digests.push_back(set.negatives[order[i]]);
    told.costs.push_back(costs[order[i]]);
    sum += costs[order[i]];
  }
  told.share = sum / std::accumulate(costs.begin(), costs.end(), 0.0);
  return told;
}

// Negatives as traffic: each is asked as often as it costs.
class Traffic {
 public:
  Traffic(const KeySet& set, std::span<const float> costs, std::uint64_t seed) : set_(set), random_(seed) {
    double sum = 0;
    for (const float c : costs) sums_.push_back(sum += c);
  }
  std::size_t next() {
    const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * sums_.back();
    return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end() - 1, at) - sums_.begin());
  }
  Digest digest(std::size_t i) const { return set_.negatives[i]; }

 private:
  const KeySet& set_;
  Random random_;
  std::vector<double> sums_;
};

// A file of blocks that lies on the disk and not in memory, and one random read from it.
class Store {
 public:
  explicit Store(std::uint64_t bytes) : bytes_(bytes) {
    const std::string pattern = (std::filesystem::temp_directory_path() / "naysay-store-XXXXXX").string();
    std::string path = pattern;
    fd_ = ::mkstemp(path.data());
    if (fd_ < 0) throw Failure{fmt::format("{}: cannot make a file to read from", pattern)};
    ::unlink(path.c_str());
    std::vector<char> block(kBlock * 256, 'x');
    for (std::uint64_t i = 0; i < bytes_; i += block.size())
      if (::write(fd_, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
        ::close(fd_);
        throw Failure{fmt::format("{}: there is no room for {} bytes to read from", pattern, bytes_)};
      }
    ::fsync(fd_);
    forget();
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { ::close(fd_); }

  void read(std::uint64_t random) {
    alignas(4096) static char block[kBlock];
    if (reads_++ % kForgetEvery == 0) forget();
    const std::uint64_t at = fast_range(random, bytes_ / kBlock) * kBlock;
    if (::pread(fd_, block, kBlock, static_cast<off_t>(at)) > 0) sink = static_cast<unsigned char>(block[0]);
  }

 private:
  static constexpr std::uint64_t kBlock = 4096;
  static constexpr std::uint64_t kForgetEvery = 64;  // so that next to nothing of the file is in memory
  void forget() { (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

  std::uint64_t bytes_;
  int fd_ = -1;
  std::uint64_t reads_ = 0;
};

class Measurement {
 public:
  Measurement(const Job& job, const Plan& plan, Sources& sources, const Progress& progress)
      : job_(job),
        plan_(plan),
        setup_(job.panel->setup),
        sources_(sources),
        set_(sources.get(plan.wish, progress)),
        hasher_(sources.hasher(plan.wish.siphash)) {}

  Json run() {
    switch (job_.panel->kind) {
      case Kind::rates:
        return rates();
      case Kind::times:
        return times();
      case Kind::churn:
        return churn();
      case Kind::shift:
        return shift();
      case Kind::disk:
        return disk();
      case Kind::life:
        return life();
    }
    return {};
  }

 private:
  bool wants(std::string_view metric) const {
    for (const Panel& p : job_.experiment->panels)
      if (&measured_panel(*job_.experiment, p) == job_.panel)
        for (const Metric& y : p.ys)
          if (y.name == metric) return true;
    return false;
  }

  Workload workload(const Told& told) const {
    Workload w{.keys = set_.keys,
               .negatives = told.digests,
               .costs = told.costs,
               .seed = plan_.seed,
               .threads = plan_.threads};
    w.stranger_share = std::max(w.stranger_share, 1 - told.share);
    return w;
  }

  Result<AnyFilter> build(const Workload& w) const {
    return AnyFilter::build(plan_.type->name, w, std::span<const Param>(plan_.params), hasher_);
  }

  void need_all_keys(const AnyFilter& f, std::span<const Digest> keys) const {
    if (const std::uint64_t denied = keys.size() - count_maybe(f, keys); denied > 0)
      throw Failure{fmt::format("{} denies {} of {} keys in {}; no filter may deny any", plan_.type->name, denied,
                                keys.size(), job_.experiment->name)};
  }

  static Json problem(const Error& e) { return {{"problem", e.message}}; }

  // For each key while building, with the digests (16 bytes) and costs (4) that the tool itself holds.
  double held_bytes(std::uint64_t peak) const {
    const std::uint64_t input = 16 * set_.keys.size() + 20 * set_.negatives.size();
    return static_cast<double>(peak + input) / static_cast<double>(set_.keys.size());
  }

  // ---- rates
  Json rates() const {
    const bool aware = plan_.type->claims.uses_negatives;
    const int shuffles = plan_.skew == 0 || plan_.skew == kRealCosts ? 1
                         : aware                                     ? setup_.shuffles
                                                                     : setup_.shuffles * kOblivious;
    Spread wfpr, known, build_ns;
    std::optional<AnyFilter> f;
    std::vector<std::uint8_t> accepted(set_.negatives.size());
    std::uint64_t peak = 0;
    double fpr = std::nan("");
    Report report;
    for (int s = 0; s < shuffles; ++s) {
      const std::vector<float> costs = sources_.costs(plan_.skew, plan_.seed + static_cast<std::uint64_t>(s));
      if (!f || aware) {
        const Told told = tell(set_, costs, setup_.told);
        Workload w = workload(told);
        Report said;
        w.report = &said;
        const std::uint64_t before = heap::held();
        heap::forget_peak();
        f.reset();
        std::optional<Error> refused;
        build_ns.add(ns_each(set_.keys.size(), [&] {
          auto built = build(w);
          if (built)
            f.emplace(std::move(*built));
          else
            refused = built.error();
        }));
        if (refused) return problem(*refused);
        peak = heap::peak() - before;
        f->may_contain(set_.negatives, accepted.data());
        if (s == 0) {
          need_all_keys(*f, set_.keys);
          report = std::move(said);
          fpr = static_cast<double>(count_maybe(*f, set_.strangers)) / static_cast<double>(set_.strangers.size());
        }
        known.add(static_cast<double>(std::accumulate(accepted.begin(), accepted.end(), std::uint64_t{0})) /
                  static_cast<double>(std::max<std::size_t>(accepted.size(), 1)));
      }
      double cost = 0, all = 0;
      for (std::size_t i = 0; i < costs.size(); ++i) {
        cost += accepted[i] ? costs[i] : 0;
        all += costs[i];
      }
      wfpr.add(all > 0 ? cost / all : 0);
    }
    const double n = static_cast<double>(set_.keys.size()), lambda = static_cast<double>(set_.negatives.size()) / n;
    const double bits = bits_per_key(*f), limit = limit_bits(fpr, known.mean(), setup_.told * lambda);
    Json v;
    v["wfpr"] = wfpr.json(true);
    v["known_fpr"] = known.mean();
    v["fpr"] = fpr;
    v["bits_per_key"] = bits;
    v["bytes"] = size_bytes(*f);
    v["limit_bits"] = number_or_null(limit);
    v["limit_over"] = number_or_null(bits / limit);
    v["expected_fpr"] = f->expected_fpr();
    v["build_ns"] = build_ns.json();
    v["build_seconds"] = build_ns.median() * n / 1e9;
    v["peak_build_bytes"] = peak;
    v["held_bytes"] = held_bytes(peak);
    if (plan_.type->name == "habf" || plan_.type->name == "f-habf") v["bound"] = habf_bound(*f);
    for (const Report::Line& line : report.lines) v["report"][line.name] = line.value;
    return {{"values", std::move(v)}};
  }

  // F_habf at most, from Eq. 2, 12 and 19.
  double habf_bound(const AnyFilter& f) const {
    const double ratio = param_number(f, "space_ratio"), cell_bits = param_number(f, "cell_bits");
    const double bits = static_cast<double>(f.size_bits());
    rates::HabfShape s;
    s.keys = static_cast<double>(set_.keys.size());
    s.negatives = static_cast<double>(set_.negatives.size());
    s.bits = bits / (1 + ratio);
    s.cells = bits * ratio / (1 + ratio) / cell_bits;
    s.k = static_cast<unsigned>(param_number(f, "k"));
    s.family = static_cast<unsigned>(param_number(f, "family"));
    if (s.family == 0) s.family = (1u << static_cast<unsigned>(cell_bits - 1)) - 1;
    const double stored = rates::habf_resolved(rates::habf_collisions(s), rates::habf_move_exists(s), s.cells, s.k);
    return rates::habf_total(rates::habf_bloom_bound(s), rates::habf_chain_bound(stored, s.cells));
  }

  // ---- times
  struct Timed {
    std::optional<AnyFilter> filter = {};
    std::optional<Error> refused = {};
    Spread build = {}, insert = {}, erase = {}, one_absent = {}, one_present = {}, one_mixed = {}, batch_absent = {},
           batch_present = {};
    std::uint64_t peak = 0;
  };

  void build_timed(Timed& t, std::string_view name, std::span<const Param> params, const Workload& w) const {
    const std::uint64_t before = heap::held();
    heap::forget_peak();
    t.filter.reset();
    t.build.add(ns_each(w.keys.size(), [&] {
      auto built = AnyFilter::build(name, w, params, hasher_);
      if (built)
        t.filter.emplace(std::move(*built));
      else
        t.refused = built.error();
    }));
    t.peak = heap::peak() - before;
  }

  // Into an empty filter with room for all, one by one; and out again.
  void insert_timed(Timed& t, std::string_view name, std::span<const Param> params, const Workload& all) const {
    Workload empty = all;
    empty.keys = {};
    empty.capacity = all.keys.size();
    auto f = AnyFilter::build(name, empty, params, hasher_);
    if (!f) return;
    bool fits = true;
    t.insert.add(ns_each(all.keys.size(), [&] {
      for (const Digest& d : all.keys) fits &= f->insert(d);
    }));
    if (!fits) {
      t.insert.values.clear();
      return;
    }
    if (f->type().erasable)
      t.erase.add(ns_each(all.keys.size(), [&] {
        for (const Digest& d : all.keys) sink = f->erase(d);
      }));
  }

  static double ask_one_by_one(const AnyFilter& f, std::span<const Digest> queries) {
    return ns_each(queries.size(), [&] {
      std::uint64_t yes = 0;
      for (const Digest& d : queries) yes += f.may_contain(d);
      sink = yes;
    });
  }
  static double ask_in_batches(const AnyFilter& f, std::span<const Digest> queries) {
    std::vector<std::uint8_t> answers(queries.size() + 1);
    return ns_each(queries.size(), [&] {
      f.may_contain(queries, answers.data());
      sink = answers.front();
    });
  }

  // What the machine can do at best: independent reads at random places of an array of so many bytes.
  static double random_read_ns(std::uint64_t bytes, std::span<const Digest> queries) {
    const Array<std::uint64_t> array(std::max<std::uint64_t>(bytes / 8, 1));
    Spread times;
    for (int round = 0; round < kRounds; ++round)
      times.add(ns_each(queries.size(), [&] {
        std::uint64_t sum = 0;
        for (const Digest& d : queries) sum += array[fast_range(d.lo, array.size())];
        sink = sum;
      }));
    return times.median();
  }

  Json times() const {
    const std::vector<float> costs = sources_.costs(plan_.skew, plan_.seed);
    const Told told = tell(set_, costs, setup_.told);
    const Workload w = workload(told);
    const FilterType* base_type = find_filter(setup_.beside);
    std::vector<Param> base_params;
    for (const Param& p : plan_.params)
      if (p.name == "bits_per_key") base_params.push_back(p);

    Random random(plan_.seed);
    std::vector<Digest> present, absent, mixed;
    for (std::size_t i = 0; i < (plan_.size == Size::tiny ? 1000 : kQueries); ++i) {
      present.push_back(set_.keys[random.below(set_.keys.size())]);
      absent.push_back(i % 2 == 0 && !told.digests.empty() ? told.digests[random.below(told.digests.size())]
                                                           : set_.strangers[random.below(set_.strangers.size())]);
    }
    mixed = present;
    mixed.insert(mixed.end(), absent.begin(), absent.end());
    random.shuffle(std::span<Digest>(mixed));

    Timed mine, base;
    double spent = 0;
    const bool builds = wants("build_ns") || wants("build_over") || wants("build_seconds");
    while (mine.build.values.empty() || (builds && mine.build.values.size() < kRounds && spent < kBuildNs)) {
      build_timed(base, base_type->name, base_params, w);
      build_timed(mine, plan_.type->name, plan_.params, w);
      if (mine.refused) return problem(*mine.refused);
      if (base.refused) return problem(*base.refused);
      spent += mine.build.values.back() * static_cast<double>(set_.keys.size());
    }
    need_all_keys(*mine.filter, set_.keys);
    if ((wants("insert_ns") || wants("erase_ns")) && plan_.type->dynamic && base_type->dynamic)
      for (int round = 0; round < kRounds; ++round) {
        insert_timed(base, base_type->name, base_params, w);
        insert_timed(mine, plan_.type->name, plan_.params, w);
      }
    for (int round = 0; round < kRounds; ++round)
      for (Timed* t : {&base, &mine}) {
        const AnyFilter& f = *t->filter;
        ask_one_by_one(f, absent);  // the cache forgets the other one
        t->one_absent.add(ask_one_by_one(f, absent));
        t->one_present.add(ask_one_by_one(f, present));
        t->one_mixed.add(ask_one_by_one(f, mixed));
        t->batch_absent.add(ask_in_batches(f, absent));
        t->batch_present.add(ask_in_batches(f, present));
      }
    Json v;
    const auto put = [&](const char* name, const Spread& m, const Spread& b) {
      if (m.values.empty()) return;
      v[std::string(name) + "_ns"] = m.json();
      v[std::string(name) + "_over"] = number_or_null(median_ratio(m, b));
    };
    put("build", mine.build, base.build);
    put("insert", mine.insert, base.insert);
    put("erase", mine.erase, base.erase);
    put("query", mine.one_mixed, base.one_mixed);
    put("absent", mine.one_absent, base.one_absent);
    put("present", mine.one_present, base.one_present);
    put("batch_absent", mine.batch_absent, base.batch_absent);
    put("batch_present", mine.batch_present, base.batch_present);
    const double n = static_cast<double>(set_.keys.size());
    v["build_seconds"] = mine.build.median() * n / 1e9;
    v["beside"] = setup_.beside;
    v["bits_per_key"] = bits_per_key(*mine.filter);
    v["bytes"] = size_bytes(*mine.filter);
    v["fpr"] =
        static_cast<double>(count_maybe(*mine.filter, set_.strangers)) / static_cast<double>(set_.strangers.size());
    v["known_fpr"] = set_.negatives.empty() ? Json()
                                            : Json(static_cast<double>(count_maybe(*mine.filter, set_.negatives)) /
                                                   static_cast<double>(set_.negatives.size()));
    if (wants("random_read_ns")) v["random_read_ns"] = random_read_ns(size_bytes(*mine.filter), absent);
    v["peak_build_bytes"] = mine.peak;
    v["held_bytes"] = held_bytes(mine.peak);
    return {{"values", std::move(v)}};
  }

  // ---- churn
  double weighted(const AnyFilter& f, std::span<const float> costs) const {
    double cost = 0, all = 0;
    score_detail::for_each_answer(f, set_.negatives, [&](std::size_t i, bool maybe) {
      cost += maybe ? costs[i] : 0;
      all += costs[i];
    });
    return all > 0 ? cost / all : 0;
  }

  Json churn() const {
    std::vector<Spread> after;
    Json values;
    for (int s = 0; s < setup_.shuffles; ++s)
      if (Json refused =
              churn_once(sources_.costs(plan_.skew, plan_.seed + static_cast<std::uint64_t>(s)), after, values);
          !refused.empty())
        return refused;
    Json curve = Json::array();
    for (std::size_t round = 0; round < after.size(); ++round)
      curve.push_back({{"x", round}, {"wfpr", after[round].json(true)}});
    return {{"curve", std::move(curve)}, {"values", std::move(values)}};
  }

  // Adds the weighted rate after every round to `after`. Empty, or why it cannot be.
  Json churn_once(const std::vector<float>& costs, std::vector<Spread>& after, Json& values) const {
    const Told told = tell(set_, costs, setup_.told);
    Workload w{.keys = set_.keys, .capacity = set_.keys.size(), .seed = plan_.seed, .threads = plan_.threads};
    // Those who can be told later are told later; the others need to know before they are built.
    const bool later = plan_.type->adaptive;
    if (!later) {
      w.negatives = told.digests;
      w.costs = told.costs;
    }
    auto f = build(w);
    if (!f) return problem(f.error());
    const auto rounds = static_cast<std::size_t>(x_values(job_.panel->x, plan_.size).back());
    after.resize(rounds + 1);
    if (later && !job_.series->told_again)
      for (std::size_t i = 0; i < told.digests.size(); ++i) f->adapt(told.digests[i], told.costs[i]);
    after[0].add(weighted(*f, costs));
    std::vector<Digest> live(set_.keys.begin(), set_.keys.end());
    std::size_t next = 0;
    Random random(plan_.seed);
    const auto moved = static_cast<std::size_t>(setup_.churn * static_cast<double>(live.size()));
    for (std::size_t round = 1; round <= rounds; ++round) {
      if (job_.series->told_again)
        for (std::size_t i = 0; i < told.digests.size(); ++i)
          if (f->may_contain(told.digests[i])) f->adapt(told.digests[i], told.costs[i]);
      for (std::size_t i = 0; i < moved; ++i) {
        Digest& d = live[random.below(live.size())];
        if (!f->erase(d))
          throw Failure{fmt::format("{} does not let go of a key in {}", plan_.type->name, job_.experiment->name)};
        d = set_.newcomers[next++ % set_.newcomers.size()];
        if (next > set_.newcomers.size()) d = digest(next, ~plan_.seed);  // keys never come twice
        if (!f->insert(d))
          throw Failure{fmt::format("{} has no room for a key in {}", plan_.type->name, job_.experiment->name)};
      }
      after[round].add(weighted(*f, costs));
    }
    need_all_keys(*f, live);
    values = {{"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}};
    return {};
  }

  // ---- shift
  Json shift() const {
    const std::vector<float> costs = sources_.costs(plan_.skew, plan_.seed);
    const Told told = tell(set_, costs, setup_.told);
    auto f = build(workload(told));
    if (!f) return problem(f.error());
    need_all_keys(*f, set_.keys);
    const double known = weighted(*f, costs);
    const double fpr =
        static_cast<double>(count_maybe(*f, set_.strangers)) / static_cast<double>(set_.strangers.size());
    Json curve = Json::array();
    for (const double part : x_values(job_.panel->x, plan_.size))
      curve.push_back({{"x", part}, {"wfpr", part * known + (1 - part) * fpr}});
    return {{"curve", std::move(curve)},
            {"values", {{"wfpr", known}, {"fpr", fpr}, {"bits_per_key", bits_per_key(*f)}, {"bytes", size_bytes(*f)}}}};
  }

  // ---- disk
  // One for the whole run.
  Store& store() const {
    static Store file(plan_.size == Size::tiny ? std::uint64_t{4} << 20 : std::uint64_t{256} << 20);
    return file;
  }
  std::size_t disk_queries() const { return plan_.size == Size::tiny ? 2000 : kDiskQueries; }

  double read_ns(Random& random) const {
    constexpr int kReads = 500;
    return ns_each(kReads, [&] {
      for (int i = 0; i < kReads; ++i) store().read(random());
    });
  }

  Json disk() const {
    const std::vector<float> costs = sources_.costs(plan_.skew, plan_.seed);
    const Told told = tell(set_, costs, setup_.told);
    auto f = build(workload(told));
    if (!f) return problem(f.error());
    need_all_keys(*f, set_.keys);
    Traffic traffic(set_, costs, plan_.seed);
    Random random(plan_.seed);
    std::vector<Digest> queries;
    const auto present = static_cast<std::size_t>(plan_.present_share * static_cast<double>(disk_queries()));
    for (std::size_t i = 0; i < disk_queries(); ++i)
      queries.push_back(i < present ? set_.keys[random.below(set_.keys.size())] : traffic.digest(traffic.next()));
    random.shuffle(std::span<Digest>(queries));
    std::uint64_t reads = 0;
    Spread filter_ns;
    for (int round = 0; round < kRounds; ++round) {
      reads = 0;
      filter_ns.add(ns_each(queries.size(), [&] {
        for (const Digest& d : queries) reads += f->may_contain(d);
      }));
    }
    const double read_share = static_cast<double>(reads) / static_cast<double>(queries.size());
    Json v;
    v["filter_ns"] = filter_ns.json();
    v["read_share"] = read_share;
    if (setup_.read_us > 0) {
      v["read_ns"] = setup_.read_us * 1e3;
      v["total_ns"] = filter_ns.median() + read_share * setup_.read_us * 1e3;
    } else {
      v["read_ns"] = read_ns(random);
      const double total = ns_each(queries.size(), [&] {
        for (const Digest& d : queries)
          if (f->may_contain(d)) store().read(random());
      });
      v["total_ns"] = total;
    }
    v["bits_per_key"] = bits_per_key(*f);
    return {{"values", std::move(v)}};
  }

  // ---- life
  Json life() const {
    const std::vector<float> costs = sources_.costs(plan_.skew, plan_.seed);
    Traffic traffic(set_, costs, plan_.seed);
    Random random(plan_.seed);
    double read = setup_.read_us * 1e3;
    if (read == 0) read = read_ns(random);
    // Nobody is told of negatives before the first error.
    const Workload w{.keys = set_.keys, .seed = plan_.seed, .threads = plan_.threads};
    std::optional<AnyFilter> f;
    std::optional<Error> refused;
    double ns = ns_each(1, [&] {
      auto built = build(w);
      if (built)
        f.emplace(std::move(*built));
      else
        refused = built.error();
    });
    if (refused) return problem(*refused);
    Json curve = Json::array();
    curve.push_back({{"x", 0}, {"seconds", ns / 1e9}, {"wfpr", nullptr}});
    std::uint64_t done = 0;
    bool warm = false;
    std::vector<std::size_t> asked;
    for (double until : x_values(job_.panel->x, plan_.size)) {
      if (plan_.size == Size::tiny) until /= 1000;
      asked.clear();
      for (; done < static_cast<std::uint64_t>(until); ++done) asked.push_back(traffic.next());
      std::uint64_t errors = 0;
      ns += ns_each(1, [&] {
        for (const std::size_t i : asked) {
          if (!f->may_contain(traffic.digest(i))) continue;
          ++errors;
          if (plan_.type->adaptive) f->adapt(traffic.digest(i), costs[i]);
        }
        if (plan_.type->warming && !warm && f->full()) {
          warm = true;
          if (auto ok = f->warm(set_.keys); !ok) refused = ok.error();
        }
      });
      if (refused) return problem(*refused);
      ns += static_cast<double>(errors) * read;
      curve.push_back({{"x", until},
                       {"seconds", ns / 1e9},
                       {"wfpr", asked.empty() ? 0 : static_cast<double>(errors) / static_cast<double>(asked.size())}});
    }
    need_all_keys(*f, set_.keys);
    return {{"curve", std::move(curve)}, {"values", {{"read_ns", read}, {"bits_per_key", bits_per_key(*f)}}}};
  }

  const Job& job_;
  const Plan& plan_;
  const Setup& setup_;
  Sources& sources_;
  const KeySet& set_;
  Hasher hasher_;
};

bool makes_curves(Kind kind) { return kind == Kind::churn || kind == Kind::shift || kind == Kind::life; }

}  // namespace

std::vector<Job> jobs_of(const Experiment& e, Size size, std::vector<std::string>& missing) {
  std::vector<Job> jobs;
  for (const Panel& p : e.panels) {
    if (*p.from) continue;
    const auto xs = x_values(p.x, size);
    const bool whole = makes_curves(p.kind) || xs.empty();
    for (std::size_t i = 0; i < (whole ? 1 : xs.size()); ++i)
      for (const Series& s : p.series) {
        if (!find_filter(s.filter)) {
          if (std::find(missing.begin(), missing.end(), s.filter) == missing.end()) missing.push_back(s.filter);
          continue;
        }
        jobs.push_back({&e, &p, &s, whole ? std::nullopt : std::optional(xs[i])});
      }
  }
  return jobs;
}

Plan plan(const Job& job, Size size, std::uint64_t seed) {
  const Setup& s = job.panel->setup;
  const bool tiny = size == Size::tiny;
  const double scale = size == Size::paper ? 1 : s.quick_scale;
  const double x = job.x.value_or(0);
  const auto set = [&](Sets what) { return job.x && job.panel->x.sets == what; };
  Plan p;
  p.type = find_filter(job.series->filter);
  p.seed = seed;
  p.size = size;
  p.skew = set(Sets::skew) ? x : s.skew;
  p.present_share = set(Sets::present_share) ? x : 0;
  p.threads = set(Sets::threads) ? static_cast<unsigned>(x) : 1;
  p.wish.data = s.data;
  p.wish.siphash = job.series->siphash;
  const double all = set(Sets::keys) ? x : s.keys * scale, keys = tiny ? std::min(all, kTinyKeys) : all;
  const double negatives = (set(Sets::negatives_per_key) ? x : s.negatives / s.keys) * keys;
  p.wish.keys = static_cast<std::uint64_t>(keys);
  p.wish.negatives = static_cast<std::uint64_t>(tiny ? std::min(negatives, kTinyNegatives) : negatives);
  p.wish.strangers = tiny ? 2 * p.wish.keys : std::clamp(p.wish.keys, kLeastStrangers, kMostStrangers);
  if (job.panel->kind == Kind::churn) p.wish.newcomers = p.wish.keys;
  const auto put = [&](const Param& param) {
    for (Param& old : p.params)
      if (old.name == param.name) return void(old = param);
    p.params.push_back(param);
  };
  for (const Param& param : job.series->params) {
    if (param.name == "for_fpr") {
      const double rate = std::strtod(param.value.c_str(), nullptr);
      if (p.type && p.type->tunable)
        for (const Param& own : p.type->params_for(rate)) put(own);
    } else if (param.value.ends_with(" %")) {
      const double part = std::strtod(param.value.c_str(), nullptr) / 100;
      put({param.name, std::to_string(static_cast<std::uint64_t>(part * static_cast<double>(p.wish.negatives)))});
    } else {
      put(param);
    }
  }
  if (set(Sets::mebibytes)) put({"bits_per_key", to_text(8.0 * 1048576 * x / s.keys)});
  if (set(Sets::bits_per_key)) put({"bits_per_key", to_text(x)});
  if (set(Sets::param))
    for (std::string_view names = job.panel->x.param; !names.empty();) {  // "a+b" sets both
      const auto end = std::min(names.find('+'), names.size());
      put({std::string(names.substr(0, end)), to_text(x)});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  return p;
}

double weight(const Job& job, Size size) {
  const Plan p = plan(job, size, 1);
  const bool aware = p.type->claims.uses_negatives;
  const double builds = job.panel->kind == Kind::rates && aware && p.skew > 0 ? job.panel->setup.shuffles
                        : job.panel->kind == Kind::times                      ? 2 * kRounds
                                                                              : 1;
  return static_cast<double>(p.wish.keys) * builds + 1e5;
}

nlohmann::ordered_json measure(const Job& job, const Plan& plan, Sources& sources, const Progress& progress) {
  return Measurement(job, plan, sources, progress).run();
}

}  // namespace naysay::cli
