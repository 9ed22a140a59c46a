// SPDX-License-Identifier: Apache-2.0
// naysay update: no key is lost when several run at a time, and none is denied because of what was given by mistake.
#include <fcntl.h>
#include <sys/file.h>

#include <nlohmann/json.hpp>

#include "naysay/any_filter.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using Json = nlohmann::json;

class UpdateTool : public Tool {
 protected:
  std::size_t lines(std::string_view name) const {
    const std::string text = read(name);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  // The keys of `file` that the filter denies.
  int denied(const std::string& filter, const std::string& file) const {
    return std::stoi(shell("naysay query " + filter + " " + file + " --invert --count").out);
  }
  // Refused, and the filter's file is as it was.
  void changes_nothing(const std::string& filter, const std::string& command,
                       const std::vector<std::string_view>& words) const {
    const std::string before = read(filter);
    const std::size_t there = files();
    refuses(command, words);
    EXPECT_EQ(read(filter), before) << command;
    EXPECT_EQ(files(), there) << command;
  }
};

// ---- several at a time ----------------------------------------------------------------------------------------------

TEST_F(UpdateTool, KeepsEveryKeyOfFourProcessesThatInsertAtATime) {
  must(
      "naysay generate urls --count 100 -o keys && naysay generate urls --count 2400 --first 1000 -o more && "
      "split -n r/60 -a 2 more part.");
  must("naysay build --keys keys --filter bloom --bits-per-key 16 --capacity 2500 -o set.nsy");
  must(
      "set -- part.*\n"
      "for p in 0 1 2 3; do\n"
      "  ( i=0; for f in \"$@\"; do [ $((i % 4)) = $p ] && { naysay update set.nsy --insert $f --wait 600 || "
      "echo $f >> failed; }; i=$((i + 1)); done ) &\n"
      "done\n"
      "wait; [ ! -e failed ]");
  EXPECT_EQ(denied("set.nsy", "more"), 0) << "inserts that were reported as done were lost";
  EXPECT_EQ(denied("set.nsy", "keys"), 0);
  EXPECT_EQ(Json::parse(must("naysay inspect set.nsy --json"))["keys"], 2500);
}

TEST_F(UpdateTool, MergesAFilterThatWasBuiltAlike) {
  must("naysay generate urls --count 600 -o a && naysay generate urls --count 700 --first 5000 -o b");
  const std::string build = "naysay build --filter guarded-growing --bits-per-key 20 --capacity 1000 --keys ";
  must(build + "a -o a.nsy && " + build + "b -o b.nsy");
  EXPECT_TRUE(sample::says(must("naysay update a.nsy --merge b.nsy"), {"700 keys of b.nsy merged"}));
  EXPECT_EQ(denied("a.nsy", "a") + denied("a.nsy", "b"), 0);
  EXPECT_EQ(Json::parse(must("naysay inspect a.nsy --json"))["keys"], 1300);
  must("naysay build --filter guarded-growing --bits-per-key 28 --capacity 1000 --keys b -o other.nsy");
  changes_nothing("a.nsy", "naysay update a.nsy --merge other.nsy", {"other.nsy", "same bits_per_key", "as it was"});
  must("naysay build --filter bloom --bits-per-key 10 --keys b -o bloom.nsy");
  changes_nothing("bloom.nsy", "naysay update bloom.nsy --merge a.nsy", {"--merge", "bloom cannot be merged"});
  changes_nothing("a.nsy", "naysay update a.nsy --merge a.nsy", {"--merge", "same file"});
}

TEST_F(UpdateTool, NamesTheFileThatAnotherProcessIsChanging) {
  must(
      "naysay generate urls --count 100 -o keys && naysay generate urls --count 20 --first 1000 -o more && "
      "naysay build --keys keys --filter guarded --bits-per-key 16 --capacity 200 -o set.nsy && cp set.nsy copy.nsy");
  const int held = ::open(path("set.nsy").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  changes_nothing("set.nsy", "naysay update set.nsy --insert more --wait 0", {"set.nsy", "another", "--wait"});
  changes_nothing("set.nsy", "naysay update set.nsy --insert more --wait 0.05", {"set.nsy", "another", "0.05 s"});
  changes_nothing("set.nsy", "naysay update copy.nsy --insert more --wait 0 -o set.nsy", {"set.nsy", "another"});
  changes_nothing("set.nsy", "naysay build --keys keys --filter bloom --bits-per-key 9 --wait 0 -o set.nsy",
                  {"set.nsy", "another"});
  changes_nothing("set.nsy", "naysay observe more --adapt set.nsy --wait 0", {"set.nsy", "another"});
  must("naysay query set.nsy keys --count && naysay update set.nsy --insert more --wait 0 -o new.nsy || true");
  ::close(held);
  must("naysay update set.nsy --insert more --wait 0");
  EXPECT_EQ(denied("set.nsy", "more"), 0);
  refuses("naysay update set.nsy --insert more --wait -1", {"--wait", "-1", "0"});
}

// ---- warm -----------------------------------------------------------------------------------------------------------

class WarmTool : public UpdateTool {
 protected:
  void SetUp() override {
    UpdateTool::SetUp();
    must(
        "naysay generate urls --count 3000 -o keys && naysay generate urls --count 60000 --first 5000 -o negatives && "
        "naysay build --keys keys --filter adaptive-stacked --bits-per-key 8 -o set.nsy && "
        "naysay query set.nsy negatives > reported");
  }
};

TEST_F(WarmTool, RefusesOtherKeysThanItsOwn) {
  must("naysay update set.nsy --adapt reported");
  must("head -n 1500 keys > half; : > none; naysay generate urls --count 3000 --first 200000 -o others");
  must("head -n 2999 keys > wrong; tail -n 1 others >> wrong");
  changes_nothing("set.nsy", "naysay update set.nsy --warm half", {"half", "1500", "3000", "set.nsy is as it was"});
  changes_nothing("set.nsy", "naysay update set.nsy --warm none", {"none", "0 keys", "3000"});
  changes_nothing("set.nsy", "naysay update set.nsy --warm others", {"others", "3000", "set.nsy is as it was"});
  changes_nothing("set.nsy", "naysay update set.nsy --warm wrong", {"wrong", "3000"});
  must("sort -r keys > sorted && naysay update set.nsy --warm sorted");
  EXPECT_EQ(denied("set.nsy", "keys"), 0);
}

TEST_F(WarmTool, TakesTheKeysThatWereInsertedSinceToo) {
  must("naysay generate urls --count 500 --first 300000 -o more && cat more keys > all");
  must("naysay update set.nsy --insert more --overfill && naysay update set.nsy --adapt reported");
  changes_nothing("set.nsy", "naysay update set.nsy --warm keys", {"keys", "3000", "3500"});
  must("naysay update set.nsy --warm all");
  EXPECT_EQ(denied("set.nsy", "all"), 0);
}

TEST_F(WarmTool, SaysThatNothingWasLearnedAndHowFullItIs) {
  changes_nothing("set.nsy", "naysay update set.nsy --warm keys",
                  {"set.nsy", "--warm", "learned no negative", "--adapt"});
  EXPECT_TRUE(sample::says(must("naysay inspect set.nsy"), {"learning", "cold, 0 of"}));
  const std::string said = must("naysay update set.nsy --adapt reported");
  EXPECT_TRUE(sample::says(said, {"not refused", "cold", "learned", "--warm"}));
  EXPECT_EQ(said.find("no room"), std::string::npos);
  EXPECT_TRUE(sample::says(must("naysay inspect set.nsy"), {"learning", "cold", "full", "--warm"}));
  const Json learning = Json::parse(must("naysay inspect set.nsy --json"))["learning"];
  EXPECT_EQ(learning["learned"], learning["room"]);
  EXPECT_GT(learning["room"], 0);
  EXPECT_TRUE(sample::says(must("naysay update set.nsy --warm keys"), {"warm", "negatives learned"}));
  EXPECT_EQ(Json::parse(must("naysay inspect set.nsy --json"))["learning"]["warm"], true);
}

// ---- adapt ----------------------------------------------------------------------------------------------------------

TEST_F(UpdateTool, LeavesKeysOutOfWhatItAdaptsTo) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 40000 --first 5000 -o strangers && "
      "head -n 30 keys > members && head -n 1000 keys > half");
  for (const std::string filter : {"guarded", "guarded-growing", "guarded-counting-bloom", "adaptive-stacked"}) {
    must("naysay build --keys keys --filter " + filter + " --bits-per-key 12 -o set.nsy && cp set.nsy bare.nsy");
    must("naysay query set.nsy strangers | head -n 5 > reported; cat members >> reported");
    const Json said = Json::parse(must("naysay update set.nsy --adapt reported --keys keys --json"))["update"];
    EXPECT_EQ(said["keys"], 30) << filter;
    EXPECT_EQ(said["refused"].get<int>() + said["not refused"].get<int>(), 5) << filter;
    EXPECT_EQ(denied("set.nsy", "keys"), 0) << filter;
    EXPECT_TRUE(sample::says(must("naysay update set.nsy --adapt reported --keys keys"), {"30 left out", "keys"}));
    EXPECT_TRUE(sample::says(must("naysay update bare.nsy --adapt strangers"), {"a key", "denied", "--keys"}));
    const Ran part = shell("naysay update set.nsy --adapt reported --keys half");
    EXPECT_TRUE(sample::says(part.err, {"half", "1000", "2000"})) << filter;
  }
  refuses("naysay update set.nsy --insert strangers --keys keys", {"--keys", "--adapt"});
}

