// SPDX-License-Identifier: Apache-2.0
#include "parts/hashing.hpp"

#include <fmt/core.h>

#include <charconv>
#include <random>

#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

constexpr std::size_t kKeyDigits = 32;  // 128 bits

// Two hexadecimal digits per byte, in the order in which SipHash reads its key bytes: little-endian words.
SipKey parse_key(const std::string& text) {
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < kKeyDigits / 2; ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + 2 * i;
    if (text.size() != kKeyDigits || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
      throw Failure{fmt::format("--hash-key is '{}'; it must be {} hexadecimal digits", text, kKeyDigits)};
    words[i / 8] |= std::uint64_t{byte} << (8 * (i % 8));
  }
  return {words[0], words[1]};
}

SipKey random_key() {
  std::random_device device;  // the system's own random numbers
  const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

}  // namespace

void Hashing::add_options(Command& command) {
  command.option("--hash", hash_, "xxh3 (fast), or siphash (keyed: against chosen keys; drawn at random)")
      .type_name("NAME");
  command.option("--hash-key", key_, "the key of siphash, 32 hexadecimal digits").type_name("HEX32");
}

Hasher Hashing::hasher(std::uint64_t seed) const {
  if (hash_ == "siphash") return {HashId::siphash, 0, key_.empty() ? random_key() : parse_key(key_)};
  if (hash_ != "xxh3") throw Failure{fmt::format("--hash is '{}'; it must be xxh3 or siphash", hash_)};
  if (!key_.empty()) throw Failure{"--hash-key is given, but xxh3 has none; give --hash siphash too"};
  return {HashId::xxh3, seed, {}};
}

}  // namespace naysay::cli
