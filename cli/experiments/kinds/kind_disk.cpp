// SPDX-License-Identifier: Apache-2.0
// disk and life: negatives are queried as often as they cost, and every "maybe" reads a block from a file. Reads do not
// go through the page cache where the file system lets them (O_DIRECT); elsewhere the cache is told to forget the file
// again and again, and the row says "direct": false.
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

// A file of blocks that lies on the disk and not in memory, and one random read from it at a time.
class Store {
 public:
  explicit Store(std::uint64_t bytes) : bytes_(bytes) {
    const std::string pattern = (std::filesystem::temp_directory_path() / "naysay-store-XXXXXX").string();
    std::string path = pattern;
    fd_ = ::mkstemp(path.data());
    if (fd_ < 0) throw Failure{fmt::format("{}: cannot make a file to read from", pattern)};
    const int direct = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    ::unlink(path.c_str());
    std::vector<char> block(kBlock * 256, 'x');
    for (std::uint64_t i = 0; i < bytes_; i += block.size())
      if (::write(fd_, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
        ::close(fd_);
        if (direct >= 0) ::close(direct);
        throw Failure{fmt::format("{}: there is no room for {} bytes to read from", pattern, bytes_)};
      }
    ::fsync(fd_);
    forget();
    if (direct < 0) return;
    // Some file systems open such a file and refuse to read from it.
    if (::pread(direct, block_, kBlock, 0) == static_cast<ssize_t>(kBlock)) {
      ::close(fd_);
      fd_ = direct;
      direct_ = true;
    } else {
      ::close(direct);
    }
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store() { ::close(fd_); }

  void read(std::uint64_t random) {
    if (!direct_ && reads_++ % kForgetEvery == 0) forget();
    const std::uint64_t at = fast_range(random, bytes_ / kBlock) * kBlock;
    if (::pread(fd_, block_, kBlock, static_cast<off_t>(at)) != static_cast<ssize_t>(kBlock))
      throw Failure{"a file that was just written cannot be read"};
    sink = static_cast<unsigned char>(block_[0]);
  }
  bool direct() const noexcept { return direct_; }

 private:
  static constexpr std::uint64_t kBlock = 4096;
  static constexpr std::uint64_t kForgetEvery = 64;  // so that next to nothing of the file is in memory
  void forget() { (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

  alignas(4096) char block_[kBlock] = {};
  std::uint64_t bytes_;
  int fd_ = -1;
  bool direct_ = false;
  std::uint64_t reads_ = 0;
};

// One for the whole run.
Store& store(Size size) {
  static Store file(size == Size::tiny ? std::uint64_t{4} << 20 : std::uint64_t{256} << 20);
  return file;
}
std::size_t disk_queries(Size size) { return size == Size::tiny ? 2000 : kDiskQueries; }

// After so long the life of a filter ends, however slow the disk is.
double most_reading_ns(Size size) { return size == Size::paper ? 600e9 : 15e9; }

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
    v["direct"] = store(m.plan.size).direct();
  }
  v["bits_per_key"] = bits_per_key(*f);
  return {{"values", std::move(v)}};
}

Json measure_life(const Measurement& m) {
  const std::vector<float> costs = m.costs();
  Traffic traffic(m.set, costs, m.plan.seed);
  Random random(m.plan.seed);
  const double computed = m.setup.read_us * 1e3;  // of a read; 0: each is made
  Store* const disk = computed > 0 ? nullptr : &store(m.plan.size);
  // No filter is given a negative before its first error.
  const Workload w{.keys = m.set.keys};
  Attempt built = attempt(m.plan.type->name, w, m.plan.params, m.options());
  if (built.refused) return problem(*built.refused);
  std::optional<AnyFilter>& f = built.filter;
  std::optional<Error> refused;
  double ns = built.ns;
  std::optional<AttachedKeys> keys;
  ns += ns_each(1, [&] { keys.emplace(*f, m.set.keys); });
  std::uint64_t all_errors = 0;
  double reading = 0;
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
    const double spent = ns_each(1, [&] {
      for (const std::size_t i : queried) {
        if (!f->may_contain(traffic.digest(i))) continue;
        ++errors;
        if (disk) disk->read(random());
        if (m.plan.type->adaptive) f->adapt(traffic.digest(i), costs[i]);
      }
      if (m.plan.type->warming && !warm && f->full()) {
        warm = true;
        if (auto ok = f->warm(m.set.keys); !ok) refused = ok.error();
      }
    });
    if (refused) return problem(*refused);
    ns += spent + static_cast<double>(errors) * computed;
    all_errors += errors;
    reading += spent;
    curve.push_back(
        {{"x", until},
         {"seconds", ns / 1e9},
         {"wfpr", queried.empty() ? 0 : static_cast<double>(errors) / static_cast<double>(queried.size())}});
    if (disk && reading > most_reading_ns(m.plan.size)) break;  // a slow disk: the curve ends here
  }
  m.need_all_keys(*f, m.set.keys);
  Json v;
  v["reads"] = all_errors;
  v["read_ns"] = disk ? read_ns(m.plan.size, random) : computed;
  if (disk) v["direct"] = disk->direct();
  v["bits_per_key"] = bits_per_key(*f);
  if (f->index_bits() > 0)
    v["index_bits_per_key"] = static_cast<double>(f->index_bits()) / static_cast<double>(m.set.keys.size());
  return {{"curve", std::move(curve)}, {"values", std::move(v)}};
}

}  // namespace naysay::cli
