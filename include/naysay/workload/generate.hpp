// SPDX-License-Identifier: Apache-2.0
// Generate: makes keys from a seed and an index, for trials without data.
//
//   index i --xor with the seed, mix64 (a bijection)--> id --+--> integers   "11400714819323198485"
//                                                            +--> urls "https://www.lakestone.org/music/photo-2p0z..."
//
// The third kind, ycsb, is in ycsb.hpp.
//
// Promises   with one seed, different indices give different keys (URLs and integers; for YCSB keys see ycsb.hpp), so
//            ranges of indices that do not overlap make sets that do not.
// Does not   imitate the structure of real URLs that a model could learn: all words are equally likely.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "naysay/core/hash.hpp"
#include "naysay/workload/random.hpp"
#include "naysay/workload/ycsb.hpp"

namespace naysay {

enum class KeyShape : std::uint8_t { ycsb, urls, integers };
inline constexpr std::array<std::string_view, 3> kKeyKinds = {"ycsb", "urls", "integers"};

inline std::optional<KeyShape> find_key_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kKeyKinds.size(); ++i)
    if (kKeyKinds[i] == name) return static_cast<KeyShape>(i);
  return std::nullopt;
}

namespace generate_detail {

inline constexpr std::array<std::string_view, 64> kWords = {
    "apple",  "arrow", "autumn", "bakery",  "beacon", "bird",  "book",   "bridge", "cabin",  "candle", "castle",
    "cedar",  "chess", "cloud",  "coast",   "coffee", "coral", "corner", "cotton", "desert", "dream",  "echo",
    "field",  "flute", "forest", "garden",  "ginger", "globe", "harbor", "hill",   "honey",  "island", "ivory",
    "jungle", "kite",  "lake",   "lantern", "lemon",  "maple", "market", "meadow", "mirror", "music",  "north",
    "ocean",  "olive", "orchid", "paper",   "pepper", "photo", "pilot",  "planet", "quiet",  "river",  "sail",
    "silver", "snow",  "stone",  "summer",  "tiger",  "tower", "valley", "violet", "winter"};
inline constexpr std::array<std::string_view, 8> kEndings = {".com", ".net", ".org", ".info",
                                                             ".de",  ".fr",  ".io",  ".co.uk"};

// A bijection of i for every seed. Without + 1 seed 0 would leave i as it is, and mix64(0) is 0.
constexpr std::uint64_t scramble(std::uint64_t i, std::uint64_t seed) noexcept { return mix64(i ^ mix64(seed + 1)); }

inline void append_number(std::string& out, std::uint64_t number, int base) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number, base).ptr);
}

}  // namespace generate_detail

inline void integer_key(std::uint64_t i, std::uint64_t seed, std::string& out) {
  out.clear();
  generate_detail::append_number(out, generate_detail::scramble(i, seed), 10);
}

inline void url_key(std::uint64_t i, std::uint64_t seed, std::string& out) {
  using namespace generate_detail;
  const std::uint64_t id = scramble(i, seed);
  Random random(id);
  const auto word = [&] { return kWords[random.below(kWords.size())]; };
  out.assign(random.below(4) == 0 ? "http://" : "https://");
  if (random.below(2) == 0) out += "www.";
  out += word();
  out += word();
  out += kEndings[random.below(kEndings.size())];
  for (std::uint64_t depth = random.below(3); depth > 0; --depth) {
    out += '/';
    out += word();
  }
  out += '/';
  out += word();
  out += '-';
  append_number(out, id, 36);
}

// Writes key i into `out`, whose old content is lost.
inline void generate_key(KeyShape kind, std::uint64_t i, std::uint64_t seed, std::string& out) {
  switch (kind) {
    case KeyShape::ycsb:
      return ycsb_key(i, seed, out);
    case KeyShape::urls:
      return url_key(i, seed, out);
    case KeyShape::integers:
      return integer_key(i, seed, out);
  }
}

}  // namespace naysay
