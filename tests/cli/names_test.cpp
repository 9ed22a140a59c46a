// SPDX-License-Identifier: Apache-2.0
// Names: of commands and options that were mistyped, of files that are not UTF-8, and "-".
#include <nlohmann/json.hpp>

#include "naysay/any_filter.hpp"
#include "parts/nearest.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using namespace std::string_literals;
using Json = nlohmann::ordered_json;
using Names = Tool;

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"build", "bench", "query", "inspect", "--bits-per-key", "--bytes"};
  for (const auto& [typed, meant] :
       std::vector<std::pair<std::string, std::string>>{{"biuld", "build"},
                                                        {"buidl", "build"},
                                                        {"bild", "build"},
                                                        {"querry", "query"},
                                                        {"ins", "inspect"},
                                                        {"--bits_per_key", "--bits-per-key"},
                                                        {"--bits", "--bits-per-key"},
                                                        {"--byte", "--bytes"},
                                                        {"frobnicate", ""},
                                                        {"", ""},
                                                        {"x", ""}})
    EXPECT_EQ(cli::nearest(typed, names), meant) << typed;
  EXPECT_EQ(cli::nearest(std::string(100'000, 'b'), names), "");
}

TEST_F(Names, OfCommandsThatWereMistypedAreGuessed) {
  refuses_exactly("naysay biuld --keys k", "no command 'biuld'; did you mean build? see naysay --help");
  refuses("naysay querry", {"'querry'", "query?", "naysay --help"});
  refuses("naysay frobnicate", {"'frobnicate'", "naysay --help"});
  EXPECT_EQ(shell("naysay frobnicate").err.find("mean"), std::string::npos);
  refuses("naysay --verison", {"'--verison'", "--version?", "naysay --help"});
}

TEST_F(Names, OfOptionsThatWereMistypedAreGuessedAlsoIfOthersAreMissing) {
  write("keys", "a\n");
  refuses("naysay build --kyes keys --fpr 0.1 -o set.nsy", {"'--kyes'", "--keys?", "naysay build --help"});
  refuses("naysay build --keys keys --bits_per_key 10 -o s",
          {"'--bits_per_key'", "--bits-per-key?", "naysay build --help"});
  refuses("naysay build --keys keys --bit-per-key=10 -o s",
          {"'--bit-per-key'", "--bits-per-key?", "naysay build --help"});
  refuses("naysay filters --jsno", {"'--jsno'", "--json?", "naysay filters --help"});
  refuses("naysay filters --frobnicate", {"'--frobnicate'", "naysay filters --help"});
  refuses("naysay build", {"--keys", "naysay build --help"});
  refuses("naysay build --keys", {"--keys", "naysay build --help"});
  refuses("naysay inspect a b", {"b", "naysay inspect --help"});
}

TEST_F(Names, OfFiltersKindsAndExperimentsThatWereMistypedAreGuessed) {
  write("keys", "a\n");
  refuses("naysay build --keys keys --filter blom --bits-per-key 9 -o s", {"'blom'", "mean bloom?"});
  refuses("naysay build --keys keys --filter tought-ribbon --bits-per-key 9 -o s", {"mean taught-ribbon?"});
  refuses("naysay generate url --count 1", {"'url'", "mean urls?"});
  refuses("naysay bench habf-fig1O", {"'habf-fig1O'", "habf-fig10?", "--list"});
}

TEST_F(Names, MinusIsTheStandardOutputAndInputOfFilters) {
  must("naysay generate urls --count 300 -o keys && naysay generate urls --count 300 --first 300 -o negatives");
  const std::string build =
      "naysay build --keys keys --negatives negatives --filter guarded --param pinned=true "
      "--bits-per-key 30 --capacity 400 ";
  must(build + "-o file.nsy --without-index lean.nsy");
  const Ran piped = shell(build + "-o - > piped.nsy");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(read("piped.nsy"), read("file.nsy"));
  EXPECT_TRUE(sample::says(piped.err, {"standard output", "guarded of 300 keys"})) << "what it says goes elsewhere";
  must(build + "-o other.nsy --without-index - > piped.nsy 2>/dev/null");
  EXPECT_EQ(read("piped.nsy"), read("lean.nsy"));
  const Ran json = shell(build + "--json -o - > piped.nsy");
  EXPECT_EQ(Json::parse(json.err)["filter"], "guarded");
  EXPECT_EQ(read("piped.nsy"), read("file.nsy"));
  EXPECT_FALSE(exists("-"));
  refuses(build + "-o - --without-index -", {"--output", "--without-index", "-", "one"});
  refuses("naysay build --keys keys --filter variable-hash --bits-per-key 8 -o x.nsy --slots -",
          {"--slots", "-", "file"});

  EXPECT_EQ(must("naysay inspect - <file.nsy"), must("naysay inspect file.nsy"));
  EXPECT_EQ(must("naysay verify - --keys keys <file.nsy"),
            "standard input: whole, guarded of 300 keys, and all 300 keys of keys may be in it\n");
  EXPECT_EQ(must("naysay query - keys --count <file.nsy"), "300\n");
  refuses("naysay query - <file.nsy", {"the filter", "KEYS", "-", "one"});
  refuses("naysay verify - --keys - <file.nsy", {"the filter", "--keys", "-", "one"});
  refuses("naysay inspect - <keys", {"standard input", "not a naysay file"});
  EXPECT_EQ(Json::parse(must("naysay compare --keys keys --negatives negatives --bits-per-key 9 --filters bloom "
                             "--json -"))["rows"]
                .size(),
            1u);
}

TEST_F(Names, MinusIsTheStandardOutputAndInputOfAnUpdate) {
  must("naysay generate urls --count 100 -o keys && naysay generate urls --count 50 --first 100 -o more");
  must("naysay build --keys keys --filter bloom --bits-per-key 20 --capacity 200 -o set.nsy");
  must("naysay update set.nsy --insert more -o file.nsy");
  const Ran ran = shell("naysay update - --insert more -o - <set.nsy >piped.nsy");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read("piped.nsy"), read("file.nsy"));
  EXPECT_TRUE(sample::says(ran.err, {"standard output", "50 inserted"}));
  refuses("naysay update - --insert more <set.nsy", {"-", "--output"});
  EXPECT_FALSE(exists("-"));
}

TEST_F(Names, MinusIsTheStandardOutputAndInputOfResults) {
  const std::string bench = "naysay bench habf-fig10 --size tiny --filters bloom ";
  must(bench + "--out results.jsonl");
  const std::string lines = must(bench + "--out - 2>/dev/null");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), [&] {
    const std::string file = read("results.jsonl");
    return std::count(file.begin(), file.end(), '\n');
  }());
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n')))["experiment"], "habf-fig10");
  EXPECT_FALSE(exists("-"));
  must("naysay report results.jsonl -o file.md && naysay report - -o piped.md <results.jsonl");
  EXPECT_EQ(read("piped.md"), read("file.md"));
  write("keys", "a\n");
  refuses("naysay compare --keys keys --negatives keys --bits-per-key 9 --json - --csv -",
          {"--json", "--csv", "-", "one"});
}

