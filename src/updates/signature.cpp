// SPDX-License-Identifier: Apache-2.0
#include "naysay/updates/signature.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <cstring>
#include <memory>

#include "naysay/core/files.hpp"

namespace naysay {

namespace {

using PrivateKey = std::shared_ptr<EVP_PKEY>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// PEM that `read` understands, and that holds an Ed25519 key.
template <class Read>
Result<PrivateKey> read_key(const std::string& path, const char* what, Read read) {
  NAYSAY_TRY(const files::Mapping file, files::map(path));
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(file.bytes.data(), static_cast<int>(std::min<std::size_t>(file.bytes.size(), 1 << 16))),
      BIO_free);
  const auto no_password = [](char*, int, int, void*) { return 0; };
  PrivateKey key(bio ? read(bio.get(), no_password) : nullptr, EVP_PKEY_free);
  if (!key || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519)
    return Error{Errc::corrupt, path + ": not " + what + "; it must be an Ed25519 key in PEM, as openssl writes it"};
  return key;
}

Result<std::uint64_t> id_of(const std::string& path, EVP_PKEY* key) {
  std::array<unsigned char, 32> bytes;
  std::size_t size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1 || size != bytes.size())
    return Error{Errc::corrupt, path + ": the key has no public half"};
  const StateId hash = sha256(std::as_bytes(std::span(bytes)));
  std::uint64_t id = 0;
  std::memcpy(&id, hash.bytes.data(), sizeof id);
  return id;
}

}  // namespace

std::string StateId::text() const {
  std::string out;
  for (std::byte b : bytes)
    for (unsigned digit : {static_cast<unsigned>(b) >> 4, static_cast<unsigned>(b) & 15})
      out.push_back("0123456789abcdef"[digit]);
  return out;
}

Result<StateId> StateId::parse(std::string_view text) {
  StateId id;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  bool good = text.size() == 2 * id.bytes.size();
  for (std::size_t i = 0; good && i < id.bytes.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) id.bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  if (!good)
    return Error{Errc::corrupt,
                 "'" + std::string(text.substr(0, 80)) + "' is no state; it must be 64 hexadecimal digits"};
  return id;
}

StateId sha256(std::span<const std::byte> bytes) {
  StateId id;
  SHA256(raw(bytes), bytes.size(), reinterpret_cast<unsigned char*>(id.bytes.data()));
  return id;
}

Result<Signer> read_sign_key(const std::string& path) {
  NAYSAY_TRY(const PrivateKey key, read_key(path, "a private key", [](BIO* bio, pem_password_cb* password) {
               return PEM_read_bio_PrivateKey(bio, nullptr, password, nullptr);
             }));
  NAYSAY_TRY(const std::uint64_t id, id_of(path, key.get()));
  return Signer{kEd25519, id, [key, path](std::span<const std::byte> message) -> Result<std::vector<std::byte>> {
                  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
                  std::vector<std::byte> out(64);
                  std::size_t size = out.size();
                  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
                      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, raw(message),
                                     message.size()) != 1 ||
                      size != out.size())
                    return Error{Errc::io, path + ": cannot sign with this key"};
                  return out;
                }};
}

Result<Verifier> read_verify_key(const std::string& path) {
  NAYSAY_TRY(const PrivateKey key, read_key(path, "a public key", [](BIO* bio, pem_password_cb* password) {
               return PEM_read_bio_PUBKEY(bio, nullptr, password, nullptr);
             }));
  NAYSAY_TRY(const std::uint64_t id, id_of(path, key.get()));
  return Verifier{[key, id, path](std::span<const std::byte> message, const Signature& signature) -> Result<Ok> {
    if (signature.algorithm != kEd25519)
      return Error{Errc::unsupported, "the signature has algorithm " + std::to_string(signature.algorithm) +
                                          "; this naysay knows 1, Ed25519"};
    if (signature.key != id) return Error{Errc::corrupt, "it is signed with another key than that of " + path};
    const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (!context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
        EVP_DigestVerify(context.get(), raw(signature.bytes), signature.bytes.size(), raw(message), message.size()) !=
            1)
      return Error{Errc::corrupt, "the signature is wrong; it was changed or forged"};
    return Ok{};
  }};
}

}  // namespace naysay
