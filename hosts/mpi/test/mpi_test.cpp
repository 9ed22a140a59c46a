// SPDX-License-Identifier: Apache-2.0
// naysay-mpi: any number of ranks gives the bytes of naysay build, and a rank that fails ends all of them.
#include <numeric>

#include "../own_lines.hpp"
#include "cli/tool.hpp"

namespace naysay {
namespace {

class MpiTool : public Tool {
 protected:
  // One machine, more ranks than cores, perhaps as root, perhaps in a container.
  static std::string mpirun(int ranks, const std::string& command) {
    return "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
           "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm_rsh_agent=false "
           "TMPDIR=/tmp " NAYSAY_MPIRUN " --oversubscribe -n " +
           std::to_string(ranks) + " " + command;
  }
  static std::string build(int ranks, const std::string& options) {
    return mpirun(ranks, NAYSAY_MPI_BINARY " build " + options);
  }
  void same_bytes(const std::string& options, std::initializer_list<int> ranks) {
    must("naysay build " + options + " -o plain.nsy");
    for (int n : ranks) {
      must(build(n, options + " -o joined.nsy"));
      EXPECT_TRUE(read("joined.nsy") == read("plain.nsy")) << options << " on " << n << " ranks";
      std::filesystem::remove(path("joined.nsy"));
    }
  }
  // All ranks end with exit code 2; of what is printed, one line is ours.
  void fails(const std::string& command, const std::vector<std::string_view>& words) {
    const std::size_t before = files();
    const Ran ran = shell(command);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    std::size_t ours = 0;
    std::istringstream lines(ran.err);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("naysay: ")) {
        ++ours;
        EXPECT_TRUE(sample::says(line, words)) << line;
      }
    EXPECT_EQ(ours, 1u) << ran.err;
    EXPECT_EQ(files(), before) << "a file is left";
  }
};

TEST_F(MpiTool, GivesTheBytesOfThePlainToolOnAnyNumberOfRanks) {
  must(
      "naysay generate urls --count 20000 -o keys && naysay generate urls --count 60000 --first 20000 --zipf 1 -o "
      "known");
  same_bytes("--keys keys --negatives known --bits-per-key 8", {1, 2, 3, 4});
  same_bytes("--keys keys --negatives known --bits-per-key 3 --seed 9", {1, 2, 3, 4});
  same_bytes("--keys keys --negatives known --bytes 20kB --filter taught-ribbon --param width=128", {3});
}

TEST_F(MpiTool, GivesTheBytesOfThePlainToolForEveryFilterOfParts) {
  must(
      "naysay generate urls --count 52000 -o keys && naysay generate urls --count 30000 --first 60000 --zipf 1 -o "
      "known "
      "&& mkdir folder && split -n l/3 keys folder/k. && gzip folder/k.ab");
  same_bytes("--keys keys --filter ribbon --bits-per-key 8.4", {1, 2, 3, 4});  // it bumps keys from one rank to others
  same_bytes("--keys keys --negatives known --filter variable-hash --bits-per-key 9 --param effort=fast", {1, 2, 3, 4});
  same_bytes("--keys folder --filter ribbon --bits-per-key 8 --param width=64 --threads 2", {3});
  same_bytes("--keys keys --filter ribbon --fpr 0.004", {2});
  must("head -n 60 keys >few");
  same_bytes("--keys few --filter variable-hash --fpr 0.3", {3});  // in several rounds
  const Ran ran =
      shell(build(2, "--keys keys --filter variable-hash --bits-per-key 9 --param effort=fast -o a.nsy --json"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  must(
      "naysay build --keys keys --filter variable-hash --bits-per-key 9 --param effort=fast -o b.nsy --json "
      ">plain.json");
  const auto rate = [](const std::string& json) {
    const std::size_t at = json.find("\"expected_fpr\"");
    return json.substr(at, json.find('\n', at) - at);
  };
  EXPECT_EQ(rate(ran.out), rate(read("plain.json"))) << "rank 0 does not hold all functions";
}

TEST_F(MpiTool, GivesTheSameBytesOfSkewedAndEmptyInputs) {
  // One line is most of the file; ranks without a line; the same key many times; no keys; no end of the last line.
  must(
      "printf '%0100000d\\na\\nb\\r\\n\\nc' 7 >long && : >none && printf 'x\\ty' >odd && yes same | head -n 60000 "
      ">copies");
  must("printf 'k1\\t3\\nk2\\nk3\\t0.5' >few");
  same_bytes("--filter taught-ribbon --keys long --negatives few --bits-per-key 12", {1, 2, 3, 4});
  same_bytes("--filter taught-ribbon --keys none --negatives few --bits-per-key 12", {1, 4});
  same_bytes("--filter taught-ribbon --keys none --bits-per-key 12", {3});
  same_bytes("--filter taught-ribbon --keys copies --negatives long --bits-per-key 12", {4});
  for (const std::string filter : {"ribbon", "variable-hash"}) {
    same_bytes("--keys long --negatives few --bits-per-key 12 --filter " + filter, {3});
    same_bytes("--keys none --negatives few --bits-per-key 12 --filter " + filter, {2});
    same_bytes("--keys copies --negatives long --bits-per-key 12 --filter " + filter, {4});
  }
  must("naysay generate urls --count 3000 -o keys && gzip -k keys");
  must("naysay build --keys keys --filter taught-ribbon --bits-per-key 9 -o plain.nsy");
  must(build(3, "--keys keys.gz --filter taught-ribbon --bits-per-key 9 -o packed.nsy"));
  EXPECT_TRUE(read("packed.nsy") == read("plain.nsy"));
}

// Whatever the number of threads: no rank reads two packed files where another one reads none.
TEST_F(MpiTool, SpreadsPackedFilesOverTheRanks) {
  must("for i in 0 1 2 3 4 5; do echo $i | gzip >$i.gz; done");
  for (const unsigned ranks : {1u, 2u, 3u, 4u, 6u})
    for (const unsigned threads : {1u, 2u, 16u}) {
      std::vector<unsigned> lines(ranks);
      for (unsigned rank = 0; rank < ranks; ++rank)
        for (unsigned thread = 0; thread < threads; ++thread)
          for (unsigned i = 0; i < 6; ++i) {
            mpi::OwnLines own(rank, ranks, thread, threads);
            ASSERT_TRUE(own.for_each({path(std::to_string(i) + ".gz")}, i, [&](std::string_view) -> Result<Ok> {
              ++lines[rank];
              return Ok{};
            }));
          }
      for (const unsigned n : lines) EXPECT_TRUE(n == 6 / ranks || n == (6 + ranks - 1) / ranks) << ranks << " ranks";
      EXPECT_EQ(std::accumulate(lines.begin(), lines.end(), 0u), 6u);
    }
}

TEST_F(MpiTool, EndsAllRanksWithOneMessageAndNoFileIfOneFails) {
  must("naysay generate urls --count 3000 -o keys && naysay generate urls --count 3000 --first 3000 -o known");
  must("cp known bad && printf 'a\\tb\\tc\\n' >>bad");  // in the share of the last rank
  fails(build(3, "--keys keys --negatives bad --bits-per-key 9 -o set.nsy"), {"bad:3001", "tabs"});
  fails(build(2, "--keys missing --bits-per-key 9 -o set.nsy"), {"missing", "open"});
  fails(build(2, "--keys keys --bits-per-key 9 -o nowhere/set.nsy"), {"nowhere"});
  fails(build(2, "--keys keys --fpr 2 -o set.nsy"), {"--fpr"});
  fails(build(2, "--keys keys --exact -o set.nsy"), {"--exact", "several plans"});
  fails(build(2, "--keys keys --filter bloom --bits-per-key 9 -o set.nsy"), {"bloom", "parts", "taught-ribbon"});
  fails(build(2, "--keys keys"), {"--output"});
  EXPECT_FALSE(exists("set.nsy"));
}

TEST_F(MpiTool, EndsAllRanksIfOneHasNoMemory) {
  // A line of 900 MB needs more than rank 0 may have; the zeros of the file are on no disk.
  must("echo a >keys && truncate -s 900M keys");
  fails(mpirun(2, "sh -c 'if [ \"$OMPI_COMM_WORLD_RANK\" = 0 ]; then ulimit -v 1500000; fi; exec " NAYSAY_MPI_BINARY
                  " build --keys keys --filter taught-ribbon --bits-per-key 9 -o set.nsy'"),
        {"memory", "rank", "0"});
}

}  // namespace
}  // namespace naysay