TEST_F(Names, OfFilesNeedNotBeUtf8) {
  const std::string name = "$(printf 'k\\377\\033[2J')";
  must("naysay generate urls --count 300 -o \"" + name +
       "\" && naysay generate urls --count 300 --first 300 -o negatives");
  const std::string set = "-o \"" + name + ".nsy\"";
  const Json j =
      Json::parse(must("naysay build --keys \"" + name + "\" --filter bloom --bits-per-key 9 --json " + set));
  EXPECT_EQ(j["keys"], 300);
  EXPECT_NE(j["file"].get<std::string>().find("k\xef\xbf\xbd"), std::string::npos);
  const std::string said = must("naysay build --keys \"" + name + "\" --filter bloom --bits-per-key 9 " + set);
  EXPECT_EQ(said.find("k\\xff\\x1b[2J.nsy: bloom of 300 keys"), 0u) << said;
  EXPECT_EQ(Json::parse(must("naysay inspect --json \"" + name + ".nsy\""))["keys"], 300);
  EXPECT_EQ(Json::parse(must("naysay compare --keys \"" + name +
                             "\" --negatives negatives --bits-per-key 9 --filters "
                             "bloom --json -"))["keys"],
            300);
  const Ran missing = shell("naysay inspect \"" + name + "2\"");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err.find("naysay: k\\xff\\x1b[2J2: "), 0u) << missing.err;
}

}  // namespace
}  // namespace naysay
