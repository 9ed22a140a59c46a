// SPDX-License-Identifier: Apache-2.0
// Key: what users may call a key, and how it becomes a Digest.
//
//   text      anything that converts to std::string_view: std::string, a literal, a string_view
//   integer   any integer type but bool and the character types; a signed value is extended to 64 bits
//   digest    a Digest, for callers that hash by themselves
//
// Text and integers are different keys: digest("7") is not digest(7). A filter remembers which of the two it was built
// from (KeyKind), so that a query of the other kind is noticed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "naysay/core/hash.hpp"

namespace naysay {

// What the keys of a filter were before they were digested. The values stand in files.
enum class KeyKind : std::uint32_t { unknown = 0, text = 1, integer = 2 };

// clang-format 14 cannot format concepts.
// clang-format off

template <class T>
concept TextKey = std::convertible_to<const T&, std::string_view> && !std::same_as<std::remove_cvref_t<T>, std::nullptr_t>;

template <class T>
concept IntegerKey = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t> && !std::same_as<T, wchar_t>;

template <class T>
concept DigestKey = std::same_as<T, Digest>;

template <class T>
concept Key = TextKey<std::remove_cvref_t<T>> || IntegerKey<std::remove_cvref_t<T>> || DigestKey<std::remove_cvref_t<T>>;

// A range of keys. A std::string is no such range: its elements are characters.
template <class R>
concept KeyRange = std::ranges::input_range<R> && Key<std::ranges::range_value_t<R>>;

// clang-format on

template <class T>
inline constexpr KeyKind kKeyKind = DigestKey<std::remove_cvref_t<T>>    ? KeyKind::unknown
                                    : IntegerKey<std::remove_cvref_t<T>> ? KeyKind::integer
                                                                         : KeyKind::text;

template <Key T>
Digest digest_of(const Hasher& hasher, const T& key) noexcept {
  if constexpr (DigestKey<std::remove_cvref_t<T>>)
    return key;
  else if constexpr (IntegerKey<std::remove_cvref_t<T>>)
    return hasher(static_cast<std::uint64_t>(key));
  else
    return hasher(std::string_view(key));
}

// Whether a filter built from keys of one kind may be queried with keys of the other. Digests fit everything.
constexpr bool kinds_fit(KeyKind built_from, KeyKind queried) noexcept {
  return built_from == queried || built_from == KeyKind::unknown || queried == KeyKind::unknown;
}

}  // namespace naysay
