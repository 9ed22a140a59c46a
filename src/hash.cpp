// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/hash.hpp"

#include <bit>
#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace naysay {

Digest digest(std::string_view key, std::uint64_t seed) noexcept {
  const XXH128_hash_t h = XXH3_128bits_withSeed(key.data(), key.size(), seed);
  return {h.low64, h.high64};
}

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

namespace {
XXH3_state_t* xxh3(std::byte* state) noexcept { return reinterpret_cast<XXH3_state_t*>(state); }
}  // namespace

Checksum::Checksum(std::uint64_t seed) noexcept {
  static_assert(sizeof(XXH3_state_t) <= kStateBytes && alignof(XXH3_state_t) <= 64);
  std::memset(new (state_) XXH3_state_t, 0, sizeof(XXH3_state_t));
  XXH3_64bits_reset_withSeed(xxh3(state_), seed);
}
void Checksum::add(std::span<const std::byte> bytes) noexcept {
  XXH3_64bits_update(xxh3(state_), bytes.data(), bytes.size());
}
std::uint64_t Checksum::value() const noexcept {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_));
}

namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
    v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
    v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  }
  std::uint64_t squeeze() noexcept {
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Digest siphash(std::string_view key, SipKey secret) noexcept {
  // The four constants spell "somepseudorandomlygeneratedbytes"; 0xee and 0xdd mark the 128-bit variant
  // (Aumasson and Bernstein, 2012, and their reference vectors).
  SipState s{secret.lo ^ 0x736f6d6570736575u, secret.hi ^ 0x646f72616e646f6du ^ 0xee, secret.lo ^ 0x6c7967656e657261u,
             secret.hi ^ 0x7465646279746573u};
  std::size_t i = 0;
  for (; i + 8 <= key.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data() + i, 8);
    s.absorb(word);
  }
  std::uint64_t last = static_cast<std::uint64_t>(key.size()) << 56;
  if (i < key.size()) {
    std::uint64_t tail = 0;
    std::memcpy(&tail, key.data() + i, key.size() - i);
    last |= tail;
  }
  s.absorb(last);
  s.v2 ^= 0xee;
  const std::uint64_t lo = s.squeeze();
  s.v1 ^= 0xdd;
  return {lo, s.squeeze()};
}

Digest Hasher::siphash_integer(std::uint64_t key) const noexcept {
  char bytes[8];
  std::memcpy(bytes, &key, 8);
  return siphash({bytes, 8}, secret);
}

}  // namespace naysay
