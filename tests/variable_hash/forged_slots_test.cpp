// SPDX-License-Identifier: Apache-2.0
// A file of keys whose checksums were put right after somebody changed it: open() finds out by the keys themselves, and
// no key is ever denied.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "naysay/any_filter.hpp"
#include "naysay/variable_hash/adaptive_variable_hash.hpp"
#include "sample.hpp"

namespace naysay {
namespace {

namespace family = variable_hash::detail::family;

// As in src/slot_file.cpp.
struct Entry {
  std::uint64_t slot, function, number, x, before, check;
};
constexpr std::size_t kHeader = 48, kIdentityAt = 16, kKeysAt = 32, kChecksumAt = 40;

class ForgedSlots : public ::testing::Test {
 protected:
  ForgedSlots() : path_(::testing::TempDir() + "naysay_forged_" + std::to_string(::getpid())) {
    filter_ = sample::must(VariableHash::build({.keys = keys_}, {.bits_per_key = 8, .effort = Effort::fast}));
    const auto made = SlotFile::create(path_, filter_, keys_);
    EXPECT_TRUE(made) << made.error().message;
    std::ifstream in(path_, std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
    std::memcpy(&identity_, whole_.data() + kIdentityAt, 8);
  }
  ~ForgedSlots() override { ::unlink(path_.c_str()); }

  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  template <class T>
  static std::uint64_t sum(const T& head, std::size_t bytes, std::uint64_t seed) {
    return checksum({reinterpret_cast<const std::byte*>(&head), bytes}, seed);
  }
  // The file with one record, its check put right.
  std::string with_record(std::uint64_t slot, std::uint64_t function, std::uint64_t number) const {
    Entry e{slot, function, number, 1, 0, 0};
    e.check = sum(e, offsetof(Entry, check), identity_ ^ mix64(1));
    return whole_ + std::string(reinterpret_cast<const char*>(&e), sizeof e);
  }
  // Refused; and if it was not, which key is denied.
  void expect_refused(const char* what) {
    const auto f = AdaptiveVariableHash::open(path_, filter_);
    if (f)
      for (const Digest& d : keys_) EXPECT_TRUE(f->may_contain(d)) << what << ": a key is denied";
    EXPECT_TRUE(sample::refused(f, Errc::corrupt, {path_})) << what;
  }

  const std::vector<Digest> keys_ = sample::numbers(0, 2000);
  VariableHash filter_;
  std::string path_, whole_;
  std::uint64_t identity_ = 0;
};

TEST_F(ForgedSlots, WithAFunctionThatAKeyDoesNotPassAreRefused) {
  const Digest key = keys_[0];
  const std::uint64_t slot = filter_.slot_of(key), x = key.lo + filter_.seed();
  int forged = 0;
  for (std::uint64_t number = 1; number <= low_mask(std::min(filter_.function_bits(), 20u)) && forged < 5; ++number) {
    if (family::accepts(number, family::pick_word(x, 0), family::mask_word(x))) continue;
    const std::uint64_t old = filter_.function(slot, 0);
    if (old != 0 && family::place(number) <= family::place(old)) continue;
    ++forged;
    write(with_record(slot, 0, number));
    expect_refused("a function");
  }
  EXPECT_EQ(forged, 5);
}

TEST_F(ForgedSlots, WithAFunctionTooWideForItsPlaceAreRefused) {
  const std::uint64_t slot = filter_.slot_of(keys_[0]);
  write(with_record(slot, 0, ~std::uint64_t{0} << filter_.function_bits() | 0xff));
  expect_refused("bits of the next function");
  write(with_record(slot, 1000, 1));
  expect_refused("a function that there is not");
}

TEST_F(ForgedSlots, WithOtherKeysAreRefused) {
  const std::uint64_t slots = filter_.slots();
  const std::size_t body = kHeader + 8 * (slots + 1);
  std::string bytes = whole_;
  const auto word = [&](std::size_t at) {
    std::uint64_t v;
    std::memcpy(&v, bytes.data() + at, 8);
    return v;
  };
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const std::uint64_t first = word(kHeader + 8 * slot), last = word(kHeader + 8 * (slot + 1));
    std::vector<std::uint64_t> xs;
    for (std::uint64_t i = first + 1; i < last; ++i) xs.push_back(mix64(slot * 1000 + i));
    const std::uint64_t check = checksum(std::as_bytes(std::span(xs)), identity_ + slot * 0x9e3779b97f4a7c15u);
    std::memcpy(bytes.data() + body + 8 * first, &check, 8);
    if (!xs.empty()) std::memcpy(bytes.data() + body + 8 * (first + 1), xs.data(), 8 * xs.size());
  }
  write(bytes);
  expect_refused("other keys");
}

TEST_F(ForgedSlots, WithFewerKeysThanTheFilterAreRefused) {
  const auto any = sample::must(AnyFilter::build("variable-hash", {.keys = keys_}, {{"bits_per_key", 8}}));
  const auto fewer = std::span(keys_).first(keys_.size() - 7);
  ASSERT_TRUE(SlotFile::create(path_, *any.as<VariableHash>(), fewer));
  AnyFilter f = sample::must(any.clone());
  EXPECT_TRUE(sample::refused(f.attach_key_file(path_), Errc::corrupt, {path_, "1993", "2000"}));
  EXPECT_FALSE(f.adapts());
  EXPECT_EQ(f.to_bytes(), any.to_bytes());
  std::uint64_t keys = keys_.size() - 1;  // the header says fewer than its slots hold
  std::string bytes = whole_;
  std::memcpy(bytes.data() + kKeysAt, &keys, 8);
  const std::uint64_t check = checksum(std::as_bytes(std::span(bytes)).first(kChecksumAt), 0);
  std::memcpy(bytes.data() + kChecksumAt, &check, 8);
  write(bytes);
  EXPECT_TRUE(sample::refused(AdaptiveVariableHash::open(path_, filter_), Errc::corrupt, {path_, "1999"}));
}

}  // namespace
}  // namespace naysay
