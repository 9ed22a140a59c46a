// SPDX-License-Identifier: Apache-2.0
#include "naysay/hosts/cluster.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <thread>

namespace naysay::redis {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSlots = 16384;
constexpr std::size_t kInFlight = 64;  // requests to one server before its replies are read

struct Disconnect {
  void operator()(redisContext* c) const noexcept { redisFree(c); }
};
using Connection = std::unique_ptr<redisContext, Disconnect>;

struct FreeReply {
  void operator()(redisReply* r) const noexcept { freeReplyObject(r); }
};
using OwnedReply = std::unique_ptr<redisReply, FreeReply>;

Cluster::Reply taken(const redisReply& r) {
  Cluster::Reply out;
  out.is_error = r.type == REDIS_REPLY_ERROR;
  out.number = r.integer;
  if (r.str != nullptr) out.text.assign(r.str, r.len);
  for (std::size_t i = 0; i < r.elements; ++i) out.list.push_back(taken(*r.element[i]));
  return out;
}

// For the moment only: the same request may succeed later, or elsewhere.
bool passes(std::string_view error) {
  for (const char* start : {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "NOREPLICAS", "UNBLOCKED",
                            "BUSY ", "ERR Cluster"})
    if (error.starts_with(start)) return true;
  return false;
}

// "MOVED 1234 127.0.0.1:7001": the last word. An empty host means the server that said so.
std::string target_of(const std::string& error, const std::string& from) {
  std::string to = error.substr(error.rfind(' ') + 1);
  if (to.starts_with(":")) to = from.substr(0, from.rfind(':')) + to;
  return to;
}

}  // namespace

