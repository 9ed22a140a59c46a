// SPDX-License-Identifier: Apache-2.0
// Call: one command as the server hands it over, with its arguments, its key and its reply.
//
// Errors have a code that clients can test for, then one sentence:
//   ERR         an argument makes no sense, or the filter cannot do it
//   WRONGTYPE   the key holds something else
//   FULL        a filter that must not scale has no room
//   OOM         there is no memory, or naysay.max-memory-per-key is reached
//   NOTREADY    the first NS.LOADCHUNK of the key has come, and the last one has not
#pragma once

#include <string>
#include <string_view>

#include "filter_type.hpp"
#include "server_api.hpp"
#include "stored_filter.hpp"

namespace naysay::redis {

// A sentence for the client, with its code.
struct Refusal {
  std::string message;
};

inline Refusal refusal_of(const Error& e) {
  return {(e.code == Errc::no_memory || e.code == Errc::out_of_budget ? "OOM " : "ERR ") + e.message};
}
template <class T>
T need(Result<T> result) {
  if (!result) throw refusal_of(result.error());
  return std::move(*result);
}

class Call {
 public:
  Call(server::Context* context, server::String** argv, int argc) : ctx(context), argv_(argv), argc_(argc) {}

  server::Context* const ctx;

  // ---- arguments: [0] is the command, [1] the key ----
  int size() const noexcept { return argc_; }
  bool more() const noexcept { return at_ < argc_; }
  server::String* raw(int i) const noexcept { return argv_[i]; }
  std::string_view arg(int i) const noexcept { return text(argv_[i]); }
  std::string_view next() {
    if (!more()) throw Refusal{"ERR an argument is missing at the end"};
    return arg(at_++);
  }
  // If the next argument is this word, in any case, takes it.
  bool takes(std::string_view word) noexcept;
  // The next argument as a number in [least, most].
  double number(std::string_view name, double least, double most);
  std::uint64_t whole(std::string_view name, std::uint64_t least, std::uint64_t most);
  void skip_to(int i) noexcept { at_ = i; }
  int position() const noexcept { return at_; }

  server::String* key() const noexcept { return argv_[1]; }
  // Commands that the server repeats, from a master or from its log, are obeyed: limits are the master's.
  bool repeated() const noexcept {
    return (server::GetContextFlags(ctx) & (server::kIsReplicated | server::kIsLoading)) != 0;
  }

  // ---- the end ----
  int integer(long long n) const noexcept { return server::ReplyWithLongLong(ctx, n); }
  int truth(bool b) const noexcept { return server::ReplyWithBool(ctx, b); }
  int ok() const noexcept { return server::ReplyWithSimpleString(ctx, "OK"); }
  int error(const std::string& message) const noexcept { return server::ReplyWithError(ctx, message.c_str()); }
  void write_text(std::string_view t) const noexcept { server::ReplyWithStringBuffer(ctx, t.data(), t.size()); }
  // After a change: tells replicas and the log what was called, and watchers what happened.
  void changed(const char* event) const noexcept {
    server::ReplicateVerbatim(ctx);
    notify(event);
  }
  void notify(const char* event) const noexcept {
    server::NotifyKeyspaceEvent(ctx, server::kNotifyModule, event, key());
  }

  static std::string_view text(const server::String* s) noexcept {
    std::size_t size = 0;
    const char* p = server::StringPtrLen(s, &size);
    return {p, size};
  }

 private:
  server::String** argv_;
  int argc_, at_ = 2;
};

// An open key of the keyspace. Throws a Refusal if it holds something else.
class OpenKey {
 public:
  OpenKey(server::Context* ctx, server::String* name, int mode);
  ~OpenKey() { server::CloseKey(key_); }
  OpenKey(const OpenKey&) = delete;
  OpenKey& operator=(const OpenKey&) = delete;

  StoredFilter* stored() const noexcept { return stored_; }  // null: there is no such key
  // There must be a filter that can be changed.
  AnyFilter& changeable() const;
  // There must be a filter. A mapped one may be queried.
  AnyFilter& readable() const;
  StoredFilter& put(std::unique_ptr<StoredFilter> stored);

 private:
  RedisModuleKey* key_;
  StoredFilter* stored_ = nullptr;
};

// The one place where a command's errors become replies.
template <int (*body)(Call&)>
int command(server::Context* ctx, server::String** argv, int argc) noexcept {
  Call call(ctx, argv, argc);
  try {
    return body(call);
  } catch (const Refusal& r) {
    return call.error(r.message);
  } catch (const std::bad_alloc&) {
    return call.error("OOM there is not enough memory for this");
  }
}

}  // namespace naysay::redis
