// SPDX-License-Identifier: Apache-2.0
// ClusterSet: one logical set over the servers of a Redis or Valkey cluster that have the module naysay-redis.
//
//   item --digest, route(d, shards)--> shard i --> key NAME:{i} --> slot --> server
//
//   auto cluster = naysay::redis::Cluster::connect({.seeds = {"127.0.0.1:7000"}});
//   auto set = naysay::redis::ClusterSet::open(*cluster, "blocked", {.shards = 256});
//   set->add(items);                       // std::vector<std::string_view>
//   set->exists(items, answers);           // answers[i] != 0: maybe
//
// The set is spread over `shards` keys; each is an ordinary filter, and the cluster decides where it lies. The number of
// shards is recorded in the cluster (key NAME:shards), so that nobody can use another one: then items would be denied.
// Choose it several times the number of servers, so that the cluster can be resharded evenly. A single server without
// cluster mode works too.
//
// Calls are pipelined, to all servers at the same time. MOVED and ASK are followed. If a server fails or refuses for the
// moment (failover, resharding, loading), what was not acknowledged is sent again, with growing pauses, until
// Options::give_up_ms has passed without progress.
//
// Promises   An item that add() acknowledged is never denied, unless the servers lose it: a master that dies can lose
//            what it had not sent to its replica. With wait_replicas = 1 an item is acknowledged only after WAIT has
//            confirmed one replica, so that the failover to this replica loses nothing.
// Does not   count exactly: an add whose reply was lost is sent again, and the item may then be in the set twice (the
//            filter is a multiset). It is never lost, and exists() is not affected; NS.DEL then has to be called twice.
// Threads    an object is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/any_filter.hpp"

namespace naysay::redis {

class Cluster {
 public:
  struct Options {
    std::vector<std::string> seeds = {"127.0.0.1:6379"};  // host:port of any servers; or a path of a Unix socket
    std::string user = {}, password = {};                 // of AUTH; empty: none
    unsigned timeout_ms = 5000;                           // of one connection or reply
    unsigned give_up_ms = 30000;                          // without any progress
    unsigned wait_replicas = 0;                           // that must confirm a write
  };

  static Result<Cluster> connect(Options options);
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  // What a server replied: an error, a number, text, or a list.
  struct Reply {
    bool is_error = false;
    long long number = 0;
    std::string text;
    std::vector<Reply> list;
  };
  struct Request {
    std::string key;                      // decides which server gets it
    std::vector<std::string_view> words;  // the whole command; what they point to must outlive the call
    bool writes = false;
  };
  // Sends all requests, to each server in their order, and calls done(i, reply) once for each that was answered. A reply
  // that is an error of the command itself ends everything.
  Result<Ok> run(std::span<const Request> requests, const std::function<Result<Ok>(std::size_t, const Reply&)>& done);

  std::size_t servers() const noexcept;  // that have slots, as far as this client knows

 private:
  struct State;
  explicit Cluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The slot of a key, 0 .. 16383: by what stands between { and }, if anything does.
unsigned slot_of_key(std::string_view key) noexcept;

class ClusterSet {
 public:
  struct Options {
    std::uint64_t shards = 256;
    double error_rate = 0;       // of shards that add() creates; 0: as the servers are set
    std::uint64_t capacity = 0;  // of the whole set; 0: as the servers are set
  };

  // Fails if the set exists with another number of shards.
  static Result<ClusterSet> open(Cluster& cluster, std::string name, const Options& options);

  // Returns how many were denied before.
  Result<std::uint64_t> add(std::span<const std::string_view> items);
  // answers[i] becomes 1 (maybe) or 0 (no). Requires as many as items.
  Result<Ok> exists(std::span<const std::string_view> items, std::span<std::uint8_t> answers);
  // Reports false positives; returns how many are refused from now on.
  Result<std::uint64_t> report(std::span<const std::string_view> items, float cost = 1);
  // Replaces a shard by a filter that was built from exactly the keys with route(digest, shards()) == shard.
  Result<Ok> load(std::uint64_t shard, const AnyFilter& filter);

  std::uint64_t shards() const noexcept { return options_.shards; }
  std::uint64_t shard_of(std::string_view item) const noexcept { return route(Hasher{}(item), options_.shards); }
  std::string key_of(std::uint64_t shard) const { return name_ + ":{" + std::to_string(shard) + "}"; }

 private:
  ClusterSet(Cluster& cluster, std::string name, const Options& options)
      : cluster_(&cluster), name_(std::move(name)), options_(options) {}
  // Calls answer(i, reply) for each item i, with its own reply.
  Result<Ok> each(std::span<const std::string_view> items, const std::vector<std::string>& before,
                  const std::vector<std::string>& after, bool writes,
                  const std::function<Result<Ok>(std::size_t, const Cluster::Reply&)>& answer);

  Cluster* cluster_;
  std::string name_;
  Options options_;
};

}  // namespace naysay::redis
