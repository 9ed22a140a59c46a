// SPDX-License-Identifier: Apache-2.0
// KeyFront: the calls that take keys, written once for Keyed<F> (keyed.hpp) and AnyFilter (any_filter.hpp).
//
//   text, integer or digest --hasher()--> Digest --> the filter
//
// A filter built from text and queried with an integer, or the other way round, breaks a stated requirement: the key
// would get another digest than it had in the build, and be denied. In a debug build that is an assertion. In a release
// build the query answers "maybe", and a change is refused with Outcome::wrong_kind.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include "naysay/core/hash.hpp"
#include "naysay/core/key.hpp"

namespace naysay {

// What a change of a filter came to. True if it was done.
class Outcome {
 public:
  enum Value : std::uint8_t {
    done,     // insert: the key is in. erase: it is out. adapt, pin: the negative is refused from now on
    no_room,  // insert: the filter is full, or cannot grow. adapt: the negative is not refused (yet). pin: it cannot be
              // held. Nothing else changed
    absent,   // erase: the filter denies the key. unpin: it was not pinned. Nothing has changed
    unsupported,  // filters of this type cannot do it. Nothing has changed
    no_memory,    // a mapped filter copies itself at its first change, and could not. Nothing has changed
    wrong_kind,   // text was given to a filter of integers, or an integer to one of text. Nothing has changed
    damaged,      // somebody overwrote the mapped file since it was opened. No change is possible
    no_key_file,  // adapt: it needs a file of its keys (AnyFilter::attach_key_file). Nothing has changed
  };

  constexpr Outcome(Value value) noexcept : value_(value) {}
  constexpr explicit operator bool() const noexcept { return value_ == done; }
  constexpr Value value() const noexcept { return value_; }
  friend constexpr bool operator==(Outcome, Outcome) noexcept = default;

 private:
  Value value_;
};

// How a filter digests integers, decided when it is made. Plain: with two summands, in a few instructions. Not plain: it
// hashes with a secret, or was built from text.
class IntegerWay {
 public:
  explicit IntegerWay(const Hasher& hasher = {}, KeyKind kind = KeyKind::unknown) noexcept
      : salts_(hasher.seed), is_plain_(hasher.id == HashId::xxh3 && kinds_fit(kind, KeyKind::integer)) {}

  bool is_plain() const noexcept { return is_plain_; }
  const IntegerSalts& salts() const noexcept { return salts_; }  // for queries, if is_plain()

 private:
  IntegerSalts salts_;
  bool is_plain_;
};

// Self has hasher(), key_kind(), reads_bytes(), query_integer(key), and by digest: query(d), query(d, bytes),
// query(digests, out), insert_digest(d), erase_digest(d), adapt_digest(d, cost), pin_digest(d), unpin_digest(d).
template <class Self>
class KeyFront {
 public:
  template <Key T>
  bool may_contain(const T& key) const noexcept {
    if constexpr (DigestKey<T>) {
      return self().query(key);
    } else if constexpr (IntegerKey<T>) {
      return self().query_integer(static_cast<std::uint64_t>(key));
    } else {
      if (!takes<T>()) return true;
      const std::string_view text(key);
      return self().query(self().hasher()(text), text);
    }
  }

  // For callers that have both. Requires that the digest is hasher()'s of the text.
  bool may_contain(Digest d, std::string_view text) const noexcept { return self().query(d, text); }

  // A batch: answers[i] becomes whether keys[i] may be in the set. Faster than one by one, because the cache misses of
  // a batch overlap. `answers` is a range of bool or of std::uint8_t, such as a std::vector<bool>, with at least as many
  // elements as `keys`.
  template <KeyRange Keys, std::ranges::forward_range Answers>
  void may_contain(Keys&& keys, Answers&& answers) const noexcept {
    using T = std::ranges::range_value_t<Keys>;
    auto answer = std::ranges::begin(answers);
    [[maybe_unused]] const auto end = std::ranges::end(answers);
    if (!takes<T>() || (TextKey<T> && self().reads_bytes())) {
      for (const auto& key : keys) {
        assert(answer != end);
        *answer++ = may_contain(key);
      }
      return;
    }
    std::array<Digest, kPiece> digests;
    std::array<std::uint8_t, kPiece> out;
    std::size_t held = 0;
    const auto flush = [&] {
      self().query(std::span<const Digest>(digests).first(held), out.data());
      for (std::size_t i = 0; i < held; ++i) {
        assert(answer != end);
        *answer++ = out[i] != 0;
      }
      held = 0;
    };
    for (const auto& key : keys) {
      digests[held++] = digest_of(self().hasher(), key);
      if (held == kPiece) flush();
    }
    flush();
  }
  // The same for digests; out[i] becomes 0 or 1. Requires keys.size() bytes at out.
  void may_contain(std::span<const Digest> keys, std::uint8_t* out) const noexcept { self().query(keys, out); }

  // Insert a key; erase one that is in the set; stop accepting a negative that was accepted, and that costs this much.
  // The contracts stand at the concepts of core/filter.hpp. What the type cannot do does not compile.
  template <Key T>
  Outcome insert(const T& key) noexcept {
    return takes<T>() ? self().insert_digest(digest_of(self().hasher(), key)) : Outcome::wrong_kind;
  }
  template <Key T>
  Outcome erase(const T& key) noexcept {
    return takes<T>() ? self().erase_digest(digest_of(self().hasher(), key)) : Outcome::wrong_kind;
  }
  template <Key T>
  Outcome adapt(const T& negative, float cost = 1) noexcept {
    return takes<T>() ? self().adapt_digest(digest_of(self().hasher(), negative), cost) : Outcome::wrong_kind;
  }
  // Pin a negative: refused, whatever is inserted, until it is inserted itself or unpinned.
  template <Key T>
  Outcome pin(const T& negative) noexcept {
    return takes<T>() ? self().pin_digest(digest_of(self().hasher(), negative)) : Outcome::wrong_kind;
  }
  template <Key T>
  Outcome unpin(const T& negative) noexcept {
    return takes<T>() ? self().unpin_digest(digest_of(self().hasher(), negative)) : Outcome::wrong_kind;
  }

 private:
  static constexpr std::size_t kPiece = 256;  // digests that are queried together: 4 KiB of stack

  friend Self;
  KeyFront() = default;
  const Self& self() const noexcept { return static_cast<const Self&>(*this); }
  Self& self() noexcept { return static_cast<Self&>(*this); }

  // For keys that are not plain (IntegerWay). Not inline, because it would make a loop of plain queries slower.
  [[gnu::noinline, gnu::cold, gnu::pure]] bool may_contain_integer(std::uint64_t key) const noexcept {
    return !takes<std::uint64_t>() || self().query(self().hasher()(key));
  }

  template <class T>
  bool takes() const noexcept {
    const bool fits = kinds_fit(self().key_kind(), kKeyKind<T>);
    assert(fits && "a filter of text is used with integers, or one of integers with text");
    return fits;
  }
};

}  // namespace naysay
