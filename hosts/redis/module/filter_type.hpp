// SPDX-License-Identifier: Apache-2.0
// FilterType of the server: how it saves, loads, copies, counts and frees a StoredFilter.
//
// RDB (and DUMP), encoding version 0:   flags; then, by flags, the filter, the mapped file, the incoming chunks
//   filter, incoming    number of bytes, then strings of at most 1 MiB each
//   mapped              path, checksum
// AOF               NS.LOADCHUNK for each MiB, or NS.LOAD path CHECKSUM sum
#pragma once

#include "server_api.hpp"
#include "stored_filter.hpp"

namespace naysay::redis {

inline RedisModuleType* stored_type = nullptr;

// False if the server refuses it. Only while the module is loaded.
bool create_type(server::Context* ctx);

// Gives a replica (and the log) the whole value, as the chunks that make it.
void replicate_whole(server::Context* ctx, server::String* key, const StoredFilter& stored);

}  // namespace naysay::redis
