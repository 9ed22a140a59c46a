// SPDX-License-Identifier: Apache-2.0
// Many inputs and many threads: several files, folders and patterns are read as one file is, whatever the threads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "parts/cores.hpp"
#include "parts/inputs.hpp"
#include "tool.hpp"

namespace naysay {
namespace {

using namespace std::string_literals;

// Runs on the first core that this process may use.
const std::string kOneCore = "taskset -c $(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//') ";

class ManyInputsThread : public Tool {
 protected:
  // all.keys and all.tsv, and the same lines in folders: plain, gzip and zstd.
  void SetUp() override {
    Tool::SetUp();
    must("naysay generate urls --count 40000 -o all.keys");
    must("naysay generate urls --count 30000 --first 40000 --zipf 1 -o all.tsv");
    must(
        "mkdir k n && split -n l/5 all.keys k/k. && split -n l/4 all.tsv n/n. && gzip k/k.ab n/n.ac && "
        "mkdir k/below && echo other > k/below/file && echo other > k/.hidden");
  }
  const std::string build_ = "naysay build --filter taught-ribbon --bits-per-key 9 -o ";
};

TEST_F(ManyInputsThread, GiveTheBytesOfOneFile) {
  must(build_ + "one.nsy --threads 1 --keys all.keys --negatives all.tsv");
  for (const char* inputs :
       {"--keys k --negatives n", "--keys 'k/k.*' --negatives 'n/n.??*'",
        "--keys k/k.aa --keys k/k.ab.gz --keys 'k/k.a[c-e]' --negatives n", "--keys all.keys --negatives all.tsv"})
    for (const char* threads : {"", " --threads 1", " --threads 2", " --threads 7"}) {
      must(build_ + "many.nsy " + inputs + threads);
      EXPECT_EQ(read("many.nsy"), read("one.nsy")) << inputs << threads;
    }
  must("cat all.keys | " + build_ + "many.nsy --threads 4 --keys - --negatives n");
  EXPECT_EQ(read("many.nsy"), read("one.nsy"));
  must(build_ + "many.nsy --threads 4 --keys k --negatives n --memory 1MB --temp .");
  EXPECT_EQ(read("many.nsy"), read("one.nsy")) << "through a temporary file";
}

TEST_F(ManyInputsThread, AreQueriedInTheirOrder) {
  must(build_ + "set.nsy --keys all.keys --negatives all.tsv");
  EXPECT_EQ(must("naysay query set.nsy k --threads 4"), read("all.keys"));
  EXPECT_EQ(must("naysay query set.nsy k/k.aa k/k.ab.gz 'k/k.a[cde]'"), read("all.keys"));
  EXPECT_EQ(must("cat all.keys | naysay query set.nsy --threads 3"), read("all.keys"));
  const std::string one = must("naysay query --invert --json set.nsy --negatives all.tsv --threads 1");
  for (const char* threads : {" --threads 2", " --threads 6", ""}) {
    EXPECT_EQ(must("naysay query --invert --json set.nsy --negatives n"s + threads), one);
    EXPECT_EQ(must("naysay query --invert --count --json set.nsy --negatives n"s + threads),
              must("naysay query --invert --count --json set.nsy --negatives all.tsv --threads 1"));
  }
}

TEST_F(ManyInputsThread, AreVerifiedWithTheFirstWrongLineNamed) {
  must(build_ + "set.nsy --keys all.keys --negatives all.tsv");
  for (const char* threads : {"1", "5"}) {
    const std::string with = " --threads "s + threads;
    EXPECT_TRUE(
        sample::says(must("naysay verify set.nsy --keys k --negatives n" + with),
                     {"whole", "40000 keys of k/k.aa and 4 more files", "30000 negatives of n/n.aa and 3 more"}));
    must("{ cat all.keys; echo; echo not there; echo nor this; } > more");
    const Ran ran = shell("naysay verify set.nsy --keys k --keys more" + with);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_TRUE(sample::says(ran.err, {"denies 2 of the 80002 keys", "more:40002"}));
  }
}

TEST_F(ManyInputsThread, NameTheFirstBadLineAndTheMissingFile) {
  must("{ cat n/n.ab; echo; printf 'k\\tdear\\n'; } > n/n.b && printf 'k\\t-1\\n' > n/n.c");
  const std::string lines = must("wc -l < n/n.ab"), number = std::to_string(std::stoi(lines) + 2);
  for (const char* threads : {"1", "4"}) {
    const std::string with = " --keys k --threads "s + threads;
    refuses(build_ + "set.nsy --negatives n" + with, {"n/n.b:" + number + ":", "'dear'"});
    refuses(build_ + "set.nsy --keys all.keys --keys missing --threads "s + threads, {"missing", "No such file"});
  }
  must("mkdir empty");
  refuses(build_ + "set.nsy --keys empty", {"empty", "no files", "standard input"});
  refuses(build_ + "set.nsy --keys 'none*'", {"none*", "no file", "pattern"});
  refuses(build_ + "set.nsy --keys - --keys -", {"--keys and --keys", "standard input"});
  refuses(build_ + "k/k.aa --keys k", {"k/k.aa", "--keys", "same file"});
}

TEST_F(ManyInputsThread, ScoreTheSameWithAnyNumberOfThreads) {
  const auto compare = [&](const std::string& cores) {
    auto j = nlohmann::json::parse(must(cores + "naysay compare --keys k --negatives n --filters bloom,taught-ribbon "
                                                "--bits-per-key 9 --json -"));
    for (auto& row : j["rows"])
      row.erase("build_ns"), row.erase("query_ns"), row.erase("batch_ns"), row.erase("peak_build_bytes");
    j.erase("advice");
    return j;
  };
  EXPECT_EQ(compare(kOneCore), compare(""));
}

TEST(KeyFiles, AreNamedByTheFirst) {
  const std::vector<KeyFile> files = {{"a"}, {"b"}, {"c"}};
  EXPECT_EQ(cli::names_of(std::span(files).first(1)), "a");
  EXPECT_EQ(cli::names_of(std::span(files).first(2)), "a and 1 more file");
  EXPECT_EQ(cli::names_of(files), "a and 2 more files");
}

TEST_F(Tool, CoresAreLimitedByTheQuotaOfTheControlGroup) {
  using cli::quota_in_cores;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::filesystem::create_directories(path("two/a/b"));
  EXPECT_EQ(quota_in_cores("0::/a/b\n", path("two")), kNone);
  write("two/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_in_cores("0::/a/b\n", path("two")), kNone);
  write("two/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota_in_cores("0::/a/b\n", path("two")), 2.5);
  write("two/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota_in_cores("0::/a/b\n", path("two")), 0.5);
  std::filesystem::create_directories(path("one/cpu,cpuacct/docker/x"));
  write("one/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  write("one/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  const std::string groups = "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n";
  EXPECT_EQ(quota_in_cores(groups, path("one")), kNone);
  write("one/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(quota_in_cores(groups, path("one")), 3);
  EXPECT_EQ(quota_in_cores("", path("one")), kNone);
  EXPECT_GE(cli::usable_cores(), 1u);
}

TEST_F(Tool, UsesTheCoresOfItsAffinityMask) {
  must("naysay generate integers --count 100 -o keys");
  const auto j =
      nlohmann::json::parse(must(kOneCore + "naysay build --dry-run --json --keys keys --bits-per-key 9 -o set.nsy"));
  EXPECT_EQ(j["threads"], 1);
}

}  // namespace
}  // namespace naysay
