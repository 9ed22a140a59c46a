// SPDX-License-Identifier: Apache-2.0
// Files that are not what the user thinks: packed, marked, separated by commas, empty, repeated.
#include "naysay/any_filter.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using namespace std::string_literals;
using Inputs = Tool;

const std::string kBuild = " --filter bloom --bits-per-key 40 -o set.nsy";

TEST_F(Inputs, ArePackedInAWayThatIsNotRead) {
  struct Packed {
    const char *name, *what, *how;
    std::string bytes;
  };
  const Packed files[] = {
      {"keys.xz", "xz", "xz -dc", "\xfd\x37zXZ\0\0\4\xe6\xd6"s},
      {"keys.bz2", "bzip2", "bzip2 -dc", "BZh91AY&SY\x01\x02"s},
      {"empty.bz2", "bzip2", "bzip2 -dc", "BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"s},
      {"keys.lz4", "lz4", "lz4 -dc", "\x04\x22\x4d\x18\x64"s},
      {"keys.lz", "lzip", "lzip -dc", "LZIP\x01\x0c"s},
      {"keys.Z", "compress", "uncompress", "\x1f\x9d\x90"s},
      {"keys.zip", "zip", "unzip -p", "PK\x03\x04\x14"s},
      {"keys.7z", "7z", "unpack", "7z\xbc\xaf\x27\x1c\0"s},
  };
  for (const Packed& f : files) {
    write(f.name, f.bytes);
    refuses("naysay build --keys "s + f.name + kBuild, {f.name, f.what, f.how});
    refuses("naysay build --keys - "s + kBuild + " <" + f.name, {"standard input", f.what, f.how});
    // A pipe that delivers one byte at a time.
    refuses("dd bs=1 status=none if="s + f.name + " | naysay build --keys - " + kBuild, {"standard input", f.what});
  }
  write("keys", "a\n");
  for (const char* more : {"--negatives keys.xz", "--negatives keys.bz2"})
    refuses("naysay build --keys keys "s + more + kBuild, {"not read", "unpack"});
  must("naysay build --keys keys" + kBuild);
  refuses("naysay query set.nsy keys.xz", {"keys.xz", "xz -dc"});
  refuses("naysay build --keys set.nsy --filter bloom --bits-per-key 40 -o other.nsy", {"set.nsy", "filter", "keys"});
}

TEST_F(Inputs, ThatBeginLikePackedOnesAreText) {
  for (const char* text : {"BZh", "BZh9 is a bird\n", "P", "PK\n", "naysay\n", "naysay.example\n", "7z\n", "LZIP\n"}) {
    write("keys", text);
    must("naysay build --keys keys" + kBuild);
    must("naysay verify set.nsy --keys keys");
  }
}

TEST_F(Inputs, LoseAByteOrderMark) {
  write("plain", "apple\nbanana\n");
  write("marked",
        "\xef\xbb\xbf"
        "apple\nbanana\n");
  must("naysay build --keys plain --filter bloom --bits-per-key 40 -o plain.nsy");
  must("naysay build --keys marked --filter bloom --bits-per-key 40 -o marked.nsy");
  EXPECT_EQ(read("marked.nsy"), read("plain.nsy"));
  must("gzip -k marked && naysay build --keys marked.gz --filter bloom --bits-per-key 40 -o marked.nsy");
  EXPECT_EQ(read("marked.nsy"), read("plain.nsy"));
  EXPECT_EQ(must("dd bs=1 status=none if=marked | naysay query plain.nsy"), "apple\nbanana\n");
  write("negatives",
        "\xef\xbb\xbf"
        "pear\t3\n");
  EXPECT_EQ(shell("naysay query plain.nsy --negatives negatives --json").out,
            "{\"key\":\"pear\",\"may_contain\":false,\"cost\":3.0}\n");
  // Keys between NUL bytes are bytes, not text.
  write("nul",
        "\xef\xbb\xbf"
        "apple\0"s);
  EXPECT_EQ(shell("naysay query -0 plain.nsy nul --count").out, "0\n");
  write("only", "\xef\xbb\xbf");
  EXPECT_TRUE(sample::says(shell("naysay build --keys only" + kBuild).err, {"only", "no keys"}));
}

TEST_F(Inputs, InUtf16AreRefused) {
  for (const std::string& text : {"\xff\xfe"
                                  "a\0\n\0"s,
                                  "\xfe\xff\0a\0\n"s}) {
    write("keys", text);
    refuses("naysay build --keys keys" + kBuild, {"keys", "UTF-16", "iconv"});
  }
}

