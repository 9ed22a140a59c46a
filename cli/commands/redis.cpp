// SPDX-License-Identifier: Apache-2.0
// naysay redis: one set over the servers of a Redis or Valkey cluster that have the module naysay-redis.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "naysay/any_filter.hpp"
#include "parts/failure.hpp"
#include "parts/inputs.hpp"
#ifdef NAYSAY_WITH_CLUSTER
#include <algorithm>
#include <thread>

#include "naysay/hosts/cluster.hpp"
#include "parts/filter_names.hpp"
#include "parts/output.hpp"
#include "parts/progress.hpp"
#endif

namespace naysay::cli {

namespace {

struct Options {
  std::string action, keys = "-", cluster = "127.0.0.1:6379", set, user, password_file, negatives;
  std::string filter = "taught-ribbon";
  std::uint64_t shards = 256, capacity = 0, wait = 0, give_up = 30;
  double fpr = 0.01;
  bool nul = false, json = false, count = false, invert = false;
};

#ifdef NAYSAY_WITH_CLUSTER

using redis::Cluster;
using redis::ClusterSet;

Cluster connect(const Options& o) {
  Cluster::Options c;
  c.seeds.clear();
  for (std::size_t at = 0; at <= o.cluster.size();) {
    const std::size_t comma = std::min(o.cluster.find(',', at), o.cluster.size());
    if (comma > at) c.seeds.push_back(o.cluster.substr(at, comma - at));
    at = comma + 1;
  }
  c.user = o.user;
  c.wait_replicas = static_cast<unsigned>(o.wait);
  c.give_up_ms = static_cast<unsigned>(1000 * std::min<std::uint64_t>(o.give_up, 1000000));
  if (!o.password_file.empty())
    need(for_each_line({o.password_file}, {}, [&](const Line& line) -> Result<Ok> {
      if (c.password.empty()) c.password = line.text;
      return Ok{};
    }));
  return need(Cluster::connect(std::move(c)));
}

// Calls body(items) for the lines of the key file, some thousands at a time: enough to fill the pipelines of all servers.
template <class Body>
void for_each_part(const Options& o, const Progress& progress, Body&& body) {
  constexpr std::size_t kPart = 1 << 16;
  std::vector<std::string> held;
  std::vector<std::string_view> views;
  const auto flush = [&] {
    views.assign(held.begin(), held.end());
    body(std::span<const std::string_view>(views));
    held.clear();
  };
  need(for_each_batch(key_file(o.keys, o.nul), progress, [&](std::span<const Line> lines) -> Result<Ok> {
    for (const Line& line : lines) held.emplace_back(line.text);
    if (held.size() >= kPart) flush();
    return Ok{};
  }));
  if (!held.empty()) flush();
}

void say(const Options& o, const char* what, std::uint64_t items, std::uint64_t counted, const char* of,
         const Cluster& cluster) {
  if (o.json)
    fmt::print(
        "{}\n",
        nlohmann::ordered_json{
            {"set", o.set}, {"shards", o.shards}, {"servers", cluster.servers()}, {"items", items}, {of, counted}}
            .dump());
  else
    fmt::print("{}: {} {} items, {} {}, in {} shards on {} servers\n", o.set, what, items, counted, of, o.shards,
               cluster.servers());
}

// The digests of each shard, one after the other: shard i has those from begin[i] to begin[i + 1].
struct Sharded {
  std::vector<Digest> digests;
  std::vector<float> costs;
  std::vector<std::uint64_t> begin;
};
template <class Digests, class Costs>
Sharded shard(const Digests& digests, const Costs& costs, std::uint64_t shards) {
  Sharded out;
  out.begin.assign(shards + 1, 0);
  for (std::uint64_t i = 0; i < digests.size(); ++i) ++out.begin[route(digests[i], shards) + 1];
  for (std::uint64_t i = 0; i < shards; ++i) out.begin[i + 1] += out.begin[i];
  std::vector<std::uint64_t> at(out.begin.begin(), out.begin.end() - 1);
  out.digests.resize(digests.size());
  out.costs.resize(costs.size());
  for (std::uint64_t i = 0; i < digests.size(); ++i) {
    const std::uint64_t to = at[route(digests[i], shards)]++;
    out.digests[to] = digests[i];
    if (costs.size() != 0) out.costs[to] = costs[i];
  }
  return out;
}

int build(const Options& o) {
  const FilterType& type = need_filter(o.filter);
  if (!type.tunable) throw Failure{fmt::format("--filter is {}, which cannot be built for a rate (--fpr)", o.filter)};
  if (type.claims.reads_bytes)
    throw Failure{fmt::format("--filter is {}, which reads keys themselves; build it with naysay build", o.filter)};
  if (o.capacity > 0 && !type.dynamic)
    throw Failure{fmt::format("--capacity is given, but {} is static; it cannot accept more keys later", o.filter)};
  need_one_standard_input({{"KEYS", o.keys}, {"--negatives", o.negatives}});
  Cluster cluster = connect(o);
  ClusterSet set = need(ClusterSet::open(cluster, o.set, {.shards = o.shards}));
  ProgressBar bar;
  const Progress progress = bar.callback();
  const Sharded keys =
      shard(need(read_keys(key_file(o.keys, o.nul), Hasher{}, progress)), std::vector<float>(), o.shards);
  Sharded negatives;
  if (!o.negatives.empty()) {
    const Negatives read = need(read_negatives(key_file(o.negatives, o.nul), Hasher{}, progress));
    negatives = shard(read.digests, read.costs, o.shards);
  }
  const std::vector<Param> params = type.params_for(o.fpr);
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  const auto part = [](const auto& all, const Sharded& from, std::uint64_t i) {
    return std::span(all).subspan(from.begin[i], from.begin[i + 1] - from.begin[i]);
  };
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i < o.shards; ++i) {
    if (progress) progress("building and loading shards", i, o.shards);
    Workload w{.keys = part(keys.digests, keys, i)};
    if (!negatives.begin.empty()) {
      w.negatives = part(negatives.digests, negatives, i);
      w.costs = part(negatives.costs, negatives, i);
    }
    const AnyFilter f = need(
        AnyFilter::build(o.filter, w, params, {.capacity = o.capacity / o.shards, .threads = threads}, KeyKind::text));
    bits += f.size_bits();
    need(set.load(i, f));
  }
  bar.clear();
  say(o, "built from", keys.digests.size(), bits / 8, "bytes", cluster);
  return 0;
}

int add(const Options& o) {
  Cluster cluster = connect(o);
  ClusterSet set =
      need(ClusterSet::open(cluster, o.set, {.shards = o.shards, .error_rate = o.fpr, .capacity = o.capacity}));
  ProgressBar bar;
  std::uint64_t items = 0, fresh = 0;
  for_each_part(o, bar.callback(), [&](std::span<const std::string_view> part) {
    fresh += need(set.add(part));
    items += part.size();
  });
  bar.clear();
  say(o, "added", items, fresh, "new", cluster);
  return 0;
}

int query(const Options& o) {
  Cluster cluster = connect(o);
  ClusterSet set = need(ClusterSet::open(cluster, o.set, {.shards = o.shards}));
  ProgressBar bar;
  Output out("-");
  std::uint64_t items = 0, selected = 0;
  std::vector<std::uint8_t> answers;
  for_each_part(o, bar.callback(), [&](std::span<const std::string_view> part) {
    answers.assign(part.size(), 0);
    need(set.exists(part, answers));
    items += part.size();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if ((answers[i] != 0) == o.invert) continue;
      ++selected;
      if (o.count || o.json) continue;
      out.write(part[i]);
      out.write(o.nul ? '\0' : '\n');
    }
  });
  bar.clear();
  out.finish();
  if (o.json)
    say(o, "queried", items, o.invert ? items - selected : selected, "may_contain", cluster);
  else if (o.count)
    fmt::print("{}\n", selected);
  return selected > 0 ? 0 : 1;
}

