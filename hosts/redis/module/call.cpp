// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

#include <algorithm>

namespace naysay::redis {

namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return upper(x) == upper(y); });
}

}  // namespace

bool Call::takes(std::string_view word) noexcept {
  if (!more() || !same_word(arg(at_), word)) return false;
  ++at_;
  return true;
}

double Call::number(std::string_view name, double least, double most) {
  const std::string_view given = next();
  double value = 0;
  std::string right;
  if (!from_text(given, value, right) || !(value >= least && value <= most))
    throw Refusal{"ERR " + std::string(name) + " is '" + std::string(given.substr(0, 40)) +
                  "'; it must be a number of " + rounded_text(least) + " to " + rounded_text(most)};
  return value;
}

std::uint64_t Call::whole(std::string_view name, std::uint64_t least, std::uint64_t most) {
  const std::string_view given = next();
  std::uint64_t value = 0;
  std::string right;
  if (!from_text(given, value, right) || value < least || value > most)
    throw Refusal{"ERR " + std::string(name) + " is '" + std::string(given.substr(0, 40)) +
                  "'; it must be a whole number of " + to_text(least) + " to " + to_text(most)};
  return value;
}

OpenKey::OpenKey(server::Context* ctx, server::String* name, int mode) : key_(server::OpenKey(ctx, name, mode)) {
  const int type = key_ == nullptr ? server::kEmpty : server::KeyType(key_);
  if (type == server::kEmpty) return;
  if (type != server::kModule || server::ModuleTypeGetType(key_) != stored_type) {
    server::CloseKey(key_);
    throw Refusal{"WRONGTYPE Operation against a key holding the wrong kind of value"};
  }
  stored_ = static_cast<StoredFilter*>(server::ModuleTypeGetValue(key_));
}

AnyFilter& OpenKey::readable() const {
  if (stored_ == nullptr) throw Refusal{"ERR the key does not exist; create it with NS.RESERVE"};
  if (!stored_->filter)
    throw Refusal{stored_->mapped() ? "ERR " + stored_->trouble
                                    : "NOTREADY the filter is being loaded; send its other chunks with NS.LOADCHUNK"};
  return *stored_->filter;
}

AnyFilter& OpenKey::changeable() const {
  AnyFilter& f = readable();
  if (stored_->mapped()) throw Refusal{"ERR the filter is mapped from a file by NS.LOAD, and cannot be changed"};
  return f;
}

StoredFilter& OpenKey::put(std::unique_ptr<StoredFilter> stored) {
  stored_ = stored.get();
  server::ModuleTypeSetValue(key_, stored_type, stored.release());
  return *stored_;
}

}  // namespace naysay::redis
