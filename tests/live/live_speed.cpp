// SPDX-License-Identifier: Apache-2.0
// Speed of filters that live in a service: ratios within one process.
//
//   live_speed growth [N0] [GROWTH] [BITS]   growing-cuckoo against cuckoo: bits, rate, ns per operation, longest pause
//   live_speed shared [SECONDS] [KEYS]       reads per second: unlocked, shared, guarded, a shared mutex; alone and next to
//                                            a writer. Fails if a key was lost
//   live_speed swap [SECONDS]                reads of a static filter while it is swapped
//
// Times are CPU times of the thread that is measured, so that a busy machine disturbs them little. ./dev bench live
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "naysay/cuckoo/cuckoo.hpp"
#include "naysay/cuckoo/growing_cuckoo.hpp"
#include "naysay/live/shared_filter.hpp"
#include "naysay/live/swapped.hpp"

namespace {

using namespace naysay;

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double cpu() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double wall() { return seconds(CLOCK_MONOTONIC); }

template <class F>
double query_ns(const F& f, std::uint64_t first, std::uint64_t range, std::uint64_t& hits) {
  constexpr std::uint64_t kQueries = 2'000'000;
  double best = 1e9;
  for (int pass = 0; pass < 3; ++pass) {
    const double start = cpu();
    hits = 0;
    for (std::uint64_t i = 0; i < kQueries; ++i) hits += f.may_contain(digest(first + fast_range(mix64(i), range)));
    best = std::min(best, (cpu() - start) / kQueries * 1e9);
  }
  return best;
}
template <class F>
void print(const char* name, const F& f, std::uint64_t n) {
  std::uint64_t absent = 0, present = 0;
  const double no = query_ns(f, std::uint64_t{1} << 40, std::uint64_t{1} << 40, absent),
               yes = query_ns(f, 0, n, present);
  std::printf("%-16s %10llu keys %6.2f bits/key  fpr %.4f %%  absent %.1f ns  present %.1f ns\n", name,
              static_cast<unsigned long long>(n), static_cast<double>(f.size_bits()) / static_cast<double>(n),
              100 * f.expected_fpr(), no, yes);
}

int growth(std::uint64_t n0, double times, double bits) {
  auto f = GrowingCuckoo::build({}, {.bits_per_key = bits, .growth = times}, {.capacity = n0});
  if (!f) return std::puts(f.error().message.c_str()), 1;
  std::uint64_t n = 0;
  for (std::uint64_t size = n0; static_cast<double>(size) <= static_cast<double>(n0) * times; size *= 4) {
    const std::uint64_t first = n;
    double start = cpu(), pause = 0;
    for (; n < size; n += 64) {  // 64 at a time, so that the clock costs nothing
      const double before = cpu();
      for (std::uint64_t i = n; i < n + 64; ++i)
        if (!f->insert(digest(i))) return std::puts("no room"), 1;
      pause = std::max(pause, cpu() - before);
    }
    std::printf("insert %.0f ns, longest pause of 64 insertions %.0f us, load %.4f\n",
                (cpu() - start) / static_cast<double>(n - first) * 1e9, pause * 1e6, f->load());
    print("growing-cuckoo", *f, n);
    std::vector<Digest> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = digest(i);
    start = cpu();
    auto fixed = Cuckoo::build({.keys = keys}, {.bits_per_key = 13 / 0.95});
    if (!fixed) return 1;
    std::printf("build %.0f ns per key\n", (cpu() - start) / static_cast<double>(n) * 1e9);
    print("cuckoo, 13 bits", *fixed, n);
    std::fflush(stdout);
  }
  return 0;
}

// Reads per second of one reader's CPU time, while `writer`, if any, runs.
template <class Ask, class Write>
double reads(double length, std::uint64_t range, Ask&& ask, Write&& writer, bool writing, double& writes) {
  std::atomic<bool> stop{false};
  std::uint64_t written = 0;
  std::thread other;
  if (writing)
    other = std::thread([&] {
      for (std::uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i, ++written) writer(i);
    });
  const double start = wall(), mine = cpu();
  std::uint64_t n = 0, hits = 0;
  while (wall() - start < length)
    for (int i = 0; i < 4096; ++i, ++n) hits += ask(digest(fast_range(mix64(n), range)));
  const double rate = static_cast<double>(n) / (cpu() - mine);
  stop = true;
  if (writing) other.join();
  writes = static_cast<double>(written) / length;
  if (hits == 42) std::puts("");
  return rate;
}

int shared(double length, std::uint64_t count) {
  std::vector<Digest> keys(count);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = digest(i);
  const GrowingCuckoo::Params params{.bits_per_key = 18, .growth = 16};
  auto alone = GrowingCuckoo::build({.keys = keys}, params);
  auto both = SharedFilter::build({.keys = keys}, params);
  auto guarded = SharedFilter::build_guarded({.keys = keys}, {.bits_per_key = 19, .guard = 1000, .growth = 16});
  if (!alone || !both || !guarded) return 1;
  std::shared_mutex mutex;
  const std::uint64_t range = 2 * count;              // half of the queries are about keys
  const auto churn = [&](auto& f, std::uint64_t i) {  // the keys stay in; others are inserted and erased
    const Digest d = digest(10 * count + i / 2 % 100'000);
    i % 2 == 0 ? f.insert(d) : f.erase(d);
  };
  double writes = 0;
  const auto line = [&](const char* name, double rate, double base) {
    std::printf("%-44s %6.1f M reads/s  %.2f x  %5.2f M writes/s\n", name, rate / 1e6, rate / base, writes / 1e6);
    std::fflush(stdout);
  };
  const auto ask_alone = [&](Digest d) { return alone->may_contain(d); };
  const auto ask_shared = [&](Digest d) { return both->may_contain(d); };
  const auto ask_mutex = [&](Digest d) {
    const std::shared_lock lock(mutex);
    return alone->may_contain(d);
  };
  const auto none = [](std::uint64_t) {};
  const double base = reads(length, range, ask_alone, none, false, writes);
  line("no lock, no writer", base, base);
  double rate = reads(length, range, ask_shared, none, false, writes);
  line("SharedFilter, no writer", rate, base);
  rate = reads(
      length, range, ask_shared, [&](std::uint64_t i) { churn(*both, i); }, true, writes);
  line("SharedFilter, a writer that inserts and erases", rate, base);
  rate = reads(
      length, range, ask_shared, [&](std::uint64_t i) { both->insert(digest(100 * count + i)); }, true, writes);
  line("SharedFilter, a writer that makes it grow", rate, base);
  const auto ask_guarded = [&](Digest d) { return guarded->may_contain(d); };
  for (std::uint64_t i = 0; guarded->guarded() < 500; ++i) guarded->adapt(digest(1000 * count + i));
  rate = reads(length, range, ask_guarded, none, false, writes);
  line("SharedFilter with a guard, no writer", rate, base);
  rate = reads(
      length, range, ask_guarded, [&](std::uint64_t i) { churn(*guarded, i); }, true, writes);
  line("SharedFilter with a guard, a writer", rate, base);
  rate = reads(
      length, range, ask_guarded, [&](std::uint64_t i) { guarded->adapt(digest(2000 * count + i)); }, true, writes);
  line("SharedFilter with a guard, one that reports", rate, base);
  rate = reads(length, range, ask_mutex, none, false, writes);
  line("shared_mutex, no writer", rate, base);
  rate = reads(
      length, range, ask_mutex,
      [&](std::uint64_t i) {
        const std::unique_lock lock(mutex);
        churn(*alone, i);
      },
      true, writes);
  line("shared_mutex, a writer", rate, base);
  std::uint64_t lost = 0;
  for (const Digest& d : keys) lost += !both->may_contain(d) + !guarded->may_contain(d);
  std::printf("keys lost: %llu\n", static_cast<unsigned long long>(lost));
  return lost != 0;
}

int swap(double length) {
  std::vector<Digest> keys(2'000'000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = digest(i);
  auto first = Cuckoo::build({.keys = keys}, {});
  if (!first) return 1;
  const Cuckoo plain = *first;
  Swapped<Cuckoo> live(*first);
  double writes = 0;
  const std::uint64_t range = 2 * keys.size();
  const double base = reads(
      length, range, [&](Digest d) { return plain.may_contain(d); }, [](std::uint64_t) {}, false, writes);
  const auto ask = [&](Digest d) { return live.read([d](const Cuckoo& f) { return f.may_contain(d); }); };
  const double quiet = reads(
      length, range, ask, [](std::uint64_t) {}, false, writes);
  const double busy = reads(
      length, range, ask, [&](std::uint64_t) { live.swap(plain); }, true, writes);
  std::printf("no handle %.1f M reads/s; Swapped %.1f (%.2f x); next to %.0f swaps/s %.1f (%.2f x)\n", base / 1e6,
              quiet / 1e6, quiet / base, writes, busy / 1e6, busy / base);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto number = [&](int i, double otherwise) { return count > i ? std::atof(words[i]) : otherwise; };
  const char* what = count > 1 ? words[1] : "";
  if (!std::strcmp(what, "growth"))
    return growth(static_cast<std::uint64_t>(number(2, 65536)), number(3, 64), number(4, 21.2));
  if (!std::strcmp(what, "shared")) return shared(number(2, 1), static_cast<std::uint64_t>(number(3, 2e6)));
  if (!std::strcmp(what, "swap")) return swap(number(2, 1));
  std::puts("live_speed growth [N0] [GROWTH] [BITS] | shared [SECONDS] [KEYS] | swap [SECONDS]");
  return 2;
}