TEST_F(UpdateTool, LeavesKeysOutByItselfWhereItHasThem) {
  must("naysay generate urls --count 3000 -o keys && head -n 40 keys > reported");
  must("naysay build --keys keys --filter variable-hash --bits-per-key 8 --slots set.slots -o set.nsy");
  const std::string said = must("naysay update set.nsy --slots set.slots --adapt reported");
  EXPECT_TRUE(sample::says(said, {"0 refused", "40 not refused", "they are keys"}));
  EXPECT_EQ(denied("set.nsy", "keys"), 0);
}

TEST_F(UpdateTool, LeavesKeysOutOfWhatItObserves) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 40000 --first 5000 -o log && "
      "head -n 30 keys >> log && naysay build --keys keys --filter guarded --bits-per-key 12 -o set.nsy");
  const Ran ran = shell("naysay observe log --adapt set.nsy --keys keys");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(sample::says(ran.err, {"30", "keys"}));
  EXPECT_EQ(denied("set.nsy", "keys"), 0);
}

TEST_F(UpdateTool, SaysThatTheGuardIsFull) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 200000 --first 5000 -o strangers && "
      "naysay build --keys keys --filter guarded --param guard=20 --bits-per-key 9 -o set.nsy && "
      "naysay query set.nsy strangers > reported");
  EXPECT_TRUE(sample::says(must("naysay update set.nsy --adapt reported --keys keys"), {"guard is full", "entries"}));
}

