// SPDX-License-Identifier: Apache-2.0
// Says: whether a message names what it must name, whatever its wording.
//
//   EXPECT_TRUE(says(text, {"k", "65", "64"}));
//   EXPECT_TRUE(refused(Bloom::build({}, {.k = 65}), Errc::invalid_argument, {"bloom", "k", "65", "64"}));
//
// A word is found where it stands alone: "k" is not found in "key", nor "6" in "65". Only a handful of tests compare
// whole sentences; they show the style that messages follow.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/result.hpp"

namespace naysay::sample {

inline bool has_word(std::string_view text, std::string_view word) {
  const auto letter = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !letter(word.front()) || !letter(text[at - 1]),
               ends = end == text.size() || !letter(word.back()) || !letter(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

inline ::testing::AssertionResult says(std::string_view text, const std::vector<std::string_view>& words) {
  std::string missing;
  for (std::string_view word : words)
    if (word.empty() || !has_word(text, word)) missing += (missing.empty() ? "'" : ", '") + std::string(word) + "'";
  if (missing.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no word " << missing << " in: " << text;
}

template <class T>
::testing::AssertionResult refused(const Result<T>& result, Errc code, const std::vector<std::string_view>& words) {
  if (result) return ::testing::AssertionFailure() << "it was not refused";
  if (result.error().code != code)
    return ::testing::AssertionFailure() << "its code is " << static_cast<int>(result.error().code) << ", not "
                                         << static_cast<int>(code) << ": " << result.error().message;
  return says(result.error().message, words);
}

}  // namespace naysay::sample
