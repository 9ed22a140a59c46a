// SPDX-License-Identifier: Apache-2.0
// A service that keeps answering while its filter is replaced.
//
//   threads that serve --read--> Swapped<AnyFilter> <--swap-- the next version, built from what was learned
//          |                                                         ^
//          +---- missed(key, cost) ----> Observer ----costliest------+
//
// Every false "maybe" costs a lookup that finds nothing. The threads report who asked for nothing, and the next filter is
// given those as known negatives.
#include <atomic>
#include <cstdio>
#include <naysay/live/observer.hpp>
#include <naysay/live/swapped.hpp>
#include <naysay/naysay.hpp>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace {

using naysay::AnyFilter;

constexpr int kKeys = 20'000, kVisitors = 200'000, kThreads = 3;

std::string key(int i) { return "user" + std::to_string(i); }
std::string visitor(int i) { return "bot" + std::to_string(i % 5000); }  // the same strangers come again and again

// One round of traffic: how many lookups the filter did not save.
std::uint64_t serve(const naysay::Swapped<AnyFilter>& live, const std::unordered_set<std::string>& truth,
                    naysay::Observer& observer, const naysay::Hasher& hasher) {
  std::atomic<std::uint64_t> lookups{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; i < kVisitors; i += kThreads) {
        const std::string who = visitor(i);
        const bool maybe = live.read([&](const AnyFilter& f) { return f.may_contain(who); });
        if (maybe && truth.contains(who)) continue;
        lookups += maybe;  // the lookup found nothing
        observer.missed(hasher(who), 1);
      }
    });
  for (std::thread& t : threads) t.join();
  return lookups;
}

}  // namespace

int main() {
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(key(i));
  const std::unordered_set<std::string> truth(keys.begin(), keys.end());
  const naysay::Hasher hasher;

  auto first = naysay::build("ribbon", keys, naysay::NoNegatives{}, {{"bits_per_key", 7}}, {.hasher = hasher});
  if (!first) return std::fprintf(stderr, "%s\n", first.error().message.c_str()), 1;
  naysay::Swapped<AnyFilter> live(std::move(*first));
  naysay::Observer observer({.capacity = 10'000, .mailbox = kVisitors});

  const std::uint64_t before = serve(live, truth, observer, hasher);
  observer.collect(0);
  std::vector<std::pair<naysay::Digest, float>> costly;
  for (const auto& reported : observer.costliest(10'000))
    costly.emplace_back(reported.key, static_cast<float>(reported.cost));
  std::vector<naysay::Digest> digests;
  for (const std::string& k : keys) digests.push_back(hasher(k));
  auto next = naysay::build("taught-ribbon", digests, costly, {{"bits_per_key", 7.5}}, {.hasher = hasher});
  if (!next) return std::fprintf(stderr, "%s\n", next.error().message.c_str()), 1;
  live.swap(std::move(*next));  // readers of the old one finish; none waits
  const std::uint64_t after = serve(live, truth, observer, hasher);

  std::printf("lookups for nothing: %llu before, %llu after the filter was given the visitors\n",
              static_cast<unsigned long long>(before), static_cast<unsigned long long>(after));
  for (const std::string& k : keys)
    if (!live.read([&](const AnyFilter& f) { return f.may_contain(k); })) return 1;
  return before > 0 && after < before / 4 ? 0 : 1;
}
