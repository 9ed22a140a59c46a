// SPDX-License-Identifier: Apache-2.0
// Hosts: made-up host names with their digests, for filters that read bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "naysay/core/filter.hpp"
#include "sample.hpp"

namespace naysay::sample {

// Strings with their digests, for filters that read bytes.
struct Strings {
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<Digest> digests;

  Strings() = default;
  Strings(Strings&&) = default;  // the views stay where they are
  Strings& operator=(Strings&&) = default;
  void add(std::string text) { texts.push_back(std::move(text)); }
  // Makes views and digests; then nothing is added any more.
  Strings finish() && {
    for (const std::string& text : texts) {
      views.push_back(text);
      digests.push_back(digest(std::string_view(text)));
    }
    return std::move(*this);
  }
};

// Made-up host names. The two kinds differ as a blocklist and popular hosts do: mostly, but one in 256 of either kind
// looks like the other.
enum class Hosts { blocked, popular };
inline Strings hosts(Hosts kind, std::uint64_t first, std::uint64_t count) {
  static constexpr std::string_view kSyllables[] = {"ba",   "ne", "ti", "lo", "mar", "ket", "ren", "so", "vi",  "shop",
                                                    "news", "my", "ro", "da", "le",  "ko",  "su",  "pe", "gra", "ion"};
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  Strings out;
  for (std::uint64_t i = first; i < first + count; ++i) {
    Words random(mix64(2 * i + (kind == Hosts::blocked)) + 99);
    const bool odd = random.below(256) == 0, blocked = (kind == Hosts::blocked) != odd;
    std::string text;
    if (blocked) {
      for (std::uint64_t n = 9 + random.below(7); n > 0; --n) text += kLetters[random.below(kLetters.size())];
      text += random.below(3) == 0 ? ".test" : ".invalid";
    } else {
      if (random.below(4) == 0) text = "www.";
      for (std::uint64_t n = 6 + random.below(3); n > 0; --n) text += kSyllables[random.below(std::size(kSyllables))];
      text += random.below(3) == 0 ? ".example" : ".localhost";
    }
    out.add(std::move(text));
  }
  return std::move(out).finish();
}

}  // namespace naysay::sample
