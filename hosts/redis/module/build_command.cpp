// SPDX-License-Identifier: Apache-2.0
// NS.BUILD: a filter of any kind from all its items at a time, in a thread, with the client blocked.
//
//   NS.BUILD key [FILTER name] [ERROR rate | BITS bits] [TIMEOUT ms] [FROM source] [NEGATIVES source] [ITEMS item ...]
//
//   main thread      reads the sources (sets, lists, sorted sets: the scores are the costs), blocks the client
//   build thread     builds; watches whether it was cancelled
//   main thread      puts the filter into its key, sends replicas its bytes, replies
//
// The key holds what it held until the build is done. A client that disconnects, CLIENT UNBLOCK, or TIMEOUT cancels the
// build. In MULTI and in scripts, which must not block, the build runs in the main thread. The build itself watches the
// time: Redis 7.0 sends no reply at all if its own timer for a blocked client ends just after the client was unblocked.
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "commands.hpp"
#include "settings.hpp"

namespace naysay::redis {

namespace {

struct Job {
  std::string filter = "taught-ribbon";
  std::vector<Param> params;
  std::vector<Digest> keys, negatives;
  std::vector<float> costs;
  std::vector<std::string> key_texts, negative_texts;  // only for filters that read them
  std::string name;                                    // of the key
  std::atomic<bool> cancelled{false};
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::optional<Result<AnyFilter>> result;  // none: cancelled

  bool must_end() const noexcept { return cancelled || std::chrono::steady_clock::now() > until; }

