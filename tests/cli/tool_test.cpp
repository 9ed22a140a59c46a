// SPDX-License-Identifier: Apache-2.0
// The tool as a user meets it: every command, every kind of bad input, exit codes like grep's.
#include "tool.hpp"

#include <zlib.h>
#include <zstd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "naysay/any_filter.hpp"

namespace naysay {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::string_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// ---- help ---------------------------------------------------------------------------------------------------------

TEST_F(Tool, ShowsItsVersion) { EXPECT_EQ(must("naysay --version").find("naysay "), 0u); }

TEST_F(Tool, ShowsAnExampleThatWorksInTheHelpOfEveryCommand) {
  for (const char* command :
       {"build", "query", "update", "inspect", "verify", "filters", "generate", "compare", "bench", "report"}) {
    SCOPED_TRACE(command);
    const std::string help = must(std::string("naysay ") + command + " --help");
    EXPECT_EQ(help.find('\t'), std::string::npos);
    const std::size_t at = help.find("Example:\n");
    ASSERT_NE(at, std::string::npos);
    int examples = 0;
    std::string last;
    for (const std::string& line : lines_of(help.substr(at + 9))) {
      if (line.rfind("  naysay ", 0) != 0) continue;
      must(line);
      last = line;
      ++examples;
    }
    EXPECT_GT(examples, 0);
    EXPECT_EQ(last.find(std::string("  naysay ") + command), 0u) << "the last line is about the command itself";
  }
}

TEST_F(Tool, ListsEveryCommandInItsHelp) {
  const std::string help = must("naysay --help");
  for (const char* command :
       {"build", "query", "update", "inspect", "verify", "filters", "generate", "compare", "demo"})
    EXPECT_NE(help.find("\n  "s + command + " "), std::string::npos) << command;
}

TEST_F(Tool, RefusesWhatItDoesNotKnow) {
  refuses("naysay", {"--help", "naysay demo"});
  EXPECT_EQ(shell("naysay frobnicate").exit_code, 2);
  EXPECT_EQ(shell("naysay filters --frobnicate").exit_code, 2);
  EXPECT_EQ(shell("naysay build").exit_code, 2);
  EXPECT_EQ(lines_of(shell("naysay build").err).size(), 1u);
}

// ---- update ---------------------------------------------------------------------------------------------------------

TEST_F(Tool, ErasesInsertsAndRefusesReportedNegatives) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --count 500 --first 2000 -o more && "
      "naysay generate urls --count 20000 --first 5000 -o strangers && head -n 700 keys > gone && tail -n +701 keys > "
      "left");
  must("naysay build --keys keys --filter guarded --param guard=100 --bits-per-key 20 --capacity 2500 -o set.nsy");
  EXPECT_EQ(must("naysay update set.nsy --erase gone --insert more -o new.nsy"),
            "new.nsy: 700 erased\nnew.nsy: 500 inserted\n");
  EXPECT_EQ(must("naysay query set.nsy keys --count"), "2000\n") << "set.nsy is as it was";
  EXPECT_EQ(must("naysay query new.nsy left --count"), "1300\n");
  EXPECT_EQ(must("naysay query new.nsy more --count"), "500\n");
  EXPECT_LT(std::stoi(shell("naysay query new.nsy gone --count").out), 50);
  EXPECT_EQ(Json::parse(must("naysay inspect new.nsy --json"))["keys"], 1800);
  const auto accepted = lines_of(must("naysay query new.nsy strangers > false_positives; cat false_positives"));
  ASSERT_GT(accepted.size(), 10u);
  EXPECT_EQ(Json::parse(must("naysay update new.nsy --adapt false_positives --json"))["update"]["refused"],
            accepted.size());
  EXPECT_EQ(shell("naysay query new.nsy false_positives --count").out, "0\n");
  EXPECT_EQ(must("naysay query new.nsy more --count"), "500\n");
  // A guard can be full, and the count says what is refused after all were reported.
  must("naysay generate urls --count 600000 --first 50000 -o many; naysay query new.nsy many > false_positives");
  const Json said = Json::parse(must("naysay update new.nsy --adapt false_positives --json"))["update"];
  EXPECT_GT(said["not refused"].get<int>(), 0);
  EXPECT_EQ(shell("naysay query new.nsy false_positives --count").out,
            std::to_string(said["not refused"].get<int>()) + "\n");
}

