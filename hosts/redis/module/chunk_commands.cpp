// SPDX-License-Identifier: Apache-2.0
// Whole filters: NS.SCANDUMP and NS.LOADCHUNK move one in pieces, NS.LOAD maps a file.
//
//   NS.SCANDUMP key 0      -> [1048576, bytes]       NS.LOADCHUNK key 1048576 bytes
//   NS.SCANDUMP key 1048576 -> [1500000, bytes]      NS.LOADCHUNK key 1500000 bytes     the filter is there
//   NS.SCANDUMP key 1500000 -> [0, ""]
//
// The bytes are those of a .nsy file, so that what `naysay build` wrote can be loaded, and a dump be queried by the tool.
#include "commands.hpp"
#include "settings.hpp"

namespace naysay::redis {

int ns_load(Call& c) {
  if (c.size() != 3 && c.size() != 5) return server::WrongArity(c.ctx);
  std::string path(c.arg(2));
  c.skip_to(3);
  std::uint64_t checksum = 0;
  if (c.more()) {
    if (!c.takes("CHECKSUM")) throw Refusal{"ERR '" + std::string(c.next()) + "' is no option of NS.LOAD"};
    checksum = c.whole("CHECKSUM", 1, ~std::uint64_t{0});
  }
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  auto stored = std::make_unique<StoredFilter>();
  if (!c.repeated()) {
    path = need(real_path(path));
    need(map_into(*stored, path, checksum));
  } else if (auto mapped = map_into(*stored, path, checksum); !mapped) {
    server::Log(c.ctx, "warning", "%s; the key answers maybe to everything", mapped.error().message.c_str());
  }
  const std::string sum = std::to_string(stored->checksum);
  key.put(std::move(stored));
  server::Replicate(c.ctx, "NS.LOAD", "sbcc", c.key(), path.data(), path.size(), "CHECKSUM", sum.c_str());
  c.notify("ns.load");
  return c.ok();
}

int ns_scandump(Call& c) {
  if (c.size() != 3) return server::WrongArity(c.ctx);
  const std::uint64_t at = c.whole("iterator", 0, ~std::uint64_t{0});
  OpenKey key(c.ctx, c.key(), server::kRead);
  const AnyFilter& f = key.readable();
  auto& dump = key.stored()->dump;
  if (at == 0) dump = std::make_shared<const std::vector<std::byte>>(f.to_bytes());
  if (!dump || at > dump->size()) throw Refusal{"ERR no dump is at this iterator; begin again with 0"};
  const std::size_t n = std::min<std::size_t>(kChunkBytes, dump->size() - at);
  server::ReplyWithArray(c.ctx, 2);
  c.integer(n == 0 ? 0 : static_cast<long long>(at + n));
  c.write_text({reinterpret_cast<const char*>(dump->data()) + at, n});
  if (n == 0) dump.reset();
  return server::kOk;
}

int ns_loadchunk(Call& c) {
  if (c.size() != 4) return server::WrongArity(c.ctx);
  const std::uint64_t end = c.whole("iterator", 1, ~std::uint64_t{0});
  OpenKey key(c.ctx, c.key(), server::kRead | server::kWrite);
  const std::uint64_t most = c.repeated() ? 0 : static_cast<std::uint64_t>(settings.max_memory_per_key);
  std::unique_ptr<StoredFilter> fresh;
  if (key.stored() == nullptr) fresh = std::make_unique<StoredFilter>();
  StoredFilter& stored = fresh ? *fresh : *key.stored();
  const bool complete = need(take_chunk(stored, end, c.arg(3), most));
  if (fresh) key.put(std::move(fresh));
  c.changed(complete ? "ns.load" : "ns.loadchunk");
  return c.ok();
}

}  // namespace naysay::redis
