// SPDX-License-Identifier: Apache-2.0
#include "parts/shapes.hpp"

#include <algorithm>

namespace naysay::cli {

void Shapes::see(std::string_view text) {
  ++seen_;
  if (kept_.size() < kKept) {
    kept_.emplace_back(text);
  } else if (const std::uint64_t at = random_.below(seen_); at < kKept) {
    kept_[at] = text;
  }
}

std::vector<Digest> Shapes::make(std::size_t count, const Hasher& hasher) {
  std::vector<Digest> made;
  if (kept_.empty()) return made;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text = kept_[random_.below(kept_.size())];
    bool changed = false;
    const auto replace = [&](char& c, char first, char last) {
      if (c < first || c > last) return;
      c = static_cast<char>(first + static_cast<char>(random_.below(static_cast<std::uint64_t>(last - first + 1))));
      changed = true;
    };
    for (char& c : text) {
      if (c <= '9')
        replace(c, '0', '9');
      else if (c <= 'Z')
        replace(c, 'A', 'Z');
      else
        replace(c, 'a', 'z');
    }
    if (!changed)
      for (char& c : text) c = static_cast<char>(random_() >> 56);
    made.push_back(hasher(text));
  }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

}  // namespace naysay::cli
