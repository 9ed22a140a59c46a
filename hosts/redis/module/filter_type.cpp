// SPDX-License-Identifier: Apache-2.0
#include "filter_type.hpp"

#include <cstring>
#include <new>
#include <string>

namespace naysay::redis {

namespace {

constexpr std::uint64_t kFilter = 1, kFile = 2, kIncoming = 4;  // flags of a payload

const char* chars(const std::byte* p) { return reinterpret_cast<const char*>(p); }

// ---- RDB ------------------------------------------------------------------------------------------------------------

void save_text(RedisModuleIO* io, std::string_view text) { server::SaveStringBuffer(io, text.data(), text.size()); }

// A number of bytes, then strings of at most kChunkBytes each.
void save_chunks(RedisModuleIO* io, std::string_view bytes) {
  server::SaveUnsigned(io, bytes.size());
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kChunkBytes, bytes.size())))
    save_text(io, bytes.substr(0, kChunkBytes));
}
void save_chunks(RedisModuleIO* io, const AnyFilter& filter) {
  const FileImage image = filter.image();
  server::SaveUnsigned(io, image.size());
  (void)image.write(
      [&](std::span<const std::byte> piece) -> Result<Ok> {
        save_text(io, {chars(piece.data()), piece.size()});
        return Ok{};
      },
      kChunkBytes);
}

void rdb_save(RedisModuleIO* io, void* value) {
  const auto& s = *static_cast<const StoredFilter*>(value);
  const bool bytes = s.filter && !s.mapped();
  server::SaveUnsigned(io, (bytes ? kFilter : 0) | (s.mapped() ? kFile : 0) | (s.incoming.empty() ? 0 : kIncoming));
  if (bytes) save_chunks(io, *s.filter);
  if (s.mapped()) {
    save_text(io, s.path);
    server::SaveUnsigned(io, s.checksum);
  }
  if (!s.incoming.empty()) save_chunks(io, s.incoming);
}

// A payload may come from anybody who may call RESTORE: nothing in it is believed before it was checked, and no more
// memory is asked for than bytes have come.
class Loader {
 public:
  explicit Loader(RedisModuleIO* io) : io_(io) {}

  bool number(std::uint64_t& to) {
    to = server::LoadUnsigned(io_);
    return !server::IsIOError(io_);
  }
  bool text(std::string& to, std::size_t most) {
    std::size_t size = 0;
    char* bytes = server::LoadStringBuffer(io_, &size);
    if (bytes == nullptr || server::IsIOError(io_)) {
      if (bytes != nullptr) server::Free(bytes);
      return false;
    }
    const bool fits = size <= most;
    if (fits) to.append(bytes, size);
    server::Free(bytes);
    return fits;
  }
  bool chunks(std::string& to) {
    std::uint64_t size = 0;
    if (!number(size)) return false;
    while (to.size() < size) {
      const std::size_t before = to.size();
      if (!text(to, size - before) || to.size() == before) return false;
    }
    return true;
  }
  // The same as a filter, without its bytes in memory besides.
  Result<AnyFilter> filter() {
    const Error cut{Errc::corrupt, "the payload ends too early, or its parts do not add up"};
    std::uint64_t size = 0, read = 0;
    if (!number(size)) return cut;
    std::string piece;
    std::size_t at = 0;
    auto f = AnyFilter::load(
        [&](std::span<std::byte> room) -> Result<std::size_t> {
          if (at == piece.size()) {
            piece.clear();
            at = 0;
            if (read == size) return std::size_t{0};
            if (!text(piece, size - read) || piece.empty()) return cut;
            read += piece.size();
          }
          const std::size_t n = std::min(room.size(), piece.size() - at);
          std::memcpy(room.data(), piece.data() + at, n);
          at += n;
          return n;
        },
        size);
    if (f && (read != size || at != piece.size())) return cut;
    return of_text(std::move(f));
  }

 private:
  RedisModuleIO* io_;
};

Result<std::unique_ptr<StoredFilter>> load(RedisModuleIO* io, int version) {
  const Error cut{Errc::corrupt, "the payload ends too early, or its parts do not add up"};
  if (version != 0) return Error{Errc::unsupported, "the payload was written by a newer naysay"};
  auto s = std::make_unique<StoredFilter>();
  Loader from(io);
  std::uint64_t flags = 0;
  if (!from.number(flags)) return cut;
  if (flags > (kFilter | kFile | kIncoming) || (flags & (kFilter | kFile)) == (kFilter | kFile) || flags == 0)
    return Error{Errc::corrupt, "the payload has flags " + std::to_string(flags)};
  if (flags & kFilter) {
    NAYSAY_TRY(s->filter, from.filter());
  }
  if (flags & kFile) {
    std::string path;
    std::uint64_t checksum = 0;
    if (!from.text(path, 4096) || !from.number(checksum)) return cut;
    if (path.empty() || checksum == 0) return Error{Errc::corrupt, "the payload names no file"};
    if (auto mapped = map_into(*s, path, checksum); !mapped)
      server::LogIOError(io, "warning", "naysay: %s; the key answers maybe to everything", s->trouble.c_str());
  }
  if (flags & kIncoming && !from.chunks(s->incoming)) return cut;
  return s;
}

