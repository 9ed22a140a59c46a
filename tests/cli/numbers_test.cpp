// SPDX-License-Identifier: Apache-2.0
// Every number that a user gives, on the command line and in the library, is held to its range.
#include <limits>

#include "naysay/any_filter.hpp"
#include "parts/command_line.hpp"
#include "parts/failure.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Numbers = Tool;

constexpr const char* kWord = "18446744073709551615";

TEST_F(Numbers, AreRefusedOutsideTheirRangeWithTheRangeInTheMessage) {
  write("keys", "a\nb\n");
  struct Case {
    const char *line, *option, *low, *high;
    std::vector<std::string> bad;
  };
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 10 -o set.nsy ",
                    compare = "naysay compare --keys keys --negatives keys --bits-per-key 10 --filters bloom ",
                    generate = "naysay generate urls --count 1 ", observe = "naysay observe keys ",
                    bench = "naysay bench --list ";
  const Case cases[] = {
      {build.c_str(), "--capacity", "0", "281474976710656", {"-1", "281474976710657", "1e3", "2x", "''"}},
      {build.c_str(), "--seed", "0", kWord, {"-1", "18446744073709551616", "0x10"}},
      {build.c_str(), "--threads", "0", "4096", {"-1", "4097", "4294967297", "99999999999999999999"}},
      {build.c_str(), "--stranger-share", "0", "1", {"-0.1", "1.1", "nan", "inf", "1e999"}},
      {compare.c_str(), "--seed", "0", kWord, {"-1"}},
      {compare.c_str(), "--threads", "0", "4096", {"-1", "5000"}},
      {compare.c_str(), "--sweep", "0", "4096", {"-1", "0", "4,4097", "nan"}},
      {"naysay generate urls ", "--count", "0", "1000000000000", {"-1", "1000000000001"}},
      {generate.c_str(), "--first", "0", kWord, {"-1", "18446744073709551616"}},
      {generate.c_str(), "--seed", "0", kWord, {"-1"}},
      {generate.c_str(), "--zipf", "0", "100", {"-1", "101", "nan", "inf"}},
      {observe.c_str(), "--keep", "1", "1000000000", {"-1", "0", "1000000001"}},
      {observe.c_str(), "--top", "0", kWord, {"-1"}},
      {observe.c_str(), "--half-life", "0", "1000000000000000000", {"-1", "nan", "inf"}},
      {bench.c_str(), "--seed", "0", kWord, {"-1"}},
  };
  for (const Case& c : cases)
    for (const std::string& bad : c.bad) {
      const std::string_view shown = bad == "''" ? "''" : std::string_view(bad).substr(bad.find(',') + 1);
      refuses(
          std::string(c.line) + c.option + " " + bad,
          {c.option, shown, c.low, std::string_view(c.high).substr(0, 19) == "1000000000000000000" ? "1e+18" : c.high});
    }
  for (const char* bad : {"-1", "0", "4097", "1e999", "nan"})
    refuses(std::string("naysay build --keys keys -o set.nsy --bits-per-key ") + bad, {"--bits-per-key", bad, "4096"});
  for (const char* bad : {"-1MB", "0", "1e18", "-0.5"})
    refuses(std::string("naysay build --keys keys -o set.nsy --bytes ") + bad, {"--bytes", bad, "1", "1e18"});
  for (const char* bad : {"-1", "0", "1", "2", "nan"})
    refuses(std::string("naysay build --keys keys -o set.nsy --fpr ") + bad, {"--fpr", bad, "0", "1"});
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(Numbers, OfARangeOfKeysDoNotPassTheLastOne) {
  EXPECT_NE(must("naysay generate integers --count 1 --first 18446744073709551615"), "");
  refuses("naysay generate integers --count 2 --first 18446744073709551615",
          {"--first", "18446744073709551615", "--count 2", "18446744073709551614"});
}

TEST_F(Numbers, AtTheEndsOfTheirRangesAreTaken) {
  write("keys", "a\nb\n");
  must("naysay build --keys keys --filter bloom --bits-per-key 4096 -o set.nsy --seed 18446744073709551615");
  must("naysay build --keys keys --filter bloom --bits-per-key 10 --capacity 0 --stranger-share 1 --seed 0 -o set.nsy");
}

TEST_F(Numbers, OfParametersHaveTheirRangeInTheMessage) {
  write("keys", "a\n");
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 10 -o set.nsy --param ";
  refuses(build + "k=-1", {"bloom", "k", "'-1'", "from 0 to 4294967295"});
  refuses(build + "k=4294967296", {"bloom", "k", "'4294967296'", "from 0 to 4294967295"});
}

TEST(NeedNumber, SaysWhatIsRight) {
  const auto refusal = [](const char* text, cli::NumberRange<double> range) -> std::string {
    try {
      (void)cli::need_number<double>("--x", text, range);
    } catch (const cli::Failure& e) {
      return e.message;
    }
    return "";
  };
  EXPECT_EQ(refusal("3", {0, 4}), "");
  EXPECT_EQ(refusal("0", {0, 4}), "");
  EXPECT_EQ(refusal("0", {0, 4, true}), "--x is '0'; it must be a number above 0 and at most 4");
  EXPECT_EQ(refusal("5", {0, 4}), "--x is '5'; it must be a number from 0 to 4");
}

// ---- the library ----

TEST(BuildNumbers, AreCheckedByTheLibraryToo) {
  const std::vector<Digest> keys = {digest(std::uint64_t{1})};
  const Workload w{.keys = keys};
  for (const FilterType& t : filter_types()) {
    const auto build = [&](double bits, BuildOptions options) {
      return AnyFilter::build(t.name, w, {{"bits_per_key", bits}}, options);
    };
    for (const std::uint64_t capacity : {kMaxRoom + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}})
      EXPECT_TRUE(sample::refused(build(16, {.capacity = capacity}), Errc::invalid_argument,
                                  {t.name, std::to_string(capacity), "281474976710656"}));
    EXPECT_TRUE(sample::refused(build(4096, {.capacity = kMaxRoom}), Errc::out_of_budget, {t.name, "281474976710656"}));
    EXPECT_TRUE(sample::refused(build(16, {.threads = ~0u}), Errc::invalid_argument, {t.name, "threads", "4096"}));
    for (const double bits : {-1.0, 0.0, 4097.0, 1e300})
      EXPECT_TRUE(sample::refused(build(bits, {}), Errc::invalid_argument, {t.name, "bits_per_key", "0", "4096"}));
  }
}

TEST(BudgetBits, NeverBecomeFewBecauseTheyAreTooMany) {
  const std::uint64_t most = std::uint64_t{1} << 62;
  EXPECT_EQ(budget_bits(1e300, 1000), most);
  EXPECT_EQ(budget_bits(4096, ~std::uint64_t{0}), most);
  EXPECT_EQ(budget_bits(std::numeric_limits<double>::infinity(), 1), most);
  EXPECT_EQ(budget_bits(10, 1000), 10'000u);
  EXPECT_EQ(budget_bits(-10, 1000), 64u);
  EXPECT_EQ(budget_bits(10, 0), 64u);
}

}  // namespace
}  // namespace naysay
