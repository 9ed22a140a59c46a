// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include "naysay/hosts/cluster.hpp"

namespace naysay::redis {

namespace {

constexpr std::size_t kItems = 512;  // of one command
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

}  // namespace

Result<ClusterSet> ClusterSet::open(Cluster& cluster, std::string name, const Options& options) {
  if (options.shards == 0 || options.shards > 1000000)
    return Error{Errc::invalid_argument, "shards is " + std::to_string(options.shards) + "; it must be 1 to 1000000"};
  ClusterSet set(cluster, std::move(name), options);
  const std::string key = set.name_ + ":shards", count = std::to_string(options.shards);
  // Whoever is first decides.
  const Cluster::Request requests[] = {{key, {"SET", key, count, "NX"}, true}, {key, {"GET", key}, false}};
  std::string found;
  NAYSAY_CHECK(cluster.run(requests, [&](std::size_t i, const Cluster::Reply& r) -> Result<Ok> {
    if (i == 1) found = r.text;
    return Ok{};
  }));
  if (found != count)
    return Error{Errc::invalid_argument,
                 "the set " + set.name_ + " has " + found + " shards, not " + count + "; its items would not be found"};
  return set;
}

Result<Ok> ClusterSet::each(std::span<const std::string_view> items, const std::vector<std::string>& before,
                            const std::vector<std::string>& after, bool writes,
                            const std::function<Result<Ok>(std::size_t, const Cluster::Reply&)>& answer) {
  std::map<std::uint64_t, std::vector<std::size_t>> by_shard;
  for (std::size_t i = 0; i < items.size(); ++i) by_shard[shard_of(items[i])].push_back(i);
  std::vector<Cluster::Request> requests;
  std::vector<std::span<const std::size_t>> members;
  for (const auto& [shard, all] : by_shard)
    for (std::size_t at = 0; at < all.size(); at += kItems) {
      members.push_back(std::span(all).subspan(at, std::min(kItems, all.size() - at)));
      requests.push_back({key_of(shard), {}, writes});
    }
  for (std::size_t r = 0; r < requests.size(); ++r) {  // now that the keys stay where they are
    Cluster::Request& request = requests[r];
    request.words.assign({before[0], request.key});
    request.words.insert(request.words.end(), before.begin() + 1, before.end());
    for (const std::size_t i : members[r]) {
      request.words.push_back(items[i]);
      request.words.insert(request.words.end(), after.begin(), after.end());
    }
  }
  return cluster_->run(requests, [&](std::size_t r, const Cluster::Reply& reply) -> Result<Ok> {
    if (reply.list.size() != members[r].size())
      return Error{Errc::io, requests[r].key + ": " + std::to_string(reply.list.size()) + " answers to " +
                                 std::to_string(members[r].size()) + " items; is it a key of another module?"};
    for (std::size_t i = 0; i < members[r].size(); ++i) {
      if (reply.list[i].is_error) return Error{Errc::io, requests[r].key + ": " + reply.list[i].text};
      NAYSAY_CHECK(answer(members[r][i], reply.list[i]));
    }
    return Ok{};
  });
}

Result<std::uint64_t> ClusterSet::add(std::span<const std::string_view> items) {
  std::vector<std::string> before = {"NS.INSERT"};
  if (options_.error_rate > 0) before.insert(before.end(), {"ERROR", to_text(options_.error_rate)});
  if (options_.capacity > 0) {
    // Shards are not equally full: four standard deviations above the mean.
    const double mean = static_cast<double>(options_.capacity) / static_cast<double>(options_.shards);
    before.insert(before.end(), {"CAPACITY", to_text(static_cast<std::uint64_t>(mean + 4 * std::sqrt(mean) + 1))});
  }
  before.emplace_back("ITEMS");
  std::uint64_t fresh = 0;
  NAYSAY_CHECK(each(items, before, {}, true, [&](std::size_t, const Cluster::Reply& r) -> Result<Ok> {
    fresh += r.number != 0;
    return Ok{};
  }));
  return fresh;
}

Result<Ok> ClusterSet::exists(std::span<const std::string_view> items, std::span<std::uint8_t> answers) {
  return each(items, {"NS.MEXISTS"}, {}, false, [&](std::size_t i, const Cluster::Reply& r) -> Result<Ok> {
    answers[i] = r.number != 0;
    return Ok{};
  });
}

Result<std::uint64_t> ClusterSet::report(std::span<const std::string_view> items, float cost) {
  const std::string text = to_text(cost);
  std::vector<Cluster::Request> requests;
  std::vector<std::string> keys;
  for (const std::string_view item : items) keys.push_back(key_of(shard_of(item)));
  for (std::size_t i = 0; i < items.size(); ++i)
    requests.push_back({keys[i], {"NS.REPORT", keys[i], items[i], text}, true});
  std::uint64_t refused = 0;
  NAYSAY_CHECK(cluster_->run(requests, [&](std::size_t, const Cluster::Reply& r) -> Result<Ok> {
    refused += r.number != 0;
    return Ok{};
  }));
  return refused;
}

Result<Ok> ClusterSet::load(std::uint64_t shard, const AnyFilter& filter) {
  const std::string key = key_of(shard);
  const std::vector<std::byte> bytes = filter.to_bytes();
  // One chunk after the other: each needs the one before it. A chunk whose reply was lost is refused when it comes
  // again, so the whole filter is sent again then.
  for (int attempt = 0;; ++attempt) {
    Result<Ok> sent = Ok{};
    for (std::size_t at = 0; sent && at < bytes.size(); at += kChunkBytes) {
      const std::size_t n = std::min(kChunkBytes, bytes.size() - at);
      const std::string end = std::to_string(at + n);
      const std::string_view data(reinterpret_cast<const char*>(bytes.data()) + at, n);
      const Cluster::Request request{key, {"NS.LOADCHUNK", key, end, data}, true};
      sent =
          cluster_->run(std::span(&request, 1), [](std::size_t, const Cluster::Reply&) -> Result<Ok> { return Ok{}; });
    }
    if (sent || attempt == 3) return sent;
  }
}

}  // namespace naysay::redis
