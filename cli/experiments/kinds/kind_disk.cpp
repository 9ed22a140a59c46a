// SPDX-License-Identifier: Apache-2.0
// disk and life: negatives are queried as often as they cost, and every "maybe" reads a block from a file.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "experiments/measurement.hpp"
#include "naysay/workload/random.hpp"
#include "parts/describe.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

constexpr std::size_t kDiskQueries = 200'000;  // a few thousand reads at 1 %

// Negatives as traffic: each is queried as often as it costs.
class Traffic {
 public:
  Traffic(const ExperimentKeys& set, std::span<const float> costs, std::uint64_t seed) : set_(set), random_(seed) {
    double sum = 0;
    for (const float c : costs) sums_.push_back(sum += c);
  }
  std::size_t next() {
    const double at = static_cast<double>(random_() >> 11) * 0x1p-53 * sums_.back();
    return static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end() - 1, at) - sums_.begin());
  }
  Digest digest(std::size_t i) const { return set_.negatives[i]; }

 private:
  const ExperimentKeys& set_;
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

// One for the whole run.
Store& store(Size size) {
  static Store file(size == Size::tiny ? std::uint64_t{4} << 20 : std::uint64_t{256} << 20);
  return file;
}
std::size_t disk_queries(Size size) { return size == Size::tiny ? 2000 : kDiskQueries; }

double read_ns(Size size, Random& random) {
  constexpr int kReads = 500;
  return ns_each(kReads, [&] {
    for (int i = 0; i < kReads; ++i) store(size).read(random());
  });
}

}  // namespace

Json measure_disk(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  const GivenNegatives given = given_negatives(m.set, costs, m.setup.given);
  auto f = m.build(m.workload(given));
  if (!f) return problem(f.error());
  m.need_all_keys(*f, m.set.keys);
  Traffic traffic(m.set, costs, m.plan.seed);
  Random random(m.plan.seed);
  std::vector<Digest> queries;
  const auto present = static_cast<std::size_t>(m.plan.present_share * static_cast<double>(disk_queries(m.plan.size)));
  for (std::size_t i = 0; i < disk_queries(m.plan.size); ++i)
    queries.push_back(i < present ? m.set.keys[random.below(m.set.keys.size())] : traffic.digest(traffic.next()));
  random.shuffle(std::span<Digest>(queries));
  std::uint64_t reads = 0;
  const Samples filter_ns = rounds([&] {
    reads = 0;
    return ns_each(queries.size(), [&] {
      for (const Digest& d : queries) reads += f->may_contain(d);
    });
  });
  const double read_share = static_cast<double>(reads) / static_cast<double>(queries.size());
  Json v;
  v["filter_ns"] = filter_ns.json();
  v["read_share"] = read_share;
  if (m.setup.read_us > 0) {
    v["read_ns"] = m.setup.read_us * 1e3;
    v["total_ns"] = filter_ns.median() + read_share * m.setup.read_us * 1e3;
  } else {
    v["read_ns"] = read_ns(m.plan.size, random);
    const double total = ns_each(queries.size(), [&] {
      for (const Digest& d : queries)
        if (f->may_contain(d)) store(m.plan.size).read(random());
    });
    v["total_ns"] = total;
  }
  v["bits_per_key"] = bits_per_key(*f);
  return {{"values", std::move(v)}};
}

Json measure_life(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  Traffic traffic(m.set, costs, m.plan.seed);
  Random random(m.plan.seed);
  double read = m.setup.read_us * 1e3;
  if (read == 0) read = read_ns(m.plan.size, random);
  // No filter is given a negative before its first error.
  const Workload w{.keys = m.set.keys};
  Attempt built = attempt(m.plan.type->name, w, m.plan.params, m.options());
  if (built.refused) return problem(*built.refused);
  std::optional<AnyFilter>& f = built.filter;
  std::optional<Error> refused;
  double ns = built.ns;
  Json curve = Json::array();
  curve.push_back({{"x", 0}, {"seconds", ns / 1e9}, {"wfpr", nullptr}});
  std::uint64_t done = 0;
  bool warm = false;
  std::vector<std::size_t> queried;
  for (double until : x_values(m.job.panel->x, m.plan.size)) {
    if (m.plan.size == Size::tiny) until /= 1000;
    queried.clear();
    for (; done < static_cast<std::uint64_t>(until); ++done) queried.push_back(traffic.next());
    std::uint64_t errors = 0;
    ns += ns_each(1, [&] {
      for (const std::size_t i : queried) {
        if (!f->may_contain(traffic.digest(i))) continue;
        ++errors;
        if (m.plan.type->adaptive) f->adapt(traffic.digest(i), costs[i]);
      }
      if (m.plan.type->warming && !warm && f->full()) {
        warm = true;
        if (auto ok = f->warm(m.set.keys); !ok) refused = ok.error();
      }
    });
    if (refused) return problem(*refused);
    ns += static_cast<double>(errors) * read;
    curve.push_back(
        {{"x", until},
         {"seconds", ns / 1e9},
         {"wfpr", queried.empty() ? 0 : static_cast<double>(errors) / static_cast<double>(queried.size())}});
  }
  m.need_all_keys(*f, m.set.keys);
  return {{"curve", std::move(curve)}, {"values", {{"read_ns", read}, {"bits_per_key", bits_per_key(*f)}}}};
}

}  // namespace naysay::cli