  void run() {
    const auto views = [](const std::vector<std::string>& texts) {
      return std::vector<std::string_view>(texts.begin(), texts.end());
    };
    try {
      const auto key_bytes = views(key_texts), negative_bytes = views(negative_texts);
      const Workload w{.keys = keys,
                       .negatives = negatives,
                       .costs = costs,
                       .key_bytes = key_bytes,
                       .negative_bytes = negative_bytes};
      BuildOptions o;
      o.progress = [this](std::string_view, std::uint64_t, std::uint64_t) { return !must_end(); };
      result.emplace(AnyFilter::build(filter, w, params, o, KeyKind::text));
      if (must_end()) result.reset();
    } catch (const std::bad_alloc&) {
      result.emplace(Error{Errc::no_memory, "there is not enough memory to build the filter"});
    }
  }
};

// Jobs of blocked clients, so that they can be cancelled. Only the main thread reads and writes it.
std::map<RedisModuleBlockedClient*, Job*>& running() {
  static auto* jobs = new std::map<RedisModuleBlockedClient*, Job*>;
  return *jobs;
}

// ---- reading the sources --------------------------------------------------------------------------------------------

// Calls body(member, score) for each member of a set, a list or a sorted set.
template <class Body>
void for_each_member(Call& c, server::String* source, Body&& body) {
  RedisModuleKey* key = server::OpenKey(c.ctx, source, server::kRead);
  const int type = key == nullptr ? server::kEmpty : server::KeyType(key);
  if (key != nullptr) server::CloseKey(key);
  RedisModuleCallReply* reply = nullptr;
  switch (type) {
    case server::kSet:
      reply = server::Call(c.ctx, "SMEMBERS", "s", source);
      break;
    case server::kList:
      reply = server::Call(c.ctx, "LRANGE", "scc", source, "0", "-1");
      break;
    case server::kSortedSet:
      reply = server::Call(c.ctx, "ZRANGE", "sccc", source, "0", "-1", "WITHSCORES");
      break;
    case server::kEmpty:
      throw Refusal{"ERR the source '" + std::string(Call::text(source)) + "' does not exist"};
    default:
      throw Refusal{"WRONGTYPE a source must be a set, a list or a sorted set"};
  }
  const auto text = [&](std::size_t i) {
    std::size_t size = 0;
    const char* p = server::CallReplyStringPtr(server::CallReplyArrayElement(reply, i), &size);
    return std::string_view(p, size);
  };
  struct Free {
    RedisModuleCallReply* reply;
    ~Free() {
      if (reply != nullptr) server::FreeCallReply(reply);
    }
  } const free{reply};
  const std::size_t n = reply == nullptr ? 0 : server::CallReplyLength(reply),
                    step = type == server::kSortedSet ? 2 : 1;
  for (std::size_t i = 0; i + step <= n; i += step) {
    double score = 1;
    std::string right;
    if (step == 2 && !from_text(text(i + 1), score, right)) throw Refusal{"ERR a score is no finite number"};
    body(text(i), score);
  }
}

// Where the sources stand among the arguments; 0: none. Items may be any words, so these end the search.
struct Sources {
  int keys = 0, negatives = 0, items = 0;
};
Sources find_sources(Call& c) {
  Sources s;
  c.skip_to(2);
  while (c.more()) {
    if (c.takes("FROM"))
      s.keys = c.position();
    else if (c.takes("NEGATIVES"))
      s.negatives = c.position();
    else if (c.takes("ITEMS")) {
      s.items = c.position();
      break;
    }
    c.skip_to(c.position() + 1);
  }
  c.skip_to(2);
  if (s.keys >= c.size()) s.keys = 0;
  if (s.negatives >= c.size()) s.negatives = 0;
  return s;
}

std::unique_ptr<Job> read_job(Call& c) {
  auto job = std::make_unique<Job>();
  job->name = c.arg(1);
  double rate = 0, bits = 0;
  const Sources sources = find_sources(c);
  while (c.more() && c.position() != sources.items) {
    if (c.takes("FILTER"))
      job->filter = c.next();
    else if (c.takes("ERROR"))
      rate = c.number("ERROR", 1e-9, 0.5);
    else if (c.takes("BITS"))
      bits = c.number("BITS", 0.1, 4096);
    else if (c.takes("TIMEOUT"))
      job->until = std::chrono::steady_clock::now() + std::chrono::milliseconds(c.whole("TIMEOUT", 1, 1u << 31));
    else if (c.takes("FROM") || c.takes("NEGATIVES"))
      c.next();
    else if (!c.takes("ITEMS"))
      throw Refusal{"ERR '" + std::string(c.next()) + "' is no option of NS.BUILD; items stand after ITEMS"};
  }
  if (sources.keys == 0 && sources.items == 0)
    throw Refusal{"ERR NS.BUILD has no items; give FROM with a key, or ITEMS"};
  const FilterType* type = find_filter(job->filter);
  if (type == nullptr)
    throw Refusal{"ERR FILTER is '" + job->filter + "'; it must be one of " +
                  names_of_filters([](const FilterType&) { return true; })};
  if (bits > 0) {
    job->params.push_back(Param("bits_per_key", bits));
  } else if (type->tunable) {
    job->params = type->params_for(rate > 0 ? rate : settings.default_error_rate);
  } else if (rate > 0) {
    throw Refusal{"ERR " + job->filter + " cannot be built for an error rate; give BITS"};
  }
  const bool texts = type->claims.reads_bytes;
  const auto add_key = [&](std::string_view item) {
    job->keys.push_back(Hasher{}(item));
    if (texts) job->key_texts.emplace_back(item);
  };
  if (sources.keys != 0) for_each_member(c, c.raw(sources.keys), [&](std::string_view item, double) { add_key(item); });
  if (sources.items != 0)
    for (int i = sources.items; i < c.size(); ++i) add_key(c.arg(i));
  if (sources.negatives != 0)
    for_each_member(c, c.raw(sources.negatives), [&](std::string_view item, double cost) {
      if (!(cost >= 0 && cost < 1e30)) throw Refusal{"ERR a negative's cost must be 0 or more, and finite"};
      job->negatives.push_back(Hasher{}(item));
      job->costs.push_back(static_cast<float>(cost));
      if (texts) job->negative_texts.emplace_back(item);
    });
  return job;
}

// ---- the end of a build ---------------------------------------------------------------------------------------------

int finish(Call& c, Job& job) {
  if (!job.result) {
    ++counters.cancelled_builds;
    throw Refusal{"ERR the build was cancelled"};
  }
  auto stored = std::make_unique<StoredFilter>();
  stored->filter = need(std::move(*job.result));
  if (const auto most = static_cast<std::uint64_t>(settings.max_memory_per_key); most != 0 && stored->bytes() > most)
    throw Refusal{"OOM the filter has " + std::to_string(stored->bytes()) +
                  " bytes, and naysay.max-memory-per-key allows " + std::to_string(most)};
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  StoredFilter& put = key.put(std::move(stored));
  replicate_whole(c.ctx, c.key(), put);
  ++counters.builds;
  c.notify("ns.build");
  return c.ok();
}

int reply(Call& c) { return finish(c, *static_cast<Job*>(server::GetBlockedClientPrivateData(c.ctx))); }

void cancel(RedisModuleBlockedClient* client) {
  if (const auto found = running().find(client); found != running().end()) found->second->cancelled = true;
}
int unblocked(server::Context* ctx, server::String**, int) {
  cancel(server::GetBlockedClientHandle(ctx));
  ++counters.cancelled_builds;
  return server::ReplyWithError(ctx, "ERR the build was cancelled");
}
void disconnected(server::Context*, RedisModuleBlockedClient* client) {
  cancel(client);
  ++counters.cancelled_builds;
}
void free_job(server::Context*, void* job) {
  std::erase_if(running(), [&](const auto& one) { return one.second == job; });
  delete static_cast<Job*>(job);
}

}  // namespace

int ns_build(Call& c) {
  if (server::IsKeysPositionRequest(c.ctx)) {
    server::KeyAtPos(c.ctx, 1);
    const Sources s = find_sources(c);
    if (s.keys != 0) server::KeyAtPos(c.ctx, s.keys);
    if (s.negatives != 0) server::KeyAtPos(c.ctx, s.negatives);
    return server::kOk;
  }
  if (c.size() < 4) return server::WrongArity(c.ctx);
  OpenKey(c.ctx, c.key(), server::kRead);  // of the wrong type: say so before the work
  std::unique_ptr<Job> job = read_job(c);
  if (c.repeated() || (server::GetContextFlags(c.ctx) & server::kDenyBlocking) != 0) {
    job->run();
    return finish(c, *job);
  }
  RedisModuleBlockedClient* client = server::BlockClient(c.ctx, command<reply>, unblocked, free_job, 0);
  server::SetDisconnectCallback(client, disconnected);
  running()[client] = job.get();
  std::thread([client, owned = job.release()] {
    owned->run();
    server::UnblockClient(client, owned);
  }).detach();
  return server::kOk;
}

}  // namespace naysay::redis