TEST_F(Inputs, WithCostsAfterSomethingElseThanATabGetAWarning) {
  write("keys", "a\nb\n");
  for (const char* text : {"pear,3\nplum,4\n", "pear 3\nplum 4.5\n", "pear; 3\nplum;1e3\n"}) {
    write("negatives", text);
    const Ran ran =
        shell("naysay build --keys keys --negatives negatives --filter taught-ribbon --bits-per-key 40 -o s");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_TRUE(sample::says(ran.err, {"negatives", "tab", "2 of 2", "costs 1"})) << text;
    EXPECT_TRUE(sample::says(shell("naysay query s --negatives negatives").err, {"negatives", "tab", "2 of 2"}));
    EXPECT_TRUE(sample::says(shell("naysay verify s --negatives negatives").err, {"negatives", "tab", "2 of 2"}));
  }
  for (const char* text : {"pear\nplum\n", "pear\t3\nplum,4\n", "a b\nc d\n", "x 1\np\nq\nr\n"}) {
    write("negatives", text);
    EXPECT_EQ(shell("naysay build --keys keys --negatives negatives --filter taught-ribbon --bits-per-key 40 -o s").err,
              "")
        << text;
  }
}

TEST_F(Inputs, OfKnownNegativesAreQueriedAndVerifiedByTheirKeys) {
  must(
      "naysay generate urls --count 500 -o keys && naysay generate urls --first 500 --count 500 --zipf 1 -o known.tsv");
  must("naysay build --keys keys --negatives known.tsv --filter taught-ribbon --bits-per-key 16 -o set.nsy");
  const Ran none = shell("naysay query set.nsy --negatives known.tsv --count");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "0\n");
  EXPECT_EQ(must("naysay verify set.nsy --keys keys --negatives known.tsv"),
            "set.nsy: whole, taught-ribbon of 500 keys, and all 500 keys of keys may be in it, and it refuses all 500 "
            "negatives of known.tsv\n");
  // As keys the lines are others, and the tool says so.
  const Ran lines = shell("naysay query set.nsy known.tsv --count");
  EXPECT_TRUE(sample::says(lines.err, {"known.tsv", "tab", "--negatives"}));
  EXPECT_TRUE(sample::says(shell("naysay build --keys known.tsv --filter bloom --bits-per-key 9 -o x.nsy").err,
                           {"known.tsv", "tab", "--negatives"}));

  write("some.tsv", "apple\t1\n" + read("keys").substr(0, read("keys").find('\n')) + "\t3\n");
  const std::string accepted = must("naysay query set.nsy --negatives some.tsv");
  EXPECT_EQ(accepted, read("some.tsv").substr(8)) << "the line as it was, for naysay update --adapt";
  EXPECT_EQ(must("naysay query set.nsy --negatives some.tsv --json --count"),
            "{\"asked\":2,\"may_contain\":1,\"cost\":4.0,\"accepted_cost\":3.0}\n");
  const Ran wrong = shell("naysay verify set.nsy --negatives some.tsv");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(sample::says(wrong.err, {"set.nsy", "accepts 1 of the 2", "75.0 %", "some.tsv:2"}));
  write("bad.tsv", "a\tcheap\n");
  refuses("naysay query set.nsy --negatives bad.tsv", {"bad.tsv:1", "cost", "'cheap'"});
  refuses("naysay verify set.nsy --negatives bad.tsv", {"bad.tsv:1", "cost", "'cheap'"});
}

TEST_F(Inputs, AreTextAndDoNotFitAFilterOfIntegers) {
  write("keys", "7\n8\n");
  const std::vector<Digest> integers = {digest(std::uint64_t{7}), digest(std::uint64_t{8})};
  const auto filter = AnyFilter::build("bloom", {.keys = integers}, {}, {}, KeyKind::integer);
  ASSERT_TRUE(filter) << filter.error().message;
  ASSERT_TRUE(filter->save(path("integers.nsy")));
  refuses("naysay query integers.nsy keys", {"integers.nsy", "integers", "text"});
  refuses("naysay verify integers.nsy --keys keys", {"integers.nsy", "integers", "text"});
  must("naysay verify integers.nsy && naysay inspect integers.nsy");
}

TEST_F(Inputs, WithoutKeysOrWithRepeatedOnesAreMentioned) {
  write("empty", "\n\n");
  EXPECT_TRUE(sample::says(shell("naysay build --keys empty" + kBuild).err, {"empty", "no keys"}));
  write("keys", "a\nb\na\nc\na\n");
  EXPECT_TRUE(sample::says(shell("naysay build --keys keys" + kBuild).err, {"keys", "2 of 5", "repeat"}));
  write("negatives", "d\nb\n");
  EXPECT_TRUE(sample::says(shell("naysay build --keys keys --negatives negatives --filter taught-ribbon --bits-per-key "
                                 "40 -o s")
                               .err,
                           {"negatives", "1 of 2", "are keys"}));
  must("naysay generate integers --count 1500000 -o many && cat many many > twice");
  EXPECT_EQ(shell("naysay build --keys many" + kBuild).err, "");
  const std::string told = shell("naysay build --keys twice" + kBuild).err;
  ASSERT_TRUE(sample::says(told, {"twice", "about", "of 3000000", "repeat"}));
  EXPECT_NEAR(std::stod(told.substr(told.find("about ") + 6)), 1.5e6, 1e4);
}

}  // namespace
}  // namespace naysay
