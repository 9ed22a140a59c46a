// SPDX-License-Identifier: Apache-2.0
#include "parts/hashing.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <random>
#include <utility>

#include "naysay/workload/keys.hpp"
#include "parts/failure.hpp"

namespace naysay::cli {

namespace {

constexpr std::size_t kKeyDigits = 32;  // 128 bits
constexpr const char* kKeyVariable = "NAYSAY_HASH_KEY";

// Two hexadecimal digits per byte, in the order in which SipHash reads its key bytes: little-endian words. The message
// names where the text came from, and not the text.
SipKey parse_key(const std::string& text, const std::string& source) {
  if (text.size() != kKeyDigits)
    throw Failure{
        fmt::format("{} has {} characters; it must be {} hexadecimal digits", source, text.size(), kKeyDigits)};
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < kKeyDigits / 2; ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
      throw Failure{
          fmt::format("{} has a character that is no hexadecimal digit; it must be {} of them", source, kKeyDigits)};
    words[i / 8] |= std::uint64_t{byte} << (8 * (i % 8));
  }
  return {words[0], words[1]};
}

// The first line of the file, which must be its only one.
std::string read_key(const std::string& path) {
  LineReader reader = need(LineReader::open({path}));
  const auto lines = need(reader.next());
  if (lines.size() != 1)
    throw Failure{fmt::format("{}: has {} lines; a file of --hash-key-file has one, the key", path, lines.size())};
  return std::string(lines[0].text);
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
  command.option("--hash-key", key_, "the key of siphash, 32 hexadecimal digits; other users can see a command line")
      .type_name("HEX32");
  command
      .option("--hash-key-file", key_file_,
              "a file with the key of siphash; without either, it is the variable NAYSAY_HASH_KEY, if that is set")
      .type_name("FILE");
}

bool Hashing::has_key() const { return !key_.empty() || !key_file_.empty() || std::getenv(kKeyVariable); }

bool Hashing::given() const { return hash_ != "xxh3" || !key_.empty() || !key_file_.empty(); }

Hasher Hashing::hasher(std::uint64_t seed) const {
  if (!key_.empty() && !key_file_.empty()) throw Failure{"--hash-key and --hash-key-file are given; give one of them"};
  if (hash_ == "siphash") {
    const char* variable = std::getenv(kKeyVariable);
    if (!key_.empty()) return {HashId::siphash, 0, parse_key(key_, "--hash-key")};
    if (!key_file_.empty()) return {HashId::siphash, 0, parse_key(read_key(key_file_), key_file_ + ": the key")};
    if (variable) return {HashId::siphash, 0, parse_key(variable, std::string("the variable ") + kKeyVariable)};
    return {HashId::siphash, 0, random_key()};
  }
  if (hash_ != "xxh3") throw Failure{fmt::format("--hash is '{}'; it must be xxh3 or siphash", hash_)};
  for (const auto& [option, value] : {std::pair("--hash-key", &key_), std::pair("--hash-key-file", &key_file_)})
    if (!value->empty()) throw Failure{fmt::format("{} is given, but xxh3 has none; give --hash siphash too", option)};
  return {HashId::xxh3, seed, {}};
}

}  // namespace naysay::cli
