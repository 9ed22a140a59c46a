// SPDX-License-Identifier: Apache-2.0
// Signature: who made an update. SHA-256 and Ed25519 come from OpenSSL's libcrypto; nothing of it is in this header.
//
//   Signer    bytes --> Signature{algorithm, key id, bytes}        the publisher's, with a private key
//   Verifier  bytes, Signature --> Ok or an error                  the client's, with a public key
//
// Both are callbacks: a user with keys in a vault or on a card gives his own. read_sign_key and read_verify_key make them
// from files as `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write them (PEM).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naysay/core/export.hpp"
#include "naysay/core/result.hpp"

namespace naysay {

// A state of a list: the SHA-256 of a base's file, or of what an update adds to it (delta.hpp).
struct NAYSAY_EXPORT StateId {
  std::array<std::byte, 32> bytes = {};

  friend bool operator==(const StateId&, const StateId&) = default;
  std::string text() const;  // 64 hexadecimal digits
  static Result<StateId> parse(std::string_view text);
};
NAYSAY_EXPORT StateId sha256(std::span<const std::byte> bytes);

inline constexpr std::uint32_t kEd25519 = 1;

struct Signature {
  std::uint32_t algorithm = 0;
  std::uint64_t key = 0;  // which key: the first 8 bytes of the SHA-256 of the public key
  std::vector<std::byte> bytes = {};
};

struct Signer {
  std::uint32_t algorithm = 0;
  std::uint64_t key = 0;
  std::function<Result<std::vector<std::byte>>(std::span<const std::byte> message)> sign = {};

  explicit operator bool() const noexcept { return static_cast<bool>(sign); }
};
struct Verifier {
  // An error unless the signature is right for these bytes.
  std::function<Result<Ok>(std::span<const std::byte> message, const Signature& signature)> verify = {};

  explicit operator bool() const noexcept { return static_cast<bool>(verify); }
};

// From a file with an Ed25519 key in PEM.
NAYSAY_EXPORT Result<Signer> read_sign_key(const std::string& path);
NAYSAY_EXPORT Result<Verifier> read_verify_key(const std::string& path);

}  // namespace naysay