// ---- insert ---------------------------------------------------------------------------------------------------------

TEST_F(UpdateTool, RefusesMoreKeysThanItHasRoomForUnlessTold) {
  must(
      "naysay generate urls --count 3000 -o keys && naysay generate urls --count 100000 --first 10000 -o many && "
      "head -n 3000 many > fits");
  for (const std::string filter : {"bloom", "blocked-bloom", "counting-bloom", "stacked-bloom", "seesaw"}) {
    must("naysay build --keys keys --filter " + filter + " --bits-per-key 12 --capacity 6000 -o set.nsy");
    changes_nothing("set.nsy", "naysay update set.nsy --insert many",
                    {filter, "room for 6000 keys", "103000", "of strangers", "--overfill", "--capacity 103000"});
    must("naysay update set.nsy --insert fits");
    EXPECT_EQ(denied("set.nsy", "fits"), 0) << filter;
    must("head -n 1 many > one");
    changes_nothing("set.nsy", "naysay update set.nsy --insert one", {"6000", "6001"});
    must("naysay update set.nsy --insert one --overfill");
    EXPECT_EQ(Json::parse(must("naysay inspect set.nsy --json"))["keys"], 6001) << filter;
    EXPECT_EQ(Json::parse(must("naysay inspect set.nsy --json"))["capacity"], 6000) << filter;
  }
}

TEST_F(UpdateTool, CountsTheKeysItWasBuiltFromAsItsRoomAndReplacesThem) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 500 --first 5000 -o more && "
      "head -n 500 keys > gone");
  must("naysay build --keys keys --filter counting-bloom --bits-per-key 40 -o set.nsy");
  changes_nothing("set.nsy", "naysay update set.nsy --insert more", {"room for 2000 keys", "2500"});
  must("naysay update set.nsy --erase gone && naysay update set.nsy --insert more");
  EXPECT_EQ(denied("set.nsy", "more"), 0);
  must("naysay build --keys keys --filter growing-cuckoo --bits-per-key 16 -o grows.nsy");
  must("naysay update grows.nsy --insert more");
  EXPECT_EQ(denied("grows.nsy", "more"), 0) << "a filter that grows needs no room";
}

TEST_F(UpdateTool, SaysWhyThereIsNoRoom) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 2000 --first 5000 -o more && "
      "naysay generate urls --count 2000 --first 50000 -o negatives");
  must(
      "naysay build --keys keys --negatives negatives --filter guarded --param pinned=true --bits-per-key 20 "
      "--capacity 4000 -o set.nsy --without-index lean.nsy");
  changes_nothing("lean.nsy", "naysay update lean.nsy --insert more",
                  {"lean.nsy", "index", "--without-index", "pinned"});
  must("naysay build --keys keys --filter cuckoo --bits-per-key 10 -o full.nsy");
  changes_nothing("full.nsy", "naysay update full.nsy --insert more --overfill",
                  {"cuckoo", "it is full", "--capacity"});
}

}  // namespace
}  // namespace naysay