unsigned slot_of_key(std::string_view key) noexcept {
  if (const std::size_t open = key.find('{'); open != key.npos)
    if (const std::size_t close = key.find('}', open + 1); close != key.npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  unsigned crc = 0;  // CRC-16, polynomial 0x1021
  for (const char c : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = ((crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % kSlots;
}

struct Cluster::State {
  Options options;
  std::array<std::string, kSlots> owner;  // host:port; empty: unknown
  std::map<std::string, Connection> open;
  bool alone = false;  // one server without cluster mode
  std::string trouble;
  std::size_t asked = 0;  // how often learn() has asked a server

  // Null, and `trouble` says why.
  redisContext* connection(const std::string& address) {
    if (const auto found = open.find(address); found != open.end()) return found->second.get();
    const timeval timeout{static_cast<time_t>(options.timeout_ms / 1000),
                          static_cast<suseconds_t>(options.timeout_ms % 1000 * 1000)};
    Connection c;
    const std::size_t colon = address.rfind(':');
    if (address.starts_with("/") || colon == address.npos) {
      c.reset(redisConnectUnixWithTimeout(address.c_str(), timeout));
    } else {
      int port = 0;
      std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
      c.reset(redisConnectWithTimeout(address.substr(0, colon).c_str(), port, timeout));
    }
    if (!c || c->err != 0) return fail(address, c ? c->errstr : "there is no memory");
    redisSetTimeout(c.get(), timeout);
    if (!options.password.empty()) {
      const char* words[] = {"AUTH", options.user.c_str(), options.password.c_str()};
      if (options.user.empty()) words[1] = words[2];
      const OwnedReply r(
          static_cast<redisReply*>(redisCommandArgv(c.get(), options.user.empty() ? 2 : 3, words, nullptr)));
      if (!r || r->type == REDIS_REPLY_ERROR) return fail(address, r ? r->str : c->errstr);
    }
    return (open[address] = std::move(c)).get();
  }
  redisContext* fail(const std::string& address, const char* why) {
    trouble = address + ": " + why;
    open.erase(address);
    return nullptr;
  }

  // Asks one server after the other which has which slots, and the next time begins with another one: the one that
  // answered may be the last to hear of a failover. False if none knows.
  bool learn() {
    std::vector<std::string> ask = options.seeds;
    for (const auto& [address, c] : open) ask.push_back(address);
    for (const std::string& address : owner)
      if (!address.empty() && std::find(ask.begin(), ask.end(), address) == ask.end()) ask.push_back(address);
    for (std::size_t i = 0; i < ask.size(); ++i)
      if (learn_from(ask[asked++ % ask.size()])) return true;
    return false;
  }
  // The whole map, or only what the server says of its own slots.
  bool learn_from(const std::string& address, bool only_own = false) {
    redisContext* c = connection(address);
    if (c == nullptr) return false;
    const OwnedReply r(static_cast<redisReply*>(redisCommand(c, "CLUSTER SLOTS")));
    if (!r) {
      fail(address, c->errstr);
      return false;
    }
    if (r->type == REDIS_REPLY_ERROR) {
      trouble = address + ": " + r->str;
      if (std::strstr(r->str, "cluster support disabled") == nullptr) return false;
      alone = true;
      owner.fill(address);
      return true;
    }
    bool any = false;
    for (std::size_t i = 0; i < r->elements; ++i) {
      const redisReply& range = *r->element[i];
      if (range.elements < 3 || range.element[2]->elements < 2) continue;
      const redisReply& host = *range.element[2]->element[0];
      std::string name = host.str != nullptr ? std::string(host.str, host.len) : "";
      if (name.empty()) name = address.substr(0, address.rfind(':'));
      name += ":" + std::to_string(range.element[2]->element[1]->integer);
      if (only_own && name != address) continue;
      for (long long s = range.element[0]->integer; s <= range.element[1]->integer && s < kSlots; ++s)
        owner[static_cast<std::size_t>(s)] = name;
      any = true;
    }
    if (!any) trouble = address + ": it is in a cluster without slots";
    return any;
  }
  // A server that has a slot knows it best; a seed may be the last to hear of a move.
  void follow(const std::map<unsigned, std::string>& moved) {
    std::set<std::string> targets;
    for (const auto& [slot, address] : moved) targets.insert(address);
    for (const std::string& address : targets) learn_from(address, true);
    for (const auto& [slot, address] : moved) owner[slot] = address;
  }
};

Cluster::Cluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

Result<Cluster> Cluster::connect(Options options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (state->options.seeds.empty()) return Error{Errc::invalid_argument, "no server is given; give host:port"};
  if (!state->learn()) return Error{Errc::io, state->trouble};
  return Cluster(std::move(state));
}

std::size_t Cluster::servers() const noexcept {
  std::vector<std::string_view> names(state_->owner.begin(), state_->owner.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.size() - std::size_t{!names.empty() && names[0].empty()};
}

Result<Ok> Cluster::run(std::span<const Request> requests,
                        const std::function<Result<Ok>(std::size_t, const Reply&)>& done) {
  State& s = *state_;
  struct Waiting {
    std::size_t request;
    unsigned slot;
    std::string ask = {};  // where ASK sent it, for once
  };
  std::vector<Waiting> waiting;
  for (std::size_t i = 0; i < requests.size(); ++i) waiting.push_back({i, slot_of_key(requests[i].key)});
  auto last_progress = Clock::now();
  unsigned pause_ms = 0;
  while (!waiting.empty()) {
    // What goes to which server in this round.
    std::map<std::string, std::vector<Waiting>> rounds;
    std::vector<Waiting> later;
    for (Waiting& w : waiting) {
      auto& round = rounds[w.ask.empty() ? s.owner[w.slot] : w.ask];
      if (round.size() < kInFlight)
        round.push_back(std::move(w));
      else
        later.push_back(std::move(w));
    }
    bool progress = false, lost = false;
    std::map<unsigned, std::string> moved;  // slots, and where the servers say that they are now
    // Everything is sent before the first reply is awaited, so the servers work at the same time.
    for (auto& [address, round] : rounds) {
      redisContext* c = address.empty() ? nullptr : s.connection(address);
      if (c == nullptr) {
        if (address.empty()) s.trouble = "no server has slot " + std::to_string(round[0].slot);
        continue;
      }
      bool writes = false;
      for (const Waiting& w : round) {
        const Request& r = requests[w.request];
        if (!w.ask.empty()) redisAppendCommand(c, "ASKING");
        std::vector<const char*> words;
        std::vector<std::size_t> sizes;
        for (const std::string_view word : r.words) words.push_back(word.data()), sizes.push_back(word.size());
        redisAppendCommandArgv(c, static_cast<int>(words.size()), words.data(), sizes.data());
        writes = writes || r.writes;
      }
      if (writes && s.options.wait_replicas > 0)
        redisAppendCommand(c, "WAIT %u %u", s.options.wait_replicas, s.options.timeout_ms * 3 / 4);
      for (int all = 0; all == 0 && c->err == 0;) redisBufferWrite(c, &all);
    }
    for (auto& [address, round] : rounds) {
      const auto found = s.open.find(address);
      std::vector<std::pair<Waiting, Reply>> answered;
      bool broken = found == s.open.end(), writes = false;
      const auto next = [&]() -> OwnedReply {
        void* reply = nullptr;
        if (broken || redisGetReply(found->second.get(), &reply) != REDIS_OK) broken = true;
        return OwnedReply(static_cast<redisReply*>(reply));
      };
      for (Waiting& w : round) {
        if (!w.ask.empty()) next();
        const OwnedReply r = next();
        writes = writes || requests[w.request].writes;
        if (broken) {
          w.ask.clear();
          later.push_back(std::move(w));
          continue;
        }
        Reply reply = taken(*r);
        w.ask.clear();
        if (reply.is_error && reply.text.starts_with("MOVED ")) {
          s.trouble = address + ": " + reply.text;
          moved[w.slot] = target_of(reply.text, address);
          later.push_back(std::move(w));
        } else if (reply.is_error && reply.text.starts_with("ASK ")) {
          w.ask = target_of(reply.text, address);
          later.push_back(std::move(w));
        } else if (reply.is_error && passes(reply.text)) {
          s.trouble = address + ": " + reply.text;
          later.push_back(std::move(w));
          lost = true;
        } else if (reply.is_error) {
          return Error{Errc::io, address + ": " + requests[w.request].key + ": " + reply.text};
        } else {
          answered.emplace_back(std::move(w), std::move(reply));
        }
      }
      if (writes && s.options.wait_replicas > 0) {
        const OwnedReply r = next();
        // Not confirmed: nothing of this round is acknowledged, and all of it is sent again.
        if (broken || r->type != REDIS_REPLY_INTEGER || r->integer < s.options.wait_replicas) {
          if (!broken)
            s.trouble =
                address + ": fewer than " + std::to_string(s.options.wait_replicas) + " replicas confirm writes";
          for (auto& [w, reply] : answered) later.push_back(std::move(w));
          answered.clear();
          lost = true;
        }
      }
      if (broken && found != s.open.end()) {
        s.fail(address, found->second->err != 0 ? std::string(found->second->errstr).c_str() : "the connection broke");
        lost = true;
      } else if (broken) {
        lost = true;
      }
      for (auto& [w, reply] : answered) {
        NAYSAY_CHECK(done(w.request, reply));
        progress = true;
      }
    }
    waiting = std::move(later);
    if (progress) {
      last_progress = Clock::now();
      pause_ms = 0;
    }
    if (lost || !moved.empty()) {
      if (Clock::now() - last_progress > std::chrono::milliseconds(s.options.give_up_ms))
        return Error{Errc::io, "gave up after " + std::to_string(s.options.give_up_ms) + " ms; " + s.trouble};
      if (!progress) {
        pause_ms = std::clamp(2 * pause_ms, 5u, 500u);
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      }
      if (lost) s.learn();  // if no server can say, the old map is tried again
      s.follow(moved);
    }
  }
  return Ok{};
}

}  // namespace naysay::redis
