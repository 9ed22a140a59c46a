// SPDX-License-Identifier: Apache-2.0
// naysay update --trace, --pin and --unpin, and the experiment on a made-up trace.
#include "parts/trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "naysay/naysay.hpp"
#include "parts/made_trace.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::json;

class TraceTool : public Tool {
 protected:
  static std::string key(int i) { return "key-" + std::to_string(i); }
  static std::string negative(int i) { return "negative-" + std::to_string(i); }
  void write_keys(const char* name, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += key(i) + "\n";
    write(name, text);
  }
  void write_negatives(const char* name, int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += negative(i) + "\t" + std::to_string(count - i) + "\n";
    write(name, text);
  }
  std::uint64_t accepted(const char* name, int negatives) const {
    const auto f = naysay::load(path(name));
    EXPECT_TRUE(f);
    std::uint64_t n = 0;
    for (int i = 0; i < negatives; ++i) n += f->may_contain(negative(i));
    return n;
  }
};

TEST_F(TraceTool, ReplaysInsertionsAndDeletionsAndShowsTheRatesOverTime) {
  write_keys("keys", 100);
  write_negatives("known", 4000);
  std::string trace;
  for (int i = 100; i < 2100; ++i) {
    trace += "I\t2020-01-" + std::to_string(i) + "\t" + key(i) + "\n";
    if (i % 2 == 0) trace += "D\t2020-01-" + std::to_string(i) + "\t" + key(i / 2) + "\n";
  }
  trace += "I\tend\t" + negative(7) + "\n";  // a known negative that becomes a key
  write("trace", trace);
  must("naysay build --keys keys --filter guarded --bits-per-key 12 --capacity 2000 -o set.nsy");
  const auto j = Json::parse(must("naysay update set.nsy --trace trace --negatives known --report-every 500 --json"));
  const Json& said = j["update"]["trace"];
  EXPECT_EQ(said["operations"], 3001);
  EXPECT_EQ(said["inserted"], 2001);
  EXPECT_EQ(said["erased"], 1000);
  ASSERT_EQ(said["rows"].size(), 8u) << "at the beginning, after every 500, and at the end";
  EXPECT_EQ(said["rows"][0]["operations"], 0);
  EXPECT_EQ(said["rows"][0]["keys"], 100);
  EXPECT_EQ(said["rows"][1]["time"], "2020-01-432");
  EXPECT_EQ(said["rows"][7]["operations"], 3001);
  EXPECT_EQ(said["rows"][7]["keys"], 1101);
  EXPECT_EQ(said["rows"][7]["negatives"], 3999) << "one of them is a key now";
  EXPECT_GT(said["rows"][7]["accepted"], 0);
  EXPECT_GT(said["rows"][7]["expected_fpr"], said["rows"][0]["expected_fpr"]);
  const auto f = naysay::load(path("set.nsy"));
  ASSERT_TRUE(f);
  for (int i = 1050; i < 2100; ++i) ASSERT_TRUE(f->may_contain(key(i))) << i;
  EXPECT_TRUE(f->may_contain(negative(7)));
  EXPECT_EQ(f->keys(), 1101u);
  // As text: a table.
  must("naysay build --keys keys --filter guarded --bits-per-key 12 --capacity 2000 -o set.nsy");
  const std::string text = must("naysay update set.nsy --trace trace --negatives known --report-every 1000 --learn");
  EXPECT_TRUE(sample::says(text, {"time", "operations", "strangers", "by cost", "evicted", "2001 inserted"})) << text;
  EXPECT_LE(accepted("set.nsy", 4000), 1u) << "what was accepted at the end was reported";
}

TEST_F(TraceTool, PinsAndUnpinsOnALiveFilter) {
  write_keys("keys", 100);
  write_negatives("known", 3000);
  std::string more, pins, some;
  for (int i = 100; i < 2000; ++i) more += key(i) + "\n";
  for (int i = 0; i < 3000; ++i) pins += negative(i) + "\n";
  for (int i = 0; i < 3000; i += 10) some += negative(i) + "\n";
  write("more", more);
  write("pins", pins);
  write("some", some + "never-pinned\n");
  must("naysay build --keys keys --filter guarded --bits-per-key 14 --capacity 2000 -o plain.nsy");
  must("cp plain.nsy set.nsy");
  must("naysay update plain.nsy --insert more");
  EXPECT_GT(accepted("plain.nsy", 3000), 0u) << "or nothing is shown";
  EXPECT_TRUE(sample::says(must("naysay update set.nsy --pin pins"), {"3000 pinned"}));
  must("naysay update set.nsy --insert more");
  EXPECT_EQ(accepted("set.nsy", 3000), 0u);
  EXPECT_TRUE(sample::says(must("naysay update set.nsy --unpin some"), {"300 unpinned", "1 not"}));
  EXPECT_TRUE(sample::says(must("naysay inspect set.nsy"), {"2700 negatives pinned"}));
}

