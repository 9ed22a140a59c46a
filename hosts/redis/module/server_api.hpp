// SPDX-License-Identifier: Apache-2.0
// The module interface of Redis and Valkey, as far as this module uses it: our own declarations of a public binary
// interface, so that no header of a server is needed to build.
//
//   server --RedisModule_OnLoad(ctx, ...)--> bind(ctx) --> server::Alloc(...), server::OpenKey(...), ...
//
// The first word of the context is a function that gives the address of any other by its name; it returns 0, or 1 for a
// name it does not know. kRequired functions are in Redis 7.0 and later; the others may be null.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
struct RedisModuleCtx;
struct RedisModuleString;
struct RedisModuleKey;
struct RedisModuleType;
struct RedisModuleIO;
struct RedisModuleDigest;
struct RedisModuleInfoCtx;
struct RedisModuleBlockedClient;
struct RedisModuleCallReply;
struct RedisModuleCommand;
}

namespace naysay::redis::server {

using Context = RedisModuleCtx;
using String = RedisModuleString;
using Command = int (*)(Context*, String**, int);

inline constexpr int kOk = 0, kError = 1, kApiVersion = 1;
inline constexpr int kRead = 1, kWrite = 2;                                         // OpenKey
inline constexpr int kEmpty = 0, kList = 2, kSet = 4, kSortedSet = 5, kModule = 6;  // KeyType
inline constexpr int kReplyString = 0, kReplyInteger = 2, kReplyArray = 3, kReplySet = 6;
inline constexpr long kPostponedLength = -1;
inline constexpr int kNotifyModule = 1 << 13;
inline constexpr int kHandleIoErrors = 1 << 0;                                                // SetModuleOptions
inline constexpr int kIsReplicated = 1 << 12, kIsLoading = 1 << 13, kDenyBlocking = 1 << 21;  // GetContextFlags
inline constexpr unsigned kConfigDefault = 0, kConfigImmutable = 1u << 0, kConfigMemory = 1u << 7;

// Version 4 of the methods of a type (Redis 7.0). A server reads as much as it knows, and newer ones read this much.
struct TypeMethods {
  std::uint64_t version = 4;
  void* (*rdb_load)(RedisModuleIO*, int) = nullptr;
  void (*rdb_save)(RedisModuleIO*, void*) = nullptr;
  void (*aof_rewrite)(RedisModuleIO*, String*, void*) = nullptr;
  std::size_t (*mem_usage)(const void*) = nullptr;
  void (*digest)(RedisModuleDigest*, void*) = nullptr;
  void (*free)(void*) = nullptr;
  int (*aux_load)(RedisModuleIO*, int, int) = nullptr;
  void (*aux_save)(RedisModuleIO*, int) = nullptr;
  int aux_save_triggers = 0;
  std::size_t (*free_effort)(String*, const void*) = nullptr;
  void (*unlink)(String*, const void*) = nullptr;
  void* (*copy)(String*, String*, const void*) = nullptr;
  int (*defrag)(void*, String*, void**) = nullptr;
  void* second_forms[4] = {};  // mem_usage2, free_effort2, unlink2, copy2: the same with more arguments
};
static_assert(offsetof(TypeMethods, free_effort) == 80 && sizeof(TypeMethods) == 144);

// What COMMAND DOCS says of a command.
enum class ArgType : int { string, integer, number, key, pattern, time, token, one_of, block };
inline constexpr int kOptional = 1 << 0, kMultiple = 1 << 1;
struct CommandArg {
  const char* name = nullptr;
  ArgType type = ArgType::string;
  int key_spec_index = -1;
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  CommandArg* parts = nullptr;
  const char* display_text = nullptr;
};
struct InfoVersion {
  int version = 1;
  std::size_t history_bytes = 2 * sizeof(void*);
  std::size_t key_spec_bytes = 48;  // none is given
  std::size_t arg_bytes = sizeof(CommandArg);
};
struct CommandInfo {
  const InfoVersion* version = nullptr;
  const char* summary = nullptr;
  const char* complexity = nullptr;
  const char* since = nullptr;
  void* history = nullptr;
  const char* tips = nullptr;
  int arity = 0;
  void* key_specs = nullptr;
  CommandArg* args = nullptr;
};

using GetNumber = long long (*)(const char*, void*);
using SetNumber = int (*)(const char*, long long, void*, String**);
using GetString = String* (*)(const char*, void*);
using SetString = int (*)(const char*, String*, void*, String**);
using Apply = int (*)(Context*, void*, String**);

// clang-format off
#define NAYSAY_SERVER_FUNCTIONS(X) \
  X(void*, TryAlloc, (std::size_t)) \
  X(void, Free, (void*)) \
  X(int, IsModuleNameBusy, (const char*)) \
  X(void, SetModuleAttribs, (Context*, const char*, int, int)) \
  X(void, SetModuleOptions, (Context*, int)) \
  X(int, CreateCommand, (Context*, const char*, Command, const char*, int, int, int)) \
  X(RedisModuleCommand*, GetCommand, (Context*, const char*)) \
  X(int, SetCommandInfo, (RedisModuleCommand*, const CommandInfo*)) \
  X(int, IsKeysPositionRequest, (Context*)) \
  X(void, KeyAtPos, (Context*, int)) \
  X(RedisModuleType*, CreateDataType, (Context*, const char*, int, TypeMethods*)) \
  X(int, GetContextFlags, (Context*)) \
  X(void, Log, (Context*, const char*, const char*, ...)) \
  X(RedisModuleKey*, OpenKey, (Context*, String*, int)) \
  X(void, CloseKey, (RedisModuleKey*)) \
  X(int, KeyType, (RedisModuleKey*)) \
  X(RedisModuleType*, ModuleTypeGetType, (RedisModuleKey*)) \
  X(void*, ModuleTypeGetValue, (RedisModuleKey*)) \
  X(int, ModuleTypeSetValue, (RedisModuleKey*, RedisModuleType*, void*)) \
  X(int, WrongArity, (Context*)) \
  X(String*, CreateString, (Context*, const char*, std::size_t)) \
  X(void, FreeString, (Context*, String*)) \
  X(const char*, StringPtrLen, (const String*, std::size_t*)) \
  X(int, ReplyWithError, (Context*, const char*)) \
  X(int, ReplyWithSimpleString, (Context*, const char*)) \
  X(int, ReplyWithLongLong, (Context*, long long)) \
  X(int, ReplyWithBool, (Context*, int)) \
  X(int, ReplyWithArray, (Context*, long)) \
  X(int, ReplyWithMap, (Context*, long)) \
  X(int, ReplyWithDouble, (Context*, double)) \
  X(int, ReplyWithStringBuffer, (Context*, const char*, std::size_t)) \
  X(int, Replicate, (Context*, const char*, const char*, ...)) \
  X(int, ReplicateVerbatim, (Context*)) \
  X(int, NotifyKeyspaceEvent, (Context*, int, const char*, String*)) \
  X(void, SaveUnsigned, (RedisModuleIO*, std::uint64_t)) \
  X(std::uint64_t, LoadUnsigned, (RedisModuleIO*)) \
  X(void, SaveStringBuffer, (RedisModuleIO*, const char*, std::size_t)) \
  X(char*, LoadStringBuffer, (RedisModuleIO*, std::size_t*)) \
  X(int, IsIOError, (RedisModuleIO*)) \
  X(void, LogIOError, (RedisModuleIO*, const char*, const char*, ...)) \
  X(void, EmitAOF, (RedisModuleIO*, const char*, const char*, ...)) \
  X(void, DigestAddStringBuffer, (RedisModuleDigest*, const char*, std::size_t)) \
  X(void, DigestEndSequence, (RedisModuleDigest*)) \
  X(int, RegisterInfoFunc, (Context*, void (*)(RedisModuleInfoCtx*, int))) \
  X(int, InfoAddSection, (RedisModuleInfoCtx*, const char*)) \
  X(int, InfoAddFieldULongLong, (RedisModuleInfoCtx*, const char*, unsigned long long)) \
  X(int, InfoAddFieldDouble, (RedisModuleInfoCtx*, const char*, double)) \
  X(int, RegisterNumericConfig, (Context*, const char*, long long, unsigned, long long, long long, GetNumber, SetNumber, Apply, void*)) \
  X(int, RegisterStringConfig, (Context*, const char*, const char*, unsigned, GetString, SetString, Apply, void*)) \
  X(int, LoadConfigs, (Context*)) \
  X(RedisModuleCallReply*, Call, (Context*, const char*, const char*, ...)) \
  X(int, CallReplyType, (RedisModuleCallReply*)) \
  X(std::size_t, CallReplyLength, (RedisModuleCallReply*)) \
  X(RedisModuleCallReply*, CallReplyArrayElement, (RedisModuleCallReply*, std::size_t)) \
  X(const char*, CallReplyStringPtr, (RedisModuleCallReply*, std::size_t*)) \
  X(void, FreeCallReply, (RedisModuleCallReply*)) \
  X(RedisModuleBlockedClient*, BlockClient, (Context*, Command, Command, void (*)(Context*, void*), long long)) \
  X(int, UnblockClient, (RedisModuleBlockedClient*, void*)) \
  X(void*, GetBlockedClientPrivateData, (Context*)) \
  X(RedisModuleBlockedClient*, GetBlockedClientHandle, (Context*)) \
  X(void, SetDisconnectCallback, (RedisModuleBlockedClient*, void (*)(Context*, RedisModuleBlockedClient*))) \
  X(RedisModuleCtx*, GetThreadSafeContext, (RedisModuleBlockedClient*)) \
  X(void, FreeThreadSafeContext, (Context*)) \
  X(void, ThreadSafeContextLock, (Context*)) \
  X(void, ThreadSafeContextUnlock, (Context*))

// Null where the server does not have them.
#define NAYSAY_SERVER_OPTIONAL_FUNCTIONS(X) \
  X(int, AddACLCategory, (Context*, const char*)) \
  X(int, SetCommandACLCategories, (RedisModuleCommand*, const char*))
// clang-format on

#define NAYSAY_DECLARE(result, name, args) inline result(*name) args = nullptr;
NAYSAY_SERVER_FUNCTIONS(NAYSAY_DECLARE)
NAYSAY_SERVER_OPTIONAL_FUNCTIONS(NAYSAY_DECLARE)
#undef NAYSAY_DECLARE

// Null, or the name of a required function that this server does not have.
inline const char* bind(Context* ctx) noexcept {
  using GetFunction = int (*)(const char*, void*);
  const auto get = reinterpret_cast<GetFunction>(*reinterpret_cast<void**>(ctx));
#define NAYSAY_BIND(result, name, args) \
  if (get("RedisModule_" #name, static_cast<void*>(&name)) != 0) return #name;
  NAYSAY_SERVER_FUNCTIONS(NAYSAY_BIND)
#undef NAYSAY_BIND
#define NAYSAY_BIND(result, name, args) get("RedisModule_" #name, static_cast<void*>(&name));
  NAYSAY_SERVER_OPTIONAL_FUNCTIONS(NAYSAY_BIND)
#undef NAYSAY_BIND
  return nullptr;
}

}  // namespace naysay::redis::server
