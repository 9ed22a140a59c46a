// SPDX-License-Identifier: Apache-2.0
// Texts: keys with their strings, for filters that read bytes. Other filters need digests alone: see keys.hpp.
//
//   files or - --for_each_piece--> digest, cost, and the string, copied into blocks of 1 MiB that never move
//
// Cost       16 bytes for the view of each string and 16 for its digest, and the strings themselves.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "naysay/core/filter.hpp"
#include "naysay/workload/growing_array.hpp"
#include "naysay/workload/keys.hpp"

namespace naysay {

class Texts {
 public:
  // False: there is no memory for the view. Requires that the string itself fits.
  [[nodiscard]] bool push(std::string_view text) {
    if (text.size() > left_) {
      left_ = std::max(kBlock, text.size());
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
      next_ = blocks_.back().get();
    }
    std::memcpy(next_, text.data(), text.size());
    const bool pushed = views_.push({next_, text.size()});
    next_ += text.size();
    left_ -= text.size();
    return pushed;
  }
  std::span<const std::string_view> views() const noexcept { return {views_.begin(), views_.end()}; }

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  GrowingArray<std::string_view> views_;
};

// Keys or negatives, with their strings. Costs are there if lines are key<TAB>cost.
struct TextKeys {
  GrowingArray<Digest> digests;
  GrowingArray<float> costs;
  Texts texts;
};
enum class Lines { keys, costed_keys };

NAYSAY_EXPORT Result<TextKeys> read_texts(std::span<const KeyFile> files, Lines lines, const Hasher& hasher,
                                          const ReadingOptions& options, LineTally* tally = nullptr);
inline Result<TextKeys> read_texts(const KeyFile& file, Lines lines, const Hasher& hasher,
                                   const Progress& progress = {}, LineTally* tally = nullptr) {
  return read_texts({&file, 1}, lines, hasher, {.progress = progress}, tally);
}

}  // namespace naysay