TEST_F(TraceTool, PinsThroughTheFrontDoor) {
  const std::vector<std::string> keys = {"a", "b"};
  auto typed = naysay::build<GuardedCuckoo>(keys, {.bits_per_key = 24}, {.capacity = 1000});
  ASSERT_TRUE(typed);
  EXPECT_TRUE(typed->pin("c"));
  EXPECT_TRUE(typed->unpin("c"));
  EXPECT_EQ(typed->unpin("c"), Outcome::absent);
  auto any = naysay::build("guarded", keys, {}, {{"bits_per_key", 24}}, {.capacity = 1000});
  ASSERT_TRUE(any);
  EXPECT_TRUE(any->pin("c"));
  EXPECT_FALSE(any->may_contain("c"));
  ASSERT_TRUE(any->save(path("any.nsy")));
  auto mapped = naysay::open(path("any.nsy"));  // borrowed: it copies itself first
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(mapped->pin("d"));
  EXPECT_TRUE(mapped->unpin("c"));
  EXPECT_EQ(mapped->as<GuardedCuckoo>()->pinned(), 1u);
  auto bloom = naysay::build("bloom", keys);
  ASSERT_TRUE(bloom);
  EXPECT_EQ(bloom->pin("c"), Outcome::unsupported);
  EXPECT_EQ(bloom->unpin("c"), Outcome::unsupported);
}

TEST_F(TraceTool, RefusesWhatMakesNoSenseAndLeavesTheFilterAsItWas) {
  write_keys("keys", 100);
  must("naysay build --keys keys --filter guarded --bits-per-key 24 --capacity 200 -o set.nsy");
  must("naysay build --keys keys --filter bloom --bits-per-key 10 -o bloom.nsy");
  const std::string before = read("set.nsy");
  write("trace", "I\t1\tx\nX\t2\ty\n");
  refuses("naysay update set.nsy --trace trace", {"trace:2", "neither with I nor with D"});
  write("trace", "I 1 x\n");
  refuses("naysay update set.nsy --trace trace", {"trace:1", "two tabs"});
  write("trace", "I\t\tx\n");
  refuses("naysay update set.nsy --trace trace", {"trace:1", "no time"});
  write("trace", "I\t1\tx\nD\t1\t\n");
  refuses("naysay update set.nsy --trace trace", {"trace:2", "no key"});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "I\t1\t" + key(1000 + i) + "\n";
  write("trace", many);
  refuses("naysay update set.nsy --trace trace", {"room for 200 keys", "--overfill", "as it was"});
  write("pins", "x\n");
  refuses("naysay update bloom.nsy --pin pins", {"--pin", "bloom", "cannot pin"});
  refuses("naysay update bloom.nsy --trace trace", {"--trace", "bloom", "cannot erase"});
  refuses("naysay update set.nsy --pin pins --negatives keys", {"--negatives", "--trace"});
  refuses("naysay update set.nsy --trace trace --learn", {"--learn", "--negatives"});
  refuses("naysay update set.nsy --trace trace --report-every 0", {"--report-every"});
  EXPECT_EQ(read("set.nsy"), before);
}

TEST_F(TraceTool, RefusesToBuildPinnedNegativesThatTheCapacityCannotHold) {
  write_keys("keys", 500);
  write_negatives("known", 20'000);
  refuses(
      "naysay build --keys keys --negatives known --filter guarded --bits-per-key 11 --capacity 2000 "
      "--param pinned=true -o set.nsy",
      {"20000 pinned negatives", "2000 keys", "bits_per_key", "pinned=auto"});
  must("naysay build --keys keys --negatives known --filter guarded --bits-per-key 24 --capacity 2000 -o set.nsy");
  std::string more;
  for (int i = 500; i < 2000; ++i) more += key(i) + "\n";
  write("more", more);
  must("naysay update set.nsy --insert more");
  EXPECT_EQ(accepted("set.nsy", 20'000), 0u);
}

TEST_F(TraceTool, MeasuresFiltersOverAMadeUpTrace) {
  must("naysay bench churn-trace --size tiny --out results.jsonl");
  std::stringstream lines(read("results.jsonl"));
  std::map<std::string, Json> found;
  for (std::string line; std::getline(lines, line);) {
    const Json j = Json::parse(line);
    if (j.contains("series")) found[j["series"]] = j;
  }
  ASSERT_EQ(found.size(), 6u);
  for (const auto& [series, j] : found) {
    ASSERT_TRUE(j.contains("curve")) << j.dump();
    EXPECT_EQ(j["curve"].size(), 2u);
    EXPECT_EQ(j["values"]["inserts"], 2000);
    EXPECT_GT(j["values"]["erasures"], 1900);
  }
  EXPECT_LT(found["guarded, 16 bits"]["values"]["mean_wfpr"], 0.05);
  const std::string report = must("naysay report results.jsonl -o report.md && cat report.md");
  EXPECT_TRUE(sample::says(report, {"churn-trace", "guarded-growing, 16 bits in the end"}));
}

TEST(MadeTrace, HasTheShapeOfTheRealOne) {
  const cli::MadeTrace trace = cli::made_trace(227'000, 1);
  EXPECT_EQ(trace.inserts, 227'000u);
  EXPECT_NEAR(static_cast<double>(trace.erasures), 224'000, 1000);
  EXPECT_NEAR(static_cast<double>(trace.most), 22'000, 1500);
  std::vector<std::uint8_t> live(227'000, 0);
  double last = 0;
  for (const auto& s : trace.steps) {
    ASSERT_GE(s.time, last);
    ASSERT_EQ(live[s.key], s.insert ? 0 : 1);
    live[s.key] = s.insert;
    last = s.time;
  }
}

}  // namespace
}  // namespace naysay