int run(const Options& o) {
  if (!(o.fpr > 0 && o.fpr < 1)) throw Failure{fmt::format("--fpr is {}; it must be between 0 and 1", o.fpr)};
  if (o.action == "build") return build(o);
  if (o.action == "add") return add(o);
  if (o.action == "query") return query(o);
  throw Failure{fmt::format("the action is '{}'; it must be build, add or query", o.action)};
}

#else

int run(const Options&) {
  throw Failure{"this naysay was built without hiredis; install libhiredis-dev and build it again"};
}

#endif

}  // namespace

void add_redis(CommandLine& line, int& exit_code) {
  auto o = std::make_shared<Options>();
  Command c = line.command("redis", "build, extend and query a set that is spread over a Redis or Valkey cluster");
  c.option("action", o->action,
           "build: replace the set by filters that are built here; add: insert keys; query: print the keys that may be "
           "in the set")
      .required()
      .type_name("build|add|query");
  c.option("keys", o->keys, "the keys, one per line; - is the standard input").shows_default().type_name("KEYS");
  c.option("--cluster", o->cluster,
           "servers that know the cluster, with commas between them; one without cluster mode will do")
      .shows_default()
      .type_name("HOST:PORT");
  c.option("--set", o->set, "the name of the set; shard i is the key NAME:{i}").required().type_name("NAME");
  c.number("--shards", o->shards, {1, 1'000'000}, "how many keys the set is spread over; the same for all that use it")
      .shows_default()
      .type_name("N");
  c.number("--fpr", o->fpr, {0, 1, true}, "the rate of strangers that a new set may accept")
      .shows_default()
      .type_name("RATE");
  c.number("--capacity", o->capacity, {0, kMaxRoom}, "keys that a new set must have room for").type_name("N");
  c.option("--filter", o->filter, "of build: the filter's name (see naysay filters)").shows_default().type_name("NAME");
  c.option("--negatives", o->negatives, "of build: known negatives, one key<TAB>cost per line").type_name("FILE");
  c.number("--wait", o->wait, {0, 1000}, "replicas that must confirm a key before it counts as added")
      .shows_default()
      .type_name("N");
  c.number("--give-up", o->give_up, {1, 1'000'000}, "seconds without progress after which to give up")
      .shows_default()
      .type_name("SECONDS");
  c.option("--user", o->user, "of the servers, with --password-file").type_name("NAME");
  c.option("--password-file", o->password_file, "a file whose first line is the servers' password").type_name("FILE");
  c.flag("--invert", o->invert, "of query: print the keys that are certainly not in the set instead");
  c.flag("--count", o->count, "of query: print only their number");
  c.flag("--json", o->json, "say what was done as JSON");
  add_null_option(c, o->nul);
  c.footer(
      "The servers need the module naysay-redis; see docs/redis.md. Resharding and failover may happen meanwhile: what "
      "was\n"
      "not acknowledged is sent again. Exit code of query: 0 if a key was printed, 1 if none was, 2 if something went "
      "wrong.\n\n"
      "Example:\n"
      "  naysay generate urls --count 100000 -o keys.txt\n"
      "  naysay redis add keys.txt --cluster 127.0.0.1:7000 --set blocked --capacity 100000\n"
      "  naysay redis query keys.txt --cluster 127.0.0.1:7000 --set blocked --count");
  c.runs([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace naysay::cli
