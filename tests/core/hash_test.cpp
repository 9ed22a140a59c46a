// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/hash.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sample.hpp"

namespace naysay {
namespace {

std::string counting_bytes(std::size_t n) {
  std::string s(n, '\0');
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i & 255);
  return s;
}

// XXH3-128 takes another path at 0, 1-3, 4-8, 9-16, 17-128, 129-240 and from 241 bytes on; 1024 is one full stripe
// block and a bit more follows it.
struct Golden {
  std::size_t length;
  std::uint64_t seed;
  Digest digest;
};

TEST(Hash, DigestsBytesToTheGoldenValuesOfEveryLengthBranch) {
  const Golden golden[] = {
      {0, 0, {0x6001c324468d497fu, 0x99aa06d3014798d8u}},     {1, 0, {0xc44bdff4074eecdbu, 0xa6cd5e9392000f6au}},
      {3, 0, {0x5f4299fc161c9cbbu, 0xe3b55f57945a17cfu}},     {4, 0, {0xa6111d53e80a3db5u, 0xeb70bf5fc779e9e6u}},
      {8, 0, {0xcfd50c61c8bb98c1u, 0xe1e4432a62217fe4u}},     {9, 0, {0x907931979dca3746u, 0x16c769d83e4aebceu}},
      {16, 0, {0x842812cc870dcae2u, 0x72950631827607e2u}},    {17, 0, {0xc06e233df7729217u, 0x685bc458b37d057fu}},
      {128, 0, {0x05321a0b64d67b41u, 0x14792fc3af88dc6cu}},   {129, 0, {0xbc30b63382b09a3bu, 0xdd5e74ac6b45f54eu}},
      {240, 0, {0xc92b68e16f83bbb6u, 0x65b5be86da5540e7u}},   {241, 0, {0x02e8cd95421c6d02u, 0x1da1cb61bcb8a2a1u}},
      {1024, 0, {0xa870f92984398d22u, 0x83885e853bb6640cu}},  {2000, 0, {0x26af7994e0e20830u, 0xa13bfe33eb398cbdu}},
      {0, 42, {0x3c1d09e9fe249164u, 0x16c20acd33f7af2fu}},    {1, 42, {0x5cf10f10bf2dd245u, 0xea04d3fd8852dd2au}},
      {3, 42, {0x75881294bdbaf34cu, 0xbfa7eeaf8785c322u}},    {4, 42, {0xd876c6f1307e7b64u, 0x48a24076e64dae48u}},
      {8, 42, {0x11d820aa80c49954u, 0x724208a039d6b333u}},    {9, 42, {0x93f7f6ff021d1475u, 0x8fa44248294e1bc5u}},
      {16, 42, {0x8397ff66a715007fu, 0x6a60d699e874c218u}},   {17, 42, {0xff1759db8e15f1adu, 0xe218637beef5edb4u}},
      {128, 42, {0xcd7065b1aea2e4e9u, 0x2cfa5536407c26ceu}},  {129, 42, {0x40b91a40e61888b9u, 0x9e41bfeaf492d7e5u}},
      {240, 42, {0xba3788ebe65051f7u, 0x8e76dd8a173ddbc5u}},  {241, 42, {0x26e3d358d4e0a1d6u, 0xd591e680c65b77ffu}},
      {1024, 42, {0x2976c34b83200df6u, 0x8fc81e6f32d57360u}}, {2000, 42, {0xadc64f3d954c4b23u, 0xb05e03cd692c12dfu}},
  };
  for (const Golden& g : golden) {
    const Digest d = digest(counting_bytes(g.length), g.seed);
    EXPECT_EQ(d, g.digest) << "length " << g.length << " seed " << g.seed << std::hex << " {0x" << d.lo << "u, 0x"
                           << d.hi << "u}";
  }
}

TEST(Hash, DigestsIntegersToTheGoldenValues) {
  EXPECT_EQ(digest(std::uint64_t{0x0u}, 0), (Digest{0x0000000000000000u, 0xf8772bb7801d0fbdu}));
  EXPECT_EQ(digest(std::uint64_t{0x0u}, 7), (Digest{0x2c829abe1f4532e1u, 0x0041e0c81b1731f9u}));
  EXPECT_EQ(digest(std::uint64_t{0x1u}, 0), (Digest{0x5692161d100b05e5u, 0x8d390a0a9149e2ecu}));
  EXPECT_EQ(digest(std::uint64_t{0x1u}, 7), (Digest{0xe099ec6cd7363ca5u, 0x6bdec242e2c35049u}));
  EXPECT_EQ(digest(std::uint64_t{0xdeadbeefu}, 0), (Digest{0x4e062702ec929eeau, 0xcbb3908cc098aa19u}));
  EXPECT_EQ(digest(std::uint64_t{0xdeadbeefu}, 7), (Digest{0x5a2fdc2bf68cedb3u, 0x05bf7d0d43063a4du}));
  EXPECT_EQ(digest(std::uint64_t{0xffffffffffffffffu}, 0), (Digest{0xb4d055fcf2cbbd7bu, 0x97394a665e05b629u}));
  EXPECT_EQ(digest(std::uint64_t{0xffffffffffffffffu}, 7), (Digest{0xf14f2cf802083fa5u, 0xcdaeafae102d9a03u}));
}

// From the reference implementation's vectors: key 00 01 .. 0f, message 00 01 .. of the given length, 16-byte output.
TEST(Hash, SipHashMatchesItsReferenceVectors) {
  const SipKey key{0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
  EXPECT_EQ(siphash(counting_bytes(0), key), (Digest{0xe6a825ba047f81a3u, 0x930255c71472f66du}));
  EXPECT_EQ(siphash(counting_bytes(1), key), (Digest{0x44af996bd8c187dau, 0x45fc229b11597634u}));
  EXPECT_EQ(siphash(counting_bytes(7), key), (Digest{0x53c1dbd8beebf1a1u, 0x3982f01fa64ab8c0u}));
  EXPECT_EQ(siphash(counting_bytes(8), key), (Digest{0x61f55862baa9623bu, 0xb49714f364e2830fu}));
  EXPECT_EQ(siphash(counting_bytes(9), key), (Digest{0xabbad90a06994426u, 0xed716dbb028b7fc4u}));
  EXPECT_EQ(siphash(counting_bytes(15), key), (Digest{0x11a8b03399e99354u, 0xd9c3cf970fec087eu}));
  EXPECT_EQ(siphash(counting_bytes(16), key), (Digest{0xbb54b067caa4e26eu, 0x77052385bf1533fdu}));
  EXPECT_EQ(siphash(counting_bytes(63), key), (Digest{0x4a83502f77d15051u, 0x7cbd3f979a063e50u}));
}

TEST(Hash, AnIntegerUnderSipHashIsItsEightLittleEndianBytes) {
  const Hasher h{HashId::siphash, 0, {1, 2}};
  EXPECT_EQ(h(std::uint64_t{0x0807060504030201u}), h(std::string_view("\1\2\3\4\5\6\7\10", 8)));
}

TEST(Hash, TheFamilyHasItsGoldenValues) {
  EXPECT_EQ(nth_hash(digest(std::uint64_t{1}), 0), 0x25f9c97bdea8c67eu);
  EXPECT_EQ(nth_hash(digest(std::uint64_t{1}), 1), 0x5a92075f22239733u);
  EXPECT_EQ(nth_hash(digest(std::uint64_t{1}), 2), 0x556a9860dfdef601u);
  EXPECT_EQ(nth_hash(digest(std::uint64_t{1}), 31), 0x71b8ac2effd00108u);
}

// Counts how often two functions of the family send a key to the same of m places: 1 / m of the keys.
TEST(Hash, FunctionsOfTheFamilyMeetOnlyByChance) {
  constexpr std::uint64_t n = 200'000, m = 100;
  const auto keys = sample::numbers(0, n);
  for (std::uint64_t i = 0; i < 16; ++i)
    for (std::uint64_t j = i + 1; j < 16; ++j) {
      std::uint64_t same = 0;
      for (const Digest& d : keys) same += fast_range(nth_hash(d, i), m) == fast_range(nth_hash(d, j), m);
      ASSERT_TRUE(sample::rate_matches(same, n, 1.0 / m, 0)) << i << " and " << j;
    }
}

TEST(Hash, ThreeFunctionsOfTheFamilyAreNotInProgression) {
  constexpr std::uint64_t n = 500'000, m = 1 << 20;
  std::uint64_t even = 0;
  for (const Digest& d : sample::numbers(0, n)) {
    const std::uint64_t a = fast_range(nth_hash(d, 0), m), b = fast_range(nth_hash(d, 1), m),
                        c = fast_range(nth_hash(d, 2), m);
    even += ((b - a) - (c - b)) % m < 4;
  }
  EXPECT_LT(even, 20u);  // 2 are expected of unrelated functions, all of double hashing
}

TEST(Hash, FastRangeCoversItsRangeAndNothingElse) {
  std::vector<std::uint64_t> hits(7);
  for (const Digest& d : sample::numbers(0, 70'000)) ++hits.at(fast_range(d.lo, 7));
  for (std::uint64_t h : hits) EXPECT_TRUE(sample::rate_matches(h, 70'000, 1.0 / 7, 0));
  EXPECT_EQ(fast_range(UINT64_MAX, 7), 6u);
  EXPECT_EQ(fast_range(UINT64_MAX, 0), 0u);
}

TEST(Hash, AnIntegerIsNotAString) { EXPECT_NE(digest(std::uint64_t{7}), digest("7")); }

TEST(Hash, TheSeedChangesEveryDigest) {
  for (std::size_t n : {0, 3, 8, 16, 100, 200, 1000})
    EXPECT_NE(digest(counting_bytes(n), 1), digest(counting_bytes(n), 2));
  EXPECT_NE(digest(std::uint64_t{1}, 1), digest(std::uint64_t{1}, 2));
}

TEST(Route, GivesEveryPartItsShareAndIsPinned) {
  for (const std::uint64_t n : {1, 2, 3, 64, 1000}) {
    std::vector<std::uint64_t> counts(n, 0);
    for (std::uint64_t i = 0; i < 1000 * n; ++i) ++counts.at(route(digest(i), n));
    for (const std::uint64_t c : counts) EXPECT_NEAR(static_cast<double>(c), 1000, 6 * std::sqrt(1000.0)) << n;
  }
  // Data is laid out by it: it never changes.
  EXPECT_EQ(route(digest(std::uint64_t{7}), 1 << 20), 1001403u);
  EXPECT_EQ(route(digest("example.org"), 1 << 20), 236318u);
}

}  // namespace
}  // namespace naysay
