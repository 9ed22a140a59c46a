// SPDX-License-Identifier: Apache-2.0
#include "naysay/core/archive.hpp"

#include <gtest/gtest.h>

#include <array>

#include "naysay/core/bits.hpp"
#include "says.hpp"

namespace naysay {

enum class Mood : std::uint8_t { calm, eager };
std::span<const std::string_view> enum_names(Mood) {
  static constexpr std::array<std::string_view, 2> names = {"calm", "eager"};
  return names;
}

namespace {

struct Inner {
  std::uint16_t a = 3;
  Array<std::uint32_t> list;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("a", self.a);
    visit("list", self.list);
  }
};

struct Outer {
  double x = 1.5;
  bool flag = true;
  Mood mood = Mood::eager;
  Inner inner;
  std::vector<Inner> many;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("x", self.x);
    visit("flag", self.flag);
    visit("mood", self.mood);
    visit("inner", self.inner);
    visit("many", self.many);
  }
};

Outer example() {
  Outer o;
  o.inner.list = Array<std::uint32_t>(5);
  o.inner.list.at_mut(4) = 9;
  o.many.resize(2);
  o.many[1].list = Array<std::uint32_t>(1);
  return o;
}

std::vector<std::byte> written(const Outer& o, std::size_t alignment) {
  std::vector<std::byte> bytes;
  FieldWriter writer(bytes, alignment);
  Outer::fields(o, writer);
  return bytes;
}

TEST(Archive, ReadsBackWhatItWroteCopiedOrBorrowed) {
  for (std::size_t alignment : {0, 64})
    for (auto arrays : {FieldReader::Arrays::copy, FieldReader::Arrays::borrow}) {
      const auto bytes = written(example(), alignment);
      Outer o;
      FieldReader reader(bytes, 0, alignment, arrays);
      Outer::fields(o, reader);
      ASSERT_TRUE(reader.ok()) << reader.error();
      EXPECT_EQ(reader.left(), 0u);
      EXPECT_EQ(o.inner.list[4], 9u);
      EXPECT_EQ(o.inner.list.owned(), arrays == FieldReader::Arrays::copy);
      EXPECT_EQ(written(o, alignment), bytes);
      FieldOwner owner;
      Outer::fields(o, owner);
      EXPECT_TRUE(o.inner.list.owned() && o.many[1].list.owned());
    }
}

TEST(Archive, NamesTheFieldThatDoesNotFit) {
  const auto bytes = written(example(), 0);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Outer o;
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    FieldReader reader(cut, 0, 0, FieldReader::Arrays::copy);
    Outer::fields(o, reader);
    ASSERT_FALSE(reader.ok()) << n;
    ASSERT_NE(reader.error().find("are left"), std::string::npos) << reader.error();
  }
}

TEST(Archive, RefusesALengthThatLiesBeforeItAllocates) {
  Inner inner;
  std::vector<std::byte> bytes(2 + 8 + 6);  // a, the length, a few bytes
  const std::uint64_t lie = UINT64_MAX / 2;
  std::memcpy(bytes.data() + 2, &lie, 8);
  FieldReader reader(bytes, 0, 0, FieldReader::Arrays::copy);
  Inner::fields(inner, reader);
  EXPECT_FALSE(reader.ok());
  EXPECT_NE(reader.error().find("field 'list' needs"), std::string::npos) << reader.error();
}

TEST(Archive, RefusesAnEnumAndABoolThatAreNone) {
  for (std::size_t at : {8, 9}) {  // flag, mood
    auto bytes = written(example(), 0);
    bytes[at] = std::byte{2};
    Outer o;
    FieldReader reader(bytes, 0, 0, FieldReader::Arrays::copy);
    Outer::fields(o, reader);
    EXPECT_FALSE(reader.ok()) << at;
  }
}

struct Settings {
  double bits_per_key = 8;
  std::uint32_t k = 0;
  Mood mood = Mood::calm;
  bool loud = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit("bits_per_key", self.bits_per_key);
    visit("k", self.k);
    visit("mood", self.mood);
    visit("loud", self.loud);
  }
};

TEST(Archive, ParametersComeBackFromTheirText) {
  Settings s{12.25, 7, Mood::eager, true}, t;
  ASSERT_TRUE(params_from_text("who", params_to_text(s), t));
  EXPECT_EQ(t.bits_per_key, 12.25);
  EXPECT_EQ(t.k, 7u);
  EXPECT_EQ(t.mood, Mood::eager);
  EXPECT_TRUE(t.loud);
}

TEST(Archive, RoundsTheNumbersOfMessages) {
  EXPECT_EQ(rounded_text(4.2105263157894735), "4.211");
  EXPECT_EQ(rounded_text(10), "10");
  EXPECT_EQ(rounded_text(0.000123456), "0.0001235");
  EXPECT_EQ(rounded_text(-3.14159), "-3.142");
  EXPECT_EQ(rounded_up_text(4.2101), "4.211") << "4.21 would be too little";
  EXPECT_EQ(rounded_up_text(9.99901), "10");
  EXPECT_EQ(rounded_up_text(1.5), "1.5");
  EXPECT_EQ(rounded_up_text(0.00012341), "0.0001235");
}

TEST(Archive, SaysWhatIsWrongWithAParameterAndWhatWouldBeRight) {
  const struct {
    Param param;
    std::vector<std::string_view> words;
  } cases[] = {
      {{"kk", "1"}, {"who", "'kk'", "bits_per_key", "k", "mood", "loud"}},
      {{"k", "-1"}, {"who", "k", "'-1'", "whole number", "0"}},
      {{"k", "3x"}, {"who", "k", "'3x'", "whole number"}},
      {{"k", ""}, {"who", "k", "''", "whole number"}},
      {{"bits_per_key", "nan"}, {"who", "bits_per_key", "'nan'", "number"}},
      {{"bits_per_key", "inf"}, {"who", "bits_per_key", "'inf'", "number"}},
      {{"mood", "sad"}, {"who", "mood", "'sad'", "calm", "eager"}},
      {{"loud", "yes"}, {"who", "loud", "'yes'", "true", "false"}},
  };
  for (const auto& c : cases) {
    Settings s;
    EXPECT_TRUE(sample::refused(params_from_text("who", std::span(&c.param, 1), s), Errc::invalid_argument, c.words));
  }
}

TEST(Rounded, HasAtMostFourDigits) {
  EXPECT_EQ(rounded_text(4.2105263157894735), "4.211");
  EXPECT_EQ(rounded_text(10), "10");
  EXPECT_EQ(rounded_text(0.00012344), "0.0001234");
  EXPECT_EQ(rounded_text(1435527.3), "1435527");
}

TEST(Rounded, NeverRoundsANeedDown) {
  for (const double need : {4.2101, 4.2105263157894735, 0.98765432, 12.341, 9999.2}) {
    EXPECT_GE(std::stod(rounded_up_text(need)), need);
    EXPECT_LE(std::stod(rounded_up_text(need)), need * 1.001);
  }
  EXPECT_EQ(rounded_up_text(4.5), "4.5");
  EXPECT_EQ(rounded_up_text(4.2101), "4.211");
}

}  // namespace
}  // namespace naysay
