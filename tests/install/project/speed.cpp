// SPDX-License-Identifier: Apache-2.0
// What a typed filter costs per query in a program of an outside project: one JSON line per filter.
//
//   speed NAME    NAME says how this program was compiled
//
// GCC 12 may write a digest that arrives in two registers to the stack as two words and read it back as one vector. No
// processor forwards that, so every query waits until the one before it is back from memory. The interface options of
// naysay::naysay switch the optimisation off that does it; tests/install/speed.sh compiles this file with and without.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <naysay/naysay.hpp>
#include <vector>

namespace {

constexpr std::uint64_t kKeys = 2'000'000, kQueries = 2'000'000;
constexpr int kRounds = 5;

template <class F>
[[gnu::noinline]] bool ask(const F& f, naysay::Digest d) {  // as behind an interface: the digest comes in registers
  return f.may_contain(d);
}

template <class F>
void measure(const char* how, const char* name, const std::vector<naysay::Digest>& keys,
             const std::vector<naysay::Digest>& strangers) {
  const auto f = naysay::build<F>(keys, typename F::Params{});
  if (!f) return;
  std::vector<double> ns;
  std::uint64_t yes = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (const naysay::Digest& d : strangers) yes += ask(f->filter(), d);
    ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
                 static_cast<double>(strangers.size()));
  }
  std::sort(ns.begin(), ns.end());
  std::printf(
      "{\"compiled\": \"%s\", \"filter\": \"%s\", \"query_ns\": %.2f, \"least_ns\": %.2f, \"accepted\": %llu}\n", how,
      name, ns[kRounds / 2], ns.front(), static_cast<unsigned long long>(yes / kRounds));
}

}  // namespace

int main(int, char** argv) {
  std::vector<naysay::Digest> keys, strangers;
  for (std::uint64_t i = 0; i < kKeys; ++i) keys.push_back(naysay::digest(i));
  for (std::uint64_t i = 0; i < kQueries; ++i) strangers.push_back(naysay::digest(i + (std::uint64_t{1} << 40)));
  const char* how = argv[1] ? argv[1] : "as it is";
  measure<naysay::BlockedBloom>(how, "blocked-bloom", keys, strangers);
  measure<naysay::Cuckoo>(how, "cuckoo", keys, strangers);
  measure<naysay::GuardedCuckoo>(how, "guarded", keys, strangers);
  measure<naysay::Ribbon>(how, "ribbon", keys, strangers);
}