TEST_F(Tool, AbsorbsFalsePositivesOfAVariableHashFilterWithItsSlots) {
  must("naysay generate urls --count 3000 -o keys && naysay generate urls --count 30000 --first 5000 -o strangers");
  must("naysay build --keys keys --filter variable-hash --bits-per-key 8 --slots set.slots -o set.nsy");
  must("naysay query set.nsy strangers > false_positives");
  const auto accepted = lines_of(read("false_positives")).size();
  ASSERT_GT(accepted, 50u);
  const Json said =
      Json::parse(must("naysay update set.nsy --slots set.slots --adapt false_positives --json"))["update"];
  EXPECT_GT(said["refused"].get<std::size_t>(), accepted * 9 / 10);
  EXPECT_EQ(shell("naysay query set.nsy false_positives --count").out,
            std::to_string(said["not refused"].get<std::size_t>()) + "\n");
  EXPECT_EQ(must("naysay query set.nsy keys --count"), "3000\n");
  refuses("naysay update set.nsy --adapt false_positives",
          {"set.nsy", "--adapt", "variable-hash", "naysay build --slots"});
}

TEST_F(Tool, WarmsAnAdaptiveStack) {
  must("naysay generate urls --count 3000 -o keys && naysay generate urls --count 60000 --first 5000 -o negatives");
  must("naysay build --keys keys --filter adaptive-stacked --bits-per-key 8 -o set.nsy");
  must("naysay query set.nsy negatives > false_positives");
  const auto cold = lines_of(read("false_positives")).size();
  must("naysay update set.nsy --adapt false_positives --warm keys");
  EXPECT_EQ(must("naysay query set.nsy keys --count"), "3000\n");
  EXPECT_LT(std::stoul(shell("naysay query set.nsy negatives --count").out), cold);
}

TEST_F(Tool, SaysWhatAFilterCannotDoAndLeavesItsFileAsItWas) {
  must("naysay generate urls --count 1000 -o keys && naysay generate urls --count 1000 --first 1000 -o more");
  must("naysay build --keys keys --filter ribbon --bits-per-key 10 -o still.nsy");
  refuses("naysay update still.nsy", {"--erase", "--insert", "--adapt", "--warm"});
  refuses("naysay update still.nsy --insert more", {"still.nsy", "--insert", "ribbon", "naysay filters"});
  refuses("naysay update still.nsy --erase more", {"still.nsy", "--erase", "ribbon", "naysay filters"});
  refuses("naysay update still.nsy --adapt more", {"still.nsy", "--adapt", "ribbon", "naysay filters"});
  refuses("naysay build --keys keys --filter ribbon --bits-per-key 10 --slots s -o x.nsy",
          {"--slots", "--filter", "ribbon", "variable-hash"});
  must("naysay build --keys keys --filter cuckoo --bits-per-key 10 -o full.nsy");
  const std::string before = read("full.nsy");
  const Ran ran = shell("naysay update full.nsy --insert more");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(sample::says(ran.err, {"full.nsy", "cuckoo", "room"}));
  EXPECT_EQ(read("full.nsy"), before);
}

// ---- build, query, inspect, verify ----------------------------------------------------------------------------------

TEST_F(Tool, PinsNegativesAndWritesACopyWithoutTheirIndex) {
  must("naysay generate urls --count 500 -o keys && naysay generate urls --count 5000 --first 500 -o negatives");
  const std::string said = must(
      "naysay build --keys keys --negatives negatives --filter guarded --bits-per-key 20 --param pinned=true "
      "-o set.nsy --without-index lean.nsy");
  EXPECT_NE(said.find("and an index of"), std::string::npos) << said;
  EXPECT_EQ(shell("naysay query set.nsy negatives --count").out, "0\n");
  EXPECT_EQ(shell("naysay query lean.nsy negatives --count").out, "0\n");
  EXPECT_EQ(must("naysay query lean.nsy keys --count"), "500\n");
  const Json whole = Json::parse(must("naysay inspect set.nsy --json")),
             lean = Json::parse(must("naysay inspect lean.nsy --json"));
  EXPECT_EQ(whole["bytes"], lean["bytes"]) << "the index is no part of the filter's size";
  EXPECT_GE(whole["index_bytes"].get<int>(), 16 * 5000);
  EXPECT_FALSE(lean.contains("index_bytes"));
  EXPECT_LT(lean["file_bytes"].get<int>(), 10'000);
}

TEST_F(Tool, BuildsAFilterAndAsksItLikeGrep) {
  write("keys", "apple\nbanana\ncherry\n");
  must("naysay build --keys keys --filter bloom --bits-per-key 40 -o set.nsy");
  EXPECT_EQ(must("printf 'durian\\nbanana\\nelder\\ncherry\\n' | naysay query set.nsy"), "banana\ncherry\n");
  EXPECT_EQ(must("printf 'durian\\nbanana\\n' | naysay query set.nsy -"), "banana\n");
  EXPECT_EQ(must("printf 'durian\\nbanana\\n' | naysay query set.nsy - --invert"), "durian\n");
  EXPECT_EQ(must("printf 'durian\\nbanana\\ncherry\\n' | naysay query set.nsy --count"), "2\n");
  EXPECT_EQ(must("naysay query set.nsy keys"), "apple\nbanana\ncherry\n");
  const Ran none = shell("echo durian | naysay query set.nsy");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out + none.err, "");
  const Ran all = shell("naysay query set.nsy keys --invert --count");
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_EQ(all.out, "0\n");
  EXPECT_EQ(shell("naysay query set.nsy missing").exit_code, 2);
}

