// SPDX-License-Identifier: Apache-2.0
// naysay plan, naysay build --part and naysay join: a filter built by many processes.
#include "cli/tool.hpp"

namespace naysay {
namespace {

class PartTool : public Tool {
 protected:
  void SetUp() override {
    Tool::SetUp();
    must("naysay generate urls --count 12000 -o keys");
    must("naysay generate urls --count 40000 --first 12000 --zipf 1 -o known");
  }
  std::string part(int i, int n, const std::string& input, const std::string& plan = "P") {
    return "naysay build --part " + std::to_string(i) + "/" + std::to_string(n) + " --plan " + plan + " " + input +
           " -o part." + std::to_string(i);
  }
  std::string parts(int n) {
    std::string names;
    for (int i = n; i >= 1; --i) names += " part." + std::to_string(i);  // the order does not matter
    return names;
  }
  void build_parts(int n, const std::string& input, const std::string& plan = "P") {
    for (int i = 1; i <= n; ++i) must(part(i, n, input, plan));
  }
  // Plans, builds and joins, in more rounds where one is not enough. Returns the rounds.
  int same_bytes(int n, const std::string& input, const std::string& options) {
    must("naysay build " + input + " " + options + " -o plain.nsy");
    must("naysay plan " + input + " " + options + " -o P");
    build_parts(n, input);
    int rounds = 1;
    while (rounds < 20 && shell("naysay join" + parts(n) + " -o joined.nsy").exit_code != 0) {
      ++rounds;
      must("naysay plan" + parts(n) + " -o P2 && mv P2 P");
      build_parts(n, input);
    }
    EXPECT_TRUE(read("plain.nsy") == read("joined.nsy")) << n << " parts, " << input << " " << options;
    must("rm -f part.* joined.nsy plain.nsy");
    return rounds;
  }
};

TEST_F(PartTool, JoinsToTheBytesOfThePlainBuild) {
  const std::string both = "--keys keys --negatives known ";
  EXPECT_EQ(same_bytes(3, both, "--bits-per-key 10"), 1);
  EXPECT_EQ(same_bytes(1, both, "--bits-per-key 10 --seed 3"), 1);
  EXPECT_EQ(same_bytes(2, both, "--bits-per-key 3"), 2) << "not all known negatives fit";
  same_bytes(12, both, "--bytes 12kB --filter taught-ribbon --param width=128 --stranger-share 0.5");
  same_bytes(2, both + "--hash siphash --hash-key 000102030405060708090a0b0c0d0e0f", "--bits-per-key 9");
}

TEST_F(PartTool, JoinsEveryFilterOfPartsToTheBytesOfThePlainBuild) {
  must("naysay generate urls --count 60000 --first 100000 -o many");  // enough for a ribbon to bump some of them
  const std::string both = "--keys many --negatives known";
  for (int n = 1; n <= 4; ++n) {
    EXPECT_EQ(same_bytes(n, both, "--filter ribbon --bits-per-key 8.4"), 1);
    EXPECT_EQ(same_bytes(n, "--keys keys", "--filter ribbon --bits-per-key 9 --seed 4"), 1);
    EXPECT_EQ(same_bytes(n, both, "--filter variable-hash --bits-per-key 9 --param effort=fast"), 1);
  }
  EXPECT_EQ(same_bytes(2, both, "--filter ribbon --bits-per-key 8 --param width=64"), 1);
  EXPECT_EQ(same_bytes(3, both, "--filter ribbon --bytes 70kB --param width=128 --seed 2"), 1);
  EXPECT_EQ(same_bytes(3, both + " --hash siphash --hash-key 000102030405060708090a0b0c0d0e0f",
                       "--filter variable-hash --bits-per-key 7 --seed 3"),
            1);
}

TEST_F(PartTool, HoldsARateInAsManyRoundsAsTheBuildNeeds) {
  const std::string both = "--keys keys --negatives known";
  same_bytes(2, both, "--filter taught-ribbon --fpr 0.01");
  same_bytes(3, "--keys keys", "--filter ribbon --fpr 0.003");
  same_bytes(2, both, "--filter variable-hash --fpr 0.02");
  must("head -n 60 keys >few");
  EXPECT_GT(same_bytes(2, "--keys few", "--filter variable-hash --fpr 0.3"), 1) << "few keys cost more than the price";
  must("naysay plan --keys few --filter variable-hash --fpr 0.3 -o P");
  build_parts(2, "--keys few");
  refuses("naysay join" + parts(2) + " -o set.nsy", {"variable-hash", "--fpr", "0.3", "naysay plan PARTS"});
  EXPECT_FALSE(exists("set.nsy"));
  must("naysay plan" + parts(2) + " -o P2 && cp part.2 old");
  must(part(1, 2, "--keys few", "P2"));
  refuses("naysay join part.1 old -o set.nsy", {"part.1", "old", "round"});
  refuses("naysay plan P P2 -o Q", {"P2", "another round"});
  refuses(part(1, 2, "--keys few --fpr 0.01", "P2"), {"budget", "0.01", "0.3"});
  must("naysay plan --keys keys --filter ribbon --fpr 0.003 -o P");
  build_parts(2, "--keys keys");
  refuses("naysay plan" + parts(2) + " -o P2", {"part.1", "naysay join"});
}

TEST_F(PartTool, ReadsFoldersPatternsAndManyFilesAsTheBuildDoes) {
  must("mkdir folder && split -n l/3 keys folder/k. && split -n l/4 known n. && gzip n.aa folder/k.ab");
  const std::string input = "--keys folder --negatives 'n.*' --threads 2";
  must("naysay build --keys keys --negatives known --bits-per-key 9 -o one.nsy");
  must("naysay plan " + input +
       " --bits-per-key 9 -o P && naysay plan --keys keys --negatives known --bits-per-key 9 -o Q");
  EXPECT_EQ(read("P"), read("Q"));
  build_parts(2, input);
  must("naysay join part.1 part.2 -o set.nsy");
  EXPECT_TRUE(read("set.nsy") == read("one.nsy"));
  must("mkdir empty");
  refuses("naysay plan --keys empty --bits-per-key 9 -o x", {"empty", "folder"});
  refuses(part(1, 2, "--keys 'z*'"), {"z*", "pattern"});
  must("printf 'a\\tb\\tc\\n' >>n.ab");
  refuses(part(1, 2, input), {"n.ab:", "tabs"});
}

TEST_F(PartTool, TakesSkewedAndEmptyInputs) {
  must(": >none && yes same | head -n 60000 >copies && printf 'a\\t3\\nb' >few");
  for (const char* filter : {"taught-ribbon", "ribbon", "variable-hash"})
    for (const char* input : {"--keys none", "--keys none --negatives few", "--keys few --negatives keys",
                              "--keys copies --negatives few", "--keys keys --negatives keys"})
      same_bytes(3, input, "--bits-per-key 12 --filter " + std::string(filter));
  // auto, when there are no negatives after all
  same_bytes(2, "--keys keys --negatives none", "--fpr 0.01");
  same_bytes(2, "--keys keys --negatives none", "--bits-per-key 12");
  same_bytes(2, "--keys none --negatives few", "--bits-per-key 12");
  must("sort keys | gzip >keys.gz");
  same_bytes(2, "--keys keys.gz --negatives known", "--filter taught-ribbon --bits-per-key 12");
}

TEST_F(PartTool, PlansPiecesOfTheInputAsTheWholeOfIt) {
  must(
      "split -n l/3 keys k. && split -n l/3 known n. && naysay plan --keys keys --negatives known --bits-per-key 9 -o "
      "P");
  for (const char* piece : {"aa", "ab", "ac"})
    must(std::string("naysay plan --keys k.") + piece + " --negatives n." + piece + " --bits-per-key 9 -o S." + piece);
  must("naysay plan S.ac S.aa S.ab -o Q");
  EXPECT_EQ(read("P"), read("Q"));
  must("naysay plan --keys k.aa --keys k.ab --keys k.ac --negatives known --bits-per-key 9 -o R");
  EXPECT_EQ(read("P"), read("R"));
  must("naysay plan --keys k.ab --bits-per-key 9 --seed 5 -o other");
  refuses("naysay plan S.aa other -o Q", {"other", "seed", "5", "0"});
  EXPECT_EQ(read("P"), read("Q"));
}

TEST_F(PartTool, BuildsAPartAgainThatWasKilled) {
  must("mkfifo pipe && naysay generate urls --count 50000 --first 100000 >>keys");
  for (const std::string filter : {"taught-ribbon", "ribbon", "variable-hash"}) {
    const std::string options = " --bits-per-key 9 --filter " + filter;
    must("naysay build --keys keys --negatives known" + options + " -o plain.nsy");
    must("naysay plan --keys keys --negatives known" + options + " -o P");
    // It waits for keys when it is killed.
    must(part(1, 2, "--keys pipe --negatives known") +
         " & pid=$!; exec 3>pipe; kill -KILL $pid; wait $pid; exec 3>&-; true");
    EXPECT_FALSE(exists("part.1"));
    must(part(2, 2, "--keys keys --negatives known"));
    refuses("naysay join part.2 -o set.nsy", {"1", "2", "missing", "1/2"});
    must(part(1, 2, "--keys keys --negatives known"));
    const std::string before = read("part.1");
    must(part(1, 2, "--keys keys --negatives known") + " --threads 2");
    EXPECT_TRUE(read("part.1") == before) << "built again, it has the same bytes";
    must("naysay join part.1 part.2 -o set.nsy");
    EXPECT_TRUE(read("set.nsy") == read("plain.nsy")) << filter;
    must("rm part.1 part.2 set.nsy");
  }
}

TEST_F(PartTool, RefusesPartsOfAnotherPlanByNameForEveryFilterOfParts) {
  const std::string input = "--keys keys --negatives known",
                    key = "--hash siphash --hash-key 000102030405060708090a0b0c0d0e0f";
  must("sed 's/$/x/' keys >others");
  for (const std::string filter : {"ribbon", "variable-hash"}) {
    const std::string options = " --bits-per-key 9 --filter " + filter;
    must("naysay plan " + input + options + " -o P");
    build_parts(2, input);
    const auto other = [&](const std::string& from, const std::string& more, const std::string& with,
                           const std::vector<std::string_view>& words) {
      must("naysay plan " + from + " " + more + " -o Q && naysay build --part 2/2 --plan Q " + from + " " + with +
           " -o other");
      refuses("naysay join part.1 other -o set.nsy", words);
    };
    other(input, options + " --seed 8", "", {"other", "part.1", "seed", "8", "0"});
    other(input, options + " " + key, key, {"other", "hash", "siphash", "xxh3"});
    other("--keys others --negatives known", options, "", {"other", "other keys"});
    other(input, "--bits-per-key 9 --filter taught-ribbon", "", {"other", "filter taught-ribbon", filter});
    other(input, "--fpr 0.01 --filter " + filter, "", {"other", "budget", "--fpr 0.01", "--bits-per-key 9"});
    refuses("naysay join part.1 -o set.nsy", {"missing", "2/2"});
    EXPECT_FALSE(exists("set.nsy"));
    must("naysay join part.1 part.2 -o set.nsy && rm set.nsy");
  }
}

TEST_F(PartTool, RefusesPartsOfAnotherPlanByName) {
  const std::string input = "--keys keys --negatives known";
  must("naysay plan " + input + " --bits-per-key 9 -o P");
  build_parts(3, input);
  refuses("naysay join part.1 part.2 part.2 part.3 -o set.nsy", {"part.2", "2/3", "once"});
  refuses("naysay join part.3 -o set.nsy", {"2", "3", "missing", "1/3", "2/3"});
  must("cp part.2 second");
  must(part(2, 4, input));
  refuses("naysay join part.1 part.2 part.3 -o set.nsy", {"part.2", "2/4", "part.1", "1/3"});
  const auto other = [&](const std::string& made, const std::string& with, const std::string& from,
                         const std::vector<std::string_view>& words) {
    must("naysay plan " + made + " -o Q && naysay build --part 2/3 --plan Q " + with + " " + from + " -o part.2");
    refuses("naysay join part.1 part.2 part.3 -o set.nsy", words);
  };
  other(input + " --bits-per-key 9 --seed 8", "", input, {"part.2", "part.1", "seed", "8", "0"});
  other(input + " --bits-per-key 8", "", input, {"part.2", "budget", "8", "9"});
  other(input + " --bits-per-key 9 --param width=64", "", input, {"part.2", "--param", "width=64"});
  const std::string key = "--hash siphash --hash-key 000102030405060708090a0b0c0d0e0f";
  other(input + " --bits-per-key 9 " + key, key, input, {"part.2", "hash", "siphash", "xxh3"});
  must("sed 's/$/x/' keys >others");
  other("--keys others --negatives known --bits-per-key 9", "", "--keys others --negatives known",
        {"part.2", "other keys"});
  must("mv second part.2");
  must("naysay join part.1 part.2 part.3 -o set.nsy");
}

TEST_F(PartTool, RefusesAnInputOrOptionsThatThePlanWasNotMadeFor) {
  const std::string input = "--keys keys --negatives known";
  must("naysay plan " + input + " --bits-per-key 9 --seed 2 -o P");
  must("tail -n +2 keys >fewer && { cat fewer; echo another; } >others");
  refuses(part(1, 2, "--keys fewer --negatives known"), {"fewer", "11999", "12000", "P"});
  refuses(part(1, 2, "--keys others --negatives known"), {"others", "other keys"});
  refuses(part(1, 2, "--keys keys"), {"--negatives", "0", "40000"});
  // The same negatives; two of them have swapped their costs, which a count of costs does not see.
  const std::string known = read("known");
  const std::size_t tab = known.find('\t'), end = known.find('\n');
  const std::size_t next_tab = known.find('\t', end), next_end = known.find('\n', next_tab);
  const std::string cost = known.substr(tab, end - tab), next_cost = known.substr(next_tab, next_end - next_tab);
  ASSERT_NE(cost, next_cost);
  write("swapped",
        known.substr(0, tab) + next_cost + known.substr(end, next_tab - end) + cost + known.substr(next_end));
  refuses(part(1, 2, "--keys keys --negatives swapped"), {"swapped", "costs", "P"});
  refuses(part(1, 2, input + " --seed 3"), {"--seed", "3", "2"});
  refuses(part(1, 2, input + " --filter xor"), {"--filter", "xor"});
  refuses(part(1, 2, input + " --bits-per-key 8"), {"budget", "8", "9"});
  refuses(part(1, 2, input + " --hash siphash"), {"--hash", "xxh3"});
  refuses(part(3, 2, input), {"--part", "3/2"});
  refuses("naysay build --part 1/2 " + input + " -o x", {"--plan"});
  refuses("naysay plan " + input + " --filter bloom --bits-per-key 9 -o x", {"bloom", "parts", "taught-ribbon"});
  refuses("naysay plan " + input + " --exact -o x", {"--exact", "several plans", "--bits-per-key"});
  refuses(part(1, 2, input + " --exact"), {"--exact", "--part"});
  refuses("naysay plan " + input + " --filter taught-ribbon --param exact=true --bits-per-key 9 -o x",
          {"exact", "parts"});
  refuses("naysay plan " + input + " --hash siphash --bits-per-key 9 -o x", {"siphash", "key"});
  refuses("naysay plan keys -o x", {"keys", "plan"});
  EXPECT_FALSE(exists("part.1"));
  must(part(1, 2, input + " --bits-per-key 9 --seed 2"));
}

TEST_F(PartTool, RefusesOptionsThatWouldDoNothing) {
  must("naysay plan --keys keys --bits-per-key 9 --filter taught-ribbon -o P");
  for (const char* option : {"--memory", "--temp", "--wait"})
    refuses(part(1, 2, "--keys keys " + std::string(option) + " 5"), {option, "--part"});
  refuses(part(1, 2, "--keys keys --dry-run"), {"--dry-run", "--part"});
  EXPECT_FALSE(exists("part.1"));
  must(part(1, 1, "--keys keys"));
  for (const std::string piece : {"P", "part.1"}) {
    const auto with = [&](const std::string& option, std::string_view names) {
      refuses("naysay plan " + piece + " " + option + " -o Q", {names, "plans or parts"});
    };
    for (const char* option : {"--seed 3", "--stranger-share 0.25", "--filter xor", "--param width=64"})
      with(option, std::string_view(option).substr(0, std::string_view(option).find(' ')));
    with("--hash siphash", "--hash");
    with("--hash-key 000102030405060708090a0b0c0d0e0f", "--hash");
    with("-0", "--null");
    with("--negatives known", "--negatives");
    with("--bits-per-key 9", "budget");
  }
  EXPECT_FALSE(exists("Q"));
  must("naysay plan P -o Q");
}

TEST_F(PartTool, RefusesAForgedPlanByName) {
  const std::string input = "--keys keys --negatives known";
  must("naysay plan " + input + " --bits-per-key 3 -o P");
  build_parts(2, input);
  must("naysay plan" + parts(2) + " -o P2");
  const std::string plan = read("P2");
  // Gives the field this value and builds a part with it.
  const auto forged = [&](const std::string& field, const std::string& value, std::string_view says) {
    const std::size_t at = plan.find("\"" + field + "\":");
    ASSERT_NE(at, std::string::npos) << field << " is not in " << plan;
    const std::size_t from = at + field.size() + 3, to = plan.find_first_of(",}", from);
    write("forged", plan.substr(0, from) + value + plan.substr(to));
    refuses(part(1, 2, input, "forged"), {"forged", "no plan", says});
  };
  for (const char* share : {"-0.5", "1.5", "1e300"}) forged("share", share, "share");
  for (const char* least : {"-1", "1e39"}) forged("least_cost", least, "least_cost");
  for (const char* most : {"-1", "1e39", "1e-30", "3e30"}) forged("most_cost", most, "most_cost");
  for (const char* count : {"-1", "1.5"}) {
    forged("seed", count, "whole");
    forged("count", count, "whole");
  }
  forged("naysay_plan", "1.5", "whole");
  forged("naysay_plan", "2", "version");
  // Two classes whose counts wrap around to what there are.
  const std::size_t costs = plan.find("\"costs\":[") + 9;
  write("forged",
        plan.substr(0, costs) + "[32512,18446744073709551615,1],[32512,40001,1]" + plan.substr(plan.rfind(']')));
  refuses(part(1, 2, input, "forged"), {"forged", "costs", "more negatives"});
  must(part(1, 2, input, "P2"));
}

TEST_F(PartTool, RefusesADamagedPart) {
  must("naysay plan --keys keys --bits-per-key 9 --filter taught-ribbon -o P");
  build_parts(2, "--keys keys");
  const std::string whole = read("part.2");
  write("part.2", whole.substr(0, whole.size() - 1));
  refuses("naysay join part.1 part.2 -o set.nsy", {"part.2", "bytes", "again"});
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  write("part.2", changed);
  refuses("naysay join part.1 part.2 -o set.nsy", {"part.2", "checksum", "again"});
  write("part.2", "");
  refuses("naysay join part.1 part.2 -o set.nsy", {"part.2"});
  refuses("naysay join part.1 keys -o set.nsy", {"keys", "part"});
  EXPECT_FALSE(exists("set.nsy"));
}

}  // namespace
}  // namespace naysay