void* rdb_load(RedisModuleIO* io, int version) {
  try {
    auto s = load(io, version);
    if (s) return s->release();
    server::LogIOError(io, "warning", "naysay: %s", s.error().message.c_str());
  } catch (const std::bad_alloc&) {
    server::LogIOError(io, "warning", "naysay: there is not enough memory to load a filter");
  }
  return nullptr;
}

// ---- AOF and replication --------------------------------------------------------------------------------------------

// emit(command, format, arguments ...) for each command that makes the value.
template <class Emit>
void for_each_command(const StoredFilter& s, Emit&& emit) {
  const auto chunk = [&](std::uint64_t& end, const char* bytes, std::size_t size) {
    end += size;
    emit("NS.LOADCHUNK", static_cast<long long>(end), bytes, size);
  };
  if (s.filter && !s.mapped()) {
    std::uint64_t end = 0;
    (void)s.filter->save(
        [&](std::span<const std::byte> part) -> Result<Ok> {
          chunk(end, chars(part.data()), part.size());
          return Ok{};
        },
        kChunkBytes);
  }
  std::uint64_t end = 0;
  for (std::string_view rest = s.incoming; !rest.empty(); rest.remove_prefix(std::min(kChunkBytes, rest.size())))
    chunk(end, rest.data(), std::min(kChunkBytes, rest.size()));
}

void aof_rewrite(RedisModuleIO* io, server::String* key, void* value) {
  const auto& s = *static_cast<const StoredFilter*>(value);
  if (s.mapped())
    server::EmitAOF(io, "NS.LOAD", "sbcc", key, s.path.data(), s.path.size(), "CHECKSUM",
                    std::to_string(s.checksum).c_str());
  for_each_command(s, [&](const char* command, long long end, const char* bytes, std::size_t size) {
    server::EmitAOF(io, command, "slb", key, end, bytes, size);
  });
}

// ---- the rest -------------------------------------------------------------------------------------------------------

void digest(RedisModuleDigest* to, void* value) {
  const auto& s = *static_cast<const StoredFilter*>(value);
  if (s.mapped()) {
    server::DigestAddStringBuffer(to, s.path.data(), s.path.size());
    server::DigestAddStringBuffer(to, reinterpret_cast<const char*>(&s.checksum), sizeof s.checksum);
  } else if (s.filter) {
    (void)s.filter->save([&](std::span<const std::byte> part) -> Result<Ok> {
      server::DigestAddStringBuffer(to, chars(part.data()), part.size());
      return Ok{};
    });
  }
  if (!s.incoming.empty()) server::DigestAddStringBuffer(to, s.incoming.data(), s.incoming.size());
  server::DigestEndSequence(to);
}

std::size_t mem_usage(const void* value) { return static_cast<const StoredFilter*>(value)->bytes(); }
void free_value(void* value) { delete static_cast<StoredFilter*>(value); }
// Large filters are freed in the background: their pages go back to the system then.
std::size_t free_effort(server::String*, const void* value) {
  return 1 + static_cast<const StoredFilter*>(value)->bytes() / 4096;
}
void* copy_value(server::String*, server::String*, const void* value) {
  try {
    auto to = static_cast<const StoredFilter*>(value)->copy();
    return to ? to->release() : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

bool create_type(server::Context* ctx) {
  static server::TypeMethods methods;
  methods.rdb_load = rdb_load;
  methods.rdb_save = rdb_save;
  methods.aof_rewrite = aof_rewrite;
  methods.mem_usage = mem_usage;
  methods.digest = digest;
  methods.free = free_value;
  methods.free_effort = free_effort;
  methods.copy = copy_value;
  stored_type = server::CreateDataType(ctx, "naysayset", 0, &methods);
  return stored_type != nullptr;
}

void replicate_whole(server::Context* ctx, server::String* key, const StoredFilter& stored) {
  for_each_command(stored, [&](const char* command, long long end, const char* bytes, std::size_t size) {
    server::Replicate(ctx, command, "slb", key, end, bytes, size);
  });
}

}  // namespace naysay::redis
