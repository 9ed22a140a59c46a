// SPDX-License-Identifier: Apache-2.0
// naysay-redis: membership filters as a data type of Redis and Valkey.
//
//   redis-server --loadmodule naysay-redis.so
//   > NS.ADD seen user:17     (integer) 1        the first item of a new filter
//   > NS.EXISTS seen user:17  (integer) 1        "maybe"; 0 would be a certain "no"
//
// This file is what the server calls: it makes the type, the commands with their docs, the settings and the INFO section.
#include "commands.hpp"
#include "filter_type.hpp"
#include "naysay/version.hpp"
#include "settings.hpp"

namespace naysay::redis {

namespace {

using server::ArgType;

struct CommandRow {
  const char* name;
  server::Command body;
  const char* flags;
  const char* categories;  // of the ACL, where the server has them
  int arity;               // as COMMAND INFO says it
  const char* summary;
  const char* complexity;
  std::vector<server::CommandArg> args;  // after the key
  int last_key = 1;                      // -1: all arguments are keys
};

server::CommandArg item() { return {.name = "item"}; }
server::CommandArg items() { return {.name = "item", .flags = server::kMultiple}; }
server::CommandArg option(const char* name, ArgType type, const char* token) {
  return {.name = name, .type = type, .token = token, .flags = server::kOptional};
}
server::CommandArg word(const char* name, const char* token) { return option(name, ArgType::token, token); }

std::vector<CommandRow>& rows() {
  static auto* all = new std::vector<CommandRow>{
      {"NS.RESERVE",
       command<ns_reserve>,
       "write deny-oom",
       "write",
       -4,
       "Creates an empty filter with room for a number of items",
       "O(n), n the capacity",
       {{.name = "error_rate", .type = ArgType::number},
        {.name = "capacity", .type = ArgType::integer},
        option("filter", ArgType::string, "FILTER"),
        option("expansion", ArgType::number, "EXPANSION"),
        word("nonscaling", "NONSCALING"),
        word("pinned", "PINNED")}},
      {"NS.ADD",
       command<ns_add>,
       "write deny-oom fast",
       "write fast",
       3,
       "Inserts an item, and creates the filter",
       "O(1)",
       {item()}},
      {"NS.ADDNX",
       command<ns_addnx>,
       "write deny-oom fast",
       "write fast",
       3,
       "Inserts an item unless it is accepted already; only for filters without deletions",
       "O(1)",
       {item()}},
      {"NS.MADD",
       command<ns_madd>,
       "write deny-oom fast",
       "write fast",
       -3,
       "Inserts items, and creates the filter",
       "O(n), n the number of items",
       {items()}},
      {"NS.INSERT",
       command<ns_insert>,
       "write deny-oom fast",
       "write fast",
       -4,
       "Inserts items, with options for the filter that is created",
       "O(n), n the number of items",
       {option("capacity", ArgType::integer, "CAPACITY"),
        option("error", ArgType::number, "ERROR"),
        option("filter", ArgType::string, "FILTER"),
        option("expansion", ArgType::number, "EXPANSION"),
        word("nocreate", "NOCREATE"),
        word("nonscaling", "NONSCALING"),
        word("nx", "NX"),
        {.name = "item", .token = "ITEMS", .flags = server::kMultiple}}},
      {"NS.EXISTS",
       command<ns_exists>,
       "readonly fast",
       "read fast",
       3,
       "Says whether an item may be in the set (1) or is certainly not (0)",
       "O(1)",
       {item()}},
      {"NS.MEXISTS",
       command<ns_mexists>,
       "readonly fast",
       "read fast",
       -3,
       "NS.EXISTS for many items",
       "O(n), n the number of items",
       {items()}},
      {"NS.DEL", command<ns_del>, "write fast", "write fast", 3, "Erases an item that was inserted", "O(1)", {item()}},
      {"NS.CARD",
       command<ns_card>,
       "readonly fast",
       "read fast",
       2,
       "The number of items inserted and not erased",
       "O(1)",
       {}},
      {"NS.INFO",
       command<ns_info>,
       "readonly fast",
       "read fast",
       -2,
       "What a filter is, or one of its fields",
       "O(1)",
       {{.name = "field", .flags = server::kOptional}}},
      {"NS.REPORT",
       command<ns_report>,
       "write fast",
       "write fast",
       -3,
       "Reports a false positive, so that it is refused from now on",
       "O(1)",
       {item(), {.name = "cost", .type = ArgType::number, .flags = server::kOptional}}},
      {"NS.NEGATIVES",
       command<ns_negatives>,
       "write fast",
       "write fast",
       -4,
       "Gives known non-members with costs; those that are accepted are refused from now on",
       "O(n), n the number of items",
       {item(), {.name = "cost", .type = ArgType::number}}},
      {"NS.PIN",
       command<ns_pin>,
       "write deny-oom fast",
       "write fast",
       -3,
       "Pins non-members: they are refused whatever is inserted, until they are inserted themselves",
       "O(n), n the number of items",
       {items()}},
      {"NS.UNPIN",
       command<ns_unpin>,
       "write fast",
       "write fast",
       -3,
       "Makes pinned items ordinary non-members again",
       "O(n), n the number of items",
       {items()}},
      {"NS.MERGE",
       command<ns_merge>,
       "write deny-oom",
       "write",
       -3,
       "Takes the items of other filters into a filter",
       "O(n), n the items of all",
       {{.name = "source", .type = ArgType::key, .key_spec_index = 0, .flags = server::kMultiple}},
       -1},
      {"NS.BUILD",
       command<ns_build>,
       "write deny-oom getkeys-api",
       "write",
       -4,
       "Builds a filter of any kind from all its items, in a thread",
       "O(n), n the number of items",
       {option("filter", ArgType::string, "FILTER"),
        option("error", ArgType::number, "ERROR"),
        option("bits", ArgType::number, "BITS"),
        option("timeout", ArgType::integer, "TIMEOUT"),
        option("source", ArgType::string, "FROM"),
        option("negatives", ArgType::string, "NEGATIVES"),
        {.name = "item", .token = "ITEMS", .flags = server::kOptional | server::kMultiple}}},
      {"NS.LOAD",
       command<ns_load>,
       "write admin deny-oom",
       "write admin dangerous",
       -3,
       "Maps a filter's file",
       "O(n), n its bytes",
       {{.name = "path"}, option("checksum", ArgType::integer, "CHECKSUM")}},
      {"NS.SCANDUMP",
       command<ns_scandump>,
       "readonly",
       "read",
       3,
       "The next chunk of a filter's bytes",
       "O(n), n its bytes",
       {{.name = "iterator", .type = ArgType::integer}}},
      {"NS.LOADCHUNK",
       command<ns_loadchunk>,
       "write deny-oom",
       "write",
       4,
       "Takes a chunk of a filter's bytes",
       "O(n), n its bytes",
       {{.name = "iterator", .type = ArgType::integer}, {.name = "data"}}},
  };
  return *all;
}

bool create_command(server::Context* ctx, CommandRow& row) {
  if (server::CreateCommand(ctx, row.name, row.body, row.flags, 1, row.last_key, 1) != server::kOk) return false;
  RedisModuleCommand* made = server::GetCommand(ctx, row.name);
  static const server::InfoVersion version;
  row.args.insert(row.args.begin(), {.name = "key", .type = ArgType::key, .key_spec_index = 0});
  row.args.push_back({});
  const server::CommandInfo info{.version = &version,
                                 .summary = row.summary,
                                 .complexity = row.complexity,
                                 .since = NAYSAY_VERSION,
                                 .arity = row.arity,
                                 .args = row.args.data()};
  if (server::SetCommandInfo(made, &info) != server::kOk) return false;
  if (server::AddACLCategory != nullptr && server::SetCommandACLCategories != nullptr)
    return server::SetCommandACLCategories(made, (std::string("naysay ") + row.categories).c_str()) == server::kOk;
  return true;
}

int load(server::Context* ctx) {
  if (const char* missing = server::bind(ctx)) {
    if (server::Log != nullptr)
      server::Log(ctx, "warning", "this server has no RedisModule_%s; naysay needs Redis 7.0 or Valkey", missing);
    return server::kError;
  }
  if (server::IsModuleNameBusy("naysay") != 0) return server::kError;
  constexpr int version = NAYSAY_VERSION_MAJOR * 10000 + NAYSAY_VERSION_MINOR * 100 + NAYSAY_VERSION_PATCH;
  server::SetModuleAttribs(ctx, "naysay", version, server::kApiVersion);
  server::SetModuleOptions(ctx, server::kHandleIoErrors);
  if (!create_type(ctx)) return server::kError;
  if (server::AddACLCategory != nullptr) server::AddACLCategory(ctx, "naysay");
  for (CommandRow& row : rows())
    if (!create_command(ctx, row)) return server::kError;
  return register_info(ctx) && register_settings(ctx) ? server::kOk : server::kError;
}

}  // namespace

}  // namespace naysay::redis

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx* ctx, RedisModuleString**,
                                                                         int) {
  return naysay::redis::load(ctx);
}