TEST_F(Tool, AnswersInJson) {
  write("keys", "apple\n");
  must("naysay build --keys keys --filter bloom --bits-per-key 40 -o set.nsy");
  const auto lines = lines_of(must("printf 'apple\\ndu\"ri\\377an\\n' | naysay query set.nsy --json"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(Json::parse(lines[0]), Json({{"key", "apple"}, {"may_contain", true}}));
  EXPECT_EQ(Json::parse(lines[1])["may_contain"], false);
  const Json count = Json::parse(must("printf 'apple\\npear\\nplum\\n' | naysay query set.nsy --json --count"));
  EXPECT_EQ(count, Json({{"asked", 3}, {"may_contain", 1}}));
}

TEST_F(Tool, TakesKeysFromPipesPackedFilesNulsAndWindows) {
  const std::string text = "apple\nbanana\n";
  write("plain", text);
  write("windows", "apple\r\n\r\nbanana\r\n");
  write("nul", "apple\0banana\0"s);
  std::string zst(::ZSTD_compressBound(text.size()), '\0');
  zst.resize(::ZSTD_compress(zst.data(), zst.size(), text.data(), text.size(), 3));
  write("zst", zst);
  gzFile gz = ::gzopen(path("gz").c_str(), "wb");
  ASSERT_EQ(::gzwrite(gz, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ::gzclose(gz);
  const std::string end = " --filter bloom --bits-per-key 20 -o ";
  must("naysay build --keys plain" + end + "plain.nsy");
  for (const char* input : {"windows", "zst", "gz"}) {
    must("naysay build --keys "s + input + end + "other.nsy");
    EXPECT_EQ(read("other.nsy"), read("plain.nsy")) << input;
    must("naysay build --keys - "s + end + "other.nsy <" + input);
    EXPECT_EQ(read("other.nsy"), read("plain.nsy")) << input;
    EXPECT_EQ(must("naysay query plain.nsy "s + input), text) << input;
  }
  must("naysay build --null --keys nul" + end + "other.nsy");
  EXPECT_EQ(read("other.nsy"), read("plain.nsy"));
  EXPECT_EQ(must("naysay query -0 plain.nsy nul"), "apple\0banana\0"s);
}

TEST_F(Tool, GivesTheSameBytesForTheSameSeedOnAnyNumberOfThreadsAndOthersForAnother) {
  must("naysay generate urls --count 500 -o keys");
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 10 -o ";
  must(build + "a && " + build + "b --threads 2 && " + build + "c --seed 1");
  EXPECT_EQ(read("a"), read("b"));
  EXPECT_NE(read("a"), read("c"));
}

TEST_F(Tool, UnderstandsEveryWayToSayABudget) {
  must("naysay generate integers --count 10000 -o keys");
  const auto bytes = [&](const std::string& budget) {
    return Json::parse(must("naysay build --json --keys keys --filter bloom " + budget + " -o set.nsy"))["bytes"]
        .get<double>();
  };
  EXPECT_NEAR(bytes("--bits-per-key 12"), 15'000, 64);
  EXPECT_NEAR(bytes("--bytes 15000"), 15'000, 64);
  EXPECT_NEAR(bytes("--bytes 15kB"), 15'000, 64);
  EXPECT_NEAR(bytes("--bytes 0.015MB"), 15'000, 64);
  EXPECT_NEAR(bytes("--bytes 16KiB"), 16'384, 64);
  EXPECT_NEAR(bytes("--bytes 0.5MiB"), 524'288, 64);
  EXPECT_NEAR(bytes("--bytes 16KiB --capacity 20000"), 16'384, 64);
  EXPECT_NEAR(bytes("--bits-per-key 12 --capacity 20000"), 30'000, 64);
  const double at_one_percent = bytes("--fpr 0.01");
  EXPECT_NEAR(at_one_percent * 8 / 10'000, 9.6, 0.2) << "1.44 log2(1/fpr) bits per key";
}

TEST_F(Tool, RefusesBudgetsThatMakeNoSense) {
  write("keys", "a\n");
  const std::string build = "naysay build --keys keys -o set.nsy ";
  refuses(build, {"budget", "--bits-per-key", "--bytes", "--fpr"});
  refuses(build + "--bytes 10 --fpr 0.1", {"2", "budgets", "--bits-per-key", "--bytes", "--fpr"});
  refuses(build + "--bits-per-key 0", {"--bits-per-key", "'0'", "4096"});
  refuses_exactly(build + "--bits-per-key ten",
                  "--bits-per-key is 'ten'; it must be a number above 0 and at most 4096");
  refuses(build + "--fpr 1", {"--fpr", "'1'", "0.001"});
  refuses(build + "--fpr nan", {"--fpr", "'nan'", "0.001"});
  for (const char* size : {"1.5M", "MB", "-1MB", "0", "1.5 TB", "1e30"})
    refuses(build + "--bytes '" + size + "'", {"--bytes", "'"s + size + "'", "1500000", "1.5MB", "1.5MiB"});
  refuses(build + "--bits-per-key 9 --param bits_per_key=9", {"--param", "bits_per_key", "--bits-per-key"});
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(Tool, RefusesBadKeysAndNegatives) {
  write("keys", "a\n");
  write("bad", "x\t1\ny\t-3\n");
  const std::string end = " --filter bloom --bits-per-key 10 -o set.nsy";
  refuses_exactly("naysay build --keys missing" + end, "missing: cannot open: No such file or directory");
  refuses("mkdir empty && naysay build --keys empty" + end, {"empty:", "folder", "standard input"});
  refuses_exactly("naysay build --keys keys --negatives bad" + end,
                  "bad:2: cost is '-3'; it must be a number of 0 or more");
  refuses("printf 'x\\tnan\\n' | naysay build --keys keys --negatives -" + end, {"standard input:1", "cost", "'nan'"});
  refuses("naysay build --keys - --negatives -" + end, {"--keys", "--negatives", "-", "one"});
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(Tool, BuildsAFilterOfNoKeys) {
  write("keys", "");
  for (const FilterType& type : filter_types()) {
    must("naysay build --keys keys --bits-per-key 16 -o set.nsy --filter " + std::string(type.name));
    must("naysay verify set.nsy --keys keys");
  }
}

TEST_F(Tool, RefusesUnknownFiltersParametersAndHashes) {
  write("keys", "a\n");
  const std::string build = "naysay build --keys keys --bits-per-key 10 -o set.nsy ";
  std::vector<std::string_view> names = {"'blom'"};
  for (const FilterType& t : filter_types()) names.push_back(t.name);
  refuses(build + "--filter blom", names);
  refuses(build + "--filter bloom --param kk=3", {"bloom", "'kk'", "bits_per_key", "k"});
  refuses(build + "--filter bloom --param k=many", {"bloom", "k", "'many'", "0"});
  refuses(build + "--filter bloom --param k", {"--param", "'k'", "NAME=VALUE"});
  refuses(build + "--filter bloom --param k=65", {"bloom", "k", "65", "64", "0"});
  refuses(build + "--hash md5", {"--hash", "'md5'", "xxh3", "siphash"});
  refuses(build + "--hash-key 00", {"--hash-key", "xxh3", "--hash siphash"});
  refuses(build + "--hash siphash --hash-key 00", {"--hash-key", "2 characters", "32"});
  refuses(build + "--hash siphash --hash-key 0011223344556677889900112233445g",
          {"--hash-key", "no hexadecimal digit", "32"});
  refuses(build + "--stranger-share 2", {"--stranger-share", "2", "0", "1"});
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(Tool, SaysWhenNegativesOrRoomAreOfNoUse) {
  write("keys", "a\n");
  write("negatives", "b\t2\n");
  const std::string build = "naysay build --keys keys --bits-per-key 16 -o set.nsy --filter ";
  EXPECT_TRUE(sample::says(shell(build + "bloom --negatives negatives").err, {"bloom", "known negatives"}));
  for (const FilterType& t : filter_types()) {
    const std::string name(t.name);
    if (!t.dynamic) refuses(build + name + " --capacity 9", {"--capacity", name, "static"});
  }
}

TEST_F(Tool, PassesParametersOn) {
  write("keys", "a\nb\n");
  const Json j =
      Json::parse(must("naysay build --json --keys keys --filter bloom --bits-per-key 10.5 --param k=3 -o set.nsy"));
  EXPECT_EQ(j["params"], Json({{"bits_per_key", 10.5}, {"k", 3}}));
  EXPECT_EQ(Json::parse(must("naysay inspect --json set.nsy"))["params"], j["params"]);
}

TEST_F(Tool, WritesItsFileWholeOrNotAtAll) {
  write("keys", "a\n");
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 10 -o ";
  refuses(build + "missing/set.nsy", {"missing/set.nsy", "'missing'", "No such file or directory"});
  refuses(build + ".", {".:", "directory"});
  must("mkfifo device");  // in the test's own folder: a rename over a real one would harm the machine
  refuses(build + "device", {"device", "regular file"});
  std::filesystem::remove(path("device"));
  if (::geteuid() == 0) {  // root may write into any folder, except where the system has none of its own
    const Ran ran = shell(build + "/proc/set.nsy");
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err.find("naysay: /proc/set.nsy: cannot "), 0u) << ran.err;
  } else {
    std::filesystem::create_directory(path("locked"));
    std::filesystem::permissions(path("locked"), std::filesystem::perms(0555));
    refuses(build + "locked/set.nsy", {"locked/set.nsy", "'locked'", "Permission denied"});
    std::filesystem::remove(path("locked"));
  }
  // A build that fails leaves the old file as it was, and no other.
  must(build + "set.nsy");
  const std::string before = read("set.nsy");
  EXPECT_EQ(shell(build + "set.nsy --negatives missing").exit_code, 2);
  EXPECT_EQ(read("set.nsy"), before);
  EXPECT_EQ(files(), 2u);
}

TEST_F(Tool, RecordsHowKeysWereHashed) {
  must("naysay generate ycsb --count 300 -o keys");
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 16 -o ";
  must(build + "a --hash siphash && " + build + "b --hash siphash");
  EXPECT_NE(read("a"), read("b")) << "the key is drawn at random";
  const std::string key = " --hash siphash --hash-key 000102030405060708090a0b0c0d0e0f";
  must(build + "c" + key + " && " + build + "d" + key);
  EXPECT_EQ(read("c"), read("d"));
  const auto c = naysay::load(path("c"));
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->hasher(), (Hasher{HashId::siphash, 0, {0x0706050403020100u, 0x0f0e0d0c0b0a0908u}}));
  for (const char* name : {"a", "c"}) {
    must("naysay verify --keys keys "s + name);
    const Json j = Json::parse(must("naysay inspect --json "s + name));
    EXPECT_EQ(j["hash"], "siphash");
    EXPECT_EQ(must("naysay inspect "s + name).find("0706"), std::string::npos) << "a secret is not shown";
  }
}

TEST_F(Tool, SaysWhyAutoChose) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --first 2000 --count 2000 --zipf 1 -o "
      "negatives");
  for (const char* more : {"", " --negatives negatives", " --fpr 0.01", " --capacity 4000"}) {
    const std::string budget = std::string(more).find("--fpr") == std::string::npos ? " --bits-per-key 16" : "";
    const Ran ran = shell("naysay build --keys keys -o set.nsy" + budget + more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("naysay: auto uses "), 0u) << ran.err;
    must("naysay verify set.nsy --keys keys");
  }
  const Json j = Json::parse(
      must("naysay build --json --keys keys --negatives negatives --bits-per-key 16 -o set.nsy 2>/dev/null"));
  EXPECT_FALSE(j["why"].get<std::string>().empty());
  EXPECT_EQ(j["negatives"], 2000);
  bool exact = false;
  for (const FilterType& t : filter_types()) exact = exact || t.claims.exact_on_negatives;
  if (exact) EXPECT_EQ(must("cut -f1 negatives | naysay query set.nsy --count || true"), "0\n");
}

TEST_F(Tool, BuildsTheSameBytesWithinATightMemory) {
  must(
      "naysay generate integers --count 20000 -o keys && naysay generate integers --first 20000 --count 120000 --zipf "
      "1 "
      "-o costly && cut -f1 costly >plain && mkdir temp");
  const std::string tight = " --memory 1MB --temp temp -v";  // less than the keys and the negatives take
  for (const char* negatives : {"costly", "plain"})
    for (const char* bits : {"4", "12"}) {  // with an exact plane, and without
      const std::string build =
          "naysay build --filter taught-ribbon --keys keys --bits-per-key "s + bits + " --negatives " + negatives;
      must(build + " -o held.nsy");
      const Ran ran = shell(build + tight + " -o streamed.nsy");
      EXPECT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_TRUE(sample::says(ran.err, {"temporary file", "120000"}));
      EXPECT_EQ(read("streamed.nsy"), read("held.nsy")) << negatives << " at " << bits;
    }
  EXPECT_TRUE(std::filesystem::is_empty(path("temp")));
  const Ran automatic = shell("naysay build --keys keys --negatives costly --bits-per-key 8 -o set.nsy" + tight);
  EXPECT_TRUE(sample::says(automatic.err, {"auto", "taught-ribbon"}));
  refuses("naysay build --filter habf --keys keys --negatives costly --bits-per-key 8 -o set.nsy --memory 1MB",
          {"habf", "20000", "1.00 MB", "--memory", "--filter taught-ribbon"});
  refuses("naysay build --keys keys --negatives costly --bits-per-key 8 -o set.nsy --memory 1MB --temp missing",
          {"missing", "temporary file", "No such file or directory", "--temp"});
  refuses("naysay build --keys keys --bits-per-key 8 -o set.nsy --memory lots",
          {"--memory", "'lots'", "1500000", "1.5MB", "1.5MiB"});
}

TEST_F(Tool, IsQuietOnTheStandardErrorUnlessItIsATerminal) {
  must("naysay generate integers --count 200000 -o keys");
  const std::string build = "naysay build --keys keys --filter bloom --bits-per-key 10 -o set.nsy";
  EXPECT_EQ(shell(build).err, "");
  if (shell("command -v script").exit_code != 0) GTEST_SKIP() << "there is no script(1) to make a terminal with";
  const std::string terminal = must("script -qec '" + build + "' /dev/null");
  EXPECT_NE(terminal.find("reading keys ["), std::string::npos) << terminal;
  must("script -qec '" + build + " >out' /dev/null");
  EXPECT_EQ(read("out").find("reading"), std::string::npos) << "the bar is for the standard error only";
}

TEST_F(Tool, SaysWhatIsInAFile) {
  must("naysay generate integers --count 1000 -o keys");
  must("naysay build --keys keys --filter bloom --bits-per-key 10 --seed 3 -o set.nsy");
  const std::string text = must("naysay inspect set.nsy");
  EXPECT_NE(text.find("filter        bloom: "), std::string::npos) << text;
  EXPECT_NE(text.find("keys          1000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("hash          xxh3, seed 3\n"), std::string::npos) << text;
  const Json j = Json::parse(must("naysay inspect --json set.nsy"));
  EXPECT_EQ(j["filter"], "bloom");
  EXPECT_EQ(j["keys"], 1000);
  EXPECT_EQ(j["hash"], "xxh3");
  EXPECT_EQ(j["hash_seed"], 3);
  EXPECT_EQ(j["file_bytes"], read("set.nsy").size());
  EXPECT_NEAR(j["expected_fpr"].get<double>(), 0.008, 0.002);
}

TEST_F(Tool, RefusesFilesThatAreCutFlippedOrSomethingElse) {
  must(
      "naysay generate integers --count 100 -o keys && naysay build --keys keys --filter bloom --bits-per-key 10 -o "
      "set.nsy");
  const std::string whole = read("set.nsy");
  write("cut.nsy", whole.substr(0, whole.size() / 2));
  std::string flipped = whole;
  flipped[whole.size() - 1] = static_cast<char>(flipped[whole.size() - 1] ^ 1);
  write("flipped.nsy", flipped);
  write("empty.nsy", "");
  for (const char* command : {"inspect", "verify", "query"}) {
    const std::string run = "naysay "s + command + " ";
    refuses(run + "cut.nsy", {"cut.nsy:", std::to_string(whole.size()), std::to_string(whole.size() / 2)});
    refuses_exactly(run + "flipped.nsy",
                    "flipped.nsy: the checksum does not match; the file was changed or damaged after it was written");
    refuses(run + "empty.nsy", {"empty.nsy:", "not a naysay file"});
    refuses(run + "keys", {"keys:", "not a naysay file"});
    refuses(run + "missing.nsy", {"missing.nsy:", "No such file or directory"});
    refuses(run + ".", {".:", "regular file"});
  }
}

TEST_F(Tool, VerifiesThatAFileHoldsItsKeys) {
  must("naysay generate integers --count 100 -o keys && naysay generate integers --first 100 --count 100 -o others");
  must("naysay build --keys keys --filter bloom --bits-per-key 30 -o set.nsy");
  EXPECT_EQ(must("naysay verify set.nsy"), "set.nsy: whole, bloom of 100 keys\n");
  EXPECT_EQ(must("naysay verify set.nsy --keys keys"),
            "set.nsy: whole, bloom of 100 keys, and all 100 keys of keys may be in it\n");
  const Ran ran = shell("cat keys others | naysay verify set.nsy --keys -");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.err,
            "naysay: set.nsy: denies 100 of the 200 keys, the first at standard input:101; it was built from others\n");
}

// ---- filters, generate

TEST_F(Tool, ListsEveryFilter) {
  const std::string text = must("naysay filters");
  const Json all = Json::parse(must("naysay filters --json"));
  ASSERT_EQ(all.size(), filter_types().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FilterType& t = filter_types()[i];
    EXPECT_EQ(all[i]["name"], t.name);
    EXPECT_EQ(all[i]["dynamic"], t.dynamic);
    EXPECT_EQ(all[i]["uses_negatives"], t.claims.uses_negatives);
    EXPECT_TRUE(all[i]["params"].contains("bits_per_key"));
    EXPECT_NE(text.find("\n" + std::string(t.name) + " "), std::string::npos) << t.name;
    EXPECT_NE(text.find(std::string(t.claims.about) + "\n"), std::string::npos) << t.name;
  }
}

TEST_F(Tool, GeneratesWhatItIsAskedFor) {
  EXPECT_EQ(must("naysay generate ycsb --count 2"), "user6284781860667377211\nuser8517097267634966620\n");
  EXPECT_EQ(must("naysay generate ycsb --count 1 --first 1"), "user8517097267634966620\n");
  EXPECT_EQ(must("naysay generate ycsb --count 1 --null"), "user6284781860667377211\0"s);
  EXPECT_EQ(must("naysay generate urls --count 0"), "");
  must(
      "naysay generate urls --count 100 --seed 5 --zipf 1.5 -o a && naysay generate urls --count 100 --seed 5 --zipf "
      "1.5 >b");
  EXPECT_EQ(read("a"), read("b"));
  std::set<std::string> keys;
  double sum = 0;
  for (const std::string& line : lines_of(read("a"))) {
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    keys.insert(line.substr(0, tab));
    sum += std::stod(line.substr(tab + 1));
  }
  EXPECT_EQ(keys.size(), 100u);
  EXPECT_NEAR(sum, 100, 0.01);
  refuses("naysay generate words --count 1", {"'words'", "ycsb", "urls", "integers"});
  refuses("naysay generate urls --count 1 --zipf -1", {"--zipf", "'-1'", "0", "100"});
  refuses("naysay generate urls --count 1 -o missing/f", {"missing/f", "'missing'", "No such file or directory"});
}

TEST_F(Tool, SaysWhenTheOutputIsFull) {
  const Ran ran = shell("naysay generate urls --count 10 >/dev/full");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(sample::says(ran.err, {"standard output", "No space left on device"}));
  EXPECT_EQ(shell("naysay filters >/dev/full").exit_code, 2);
}

// ---- compare, demo -------------------------------------------------------------------------------------------------

// The columns of the table; the JSON and the CSV have confidence intervals, too.
const std::vector<std::string> kColumns = {"filter",    "bits_per_key", "expected_fpr",    "fpr",      "other_fpr",
                                           "known_fpr", "wfpr",         "false_negatives", "build_ns", "query_ns",
                                           "batch_ns",  "bytes",        "peak_build_bytes"};
const std::vector<std::string> kFields = {
    "filter",    "bits_per_key",  "expected_fpr",    "fpr",  "fpr_low",         "fpr_high", "other_fpr",
    "known_fpr", "known_fpr_low", "known_fpr_high",  "wfpr", "false_negatives", "build_ns", "query_ns",
    "batch_ns",  "bytes",         "peak_build_bytes"};

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::stringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST_F(Tool, ComparesFiltersWithOneRowEachAndThreeSentences) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --first 2000 --count 4000 --zipf 1 -o "
      "negatives");
  const std::string text =
      must("naysay compare --keys keys --negatives negatives --bits-per-key 12 --filters bloom --json j --csv c");
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 6u) << text;
  EXPECT_EQ(words_of(lines[2]), kColumns);
  EXPECT_EQ(words_of(lines[3])[0], "bloom");
  EXPECT_EQ(lines[5].find("Use bloom: "), 0u);
  std::size_t sentences = 0;
  for (std::size_t i = 0; i < lines[5].size(); ++i)
    sentences += lines[5][i] == '.' && (i + 1 == lines[5].size() || lines[5][i + 1] == ' ');
  EXPECT_EQ(sentences, 3u) << lines[5];

  const Json j = Json::parse(read("j"));
  EXPECT_EQ(j["keys"], 2000);
  EXPECT_EQ(j["negatives"].get<int>() + j["strangers"].get<int>(), 4000);
  EXPECT_NEAR(j["strangers"].get<double>(), 400, 100);
  EXPECT_EQ(j["strangers_held_back"], true);
  ASSERT_EQ(j["rows"].size(), 1u);
  std::vector<std::string> names;
  for (const auto& item : j["rows"][0].items()) names.push_back(item.key());
  EXPECT_EQ(names.back(), "after_inserts") << "keys can be inserted into a Bloom filter";
  names.pop_back();
  EXPECT_EQ(names, kFields);
  EXPECT_EQ(j["rows"][0]["false_negatives"], 0);
  EXPECT_NEAR(j["rows"][0]["bits_per_key"].get<double>(), 12, 0.1);
  EXPECT_GE(j["rows"][0]["peak_build_bytes"].get<double>(), j["rows"][0]["bytes"].get<double>() - 64);
  EXPECT_GT(j["rows"][0]["query_ns"].get<double>(), 0);

  const auto csv = lines_of(read("c"));
  ASSERT_EQ(csv.size(), 2u);
  std::string header;
  for (const std::string& name : kFields) header += (header.empty() ? "" : ",") + name;
  EXPECT_EQ(csv[0], header);
  EXPECT_EQ(std::count(csv[1].begin(), csv[1].end(), ','), 16);
}

TEST_F(Tool, ComparesAtSeveralBudgetsAndSaysWhereTheNextBetterOneBegins) {
  must(
      "naysay generate urls --count 2000 -o keys && naysay generate urls --first 2000 --count 4000 --zipf 1 -o "
      "negatives");
  // A quotient filter needs 4.5 bits per key; from there on it makes fewer errors than a counting Bloom filter.
  const std::string compare = "naysay compare --keys keys --negatives negatives --filters counting-bloom,quotient ";
  const std::string text = must(compare + "--bits-per-key 4 --sweep 4,8,16 --json j");
  EXPECT_TRUE(sample::says(text, {"more space: from 8.00", "quotient ("}));
  EXPECT_TRUE(sample::says(must(compare + "--bits-per-key 4"), {"more space", "quotient ("}));
  const Json j = Json::parse(read("j"));
  ASSERT_EQ(j["sweep"].size(), 3u);
  EXPECT_EQ(j["sweep"][2]["bits_per_key"], 16);
  EXPECT_EQ(j["sweep"][2]["rows"].size(), 2u);
  EXPECT_TRUE(sample::says(must(compare + "--sweep 4,8"), {"From 8.00", "quotient is the best"}));
  refuses(compare + "--sweep 4,-1", {"--sweep", "'-1'", "0", "4096"});
}

TEST_F(Tool, ComparesEveryFilterAndShowsWhyOneHasNoNumbers) {
  must(
      "naysay generate integers --count 1000 -o keys && naysay generate integers --first 1000 --count 1000 --zipf 1 -o "
      "negatives");
  must("naysay generate integers --first 2000 --count 3000 -o strangers");
  for (const char* budget : {"--bits-per-key 12", "--bytes 150B"}) {
    const Json j =
        Json::parse(must("naysay compare --keys keys --negatives negatives --strangers strangers --json - "s + budget));
    EXPECT_EQ(j["strangers"], 3000);
    EXPECT_EQ(j["strangers_held_back"], false);
    ASSERT_EQ(j["rows"].size(), filter_types().size());
    for (std::size_t i = 0; i < j["rows"].size(); ++i) {
      const Json& row = j["rows"][i];
      EXPECT_EQ(row["filter"], filter_types()[i].name);
      EXPECT_TRUE(row.contains("problem") ? !row["problem"].get<std::string>().empty() : row["false_negatives"] == 0)
          << row;
    }
  }
  const Ran ran = shell("naysay compare --keys keys --negatives negatives --bytes 1MB");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(sample::says(ran.out, {"bloom: bits_per_key", "8000", "4096"}));
}

TEST_F(Tool, RefusesToCompareNothing) {
  write("keys", "a\n");
  write("empty", "\n");
  write("bad", "x\tcheap\n");
  const std::string compare = "naysay compare --bits-per-key 12 ";
  refuses(compare + "--keys empty --negatives keys", {"empty:", "no keys"});
  refuses(compare + "--keys keys --negatives empty", {"empty:", "no negatives"});
  refuses(compare + "--keys keys --negatives bad", {"bad:1", "cost", "'cheap'"});
  refuses(compare + "--keys - --negatives -", {"-", "one"});
  refuses(compare + "--keys keys --negatives keys --json missing/j",
          {"missing/j", "'missing'", "No such file or directory"});
  refuses("naysay compare --keys keys --negatives keys", {"budget", "--bits-per-key", "--bytes"});
  EXPECT_EQ(shell(compare + "--keys keys --negatives keys --filters bloom,blom").exit_code, 2);
}

TEST_F(Tool, LeavesOutNegativesThatAreKeys) {
  must(
      "naysay generate integers --count 1000 -o keys && naysay generate integers --first 500 --count 1000 -o "
      "negatives");
  const Json j =
      Json::parse(must("naysay compare --keys keys --negatives negatives --bits-per-key 20 --filters bloom --json -"));
  EXPECT_EQ(j["left_out"], 500);
  EXPECT_LT(j["rows"][0]["known_fpr"].get<double>(), 0.05);
}

}  // namespace
}  // namespace naysay
