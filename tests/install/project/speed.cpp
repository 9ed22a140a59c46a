// SPDX-License-Identifier: Apache-2.0
// What a query costs in a program of an outside project: one JSON line per filter.
//
//   speed NAME    NAME says how this program was compiled
//
// First a typed filter, queried by digest, one by one. Then an AnyFilter and the typed filter inside it, so that both read
// the same memory, queried by integer, in and out of the second-level cache; what AnyFilter adds is the median of the
// rounds' differences.
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

constexpr std::uint64_t kInCache = 100'000, kOutOfCache = 12'000'000, kPiece = 200'000;
constexpr int kPairs = 15;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Nanoseconds per query of a piece of the integers, after other pieces were queried, so that the caches hold what they can.
template <class Query>
[[gnu::noinline]] double time_piece(const Query& query, const std::vector<std::uint64_t>& integers, int round,
                                    std::uint64_t& yes) {
  const std::uint64_t pieces = integers.size() / kPiece;
  double ns = 0;
  for (int warm = 2; warm >= 0; --warm) {
    const std::uint64_t* piece = integers.data() + static_cast<std::uint64_t>(round + warm) % pieces * kPiece;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t accepted = 0;
    for (std::uint64_t i = 0; i < kPiece; ++i) accepted += query(piece[i]);
    ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kPiece;
    yes += accepted;
  }
  return ns;
}

// Half of the queries are keys.
template <class F>
void compare(const char* how, const char* name, std::uint64_t n) {
  std::vector<std::uint64_t> keys(n), queries(5 * kPiece);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = naysay::mix64(i);
  for (std::uint64_t i = 0; i < queries.size(); ++i)
    queries[i] = naysay::mix64(i % 2 == 0 ? naysay::mix64(i) % n : i + (std::uint64_t{1} << 40));
  auto built = naysay::build<F>(keys, typename F::Params{});
  if (!built) return;
  const naysay::AnyFilter any(std::move(*built));
  const F* typed = any.as<F>();
  std::vector<double> typed_ns, any_ns, more_ns;
  std::uint64_t yes = 0, any_yes = 0;
  for (int round = 0; round < kPairs; ++round) {
    const auto by_type = [typed](std::uint64_t key) { return typed->may_contain(naysay::digest(key)); };
    const auto by_any = [&any](std::uint64_t key) { return any.may_contain(key); };
    typed_ns.push_back(time_piece(by_type, queries, round, yes));
    any_ns.push_back(time_piece(by_any, queries, round, any_yes));
    more_ns.push_back(any_ns.back() - typed_ns.back());
  }
  std::printf(
      "{\"compiled\": \"%s\", \"filter\": \"%s\", \"keys\": %llu, \"typed_ns\": %.2f, \"any_ns\": %.2f, "
      "\"any_more_ns\": %.2f, \"agree\": %s}\n",
      how, name, static_cast<unsigned long long>(n), median(typed_ns), median(any_ns), median(more_ns),
      yes == any_yes ? "true" : "false");
}

template <class F>
void compare(const char* how, const char* name) {
  compare<F>(how, name, kInCache);
  compare<F>(how, name, kOutOfCache);
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
  compare<naysay::BlockedBloom>(how, "blocked-bloom");
  compare<naysay::Xor>(how, "xor");
  compare<naysay::BinaryFuse>(how, "binary-fuse");
  compare<naysay::Cuckoo>(how, "cuckoo");
  compare<naysay::Ribbon>(how, "ribbon");
}
